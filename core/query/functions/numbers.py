"""Functions of numbers, and arithmetic with times and durations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.libraries import exp
from lamella.core.query.fields import Value, case, cast, cast_to, func, number, paren, text
from lamella.core.query.functions.types import MOST_DIGITS, as_decimal, cast_exactly, common_type

TypedSql = tuple[exp.Expr, pa.DataType] | None


def add(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if kind_of(left.type) is Kind.TEXT and kind_of(right.type) is Kind.TEXT:
        return exp.DPipe(this=paren(left.sql), expression=paren(right.sql)), pa.string()
    if (is_.is_duration(left.type) and not is_.is_duration(right.type)) or is_.is_date(right.type):
        left, right = right, left
    return _sum(left, right, exp.Add)


def subtract(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if is_.is_date(left.type) and is_.is_date(right.type):
        return _binary(exp.Sub, left.sql, right.sql), pa.int64()
    if is_.is_timestamp(left.type) and is_.is_timestamp(right.type):
        return _between(left, right)
    return _sum(left, right, exp.Sub)


def multiply(values: Sequence[Value]) -> TypedSql:
    left, right = values
    for span, times in ((left, right), (right, left)):
        if is_.is_duration(span.type) and is_.is_integer(times.type):
            return _binary(exp.Mul, span.sql, cast(times.sql, "BIGINT")), span.type
    decimals = _decimals(left, right)
    if decimals is None:
        return _of_numbers(exp.Mul, left, right)
    a, b = decimals
    if a.scale + b.scale > MOST_DIGITS:
        return None
    kind = pa.decimal128(min(MOST_DIGITS, a.precision + b.precision), a.scale + b.scale)
    return cast_to(_binary(exp.Mul, cast_to(left.sql, a), cast_to(right.sql, b)), kind), kind


def divide(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if is_.is_duration(left.type) and is_.is_duration(right.type):
        kind = common_type([left.type, right.type])
        left, right = (Value(cast_exactly(v, kind), pa.int64(), v.phrase) for v in (left, right))
    if not _are_numbers(left, right):
        return None
    return _binary(exp.Div, _double(left), _or_null(_double(right))), pa.float64()


def floor_divide(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if not _are_numbers(left, right):
        return None
    if _are_integers(left, right):
        return _floor_of(cast(left.sql, "BIGINT"), cast(right.sql, "BIGINT")), pa.int64()
    decimals = _decimals(left, right)
    if decimals is not None:
        a, b = decimals
        scale = max(a.scale, b.scale)
        kind = pa.decimal128(_room(a, scale), 0)
        return cast_to(_floor_of(_unscale(left, a, scale), _unscale(right, b, scale)), kind), kind
    a, b = _double(left), _or_null(_double(right))
    whole = func("round", _binary(exp.Div, _binary(exp.Sub, a, _binary(exp.Mod, a, b)), b))
    return _binary(exp.Sub, whole, case(_rounds(a, b), number(1), number(0))), pa.float64()


def modulo(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if not _are_numbers(left, right):
        return None
    kind, decimals = pa.int64() if _are_integers(left, right) else pa.float64(), _decimals(left, right)
    if decimals is not None:
        kind = _wide(*decimals)
    a, b = cast_to(left.sql, kind), _or_null(cast_to(right.sql, kind))
    remainder = _binary(exp.Mod, a, b)
    return cast_to(case(_rounds(a, b), _binary(exp.Add, remainder, b), remainder), kind), kind


def power(values: Sequence[Value]) -> TypedSql:
    left, right = values
    if not _are_numbers(left, right):
        return None
    a, b = _double(left), _double(right)
    endless = exp.And(
        this=exp.EQ(this=a, expression=number(0)), expression=exp.LT(this=b, expression=number(0))
    )
    return case(endless, exp.Null(), func("pow", a, b)), pa.float64()


def negate(values: Sequence[Value]) -> TypedSql:
    kind = _own_number(values[0])
    return None if kind is None else (exp.Neg(this=paren(cast_to(values[0].sql, kind))), kind)


def absolute(values: Sequence[Value]) -> TypedSql:
    kind = _own_number(values[0])
    return None if kind is None else (func("abs", cast_to(values[0].sql, kind)), kind)


def _own_number(value: Value) -> pa.DataType | None:
    if is_.is_duration(value.type) or is_.is_floating(value.type) or is_.is_decimal128(value.type):
        return value.type
    return pa.int64() if is_.is_integer(value.type) else None


def _sum(left: Value, right: Value, make: type[exp.Binary]) -> TypedSql:
    if is_.is_duration(right.type):
        return _move_time(left, right, make)
    if is_.is_date(left.type) and is_.is_integer(right.type):
        return _binary(make, left.sql, cast(right.sql, "INTEGER")), pa.date32()
    decimals = _decimals(left, right)
    if decimals is None:
        return _of_numbers(make, left, right)
    kind = _wide(*decimals)
    return _binary(make, cast_to(left.sql, kind), cast_to(right.sql, kind)), kind


def _of_numbers(make: type[exp.Binary], left: Value, right: Value) -> TypedSql:
    if not _are_numbers(left, right):
        return None
    if _are_integers(left, right):
        return _binary(make, cast(left.sql, "BIGINT"), cast(right.sql, "BIGINT")), pa.int64()
    return _binary(make, _double(left), _double(right)), pa.float64()


def _move_time(moment: Value, span: Value, make: type[exp.Binary]) -> TypedSql:
    """A time moved by a duration, or the sum of two durations."""
    if is_.is_duration(moment.type):
        kind = common_type([moment.type, span.type])
        return _binary(make, cast_exactly(moment, kind), cast_exactly(span, kind)), kind
    if is_.is_date(moment.type):
        return _move_date(moment, span, make)
    if not is_.is_timestamp(moment.type):
        return None
    unit = "ns" if "ns" in (moment.type.unit, span.type.unit) else "us"
    moved = _binary(make, _ticks(moment, unit), cast_exactly(span, pa.duration(unit)))
    kind = pa.timestamp(unit, moment.type.tz)
    return cast_to(func("make_timestamp_ns" if unit == "ns" else "make_timestamp", moved), kind), kind


def _move_date(day: Value, span: Value, make: type[exp.Binary]) -> TypedSql:
    """A date moved by whole days stays a date; otherwise it becomes a timestamp."""
    if isinstance(span.literal, dt.timedelta) and not span.literal % dt.timedelta(days=1):
        return _binary(make, day.sql, cast(number(span.literal.days), "INTEGER")), pa.date32()
    begun = pa.timestamp("ns" if span.type.unit == "ns" else "us")
    return _move_time(Value(cast_to(day.sql, begun), begun, day.phrase), span, make)


def _between(left: Value, right: Value) -> TypedSql:
    if (left.type.tz is None) != (right.type.tz is None):
        return None
    unit = "ns" if "ns" in (left.type.unit, right.type.unit) else "us"
    return _binary(exp.Sub, _ticks(left, unit), _ticks(right, unit)), pa.duration(unit)


def _ticks(value: Value, unit: str) -> exp.Expr:
    return func(f"epoch_{unit}", value.sql)


def _decimals(left: Value, right: Value) -> tuple[pa.Decimal128Type, pa.Decimal128Type] | None:
    """Both as decimals, if one is a decimal and neither is a float; null counts as a whole number."""
    if not any(is_.is_decimal(value.type) for value in (left, right)):
        return None
    a, b = (as_decimal(pa.int8() if is_.is_null(v.type) else v.type) for v in (left, right))
    return None if a is None or b is None else (a, b)


def _wide(a: pa.Decimal128Type, b: pa.Decimal128Type) -> pa.Decimal128Type:
    """A type for values of both, with one more digit."""
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale) + 1
    return pa.decimal128(min(MOST_DIGITS, whole + scale), scale)


def _unscale(value: Value, kind: pa.Decimal128Type, scale: int) -> exp.Expr:
    """A decimal's digits as a whole number. DuckDB cannot multiply the longest ones exactly."""
    digits = cast(cast_to(value.sql, pa.decimal128(_room(kind, scale), scale)), "VARCHAR")
    return cast(func("replace", digits, text("."), text("")), "HUGEINT")


