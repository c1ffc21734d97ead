"""The extremes of a column in each row group, as the file's statistics tell them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.nested import type_at
from lamella.core.scan.footers import Footer, unchanged
from lamella.core.scan.snapshot import Column, FileSegment

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


@dataclass(frozen=True)
class Extent:
    """The least and the greatest value, None where they are not known; whether there may be nulls, values."""

    low: Any = None
    high: Any = None
    nulls: bool = True
    values: bool = True


UNKNOWN, ALL_NULL = Extent(), Extent(values=False)


def extents_of(segment: FileSegment, column: Column) -> list[Extent]:
    """Of a column, or of a field inside structs, by row group."""
    told = unchanged(segment)
    name = segment.names.get(column.key)
    if name is None:
        constant = column.key in segment.constants
        return [UNKNOWN if constant else ALL_NULL] * told.metadata.num_row_groups
    return _of_column(told, name, column.path, column.type)


@lru_cache(4096)
def _of_column(told: Footer, name: str, path: tuple[str, ...], type_: pa.DataType) -> list[Extent]:
    """By row group; unknown where the file holds another type, or one whose extremes are not exact."""
    groups = [told.metadata.row_group(group) for group in range(told.metadata.num_row_groups)]
    stored = type_at(told.schema.field(name).type, path)
    if stored is None:
        return [ALL_NULL for _ in groups]
    if not stored.equals(type_):
        return [UNKNOWN for _ in groups]
    if is_.is_struct(type_):
        leaves = [
            place for inner in _leaves(type_, (name, *path)) if (place := _place(told, inner)) is not None
        ]
        return [Extent(nulls=not _some_has_no_null(group, leaves)) for group in groups]
    place = _place(told, (name, *path))
    if place is None or not _is_told(type_, told.metadata.schema.column(place)):
        return [UNKNOWN for _ in groups]
    return [_extent(group.column(place)) for group in groups]


def _place(told: Footer, path: tuple[str, ...]) -> int | None:
    """Where the leaf is among the leaves; None where another has the same path, for names may hold points,
    and where its statistics are of items of lists, not of rows."""
    schema, called = told.metadata.schema, ".".join(path)
    places = [i for i in range(told.metadata.num_columns) if schema.column(i).path == called]
    if len(places) != 1 or schema.column(places[0]).max_repetition_level:
        return None
    return places[0]


def _leaves(kind: pa.DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of the fields inside a struct that are not nested."""
    for field in kind:
        if is_.is_struct(field.type):
            yield from _leaves(field.type, (*path, field.name))
        elif not is_.is_nested(field.type):
            yield (*path, field.name)


def _some_has_no_null(group: pq.RowGroupMetaData, leaves: Sequence[int]) -> bool:
    """Where a struct is null, each of its fields is counted as null."""
    statistics = (group.column(leaf).statistics for leaf in leaves)
    return any(told is not None and told.has_null_count and told.null_count == 0 for told in statistics)


def _is_told(type_: pa.DataType, leaf: pq.ColumnSchema) -> bool:
    if is_.is_timestamp(type_):
        unit = json.loads(leaf.logical_type.to_json()).get("timeUnit", "")
        return bool(leaf.physical_type == "INT64" and _UNITS.get(unit) == type_.unit)
    texts = is_.is_string(type_) or is_.is_large_string(type_) or is_.is_binary(type_)
    return bool(texts or is_.is_signed_integer(type_) or is_.is_date32(type_))


def _extent(chunk: pq.ColumnChunkMetaData) -> Extent:
    told = chunk.statistics
    if told is None:
        return UNKNOWN
    nulls = not told.has_null_count or told.null_count > 0
    if told.has_null_count and told.null_count == chunk.num_values:
        return ALL_NULL
    return Extent(told.min_raw, told.max_raw, nulls) if told.has_min_max else Extent(nulls=nulls)
