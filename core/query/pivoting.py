"""A column for each value of another: the rows are grouped by it too, and the few groups are turned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.errors import BadQuery, shown
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of, value_type
from lamella.core.filters.narrowing import float_width, nearest_float
from lamella.core.filters.values import convert
from lamella.core.query import answers
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.aggregates import AGGREGATES
from lamella.core.query.fields import Field, Fields, refuse_twice
from lamella.core.query.nodes import Computed, Grouped, Needed, Node
from lamella.core.query.sql_parts import cast, column, func, number
from lamella.core.query.steps import Pivot
from lamella.core.query.typed import condition

if TYPE_CHECKING:
    from lamella.core.query.compile import Compiler

MOST_COLUMNS = 1000
COUNTED = (("n", Aggregate("count")),)
NULL, NULL_BESIDE_TEXT = "null", "(null)"

Met = tuple[exp.Expr, Needed]


def pivoted(compiler: Compiler, step: Pivot, rows: Node) -> Node:
    rows, (*keys, across) = compiler.reachable((*step.keys, step.column), rows)
    aggregates = step.aggregates or COUNTED
    by = [Field(f"key {place}", key.type, key.identifier) for place, key in enumerate([*keys, across])]
    told = [(f"cell {place}", aggregate) for place, (_name, aggregate) in enumerate(aggregates)]
    groups: Node = compiler.grouped(rows, by, tuple(told))
    cells = groups.fields.all[len(by) :]
    if step.values is None:
        held = _held(compiler, rows, across)
        names, places, place = _names(held), list(range(1, len(held) + 1)), _rank(across)
    else:
        names = [_called(value) for value in step.values]
        places, place = _places(across, step.values, rows.fields.place)
    if len(names) * len(aggregates) > MOST_COLUMNS:
        raise BadQuery(
            f"{rows.fields.place}: a pivot on '{step.column}' would have more than {MOST_COLUMNS:,} columns",
            fix="Filter the rows first, or say which values are meant with values=[…]",
        )
    placed, maps = compiler.new(), [compiler.new() for _ in cells]
    numbered = Computed(groups, groups.fields, {placed: (place, Needed([across.identifier]))})
    by_place = {one: _by_place(cell, placed) for one, cell in zip(maps, cells, strict=True)}
    turned = Grouped(
        numbered, Fields(rows.fields.place, tuple(keys)), [key.identifier for key in keys], by_place
    )
    fields, made = list(keys), dict[str, Met]()
    for value, at in zip(names, places, strict=True):
        for (name, aggregate), cell, one in zip(aggregates, cells, maps, strict=True):
            called = value if len(aggregates) == 1 else f"{value}_{name}"
            fields.append(Field(called, cell.type, compiler.new()))
            made[fields[-1].identifier] = (_cell(one, at, aggregate), Needed([one]))
    refuse_twice([field.name for field in fields], rows.fields.place)
    return Computed(turned, Fields(f"{rows.fields.place}, grouped", tuple(fields)), made)


def _held(compiler: Compiler, rows: Node, field: Field) -> list[pa.Scalar]:
    """The values of a column, in order, null last."""
    found = Grouped(rows, Fields(rows.fields.place, (field,)), [field.identifier], {})
    return list(answers.read(found, compiler.job, MOST_COLUMNS + 1).column(0))


def _rank(across: Field) -> exp.Expr:
    """The place of a group's value among all values."""
    order = exp.Order(expressions=[exp.Ordered(this=column(across.identifier), nulls_first=False)])
    return exp.Window(this=func("dense_rank"), order=order)


def _places(across: Field, values: Sequence[Any], of: str) -> tuple[list[int], exp.Expr]:
    """The places of the values that were asked for, and that of a group's value among them: one value may
    be asked for twice."""
    first: dict[Any, int] = {}
    for value in values:
        if not isinstance(value, Hashable):
            raise BadQuery(f"{of}: {shown(value)} is no value of '{across.name}'", fix="Give single values")
    places = [first.setdefault(_exact(value, across.type), n) for n, value in enumerate(values)]
    ifs = [exp.If(this=_is(across, values[n], of), true=number(n)) for n in first.values()]
    found = exp.Case(ifs=ifs, default=exp.Null()) if ifs else exp.Null()
    return places, cast(found, "BIGINT")


def _exact(value: Any, kind: pa.DataType) -> Any:
    """The same for values that a filter takes for one."""
    if value is None or kind_of(kind) not in COMPARABLE:
        return value
    try:
        exact = convert(value, kind).exact
    except (ValueError, OverflowError):
        return value
    exact = nearest_float(exact, float_width(value_type(kind))) if kind_of(kind) is Kind.FLOAT else exact
    return exact if exact == exact else "NaN"


def _is(across: Field, value: Any, place: str) -> exp.Expr:
    asked = Predicate(across.name, "is_null") if value is None else Predicate(across.name, "eq", (value,))
    return condition(asked, Fields(place, (across,)))[0]


def _by_place(cell: Field, placed: str) -> Met:
    """What the groups of a row have, by the place of their value."""
    entries = func("list", func("row", column(placed), column(cell.identifier)))
    known = exp.Not(this=exp.Is(this=column(placed), expression=exp.Null()))
    kept = exp.Filter(this=entries, expression=exp.Where(this=known))
    return func("map_from_entries", kept), Needed([placed, cell.identifier])


def _cell(by_place: str, place: int, aggregate: Aggregate) -> exp.Expr:
    """The aggregate of the group in this place; of no rows where there is none."""
    found = func("map_extract_value", column(by_place), number(place))
    empty = AGGREGATES[aggregate.function].empty
    return found if empty is None else exp.Coalesce(this=found, expressions=[empty()])


def _names(values: Sequence[pa.Scalar]) -> list[str]:
    """What the columns of values are called; null otherwise than a text that says so."""
    told = [_called(_fine(value) if value.is_valid else None) for value in values]
    if told.count(NULL) > 1:
        told = [
            name if value.is_valid else NULL_BESIDE_TEXT for name, value in zip(told, values, strict=True)
        ]
    return told


def _fine(value: pa.Scalar) -> Any:
    """The Python value, or its text where that is finer than Python tells."""
    kind = value.type
    if not (is_.is_timestamp(kind) or is_.is_time(kind)) or kind.unit != "ns":
        return value.as_py()
    count, rest = divmod(value.value, 1000)
    coarse = pa.time64("us") if is_.is_time(kind) else pa.timestamp("us", kind.tz)
    moment = pa.scalar(count, coarse).as_py()
    if not rest:
        return moment
    whole = str(moment.replace(microsecond=0))
    clock, zone = (whole[:19], whole[19:]) if is_.is_timestamp(kind) else (whole, "")
    return f"{clock}.{moment.microsecond:06d}{rest:03d}{zone}"


def _called(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: NULL, True: "true", False: "false"}[value]
    return str(value)
