"""Arrow types: which can be stored, names and layouts, common types, and lossless casts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.arrays import exact_array, from_numpy, to_numpy
from lamella.core.errors import BadData, UnknownName, short_text

TypeName: TypeAlias = pa.DataType | str | type[Any]
_PYTHON: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    bytes: pa.binary(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
    dt.time: pa.time64("us"),
    dt.timedelta: pa.duration("us"),
}
_NAMES = {
    **{kind.__name__: arrow_type for kind, arrow_type in _PYTHON.items()},
    "text": pa.string(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us"),
}


class UnknownType(UnknownName):
    kind = "type"


def type_named(name: TypeName) -> pa.DataType:
    """Return the type with a name; raise `UnknownType`, or `BadData` for anything that cannot name a type."""
    if isinstance(name, pa.DataType):
        return name
    if isinstance(name, str):
        return _by_name(name)
    if isinstance(name, type) and name in _PYTHON:
        return _PYTHON[name]
    raise BadData(
        f"{short_text(name)} is not a type of columns", fix="Give an Arrow type, or its name, such as 'int64'"
    )


@lru_cache(4096)
def type_text(kind: pa.DataType) -> str:
    """The name of a type as users read and write it: `type_named` reads it."""
    return _SHORT.sub(lambda match: _SHORT_NAMES[match[0]], str(kind))


def type_of(value: Any) -> pa.DataType:
    """The type of a column that holds such values."""
    if type(value) in _PYTHON and not getattr(value, "tzinfo", None):
        return _PYTHON[type(value)]
    if isinstance(value, pa.Scalar):
        return value.type
    try:
        return exact_array([value]).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise BadData(
            f"{short_text(value)} cannot be stored in a column", str(error), "Give the column's type"
        ) from error


def _by_name(name: str) -> pa.DataType:
    plain = name.strip().casefold()
    if plain in _NAMES:
        return _NAMES[plain]
    try:
        return _parse_type(name.strip()) or pa.type_for_alias(plain)
    except ValueError:
        raise UnknownType(name, "Arrow", [*_NAMES, *_ALIASES]) from None


def _parse_type(name: str) -> pa.DataType | None:
    """Parse types with digits, a zone or a width, as Arrow prints them; raise `ValueError` for impossible
    ones."""
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[2]), int(match[3] or 0)
        make = {"128": pa.decimal128, "256": pa.decimal256}
        return make[match[1] or ("128" if precision <= 38 else "256")](precision, scale)
    if match := _ZONED_TIMESTAMP.fullmatch(name):
        return pa.timestamp(match[1].lower(), match[2])
    if match := _FIXED_SIZE_BINARY.fullmatch(name):
        return pa.binary(int(match[1]))
    if match := _LIST.fullmatch(name):
        make_list = pa.large_list if name.lower().startswith("large") else pa.list_
        return make_list(_by_name(match[1]))
    return None


_SHORT_NAMES = {
    "double": "float64", "float": "float32", "halffloat": "float16", "date32[day]": "date",
    "decimal128": "decimal",
}  # fmt: skip
_SHORT = re.compile(rf"(?:(?<=[<: ])|^)(?:{'|'.join(map(re.escape, _SHORT_NAMES))})(?![\w:])")
_DECIMAL = re.compile(r"decimal(128|256)?\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)", re.IGNORECASE)
_ZONED_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns),\s*tz=([^\]]+)\]", re.IGNORECASE)
_FIXED_SIZE_BINARY = re.compile(r"fixed_size_binary\[(\d+)\]", re.IGNORECASE)
_LIST = re.compile(r"(?:large_)?list<(?:(?:item|element):\s*)?(.+)>", re.IGNORECASE)
_ALIASES = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "string", "large_string", "binary", "date32"),
    *(f"timestamp[{unit}]" for unit in ("ms", "us", "ns")),
    *("decimal(38, 10)", "timestamp[us, tz=UTC]", "list<string>"),
    *(f"duration[{unit}]" for unit in ("s", "ms", "us", "ns")),
]


REST = "_rest"
REST_FIELD = pa.field(REST, pa.string())
"""The field of a struct that holds keys without a field of their own, as JSON; null if there are none."""

_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


@lru_cache(4096)
def plain_layout(kind: pa.DataType, inside: bool = False) -> pa.DataType:
    """The plain layout of a type: without run-end encoding, list views, and nested dictionaries and text
    views; seconds become milliseconds, because Parquet has no seconds."""
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
    """Convert values to the plain layout of their type. Raises `pa.ArrowInvalid` for seconds too far away."""
    kind = plain_layout(values.type)
    if is_.is_dictionary(values.type) and _holds_null(values):
        return values.cast(values.type.value_type).dictionary_encode().cast(kind)
    if values.type.equals(kind):
        return values
    chunks = [_convert(chunk, kind) for chunk in values.chunks]
    return pa.chunked_array(chunks, kind)


def with_fields(kind: pa.DataType) -> pa.DataType:
    """The type with a rest field in structs without fields, which Parquet cannot store."""
    if is_.is_struct(kind):
        return pa.struct([field.with_type(with_fields(field.type)) for field in kind] or [REST_FIELD])
    if is_.is_fixed_size_list(kind):
        return pa.list_(with_fields(kind.value_type), kind.list_size)
    if is_.is_list(kind):
        return pa.list_(with_fields(kind.value_type))
    return kind


def _convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_.is_run_end_encoded(values.type):
        return _convert(pc.run_end_decode(values), kind)
    if is_.is_list_view(values.type) or is_.is_large_list_view(values.type):
        return _convert(_from_view(values), kind)
    return values if values.type.equals(kind) else values.cast(kind)


def _from_view(values: pa.Array) -> pa.Array:
    """Convert a list view to a list; Arrow's own cast fails on nulls."""
    large = is_.is_large_list_view(values.type)
    lengths = to_numpy(pc.fill_null(pc.list_value_length(values), 0))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if large else np.int32)
    list_type = pa.LargeListArray if large else pa.ListArray
    return list_type.from_arrays(from_numpy(offsets), values.flatten(), mask=values.is_null())


