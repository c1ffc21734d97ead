"""The type of a column as people say it: Arrow's, its name, a Python type, or a value of it."""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias

import pyarrow as pa

from core.arrays import checked
from core.errors import BadData, UnknownName

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
    if given in _PYTHON:
        return _PYTHON[given]
    raise BadData(f"{given!r} names no type of a column", fix="Give a type of Arrow, or its name: 'int64'")


def type_of(value: Any) -> pa.DataType:
    """The type that a column of such values has."""
    if type(value) in _PYTHON and not getattr(value, "tzinfo", None):
        return _PYTHON[type(value)]
    if isinstance(value, pa.Scalar):
        return value.type
    try:
        return checked([value]).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise BadData(f"{value!r} cannot stand in a column", str(error), "Give the column's type") from error


def _by_name(name: str) -> pa.DataType:
    wanted = name.strip().casefold()
    if wanted in _NAMES:
        return _NAMES[wanted]
    try:
        return pa.type_for_alias(wanted)
    except ValueError:
        raise UnknownType(name, "Arrow", [*_NAMES, *_ALIASES]) from None


_ALIASES = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "string", "large_string", "binary", "date32"),
    *(f"timestamp[{unit}]" for unit in ("ms", "us", "ns")),
    *(f"duration[{unit}]" for unit in ("s", "ms", "us", "ns")),
]
