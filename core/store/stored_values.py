"""Whether stored values survive in a wider type, told from statistics where these suffice."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.casts import exact_cast, inexact
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.footers import Footer, unchanged
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment
from lamella.core.store.data_file import WrittenFile
from lamella.core.store.state import State
from lamella.core.widening import always_fits

LARGEST_DOUBLE_INTEGER = 2**53
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_A_DAY = 86_400


def refuse_stored_misfits(state: State, widened: Iterable[Column]) -> None:
    """Raise `BadData` naming the column that holds a value which its wider type would change.

    Deleted rows count: they are decoded with the others.
    """
    before = {c.key: c.type for c in state.columns}
    for column in widened:
        if not always_fits(before[column.key], column.type):
            for segment in state.snapshot.segments:
                _refuse_misfit(segment, column)
            for cells in state.cells.values():
                if column.key in cells.values and exact_cast(cells.values[column.key], column.type) is None:
                    raise inexact(column.name, before[column.key], column.type)


def refuse_misfits(files: Iterable[WrittenFile], columns: Iterable[Column]) -> None:
    """The same for files written before their columns widened."""
    wanted = tuple(columns)
    for file in files:
        names = {int(key): name for key, name in json.loads(file.names).items()}
        for column in wanted:
            _refuse_misfit(FileSegment(file.path, file.rows, names), column)


def _refuse_misfit(segment: Segment, column: Column) -> None:
    if isinstance(segment, MemorySegment):
        name = str(column.key)
        held = segment.rows.column(name) if name in segment.rows.column_names else None
        if held is not None and exact_cast(held, column.type) is None:
            raise inexact(column.name, held.type, column.type)
    elif column.key in segment.names:
        told = unchanged(segment)
        kind = told.schema.field(segment.names[column.key]).type
        if not (always_fits(kind, column.type) or _file_fits(segment, told, kind, column)):
            raise inexact(column.name, kind, column.type)


def _file_fits(segment: FileSegment, told: Footer, kind: pa.DataType, column: Column) -> bool:
    largest = _largest(kind, column.type)
    if largest is not None and _all_within(told, segment.names[column.key], largest):
        return True
    stored = Column(column.name, kind, column.key)
    groups = range(told.metadata.num_row_groups)
    chunks = (column_chunks(segment, group, [stored], into=None)[0] for group in groups)
    return all(exact_cast(chunk, column.type) is not None for chunk in chunks)


def _largest(kind: pa.DataType, wider: pa.DataType) -> int | None:
    """Stored numbers up to this size fit; None where it is not a matter of size."""
    if is_.is_integer(kind) and is_.is_float64(wider):
        return LARGEST_DOUBLE_INTEGER
    if is_.is_temporal(kind) and (is_.is_timestamp(wider) or is_.is_duration(wider)):
        ticks = _TICKS[wider.unit]
        factor = ticks * _SECONDS_A_DAY if is_.is_date32(kind) else ticks // _TICKS[kind.unit]
        return (2**63 - 1) // max(1, factor)
    return None


def _all_within(told: Footer, name: str, largest: int) -> bool:
    metadata = told.metadata
    leaves = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    places = [i for i, leaf in enumerate(leaves) if leaf.path == leaf.name == name]
    for group in range(metadata.num_row_groups):
        column = metadata.row_group(group).column(places[0])
        told_of = column.statistics if column.is_stats_set else None
        if told_of is None:
            return False
        if not told_of.has_min_max:
            if told_of.null_count != column.num_values:
                return False
        elif max(abs(int(told_of.min_raw)), abs(int(told_of.max_raw))) > largest:
            return False
    return True