def _holds_null(values: pa.ChunkedArray) -> bool:
    return any(chunk.dictionary.null_count for chunk in values.chunks)


def _in_milliseconds(kind: pa.DataType) -> pa.DataType:
    if is_.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    return pa.time32("ms") if kind == pa.time32("s") else kind


def _is_word(kind: pa.DictionaryType) -> bool:
    return bool(is_.is_string(kind.value_type) or is_.is_large_string(kind.value_type))


ID = "_id"
_AS_THEY_ARE = {
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(),
    pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("ms"), pa.timestamp("us"), pa.null(),
}  # fmt: skip
"""Types known to be storable, which saves a trial of five milliseconds."""
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def type_to_bytes(kind: pa.DataType) -> bytes:
    return bytes(pa.schema([pa.field("x", kind)]).serialize())


@lru_cache(1024)
def type_from_bytes(stored: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(stored)).field(0).type


@lru_cache(1024)
def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column for values of `kind`: the same, except that a few layouts that Parquet or the
    catalog do not support are replaced by plain ones that hold the same values.

    Raises `BadData` for a type that cannot be stored.
    """
    kind = with_fields(plain_layout(kind))
    if kind in _AS_THEY_ARE:
        return kind
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([pa.field("x", kind)])):
            return kind
    except pa.ArrowNotImplementedError as error:
        raise BadData(
            f"values of type {kind} cannot be stored in Parquet", str(error), "Cast them first"
        ) from error


Meet = Callable[[pa.DataType, pa.DataType], pa.DataType | None]

_SIGNED_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNITS = ("s", "ms", "us", "ns")
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
LARGEST_PRECISION = 76
MOST_FIELDS = 200
"""The most fields of a struct; further keys are stored as JSON in the rest field
(`core/arrow/documents.py`)."""


@lru_cache(4096)
def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type that holds every value of both exactly, or None."""
    return _meet(a, b, _certain)


