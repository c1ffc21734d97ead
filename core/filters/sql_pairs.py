"""Two columns compared in DuckDB's SQL: exactly, also where it would round one to the other's type."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types
from sqlglot import exp

from lamella.core.filters.kinds import COUNTED, NUMBERS, kind_of
from lamella.core.filters.pairs import common_decimal
from lamella.core.filters.sql_literals import sql_unit_ns

Compared = type[exp.Binary]

_MIRRORED: dict[Compared, Compared] = {
    exp.EQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_BEYOND = 2**70
"""Greater than every whole number of 64 bits."""


@dataclass(frozen=True)
class Side:
    """What stands for a column in SQL, and the column's type, which is no dictionary."""

    value: exp.Expr
    type: pa.DataType


def compare_columns(how: Compared, one: Side, other: Side) -> exp.Expr:
    """Null where either is; columns of these types can be compared, or the other holds nothing but nulls."""
    return exp.Paren(this=_compared(how, one, other))


def _compared(how: Compared, one: Side, other: Side) -> exp.Expr:
    if types.is_null(other.type):
        return exp.false()
    kind = kind_of(one.type)
    if kind in NUMBERS:
        return _numbers(how, one, other)
    if kind in COUNTED and not _alike(one.type, other.type):
        return how(this=_nanoseconds(one), expression=_nanoseconds(other))
    return how(this=one.value, expression=other.value)


def _numbers(how: Compared, one: Side, other: Side) -> exp.Expr:
    if types.is_floating(one.type) and not types.is_floating(other.type):
        return _numbers(_MIRRORED[how], other, one)
    if not types.is_floating(other.type):
        return _exact_numbers(how, one, other)
    if types.is_integer(one.type) and one.type.bit_width == 64:
        return _integer_and_float(how, one, other)
    number = exp.cast(one.value, "text") if types.is_decimal(one.type) else one.value
    return how(this=exp.cast(number, "double"), expression=exp.cast(other.value, "double"))


def _exact_numbers(how: Compared, one: Side, other: Side) -> exp.Expr:
    if not (types.is_decimal(one.type) or types.is_decimal(other.type)) or types.is_decimal256(one.type):
        return how(this=one.value, expression=other.value)
    kind = "DECIMAL({}, {})".format(*common_decimal(one.type, other.type))
    return how(this=_cast(one.value, kind), expression=_cast(other.value, kind))


def _integer_and_float(how: Compared, one: Side, other: Side) -> exp.Expr:
    """The float is rounded to a whole number in the direction that changes nothing."""
    number = _cast(one.value, "HUGEINT")
    below, above = (_whole(other, function) for function in ("floor", "ceil"))
    if how is exp.EQ:
        same = exp.EQ(this=number, expression=below)
        return exp.And(this=same, expression=exp.EQ(this=below.copy(), expression=above))
    return how(this=number, expression=above if how in (exp.LT, exp.GTE) else below)


def _whole(side: Side, function: str) -> exp.Expr:
    """NaN is greater than every number."""
    beyond = exp.Literal.number(_BEYOND)
    endless = exp.Or(
        this=exp.IsNan(this=side.value.copy()),
        expression=exp.GTE(this=side.value.copy(), expression=exp.Literal.number("1e20")),
    )
    least = exp.LTE(this=side.value.copy(), expression=exp.Neg(this=exp.Literal.number("1e20")))
    return exp.Case(
        ifs=[exp.If(this=endless, true=beyond), exp.If(this=least, true=exp.Neg(this=beyond.copy()))],
        default=_cast(exp.func(function, side.value.copy()), "HUGEINT"),
    )


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    return types.is_date(one) == types.is_date(other) and sql_unit_ns(one) == sql_unit_ns(other)


def _nanoseconds(side: Side) -> exp.Expr:
    """Since 1970-01-01, or since midnight; a span is a count already."""
    if types.is_duration(side.type):
        count = side.value
    elif types.is_date(side.type):
        day = exp.Literal.string("day")
        count = exp.Anonymous(this="date_diff", expressions=[day, _epoch(), side.value])
    else:
        fine = sql_unit_ns(side.type) == 1
        count = exp.Anonymous(this="epoch_ns" if fine else "epoch_us", expressions=[side.value])
    return exp.Mul(this=_cast(count, "HUGEINT"), expression=exp.Literal.number(sql_unit_ns(side.type)))


def _epoch() -> exp.Expr:
    return exp.cast(exp.Literal.string("1970-01-01"), "date")


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(kind, dialect="duckdb"))
