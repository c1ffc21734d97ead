"""Whether what a table is made of at a version can be read and fits together."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.footers import footer
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment
from lamella.core.schema import ID
from lamella.core.store.cells import Cells
from lamella.core.store.state import Held, State
from lamella.core.widening import always_fits


def problems(state: State, damaged: Collection[Path]) -> Iterator[str]:
    """Sentences; none when all is well. Values in files that are `damaged` are not looked at."""
    for before, after in zip(state.held[:-1], state.held[1:], strict=True):
        if after.first_id <= before.last_id:
            yield f"two parts of it hold the {ID}s from {after.first_id} to {before.last_id}"
    for (kind, entry), cells in state.cells.items():
        told = (*_cell_problems(state, cells), *_ids_given(state, cells.ids))
        yield from (f"{kind} {entry} {each}" for each in told)
    for entry, ids in state.deletions.items():
        yield from (f"deletions {entry} {told}" for told in _ids_given(state, ids))
    for held in state.held:
        if held.last_id >= state.row.next_id:
            yield f"rows up to {ID} {held.last_id} are there, but the next to be given is {state.row.next_id}"
        yield from _misfits(state, held, damaged)


def _ids_given(state: State, ids: np.ndarray) -> Iterator[str]:
    """Rows that were removed since may be named still, but never one that there cannot be."""
    if bool(np.any(ids[1:] <= ids[:-1])):
        yield f"names {ID}s that do not ascend"
    if len(ids) and (ids.min() < 0 or ids.max() >= state.row.next_id):
        yield f"names a row that was never there: {ID} {ids.max() if ids.min() >= 0 else ids.min()}"


def _cell_problems(state: State, cells: Cells) -> Iterator[str]:
    types = {column.key: column for column in state.columns}
    for key, values in cells.values.items():
        if len(values) != len(cells.ids):
            yield f"has {len(values):,} values for {len(cells.ids):,} rows"
        elif key in types and _may_differ(values.type, types[key]):
            yield from _misfit(take(values, np.flatnonzero(state.lie_over(cells))), types[key])


def _misfits(state: State, held: Held, damaged: Collection[Path]) -> Iterator[str]:
    """Values of a segment that cannot be read as their columns' types."""
    segment = held.segment
    for column in state.columns:
        if not isinstance(segment, FileSegment):
            yield from (f"{held.kind} {held.entry} {told}" for told in _memory_misfit(segment, column))
        elif segment.path not in damaged:
            yield from (f"data file {segment.path} {told}" for told in _file_misfit(segment, column))


def _memory_misfit(segment: MemorySegment, column: Column) -> Iterator[str]:
    name = str(column.key)
    if name in segment.rows.column_names:
        yield from _misfit(segment.rows.column(name), column)


def _file_misfit(segment: FileSegment, column: Column) -> Iterator[str]:
    """A row group at a time; only a column of another type is read."""
    name, told = segment.names.get(column.key), footer(segment.path)
    kind = column.type if name is None else told.schema.field(name).type
    groups = range(told.metadata.num_row_groups if _may_differ(kind, column) else 0)
    for group in groups:
        found = [*_misfit(column_chunks(segment, group, [replace(column, type=kind)], into=None)[0], column)]
        if found:
            yield from found
            return


def _may_differ(kind: pa.DataType, column: Column) -> bool:
    return not (kind.equals(column.type) or always_fits(kind, column.type))


def _misfit(values: pa.Array | pa.ChunkedArray, column: Column) -> Iterator[str]:
    try:
        values.cast(column.type)
    except pa.ArrowException as error:
        yield f"has values of column '{column.name}' that do not fit its type {column.type}: {error}"
