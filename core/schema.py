"""Types of columns: how they are written down, and which may widen into which without losing a value."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import BadData
from lamella.core.layouts import plain_layout, with_fields

ID = "_id"
_AS_THEY_ARE = {
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(),
    pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("ms"), pa.timestamp("us"), pa.null(),
}  # fmt: skip
"""Types that need no trial: the first one takes five milliseconds."""
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def type_to_bytes(kind: pa.DataType) -> bytes:
    return bytes(pa.schema([pa.field("x", kind)]).serialize())


@lru_cache(1024)
def type_from_bytes(stored: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(stored)).field(0).type


@lru_cache(1024)
def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type that a column gets for values of `kind`: the same but for a few layouts that Parquet, or the
    way through the catalog, does not know, as the plain ones that hold the same values.

    Raises `BadData` for a type that cannot be kept.
    """
    kind = with_fields(plain_layout(kind))
    if kind in _AS_THEY_ARE:
        return kind
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([pa.field("x", kind)])):
            return kind
    except pa.ArrowNotImplementedError as error:
        raise BadData(
            f"values of type {kind} cannot be kept in Parquet", str(error), "Cast them first"
        ) from error
