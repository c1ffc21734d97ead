"""Groups by ranges of a column's values, and the layout of the ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import COUNTED_KINDS, ORDERED_KINDS, Kind, kind_of, value_type
from lamella.core.filters.temporal import unit_ns
from lamella.core.filters.to_sql import in_sql_units, literal, sql_range, sql_unit_ns
from lamella.core.filters.values import convert, float_width, nearest_float, value_range
from lamella.core.libraries import exp
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.fields import (
    Field,
    Fields,
    case,
    cast,
    cast_to,
    column,
    func,
    number,
    refuse_twice,
)
from lamella.core.query.functions.table import condition
from lamella.core.query.plan import ComputeNode, FilterNode, Identifiers, Node, ProjectNode
from lamella.core.query.steps import Aggregate, Buckets

if TYPE_CHECKING:
    from lamella.core.query.plan import Compiling


Exact = Any


@dataclass(frozen=True)
class Edges:
    """The bounds of ranges. `exact` holds them without rounding, in DuckDB's units; `type` can represent each
    of them. `limits` are the bounds as the user wrote them, which are compared as in a filter."""

    type: pa.DataType
    exact: Sequence[Exact]
    limits: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.exact)

    def edge(self, place: int) -> exp.Expr:
        return _edge_literal(self.exact[place], self.type)

    def beyond_bound(self, place: int, field: Field, fields: Fields) -> exp.Expr:
        """SQL for whether a value lies beyond a bound; the last range includes its `high`."""
        last = place == len(self) - 1
        if self.limits is not None:
            predicate = Predicate(field.name, "gt" if last else "gte", (self.limits[place],))
            return condition(predicate, fields)[0]
        make = exp.GT if last else exp.GTE
        return make(this=column(field.identifier), expression=self.edge(place))


def checked_edges(edges: Sequence[Any], kind: pa.DataType) -> Edges:
    """Raises `ValueError` if a bound cannot be compared with the column, or the bounds do not ascend."""
    exact = [convert(edge, kind).exact for edge in edges]
    if not all(a < b for a, b in pairwise(exact)):
        raise ValueError("the bounds do not ascend; give each once, the least first")
    type_ = _edge_type(exact, kind)
    return Edges(type_, [_in(edge, kind, type_) for edge in exact], edges)


def equal_edges(low: pa.Scalar, high: pa.Scalar, parts: int) -> Edges:
    """At most `parts` ranges from the least to the greatest value. The bounds in between are multiples of the
    type's unit, and the last range may be narrower."""
    kind = value_type(low.type)
    if not low.is_valid:
        return Edges(kind, [])
    if is_.is_floating(kind):
        return Edges(kind, _floats(low.as_py(), high.as_py(), parts, kind))
    first, last = _count(low, kind), _count(high, kind)
    step = max(1, unit_ns(kind) // sql_unit_ns(kind)) if kind_of(kind) in COUNTED_KINDS else 1
    width = max(1, -(-(last - first) // (step * parts))) * step
    return Edges(kind, [*range(first, last, width), last] if first < last else [first, last])


def _count(value: pa.Scalar, kind: pa.DataType) -> int:
    if kind_of(kind) in COUNTED_KINDS:
        return int(in_sql_units(value.value, kind))
    return int(convert(value.as_py(), kind).exact)


def _floats(low: float, high: float, parts: int, kind: pa.DataType) -> list[float]:
    width = high / parts - low / parts
    if math.isfinite(high - low):
        between = [low + width * place for place in range(1, parts)]
    else:
        between = [low * (1 - place / parts) + high * (place / parts) for place in range(1, parts)]
    edges = {nearest_float(end, float_width(kind)) for end in between}
    return [low, *sorted(end for end in edges if low < end < high), high]


def _edge_type(exact: Sequence[Exact], kind: pa.DataType) -> pa.DataType:
    """A type that can represent the bounds: the column's own if possible."""
    if kind_of(kind) in (Kind.TEXT, Kind.OTHER):
        return kind
    if kind_of(kind) is Kind.FLOAT:
        return kind if all(_near(edge, kind) for edge in exact) else pa.float64()
    if kind_of(kind) in COUNTED_KINDS:
        return _moments(exact, kind)
    wider = pa.decimal128(38, kind.scale) if is_.is_decimal(kind) else pa.int64()
    return next((type_ for type_ in (kind, wider) if _whole(exact, *value_range(type_))), pa.float64())


def _near(exact: Exact, kind: pa.DataType) -> bool:
    """Whether a float of this width represents the number as a filter would."""
    near = nearest_float(exact, float_width(kind))
    return near == exact or (isinstance(exact, Fraction) and math.isfinite(near))


def _moments(exact: Sequence[Exact], kind: pa.DataType) -> pa.DataType:
    """The type of times for the bounds: bounds may be finer than the column's unit."""
    counts = [in_sql_units(edge, kind) for edge in exact]
    if not _whole(counts, *sql_range(kind)):
        raise ValueError(f"{kind} is too coarse for the bounds, or its range is too small")
    if is_.is_date(kind) or is_.is_duration(kind) or _whole(exact, *value_range(kind)):
        return kind
    return pa.time64("us") if is_.is_time(kind) else pa.timestamp("us", kind.tz)


def _whole(counts: Sequence[Exact], least: int, most: int) -> bool:
    return all(isinstance(edge, int) and least <= edge <= most for edge in map(_reduce, counts))


def _reduce(count: Exact) -> Exact:
    return int(count) if isinstance(count, Fraction) and count.denominator == 1 else count


def _in(exact: Exact, kind: pa.DataType, type_: pa.DataType) -> Exact:
    if is_.is_floating(type_):
        scale = kind.scale if is_.is_decimal(kind) else 0
        return nearest_float(exact / Fraction(10) ** scale if scale else exact, float_width(type_))
    return _reduce(in_sql_units(exact, kind)) if kind_of(kind) in COUNTED_KINDS else _reduce(exact)


def _edge_literal(exact: Exact, kind: pa.DataType) -> exp.Expr:
    if is_.is_duration(kind):
        return cast(number(exact), "BIGINT")
    return cast_to(literal(exact, kind), kind)


MOST_RANGES = 1000
LOW, HIGH = "low", "high"


def bucket_node(compiler: Compiling, step: Buckets, rows: Node) -> Node:
    values, field, ends = bucket_edges(compiler, step, rows)
    place = Field("bucket", pa.int64(), compiler.new())
    placed = ComputeNode(
        values, values.fields, {place.identifier: place_of_value(field, ends, values.fields)}
    )
    refuse_twice([LOW, HIGH, *(name for name, _ in step.aggregates)], rows.fields.place)
    grouped = compiler.group_node(placed, [place], step.aggregates)
    return _with_ends(compiler, grouped, place, ends)


def bucket_edges(compiler: Compiling, step: Buckets, rows: Node) -> tuple[Node, Field, Edges]:
    """Return the rows including the column to divide, the column, and the bounds of its ranges. If the step
    does not give bounds, they are computed from the rows."""
    rows, (field,) = compiler.reachable([step.column], rows)
    values = ProjectNode(rows, _with_field(rows.fields, field))
    kind = value_type(field.type)
    if kind_of(kind) not in ORDERED_KINDS or is_.is_decimal256(kind):
        raise BadQuery(
            f"{rows.fields.place}: '{step.column}' cannot be divided into ranges", f"It is {field.type}"
        )
    if isinstance(step.edges, int):
        return values, field, _spread(compiler, step.edges, step.column, values, kind)
    return values, field, _checked_edges(step.edges, step.column, kind, rows.fields.place)


def _with_field(fields: Fields, field: Field) -> Fields:
    return fields if field in fields.columns else Fields(fields.place, (*fields.columns, field))


def _checked_edges(edges: Sequence[Any], name: str, kind: pa.DataType, place: str) -> Edges:
    if not 2 <= len(edges) <= MOST_RANGES + 1:
        raise BadQuery(f"{place}: {len(edges)} ends make no ranges", fix=f"Give 2 to {MOST_RANGES + 1:,}")
    try:
        return checked_edges(edges, kind)
    except (ValueError, OverflowError) as error:
        raise BadQuery(f"{place}: '{name}' ({kind}) has no ranges that end so", str(error)) from error


def _spread(compiler: Compiling, parts: int, name: str, rows: Node, kind: pa.DataType) -> Edges:
    """Bounds of ranges of equal width from the least to the greatest finite value."""
    if not 1 <= parts <= MOST_RANGES:
        raise BadQuery(f"{rows.fields.place}: {parts} ranges", fix=f"Give 1 to {MOST_RANGES:,}")
    if kind_of(kind) in (Kind.TEXT, Kind.TIME):
        raise BadQuery(
            f"{rows.fields.place}: '{name}' ({kind}) has no width", fix="Give the ends of the ranges"
        )
    if kind_of(kind) is Kind.FLOAT:
        finite = Predicate(name, "between", (-math.inf, math.inf))
        no_end = Predicate(name, "nin", (-math.inf, math.inf))
        met, used = condition(finite & no_end, rows.fields)
        rows = FilterNode(rows, [met], used)
    ends = tuple((end, Aggregate(end, ColumnReference(name))) for end in ("min", "max"))
    ends_table = compiler.read(compiler.group_node(rows, [], ends))
    return equal_edges(ends_table.column(0)[0], ends_table.column(1)[0], parts)


def place_of_value(field: Field, ends: Edges, fields: Fields) -> tuple[exp.Expr, Identifiers]:
    """SQL for the number of a value's range: -1 below all ranges, one more than the last above all, null for
    null."""
    nothing = exp.Is(this=column(field.identifier), expression=exp.Null())
    place = case(nothing, exp.Null(), _count_bounds(0, len(ends), field, ends, fields))
    return cast(place, "BIGINT"), Identifiers([field.identifier])


def _count_bounds(least: int, most: int, field: Field, ends: Edges, fields: Fields) -> exp.Expr:
    """SQL for the number of bounds that a value has passed, minus one, by binary search. The value has passed
    between `least` and `most` bounds."""
    if least == most:
        return number(least - 1)
    middle = (least + most) // 2
    upper = _count_bounds(middle + 1, most, field, ends, fields)
    return case(
        ends.beyond_bound(middle, field, fields), upper, _count_bounds(least, middle, field, ends, fields)
    )


def _with_ends(compiler: Compiling, rows: Node, place: Field, ends: Edges) -> Node:
    """Replace the number of each range by its two bounds."""
    fields, ends_by_name = [], {}
    for name in (LOW, HIGH):
        field = Field(name, ends.type, compiler.new())
        fields.append(field)
        ends_by_name[field.identifier] = (
            end_of_range(ends, place.identifier, name),
            Identifiers([place.identifier]),
        )
    fields_with_ends = Fields(f"{rows.fields.place}", (*fields, *rows.fields.columns[1:]))
    return ComputeNode(rows, fields_with_ends, ends_by_name)


def end_of_range(ends: Edges, place: str, which: str) -> exp.Expr:
    """SQL for the low or the high bound of the range whose number is in the column `place`."""
    listed = cast(exp.Array(expressions=[ends.edge(n) for n in range(len(ends))]), f"{_name(ends)}[]")
    at = exp.Add(this=column(place), expression=number(1 if which == LOW else 2))
    return func("list_extract", listed, at)


def _name(ends: Edges) -> str:
    name = sql_type(ends.type)
    assert name is not None
    return name
