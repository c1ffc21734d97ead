"""Parses text that a user typed as a value of a column's type."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from lamella.core.errors import BadData
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of, value_type
from lamella.core.filters.temporal import UNIT_NS, moment_from_text, zone_named
from lamella.core.filters.values import (
    Value,
    convert,
    float_width,
    nearest_float,
    value_range,
    value_text,
)


def parse_cell(text: str, type_: pa.DataType) -> Any:
    """Return the Python value of `text`, which `type_` can represent without loss. Null is never typed as
    text.

    Text is kept as it is, including spaces; lists, structs and maps are parsed as JSON, with strings for what
    JSON cannot express. Raises `BadData` with the reason. A timestamp finer than Python's is a
    `numpy.datetime64`, a time of day an Arrow scalar; inside nested values both are.
    """
    plain = value_type(type_)
    kind = kind_of(plain)
    try:
        if kind in NESTED_KINDS:
            return _parse_nested(text, plain)
        if not text.strip() and kind is not Kind.TEXT:
            raise ValueError("nothing is written; use Set to null for no value")
        return _READERS[kind](text, convert(text, plain), plain)
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise BadData(f"'{text}' does not fit a column of type {plain}", str(error)) from error


def cell_reader(type_: pa.DataType) -> Callable[[str], Any]:
    """`parse_cell` for many texts of a column, with a fast path for usual forms of numbers, dates and
    booleans."""
    plain = value_type(type_)
    short = _SHORT.get(kind_of(plain))
    if short is None or types.is_float32(plain) or types.is_float16(plain):
        return lambda text: parse_cell(text, type_)
    pattern, read_short = short
    low, high = value_range(plain) if kind_of(plain) is Kind.INTEGER else (None, None)

    def parse(text: str) -> Any:
        if pattern.fullmatch(text):
            value = read_short(text)
            if low is None or low <= value <= high:
                return value
        return parse_cell(text, type_)

    return parse


def _as_it_is(_text: str, value: Value, _type: pa.DataType) -> Any:
    return value.exact


def _whole(_text: str, value: Value, type_: pa.DataType) -> int:
    low, high = value_range(type_)
    if isinstance(value.exact, float) or value.exact % 1:
        raise ValueError("the column holds whole numbers")
    if not low <= value.exact <= high:
        raise ValueError(f"it holds numbers from {low:,} to {high:,}")
    return int(value.exact)


def _float(text: str, value: Value, type_: pa.DataType) -> float:
    near = nearest_float(value.exact, float_width(type_))
    if math.isinf(near) and not (isinstance(value.exact, float) and math.isinf(value.exact)):
        raise ValueError("the number is too large")
    return -0.0 if near == 0 and text.lstrip().startswith("-") else near


def _decimal(_text: str, value: Value, type_: pa.DataType) -> Decimal:
    if isinstance(value.exact, float) or value.exact % 1:
        raise ValueError(f"the column holds numbers with {type_.scale} places after the point")
    if abs(value.exact) >= 10**type_.precision:
        raise ValueError(f"the column holds numbers of at most {type_.precision} digits")
    digits = tuple(map(int, str(abs(value.exact))))
    return Decimal((int(value.exact < 0), digits, -type_.scale))


def _day(_text: str, value: Value, type_: pa.DataType) -> dt.date:
    if isinstance(value.shown_value, dt.datetime) or value.exact % 1:
        raise ValueError("the column holds days without a time")
    day: dt.date = value.shown_value
    return day


def _moment(text: str, value: Value, type_: pa.DataType) -> Any:
    if value.exact % 1:
        raise ValueError(f"the column keeps nothing finer than {_UNITS[type_.unit]}")
    low, high = value_range(type_)
    if not low <= value.exact <= high:
        raise ValueError("the column cannot hold a moment so far away")
    moment, fine = moment_from_text(text.strip())
    if fine:
        return np.datetime64(int(value.exact) * UNIT_NS[type_.unit], "ns")
    if type_.tz is not None and moment.tzinfo is None:
        return moment.replace(tzinfo=zone_named(type_.tz))
    return moment


def _clock(_text: str, value: Value, type_: pa.DataType) -> Any:
    if value.exact % 1:
        raise ValueError(f"the column keeps nothing finer than {_UNITS[type_.unit]}")
    return value.shown_value if isinstance(value.shown_value, dt.time) else pa.scalar(value.exact, type_)


def _span(_text: str, value: Value, type_: pa.DataType) -> Any:
    if value.exact % 1:
        raise ValueError(f"the column keeps nothing finer than {_UNITS[type_.unit]}")
    low, high = value_range(type_)
    if not low <= value.exact <= high:
        raise ValueError("the column cannot hold so long a span")
    return np.timedelta64(int(value.exact), type_.unit)


def _parse_nested(text: str, type_: pa.DataType) -> Any:
    if not types.is_nested(type_):
        raise ValueError("such values cannot be typed")
    try:
        document = json.loads(text, parse_float=Decimal, object_pairs_hook=_each_name_once)
        value = _inside(document, type_)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    pa.array([value], type=type_)
    return value


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"'{name}' is given twice")
        fields[name] = value
    return fields


def _inside(value: Any, type_: pa.DataType) -> Any:
    """Convert a JSON value to a value of a type inside a nested one."""
    plain = value_type(type_)
    if value is None:
        return None
    if types.is_struct(plain):
        return _struct(value, plain)
    if types.is_map(plain):
        return _map(value, plain)
    if types.is_nested(plain):
        if not isinstance(value, list):
            raise ValueError(f"{value_text(value)} is not a list")
        return [_inside(item, plain.value_type) for item in value]
    kind = kind_of(plain)
    if kind in NESTED_KINDS:
        return value
    cell = _READERS[kind](str(value), convert(value, plain), plain)
    return pa.scalar(_count(cell), plain) if isinstance(cell, np.datetime64 | np.timedelta64) else cell


def _count(value: np.datetime64 | np.timedelta64) -> int:
    return int(value.astype(np.int64))


def _struct(value: Any, type_: pa.StructType) -> dict[str, Any]:
    names = [field.name for field in type_]
    if not isinstance(value, dict):
        raise ValueError(f"{value_text(value)} is not an object with the fields {', '.join(names)}")
    unknown = next((name for name in value if name not in names), None)
    if unknown is not None:
        raise ValueError(f"there is no field '{unknown}': the fields are {', '.join(names)}")
    if len(set(names)) < len(names):
        raise ValueError("two fields have one name")
    return {field.name: _inside(value.get(field.name), field.type) for field in type_}


def _map(value: Any, type_: pa.MapType) -> list[tuple[Any, Any]]:
    """A map, from a list of pairs or from an object whose names are the keys."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise ValueError('write a map as pairs, [["key", 1], ["other", 2]], or as an object, {"key": 1}')
    return [(_inside(key, type_.key_type), _inside(item, type_.item_type)) for key, item in pairs]


_SHORT: dict[Kind, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    Kind.INTEGER: (re.compile(r"-?[0-9]{1,18}"), int),
    Kind.FLOAT: (re.compile(r"-?[1-9][0-9]{0,14}(\.[0-9]{1,15})?|0\.[0-9]{1,15}"), float),
    Kind.BOOLEAN: (re.compile(r"true|false"), "true".__eq__),
    Kind.DATE: (re.compile(r"[12][0-9]{3}-(0[1-9]|1[0-2])-([01][1-9]|10|2[0-8])"), dt.date.fromisoformat),
}
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_READERS: dict[Kind, Callable[[str, Value, pa.DataType], Any]] = {
    Kind.TEXT: _as_it_is,
    Kind.BOOLEAN: _as_it_is,
    Kind.BINARY: _as_it_is,
    Kind.UUID: _as_it_is,
    Kind.INTEGER: _whole,
    Kind.FLOAT: _float,
    Kind.DECIMAL: _decimal,
    Kind.DATE: _day,
    Kind.TIMESTAMP: _moment,
    Kind.TIME: _clock,
    Kind.DURATION: _span,
}