@lru_cache(4096)
def wider_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that may hold the values of both, which have to be checked: integers among floats may be too
    large for a double, times too far away for nanoseconds. None if there is no such type."""
    return _meet(a, b, _hopeful)


def always_fits(a: pa.DataType, kind: pa.DataType) -> bool:
    """Whether every value of `a` survives as `kind`. Times may be too far away for finer units."""
    if is_.is_temporal(a) and not a.equals(kind):
        return False
    return bool(common_type(a, kind) == kind)


def _meet(a: pa.DataType, b: pa.DataType, scalar: Meet) -> pa.DataType | None:
    if a.equals(b) or is_.is_null(b):
        return a
    if is_.is_null(a):
        return b
    return _list(a, b, scalar) or _struct(a, b, scalar) or _map(a, b, scalar) or scalar(a, b)


def _list(a: pa.DataType, b: pa.DataType, scalar: Meet) -> pa.DataType | None:
    if not (_is_list(a) and _is_list(b)):
        return None
    values = _meet(a.value_type, b.value_type, scalar)
    if values is None:
        return None
    if is_.is_fixed_size_list(a) and is_.is_fixed_size_list(b) and a.list_size == b.list_size:
        return pa.list_(values, a.list_size)
    large = any(is_.is_large_list(t) or is_.is_large_list_view(t) for t in (a, b))
    return pa.large_list(values) if large else pa.list_(values)


def _is_list(kind: pa.DataType) -> bool:
    variants = (
        is_.is_list, is_.is_large_list, is_.is_fixed_size_list, is_.is_list_view, is_.is_large_list_view,
    )  # fmt: skip
    return bool(any(is_one(kind) for is_one in variants))


def _struct(a: pa.DataType, b: pa.DataType, scalar: Meet) -> pa.DataType | None:
    if not (is_.is_struct(a) and is_.is_struct(b)):
        return None
    types = {field.name: field.type for field in a}
    left_over = False
    for field in b:
        room = field.name in types or len(types) < MOST_FIELDS or scalar is _certain
        wider = _meet(types.get(field.name, pa.null()), field.type, scalar) if room else None
        if wider is not None:
            types[field.name] = wider
        elif scalar is _certain:
            return None
        else:
            left_over = True
    rest = {REST: types.pop(REST, REST_FIELD.type)} if left_over or REST in types else {}
    return pa.struct(list((types | rest).items()))


def _map(a: pa.DataType, b: pa.DataType, scalar: Meet) -> pa.DataType | None:
    if not (is_.is_map(a) and is_.is_map(b)):
        return None
    keys, items = _meet(a.key_type, b.key_type, scalar), _meet(a.item_type, b.item_type, scalar)
    return None if keys is None or items is None else pa.map_(keys, items)


def _certain(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    return _integers(a, b) or _floats(a, b) or _decimals(a, b) or _texts(a, b) or _bytes(a, b) or _times(a, b)


def _hopeful(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    return _certain(a, b) or _numbers(a, b) or _far_times(a, b)


def _integers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if not (is_.is_integer(a) and is_.is_integer(b)):
        return None
    if is_.is_signed_integer(a) == is_.is_signed_integer(b):
        return max(a, b, key=lambda t: t.bit_width)
    unsigned, signed = (a, b) if is_.is_unsigned_integer(a) else (b, a)
    width = max(signed.bit_width, 2 * unsigned.bit_width)
    return next((t for t in _SIGNED_INTEGERS if t.bit_width >= width), None)


def _floats(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if is_.is_floating(a) and is_.is_floating(b):
        return max(a, b, key=lambda t: t.bit_width)
    narrow, wide = (a, b) if is_.is_integer(a) else (b, a)
    fits = is_.is_integer(narrow) and is_.is_floating(wide) and narrow.bit_width * 2 <= wide.bit_width
    return wide if fits else None


def _decimals(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The decimal type with as many digits before and after the decimal point as either has."""
    if not (is_.is_decimal(a) or is_.is_decimal(b)):
        return None
    digits = [_digits(t) for t in (a, b)]
    if None in digits:
        return None
    (whole_a, scale_a), (whole_b, scale_b) = (f for f in digits if f is not None)
    scale, precision = max(scale_a, scale_b), max(whole_a, whole_b) + max(scale_a, scale_b)
    if precision > LARGEST_PRECISION:
        return None
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _digits(kind: pa.DataType) -> tuple[int, int] | None:
    if is_.is_decimal(kind):
        return kind.precision - kind.scale, kind.scale
    return (_DIGITS[kind.bit_width], 0) if is_.is_integer(kind) else None


