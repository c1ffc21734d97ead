"""The one type that several values have together, and each value in it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.filters.kinds import NUMBERS, Kind, kind_of
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.once import once
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import case, cast, cast_to, func, paren, text, try_cast
from lamella.core.query.typed import written

MOST_DIGITS = 38
DIGITS_OF_A_DOUBLE = 15


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """Of values that stand in one column; None where there is none. Floats and other numbers become float64,
    as far as `brought` finds that it holds them, whole numbers int64, decimals one with room for all."""
    told = list(dict.fromkeys(kind for kind in kinds if not is_.is_null(kind)))
    if len(told) <= 1:
        return told[0] if told else pa.null()
    families = {kind_of(kind) for kind in told}
    if families <= NUMBERS:
        return _number(told, families)
    if families == {Kind.TEXT}:
        return pa.string()
    if families == {Kind.BINARY}:
        return pa.binary()
    if families == {Kind.TIMESTAMP} and len({kind.tz is None for kind in told}) == 1:
        return pa.timestamp(_finest([kind.unit for kind in told]), told[0].tz)
    if all(is_.is_duration(kind) for kind in told):
        return pa.duration(_finest([kind.unit for kind in told]))
    return None


def as_decimal(kind: pa.DataType) -> pa.Decimal128Type | None:
    """The decimals that hold every value of a type of whole numbers or decimals, if there are any."""
    if is_.is_integer(kind):
        return pa.decimal128({8: 3, 16: 5, 32: 10, 64: 20}[kind.bit_width], 0)
    return kind if is_.is_decimal(kind) and kind.precision <= MOST_DIGITS else None


def in_common(values: Sequence[Value]) -> tuple[list[exp.Expr], pa.DataType] | None:
    """Each value in the type they have together; constants are read as values of the others' type where
    they can be: '2024-05-01' beside dates is a date."""
    others = common_type([value.type for value in values if not value.constant])
    if others is not None and not is_.is_null(others):
        read = [_read(value, others) for value in values]
        if all(value is not None for value in read):
            return [value for value in read if value is not None], others
    kind = common_type([value.type for value in values])
    return None if kind is None else ([brought(value, kind) for value in values], kind)


def brought(value: Value, kind: pa.DataType) -> exp.Expr:
    """The value in a type that holds it; a number that float64 would round ends the query."""
    if is_.is_null(value.type):
        return cast_to(exp.Null(), kind)
    if value.type.equals(kind):
        return value.sql
    if is_.is_duration(kind):
        factor = per_second(kind.unit) // per_second(value.type.unit)
        return exp.Mul(this=exp.Paren(this=value.sql), expression=exp.Literal.number(factor))
    if not may_round(value.type, kind):
        return cast_to(value.sql, kind)
    found = once([value], lambda values: (_unrounded(values[0], kind), kind))
    assert found is not None
    return found[0]


def _unrounded(value: Value, kind: pa.DataType) -> exp.Expr:
    made = cast_to(value.sql, kind)
    return or_error(value, kind, changed(value, made), made)


def changed(value: Value, made: exp.Expr) -> exp.Expr:
    """Whether a value is another one after a cast there and back."""
    back = try_cast(made, sql_type(value.type) or "")
    return exp.NullSafeNEQ(this=back, expression=value.sql)


def may_round(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether floats of the new type cannot tell all numbers of the old one apart."""
    if not is_.is_floating(new) or is_.is_floating(old):
        return False
    exact = as_decimal(old)
    return exact is None or exact.precision > DIGITS_OF_A_DOUBLE or not is_.is_float64(new)


def or_error(value: Value, kind: pa.DataType, missed: exp.Expr, made: exp.Expr) -> exp.Expr:
    """What was made of the value, unless it missed it: then the query ends."""
    said = func("concat", text(f"'{kind}' cannot hold a value of {value.said}: "), cast(value.sql, "VARCHAR"))
    held = exp.Not(this=exp.Is(this=value.sql, expression=exp.Null()))
    return case(exp.And(this=held, expression=paren(missed)), func("error", said), made)


def per_second(unit: str) -> int:
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def _read(value: Value, kind: pa.DataType) -> exp.Expr | None:
    if not value.constant:
        return brought(value, kind)
    if value.given is None:
        return cast_to(exp.Null(), kind)
    if is_.is_duration(kind) or is_.is_nested(kind):
        return None
    if is_.is_integer(kind) and isinstance(value.given, float):
        return None
    if is_.is_floating(kind) and isinstance(value.given, int) and float(value.given) != value.given:
        return None
    try:
        return written(value.given, kind)
    except (ValueError, OverflowError, AttributeError, TypeError):
        return None


def _number(kinds: Sequence[pa.DataType], families: set[Kind]) -> pa.DataType | None:
    if any(is_.is_decimal256(kind) for kind in kinds):
        return None
    if Kind.FLOAT in families:
        return pa.float64() if families != {Kind.FLOAT} or pa.float64() in kinds else pa.float32()
    if families == {Kind.INTEGER} and pa.uint64() not in kinds:
        return pa.int64()
    decimals = [as_decimal(kind) for kind in kinds]
    if None in decimals:
        return None
    scale = max(kind.scale for kind in decimals if kind is not None)
    whole = max(kind.precision - kind.scale for kind in decimals if kind is not None)
    return pa.decimal128(whole + scale, scale) if whole + scale <= MOST_DIGITS else None


def _finest(units: Sequence[str]) -> str:
    return max(units, key=per_second)
