"""Makes Arrow arrays from NumPy and Python values without `pa.array`, which imports pandas (0.85 s) on its
first call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow.lib import StringBuilder

from lamella.core.errors import short_text

MANY_TEXTS = 1_000
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DATE = dt.date(1970, 1, 1)
MOST_TEXT = 2**31 - 1
"""The most bytes that the offsets of one array can address."""


def from_numpy(
    values: np.ndarray, kind: pa.DataType | None = None, valid: np.ndarray | None = None
) -> pa.Array:
    """A fixed-width array over the memory of `values`; `kind` must have the same width when given."""
    kind = kind or _ARROW[values.dtype]
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(kind):
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [bits, data])


def to_numpy(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The values of a fixed-width array; values at nulls are undefined."""
    if isinstance(array, pa.ChunkedArray):
        parts = [to_numpy(chunk) for chunk in array.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, _dtype(array.type)), *parts])
    if len(array) == 0:
        return np.empty(0, _dtype(array.type))
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        return np.unpackbits(bits, bitorder="little")[array.offset :][: len(array)].astype(bool)
    values = np.frombuffer(array.buffers()[1], _dtype(array.type), count=array.offset + len(array))
    return values[array.offset :]


def combine_chunks(values: pa.ChunkedArray) -> pa.Array:
    """The values as one array, without a copy if they already are one."""
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


Rows = TypeVar("Rows", pa.Array, pa.ChunkedArray, pa.Table)


def take(values: Rows, places: np.ndarray) -> Rows:
    """Take the values, or rows, at these indices. Views are cast, because pyarrow cannot take from them."""
    if isinstance(values, pa.Table):
        columns = [take(column, places) for column in values.columns]
        return pa.Table.from_arrays(columns, schema=values.schema)
    movable = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(values.type)
    if movable is None:
        return values.take(from_numpy(places))
    return values.cast(movable).take(from_numpy(places)).cast(values.type)


def put(values: pa.ChunkedArray, places: np.ndarray, new: pa.Array) -> pa.ChunkedArray:
    """Replace the values at these indices."""
    order = np.arange(len(values))
    order[places] = len(values) + np.arange(len(places))
    return take(pa.chunked_array([*values.chunks, new], values.type), order)


def nulls_among(values: Sequence[Any]) -> pa.Array | None:
    """Which of the values are None; None if none is."""
    return quick_array([value is None for value in values], pa.bool_()) if None in values else None


