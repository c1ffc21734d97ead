"""Which family of types a column belongs to, as far as filters are concerned."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import pyarrow as pa
from pyarrow import types


class Kind(Enum):
    """The value is the word for it in messages."""

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
COUNTED = TEMPORAL | {Kind.DURATION}
"""Kept as whole numbers of some unit of time."""

ORDERED = NUMBERS | COUNTED | {Kind.TEXT}
AS_THEY_ARE = frozenset({Kind.TEXT, Kind.BINARY, Kind.BOOLEAN, Kind.UUID})
"""Compared as the values they are: nothing is counted or rounded."""

COMPARABLE = ORDERED | AS_THEY_ARE
NESTED = frozenset({Kind.LIST, Kind.OTHER})
ALL = frozenset(Kind)

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
"""Arrow reads an INTERVAL of Parquet as so many bytes; DuckDB reads no bytes there, but an interval."""


def value_type(type_: pa.DataType) -> pa.DataType:
    """The type of single values: what a dictionary stands for."""
    return type_.value_type if types.is_dictionary(type_) else type_


@lru_cache(4096)
def kind_of(type_: pa.DataType) -> Kind:
    plain = value_type(type_)
    if types.is_fixed_size_binary(plain) and plain.byte_width == _INTERVAL_WIDTH:
        return Kind.OTHER
    return next((kind for test, kind in _TESTS if test(plain)), Kind.OTHER)
