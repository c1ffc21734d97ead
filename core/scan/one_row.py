"""One row as Python values: a look-up in what is decoded, or the row group decoded and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.scan.caches import cache
from core.scan.chunks import column_chunks, leaf_of
from core.scan.footers import unchanged
from core.scan.pieces import changed_cells, in_memory
from core.scan.snapshot import Column, FileSegment, MemorySegment, Snapshot


def row_at(snapshot: Snapshot, position: int, columns: Sequence[Column]) -> dict[str, Any]:
    """The row at a live position, pending changes applied."""
    number = int(np.searchsorted(snapshot.segment_starts, position, side="right")) - 1
    segment, place = snapshot.segments[number], position - int(snapshot.segment_starts[number])
    if isinstance(segment, MemorySegment):
        held = in_memory(MemorySegment(segment.rows.slice(place, 1)), columns)
        values = [column[0].as_py() for column in held.columns]
    else:
        values = _from_file(segment, place, columns)
    row = dict(zip((column.name for column in columns), values, strict=True))
    if snapshot.overlay is not None:
        for column in columns:
            if column.key in snapshot.overlay.columns:
                _put_changed(snapshot, column, position, row)
    return row


def _from_file(segment: FileSegment, place: int, columns: Sequence[Column]) -> list[Any]:
    told = unchanged(segment)
    group = int(np.searchsorted(told.row_group_starts, place, side="right")) - 1
    at = place - int(told.row_group_starts[group])
    leaves = [leaf_of(segment, told, column) for column in columns]
    chunks = cache.get([(told, group, leaf) for leaf in leaves if leaf is not None])
    kinds = [column.type for column, leaf in zip(columns, leaves, strict=True) if leaf is not None]
    if any(chunk is None or chunk.type != kind for chunk, kind in zip(chunks, kinds, strict=True)):
        return [chunk[at].as_py() for chunk in column_chunks(segment, group, columns)]
    found = iter(chunks)
    return [None if leaf is None else _value(next(found), at) for leaf in leaves]


def _value(chunk: pa.ChunkedArray | None, at: int) -> Any:
    assert chunk is not None
    return chunk[at].as_py()


def _put_changed(snapshot: Snapshot, column: Column, position: int, row: dict[str, Any]) -> None:
    changed = changed_cells(snapshot, column)
    if changed is None:
        return
    positions, values = changed
    at = int(np.searchsorted(positions, position))
    if at < len(positions) and positions[at] == position:
        row[column.name] = values[at].as_py()
