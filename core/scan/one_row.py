"""One row as Python values: a look-up in what is decoded, or the row group decoded and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.scan.caches import cache
from lamella.core.scan.chunks import column_chunks, leaf_of
from lamella.core.scan.footers import unchanged
from lamella.core.scan.pieces import in_memory
from lamella.core.scan.python_value import python_value
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Snapshot


def row_at(snapshot: Snapshot, position: int, columns: Sequence[Column]) -> dict[str, Any]:
    """The row at a live position, pending changes applied."""
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
    """The field that `column` names inside the cell of the column it lies in."""
    for name in column.path:
        if not cell.is_valid:
            return pa.nulls(1, column.type)[0]
        cell = cell[name]
    return cell


def _from_file(segment: FileSegment, place: int, columns: Sequence[Column]) -> list[pa.Scalar]:
    told = unchanged(segment)
    group = int(np.searchsorted(told.row_group_starts, place, side="right")) - 1
    at = place - int(told.row_group_starts[group])
    leaves = [leaf_of(segment, told, column) for column in columns]
    if None not in leaves:
        chunks = cache.get([(told, group, leaf) for leaf in leaves if leaf is not None])
        cells = [chunk[at] for chunk in chunks if chunk is not None]
        if [cell.type for cell in cells] == [column.type for column in columns]:
            return cells
    return [chunk[at] for chunk in column_chunks(segment, group, columns)]
