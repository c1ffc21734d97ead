"""Reads rows of a snapshot by position: ranges, scattered positions, and the whole as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take
from lamella.core.arrow.nested_values import project, python_value, type_at
from lamella.core.jobs import Job
from lamella.core.scan.cache import ChunkCache, browsing_cache, cache
from lamella.core.scan.chunks import column_chunks, leaf_of, run_chunks
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.overlay import Gaps, PlacedValues, patch_chunk
from lamella.core.scan.parallel import cells_at_once, rows_at_once, run_tasks
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment, Snapshot
from lamella.core.scan.take import stored_values, take_columns


@dataclass(frozen=True)
class Piece:
    """The positions first … stop-1: row groups of one file, or a whole segment in memory."""

    segment: Segment
    row_groups: range
    first: int
    stop: int

    def stored_chunks(
        self, snapshot: Snapshot, columns: Sequence[Column], into: ChunkCache | None = cache
    ) -> list[pa.ChunkedArray]:
        """Like `chunks`, but a column that pending changes cover completely is not decoded."""
        pending = Pending(snapshot, self.first, self.stop, columns)
        uncovered = [c for c in columns if not pending.cover(c)]
        decoded = dict(zip(uncovered, self.chunks(uncovered, into), strict=True)) if uncovered else {}
        return [decoded.get(c, pa.chunked_array([], c.type)) for c in columns]

    def chunks(self, columns: Sequence[Column], into: ChunkCache | None = cache) -> list[pa.ChunkedArray]:
        """The columns as they are stored; decoded chunks are cached in `into`."""
        if isinstance(self.segment, FileSegment):
            return run_chunks(self.segment, self.row_groups, columns, into)[0]
        return list(in_memory(self.segment, columns).columns)

    def passing(
        self, columns: Sequence[Column], file: OpenFile | None = None
    ) -> tuple[list[pa.ChunkedArray], list[bool]]:
        """The columns for a pass over everything, uncached, and whether nobody else refers to their
        memory."""
        if isinstance(self.segment, FileSegment):
            return run_chunks(self.segment, self.row_groups, columns, None, file)
        return list(in_memory(self.segment, columns).columns), [False] * len(columns)


class Pending:
    """The pending cells of these columns at positions first … stop-1. Columns that changed in the same rows
    share one lookup."""

    def __init__(self, snapshot: Snapshot, first: int, stop: int, columns: Iterable[Column]) -> None:
        put_changes_together(snapshot, columns)
        self._snapshot, self._first, self._stop = snapshot, first, stop
        self._cut: dict[int, tuple[np.ndarray, int, np.ndarray]] = {}

    def of(self, column: Column) -> PlacedValues | None:
        """The indices, counted from `first`, and the new value at each; None if there are none."""
        cells = changed_cells(self._snapshot, column)
        if cells is None:
            return None
        positions, values = cells
        if id(positions) not in self._cut:
            low, high = positions.searchsorted((self._first, self._stop)).tolist()
            self._cut[id(positions)] = positions, low, positions[low:high] - self._first
        _, low, places = self._cut[id(positions)]
        return (places, values.slice(low, len(places))) if len(places) else None

    def cover(self, column: Column) -> bool:
        """Whether the column has a new value in every row."""
        cells = self.of(column)
        return cells is not None and len(cells[0]) == self._stop - self._first

    def put_into(self, column: Column, chunk: pa.ChunkedArray, in_place: bool = False) -> pa.ChunkedArray:
        """Put the new values into the column; the content of `chunk` does not matter if they cover it."""
        cells = self.of(column)
        if cells is None:
            return chunk
        places, values = cells
        if len(places) == self._stop - self._first:
            return pa.chunked_array([values])
        return patch_chunk(chunk, places, values, in_place)


def pieces(snapshot: Snapshot, first: int, stop: int) -> Iterator[Piece]:
    """Yield the pieces, of one whole row group each, that contain positions first … stop-1, in order."""
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
    is_wanted: Callable[[Piece], bool] = lambda piece: True,
) -> Iterator[Piece]:
    """Like `pieces`, but join row groups of one file up to about `most_rows`; only pieces that are
    `is_wanted`."""
    run: Piece | None = None
    for piece in pieces(snapshot, first, stop):
        if not is_wanted(piece):
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


def pieces_with(snapshot: Snapshot, positions: np.ndarray) -> Iterator[Piece]:
    """Yield the pieces that contain one of these ascending positions."""
    passed = 0
    while passed < len(positions):
        piece = piece_at(snapshot, int(positions[passed]))
        yield piece
        passed = int(np.searchsorted(positions, piece.stop))


def in_memory(segment: MemorySegment, columns: Sequence[Column]) -> pa.Table:
    """The columns of a segment in memory, in the columns' types; null where it lacks one."""
    rows = segment.rows
    places = [rows.schema.get_field_index(str(column.key)) for column in columns]  # of few columns among many
    arrays = [
        _of_type(None if place < 0 else rows.column(place), column, segment.num_rows)
        for column, place in zip(columns, places, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, c.type) for c in columns])


