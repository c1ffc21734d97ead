"""Kinds of types for filters: their names, and which types can be compared."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

import pyarrow as pa
from pyarrow import types

from lamella.core.errors import nearest


class Kind(Enum):
    """A kind of types. The value is its name in messages."""

    INTEGER = "whole numbers"
    FLOAT = "numbers"
    DECIMAL = "decimal numbers"
    TEXT = "text"
    DATE = "dates"
    TIMESTAMP = "timestamps"
    TIME = "times of day"
    DURATION = "spans of time"
    BOOLEAN = "true and false"
    BINARY = "binary data"
    UUID = "UUIDs"
    LIST = "lists"
    OTHER = "nested or other values"


NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
TEMPORAL = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIME})
COUNTED_KINDS = TEMPORAL | {Kind.DURATION}
"""Kinds that are stored as whole numbers of some unit of time."""

ORDERED_KINDS = NUMBERS | COUNTED_KINDS | {Kind.TEXT}
AS_THEY_ARE = frozenset({Kind.TEXT, Kind.BINARY, Kind.BOOLEAN, Kind.UUID})
"""Kinds that are compared as they are, without counting or rounding."""

COMPARABLE = ORDERED_KINDS | AS_THEY_ARE
NESTED_KINDS = frozenset({Kind.LIST, Kind.OTHER})
ALL_KINDS = frozenset(Kind)

_TESTS = (
    (types.is_boolean, Kind.BOOLEAN),
    (types.is_integer, Kind.INTEGER),
    (types.is_floating, Kind.FLOAT),
    (types.is_decimal, Kind.DECIMAL),
    (types.is_string, Kind.TEXT),
    (types.is_large_string, Kind.TEXT),
    (types.is_string_view, Kind.TEXT),
    (types.is_date, Kind.DATE),
    (types.is_timestamp, Kind.TIMESTAMP),
    (types.is_time, Kind.TIME),
    (types.is_duration, Kind.DURATION),
    (types.is_binary, Kind.BINARY),
    (types.is_large_binary, Kind.BINARY),
    (types.is_binary_view, Kind.BINARY),
    (types.is_fixed_size_binary, Kind.BINARY),
    (lambda plain: isinstance(plain, pa.UuidType), Kind.UUID),
    (types.is_list, Kind.LIST),
    (types.is_large_list, Kind.LIST),
    (types.is_fixed_size_list, Kind.LIST),
    (types.is_list_view, Kind.LIST),
    (types.is_large_list_view, Kind.LIST),
)

_INTERVAL_WIDTH = 12
"""The width of an INTERVAL of Parquet in bytes, as which Arrow reads it; DuckDB reads an interval."""


def value_type(type_: pa.DataType) -> pa.DataType:
    """The type of single values; for a dictionary, the type of its entries."""
    return type_.value_type if types.is_dictionary(type_) else type_


@lru_cache(4096)
def kind_of(type_: pa.DataType) -> Kind:
    plain = value_type(type_)
    if types.is_fixed_size_binary(plain) and plain.byte_width == _INTERVAL_WIDTH:
        return Kind.OTHER
    return next((kind for test, kind in _TESTS if test(plain)), Kind.OTHER)


NULL = "null"


def _of(*kinds: Kind) -> Callable[[pa.DataType], bool]:
    return lambda type_: kind_of(type_) in kinds


WORDS: dict[str, Callable[[pa.DataType], bool]] = {
    "number": _of(*NUMBERS),
    "integer": _of(Kind.INTEGER),
    "float": _of(Kind.FLOAT),
    "decimal": _of(Kind.DECIMAL),
    "text": _of(Kind.TEXT),
    "boolean": _of(Kind.BOOLEAN),
    "date": _of(Kind.DATE),
    "timestamp": _of(Kind.TIMESTAMP),
    "time": _of(Kind.TIME),
    "duration": lambda type_: bool(types.is_duration(value_type(type_))),
    "binary": _of(Kind.BINARY),
    "list": _of(Kind.LIST),
    "struct": lambda type_: bool(types.is_struct(type_)),
    "map": lambda type_: bool(types.is_map(type_)),
}


def type_test(word: str, type_: pa.DataType) -> tuple[bool, bool]:
    """Whether `word` matches values of this type, and whether it matches null. Raises ValueError."""
    if word not in WORDS and word != NULL:
        guesses = nearest(word, [*WORDS, NULL])
        hint = f"Did you mean '{guesses[0]}'?" if guesses else f"There are: {', '.join(WORDS)}, {NULL}"
        raise ValueError(f"there is no type '{word}'. {hint}")
    return word != NULL and WORDS[word](type_), word == NULL


MOST_DIGITS = 38
"""The maximum number of digits of a decimal in DuckDB."""


def refusal(left: pa.DataType, right: pa.DataType) -> str | None:
    """Why columns of these types cannot be compared, as the end of a sentence; None if they can."""
    a, b = kind_of(left), kind_of(right)
    if types.is_null(right) or (a is b and a in AS_THEY_ARE | {Kind.DURATION}):
        return None
    if a in NUMBERS and b in NUMBERS:
        return _of_numbers(value_type(left), value_type(right))
    if a in TEMPORAL and b in TEMPORAL:
        return _of_times(value_type(left), value_type(right))
    return f"One holds {a.value}, the other {b.value}"


def common_decimal(left: pa.DataType, right: pa.DataType) -> tuple[int, int]:
    """The precision and scale that can represent every value of two types of integers or decimals."""
    (p, s), (q, t) = digits(left), digits(right)
    scale = max(s, t)
    return max(p - s, q - t) + scale, scale


def digits(type_: pa.DataType) -> tuple[int, int]:
    """The precision and scale of a type of integers or decimals."""
    if types.is_decimal(type_):
        return type_.precision, type_.scale
    return {8: 3, 16: 5, 32: 10, 64: 20}[type_.bit_width], 0


def _of_numbers(left: pa.DataType, right: pa.DataType) -> str | None:
    huge = types.is_decimal256(left) or types.is_decimal256(right)
    if types.is_floating(left) or types.is_floating(right):
        return "Decimals of more than 38 digits cannot be compared with floats" if huge else None
    if types.is_integer(left) and types.is_integer(right):
        return None
    if huge:
        alike = types.is_decimal256(left) and types.is_decimal256(right) and left.scale == right.scale
        return (
            None
            if alike
            else "Decimals of more than 38 digits can be compared only with others of their scale"
        )
    precision, _scale = common_decimal(left, right)
    too_long = left != right and precision > MOST_DIGITS
    return f"No decimal of {MOST_DIGITS} digits can represent the values of both" if too_long else None


def _of_times(left: pa.DataType, right: pa.DataType) -> str | None:
    if types.is_time(left) != types.is_time(right):
        return "One holds times of day, the other days"
    zones = [types.is_timestamp(kind) and kind.tz is not None for kind in (left, right)]
    return "One has a time zone, the other has none" if zones[0] != zones[1] else None
