"""Rows of a snapshot by place: ranges, scattered positions, and the way from live rows to positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take
from lamella.core.scan.caches import browsed
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.patch import Gaps, patched
from lamella.core.scan.pieces import (
    Pending,
    Piece,
    changed_cells,
    in_memory,
    pieces,
    put_changes_together,
    schema_of,
)
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot
from lamella.core.scan.taken import take_each, taken


def read_range(snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column]) -> pa.Table:
    """Live rows among positions first … stop-1, pending changes applied."""
    tables = []
    for piece in pieces(snapshot, first, stop):
        low, high = max(first, piece.first), min(stop, piece.stop)
        cut = [
            chunk.slice(low - piece.first, high - low) for chunk in piece.stored(snapshot, columns, browsed)
        ]
        tables.append(finish(snapshot, low, high, columns, cut))
    return _together(tables, columns)


def read_rows(snapshot: Snapshot, offset: int, count: int, columns: Sequence[Column]) -> pa.Table:
    """`count` live rows from live row `offset` on; fewer at the end."""
    count = min(count, snapshot.num_rows - offset)
    if count <= 0:
        return _together([], columns)
    first, last = live_positions(snapshot, np.array([offset, offset + count - 1]))
    return read_range(snapshot, int(first), int(last) + 1, columns)


def read_piece(snapshot: Snapshot, piece: Piece, columns: Sequence[Column]) -> pa.Table:
    """The live rows of a piece, pending changes applied; nothing of it is kept."""
    gaps = gaps_of(snapshot, piece.first, piece.stop)
    return pa.Table.from_arrays(live(snapshot, piece, gaps, columns), schema=schema_of(columns))


def live(
    snapshot: Snapshot,
    piece: Piece,
    gaps: Gaps | None,
    columns: Sequence[Column],
    file: OpenFile | None = None,
) -> list[pa.ChunkedArray]:
    """The same, of the rows that `gaps` leave. `file` is the calling thread's, where it reads more."""
    pending = Pending(snapshot, piece.first, piece.stop, columns)
    covered = [pending.cover(column) for column in columns]
    needed = [column for column, whole in zip(columns, covered, strict=True) if not whole]
    passing = zip(*piece.passing(needed, file), strict=True)
    arrays = []
    for column, whole in zip(columns, covered, strict=True):
        chunk, mine = (pa.chunked_array([], column.type), False) if whole else next(passing)
        changed = pending.put_into(column, chunk, mine)
        arrays.append(changed if gaps is None else gaps.without(changed))
    return arrays


def take_rows(snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """The rows at these live positions, in the order given, pending changes applied."""
    if len(positions) == 0:
        return _together([], columns)
    put_changes_together(snapshot, columns)
    sorted_already = bool(np.all(positions[1:] >= positions[:-1]))
    order = None if sorted_already else np.argsort(positions, kind="stable")
    ascending = positions if order is None else positions[order]
    starts, tables = snapshot.segment_starts, []
    for number in np.flatnonzero(np.bincount(np.searchsorted(starts, ascending, side="right") - 1)).tolist():
        low, high = np.searchsorted(ascending, starts[number : number + 2])
        tables.append(_take_from(snapshot, number, ascending[low:high], columns))
    together = _together(tables, columns)
    return together if order is None else _in_order(together, order)


def live_positions(snapshot: Snapshot, live: np.ndarray) -> np.ndarray:
    """Positions of live row numbers: each is moved on by the deletions before it."""
    if len(snapshot.deleted) == 0:
        return live
    before = snapshot.deleted - np.arange(len(snapshot.deleted))
    moved: np.ndarray = live + np.searchsorted(before, live, side="right")
    return moved


def finish(
    snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column], chunks: list[pa.ChunkedArray]
) -> pa.Table:
    """Chunks of positions first … stop-1 as a table: pending changes put in, deleted rows left out."""
    table = with_changes(snapshot, first, stop, columns, chunks)
    gaps = gaps_of(snapshot, first, stop)
    if gaps is None:
        return table
    return pa.Table.from_arrays([gaps.without(column) for column in table.columns], schema=table.schema)


def with_changes(
    snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column], chunks: list[pa.ChunkedArray]
) -> pa.Table:
    """Chunks of positions first … stop-1 as a table: pending changes put in, deleted rows still there."""
    pending = Pending(snapshot, first, stop, columns)
    arrays = [pending.put_into(column, chunk) for column, chunk in zip(columns, chunks, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def patch_scattered(
    snapshot: Snapshot, column: Column, positions: np.ndarray, taken: pa.ChunkedArray
) -> pa.ChunkedArray:
    """What was taken at these positions, in any order, with pending changes put in."""
    pending = changed_cells(snapshot, column)
    if pending is None:
        return taken
    changed, values = pending
    at = np.minimum(np.searchsorted(changed, positions), len(changed) - 1)
    hits = np.flatnonzero(changed[at] == positions)
    return patched(taken, hits, take(values, at[hits])) if len(hits) else taken


def gaps_of(snapshot: Snapshot, first: int, stop: int) -> Gaps | None:
    """What the deleted rows among positions first … stop-1 leave; None where there are none."""
    low, high = np.searchsorted(snapshot.deleted, [first, stop])
    return None if low == high else Gaps(snapshot.deleted[low:high] - first, stop - first)


def _take_from(snapshot: Snapshot, number: int, positions: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """The rows at ascending positions, all of them in segment `number`."""
    segment, places = snapshot.segments[number], positions - snapshot.segment_starts[number]
    if isinstance(segment, FileSegment):
        stored = taken(segment, places, columns)
    else:
        stored = take_each(in_memory(segment, columns).columns, places)
    changed = [patch_scattered(snapshot, c, positions, held) for c, held in zip(columns, stored, strict=True)]
    return pa.Table.from_arrays(changed, schema=schema_of(columns))


def _in_order(table: pa.Table, order: np.ndarray) -> pa.Table:
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return take(table, back)


def _together(tables: list[pa.Table], columns: Sequence[Column]) -> pa.Table:
    if tables:
        return pa.concat_tables(tables)
    return pa.Table.from_batches([], schema_of(columns))
