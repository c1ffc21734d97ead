"""Which values of a column may meet a constraint: what lets row groups and rows be left out unseen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Range = tuple[Any, Any]
"""Both ends belong to it; None is open."""


@dataclass(frozen=True)
class Wanted:
    """Values inside one of `ranges`, and null if `nulls` says so. May be more than meet the constraint, for
    SQLite looks at every row it is given once more; never less."""

    ranges: tuple[Range, ...]
    nulls: bool = False

    def meets(self, low: Any, high: Any) -> bool:
        """Whether some value from `low` to `high` may be wanted."""
        return any(
            (first is None or first <= high) and (last is None or low <= last) for first, last in self.ranges
        )

    @property
    def all_values(self) -> bool:
        return (None, None) in self.ranges

    @property
    def points(self) -> list[Any] | None:
        """The values, where each range is a single one."""
        if all(first is not None and first == last for first, last in self.ranges):
            return [first for first, _ in self.ranges]
        return None


NOTHING = Wanted(())
NULLS = Wanted((), nulls=True)
VALUES = Wanted(((None, None),))
EVERYTHING = Wanted(((None, None),), nulls=True)


def any_of(parts: Iterable[Wanted]) -> Wanted:
    parts = list(parts)
    ranges = tuple(dict.fromkeys(each for part in parts for each in part.ranges))
    return Wanted(ranges, any(part.nulls for part in parts))
