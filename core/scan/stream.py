"""All rows of a snapshot in order, a row group at a time: memory stays flat however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import cells_at_once, each, rows_at_once
from lamella.core.scan.patch import Gaps
from lamella.core.scan.pieces import Piece, pieces, put_changes_together, runs, schema_of
from lamella.core.scan.rows import gaps_of, live, read_piece
from lamella.core.scan.snapshot import Column, Snapshot

ROWS_AT_ONCE = 1 << 17
"""Where nothing is done but to decode. Memory of longer columns is not used again when they are let go."""
MOST_CELLS = 1 << 20
"""What a thread changes, or leaves rows out of, after it decoded it."""


def stream_columns(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> pa.RecordBatchReader:
    """A reader over the live rows; raises `Cancelled` from the batch after the job was cancelled."""
    return pa.RecordBatchReader.from_batches(schema_of(columns), _batches(snapshot, columns, job))


def tables(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> Iterator[pa.Table]:
    """The live rows, one table a row group."""
    return tables_between(snapshot, columns, 0, snapshot.num_positions, job)


def tables_between(
    snapshot: Snapshot, columns: Sequence[Column], first: int, stop: int, job: Job
) -> Iterator[pa.Table]:
    """The live rows of the pieces that hold positions first … stop-1."""
    for piece in pieces(snapshot, first, stop):
        job.report(piece.first, snapshot.num_positions)
        yield read_piece(snapshot, piece, columns)


@dataclass(frozen=True)
class _Slab:
    """Columns first … stop-1 of a few row groups, and what deletions leave of their rows."""

    piece: Piece
    gaps: Gaps | None
    first: int
    stop: int


def read_all(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> pa.Table:
    """All live rows. Where some are changed or gone, threads see to that in what each of them decoded."""
    put_changes_together(snapshot, columns)
    plain = snapshot.overlay is None and not len(snapshot.deleted)
    slabs = list(_whole_runs(snapshot, len(columns)) if plain else _slabs(snapshot, len(columns)))

    def read(slab: _Slab, file: OpenFile) -> list[pa.ChunkedArray]:
        return live(snapshot, slab.piece, slab.gaps, columns[slab.first : slab.stop], file)

    parts = each(read, slabs, lambda slab: job.report(slab.piece.first, snapshot.num_positions), alone=plain)
    chunks: list[list[pa.Array]] = [[] for _ in columns]
    for slab, part in zip(slabs, parts, strict=True):
        for held, column in zip(chunks[slab.first : slab.stop], part, strict=True):
            held.extend(column.chunks)
    whole = [pa.chunked_array(held, column.type) for held, column in zip(chunks, columns, strict=True)]
    return pa.Table.from_arrays(whole, schema=schema_of(columns))


def _whole_runs(snapshot: Snapshot, columns: int) -> Iterator[_Slab]:
    """All columns at once, for Arrow's own threads to share."""
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
