"""Which types widen into which: where every value fits for certain, and where the values decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.layouts import REST, REST_FIELD

Meet = Callable[[pa.DataType, pa.DataType], pa.DataType | None]

_SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNITS = ("s", "ms", "us", "ns")
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
LARGEST_PRECISION = 76
MOST_FIELDS = 200
"""Of a struct; what has no field is kept as JSON in the field for the rest (`core/documents.py`)."""


@lru_cache(4096)
def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type that holds every value of both exactly, or None."""
    return _meet(a, b, _certain)


@lru_cache(4096)
def wider_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type for the values of both, which have to be looked at: integers among floats may be too large
    for a double, times too far away for nanoseconds. None where there is no such type."""
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
    needed = max(signed.bit_width, 2 * unsigned.bit_width)
    return next((t for t in _SIGNED if t.bit_width >= needed), None)


def _floats(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if is_.is_floating(a) and is_.is_floating(b):
        return max(a, b, key=lambda t: t.bit_width)
    narrow, wide = (a, b) if is_.is_integer(a) else (b, a)
    fits = is_.is_integer(narrow) and is_.is_floating(wide) and narrow.bit_width * 2 <= wide.bit_width
    return wide if fits else None


def _decimals(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """As many digits before and behind the point as either has."""
    if not (is_.is_decimal(a) or is_.is_decimal(b)):
        return None
    found = [_digits(t) for t in (a, b)]
    if None in found:
        return None
    (whole_a, scale_a), (whole_b, scale_b) = (f for f in found if f is not None)
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
    """Finer units, as long as no value can be too far away for them: nanoseconds reach 292 years."""
    if is_.is_time(a) and is_.is_time(b):
        unit = _finer(a, b)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if "ns" in (getattr(a, "unit", ""), getattr(b, "unit", "")):
        return None
    return _far_times(a, b)


def _far_times(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if is_.is_duration(a) and is_.is_duration(b):
        return pa.duration(_finer(a, b))
    date, other = (a, b) if is_.is_date32(a) else (b, a)
    if is_.is_date32(date) and is_.is_timestamp(other):
        return other if other.tz is None else None
    if is_.is_timestamp(a) and is_.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        return pa.timestamp(_finer(a, b), a.tz)  # moments stay the same in whichever zone they are told
    return None


def _finer(a: pa.DataType, b: pa.DataType) -> str:
    return str(max(a.unit, b.unit, key=_UNITS.index))


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Bools among numbers are 0 and 1; integers among floats are doubles where they fit; what is too large
    for int64 among negative numbers is decimal."""
    if is_.is_boolean(a) or is_.is_boolean(b):
        other = b if is_.is_boolean(a) else a
        return other if is_.is_integer(other) or is_.is_floating(other) else None
    if is_.is_integer(a) and is_.is_integer(b):
        return pa.decimal128(_DIGITS[64], 0)
    return pa.float64() if all(is_.is_integer(t) or is_.is_floating(t) for t in (a, b)) else None
