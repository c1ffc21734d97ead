"""Rows of a snapshot by place: ranges, scattered positions, and the way from live rows to positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.arrays import take
from core.scan.chunks import ChunkCache, browsed, cache, column_chunks
from core.scan.footers import unchanged
from core.scan.overlay import Changed
from core.scan.snapshot import Column, FileSegment, MemorySegment, Segment, Snapshot


@dataclass(frozen=True)
class Piece:
    """Rows that are decoded together: one row group, or a whole segment in memory."""

    segment: Segment
    row_group: int
    first: int
    stop: int

    def stored(
        self, snapshot: Snapshot, columns: Sequence[Column], into: ChunkCache | None = cache
    ) -> list[pa.ChunkedArray]:
        """Like `chunks`, but a column that pending changes cover whole is not decoded first."""
        needed = [c for c in columns if not _covered(snapshot, c, self.first, self.stop)]
        decoded = dict(zip(needed, self.chunks(needed, into), strict=True)) if needed else {}
        return [decoded.get(c, pa.chunked_array([], c.type)) for c in columns]

    def chunks(self, columns: Sequence[Column], into: ChunkCache | None = cache) -> list[pa.ChunkedArray]:
        if isinstance(self.segment, FileSegment):
            return column_chunks(self.segment, self.row_group, columns, into)
        return list(in_memory(self.segment, columns).columns)


def pieces(snapshot: Snapshot, first: int, stop: int) -> Iterator[Piece]:
    """The pieces that hold positions first … stop-1, in order; each is whole."""
    starts = snapshot.segment_starts
    at = max(0, int(np.searchsorted(starts, first, side="right")) - 1)
    while at < len(snapshot.segments) and starts[at] < stop:
        yield from _segment_pieces(snapshot.segments[at], int(starts[at]), first, stop)
        at += 1


def piece_at(snapshot: Snapshot, position: int) -> Piece:
    return next(pieces(snapshot, position, position + 1))


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


def take_rows(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], into: ChunkCache | None = cache
) -> pa.Table:
    """The rows at these live positions, in the order given, pending changes applied."""
    if len(positions) == 0:
        return _together([], columns)
    order = np.argsort(positions, kind="stable")
    ascending = positions[order]
    tables, done = [], 0
    while done < len(ascending):
        piece = piece_at(snapshot, int(ascending[done]))
        end = int(np.searchsorted(ascending, piece.stop))
        tables.append(_take_from(snapshot, piece, ascending[done:end], columns, into))
        done = end
    return _in_order(_together(tables, columns), order)


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
    low, high = np.searchsorted(snapshot.deleted, [first, stop])
    if low == high:
        return table
    live = np.ones(stop - first, bool)
    live[snapshot.deleted[low:high] - first] = False
    return take(table, np.flatnonzero(live))


def with_changes(
    snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column], chunks: list[pa.ChunkedArray]
) -> pa.Table:
    """Chunks of positions first … stop-1 as a table: pending changes put in, deleted rows still there."""
    arrays = [_patch_range(snapshot, c, first, stop, chunk) for c, chunk in zip(columns, chunks, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def patched(chunk: pa.ChunkedArray, places: np.ndarray, values: pa.Array) -> pa.ChunkedArray:
    """`chunk` with `values` at the given ascending places."""
    base = chunk.combine_chunks() if chunk.num_chunks != 1 else chunk.chunk(0)
    indices = np.arange(len(base), dtype=np.int64)
    indices[places] = len(base) + np.arange(len(places))
    return pa.chunked_array([take(pa.concat_arrays([base, values]), indices)])


def _segment_pieces(segment: Segment, start: int, first: int, stop: int) -> Iterator[Piece]:
    if isinstance(segment, MemorySegment):
        yield Piece(segment, 0, start, start + segment.num_rows)
        return
    groups = unchanged(segment).row_group_starts + start
    at = max(0, int(np.searchsorted(groups, first, side="right")) - 1)
    while at < len(groups) - 1 and groups[at] < stop:
        if groups[at] < groups[at + 1]:
            yield Piece(segment, at, int(groups[at]), int(groups[at + 1]))
        at += 1


def in_memory(segment: MemorySegment, columns: Sequence[Column]) -> pa.Table:
    """The columns of a segment in memory, of the columns' types; null where it lacks one."""
    held = dict(zip(segment.rows.column_names, segment.rows.columns, strict=True))
    arrays = [_of_type(held.get(str(c.key)), c, segment.num_rows) for c in columns]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, c.type) for c in columns])


def _of_type(chunk: pa.ChunkedArray | None, column: Column, rows: int) -> pa.ChunkedArray:
    if chunk is None:
        return pa.chunked_array([pa.nulls(rows, column.type)])
    return chunk if chunk.type.equals(column.type) else chunk.cast(column.type)


def _covered(snapshot: Snapshot, column: Column, first: int, stop: int) -> bool:
    changed = _changed(snapshot, column)
    if changed is None:
        return False
    low, high = np.searchsorted(changed[0], [first, stop])
    return bool(high - low == stop - first)


def _changed(snapshot: Snapshot, column: Column) -> Changed | None:
    return None if snapshot.overlay is None else snapshot.overlay.changed(column.key)


def _patch_range(
    snapshot: Snapshot, column: Column, first: int, stop: int, chunk: pa.ChunkedArray
) -> pa.ChunkedArray:
    changed = _changed(snapshot, column)
    if changed is None:
        return chunk
    positions, values = changed
    low, high = np.searchsorted(positions, [first, stop])
    if high - low == stop - first:
        return pa.chunked_array([values[low:high]])
    return chunk if low == high else patched(chunk, positions[low:high] - first, values[low:high])


def _take_from(
    snapshot: Snapshot,
    piece: Piece,
    positions: np.ndarray,
    columns: Sequence[Column],
    into: ChunkCache | None,
) -> pa.Table:
    places = positions - piece.first
    taken = [
        patch_scattered(snapshot, column, positions, take(chunk, places))
        for column, chunk in zip(columns, piece.chunks(columns, into), strict=True)
    ]
    return pa.Table.from_arrays(taken, schema=schema_of(columns))


def patch_scattered(
    snapshot: Snapshot, column: Column, positions: np.ndarray, taken: pa.ChunkedArray
) -> pa.ChunkedArray:
    """What was taken at these positions, in any order, with pending changes put in."""
    pending = _changed(snapshot, column)
    if pending is None:
        return taken
    changed, values = pending
    at = np.minimum(np.searchsorted(changed, positions), len(changed) - 1)
    hits = np.flatnonzero(changed[at] == positions)
    return patched(taken, hits, take(values, at[hits])) if len(hits) else taken


def _in_order(table: pa.Table, order: np.ndarray) -> pa.Table:
    if np.array_equal(order, np.arange(len(order))):
        return table
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return take(table, back)


def _together(tables: list[pa.Table], columns: Sequence[Column]) -> pa.Table:
    if tables:
        return pa.concat_tables(tables)
    return pa.Table.from_batches([], schema_of(columns))
