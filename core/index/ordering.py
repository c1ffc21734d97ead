"""Values of a column in a form that NumPy or memory comparison orders as filters and sorts do.

Numbers, dates, times and spans are numbers of NumPy, NaN the greatest; text and bytes order byte by byte,
which for text is by code point; decimals of more than eighteen digits are bytes too.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.filters.kinds import COMPARABLE, COUNTED, Kind, kind_of, value_type
from lamella.core.filters.ordered_decimals import ordered

SHORT_DIGITS = 18
_COUNTS = {1: np.uint8, 4: np.int32, 8: np.int64}


def can_be_ordered(kind: pa.DataType) -> bool:
    return kind_of(kind) in COMPARABLE


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values of a column of this type are ordered as bytes."""
    plain = value_type(kind)
    return kind_of(plain) in (Kind.TEXT, Kind.BINARY, Kind.UUID) or is_long_decimal(plain)


def is_long_decimal(kind: pa.DataType) -> bool:
    return bool(types.is_decimal(kind) and kind.precision > SHORT_DIGITS)


def as_bytes(values: pa.Array) -> pa.Array:
    """A column for which `is_bytes` holds, as large binary."""
    plain = _plain(values)
    if types.is_decimal(plain.type):
        plain = ordered(plain.cast(pa.decimal256(plain.type.precision, plain.type.scale)))
    if kind_of(plain.type) is Kind.TEXT:
        plain = plain.cast(pa.large_string())
    return plain.cast(pa.large_binary())


def as_numbers(values: pa.Array) -> np.ndarray:
    """Any other column that can be ordered; what stands in the place of a null is undefined."""
    plain = _plain(values)
    kind = kind_of(plain.type)
    if kind is Kind.FLOAT:
        wide = plain.cast(pa.float32()) if types.is_float16(plain.type) else plain
        with np.errstate(invalid="ignore"):  # a NaN that signals
            numbers: np.ndarray = to_numpy(wide) + wide.type.to_pandas_dtype()(0)  # -0.0 becomes 0.0
        return numbers
    if kind is Kind.BOOLEAN:
        return to_numpy(plain).astype(np.uint8)
    if kind is Kind.DECIMAL:
        wide = plain.cast(pa.decimal128(plain.type.precision, plain.type.scale))
        halves = np.frombuffer(wide.buffers()[1], np.int64, 2 * (wide.offset + len(wide)))
        return halves[2 * wide.offset :: 2]
    if kind in COUNTED:
        return to_numpy(plain.view(pa.int32() if plain.type.bit_width == 32 else pa.int64()))
    return to_numpy(plain)


def ranks(values: pa.Array, descending: bool = False) -> np.ndarray:
    """A number for each value that orders as the values do, backwards if `descending`; null comes last."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    if is_bytes(values.type):
        found = ranked_bytes(as_bytes(values))[0]
    else:
        numbers = as_numbers(values)
        found = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    found = -found if descending else found
    if values.null_count:
        found[to_numpy(values.is_null())] = len(values)
    return found


def ranked_bytes(values: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """The place of each value among the distinct ones, and these, ascending; undefined for null."""
    encoded = values.dictionary_encode()
    order = to_numpy(pc.array_sort_indices(encoded.dictionary)).astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    codes = to_numpy(encoded.indices).astype(np.int64)
    if values.null_count:
        codes[to_numpy(values.is_null())] = 0
    distinct = encoded.dictionary.take(from_numpy(order))
    return (places[codes] if len(order) else np.zeros(len(values), np.int64)), distinct


def differ(ordered: np.ndarray) -> np.ndarray:
    """Whether each differs from the one before it; NaN does not differ from NaN."""
    found: np.ndarray = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":
        found &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    return found


def _plain(values: pa.Array) -> pa.Array:
    if kind_of(values.type) is Kind.UUID:
        return values.storage
    return values.cast(values.type.value_type) if types.is_dictionary(values.type) else values
