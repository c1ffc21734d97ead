"""Rows that answer a query, run in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lamella.core.arguments import Condition, condition_of, count_of, names_of
from lamella.core.ascending import among
from lamella.core.filters.binding import bind_to
from lamella.core.filters.expr import Filter
from lamella.core.index.candidates import meeting
from lamella.core.index.sorting import in_sort_order, key_columns
from lamella.core.jobs import Job
from lamella.core.query import masks, orders, positions
from lamella.core.query.found import Found
from lamella.core.query.indexed import find_by_index
from lamella.core.query.query import Query, SortKey
from lamella.core.scan.paths import chosen
from lamella.core.scan.pieces import schema_of
from lamella.core.scan.rows import read_rows, take_rows
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.scan.stream import read_all, stream_columns

CELLS_A_BATCH = 1 << 22
FEW_TO_ORDER = 10_000
FEW_WITHIN = 1_000
"""So many rows are looked at one by one; among more, those that meet a condition are found first."""


def count(snapshot: Snapshot, where: Filter | None = None, job: Job | None = None) -> int:
    """How many live rows meet `where`."""
    served = None if where is None else find_by_index(snapshot, where)
    if served is not None:
        return len(served.positions)
    if where is not None and masks.pays(snapshot):
        return len(masks.find_by_mask(snapshot, where, job or Job()))
    return positions.count(snapshot, where, job)


def read(
    snapshot: Snapshot,
    columns: Iterable[str] | None = None,
    where: Condition | None = None,
    sort: Iterable[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
    job: Job | None = None,
) -> pa.Table:
    """The rows that meet `where`, in the snapshot's own order unless sorted ("-name" descends)."""
    return answer(snapshot, asked(snapshot, columns, where, sort, limit, offset), job)


def asked(
    snapshot: Snapshot,
    columns: Iterable[str] | None = None,
    where: Condition | None = None,
    sort: Iterable[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Query:
    """As a query. Raises `UnknownColumn` for a key, `BadData` for a limit or offset that counts no rows."""
    most = None if limit is None else count_of(limit, f"{snapshot.name}: limit")
    first = count_of(offset, f"{snapshot.name}: offset")
    named = None if columns is None else tuple(names_of(columns, f"{snapshot.name}: columns"))
    condition = condition_of(where, f"{snapshot.name}: where", snapshot)
    return Query(named, condition, sort_keys(snapshot, sort), most, first)


def answer(
    snapshot: Snapshot,
    query: Query,
    job: Job | None = None,
    flatten: bool = False,
    within: np.ndarray | None = None,
) -> pa.Table:
    """The rows a query asks for. `within`: of these live positions, ascending, alone."""
    job, columns = job or Job(), chosen(snapshot, query.columns, flatten)
    found = looked_for(snapshot, query, job, within)
    if found is not None:
        return take_rows(snapshot, found, columns)
    if query.limit is None and query.offset == 0:
        return read_all(snapshot, columns, job)
    count = snapshot.num_rows if query.limit is None else query.limit
    return read_rows(snapshot, query.offset, count, columns)


def looked_for(
    snapshot: Snapshot, query: Query, job: Job, within: np.ndarray | None = None
) -> np.ndarray | None:
    """Positions of the rows of the answer, in order; None where all rows are asked for as they come."""
    if query.where is None and not query.sort and within is None:
        return None
    stop = None if query.limit is None else query.offset + query.limit
    return find(snapshot, query.where, query.sort, job, within, stop)[query.offset : stop]


def stream(
    snapshot: Snapshot,
    query: Query,
    job: Job | None = None,
    flatten: bool = False,
    within: np.ndarray | None = None,
) -> pa.RecordBatchReader:
    """The same in bounded memory, but for eight bytes for each row that a filter or a sort finds."""
    job, columns = job or Job(), chosen(snapshot, query.columns, flatten)
    if query.where is None and not query.sort and within is None:
        return stream_columns(snapshot, columns, job)
    found = find(snapshot, query.where, query.sort, job, within)
    return pa.RecordBatchReader.from_batches(schema_of(columns), _taken(snapshot, found, columns, job))


def find(
    snapshot: Snapshot,
    where: Filter | None,
    keys: tuple[SortKey, ...],
    job: Job,
    within: np.ndarray | None = None,
    first: int | None = None,
) -> np.ndarray:
    """Positions of the rows that meet `where`, in order; at least the `first` ones where that is given."""
    if within is not None:
        return _find_within(snapshot, where, keys, job, within)
    if not keys or first is None:
        return search(snapshot, where, keys, job, first).positions
    return _first_in_order(snapshot, where, keys, job, first)


def _find_within(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, within: np.ndarray
) -> np.ndarray:
    if where is None and not keys:
        return within
    columns = key_columns(snapshot, keys)
    if columns is None or len(within) > (FEW_TO_ORDER if where is None else FEW_WITHIN):
        found = find(snapshot, where, keys, job)
        kept: np.ndarray = found[among(found, within)]
        return kept
    if where is not None:
        bound = bind_to(where, snapshot.types, snapshot.name)
        within = within[meeting(snapshot, within, bound)]
    return in_sort_order(snapshot, within, keys, columns)


def _first_in_order(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, first: int
) -> np.ndarray:
    order = orders.order_of(snapshot, where, keys)
    kept = orders.kept(order)
    if kept is None and snapshot.num_rows <= orders.SMALL_ROWS and orders.asked_again(order):
        kept = orders.keep(order, search(snapshot, where, keys, job).positions)
    return search(snapshot, where, keys, job, first).positions if kept is None else kept[:first]


def search(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, first: int | None = None
) -> Found:
    """The same, and what was read for it."""
    if where is None or not masks.pays(snapshot):
        return positions.find(snapshot, where, keys, job, first)
    served = find_by_index(snapshot, where, keys, first)
    if served is not None or not keys:
        return served or masks.search_by_mask(snapshot, where, job, enough=first)
    return _few_in_order(snapshot, where, keys, job) or positions.find(snapshot, where, keys, job, first)


def _few_in_order(snapshot: Snapshot, where: Filter, keys: tuple[SortKey, ...], job: Job) -> Found | None:
    """The same where few rows meet `where`: putting them in order costs less than starting a query engine."""
    columns = key_columns(snapshot, keys)
    if columns is None:
        return None
    found = masks.search_by_mask(snapshot, where, job, enough=FEW_TO_ORDER + 1)
    if len(found.positions) > FEW_TO_ORDER:
        return None
    return replace(found, positions=in_sort_order(snapshot, found.positions, keys, columns))


def sort_keys(snapshot: Snapshot, names: Iterable[str] | None) -> tuple[SortKey, ...]:
    """ "-name" descends, unless a column is called so."""
    known = {column.name for column in snapshot.columns}
    keys = tuple(
        SortKey(name) if name in known else SortKey(name.removeprefix("-"), name.startswith("-"))
        for name in (() if names is None else names_of(names, f"{snapshot.name}: sort"))
    )
    chosen(snapshot, (key.column for key in keys))
    return keys


def _taken(
    snapshot: Snapshot, found: np.ndarray, columns: tuple[Column, ...], job: Job
) -> Iterator[pa.RecordBatch]:
    rows = max(1_000, CELLS_A_BATCH // max(1, len(columns)))
    for first in range(0, len(found), rows):
        job.report(first, len(found))
        yield from take_rows(snapshot, np.asarray(found[first : first + rows]), columns).to_batches()
