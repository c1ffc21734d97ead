"""Groups by ranges of a column's values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import ORDERED, Kind, kind_of, value_type
from lamella.core.query import answers
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.expressions import Named
from lamella.core.query.fields import Field, Fields, refuse_twice
from lamella.core.query.nodes import Chosen, Computed, Filtered, Needed, Node
from lamella.core.query.ranges import Ends, given, spread
from lamella.core.query.sql_parts import case, cast, column, func, number
from lamella.core.query.steps import Buckets
from lamella.core.query.typed import condition

if TYPE_CHECKING:
    from lamella.core.query.compile import Compiler

MOST = 1000
LOW, HIGH = "low", "high"


def bucketed(compiler: Compiler, step: Buckets, rows: Node) -> Node:
    rows, (field,) = compiler.reachable([step.column], rows)
    seen = Chosen(rows, _seen(rows.fields, field))
    kind = value_type(field.type)
    if kind_of(kind) not in ORDERED or is_.is_decimal256(kind):
        raise BadQuery(f"{rows.fields.place}: '{step.column}' has no ranges", f"It is {field.type}")
    if isinstance(step.edges, int):
        ends = _spread(compiler, step.edges, step.column, seen, kind)
    else:
        ends = _given(step.edges, step.column, kind, rows.fields.place)
    place = Field("bucket", pa.int64(), compiler.new())
    placed = Computed(seen, seen.fields, {place.identifier: _place_of(field, ends, seen.fields)})
    refuse_twice([LOW, HIGH, *(name for name, _ in step.aggregates)], rows.fields.place)
    grouped = compiler.grouped(placed, [place], step.aggregates)
    return _with_ends(compiler, grouped, place, ends)


def _seen(fields: Fields, field: Field) -> Fields:
    return fields if field in fields.all else Fields(fields.place, (*fields.all, field))


def _given(edges: Sequence[Any], name: str, kind: pa.DataType, place: str) -> Ends:
    if not 2 <= len(edges) <= MOST + 1:
        raise BadQuery(f"{place}: {len(edges)} ends make no ranges", fix=f"Give 2 to {MOST + 1:,}")
    try:
        return given(edges, kind)
    except (ValueError, OverflowError) as error:
        raise BadQuery(f"{place}: '{name}' ({kind}) has no ranges that end so", str(error)) from error


def _spread(compiler: Compiler, parts: int, name: str, rows: Node, kind: pa.DataType) -> Ends:
    """Ends of ranges of one width from the least to the greatest value; NaN and infinities are no ends."""
    if not 1 <= parts <= MOST:
        raise BadQuery(f"{rows.fields.place}: {parts} ranges", fix=f"Give 1 to {MOST:,}")
    if kind_of(kind) in (Kind.TEXT, Kind.TIME):
        raise BadQuery(
            f"{rows.fields.place}: '{name}' ({kind}) has no width", fix="Give the ends of the ranges"
        )
    if kind_of(kind) is Kind.FLOAT:
        finite = Predicate(name, "between", (-math.inf, math.inf))
        no_end = Predicate(name, "nin", (-math.inf, math.inf))
        met, used = condition(finite & no_end, rows.fields)
        rows = Filtered(rows, [met], used)
    ends = tuple((end, Aggregate(end, Named(name))) for end in ("min", "max"))
    found = answers.read(compiler.grouped(rows, [], ends), compiler.job)
    return spread(found.column(0)[0], found.column(1)[0], parts)


def _place_of(field: Field, ends: Ends, fields: Fields) -> tuple[exp.Expr, Needed]:
    """The number of the range, -1 below all and one more than the last above all, null for null."""
    nothing = exp.Is(this=column(field.identifier), expression=exp.Null())
    found = case(nothing, exp.Null(), _passed(0, len(ends), field, ends, fields))
    return cast(found, "BIGINT"), Needed([field.identifier])


def _passed(least: int, most: int, field: Field, ends: Ends, fields: Fields) -> exp.Expr:
    """How many ends a value has passed, less one, by halves: it is at least, and at most, so many."""
    if least == most:
        return number(least - 1)
    middle = (least + most) // 2
    upper = _passed(middle + 1, most, field, ends, fields)
    return case(ends.passed(middle, field, fields), upper, _passed(least, middle, field, ends, fields))


def _with_ends(compiler: Compiler, rows: Node, place: Field, ends: Ends) -> Node:
    """The number of the range as its two ends."""
    listed = cast(exp.Array(expressions=[ends.written(n) for n in range(len(ends))]), f"{_name(ends)}[]")
    fields, made = [], {}
    for name, further in ((LOW, 1), (HIGH, 2)):
        field = Field(name, ends.type, compiler.new())
        fields.append(field)
        at = exp.Add(this=column(place.identifier), expression=number(further))
        made[field.identifier] = (func("list_extract", listed, at), Needed([place.identifier]))
    named = Fields(f"{rows.fields.place}", (*fields, *rows.fields.all[1:]))
    return Computed(rows, named, made)


def _name(ends: Ends) -> str:
    name = sql_type(ends.type)
    assert name is not None
    return name