def put_changes_together(snapshot: Snapshot, columns: Iterable[Column]) -> None:
    """Merge the pending cells of several columns before they are read; one by one this costs much more."""
    if snapshot.overlay is not None:
        snapshot.overlay.merge([column.key for column in columns])


def changed_cells(snapshot: Snapshot, column: Column) -> PlacedValues | None:
    """The pending cells of a column: ascending positions, and values."""
    cells = None if snapshot.overlay is None else snapshot.overlay.changes_of(column.key)
    return cells and (cells[0], project(cells[1], column.path))


def _segment_pieces(segment: Segment, start: int, first: int, stop: int) -> Iterator[Piece]:
    if isinstance(segment, MemorySegment):
        yield Piece(segment, range(1), start, start + segment.num_rows)
        return
    groups = unchanged_footer(segment).row_group_starts + start
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


def read_range(snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column]) -> pa.Table:
    """Read the live rows among positions first … stop-1, with pending changes applied."""
    tables = []
    for piece in pieces(snapshot, first, stop):
        low, high = max(first, piece.first), min(stop, piece.stop)
        cut = [
            chunk.slice(low - piece.first, high - low)
            for chunk in piece.stored_chunks(snapshot, columns, browsing_cache)
        ]
        tables.append(finish(snapshot, low, high, columns, cut))
    return _concat(tables, columns)


def read_rows(snapshot: Snapshot, offset: int, count: int, columns: Sequence[Column]) -> pa.Table:
    """Read `count` live rows from live row number `offset` on; fewer at the end."""
    count = min(count, snapshot.num_rows - offset)
    if count <= 0:
        return _concat([], columns)
    first, last = live_positions(snapshot, np.array([offset, offset + count - 1]))
    return read_range(snapshot, int(first), int(last) + 1, columns)


def read_piece(snapshot: Snapshot, piece: Piece, columns: Sequence[Column]) -> pa.Table:
    """Read the live rows of a piece, with pending changes applied; nothing is cached."""
    gaps = gaps_of(snapshot, piece.first, piece.stop)
    return pa.Table.from_arrays(live(snapshot, piece, gaps, columns), schema=schema_of(columns))


def live(
    snapshot: Snapshot,
    piece: Piece,
    gaps: Gaps | None,
    columns: Sequence[Column],
    file: OpenFile | None = None,
) -> list[pa.ChunkedArray]:
    """Like `read_piece`, for the rows that `gaps` leave. `file` is the calling thread's, if it reads more."""
    pending = Pending(snapshot, piece.first, piece.stop, columns)
    covered = [pending.cover(column) for column in columns]
    partial = [column for column, whole in zip(columns, covered, strict=True) if not whole]
    passing = zip(*piece.passing(partial, file), strict=True)
    arrays = []
    for column, whole in zip(columns, covered, strict=True):
        chunk, in_place = (pa.chunked_array([], column.type), False) if whole else next(passing)
        changed = pending.put_into(column, chunk, in_place)
        arrays.append(changed if gaps is None else gaps.without(changed))
    return arrays


