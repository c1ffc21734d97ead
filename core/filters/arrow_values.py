"""Exact values as Arrow scalars and arrays, without `pa.array` and `pa.scalar`, which import pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types


def array_of(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """`type_` is one that `core.filters.arrow_operand` computes with: text, bytes, booleans, numbers,
    and decimals, whose values are unscaled whole numbers."""
    if types.is_large_string(type_):
        return _variable([value.encode() for value in values], type_)
    if types.is_large_binary(type_):
        return _variable(values, type_)
    if types.is_boolean(type_):
        bits = np.packbits(np.asarray(values, dtype=bool), bitorder="little")
        return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(bits)])
    if types.is_decimal(type_):
        width = type_.bit_width // 8
        data = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
    else:
        data = np.array(values, dtype=type_.to_pandas_dtype()).tobytes()
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(data)])


def scalar_of(value: Any, type_: pa.DataType) -> pa.Scalar:
    return array_of([value], type_)[0]


def _variable(values: Sequence[bytes], type_: pa.DataType) -> pa.Array:
    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return pa.Array.from_buffers(
        type_, len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    )
