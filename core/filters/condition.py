"""Conditions as users write them: an expression, text, or a dict in MongoDB's syntax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

import pyarrow as pa

from lamella.core.arrow.nested_values import python_value
from lamella.core.errors import BadData, BadFilter, short_text
from lamella.core.filters.expr import Filter, Predicate, any_of
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.mongo import from_mongo
from lamella.core.filters.operators import OPERATORS
from lamella.core.filters.text import parse
from lamella.core.validation import items_of

Condition = Filter | str | Mapping[str, Any]
"""A condition on rows: an expression, `col("n") > 1`; text, `"n > 1"`; or a dict in MongoDB's syntax, `{"n":
{"$gt": 1}}`."""


class NamedRows(Protocol):
    """Rows with a name and a schema, which may take a moment to determine, such as a table."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...


def id_list(value: Any, what: str) -> list[Any]:
    """Row ids as a list; raises `BadData` for a single id or a condition. The ids themselves are not
    checked."""
    ids = None if isinstance(value, str) else items_of(value)
    if ids is None and isinstance(value, (Filter, str, Mapping)):
        fix = f"Give a condition as where={'…' if isinstance(value, Filter) else short_text(value)}"
        raise BadData(
            f"{what} takes a list of row ids, not {short_text(value)}", "it may be a condition", fix
        )
    if ids is None:
        raise BadData(
            f"{what} takes a list of row ids, not {short_text(value)}",
            fix=f"Give a list: [{short_text(value)}]",
        )
    return ids


def condition_of(value: Any, what: str, about: NamedRows | None = None) -> Filter | None:
    """Return a filter, possibly read from text or a dict, or None; raises `BadFilter` for anything else.

    If `about` is given, text is checked against its columns, and errors point at their position in the text.
    """
    if value is None or isinstance(value, Filter):
        return value
    if isinstance(value, str):
        return parse(value, about.schema, about.name) if about is not None else parse(value)
    if isinstance(value, Mapping):
        return from_mongo(value)
    fix = "Write one, as an expression or as text: col('n') > 1, or \"n > 1\""
    raise BadFilter(f"{what} takes a condition, not {short_text(value)}", fix=fix)


def row_selection(value: Any, what: str, about: NamedRows | None = None) -> Filter | list[Any] | None:
    """Return a condition, row ids as a list, or None for all rows; raises `BadFilter` for anything else."""
    ids = None if isinstance(value, str) else items_of(value)
    return condition_of(value, what, about) if ids is None else ids


def in_condition(name: str, type_: pa.DataType, values: pa.ChunkedArray) -> Filter:
    """The condition that the column has one of the values, none of which is null."""
    operands = tuple(dict.fromkeys(_operands(values)))
    if len(operands) > 1 and OPERATORS["in"].fits(type_):
        return Predicate(name, "in", operands)
    return any_of(Predicate(name, "eq", (value,)) for value in operands)


def _operands(values: pa.ChunkedArray) -> Iterable[object]:
    """The values for a condition. Integers and texts need no conversion, and are converted all at once."""
    if kind_of(values.type) in (Kind.INTEGER, Kind.TEXT):
        return cast(list[object], values.to_pylist())
    return map(_operand, values)


def _operand(scalar: pa.Scalar) -> object:
    """A value for a condition. Nanoseconds, which Python lacks without pandas, become text."""
    kind = scalar.type
    if (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns":
        return scalar.cast(pa.string()).as_py()
    return python_value(scalar)
