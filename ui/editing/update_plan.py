"""A bulk update before it is made: which rows, which column, what value; and what it would change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.filters import Filter, Predicate
from lamella.core.filters.kinds import NESTED, kind_of
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.query.find import count_rows
from lamella.core.query.scan_query import read_snapshot
from lamella.core.scan.snapshot import Snapshot

ID = "_id"
PREVIEW_ROWS = 20
MOST_CONTEXT = 3


@dataclass(frozen=True)
class SelectedRows:
    """Rows chosen by hand; `ids` may read, so it is called off the GUI thread."""

    count: int
    ids: Callable[[Job], Iterable[int]]


@dataclass(frozen=True)
class UpdatePlan:
    """Set `column` to `value` in the rows of `where`: a filter, chosen rows, or None for all."""

    snapshot: Snapshot
    where: Filter | SelectedRows | None
    column: str
    value: Any

    @property
    def type(self) -> pa.DataType:
        return self.snapshot.schema.field(self.column).type


@dataclass(frozen=True)
class Preview:
    """`rows` are the first that the plan reaches, as they are; `changing` is None where values of the
    column cannot be compared."""

    matching: int
    changing: int | None
    rows: pa.Table


def preview(plan: UpdatePlan, job: Job) -> Preview:
    where = as_filter(plan.where, job)
    rows = read_snapshot(plan.snapshot, _shown_columns(plan), where, limit=PREVIEW_ROWS, job=job)
    matching = plan.snapshot.num_rows if where is None else count_rows(plan.snapshot, where, job)
    return Preview(matching, _changing(plan, where, job), rows)


def as_filter(where: Filter | SelectedRows | None, job: Job) -> Filter | None:
    return col(ID).is_in(where.ids(job)) if isinstance(where, SelectedRows) else where


def _changing(plan: UpdatePlan, where: Filter | None, job: Job) -> int | None:
    if plan.value is None:
        other: Filter = Predicate(plan.column, "not_null")
    elif kind_of(plan.type) in NESTED:
        return None
    else:
        other = Predicate(plan.column, "ne", (plan.value,))
    return count_rows(plan.snapshot, other if where is None else where & other, job)


def _shown_columns(plan: UpdatePlan) -> list[str]:
    """The row's id, a few columns to know the row by, and the one that changes."""
    names = [name for name in plan.snapshot.schema.names if name not in (ID, plan.column)]
    return [ID, *names[:MOST_CONTEXT], plan.column]
