"""Rows of two queries put together by equal keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.filters.kinds import value_type
from lamella.core.query.common_type import brought, changed, common_type, may_round
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.fields import Field, Fields, refuse_twice
from lamella.core.query.nodes import Chosen, Computed, Joined, Needed, Node, Rank
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import case, column, func, number, paren, try_cast
from lamella.core.query.steps import Join

if TYPE_CHECKING:
    from lamella.core.query.compile import Compiler

HOWS = ("inner", "left", "right", "full", "semi", "anti")


def joined(compiler: Compiler, step: Join, left: Node, right: Node) -> Node:
    if step.how not in HOWS:
        raise BadQuery(
            f"{left.fields.place}: there is no join '{step.how}'", fix=f"There are: {', '.join(HOWS)}"
        )
    if not step.left_on or len(step.left_on) != len(step.right_on):
        raise BadQuery(
            f"{left.fields.place}: a join by {len(step.left_on)} and {len(step.right_on)} keys",
            fix="Name as many keys on both sides",
        )
    left, left_keys = compiler.reachable(step.left_on, left)
    right, right_keys = compiler.reachable(step.right_on, right)
    pairs = list(zip(left_keys, right_keys, strict=True))
    equal = [_compared(one, other, left, right) for one, other in pairs]
    if step.how in ("semi", "anti"):
        return Joined(left, right, left.fields, equal, step.how)
    both = {one.name: (one, other) for one, other in pairs if one.name == other.name}
    kept = [field for field in right.fields.all if field.name not in both]
    renamed = [_renamed(field, left.fields, step.suffix) for field in kept]
    refuse_twice([*left.fields.names, *(field.name for field in renamed)], left.fields.place)
    fields = Fields(f"{left.fields.place} with {right.fields.place}", (*left.fields.all, *renamed))
    if step.how in ("right", "full"):
        left = _marked(compiler, left)
    rows: Node = Joined(left, right, fields, equal, step.how)
    return _with_keys(compiler, rows, list(both.values())) if step.how in ("right", "full") else rows


def _marked(compiler: Compiler, left: Node) -> Node:
    """With a column in its order that is never null, so that rows without a left side come last."""
    mark = compiler.new()
    marked = Computed(left, left.fields, {mark: (number(1), Needed())})
    return Chosen(marked, left.fields, (Rank(mark), *left.order))


def _with_keys(compiler: Compiler, rows: Node, keys: list[tuple[Field, Field]]) -> Node:
    """A key that both sides have in one column, from the side that has it."""
    for one, other in keys:
        if one.name not in rows.fields:
            continue
        sides = [_side(one), _side(other)]
        kind = common_type([side.type for side in sides])
        assert kind is not None
        field = Field(one.name, one.type if kind.equals(sides[0].type) else kind, compiler.new())
        value = func("coalesce", *(brought(side, kind) for side in sides))
        made = {field.identifier: (value, Needed([one.identifier, other.identifier]))}
        rows = Computed(rows, rows.fields.replaced(field), made)
    return rows


def _compared(one: Field, other: Field, left: Node, right: Node) -> tuple[exp.Expr, exp.Expr]:
    sides = [_side(one), _side(other)]
    kind = common_type([side.type for side in sides])
    if kind is None or is_.is_null(kind):
        raise BadQuery(
            f"'{one.name}' of {left.fields.place} ({one.type}) cannot be joined with '{other.name}' of "
            f"{right.fields.place} ({other.type})",
            fix="Cast one of them to the other's type first with compute()",
        )
    return _comparable(sides[0], sides[1], kind), _comparable(sides[1], sides[0], kind)


def _side(field: Field) -> Value:
    return Value(column(field.identifier), value_type(field.type), field.name)


def _comparable(side: Value, other: Value, kind: pa.DataType) -> exp.Expr:
    """The key in a type in which it equals what means the same; null, which equals nothing, where the other
    side has no such value."""
    if is_.is_floating(kind) and (is_.is_integer(side.type) or is_.is_integer(other.type)):
        return _unless_changed(side, "HUGEINT")
    if may_round(side.type, kind):
        return _unless_changed(side, "DOUBLE")
    if is_.is_timestamp(kind) and kind.unit == "ns" and side.type.unit != "ns":
        return try_cast(side.sql, sql_type(kind) or "")
    return brought(side, kind)


def _unless_changed(side: Value, name: str) -> exp.Expr:
    made = try_cast(side.sql, name)
    return case(exp.Not(this=paren(changed(side, made))), made)


def _renamed(field: Field, taken: Fields, suffix: str) -> Field:
    return Field(f"{field.name}{suffix}", field.type, field.identifier) if field.name in taken else field
