"""Arrow types that differ only in how they lay values out, and the plain ones, which can be kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrays import from_numpy, to_numpy

REST = "_rest"
REST_FIELD = pa.field(REST, pa.string())
"""The field of a struct that holds, as JSON, what has no field of its own; null where there is nothing."""

_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


@lru_cache(4096)
def plain_layout(kind: pa.DataType, inside: bool = False) -> pa.DataType:
    """`kind`, with values in place of run ends, views of lists, and nested dictionaries and views of text;
    seconds are milliseconds, as Parquet has none."""
    if is_.is_run_end_encoded(kind) or (is_.is_dictionary(kind) and (inside or not _is_word(kind))):
        return plain_layout(kind.value_type, inside)
    if is_.is_struct(kind):
        fields = [field.with_type(plain_layout(field.type, True)) for field in kind]
        return pa.struct(fields)
    if is_.is_map(kind):
        return pa.map_(plain_layout(kind.key_type, True), plain_layout(kind.item_type, True))
    if is_.is_fixed_size_list(kind) and kind.list_size:
        return pa.list_(plain_layout(kind.value_type, True), kind.list_size)
    if is_.is_large_list(kind) or is_.is_large_list_view(kind):
        return pa.large_list(plain_layout(kind.value_type, True))
    if is_.is_list(kind) or is_.is_list_view(kind) or is_.is_fixed_size_list(kind):
        return pa.list_(plain_layout(kind.value_type, True))
    kind = _in_milliseconds(kind)
    return _VIEWS.get(kind, kind) if inside else kind


def in_plain_layout(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in the plain layout of their type. Raises `pa.ArrowInvalid` for seconds far away."""
    kind = plain_layout(values.type)
    if is_.is_dictionary(values.type) and _holds_null(values):
        return values.cast(values.type.value_type).dictionary_encode().cast(kind)
    if values.type.equals(kind):
        return values
    chunks = [_converted(chunk, kind) for chunk in values.chunks]
    return pa.chunked_array(chunks, kind)


def with_fields(kind: pa.DataType) -> pa.DataType:
    """`kind`, where structs without fields get one for the rest: Parquet has none without."""
    if is_.is_struct(kind):
        return pa.struct([field.with_type(with_fields(field.type)) for field in kind] or [REST_FIELD])
    if is_.is_fixed_size_list(kind):
        return pa.list_(with_fields(kind.value_type), kind.list_size)
    if is_.is_list(kind):
        return pa.list_(with_fields(kind.value_type))
    return kind


def _converted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_.is_run_end_encoded(values.type):
        return _converted(pc.run_end_decode(values), kind)
    if is_.is_list_view(values.type) or is_.is_large_list_view(values.type):
        return _converted(_from_view(values), kind)
    return values if values.type.equals(kind) else values.cast(kind)


def _from_view(values: pa.Array) -> pa.Array:
    """A list for a view; Arrow's own cast breaks on nulls."""
    large = is_.is_large_list_view(values.type)
    lengths = to_numpy(pc.fill_null(pc.list_value_length(values), 0))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if large else np.int32)
    made = pa.LargeListArray if large else pa.ListArray
    return made.from_arrays(from_numpy(offsets), values.flatten(), mask=values.is_null())


def _holds_null(values: pa.ChunkedArray) -> bool:
    return any(chunk.dictionary.null_count for chunk in values.chunks)


def _in_milliseconds(kind: pa.DataType) -> pa.DataType:
    if is_.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    return pa.time32("ms") if kind == pa.time32("s") else kind


def _is_word(kind: pa.DictionaryType) -> bool:
    return bool(is_.is_string(kind.value_type) or is_.is_large_string(kind.value_type))
