"""Groups by ranges of a column's values."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from core.errors import BadQuery
from core.filters.expr import Predicate
from core.filters.kinds import ORDERED, Kind, kind_of, value_type
from core.filters.values import convert
from core.query import answers
from core.query.aggregate import Aggregate
from core.query.expressions import Named
from core.query.fields import Field, Fields, refuse_twice
from core.query.nodes import Chosen, Computed, Filtered, Needed, Node
from core.query.sql_parts import cast, cast_to, column, number
from core.query.steps import Buckets
from core.query.typed import condition, written

if TYPE_CHECKING:
    from core.query.compile import Compiler

MOST = 1000
LOW, HIGH = "low", "high"


def bucketed(compiler: Compiler, step: Buckets, rows: Node) -> Node:
    rows, (field,) = compiler.reachable([step.column], rows)
    seen = Chosen(rows, _seen(rows.fields, field))
    kind = value_type(field.type)
    if kind_of(kind) not in ORDERED or is_.is_decimal256(kind):
        raise BadQuery(f"{rows.fields.place}: '{step.column}' has no ranges", f"It is {field.type}")
    edges = _spread(compiler, step, seen, kind) if isinstance(step.edges, int) else _given(step, kind, rows)
    place = Field("bucket", pa.int64(), compiler.new())
    met, used = _place_of(step.column, edges, seen.fields)
    placed = Computed(seen, seen.fields, {place.identifier: (met, used)})
    refuse_twice([LOW, HIGH, *(name for name, _ in step.aggregates)], rows.fields.place)
    grouped = compiler.grouped(placed, [place], step.aggregates)
    return _with_ends(compiler, grouped, place, edges, kind)


def _seen(fields: Fields, field: Field) -> Fields:
    return fields if field in fields.all else Fields(fields.place, (*fields.all, field))


def _given(step: Buckets, kind: pa.DataType, rows: Node) -> list[Any]:
    edges, place = list(step.edges) if not isinstance(step.edges, int) else [], rows.fields.place
    if not 2 <= len(edges) <= MOST + 1:
        raise BadQuery(f"{place}: {len(edges)} ends make no ranges", fix=f"Give 2 to {MOST + 1:,}")
    try:
        exact = [convert(edge, kind).exact for edge in edges]
    except (ValueError, OverflowError) as error:
        raise BadQuery(f"{place}: '{step.column}' ({kind}) has no range that ends so", str(error)) from error
    if not all(a < b for a, b in pairwise(exact)):
        raise BadQuery(
            f"{place}: the ends of the ranges do not ascend", fix="Give each once, the least first"
        )
    return edges


def _spread(compiler: Compiler, step: Buckets, rows: Node, kind: pa.DataType) -> list[Any]:
    """Ends of ranges of one width from the least to the greatest value; NaN and infinities are no ends."""
    assert isinstance(step.edges, int)
    if not 1 <= step.edges <= MOST:
        raise BadQuery(f"{rows.fields.place}: {step.edges} ranges", fix=f"Give 1 to {MOST:,}")
    if kind_of(kind) in (Kind.TEXT, Kind.TIME):
        raise BadQuery(
            f"{rows.fields.place}: '{step.column}' ({kind}) has no width", fix="Give the ends of the ranges"
        )
    if kind_of(kind) is Kind.FLOAT:
        finite = Predicate(step.column, "between", (-math.inf, math.inf))
        no_end = Predicate(step.column, "nin", (-math.inf, math.inf))
        met, used = condition(finite & no_end, rows.fields)
        rows = Filtered(rows, [met], used)
    ends = tuple((name, Aggregate(name, Named(step.column))) for name in ("min", "max"))
    found = answers.read(compiler.grouped(rows, [], ends), compiler.job)
    low, high = (_plain(column[0]) for column in found.columns)
    if low is None:
        return []
    return _floats(low, high, step.edges) if isinstance(low, float) else _steps(low, high, step.edges, kind)


def _plain(end: pa.Scalar) -> Any:
    """Moments in UTC, where every hour has a length; Python has no nanoseconds."""
    if not is_.is_timestamp(end.type) or not end.is_valid:
        return end.as_py()
    ticks = (
        end.value // 1000
        if end.type.unit == "ns"
        else end.value * {"s": 10**6, "ms": 1000, "us": 1}[end.type.unit]
    )
    return dt.datetime(1970, 1, 1, tzinfo=end.type.tz and dt.UTC) + dt.timedelta(microseconds=ticks)


def _floats(low: float, high: float, parts: int) -> list[float]:
    width = high / parts - low / parts
    ends = [low + width * place for place in range(parts)]
    return sorted({*ends, high}) if high > low else [low, math.nextafter(low, math.inf)]


def _steps(low: Any, high: Any, parts: int, kind: pa.DataType) -> list[Any]:
    """Whole numbers, days, microseconds, or steps of a decimal: the width is so many of them."""
    step = _step(kind)
    total = int((high - low) // step) + (is_.is_timestamp(kind) and kind.unit == "ns")
    width = max(1, -(-total // parts))
    return [low + step * (width * place) for place in range(max(1, -(-total // width)) + 1)]


def _step(kind: pa.DataType) -> Any:
    if is_.is_decimal(kind):
        return Decimal(1).scaleb(-kind.scale)
    steps = {Kind.DATE: dt.timedelta(days=1), Kind.TIMESTAMP: dt.timedelta(microseconds=1)}
    return steps.get(kind_of(kind), 1)


def _place_of(name: str, edges: Sequence[Any], fields: Fields) -> tuple[exp.Expr, Needed]:
    """The number of the range, -1 below all and one more than the last above all, null for null."""
    asked: list[tuple[Predicate, exp.Expr]] = [(Predicate(name, "is_null"), exp.null())]
    asked += [(Predicate(name, "lt", (edge,)), number(place - 1)) for place, edge in enumerate(edges)]
    asked += [(Predicate(name, "lte", (edges[-1],)), number(len(edges) - 2))] if edges else []
    ifs = [exp.If(this=condition(met, fields)[0], true=value) for met, value in asked]
    return cast(exp.Case(ifs=ifs, default=number(len(edges) - 1)), "BIGINT"), Needed(
        [fields[name].identifier]
    )


def _with_ends(compiler: Compiler, rows: Node, place: Field, edges: Sequence[Any], kind: pa.DataType) -> Node:
    """The number of the range as its two ends."""
    exact = kind if all(_fits(edge, kind) for edge in edges) else pa.float64()
    literals = [cast_to(written(edge, exact), exact) for edge in edges]
    nothing = cast_to(exp.Null(), exact)
    low = [(number(n), literals[n]) for n in range(len(edges))]
    high = [(number(n - 1), literals[n]) for n in range(len(edges))]
    fields, made = [], {}
    for name, ends in ((LOW, low), (HIGH, high)):
        field = Field(name, exact, compiler.new())
        fields.append(field)
        ifs = [exp.If(this=exp.EQ(this=column(place.identifier), expression=n), true=end) for n, end in ends]
        value = exp.Case(ifs=ifs, default=nothing) if ifs else nothing
        made[field.identifier] = (value, Needed([place.identifier]))
    named = Fields(f"{rows.fields.place}", (*fields, *rows.fields.all[1:]))
    return Computed(rows, named, made)


def _fits(edge: Any, kind: pa.DataType) -> bool:
    try:
        written(edge, kind)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
