"""The steps of a query, as immutable plain data: each makes other rows of the rows before it.

What a step means for columns and rows is in `core.query.compile`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.filters.expr import Filter
from core.query.aggregate import Aggregate
from core.query.expressions import Expression
from core.query.query import SortKey

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
    it is one row, even of no rows. `having` asks of the answer's own columns."""

    keys: tuple[str, ...]
    aggregates: Aggregates = ()
    having: Filter | None = None


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


Step = Where | Compute | Select | Group | Sort | Limit | Sample
