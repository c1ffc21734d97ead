"""Types of columns: how they are written down, and which may widen into which without losing a value."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import BadData

ID = "_id"
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def type_to_bytes(kind: pa.DataType) -> bytes:
    return bytes(pa.schema([pa.field("x", kind)]).serialize())


@lru_cache(1024)
def type_from_bytes(stored: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(stored)).field(0).type


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type that holds every value of both exactly, or None.

    Integers and floats have none here: whether it is exact depends on the values.
    """
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    return _common_integer(a, b) or _common_float(a, b) or _common_text(a, b) or _common_time(a, b)


def _common_integer(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if not (pa.types.is_integer(a) and pa.types.is_integer(b)):
        return None
    if pa.types.is_signed_integer(a) == pa.types.is_signed_integer(b):
        return max(a, b, key=lambda t: t.bit_width)
    unsigned, signed = (a, b) if pa.types.is_unsigned_integer(a) else (b, a)
    needed = max(signed.bit_width, 2 * unsigned.bit_width)
    return next((t for t in _INTEGERS if t.bit_width >= needed), None)


def _common_float(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if pa.types.is_floating(a) and pa.types.is_floating(b):
        return max(a, b, key=lambda t: t.bit_width)
    narrow, wide = (a, b) if pa.types.is_integer(a) else (b, a)
    fits = (
        pa.types.is_integer(narrow) and pa.types.is_floating(wide) and narrow.bit_width * 2 <= wide.bit_width
    )
    return wide if fits else None


def _common_text(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    a, b = (t.value_type if pa.types.is_dictionary(t) else t for t in (a, b))
    if {a, b} <= {pa.string(), pa.large_string(), pa.string_view()}:
        return pa.string() if a.equals(b) else pa.large_string()
    return None


def _common_time(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    date, other = (a, b) if pa.types.is_date32(a) else (b, a)
    if pa.types.is_date32(date) and pa.types.is_timestamp(other):
        return other if other.tz is None and other.unit != "ns" else None
    if (
        pa.types.is_timestamp(a)
        and pa.types.is_timestamp(b)
        and a.tz == b.tz
        and "ns" not in (a.unit, b.unit)
    ):
        return max(a, b, key=lambda t: ("s", "ms", "us").index(t.unit))
    return None  # nanoseconds reach from 1677 to 2262 only


@lru_cache(1024)
def stored_type(kind: pa.DataType) -> pa.DataType:
    """Types that Parquet would hand back changed, as the type it keeps: seconds become milliseconds.

    Raises `BadData` for a type that Parquet cannot hold.
    """
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        kind = pa.timestamp("ms", kind.tz)
    if pa.types.is_date64(kind):
        kind = pa.timestamp("ms")
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([pa.field("x", kind)])):
            return kind
    except pa.ArrowNotImplementedError as error:
        raise BadData(
            f"values of type {kind} cannot be kept in Parquet", str(error), "Cast them first"
        ) from error
