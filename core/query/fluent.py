"""What can be asked of a dataset, and of what a query gives, step by step.

Every step makes another query (`core.query.asking.Asking`) and leaves what it is asked of as it is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamella.core.arguments import Condition, condition_of, count_of, names_of, text_of
from lamella.core.errors import BadQuery, shown
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.expressions import computes_from, expression_of
from lamella.core.query.query import SortKey
from lamella.core.query.steps import (
    Aggregates,
    Buckets,
    Compute,
    Group,
    How,
    Limit,
    Pivot,
    Sample,
    Select,
    Sort,
    Unpivot,
    Unwind,
    Where,
)

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking


class Fluent:
    @abstractmethod
    def asking(self) -> Asking:
        """All rows, as a query."""

    def where(self, condition: Condition) -> Asking:
        """The rows that meet a condition: an expression, text or a dict. Raises `BadFilter` for any other."""
        rows = self.asking()
        asked = condition_of(condition, f"{rows.name}: where", rows)
        return rows if asked is None else rows.then(Where(asked))

    def compute(self, /, **values: Any) -> Asking:
        """Further columns: `.compute(total=col("price") * col("count"))`.

        Other values, text too, stand in every row as they are. Raises `BadQuery` for text that reads as if it
        were to be computed from columns, `"price * 2"`; `Constant("price * 2")` is that text.
        """
        rows = self.asking()
        for name, value in values.items():
            if isinstance(value, str) and computes_from(value, lambda: rows.schema.names):
                raise BadQuery(
                    f"{rows.name}: '{name}' would hold the text {value!r} in every row",
                    "compute takes text as a value, and this reads as if it were to be computed",
                    f"Write it with col(): col('a') * 2; for the text itself give Constant({value!r})",
                )
        return rows.then(Compute(tuple((name, expression_of(value)) for name, value in values.items())))

    def select(self, *columns: str | Iterable[str]) -> Asking:
        """These columns alone, in this order."""
        rows = self.asking()
        named = names_of(_listed(columns), f"{rows.name}: select")
        if not named:
            raise BadQuery(f"{rows.name}: select names no column", fix="Name at least one: select('a')")
        return rows.then(Select(tuple(named)))

    def group_by(self, /, *keys: str | Iterable[str], **computed: Any) -> Grouping:
        """Followed by `.agg(...)`. Keys may be computed: `.group_by("carrier", month=col("day").month())`."""
        rows = self.asking()
        named = tuple(names_of(_listed(keys), f"{rows.name}: group_by"))
        before = rows.compute(**computed) if computed else rows
        return Grouping(before, (*named, *computed))

    def agg(self, /, **aggregates: Aggregate) -> Asking:
        """One row of all rows: `.agg(n=count(), late=mean("dep_delay"))`."""
        return Grouping(self.asking(), ()).agg(**aggregates)

    def sort(self, *keys: str | Iterable[str]) -> Asking:
        """By these columns, "-name" descending; nulls last. Rows that are equal in them keep their order."""
        rows = self.asking()
        named = names_of(_listed(keys), f"{rows.name}: sort")
        known = set(rows.schema.names) if any(name.startswith("-") for name in named) else set()
        return rows.then(Sort(tuple(_key(name, known) for name in named)))

    def limit(self, count: int | None, offset: int = 0) -> Asking:
        """At most `count` rows, all for None, from row `offset` on."""
        rows = self.asking()
        most = None if count is None else count_of(count, f"{rows.name}: limit")
        return rows.then(Limit(most, count_of(offset, f"{rows.name}: offset")))

    def pivot(
        self,
        keys: str | Iterable[str],
        column: str,
        /,
        values: Iterable[Any] | Aggregate | None = None,
        **aggregates: Aggregate,
    ) -> Asking:
        """A row for each combination of the keys' values and a column for each value of `column`:
        `.pivot("carrier", "month", n=count())`. Which values there are is looked up unless they are given."""
        rows = self.asking()
        if isinstance(values, Aggregate):
            aggregates, values = {"values": values, **aggregates}, None
        if values is not None and not isinstance(values, Iterable):
            raise BadQuery(
                f"{rows.name}: pivot takes a list of values, not {shown(values)}", fix="Give a list"
            )
        listed = None if values is None else tuple(values)
        named = tuple(names_of(keys, f"{rows.name}: pivot"))
        text_of(column, f"{rows.name}: pivot")
        return rows.then(Pivot(named, column, _aggregates(aggregates, rows.name), listed))

    def unpivot(self, columns: Iterable[str], name: str = "name", value: str = "value") -> Asking:
        """Each row once for each of the columns, which become two: what it was called and its value."""
        rows = self.asking()
        for made in (name, value):
            text_of(made, f"{rows.name}: unpivot, the column name")
        return rows.then(Unpivot(tuple(names_of(columns, f"{rows.name}: unpivot")), name, value))

    def unwind(self, column: str, keep_empty: bool = False) -> Asking:
        """Each row once for each item of its list. `keep_empty` keeps rows without one, with null."""
        rows = self.asking()
        return rows.then(Unwind(text_of(column, f"{rows.name}: unwind"), keep_empty))

    def buckets(self, column: str, edges: int | Iterable[Any], /, **aggregates: Aggregate) -> Asking:
        """Groups by ranges of a column, counted as `n` unless aggregates are given: `edges` are their ends,
        or how many of one width there are. Ranges without rows are left out."""
        rows = self.asking()
        told = _aggregates(aggregates or {"n": Aggregate("count")}, rows.name)
        if isinstance(edges, bool) or not isinstance(edges, int | Iterable) or isinstance(edges, str):
            raise BadQuery(
                f"{rows.name}: buckets takes no {shown(edges)}", fix="Give a number of ranges, or their ends"
            )
        return rows.then(Buckets(column, edges if isinstance(edges, int) else tuple(edges), told))

    def facets(self, /, **queries: str | Iterable[str] | Callable[[Asking], Asking]) -> Asking:
        """Several queries of the same rows, which are read once; `tables()` gives their answers.

        A query is a column, or columns, whose values are counted, the most frequent first, or a function:
        `.facets(carrier="carrier", late=lambda rows: rows.where(col("delay") > 60).agg(n=count()))`.
        """
        from lamella.core.query.facets import faceted

        return faceted(self.asking(), queries)

    def join(
        self,
        other: Fluent | str,
        on: str | Iterable[str] | None = None,
        *,
        left_on: str | Iterable[str] | None = None,
        right_on: str | Iterable[str] | None = None,
        how: How = "inner",
        suffix: str | None = None,
        through: str | None = None,
    ) -> Asking:
        """Together with the rows of another dataset or query whose keys are equal; null equals nothing. A
        name is that of a table of the same store.

        Keys that are called the same are given as `on`, others as `left_on` and `right_on`; without any the
        relation declared between the two tables says them, the one named `through` where there are several.
        Columns of the other side whose names are taken get a `suffix`: its name behind an underscore unless
        another is given. `how`: "inner", "left", "right", "full", "semi" for the rows that have a partner,
        "anti" for those that have none.
        """
        from lamella.core.query.joins import join, keys, other_side

        left = self.asking()
        right = other_side(left, other)
        return join(left, right, keys(left, right, on, left_on, right_on, through), how, suffix)

    def aggregate(self, stages: Sequence[Mapping[str, Any]]) -> Asking:
        """Stages as MongoDB writes them: `[{"$match": {"delay": {"$gt": 60}}}, {"$count": "n"}]`.

        Raises `BadQuery` and the like for a stage that is not known, or not written as it has to be.
        """
        from lamella.core.query.mongo import aggregated

        return aggregated(self.asking(), stages)

    def sample(self, count: int, seed: int = 0) -> Asking:
        """So many rows, each as likely as every other; the same ones for the same rows and seed."""
        rows = self.asking()
        return rows.then(Sample(count_of(count, f"{rows.name}: sample"), _seed(seed, rows.name)))


class Grouping:
    """Rows about to be grouped."""

    def __init__(self, rows: Asking, keys: tuple[str, ...]) -> None:
        self._rows, self._keys = rows, keys

    def agg(self, /, **aggregates: Aggregate) -> Asking:
        """A column for each aggregate: `.agg(n=count(), late=mean("dep_delay"))`. Without any there are the
        keys alone, each combination once."""
        if not self._keys and not aggregates:
            raise BadQuery(
                f"{self._rows.name}: agg is given no aggregate", fix="Give one: agg(n=agg.count())"
            )
        return self._rows.then(Group(self._keys, _aggregates(aggregates, self._rows.name)))


def _listed(names: tuple[Any, ...]) -> Any:
    """What is given one by one may be given as one list too."""
    return names[0] if len(names) == 1 and not isinstance(names[0], str) else names


def _aggregates(given: Mapping[str, Aggregate], place: str) -> Aggregates:
    for name, aggregate in given.items():
        if not isinstance(aggregate, Aggregate):
            raise BadQuery(
                f"{place}: '{name}' is {shown(aggregate)}, which is no aggregate",
                fix="Give one of core.agg: count(), mean('price')",
            )
    return tuple(given.items())


def _key(name: str, known: set[str]) -> SortKey:
    if name in known or not name.startswith("-"):
        return SortKey(name)
    return SortKey(name[1:], True)


def _seed(given: Any, place: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not -(2**63) <= given < 2**63:
        raise BadQuery(
            f"{place}: sample was given {shown(given)} as seed", fix="Give a whole number of 64 bits"
        )
    return given
