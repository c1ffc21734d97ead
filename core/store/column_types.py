"""The type of a column as people say it: Arrow's, its name, a Python type, or a value of it."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, TypeAlias

import pyarrow as pa

from lamella.core.arrays import checked
from lamella.core.errors import BadData, UnknownName, shown

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
    **{kind.__name__: made for kind, made in _PYTHON.items()},
    "text": pa.string(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us"),
}


class UnknownType(UnknownName):
    kind = "type"


def type_named(given: TypeName) -> pa.DataType:
    """Raises `UnknownType`, or `BadData` for what names no type at all."""
    if isinstance(given, pa.DataType):
        return given
    if isinstance(given, str):
        return _by_name(given)
    if isinstance(given, type) and given in _PYTHON:
        return _PYTHON[given]
    raise BadData(
        f"{shown(given)} names no type of a column", fix="Give a type of Arrow, or its name: 'int64'"
    )


def type_of(value: Any) -> pa.DataType:
    """The type that a column of such values has."""
    if type(value) in _PYTHON and not getattr(value, "tzinfo", None):
        return _PYTHON[type(value)]
    if isinstance(value, pa.Scalar):
        return value.type
    try:
        return checked([value]).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise BadData(
            f"{shown(value)} cannot stand in a column", str(error), "Give the column's type"
        ) from error


def _by_name(name: str) -> pa.DataType:
    wanted = name.strip().casefold()
    if wanted in _NAMES:
        return _NAMES[wanted]
    try:
        return _spelled(name.strip()) or pa.type_for_alias(wanted)
    except ValueError:
        raise UnknownType(name, "Arrow", [*_NAMES, *_ALIASES]) from None


def _spelled(name: str) -> pa.DataType | None:
    """Types with digits, a zone or a width, as Arrow prints them; raises `ValueError` for impossible ones."""
    if found := _DECIMAL.fullmatch(name):
        precision, scale = int(found[2]), int(found[3] or 0)
        make = {"128": pa.decimal128, "256": pa.decimal256}
        return make[found[1] or ("128" if precision <= 38 else "256")](precision, scale)
    if found := _ZONED.fullmatch(name):
        return pa.timestamp(found[1].lower(), found[2])
    if found := _FIXED.fullmatch(name):
        return pa.binary(int(found[1]))
    if found := _LIST.fullmatch(name):
        make_list = pa.large_list if name.lower().startswith("large") else pa.list_
        return make_list(_by_name(found[1]))
    return None


_DECIMAL = re.compile(r"decimal(128|256)?\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)", re.IGNORECASE)
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns),\s*tz=([^\]]+)\]", re.IGNORECASE)
_FIXED = re.compile(r"fixed_size_binary\[(\d+)\]", re.IGNORECASE)
_LIST = re.compile(r"(?:large_)?list<(?:(?:item|element):\s*)?(.+)>", re.IGNORECASE)
_ALIASES = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "string", "large_string", "binary", "date32"),
    *(f"timestamp[{unit}]" for unit in ("ms", "us", "ns")),
    *("decimal(38, 10)", "timestamp[us, tz=UTC]", "list<string>"),
    *(f"duration[{unit}]" for unit in ("s", "ms", "us", "ns")),
]
