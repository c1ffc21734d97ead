"""Filters as JSON and back. Values without a JSON form are objects with one key, their kind."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.expr import And, Branch, Filter, Not, Or, Predicate, Reference, Struct, fold
from lamella.core.filters.temporal import (
    moment_text,
    saved_moment,
    saved_span,
    saved_time,
    span_ns,
    span_text,
)
from lamella.core.filters.values import natural

_GROUPS: dict[str, type[And] | type[Or]] = {"and": And, "or": Or}
_READERS: dict[str, Callable[[str], Any]] = {
    "timestamp": saved_moment,
    "date": dt.date.fromisoformat,
    "time": saved_time,
    "duration": saved_span,
    "decimal": Decimal,
    "bytes": partial(base64.b64decode, validate=True),
    "float": float,
    "column": Reference,
}


_WRITERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (dt.datetime, lambda value: {"timestamp": moment_text(value)}),
    (dt.date, lambda value: {"date": value.isoformat()}),
    (dt.time, lambda value: {"time": value.isoformat()}),
    (dt.timedelta, lambda value: {"duration": span_text(span_ns(value))}),
    (Decimal, lambda value: {"decimal": str(value)}),
    (bytes, lambda value: {"bytes": base64.b64encode(value).decode()}),
)


def to_json(filter: Filter) -> dict[str, Any]:
    """Return the filter as JSON-compatible data."""
    return fold(filter, _predicate_json, _branch_json)


def from_json(obj: Any) -> Filter:
    """Raises `BadFilter` if `obj` is not what `to_json` returns."""
    try:
        return _read(obj)
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise BadFilter("The saved filter cannot be read", f"{type(error).__name__}: {error}") from error


def _predicate_json(predicate: Predicate) -> dict[str, Any]:
    item: dict[str, Any] = {"column": predicate.column, "operator": predicate.operator}
    if predicate.values:
        item["values"] = [value_json(value) for value in predicate.values]
    return item | ({"ignore_case": True} if predicate.ignore_case else {})


def _branch_json(node: Branch, children: list[dict[str, Any]]) -> dict[str, Any]:
    if isinstance(node, Not):
        return {"not": children[0]}
    return {"and" if isinstance(node, And) else "or": children}


def value_json(value: Any) -> Any:
    if isinstance(value, Filter):
        return {"filter": to_json(value)}
    if isinstance(value, Reference):
        return {"column": value.name}
    if isinstance(value, Struct):
        return {"struct": {name: value_json(inner) for name, inner in value}}
    if isinstance(value, tuple):
        return {"list": [value_json(inner) for inner in value]}
    value = natural(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise BadFilter(f"{value!r} cannot be saved as part of a filter")


def value_from_json(obj: Any) -> Any:
    if not isinstance(obj, dict):
        return obj
    ((kind, inside),) = obj.items()
    if kind == "struct":
        return {name: value_from_json(inner) for name, inner in inside.items()}
    if kind == "list":
        return [value_from_json(inner) for inner in inside]
    return _read(inside) if kind == "filter" else _READERS[kind](inside)


def _read(obj: dict[str, Any]) -> Filter:
    if "column" in obj:
        if not isinstance(obj["column"], str) or not isinstance(obj["operator"], str):
            raise TypeError("a column and an operator are given by name")
        values = tuple(value_from_json(value) for value in obj.get("values", ()))
        return Predicate(obj["column"], obj["operator"], values, obj.get("ignore_case", False))
    ((key, inside),) = obj.items()
    if key == "not":
        return Not(_read(inside))
    return _GROUPS[key](tuple(_read(child) for child in inside))
