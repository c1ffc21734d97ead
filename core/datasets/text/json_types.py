"""Types for JSON values that were parsed by Python, and the values fitted to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from lamella.core.arrays import from_values
from lamella.core.datasets.text.values import MARKERS_ALONE, is_undecided, join, tentative_type

_INT64 = range(-(1 << 63), 1 << 63)


class Inexact(Exception):
    """A value would be changed by the type that was asked for."""


class WrittenFloat(float):
    """A float whose text is not the shortest one, `1.10` or `1e5`, and is kept where the column is text."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def column_type(values: Sequence[Any]) -> pa.DataType:
    """The type of a column; strings that are all dates or timestamps make it one of those, and null markers
    alone leave it open."""
    kind = reduce(join_json, (type_of(value) for value in values), pa.null())
    return temporal_or_text(from_values(values, pa.string())) if _all_strings(values, kind) else kind


def temporal_or_text(texts: pa.Array) -> pa.DataType:
    kind = tentative_type(texts)
    return kind if is_read_from_text(kind) else pa.string()


def widen_text(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for strings of `kind` and for `texts`, which do not fit it; never `kind` itself."""
    wide = join_json(kind, temporal_or_text(texts))
    return pa.string() if wide.equals(kind) else wide


def is_read_from_text(kind: pa.DataType) -> bool:
    """Whether a column of the type stands in the file as strings that are not just text."""
    return bool(pa.types.is_temporal(kind) or kind == MARKERS_ALONE)


def _all_strings(values: Iterable[Any], kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) and all(value is None or isinstance(value, str) for value in values)


def type_of(value: Any) -> pa.DataType:
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if value in _INT64 else pa.string()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, list):
        return pa.list_(reduce(join_json, map(type_of, value), pa.null()))
    if isinstance(value, dict):
        return pa.struct([pa.field(key, type_of(item)) for key, item in value.items()])
    return pa.string()


def join_json(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type for values of both; text, where they are of different kinds."""
    if a.equals(b):
        return a
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(join_json(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return pa.struct(_join_fields(list(a), list(b)))
    return join(a, b)


def join_column_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Null markers are strings in JSON: beside anything but dates and times they make a column text."""
    strings = all(pa.types.is_null(kind) or is_read_from_text(kind) for kind in (a, b))
    return join_json(a, b) if strings or MARKERS_ALONE not in (a, b) else pa.string()


def _join_fields(a: list[pa.Field], b: list[pa.Field]) -> list[pa.Field]:
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return [pa.field(name, kind) for name, kind in kinds.items()]


def solid(kind: pa.DataType) -> pa.DataType:
    """The type that stands for `kind` in a file: text where nothing was ever there to tell by."""
    if pa.types.is_null(kind) or is_undecided(kind) or (pa.types.is_struct(kind) and not kind.num_fields):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(solid(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, solid(field.type)) for field in kind])
    return kind


def needs_fitting(kind: pa.DataType, inside: bool = False) -> bool:
    """Whether only Python can fit values to the type: pyarrow knows no text made from objects, and
    reads lists of nothing but nulls wrongly."""
    if pa.types.is_null(kind):
        return inside
    if pa.types.is_struct(kind):
        return not kind.num_fields or any(needs_fitting(field.type, True) for field in kind)
    return pa.types.is_list(kind) and needs_fitting(kind.value_type, True)


def fit(value: Any, kind: pa.DataType) -> Any:
    """`value` as a Python value of the type; raises `Inexact` rather than change a number."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        written = value.text if isinstance(value, WrittenFloat) else value
        return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    if pa.types.is_list(kind):
        return [fit(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_floating(kind) and isinstance(value, int) and int(float(value)) != value:
        raise Inexact
    return float(value) if pa.types.is_floating(kind) else value
