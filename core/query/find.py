"""THE planner: which rows a query answers with, found by an index, by masks or by DuckDB."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.sorted_ids import EMPTY, among, without
from lamella.core.filters.binding import bind, bind_to
from lamella.core.filters.expr import Filter, columns_read
from lamella.core.filters.to_arrow import mask
from lamella.core.filters.to_sql import to_sql
from lamella.core.index.planning import in_sort_order, key_columns, meeting, serve
from lamella.core.jobs import Job
from lamella.core.query.duckdb_source import POSITION, identifier, relation
from lamella.core.query.engine import cursor, streamed
from lamella.core.query.number_sort import is_sorted_here, number_order, room_for
from lamella.core.query.pruning import Found, Reads, files_of, found_in, may_meet, reads_in, row_groups_of
from lamella.core.scan.cache import LruCache, cache
from lamella.core.scan.read import (
    Piece,
    piece_at,
    runs,
    with_changes,
)
from lamella.core.scan.snapshot import Column, Snapshot, SortKey, project

LARGEST_ROWS = 2_000_000
ROWS_AT_ONCE = 500_000
FEWEST_ROWS = 4_096


def pays(snapshot: Snapshot) -> bool:
    return snapshot.num_positions <= LARGEST_ROWS


def find_by_mask(
    snapshot: Snapshot, where: Filter, job: Job, first: int = 0, enough: int | None = None
) -> np.ndarray:
    """Ascending positions of the live rows that meet `where`, from position `first` on.

    Once `enough` are found the rest is not looked at.
    """
    return search_by_mask(snapshot, where, job, first, enough).positions


def search_by_mask(
    snapshot: Snapshot, where: Filter, job: Job, first: int = 0, enough: int | None = None
) -> Found:
    """The same, and which row groups were looked at for it, be they decoded now or kept from before."""
    bound = bind(where, snapshot.schema, snapshot.name)
    counted_by = [column.name for column in snapshot.columns[:1]]  # where the filter asks nothing of rows
    columns = project(snapshot, columns_read(bound) or counted_by)
    found, rows, looked_at = [EMPTY], 0, dict[int, Piece]()
    rows_at_once = ROWS_AT_ONCE if enough is None else enough
    pieces = runs(
        snapshot, first, snapshot.num_positions, max(rows_at_once, FEWEST_ROWS), may_meet(snapshot, bound)
    )
    for piece, low, high, chunks in _blocks(snapshot, pieces, columns, first, rows_at_once):
        job.check()
        looked_at[piece.first] = piece
        met = mask(bound, with_changes(snapshot, low, high, columns, chunks), job.check)
        live = without(np.flatnonzero(to_numpy(met)) + low, snapshot.deleted)
        found.append(live)
        rows += len(live)
        if enough is not None and rows >= enough:
            break
    return found_in(snapshot, np.concatenate(found)[:enough], looked_at.values())


def _blocks(
    snapshot: Snapshot, pieces: Iterable[Piece], columns: Sequence[Column], first: int, rows: int
) -> Iterator[tuple[Piece, int, int, list[pa.ChunkedArray]]]:
    """The columns from position `first` on: a few rows at first, then more and more."""
    rows = max(rows, FEWEST_ROWS)
    for piece in pieces:
        chunks = piece.stored_chunks(snapshot, columns, cache)
        low = max(first, piece.first)
        while low < piece.stop:
            high = min(low + rows, piece.stop)
            whole = high - low == piece.stop - piece.first
            cut = chunks if whole else [c.slice(low - piece.first, high - low) for c in chunks]
            yield piece, low, high, cut
            low, rows = high, 2 * rows


def find_by_index(
    snapshot: Snapshot, where: Filter | None, sort: Sequence[SortKey] = (), limit: int | None = None
) -> Found | None:
    """The same as `core.query.find.find_positions`; None where no index helps."""
    served = serve(snapshot, where, sort, limit)
    if served is None:
        return None
    return Found(served.positions, partial(_reads, snapshot, served.looked_at), served.index)


def _reads(snapshot: Snapshot, looked_at: np.ndarray) -> Reads:
    return reads_in(snapshot, _holding(snapshot, np.sort(looked_at)))


def _holding(snapshot: Snapshot, ascending: np.ndarray) -> Iterator[Piece]:
    """The pieces that hold these positions."""
    done = 0
    while done < len(ascending):
        piece = piece_at(snapshot, int(ascending[done]))
        yield piece
        done = int(np.searchsorted(ascending, piece.stop))


ROWS_A_BATCH = 1 << 20


def count_positions(snapshot: Snapshot, where: Filter | None = None, job: Job | None = None) -> int:
    """How many live rows meet `where`."""
    if where is None:
        return snapshot.num_rows
    job = job or Job()
    with cursor(job, snapshot.name) as own:
        found = _select(snapshot, own, [exp.Count(this=exp.Star())], where, (), job)
        job.check()
        return int(own.sql(found.sql("duckdb")).fetchall()[0][0])


def find_positions(
    snapshot: Snapshot,
    where: Filter | None = None,
    sort: Sequence[SortKey] = (),
    job: Job | None = None,
    limit: int | None = None,
) -> Found:
    """The rows that meet `where`: ascending, or in the order of `sort` (ties ascending).

    `limit` asks for the first ones of a sort alone.
    """
    job = job or Job()
    served = find_by_index(snapshot, where, sort, limit)
    if served is not None:
        return served
    with cursor(job, snapshot.name) as own:
        own.execute("SET enable_profiling = 'no_output'")
        if is_sorted_here(snapshot, sort, limit):
            positions = _sorted_here(snapshot, own, where, sort[0], job)
        else:
            query = _select(snapshot, own, [exp.column(POSITION, quoted=True)], where, sort, job)
            if sort and limit is not None:
                query = query.limit(min(limit, snapshot.num_rows))
            positions = _collect(own.sql(query.sql("duckdb")), snapshot.num_rows, job)
        profile = json.loads(own.get_profiling_information(format="json"))["query"]
    if not sort and len(positions) > 1 and not bool(np.all(positions[1:] > positions[:-1])):
        positions.sort()
    return Found(positions, partial(_reads_of_search, snapshot, int(profile["total_row_groups_scanned"])))


def _reads_of_search(snapshot: Snapshot, row_groups: int) -> Reads:
    return Reads(row_groups, row_groups_of(snapshot), None if row_groups else 0, len(files_of(snapshot)))


def _sorted_here(
    snapshot: Snapshot, own: duckdb.DuckDBPyConnection, where: Filter | None, key: SortKey, job: Job
) -> np.ndarray:
    (column,) = project(snapshot, [key.column])
    values = [exp.column(POSITION, quoted=True), exp.column(identifier(column), quoted=True)]
    query = _select(snapshot, own, values, where, (), job, also=[key.column])
    reader = own.sql(query.sql("duckdb")).to_arrow_reader(ROWS_A_BATCH)
    return number_order(streamed(reader, job), snapshot.num_rows, key.descending, job)


def _select(
    snapshot: Snapshot,
    own: duckdb.DuckDBPyConnection,
    values: Sequence[exp.Expr],
    where: Filter | None,
    sort: Sequence[SortKey],
    job: Job,
    also: Sequence[str] = (),
) -> exp.Select:
    """`also` names columns of which the `values` are made."""
    bound = bind(where, snapshot.schema, snapshot.name) if where is not None else None
    filtered = columns_read(bound) if bound is not None else []
    used = dict.fromkeys([*filtered, *(key.column for key in sort), *also])
    columns = project(snapshot, used)
    query = exp.select(*values).from_(relation(snapshot, columns, own, job=job))
    if bound is not None:
        query = query.where(to_sql(bound, {c.name: identifier(c) for c in columns}))
    return query.order_by(*_order(sort, columns)) if sort else query


def _order(sort: Sequence[SortKey], columns: Sequence[Column]) -> list[exp.Expr]:
    named = {c.name: c for c in columns}
    keys: list[exp.Expr] = [
        exp.Ordered(
            this=exp.column(identifier(named[key.column]), quoted=True),
            desc=key.descending,
            nulls_first=False,
        )
        for key in sort
    ]
    return [*keys, exp.column(POSITION, quoted=True)]


def _collect(found: duckdb.DuckDBPyRelation, at_most: int, job: Job) -> np.ndarray:
    answer, filled = np.empty(0, np.int64), 0
    job.check()
    for batch in streamed(found.to_arrow_reader(ROWS_A_BATCH), job):
        if filled + batch.num_rows > len(answer):
            answer = _grown(answer, filled, filled + batch.num_rows, at_most)
        answer[filled : filled + batch.num_rows] = to_numpy(batch.column(0))
        filled += batch.num_rows
        job.check()
    return answer[:filled]


def _grown(answer: np.ndarray, filled: int, needed: int, at_most: int) -> np.ndarray:
    size = min(max(needed, 4 * len(answer)), max(at_most, needed))
    larger = room_for(size)
    larger[:filled] = answer[:filled]
    return larger


FEW_TO_ORDER = 10_000
FEW_WITHIN = 1_000
"""So many rows are looked at one by one; among more, those that meet a condition are found first."""


def count_rows(snapshot: Snapshot, where: Filter | None = None, job: Job | None = None) -> int:
    """How many live rows meet `where`."""
    served = None if where is None else find_by_index(snapshot, where)
    if served is not None:
        return len(served.positions)
    if where is not None and pays(snapshot):
        return len(find_by_mask(snapshot, where, job or Job()))
    return count_positions(snapshot, where, job)


def find_rows(
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
        found = find_rows(snapshot, where, keys, job)
        kept: np.ndarray = found[among(found, within)]
        return kept
    if where is not None:
        bound = bind_to(where, snapshot.types, snapshot.name)
        within = within[meeting(snapshot, within, bound)]
    return in_sort_order(snapshot, within, keys, columns)


def _first_in_order(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, first: int
) -> np.ndarray:
    order = order_of(snapshot, where, keys)
    kept = cached_order(order)
    if kept is None and snapshot.num_rows <= SMALL_ROWS and asked_again(order):
        kept = keep(order, search(snapshot, where, keys, job).positions)
    return search(snapshot, where, keys, job, first).positions if kept is None else kept[:first]


def search(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, first: int | None = None
) -> Found:
    """The same, and what was read for it."""
    if where is None or not pays(snapshot):
        return find_positions(snapshot, where, keys, job, first)
    served = find_by_index(snapshot, where, keys, first)
    if served is not None or not keys:
        return served or search_by_mask(snapshot, where, job, enough=first)
    return _few_in_order(snapshot, where, keys, job) or find_positions(snapshot, where, keys, job, first)


def _few_in_order(snapshot: Snapshot, where: Filter, keys: tuple[SortKey, ...], job: Job) -> Found | None:
    """The same where few rows meet `where`: putting them in order costs less than starting a query engine."""
    columns = key_columns(snapshot, keys)
    if columns is None:
        return None
    found = search_by_mask(snapshot, where, job, enough=FEW_TO_ORDER + 1)
    if len(found.positions) > FEW_TO_ORDER:
        return None
    return replace(found, positions=in_sort_order(snapshot, found.positions, keys, columns))


MOST_BYTES = 64 << 20


SMALL_ROWS = 500_000
"""Up to so many rows, all of them are put in order the second time that a few are asked for."""


MOST_ASKED = 64


Order = tuple[object, ...]
"""A snapshot, a filter and a sort."""


_orders: LruCache[Order, np.ndarray] = LruCache(MOST_BYTES)


_asked: OrderedDict[Order, None] = OrderedDict()


_lock = threading.Lock()


def order_of(snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...]) -> Order:
    return (snapshot.token, where, keys)


def cached_order(order: Order) -> np.ndarray | None:
    """The positions in this order, if they are kept."""
    return _orders.get([order])[0]


def keep(order: Order, positions: np.ndarray) -> np.ndarray:
    _orders.put([(order, positions)])
    return positions


def forget() -> None:
    """Every order, and which were asked for."""
    _orders.resize(0)
    _orders.resize(MOST_BYTES)
    with _lock:
        _asked.clear()


def asked_again(order: Order) -> bool:
    """Whether its first rows were asked for before, and not too long ago."""
    with _lock:
        again = order in _asked
        _asked[order] = None
        _asked.move_to_end(order)
        if len(_asked) > MOST_ASKED:
            _asked.popitem(last=False)
    return again
