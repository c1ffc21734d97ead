"""Rows made of columns, and of the items of lists: unpivot, unwind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.query.common_type import in_common
from lamella.core.query.fields import Field, Fields, refuse_twice
from lamella.core.query.nodes import Needed, Node, Unnested
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import case, cast_to, column, func, number, text
from lamella.core.query.steps import Unpivot, Unwind

if TYPE_CHECKING:
    from lamella.core.query.compile import Compiler


def unpivoted(compiler: Compiler, step: Unpivot, rows: Node) -> Node:
    place = rows.fields.place
    rows, columns = compiler.reachable(step.columns, rows)
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


def _array(items: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Array(expressions=list(items))
