"""The parts of a snapshot that are decoded together, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.nested import project, type_at
from lamella.core.scan.caches import ChunkCache, cache
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.footers import unchanged
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.overlay import Changed
from lamella.core.scan.patch import patched
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment, Snapshot


@dataclass(frozen=True)
class Piece:
    """Positions first … stop-1: row groups of one file, or a whole segment in memory."""

    segment: Segment
    row_groups: range
    first: int
    stop: int

    def stored(
        self, snapshot: Snapshot, columns: Sequence[Column], into: ChunkCache | None = cache
    ) -> list[pa.ChunkedArray]:
        """Like `chunks`, but a column that pending changes cover whole is not decoded first."""
        pending = Pending(snapshot, self.first, self.stop, columns)
        needed = [c for c in columns if not pending.cover(c)]
        decoded = dict(zip(needed, self.chunks(needed, into), strict=True)) if needed else {}
        return [decoded.get(c, pa.chunked_array([], c.type)) for c in columns]

    def chunks(self, columns: Sequence[Column], into: ChunkCache | None = cache) -> list[pa.ChunkedArray]:
        """The columns as they are stored; what is decoded is kept in `into`."""
        if isinstance(self.segment, FileSegment):
            return run_chunks(self.segment, self.row_groups, columns, into)[0]
        return list(in_memory(self.segment, columns).columns)

    def passing(
        self, columns: Sequence[Column], file: OpenFile | None = None
    ) -> tuple[list[pa.ChunkedArray], list[bool]]:
        """The columns for a pass over everything, and whether nobody else holds their memory."""
        if isinstance(self.segment, FileSegment):
            return run_chunks(self.segment, self.row_groups, columns, None, file)
        return list(in_memory(self.segment, columns).columns), [False] * len(columns)


class Pending:
    """The pending cells of these columns at positions first … stop-1. Columns that changed in the same rows
    are looked up once."""

    def __init__(self, snapshot: Snapshot, first: int, stop: int, columns: Iterable[Column]) -> None:
        put_changes_together(snapshot, columns)
        self._snapshot, self._first, self._stop = snapshot, first, stop
        self._cut: dict[int, tuple[np.ndarray, int, np.ndarray]] = {}

    def of(self, column: Column) -> Changed | None:
        """Places, counted from `first`, and the new value at each; None where there are none."""
        changed = changed_cells(self._snapshot, column)
        if changed is None:
            return None
        positions, values = changed
        if id(positions) not in self._cut:
            low, high = positions.searchsorted((self._first, self._stop)).tolist()
            self._cut[id(positions)] = positions, low, positions[low:high] - self._first
        _, low, places = self._cut[id(positions)]
        return (places, values.slice(low, len(places))) if len(places) else None

    def cover(self, column: Column) -> bool:
        """Whether the column has a new value in every row."""
        changed = self.of(column)
        return changed is not None and len(changed[0]) == self._stop - self._first

    def put_into(self, column: Column, chunk: pa.ChunkedArray, own: bool = False) -> pa.ChunkedArray:
        """The column with its new values; what `chunk` holds does not matter where they cover it."""
        changed = self.of(column)
        if changed is None:
            return chunk
        places, values = changed
        if len(places) == self._stop - self._first:
            return pa.chunked_array([values])
        return patched(chunk, places, values, own)


def pieces(snapshot: Snapshot, first: int, stop: int) -> Iterator[Piece]:
    """The pieces of one row group that hold positions first … stop-1, in order; each is whole."""
    starts = snapshot.segment_starts
    at = max(0, int(np.searchsorted(starts, first, side="right")) - 1)
    while at < len(snapshot.segments) and starts[at] < stop:
        yield from _segment_pieces(snapshot.segments[at], int(starts[at]), first, stop)
        at += 1


def runs(
    snapshot: Snapshot,
    first: int,
    stop: int,
    most_rows: int,
    wanted: Callable[[Piece], bool] = lambda piece: True,
) -> Iterator[Piece]:
    """The same as longer pieces: row groups of one file, about `most_rows` together; only those `wanted`."""
    run: Piece | None = None
    for piece in pieces(snapshot, first, stop):
        if not wanted(piece):
            if run is not None:
                yield run
            run = None
        elif run is None:
            run = piece
        elif run.segment is piece.segment and piece.stop - run.first <= most_rows:
            groups = range(run.row_groups.start, piece.row_groups.stop)
            run = Piece(run.segment, groups, run.first, piece.stop)
        else:
            yield run
            run = piece
    if run is not None:
        yield run


def piece_at(snapshot: Snapshot, position: int) -> Piece:
    return next(pieces(snapshot, position, position + 1))


def in_memory(segment: MemorySegment, columns: Sequence[Column]) -> pa.Table:
    """The columns of a segment in memory, of the columns' types; null where it lacks one."""
    held = dict(zip(segment.rows.column_names, segment.rows.columns, strict=True))
    arrays = [_of_type(held.get(str(c.key)), c, segment.num_rows) for c in columns]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, c.type) for c in columns])


def put_changes_together(snapshot: Snapshot, columns: Iterable[Column]) -> None:
    """Before the pending cells of several columns are asked for: one by one they cost much more."""
    if snapshot.overlay is not None:
        snapshot.overlay.put_together([column.key for column in columns])


def changed_cells(snapshot: Snapshot, column: Column) -> Changed | None:
    """The pending cells of a column: ascending positions and values."""
    changed = None if snapshot.overlay is None else snapshot.overlay.changed(column.key)
    return changed and (changed[0], project(changed[1], column.path))


def _segment_pieces(segment: Segment, start: int, first: int, stop: int) -> Iterator[Piece]:
    if isinstance(segment, MemorySegment):
        yield Piece(segment, range(1), start, start + segment.num_rows)
        return
    groups = unchanged(segment).row_group_starts + start
    at = max(0, int(np.searchsorted(groups, first, side="right")) - 1)
    while at < len(groups) - 1 and groups[at] < stop:
        if groups[at] < groups[at + 1]:
            yield Piece(segment, range(at, at + 1), int(groups[at]), int(groups[at + 1]))
        at += 1


def _of_type(chunk: pa.ChunkedArray | None, column: Column, rows: int) -> pa.ChunkedArray:
    if chunk is None or type_at(chunk.type, column.path) is None:
        return pa.chunked_array([pa.nulls(rows, column.type)])
    chunk = project(chunk, column.path)
    return chunk if chunk.type.equals(column.type) else chunk.cast(column.type)
