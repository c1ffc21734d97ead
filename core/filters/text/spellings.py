"""How operators are spelled, as words and places for values, made from the table of operators."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lamella.core.filters.operators import OPERATORS

ALSO = (
    ("eq", "== {0}"),
    ("ne", "<> {0}"),
    ("starts_with", "starts_with {0}"),
    ("ends_with", "ends_with {0}"),
    ("not_contains", "does not contain {0}"),
    ("regex", "matches {0}"),
    ("mod", "% {0} = {1}"),
    ("is_empty", "is empty"),
    ("not_empty", "is not empty"),
)
"""What is read besides the operators' own spellings, and never written."""

IN_ANY_CASE = ("in", "any", "case")
KEYWORDS = frozenset({"and", "or", "not", "all", "any"})
LIST = "{all}"
FILTER = "({0})"
"""The place of a condition on items, which stands in parentheses."""

_PART = re.compile(r"\(\{0\}\)|\{\w+\}|\w+|[^\w\s{}]+")


@dataclass(frozen=True)
class Spelling:
    """`parts` are keywords and signs, and places in braces: `{0}`, `{1}`, `{all}`, `({0})`."""

    operator: str
    parts: tuple[str, ...]

    @property
    def lead(self) -> tuple[str, ...]:
        """What stands before the first value, by which it is recognised."""
        first = next((i for i, part in enumerate(self.parts) if is_place(part)), len(self.parts))
        return self.parts[:first]


def parts_of(spelling: str) -> tuple[str, ...]:
    return tuple(_PART.findall(spelling))


def is_place(part: str) -> bool:
    return "{" in part


def _all() -> list[Spelling]:
    """Longest lead first, so that `is not null` comes before `is`."""
    own = [(operator.id, operator.spelling) for operator in OPERATORS.values()]
    made = [Spelling(id_, parts_of(spelling)) for id_, spelling in (*own, *ALSO)]
    return sorted(made, key=lambda spelling: -len(spelling.lead))


def _by_first(spellings: list[Spelling]) -> dict[str, list[Spelling]]:
    found: dict[str, list[Spelling]] = {}
    for spelling in spellings:
        found.setdefault(spelling.lead[0], []).append(spelling)
    return found


SPELLINGS: Mapping[str, list[Spelling]] = _by_first(_all())
"""By their first word or sign."""

PHRASES = list(dict.fromkeys(" ".join(parts_of(o.spelling.partition("{")[0])) for o in OPERATORS.values()))
"""What operators begin with, in the order of their table."""


def spelling_at(word: Callable[[int], str]) -> Spelling | None:
    """The longest one whose lead stands at `word(0)`, `word(1)`, …"""
    for spelling in SPELLINGS.get(word(0), ()):
        if all(word(i) == part for i, part in enumerate(spelling.lead)):
            return spelling
    return None
