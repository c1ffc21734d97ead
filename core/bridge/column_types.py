"""THE table of types: what SQLite sees of a column, and how values of it are ordered there."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bridge.decimals import doubles
from lamella.core.bridge.moments import Moments, clock_texts, day_texts, moment_texts
from lamella.core.bridge.orders import Bytes, Floats, Integers, Order
from lamella.core.documents import whole
from lamella.core.json_text import json_text
from lamella.core.scan.python_value import python_values

MOST_SQLITE_INTEGER = (1 << 63) - 1
EXACT_DECIMAL_DIGITS = 18

Values = Callable[[pa.Array], list[Any]]


class Storage(IntEnum):
    """SQLite's classes of values, in the order in which values of different ones are compared."""

    NUMBER = 0
    TEXT = 1
    BLOB = 2


@dataclass(frozen=True)
class ColumnType:
    """`declared` gives the column its affinity. `values` makes an array the values that SQLite is given, None
    for null. `order` is None where nothing can be left out but nulls."""

    declared: str
    storage: Storage
    order: Order | None
    values: Values


def _as_they_are(values: pa.Array) -> list[Any]:
    found: list[Any] = values.to_pylist()
    return found


def _integers(values: pa.Array) -> list[Any]:
    return _as_they_are(values.cast(pa.int64()))


def _unsigned(values: pa.Array) -> list[Any]:
    """Beyond SQLite's integers they are reals, as they are where such a number is typed."""
    found = _as_they_are(values)
    return [float(v) if v is not None and v > MOST_SQLITE_INTEGER else v for v in found]


def _floats(values: pa.Array) -> list[Any]:
    """SQLite knows no negative zero, and makes NaN null."""
    return [v + 0.0 if v is not None else v for v in _as_they_are(values)]


def _decimals(values: pa.Array) -> list[Any]:
    found: list[Any] = doubles(pa.chunked_array([values])).tolist()
    if values.null_count:
        found = [
            v if valid else None for v, valid in zip(found, _as_they_are(values.is_valid()), strict=True)
        ]
    return found


def _uuids(values: pa.Array) -> list[Any]:
    return [None if v is None else str(uuid.UUID(bytes=v)) for v in _as_they_are(values.storage)]


def _documents(values: pa.Array) -> list[Any]:
    return [None if v is None else json_text(whole(v)) for v in python_values(values)]


def _other(values: pa.Array) -> list[Any]:
    return [None if v is None else v if isinstance(v, str) else str(v) for v in python_values(values)]


def _in_dictionary(kind: ColumnType) -> Values:
    def values(array: pa.Array) -> list[Any]:
        known = kind.values(array.dictionary)
        return [None if place is None else known[place] for place in _as_they_are(array.indices)]

    return values


def _decimal(kind: pa.DataType) -> ColumnType:
    """Whole numbers that fit SQLite's integers stay exact; all others are reals."""
    if kind.scale == 0 and kind.precision <= EXACT_DECIMAL_DIGITS:
        return ColumnType("INTEGER", Storage.NUMBER, Floats(exact=False), _integers)
    return ColumnType("REAL", Storage.NUMBER, Floats(), _decimals)


def _text(_kind: pa.DataType) -> ColumnType:
    return ColumnType("TEXT", Storage.TEXT, Bytes(), _as_they_are)


def _blob(_kind: pa.DataType) -> ColumnType:
    return ColumnType("BLOB", Storage.BLOB, Bytes(text=False), _as_they_are)


_NESTED = ColumnType("TEXT", Storage.TEXT, None, _documents)
_OTHER = ColumnType("TEXT", Storage.TEXT, None, _other)
_TABLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], ColumnType]], ...] = (
    (is_.is_boolean, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _integers)),
    (
        is_.is_uint64,
        lambda kind: ColumnType("INTEGER", Storage.NUMBER, Floats(exact=False), _unsigned),
    ),
    (is_.is_integer, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _as_they_are)),
    (is_.is_floating, lambda kind: ColumnType("REAL", Storage.NUMBER, Floats(), _floats)),
    (is_.is_decimal, _decimal),
    (is_.is_date32, lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("day"), day_texts)),
    (
        is_.is_timestamp,
        lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("moment", kind.unit), moment_texts),
    ),
    (is_.is_time, lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("clock", kind.unit), clock_texts)),
    (is_.is_duration, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _integers)),
    (is_.is_string, _text),
    (is_.is_large_string, _text),
    (is_.is_string_view, _text),
    (is_.is_binary, _blob),
    (is_.is_large_binary, _blob),
    (is_.is_binary_view, _blob),
    (is_.is_fixed_size_binary, _blob),
    (lambda kind: kind == pa.uuid(), lambda kind: ColumnType("TEXT", Storage.TEXT, None, _uuids)),
    (is_.is_nested, lambda kind: _NESTED),
)


@lru_cache(1024)
def column_type(kind: pa.DataType) -> ColumnType:
    """What SQLite sees of a column of this type."""
    if is_.is_dictionary(kind):
        inner = column_type(kind.value_type)
        return replace(inner, values=_in_dictionary(inner))
    for fits, make in _TABLE:
        if fits(kind):
            return make(kind)
    return _OTHER
