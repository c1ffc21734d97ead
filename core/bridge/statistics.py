"""What Parquet's statistics say of a column in a row group, as keys of the column's order."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bridge.column_types import ColumnType, column_type
from lamella.core.bridge.moments import DIGITS, Moments
from lamella.core.bridge.orders import Bytes, Floats, Integers
from lamella.core.bridge.wanted import Wanted
from lamella.core.scan.footers import Footer
from lamella.core.scan.snapshot import Column

UNIT_DIGITS = {"milliseconds": 3, "microseconds": 6, "nanoseconds": 9}


@dataclass(frozen=True)
class Extent:
    """`low` and `high` are None where they are not known. `nulls` and `values`: whether there may be any."""

    low: Any = None
    high: Any = None
    nulls: bool = True
    values: bool = True

    def meets(self, wanted: Wanted) -> bool:
        if wanted.nulls and self.nulls:
            return True
        return self.values and (
            wanted.meets(self.low, self.high) if self.low is not None else bool(wanted.ranges)
        )


UNKNOWN = Extent()
ALL_NULL = Extent(values=False)


@lru_cache(4096)
def extents(told: Footer, name: str, column: Column) -> list[Extent]:
    """By row group. `name` is the column's in this file."""
    groups = range(told.metadata.num_row_groups)
    kind = column_type(column.type)
    place = _leaf(told, name)
    if place is None or not _alike(told.schema.field(name).type, column.type):
        return [UNKNOWN for _ in groups]
    if told.has_doubtful_extremes(name):
        return [UNKNOWN for _ in groups]
    leaf = told.metadata.schema.column(place)
    return [
        _extent(told.metadata.row_group(group).column(place), leaf, kind, column.type) for group in groups
    ]


def _leaf(told: Footer, name: str) -> int | None:
    """Its place among the leaves; None for nested columns, and where a field inside one has the same path."""
    schema = told.metadata.schema
    places = [i for i in range(told.metadata.num_columns) if schema.column(i).path == name]
    return places[0] if len(places) == 1 and not pa.types.is_nested(told.schema.field(name).type) else None


def _alike(stored: pa.DataType, shown: pa.DataType) -> bool:
    """Whether a value keeps its key when it is read as the type that is shown."""
    if stored.equals(shown):
        return True
    families = (pa.types.is_integer, pa.types.is_floating)
    return any(family(stored) and family(shown) for family in families)


def _extent(
    chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema, kind: ColumnType, shown: pa.DataType
) -> Extent:
    told = chunk.statistics
    if told is None:
        return UNKNOWN
    floats = pa.types.is_floating(shown)
    nulls = floats or not told.has_null_count or told.null_count > 0
    if told.has_null_count and told.null_count == chunk.num_values:
        return ALL_NULL
    keys = _keys(told, leaf, kind) if told.has_min_max else None
    return Extent(None, None, nulls) if keys is None else Extent(keys[0], keys[1], nulls)


def _keys(told: pq.Statistics, leaf: pq.ColumnSchema, kind: ColumnType) -> tuple[Any, Any] | None:
    if isinstance(kind.order, Bytes):
        return told.min_raw, told.max_raw
    if isinstance(kind.order, Moments):
        return _in_unit(told, leaf, kind.order)
    if isinstance(kind.order, Integers):
        return int(told.min), int(told.max)
    return _doubles(told, kind.order) if isinstance(kind.order, Floats) else None


def _doubles(told: pq.Statistics, order: Floats) -> tuple[float, float] | None:
    """Where the order is not exact, rounding may go either way."""
    if not isinstance(told.min, int | float | Decimal):
        return None
    low, high = float(told.min), float(told.max)
    if math.isnan(low) or math.isnan(high):
        return None
    return (low, high) if order.exact else (math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def _in_unit(told: pq.Statistics, leaf: pq.ColumnSchema, order: Moments) -> tuple[int, int] | None:
    """The file may hold another unit than Arrow's schema in it says: Parquet knows no seconds."""
    if leaf.physical_type not in ("INT32", "INT64"):
        return None
    if order.form == "day":
        return told.min_raw, told.max_raw
    stored = UNIT_DIGITS.get(json.loads(leaf.logical_type.to_json()).get("timeUnit", ""))
    if stored is None:
        return None
    step = DIGITS[order.unit] - stored
    if step >= 0:
        return told.min_raw * 10**step, told.max_raw * 10**step
    return told.min_raw // 10**-step, -(-told.max_raw // 10**-step)