def take_rows(snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """Read the rows at these live positions, in the order given, with pending changes applied."""
    if len(positions) == 0:
        return _concat([], columns)
    put_changes_together(snapshot, columns)
    sorted_already = bool(np.all(positions[1:] >= positions[:-1]))
    order = None if sorted_already else np.argsort(positions, kind="stable")
    ascending = positions if order is None else positions[order]
    starts, tables = snapshot.segment_starts, []
    for number in np.flatnonzero(np.bincount(np.searchsorted(starts, ascending, side="right") - 1)).tolist():
        low, high = np.searchsorted(ascending, starts[number : number + 2])
        tables.append(_take_from(snapshot, number, ascending[low:high], columns))
    together = _concat(tables, columns)
    return together if order is None else _in_order(together, order)


def live_positions(snapshot: Snapshot, live: np.ndarray) -> np.ndarray:
    """The positions of live row numbers: each is shifted by the deletions before it."""
    if len(snapshot.deleted_positions) == 0:
        return live
    before = snapshot.deleted_positions - np.arange(len(snapshot.deleted_positions))
    moved: np.ndarray = live + np.searchsorted(before, live, side="right")
    return moved


def finish(
    snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column], chunks: list[pa.ChunkedArray]
) -> pa.Table:
    """Turn chunks of positions first … stop-1 into a table, with pending changes applied and deleted rows
    left out."""
    table = with_changes(snapshot, first, stop, columns, chunks)
    gaps = gaps_of(snapshot, first, stop)
    if gaps is None:
        return table
    return pa.Table.from_arrays([gaps.without(column) for column in table.columns], schema=table.schema)


