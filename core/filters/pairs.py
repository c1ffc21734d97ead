"""Which columns can be compared with each other, without an error."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from lamella.core.filters.kinds import AS_THEY_ARE, NUMBERS, TEMPORAL, Kind, kind_of, value_type

MOST_DIGITS = 38
"""Of a decimal in DuckDB."""


def refusal(one: pa.DataType, other: pa.DataType) -> str | None:
    """Why columns of these types cannot be compared, a sentence's end; None where they can."""
    a, b = kind_of(one), kind_of(other)
    if types.is_null(other) or (a is b and a in AS_THEY_ARE | {Kind.DURATION}):
        return None
    if a in NUMBERS and b in NUMBERS:
        return _of_numbers(value_type(one), value_type(other))
    if a in TEMPORAL and b in TEMPORAL:
        return _of_times(value_type(one), value_type(other))
    return f"One holds {a.value}, the other {b.value}"


def common_decimal(one: pa.DataType, other: pa.DataType) -> tuple[int, int]:
    """Precision and scale that hold every value of two types of whole or decimal numbers."""
    (p, s), (q, t) = digits(one), digits(other)
    scale = max(s, t)
    return max(p - s, q - t) + scale, scale


def digits(type_: pa.DataType) -> tuple[int, int]:
    """Precision and scale."""
    if types.is_decimal(type_):
        return type_.precision, type_.scale
    return {8: 3, 16: 5, 32: 10, 64: 20}[type_.bit_width], 0


def _of_numbers(one: pa.DataType, other: pa.DataType) -> str | None:
    huge = types.is_decimal256(one) or types.is_decimal256(other)
    if types.is_floating(one) or types.is_floating(other):
        return "Decimals of more than 38 digits are no floats" if huge else None
    if types.is_integer(one) and types.is_integer(other):
        return None
    if huge:
        alike = types.is_decimal256(one) and types.is_decimal256(other) and one.scale == other.scale
        return None if alike else "Decimals of more than 38 digits compare with others of their scale alone"
    precision, _scale = common_decimal(one, other)
    too_long = one != other and precision > MOST_DIGITS
    return f"No decimal of {MOST_DIGITS} digits holds the values of both" if too_long else None


def _of_times(one: pa.DataType, other: pa.DataType) -> str | None:
    if types.is_time(one) != types.is_time(other):
        return "One holds times of day, the other days"
    zones = [types.is_timestamp(kind) and kind.tz is not None for kind in (one, other)]
    return "One has a time zone, the other has none" if zones[0] != zones[1] else None
