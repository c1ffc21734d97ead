"""What can be asked of a dataset, and of what a query gives, step by step.

Every step makes another query (`core.query.asking.Asking`) and leaves what it is asked of as it is.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from core.arguments import condition_of, count_of, names_of
from core.errors import BadQuery
from core.filters.expr import Filter
from core.query.aggregate import Aggregate
from core.query.expressions import expression_of
from core.query.query import SortKey
from core.query.steps import Compute, Group, Limit, Sample, Select, Sort, Where

if TYPE_CHECKING:
    from core.query.asking import Asking


class Fluent:
    @abstractmethod
    def asking(self) -> Asking:
        """All rows, as a query."""

    def where(self, condition: Filter) -> Asking:
        """The rows that meet a condition. Raises `BadFilter` for what is none."""
        rows = self.asking()
        asked = condition_of(condition, f"{rows.place}: where")
        return rows if asked is None else rows.then(Where(asked))

    def compute(self, **values: Any) -> Asking:
        """Further columns: `.compute(total=col("price") * col("count"))`."""
        return self.asking().then(
            Compute(tuple((name, expression_of(value)) for name, value in values.items()))
        )

    def select(self, *columns: str) -> Asking:
        """These columns alone, in this order."""
        rows = self.asking()
        return rows.then(Select(tuple(names_of(columns, f"{rows.place}: select"))))

    def group_by(self, *keys: str, **computed: Any) -> Grouping:
        """Followed by `.agg(...)`. Keys may be computed: `.group_by("carrier", month=col("day").month())`."""
        rows = self.asking()
        named = tuple(names_of(keys, f"{rows.place}: group_by"))
        before = rows.compute(**computed) if computed else rows
        return Grouping(before, (*named, *computed))

    def agg(self, **aggregates: Aggregate) -> Asking:
        """One row of all rows: `.agg(n=count(), late=mean("dep_delay"))`."""
        return Grouping(self.asking(), ()).agg(**aggregates)

    def sort(self, *keys: str) -> Asking:
        """By these columns, "-name" descending; nulls last. Rows that are equal in them keep their order."""
        rows = self.asking()
        named = names_of(keys, f"{rows.place}: sort")
        known = set(rows.schema.names) if any(name.startswith("-") for name in named) else set()
        return rows.then(Sort(tuple(_key(name, known) for name in named)))

    def limit(self, count: int | None, offset: int = 0) -> Asking:
        """At most `count` rows, all for None, from row `offset` on."""
        rows = self.asking()
        most = None if count is None else count_of(count, f"{rows.place}: limit")
        return rows.then(Limit(most, count_of(offset, f"{rows.place}: offset")))

    def sample(self, count: int, seed: int = 0) -> Asking:
        """So many rows, each as likely as every other; the same ones for the same rows and seed."""
        rows = self.asking()
        return rows.then(Sample(count_of(count, f"{rows.place}: sample"), _seed(seed, rows.place)))


class Grouping:
    """Rows about to be grouped."""

    def __init__(self, rows: Asking, keys: tuple[str, ...]) -> None:
        self._rows, self._keys = rows, keys

    def agg(self, **aggregates: Aggregate) -> Asking:
        """A column for each aggregate: `.agg(n=count(), late=mean("dep_delay"))`. Without any there are the
        keys alone, each combination once."""
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise BadQuery(
                    f"{self._rows.place}: '{name}' is {aggregate!r}, which is no aggregate",
                    fix="Give one of core.agg: count(), mean('price')",
                )
        return self._rows.then(Group(self._keys, tuple(aggregates.items())))


def _key(name: str, known: set[str]) -> SortKey:
    if name in known or not name.startswith("-"):
        return SortKey(name)
    return SortKey(name[1:], True)


def _seed(given: Any, place: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not -(2**63) <= given < 2**63:
        raise BadQuery(f"{place}: sample was given {given!r} as seed", fix="Give a whole number of 64 bits")
    return given