def from_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Convert Python values, None for null, to an array of `kind`.

    Common types take a fast path. Raises `pa.ArrowInvalid` or `pa.ArrowTypeError` for a value that does not
    fit exactly.
    """
    short = quick_array(values, kind)
    return exact_array(list(values), kind) if short is None else short


def exact_array(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """Convert with `pa.array`, and check that each value survived: it cuts 1.5 to 1 and a time to its day,
    and drops time zones. Raises as `from_values` does."""
    try:
        array = pa.array(values, type=kind)
        for value, stored in zip(values, array.to_pylist(), strict=True):
            if not _survives(value, stored):
                raise pa.ArrowInvalid(
                    f"{short_text(value)} would become {short_text(stored)} as {array.type}"
                )
    except OverflowError as error:
        raise pa.ArrowInvalid(f"A number is too large: {error}") from error
    except RecursionError as error:
        raise pa.ArrowInvalid("Values are nested too deep to be stored") from error
    return array


def _survives(value: Any, stored: Any) -> bool:
    """Whether a value read back is the one given. A null read back is accepted as some kind of null."""
    if stored is None:
        return True
    if isinstance(stored, dict):
        return isinstance(value, Mapping) and all(
            _survives(value.get(key), stored.get(key)) if key in stored else value[key] is None
            for key in (stored | dict(value))
        )
    if isinstance(stored, list):
        value = list(value.items() if isinstance(value, Mapping) else value)
        return len(value) == len(stored) and all(map(_survives, value, stored))
    if isinstance(stored, tuple):
        return len(value) == len(stored) and all(map(_survives, value, stored))
    return bool(value == stored or (stored != stored and value != value))


def quick_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """The fast path; None if the type has none, or a value does not fit exactly."""
    return _texts(values) if pa.types.is_string(kind) else _plain_numbers(values, kind)


def complete(values: Sequence[Any], own: type) -> pa.Array | None:
    """The fast path for values that are all exactly of the type `own`, so that none has to be checked."""
    if own is str:
        return _texts_alone(values)
    kind = _COMPLETE.get(own)
    return None if kind is None else _complete(values, kind, _PLAIN[kind][0])


def _texts(values: Sequence[Any]) -> pa.Array | None:
    """Convert texts; many are encoded all at once, which takes longer for few."""
    kinds = set(map(type, values))
    if not all(issubclass(kind, str) for kind in kinds - {type(None)}):
        return None
    valid = None
    if len(values) >= MANY_TEXTS and type(None) in kinds:
        valid = np.fromiter((value is not None for value in values), bool, len(values))
        values = ["" if value is None else value for value in values]
    return _texts_alone(values, valid)


def _texts_alone(values: Sequence[Any], valid: np.ndarray | None = None) -> pa.Array | None:
    if len(values) < MANY_TEXTS:
        builder = StringBuilder()
        builder.append_values(values)
        return builder.finish()
    return text_array(*joined_texts(values), valid)


def joined_texts(values: Sequence[str]) -> tuple[bytes, np.ndarray]:
    """Concatenate the texts as UTF-8; return the bytes and the length of each text in bytes. Raises
    `TypeError` if a value is not text."""
    text = "".join(values)
    data = text.encode()
    lengths = map(len, values) if len(data) == len(text) else (len(value.encode()) for value in values)
    return data, np.fromiter(lengths, np.int64, len(values))


def text_array(data: bytes, lengths: np.ndarray, valid: np.ndarray | None = None) -> pa.Array | None:
    """Make an array of concatenated UTF-8 texts; None if one array cannot hold that many bytes."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > MOST_TEXT:
        return None
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _plain_numbers(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    dtype, convert = _PLAIN.get(kind, (None, None))
    if dtype is None:
        return None
    types = set(map(type, values))
    if len(types) == 1 and _COMPLETE.get(next(iter(types))) == kind:
        return _complete(values, kind, dtype)
    valid = np.fromiter((v is not None for v in values), bool, len(values))
    try:
        numbers = np.fromiter((0 if v is None else convert(v) for v in values), dtype, len(values))
    except (TypeError, ValueError, OverflowError):
        return None
    return from_numpy(numbers, kind, None if valid.all() else valid)


def _complete(values: Sequence[Any], kind: pa.DataType, dtype: Any) -> pa.Array | None:
    try:
        return from_numpy(np.fromiter(values, dtype, len(values)), kind)
    except OverflowError:
        return None


def _float(value: Any) -> float:
    if isinstance(value, float):
        return value
    exact = float(index(value))
    if int(exact) != value:
        raise ValueError("not exact")
    return exact


def _boolean(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError("not a boolean")


def _microseconds(value: Any) -> int:
    if type(value) is not dt.datetime or value.tzinfo is not None:
        raise TypeError("not a plain datetime")
    return (value - _EPOCH) // dt.timedelta(microseconds=1)


def _days(value: Any) -> int:
    if type(value) is not dt.date:
        raise TypeError("not a plain date")
    return (value - _EPOCH_DATE).days


def _dtype(kind: pa.DataType) -> np.dtype:
    stored = {4: pa.int32(), 8: pa.int64()}[kind.byte_width] if pa.types.is_temporal(kind) else kind
    dtype: np.dtype = np.dtype(stored.to_pandas_dtype())
    return dtype


_COMPLETE: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
"""Types whose values need no check one by one."""

_PLAIN: dict[pa.DataType, tuple[Any, Any]] = {
    **{k: (k.to_pandas_dtype(), index) for k in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{k: (k.to_pandas_dtype(), index) for k in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    pa.float64(): (np.float64, _float),
    pa.bool_(): (np.bool_, _boolean),
    pa.timestamp("us"): (np.int64, _microseconds),
    pa.date32(): (np.int32, _days),
}


_ARROW = {
    np.dtype(kind.to_pandas_dtype()): kind for kind in (pa.int32(), pa.int64(), pa.float64(), pa.bool_())
}
