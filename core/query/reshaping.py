"""Columns made of rows and rows made of columns: pivot, unpivot, unwind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from core.errors import BadQuery
from core.filters.expr import Filter, Predicate
from core.query import answers
from core.query.aggregate import Aggregate
from core.query.common_type import in_common
from core.query.fields import Field, Fields, refuse_twice
from core.query.nodes import Chosen, Grouped, Needed, Node, Unnested
from core.query.operand import Value
from core.query.sql_parts import case, cast_to, column, func, number, text
from core.query.steps import Pivot, Unpivot, Unwind

if TYPE_CHECKING:
    from core.query.compile import Compiler

MOST_COLUMNS = 1000


def pivoted(compiler: Compiler, step: Pivot, rows: Node) -> Node:
    rows, (*keys, across) = compiler.reachable((*step.keys, step.column), rows)
    values = step.values if step.values is not None else _held(compiler, rows, across)
    if len(values) * len(step.aggregates) > MOST_COLUMNS:
        raise BadQuery(
            f"{rows.fields.place}: a pivot on '{step.column}' would have more than {MOST_COLUMNS:,} columns",
            fix="Filter the rows first, or say which values are meant with values=[…]",
        )
    asked: list[tuple[str, Aggregate]] = []
    only: dict[str, Filter] = {}
    for value in values:
        for name, aggregate in step.aggregates:
            called = _called(value) if len(step.aggregates) == 1 else f"{_called(value)}_{name}"
            asked.append((called, aggregate))
            only.setdefault(called, _is(across.name, value))
    seen = Fields(rows.fields.place, (*(f for f in rows.fields.all if f.name != across.name), across))
    return compiler.grouped(Chosen(rows, seen), keys, tuple(asked), only)


def unpivoted(compiler: Compiler, step: Unpivot, rows: Node) -> Node:
    place = rows.fields.place
    columns = [rows.fields[name] for name in step.columns]
    values = [Value(column(field.identifier), field.type, field.name) for field in columns]
    found = in_common(values)
    if not columns or found is None:
        told = ", ".join(f"{field.name} ({field.type})" for field in columns)
        raise BadQuery(
            f"{place}: the columns to unpivot have no type in common"
            if columns
            else f"{place}: no columns to unpivot",
            told,
            "Cast them to one type first with compute()" if columns else "Name some",
        )
    kept = [field for field in rows.fields.all if field.name not in step.columns]
    refuse_twice([*(field.name for field in kept), step.name, step.value], place)
    name = Field(step.name, pa.string(), compiler.new())
    value = Field(step.value, found[1], compiler.new())
    used = Needed(field.identifier for field in columns)
    rank = compiler.new()
    made = {
        name.identifier: (_array([text(field.name) for field in columns]), Needed()),
        value.identifier: (_array(found[0]), used),
        rank: (_array([number(place) for place in range(len(columns))]), Needed()),
    }
    return Unnested(rows, Fields(place, (*kept, name, value)), made, rank)


def unwound(compiler: Compiler, step: Unwind, rows: Node) -> Node:
    rows, (field,) = compiler.reachable([step.column], rows)
    if not (is_.is_list(field.type) or is_.is_large_list(field.type) or is_.is_fixed_size_list(field.type)):
        raise BadQuery(
            f"{rows.fields.place}: '{step.column}' cannot be unwound", f"It is {field.type}", "Name a list"
        )
    held = cast_to(column(field.identifier), pa.list_(field.type.value_type))
    if step.keep_empty:
        filled = exp.GT(this=func("len", held), expression=number(0))
        held = case(filled, held, _array([exp.Null()]))
    item = Field(field.name, field.type.value_type, compiler.new())
    rank, used = compiler.new(), Needed([field.identifier])
    made = {
        item.identifier: (held, used),
        rank: (func("range", func("coalesce", func("len", held), number(0))), used),
    }
    fields = rows.fields.replaced(item)
    return Unnested(rows, fields, made, rank)


def _held(compiler: Compiler, rows: Node, field: Field) -> tuple[Any, ...]:
    """The values of a column, in order, null last."""
    found = Grouped(rows, Fields(rows.fields.place, (field,)), [field.identifier], {})
    return tuple(answers.read(found, compiler.job, MOST_COLUMNS + 1).column(0).to_pylist())


def _is(name: str, value: Any) -> Filter:
    return Predicate(name, "is_null") if value is None else Predicate(name, "eq", (value,))


def _called(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _array(items: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Array(expressions=list(items))
