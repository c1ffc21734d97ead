"""All rows of a snapshot in order, a row group at a time: memory stays flat however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from core.jobs import Job
from core.scan.pieces import pieces, runs, schema_of
from core.scan.rows import read_piece
from core.scan.snapshot import Column, Snapshot

CELLS_AT_ONCE = 1 << 25
"""What is decoded at once for a reader who wants everything: memory that cannot be let go in between."""


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


def read_all(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> pa.Table:
    """All live rows, decoded several row groups at a time."""
    tables = [pa.Table.from_batches([], schema_of(columns))]
    for run in runs(snapshot, 0, snapshot.num_positions, CELLS_AT_ONCE // max(1, len(columns))):
        job.report(run.first, snapshot.num_positions)
        tables.append(read_piece(snapshot, run, columns))
    return pa.concat_tables(tables)


def _batches(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> Iterator[pa.RecordBatch]:
    for table in tables(snapshot, columns, job):
        yield from table.to_batches()