def _room(kind: pa.Decimal128Type, scale: int) -> int:
    return min(MOST_DIGITS, int(kind.precision) + scale - int(kind.scale))


def _floor_of(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    divisor = _or_null(right)
    return _binary(
        exp.Sub, _binary(exp.IntDiv, left, divisor), case(_rounds(left, divisor), number(1), number(0))
    )


def _are_numbers(*values: Value) -> bool:
    """Whether all are numbers; decimals of more than 38 digits cannot be computed with."""
    return all(
        is_.is_null(v.type) or is_.is_floating(v.type) or as_decimal(v.type) is not None for v in values
    )


def _are_integers(*values: Value) -> bool:
    return all(is_.is_null(v.type) or is_.is_integer(v.type) for v in values)


def _double(value: Value) -> exp.Expr:
    return cast(value.sql, "DOUBLE")


def _or_null(divisor: exp.Expr) -> exp.Expr:
    return func("nullif", divisor, number(0))


def _rounds(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Whether the quotient is negative and not whole: then rounding down differs from truncating."""
    left_over = exp.NEQ(this=_binary(exp.Mod, a, b), expression=number(0))
    signs = exp.NEQ(
        this=paren(exp.LT(this=a, expression=number(0))),
        expression=paren(exp.LT(this=b, expression=number(0))),
    )
    return exp.And(this=left_over, expression=signs)


def _binary(make: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return paren(make(this=left, expression=right))


MOST_PLACES = 30


def round_value(values: Sequence[Value]) -> TypedSql:
    """Round; halves go away from zero, as DuckDB rounds doubles and decimals."""
    digits = values[1].literal
    if isinstance(digits, bool) or not isinstance(digits, int) or abs(digits) > MOST_PLACES:
        return None
    return _exact(values[0], lambda value: func("round", value, number(digits)), digits)


def floor(values: Sequence[Value]) -> TypedSql:
    return _exact(values[0], lambda value: func("floor", value))


def ceil(values: Sequence[Value]) -> TypedSql:
    return _exact(values[0], lambda value: func("ceil", value))


def sign(values: Sequence[Value]) -> TypedSql:
    if not _is_number(values[0].type):
        return None
    return cast(func("sign", values[0].sql), "BIGINT"), pa.int64()


def sqrt(values: Sequence[Value]) -> TypedSql:
    return _float(values[0], lambda x: case(exp.GTE(this=x, expression=number(0)), func("sqrt", x)))


def ln(values: Sequence[Value]) -> TypedSql:
    return _float(values[0], lambda x: case(exp.GT(this=x, expression=number(0)), func("ln", x)))


def log10(values: Sequence[Value]) -> TypedSql:
    return _float(values[0], lambda x: case(exp.GT(this=x, expression=number(0)), func("log10", x)))


def power_of_e(values: Sequence[Value]) -> TypedSql:
    return _float(values[0], lambda x: func("exp", x))


def _exact(value: Value, make: Callable[[exp.Expr], exp.Expr], digits: int = 0) -> TypedSql:
    """Apply a function to a number. Whole numbers and decimals stay exact; rounding a decimal may add a
    digit."""
    if not _is_number(value.type):
        return None
    if is_.is_integer(value.type):
        return make(cast(value.sql, "BIGINT")), pa.int64()
    kind = pa.float64()
    if is_.is_decimal(value.type):
        more = digits < value.type.scale
        kind = pa.decimal128(min(MOST_DIGITS, value.type.precision + more), value.type.scale)
    return cast_to(make(cast_to(value.sql, kind)), kind), kind


def _float(value: Value, make: Callable[[exp.Expr], exp.Expr]) -> TypedSql:
    return (make(cast(value.sql, "DOUBLE")), pa.float64()) if _is_number(value.type) else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(is_.is_floating(kind)) or as_decimal(kind) is not None
