"""The steps of a query, as immutable plain data. Each step turns the rows before it into other rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from lamella.core.filters.expr import Filter
from lamella.core.query.expressions import Expression
from lamella.core.scan.snapshot import SortKey

if TYPE_CHECKING:
    from lamella.core.filters.expr import Filter


@dataclass(frozen=True)
class Aggregate:
    """`function` is an id in the table of `core.query.functions.aggregates`. `where` selects which rows of
    each group are aggregated."""

    function: str
    value: Expression | None = None
    where: Filter | None = None
    parameter: float | None = None


Values = tuple[tuple[str, Expression], ...]
Aggregates = tuple[tuple[str, Aggregate], ...]
How = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True)
class Where:
    """The rows that meet a condition."""

    condition: Filter


@dataclass(frozen=True)
class Compute:
    """Adds columns. A new column replaces an existing one of the same name."""

    values: Values


@dataclass(frozen=True)
class Select:
    """Only these columns, in this order; fields inside structs are named by their path."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """One row for each combination of key values (null counts as a value), sorted by the keys. Without keys
    there is one row, even if there are no rows to group. `having` filters the answer by its own columns.

    `totals` shows the aggregates of all rows below the groups. `subtotals` shows the groups by the leading
    keys, with the others nested under them. Neither changes the answer: `core.query.group_levels` computes
    both beside it.
    """

    keys: tuple[str, ...]
    aggregates: Aggregates = ()
    having: Filter | None = None
    totals: bool = False
    subtotals: bool = False


@dataclass(frozen=True)
class Sort:
    """Rows with equal keys keep their order."""

    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class Limit:
    """At most `count` rows (all if None), starting at row `offset`."""

    count: int | None
    offset: int = 0


@dataclass(frozen=True)
class Sample:
    """`count` rows, each equally likely to be chosen, in their original order. The same rows and seed give
    the same sample."""

    count: int
    seed: int


@dataclass(frozen=True)
class Pivot:
    """One row for each combination of key values, and one column for each value of `column` and each
    aggregate. A column is named after the value, followed by the aggregate's name if there are several. If
    `values` is None, all values that occur get a column."""

    keys: tuple[str, ...]
    column: str
    aggregates: Aggregates
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Unpivot:
    """Repeats each row once per column, and replaces the columns by two: the column's name and its value."""

    columns: tuple[str, ...]
    name: str = "name"
    value: str = "value"


@dataclass(frozen=True)
class Unwind:
    """Repeats each row once per item of its list, which the item replaces. With `keep_empty`, rows whose list
    is empty or null stay, with null."""

    column: str
    keep_empty: bool = False


@dataclass(frozen=True)
class Buckets:
    """Groups by ranges of a column. Each range includes `low` and excludes `high`; the last one includes
    both. `edges` are the bounds of the ranges, or the number of equally wide ranges between the least and the
    greatest value. Values outside fall into a range without `low` or without `high`, and nulls into one
    without both."""

    column: str
    edges: tuple[Any, ...] | int
    aggregates: Aggregates


@dataclass(frozen=True)
class Facets:
    """One row that holds the answers of several queries of the same rows, each as a list. The rows are read
    once."""

    queries: tuple[tuple[str, tuple[Step, ...]], ...]


@dataclass(frozen=True)
class Join:
    """Combines rows with those of another query that have equal keys; null equals nothing.

    A key with the same name on both sides becomes one column. Other columns of the right side whose names are
    taken get the `suffix`. For `how`, "semi" keeps the rows that have a partner, and "anti" those that have
    none.
    """

    other: Pipeline
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    how: How
    suffix: str


@dataclass(frozen=True)
class Sql:
    """The answer of one SELECT. The text refers to the rows before it as `rows`, and to other datasets by the
    names in `tables`: pairs of the name in the text and the name of the source. It can read only these, no
    files."""

    text: str
    rows: str
    tables: tuple[tuple[str, str], ...] = ()


Step = (
    Where
    | Compute
    | Select
    | Group
    | Sort
    | Limit
    | Sample
    | Pivot
    | Unpivot
    | Unwind
    | Buckets
    | Facets
    | Join
    | Sql
)


@dataclass(frozen=True)
class Pipeline:
    """Steps applied in order to the dataset named `source`."""

    source: str
    steps: tuple[Step, ...] = ()

    def sources(self) -> tuple[str, ...]:
        """The names of all datasets, including joined ones, each once."""
        return tuple(dict.fromkeys([self.source, *_joined_sources(self.steps)]))


def _joined_sources(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Join):
            yield from step.other.sources()
        if isinstance(step, Sql):
            yield from (source for _name, source in step.tables)
        if isinstance(step, Facets):
            for _name, inside in step.queries:
                yield from _joined_sources(inside)


def rename_sources(pipeline: Pipeline, names: Mapping[str, str]) -> Pipeline:
    """The same query, with its datasets renamed."""
    return Pipeline(names[pipeline.source], rename_in_steps(pipeline.steps, names))


def rename_in_steps(steps: tuple[Step, ...], names: Mapping[str, str]) -> tuple[Step, ...]:
    return tuple(_rename_in_step(step, names) for step in steps)


def _rename_in_step(step: Step, names: Mapping[str, str]) -> Step:
    if isinstance(step, Join):
        return replace(step, other=rename_sources(step.other, names))
    if isinstance(step, Sql):
        return replace(step, tables=tuple((name, names[source]) for name, source in step.tables))
    if isinstance(step, Facets):
        return Facets(tuple((name, rename_in_steps(inside, names)) for name, inside in step.queries))
    return step
