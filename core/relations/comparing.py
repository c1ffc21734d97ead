"""Keys of two columns brought into one type, in which they are equal exactly where they mean the same."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrays import from_numpy, in_one, to_numpy
from lamella.core.widening import common_type

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@lru_cache(4096)
def meeting_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type in which keys of the two are compared, or None where they mean different things."""
    a, b = _plain(a), _plain(b)
    if is_.is_nested(a) or is_.is_nested(b):
        return None
    if is_.is_null(a) or is_.is_null(b) or a.equals(b):
        return b if is_.is_null(a) else a
    if is_.is_timestamp(a) and is_.is_timestamp(b):
        return _coarser(a, b) if (a.tz is None) == (b.tz is None) else None
    if is_.is_duration(a) and is_.is_duration(b):
        return _coarser(a, b)
    if is_.is_date(a) or is_.is_date(b):
        return pa.date32() if is_.is_date(a) and is_.is_date(b) else None
    return _numbers(a, b) if is_.is_integer(a) or is_.is_integer(b) else common_type(a, b)


def brought(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Keys as what `meeting_type` says. What has no equal there becomes null: half a number among whole ones,
    a millisecond among seconds."""
    values = _storage(values)
    if values.type.equals(kind) or is_.is_null(kind):
        return values
    if is_.is_null(values.type):
        return values.cast(kind)
    if is_.is_floating(values.type) and is_.is_integer(kind):
        return pa.chunked_array([_whole(in_one(values), kind)])
    if is_.is_timestamp(kind) or is_.is_duration(kind):
        return pa.chunked_array([_in_units(in_one(values), kind)])
    return values.cast(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """What a dictionary or an extension type holds."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if is_.is_dictionary(kind) else kind


def _storage(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(values.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    return values.cast(values.type.value_type) if is_.is_dictionary(values.type) else values


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Whole numbers with others: floats meet them as whole numbers, for a double is not exact enough."""
    if is_.is_floating(a) or is_.is_floating(b):
        return b if is_.is_floating(a) else a
    if is_.is_boolean(a) or is_.is_boolean(b):
        return None
    both = is_.is_integer(a) and is_.is_integer(b)
    return common_type(a, b) or (pa.decimal128(20, 0) if both else None)


def _coarser(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return min(a, b, key=lambda kind: _UNITS[kind.unit])


def _whole(values: pa.Array, kind: pa.DataType) -> pa.Array:
    numbers = to_numpy(values).astype(np.float64)
    low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    with np.errstate(invalid="ignore"):
        held = (numbers == np.floor(numbers)) & (numbers >= float(low)) & (numbers < float(high) + 1)
    valid = to_numpy(values.is_valid()) & held
    exact = np.where(valid, numbers, 0.0).astype(kind.to_pandas_dtype())
    return _array(exact, kind, valid)


def _in_units(values: pa.Array, kind: pa.DataType) -> pa.Array:
    counts, valid = to_numpy(values.view(pa.int64())), to_numpy(values.is_valid())
    whole, rest = np.divmod(counts, _UNITS[values.type.unit] // _UNITS[kind.unit])
    return _array(whole, kind, valid & (rest == 0))


def _array(values: np.ndarray, kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    return from_numpy(values, kind, None if valid.all() else valid)
