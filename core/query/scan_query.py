"""Queries of one dataset that only filter, sort, choose columns and limit, with answers as tables or
streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.filters.condition import Condition, condition_of
from lamella.core.filters.expr import Filter, all_of
from lamella.core.jobs import Job
from lamella.core.query.find import find_rows
from lamella.core.query.steps import Limit, Select, Sort, Step, Where
from lamella.core.scan.read import read_all_rows, read_rows, schema_of, stream_columns, take_rows
from lamella.core.scan.snapshot import Column, Snapshot, SortKey, project
from lamella.core.validation import count_of, names_of


@dataclass(frozen=True)
class ScanQuery:
    """`columns=None` means all columns; an empty `sort` means the dataset's own order."""

    columns: tuple[str, ...] | None = None
    where: Filter | None = None
    sort: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0


def as_scan(steps: Sequence[Step]) -> ScanQuery | None:
    """The steps as one scan of a dataset; None if they need more than that."""
    where: list[Filter] = []
    keys: tuple[SortKey, ...] = ()
    remaining = list(steps)
    while remaining and isinstance(step := remaining[0], Where | Sort):
        remaining.pop(0)
        if isinstance(step, Where):
            where.append(step.condition)
        else:
            keys = _by_last(step.keys, keys)
    columns, limit = _take_columns_and_limit(remaining)
    if remaining:
        return None
    return ScanQuery(columns, _all_conditions(where), keys, limit.count, limit.offset)


def _take_columns_and_limit(remaining: list[Step]) -> tuple[tuple[str, ...] | None, Limit]:
    """Remove the column choice and the limit, in either order, from the steps, and return them."""
    columns, limit = None, None
    while remaining:
        step = remaining[0]
        if isinstance(step, Select) and columns is None and len(set(step.columns)) == len(step.columns):
            columns = step.columns
        elif isinstance(step, Limit) and limit is None:
            limit = step
        else:
            break
        remaining.pop(0)
    return columns, limit or Limit(None)


def _by_last(keys: tuple[SortKey, ...], before: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """Combine sort keys: rows with equal new keys keep their earlier order."""
    names = {key.column for key in keys}
    return (*keys, *(key for key in before if key.column not in names))


def _all_conditions(where: Sequence[Filter]) -> Filter | None:
    return (where[0] if len(where) == 1 else all_of(where)) if where else None


def scan_query_of(
    snapshot: Snapshot,
    columns: Iterable[str] | None = None,
    where: Condition | None = None,
    sort: Iterable[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> ScanQuery:
    """Convert the arguments to a `ScanQuery`. Raises `UnknownColumn` for a sort key, `BadData` for an invalid
    limit or offset."""
    most = None if limit is None else count_of(limit, f"{snapshot.name}: limit")
    first = count_of(offset, f"{snapshot.name}: offset")
    names = None if columns is None else tuple(names_of(columns, f"{snapshot.name}: columns"))
    condition = condition_of(where, f"{snapshot.name}: where", snapshot)
    return ScanQuery(names, condition, sort_keys(snapshot, sort), most, first)


def sort_keys(snapshot: Snapshot, names: Iterable[str] | None) -> tuple[SortKey, ...]:
    """ "-name" sorts descending, unless a column has that name."""
    column_names = {column.name for column in snapshot.columns}
    keys = tuple(
        SortKey(name) if name in column_names else SortKey(name.removeprefix("-"), name.startswith("-"))
        for name in (() if names is None else names_of(names, f"{snapshot.name}: sort"))
    )
    project(snapshot, (key.column for key in keys))
    return keys


def read_scan(
    snapshot: Snapshot,
    query: ScanQuery,
    job: Job | None = None,
    flatten: bool = False,
    within: np.ndarray | None = None,
) -> pa.Table:
    """Read the answer of a query. `within` restricts it to these live positions, which ascend."""
    job, columns = job or Job(), project(snapshot, query.columns, flatten)
    positions = find_scan_rows(snapshot, query, job, within)
    if positions is not None:
        return take_rows(snapshot, positions, columns)
    if query.limit is None and query.offset == 0:
        return read_all_rows(snapshot, columns, job)
    count_rows = snapshot.num_rows if query.limit is None else query.limit
    return read_rows(snapshot, query.offset, count_rows, columns)


def find_scan_rows(
    snapshot: Snapshot, query: ScanQuery, job: Job, within: np.ndarray | None = None
) -> np.ndarray | None:
    """Positions of the rows of the answer, in order; None if all rows are read in their own order."""
    if query.where is None and not query.sort and within is None:
        return None
    stop = None if query.limit is None else query.offset + query.limit
    return find_rows(snapshot, query.where, query.sort, job, within, stop)[query.offset : stop]


def stream_scan(
    snapshot: Snapshot,
    query: ScanQuery,
    job: Job | None = None,
    flatten: bool = False,
    within: np.ndarray | None = None,
) -> pa.RecordBatchReader:
    """Stream the answer, in bounded memory except for eight bytes per row that a filter or sort finds."""
    job, columns = job or Job(), project(snapshot, query.columns, flatten)
    if query.where is None and not query.sort and within is None:
        return stream_columns(snapshot, columns, job)
    positions = find_rows(snapshot, query.where, query.sort, job, within)
    return pa.RecordBatchReader.from_batches(
        schema_of(columns), _batches_at(snapshot, positions, columns, job)
    )


CELLS_A_BATCH = 1 << 22


def _batches_at(
    snapshot: Snapshot, positions: np.ndarray, columns: tuple[Column, ...], job: Job
) -> Iterator[pa.RecordBatch]:
    rows = max(1_000, CELLS_A_BATCH // max(1, len(columns)))
    for first in range(0, len(positions), rows):
        job.report(first, len(positions))
        yield from take_rows(snapshot, np.asarray(positions[first : first + rows]), columns).to_batches()