def with_changes(
    snapshot: Snapshot, first: int, stop: int, columns: Sequence[Column], chunks: list[pa.ChunkedArray]
) -> pa.Table:
    """Turn chunks of positions first … stop-1 into a table, with pending changes applied, including deleted
    rows."""
    pending = Pending(snapshot, first, stop, columns)
    arrays = [pending.put_into(column, chunk) for column, chunk in zip(columns, chunks, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema_of(columns))


def patch_scattered_values(
    snapshot: Snapshot, column: Column, positions: np.ndarray, stored: pa.ChunkedArray
) -> pa.ChunkedArray:
    """Apply pending changes to values taken at these positions, in any order."""
    pending = changed_cells(snapshot, column)
    if pending is None:
        return stored
    places, values = pending
    at = np.minimum(np.searchsorted(places, positions), len(places) - 1)
    hits = np.flatnonzero(places[at] == positions)
    return patch_chunk(stored, hits, take(values, at[hits])) if len(hits) else stored


def gaps_of(snapshot: Snapshot, first: int, stop: int) -> Gaps | None:
    """The gaps that deleted rows leave among positions first … stop-1; None if there are none."""
    low, high = np.searchsorted(snapshot.deleted_positions, [first, stop])
    return None if low == high else Gaps(snapshot.deleted_positions[low:high] - first, stop - first)


def _take_from(snapshot: Snapshot, number: int, positions: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """Read rows at ascending positions, all in segment `number`."""
    segment, places = snapshot.segments[number], positions - snapshot.segment_starts[number]
    if isinstance(segment, FileSegment):
        stored = stored_values(segment, places, columns)
    else:
        stored = take_columns(in_memory(segment, columns).columns, places)
    parts = [
        patch_scattered_values(snapshot, c, positions, values)
        for c, values in zip(columns, stored, strict=True)
    ]
    return pa.Table.from_arrays(parts, schema=schema_of(columns))


def _in_order(table: pa.Table, order: np.ndarray) -> pa.Table:
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return take(table, back)


def _concat(tables: list[pa.Table], columns: Sequence[Column]) -> pa.Table:
    if tables:
        return pa.concat_tables(tables)
    return pa.Table.from_batches([], schema_of(columns))


ROWS_AT_ONCE = 1 << 17
"""The rows decoded at once if nothing else is done. The memory of longer columns is not reused after
release."""
MOST_CELLS = 1 << 20
"""The most cells that a thread decodes at once if it then applies changes or deletions."""


def stream_columns(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> pa.RecordBatchReader:
    """A reader over the live rows; after the job is cancelled, the next batch raises `Cancelled`."""
    return pa.RecordBatchReader.from_batches(schema_of(columns), _batches(snapshot, columns, job))


def tables(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> Iterator[pa.Table]:
    """Yield the live rows, one table per row group."""
    return tables_between(snapshot, columns, 0, snapshot.num_positions, job)


def tables_between(
    snapshot: Snapshot, columns: Sequence[Column], first: int, stop: int, job: Job
) -> Iterator[pa.Table]:
    """Yield the live rows of the pieces that contain positions first … stop-1."""
    for piece in pieces(snapshot, first, stop):
        job.report(piece.first, snapshot.num_positions)
        yield read_piece(snapshot, piece, columns)


@dataclass(frozen=True)
class _Slab:
    """Columns first … stop-1 of a few row groups, and the gaps of their deleted rows."""

    piece: Piece
    gaps: Gaps | None
    first: int
    stop: int


def read_all_rows(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> pa.Table:
    """Read all live rows. If some are changed or deleted, each thread applies that to what it decoded."""
    put_changes_together(snapshot, columns)
    plain = snapshot.overlay is None and not len(snapshot.deleted_positions)
    slabs = list(_whole_runs(snapshot, len(columns)) if plain else _slabs(snapshot, len(columns)))

    def read(slab: _Slab, file: OpenFile) -> list[pa.ChunkedArray]:
        return live(snapshot, slab.piece, slab.gaps, columns[slab.first : slab.stop], file)

    parts = run_tasks(
        read, slabs, lambda slab: job.report(slab.piece.first, snapshot.num_positions), alone=plain
    )
    chunks: list[list[pa.Array]] = [[] for _ in columns]
    for slab, part in zip(slabs, parts, strict=True):
        for values, column in zip(chunks[slab.first : slab.stop], part, strict=True):
            values.extend(column.chunks)
    whole = [pa.chunked_array(values, column.type) for values, column in zip(chunks, columns, strict=True)]
    return pa.Table.from_arrays(whole, schema=schema_of(columns))


def _whole_runs(snapshot: Snapshot, columns: int) -> Iterator[_Slab]:
    """Yield slabs of all columns, which Arrow's own threads share."""
    for run in runs(snapshot, 0, snapshot.num_positions, ROWS_AT_ONCE):
        yield _Slab(run, None, 0, columns)


def _slabs(snapshot: Snapshot, columns: int) -> Iterator[_Slab]:
    cells = cells_at_once(snapshot.num_positions * columns, MOST_CELLS)
    for run in runs(snapshot, 0, snapshot.num_positions, rows_at_once(cells, columns)):
        gaps, width = gaps_of(snapshot, run.first, run.stop), max(1, cells // (run.stop - run.first))
        for first in range(0, columns, width):
            yield _Slab(run, gaps, first, min(first + width, columns))


def _batches(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> Iterator[pa.RecordBatch]:
    for table in tables(snapshot, columns, job):
        yield from table.to_batches()


def row_at(snapshot: Snapshot, position: int, columns: Sequence[Column]) -> dict[str, Any]:
    """The row at a live position, with pending changes applied."""
    cells = cells_at(snapshot, position, columns)
    return {column.name: python_value(cell) for column, cell in zip(columns, cells, strict=True)}


def cells_at(snapshot: Snapshot, position: int, columns: Sequence[Column]) -> list[pa.Scalar]:
    """The same row as scalars of the columns' types."""
    number = int(np.searchsorted(snapshot.segment_starts, position, side="right")) - 1
    segment, place = snapshot.segments[number], position - int(snapshot.segment_starts[number])
    if isinstance(segment, FileSegment):
        cells = _from_file(segment, place, columns)
    else:
        rows = in_memory(MemorySegment.of(segment.rows.slice(place, 1)), columns)
        cells = [column[0] for column in rows.columns]
    if snapshot.overlay is not None:
        changed = snapshot.overlay.of_row(position)
        return [
            field_of(changed[column.key], column) if column.key in changed else cell
            for column, cell in zip(columns, cells, strict=True)
        ]
    return cells


def arrays_at(snapshot: Snapshot, position: int, columns: Sequence[Column]) -> list[pa.Array]:
    """The same row as arrays of one value."""
    return [pa.repeat(cell, 1) for cell in cells_at(snapshot, position, columns)]


def field_of(cell: pa.Scalar, column: Column) -> pa.Scalar:
    """The value of the field that `column` names inside the cell of its column."""
    for name in column.path:
        if not cell.is_valid:
            return pa.nulls(1, column.type)[0]
        cell = cell[name]
    return cell


def _from_file(segment: FileSegment, place: int, columns: Sequence[Column]) -> list[pa.Scalar]:
    footer = unchanged_footer(segment)
    group = int(np.searchsorted(footer.row_group_starts, place, side="right")) - 1
    at = place - int(footer.row_group_starts[group])
    leaves = [leaf_of(segment, footer, column) for column in columns]
    if None not in leaves:
        chunks = cache.get([(footer, group, leaf) for leaf in leaves if leaf is not None])
        cells = [chunk[at] for chunk in chunks if chunk is not None]
        if [cell.type for cell in cells] == [column.type for column in columns]:
            return cells
    return [chunk[at] for chunk in column_chunks(segment, group, columns)]
