"""Rows of a page: decoded and kept where small row groups hold them, joined by DuckDB where they lie
far apart or in large row groups, since it reads only the pages that hold them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lamella.core.arrays import from_numpy
from lamella.core.jobs import Job
from lamella.core.query.duckdb_types import comes_back
from lamella.core.query.engine import cursor
from lamella.core.query.source import POSITION, identifier, is_misread, stored_relation
from lamella.core.scan.pieces import piece_at, schema_of
from lamella.core.scan.rows import live_positions, patch_scattered, read_rows, take_rows
from lamella.core.scan.snapshot import Column, Snapshot

DECODED_CELLS = 8_000_000


def fetch(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], job: Job | None = None
) -> pa.Table:
    """The rows at these live positions, in the order given."""
    if _decoding_pays(snapshot, positions, columns):
        return take_rows(snapshot, positions, columns)
    return _joined(snapshot, positions, columns, job)


def fetch_next(snapshot: Snapshot, offset: int, count: int, columns: Sequence[Column]) -> pa.Table:
    """`count` live rows in the snapshot's own order from live row `offset` on; fewer at the end."""
    numbers = np.arange(offset, max(offset, min(offset + count, snapshot.num_rows)))
    positions = live_positions(snapshot, numbers)
    if _decoding_pays(snapshot, positions, columns):
        return read_rows(snapshot, offset, count, columns)
    return _joined(snapshot, positions, columns, None)


def _decoding_pays(snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column]) -> bool:
    cells = _cells_to_decode(snapshot, positions) * len(columns)
    if cells <= DECODED_CELLS:
        return True
    return not all(comes_back(c.type) and not is_misread(snapshot, c) for c in columns)


def _cells_to_decode(snapshot: Snapshot, positions: np.ndarray) -> int:
    total, ascending, done = 0, np.sort(positions), 0
    while done < len(ascending):
        piece = piece_at(snapshot, int(ascending[done]))
        total += piece.stop - piece.first
        done = int(np.searchsorted(ascending, piece.stop))
    return total


def _joined(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], job: Job | None
) -> pa.Table:
    schema = schema_of(columns)
    with cursor(job, snapshot.name) as own:
        wanted = pa.table({POSITION: from_numpy(positions), "place": from_numpy(np.arange(len(positions)))})
        own.register("wanted", wanted)
        place = exp.column("place", table="wanted", quoted=True)
        values = [exp.column(identifier(c), quoted=True) for c in columns]
        rows = stored_relation(snapshot, columns, own)
        query = exp.select(*values).from_(rows).join("wanted", using=[POSITION]).order_by(place)
        found = own.sql(query.sql("duckdb")).to_arrow_table()
    stored = found.rename_columns(schema.names).cast(schema).columns
    changed = [patch_scattered(snapshot, c, positions, held) for c, held in zip(columns, stored, strict=True)]
    return pa.Table.from_arrays(changed, schema=schema)
