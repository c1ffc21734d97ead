"""The steps of a query, as immutable plain data: each makes other rows of the rows before it."""

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
    """`function` is an id of the table in `core.query.functions.aggregates`; `where` asks of the rows before
    they are grouped which of them count."""

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
    """Further columns. One that is called like a column before it takes its place."""

    values: Values


@dataclass(frozen=True)
class Select:
    """These columns alone, in this order; fields inside structs are named by their path."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """A row for each combination of the keys' values, null being one of them, in their order. Without keys
    it is one row, even of no rows. `having` asks of the answer's own columns.

    `totals` shows the aggregates of all rows below the groups, and `subtotals` the groups under those by the
    first keys alone. They change nothing in the answer: `core.query.group_levels` computes both beside it.
    """

    keys: tuple[str, ...]
    aggregates: Aggregates = ()
    having: Filter | None = None
    totals: bool = False
    subtotals: bool = False


@dataclass(frozen=True)
class Sort:
    """Rows that are equal in the keys stay in the order they had."""

    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class Limit:
    """At most `count` rows, all for None, from row `offset` on."""

    count: int | None
    offset: int = 0


@dataclass(frozen=True)
class Sample:
    """So many rows, each as likely as every other, in the order they had. The same rows and seed give the
    same sample."""

    count: int
    seed: int


@dataclass(frozen=True)
class Pivot:
    """A row for each combination of the keys' values, and a column for each value of `column` and aggregate:
    called like the value, with the aggregate's name where there are several. `values` of None are all
    that are there."""

    keys: tuple[str, ...]
    column: str
    aggregates: Aggregates
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Unpivot:
    """Each row once for each of the columns, which are replaced by two: what it was called and its value."""

    columns: tuple[str, ...]
    name: str = "name"
    value: str = "value"


@dataclass(frozen=True)
class Unwind:
    """Each row once for each item of its list, which takes the list's place. `keep_empty`: rows with an
    empty list or none stay, with null."""

    column: str
    keep_empty: bool = False


@dataclass(frozen=True)
class Buckets:
    """Groups by ranges of a column: from `low` to below `high`, the last one with `high`. `edges` are the
    ends of the ranges, or how many ranges of one width there are from the least value to the greatest, with
    which the last one ends. What lies outside comes in a range without a `low` or a `high`, null in one
    without both."""

    column: str
    edges: tuple[Any, ...] | int
    aggregates: Aggregates


@dataclass(frozen=True)
class Facets:
    """One row with a list of rows for each of several queries of the same rows, which are read once."""

    queries: tuple[tuple[str, tuple[Step, ...]], ...]


@dataclass(frozen=True)
class Join:
    """Rows together with those of another query whose keys are equal; null equals nothing.

    Where a key is called the same on both sides there is one column of it. Other columns of the right side
    whose names are taken get the `suffix`. `how`: "semi" and "anti" are the rows that have a partner, and
    those that have none.
    """

    other: Pipeline
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    how: How
    suffix: str


@dataclass(frozen=True)
class Sql:
    """The answer of one SELECT, which knows the rows before it as `rows`, and other datasets by the names in
    `tables`: pairs of the name in the text and the name of the source. It reads these, and no files."""

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
    """`source` is the name of a dataset; the steps follow each other."""

    source: str
    steps: tuple[Step, ...] = ()

    def sources(self) -> tuple[str, ...]:
        """The names of all datasets, those of joins among them, each once."""
        return tuple(dict.fromkeys([self.source, *_joined(self.steps)]))


def _joined(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Join):
            yield from step.other.sources()
        if isinstance(step, Sql):
            yield from (source for _name, source in step.tables)
        if isinstance(step, Facets):
            for _name, inside in step.queries:
                yield from _joined(inside)


def rename_sources(pipeline: Pipeline, names: Mapping[str, str]) -> Pipeline:
    """The same query of datasets that are called otherwise."""
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
