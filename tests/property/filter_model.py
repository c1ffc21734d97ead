"""The meaning of filters, in plain Python: slow, but obviously correct."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from lamella.core.arrow.nested_values import Place, place_of
from lamella.core.filters import And, Filter, Not, Predicate
from lamella.core.filters.expr import ITEM, Reference
from lamella.core.filters.kinds import NULL, WORDS, Kind, kind_of

OPPOSITES = {
    "ne": "eq",
    "nin": "in",
    "not_between": "between",
    "not_contains": "contains",
    "not_null": "is_null",
    "exists": "missing",
}
Types = Mapping[str, pa.DataType]


def expected(node: Filter, row: Mapping[str, Any], types: Types) -> bool:
    if isinstance(node, Predicate):
        return meets(node, row, types)
    met = [expected(child, row, types) for child in node.children]  # type: ignore[attr-defined]
    if isinstance(node, Not):
        return not met[0]
    return all(met) if isinstance(node, And) else any(met)


def meets(p: Predicate, row: Mapping[str, Any], types: Types) -> bool:
    base = OPPOSITES.get(p.operator, p.operator)
    return positive(p, base, row, types) != (base != p.operator)


def positive(p: Predicate, operator: str, row: Mapping[str, Any], types: Types) -> bool:
    place = found(p.column, types)
    cell = held(row, place)
    if operator in ("is_null", "missing"):
        return cell is None
    if operator == "type":
        return any(
            cell is None if word == NULL else WORDS[word](place.type) and cell is not None
            for word in p.values
        )
    if cell is None:
        return False
    if operator in ("eq", "in") and isinstance(cell, list | dict):
        return any(alike(cell, value, place.type) for value in p.values)
    if operator in LIST_TESTS:
        return LIST_TESTS[operator](p, cell, place.type.value_type)
    if operator == "mod":
        return leaves(cell, *p.values)
    values = [compared(value, cell, row, place.type, types) for value in p.values]
    return None not in values and test(p, operator, cell, values)


def alike(cell: Any, value: Any, type_: pa.DataType) -> bool:
    """Whether a whole list or struct equals a value; null equals null inside, and a missing field is null."""
    if cell is None or value is None:
        return cell is None and value is None
    if isinstance(cell, dict):
        fields = dict(value)
        return all(alike(cell[field.name], fields.get(field.name), field.type) for field in type_)
    if isinstance(cell, list):
        pairs = zip(cell, value, strict=False)
        return len(cell) == len(value) and all(alike(*pair, type_.value_type) for pair in pairs)
    return ranked(cell) == ranked(asked(value, type_))


def found(name: str, types: Types) -> Place:
    place = place_of(name, types, items=True)
    assert place is not None
    return place


def held(row: Mapping[str, Any], place: Place) -> Any:
    value = row[place.column]
    for step in place.path:
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        elif value is not None:
            value = value[step]
    return value


def compared(value: Any, cell: Any, row: Mapping[str, Any], type_: pa.DataType, types: Types) -> Any:
    """The value that a cell is compared with: a fraction compared with a float column is the nearest float of
    the column's type, a decimal in another column the nearest double. None for null."""
    if not isinstance(value, Reference):
        return asked(value, type_)
    number = held(row, found(value.name, types))
    return float(number) if isinstance(cell, float) and isinstance(number, Decimal) else number


def asked(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, int | float | Decimal) and kind_of(type_) is Kind.TEXT:
        return str(int(value)) if value == int(value) else str(float(value))
    if not pa.types.is_floating(type_) or not math.isfinite(value) or value == int(value):
        return value
    with np.errstate(over="ignore"):
        return float(type_.to_pandas_dtype()(float(value)))


def test(p: Predicate, operator: str, cell: Any, values: list[Any]) -> bool:
    cell, values = folded(cell, p), [folded(value_, p) for value_ in values]
    if isinstance(cell, str) and operator in TEXT_TESTS:
        return TEXT_TESTS[operator](cell, *values)
    xs = [ranked(beside(cell, value, value_)) for value, value_ in zip(p.values, values, strict=True)]
    vs = [ranked(value_) for value_ in values]
    return {
        "eq": lambda: xs[0] == vs[0],
        "gt": lambda: xs[0] > vs[0],
        "gte": lambda: xs[0] >= vs[0],
        "lt": lambda: xs[0] < vs[0],
        "lte": lambda: xs[0] <= vs[0],
        "between": lambda: xs[0] >= vs[0] and xs[1] <= vs[1],
        "in": lambda: any(x == v for x, v in zip(xs, vs, strict=True)),
        "is_true": lambda: cell is True,
        "is_false": lambda: cell is False,
        "is_empty": lambda: cell == "",
        "not_empty": lambda: cell != "",
    }[operator]()


def beside(cell: Any, value: Any, counterpart: Any) -> Any:
    """Convert a decimal to the nearest float, to compare it with a float of another column."""
    of_column = isinstance(value, Reference) and isinstance(counterpart, float)
    return float(cell) if of_column and isinstance(cell, Decimal) else cell


def folded(value: Any, p: Predicate) -> Any:
    return value.lower() if p.ignore_case and isinstance(value, str) else value


def ranked(value: Any) -> tuple[int, Any]:
    """A key by which Python compares as filters do: NaN after every number."""
    if isinstance(value, bool | str | bytes | dt.time | dt.timedelta | UUID):
        return 0, value
    if isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
        return 0, moment
    if isinstance(value, float) and not math.isfinite(value):
        return (2, 0) if math.isnan(value) else (math.copysign(1, value), 0)  # type: ignore[return-value]
    return 0, Fraction(value)


def leaves(number: float, divisor: int, remainder: int) -> bool:
    if not math.isfinite(number):
        return False
    exact, step = Fraction(number), abs(divisor)
    return exact - step * math.trunc(exact / step) == remainder


def holds(p: Predicate, items: list[Any], value: Any, type_: pa.DataType) -> bool:
    sought = ranked(folded(asked(value, type_), p))
    return any(item is not None and ranked(folded(item, p)) == sought for item in items)


def item_meets(where: Filter, item: Any, type_: pa.DataType) -> bool:
    if not pa.types.is_struct(type_):
        return expected(where, {ITEM: item}, {ITEM: type_})
    fields = item if item is not None else dict.fromkeys(type_.names)
    return expected(where, fields, {field.name: field.type for field in type_})


LIST_TESTS = {
    "has": lambda p, items, type_: holds(p, items, p.values[0], type_),
    "has_any": lambda p, items, type_: any(holds(p, items, value, type_) for value in p.values),
    "has_all": lambda p, items, type_: all(holds(p, items, value, type_) for value in p.values),
    "size": lambda p, items, type_: len(items) == p.values[0],
    "elem_match": lambda p, items, type_: any(item_meets(p.values[0], item, type_) for item in items),
}


def like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    head, tail = pattern[0], pattern[1:]
    if head == "%":
        return any(like(text[start:], tail) for start in range(len(text) + 1))
    if head == "\\":
        head, tail = pattern[1], pattern[2:]
        return text[:1] == head and like(text[1:], tail)
    return bool(text) and head in ("_", text[0]) and like(text[1:], tail)


TEXT_TESTS = {
    "contains": lambda cell, value: value in cell,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "like": like,
    "regex": lambda cell, pattern: re.search(pattern, cell) is not None,
}