def _texts(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    a, b = (t.value_type if is_.is_dictionary(t) else t for t in (a, b))
    if a.equals(b):
        return a
    return pa.large_string() if {a, b} <= {pa.string(), pa.large_string(), pa.string_view()} else None


def _bytes(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if not all(is_.is_binary(t) or is_.is_large_binary(t) or _is_odd_binary(t) for t in (a, b)):
        return None
    short = all(is_.is_fixed_size_binary(t) or is_.is_binary(t) for t in (a, b))
    return pa.binary() if short else pa.large_binary()


def _is_odd_binary(kind: pa.DataType) -> bool:
    return bool(is_.is_fixed_size_binary(kind) or is_.is_binary_view(kind))


def _times(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The common type of times: the finer unit, unless values may be too far away for it; nanoseconds cover
    292 years."""
    if is_.is_time(a) and is_.is_time(b):
        unit = _finer(a, b)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if "ns" in (getattr(a, "unit", ""), getattr(b, "unit", "")):
        return None
    return _far_times(a, b)


def _far_times(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if is_.is_duration(a) and is_.is_duration(b):
        return pa.duration(_finer(a, b))
    date, partner = (a, b) if is_.is_date32(a) else (b, a)
    if is_.is_date32(date) and is_.is_timestamp(partner):
        return partner if partner.tz is None else None
    if is_.is_timestamp(a) and is_.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        return pa.timestamp(_finer(a, b), a.tz)  # a moment is the same in any zone
    return None


def _finer(a: pa.DataType, b: pa.DataType) -> str:
    return str(max(a.unit, b.unit, key=_UNITS.index))


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The common type of numbers: booleans count as 0 and 1; integers among floats become doubles if they
    fit; uint64 among signed integers becomes decimal."""
    if is_.is_boolean(a) or is_.is_boolean(b):
        number = b if is_.is_boolean(a) else a
        return number if is_.is_integer(number) or is_.is_floating(number) else None
    if is_.is_integer(a) and is_.is_integer(b):
        return pa.decimal128(_DIGITS[64], 0)
    return pa.float64() if all(is_.is_integer(t) or is_.is_floating(t) for t in (a, b)) else None


Values = TypeVar("Values", pa.Array, pa.ChunkedArray)


def exact_cast(values: Values, kind: pa.DataType) -> Values | None:
    """Cast `values` to `kind` if every value survives, else return None.

    A value survives if casting it back gives it again. Null stays null, NaN counts as equal to NaN. A time
    neither gains nor loses its zone, and a number never becomes a point in time.
    """
    if values.type.equals(kind):
        return values
    if pa.types.is_dictionary(values.type):
        return exact_cast(_decode(values), kind)
    if pa.types.is_null(values.type):
        nulls = pa.nulls(len(values), kind)
        return nulls if isinstance(values, pa.Array) else pa.chunked_array([nulls])
    if not _same_meaning(values.type, kind):
        return None
    try:
        array = _with_room(values, kind).cast(kind)
        source = _fill_null_types(values.type, kind)
        back = array.cast(
            source, safe=not pa.types.is_floating(source)
        )  # a safe cast would refuse large integers
        return array if _are_same(values.cast(source), back) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def inexact(column: str, source: pa.DataType, kind: pa.DataType) -> BadData:
    """The error for values that would change in a conversion between types."""
    return BadData(
        f"column '{column}' holds {source} values that do not all fit {kind} exactly",
        "none is rounded or cut",
        f"Cast the column first: {_offer(source, kind)}",
    )


def _offer(source: pa.DataType, kind: pa.DataType) -> str:
    numeric = any(pa.types.is_floating(t) or pa.types.is_integer(t) for t in (source, kind))
    return "decimals hold every digit, text holds anything" if numeric else "text holds anything"


def _with_room(values: Values, kind: pa.DataType) -> Values:
    """Cast integers to a large decimal first: Arrow otherwise refuses to check whether they fit fewer
    digits."""
    if pa.types.is_integer(values.type) and pa.types.is_decimal(kind):
        return values.cast(pa.decimal256(20, 0))
    return values


def _decode(values: Values) -> Values:
    return values.cast(values.type.value_type)


def _fill_null_types(source: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """The source type, with null types replaced by those of `kind`, because nothing can be cast back to
    null."""
    if pa.types.is_null(source):
        return kind
    if pa.types.is_list(source) and pa.types.is_list(kind):
        return pa.list_(_fill_null_types(source.value_type, kind.value_type))
    if pa.types.is_struct(source) and pa.types.is_struct(kind):
        types_by_name = {field.name: field.type for field in kind}
        return pa.struct(
            [(f.name, _fill_null_types(f.type, types_by_name.get(f.name, f.type))) for f in source]
        )
    return source


def _same_meaning(a: pa.DataType, b: pa.DataType) -> bool:
    if pa.types.is_temporal(a) and pa.types.is_temporal(b):
        return _has_zone(a) == _has_zone(b)
    return not any(
        pa.types.is_temporal(temporal) and _is_number(number) for temporal, number in ((a, b), (b, a))
    )


def _has_zone(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def _are_same(a: Values, b: Values) -> bool:
    """Whether two arrays of one type are equal, where null equals null and NaN equals NaN."""
    if a.equals(b):
        return True
    if not a.is_null().equals(b.is_null()):
        return False
    if pa.types.is_floating(a.type):
        return _same_floats(a, b)
    if pa.types.is_list(a.type) or pa.types.is_large_list(a.type):
        lengths = pc.list_value_length(a).equals(pc.list_value_length(b))
        return lengths and _are_same(pc.list_flatten(a), pc.list_flatten(b))
    if pa.types.is_struct(a.type):
        places = range(a.type.num_fields)
        return all(_are_same(pc.struct_field(a, [i]), pc.struct_field(b, [i])) for i in places)
    return False


def _same_floats(a: Values, b: Values) -> bool:
    equal = pc.or_(pc.equal(a, b), pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return bool(pc.all(equal, min_count=0).as_py())


Test = Callable[[pa.DataType], bool]
"""A test of a type, such as `pa.types.is_decimal`."""


def is_nested(kind: pa.DataType) -> bool:
    """Whether values of a type consist of others; of an extension type, whether those that it stores do."""
    return bool(is_.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind))


def holds(kind: pa.DataType, test: Test) -> bool:
    """Whether the type, or one nested in it at any depth, passes the test."""
    return test(kind) or any(holds(part, test) for part in parts_of(kind))


def parts_of(kind: pa.DataType) -> list[pa.DataType]:
    if is_.is_map(kind):
        return [kind.key_type, kind.item_type]
    if is_.is_struct(kind):
        return [field.type for field in kind]
    return [kind.value_type] if is_.is_nested(kind) or is_.is_dictionary(kind) else []
