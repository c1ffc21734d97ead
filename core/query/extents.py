"""The extremes of a column in each row group, as the file's statistics tell them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from core.scan.footers import Footer, unchanged
from core.scan.snapshot import Column, FileSegment

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
    """Of a column, by row group."""
    told = unchanged(segment)
    groups = told.metadata.num_row_groups
    name = segment.names.get(column.key)
    if name is None:
        return [UNKNOWN if column.key in segment.constants else ALL_NULL] * groups
    return [UNKNOWN] * groups if column.path else _of_column(told, name, column.type)


@lru_cache(4096)
def _of_column(told: Footer, name: str, type_: pa.DataType) -> list[Extent]:
    """By row group; unknown where the file holds another type, or one whose extremes are not exact."""
    groups, schema = range(told.metadata.num_row_groups), told.metadata.schema
    places = [i for i in range(told.metadata.num_columns) if schema.column(i).path == name]
    if len(places) != 1 or not told.schema.field(name).type.equals(type_):
        return [UNKNOWN for _ in groups]
    if not _is_told(type_, schema.column(places[0])):
        return [UNKNOWN for _ in groups]
    return [_extent(told.metadata.row_group(group).column(places[0])) for group in groups]


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
