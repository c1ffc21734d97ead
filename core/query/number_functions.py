"""Functions of one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.query.common_type import MOST_DIGITS, as_decimal
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import case, cast, cast_to, func, number

Made = tuple[exp.Expr, pa.DataType] | None
MOST_PLACES = 30


def rounded(values: Sequence[Value]) -> Made:
    """Halves away from zero, as DuckDB rounds doubles and decimals."""
    digits = values[1].given
    if isinstance(digits, bool) or not isinstance(digits, int) or abs(digits) > MOST_PLACES:
        return None
    return _kept(values[0], lambda value: func("round", value, number(digits)), digits)


def floor(values: Sequence[Value]) -> Made:
    return _kept(values[0], lambda value: func("floor", value))


def ceil(values: Sequence[Value]) -> Made:
    return _kept(values[0], lambda value: func("ceil", value))


def sign(values: Sequence[Value]) -> Made:
    if not _is_number(values[0].type):
        return None
    return cast(func("sign", values[0].sql), "BIGINT"), pa.int64()


def sqrt(values: Sequence[Value]) -> Made:
    return _float(values[0], lambda x: case(exp.GTE(this=x, expression=number(0)), func("sqrt", x)))


def ln(values: Sequence[Value]) -> Made:
    return _float(values[0], lambda x: case(exp.GT(this=x, expression=number(0)), func("ln", x)))


def log10(values: Sequence[Value]) -> Made:
    return _float(values[0], lambda x: case(exp.GT(this=x, expression=number(0)), func("log10", x)))


def power_of_e(values: Sequence[Value]) -> Made:
    return _float(values[0], lambda x: func("exp", x))


def _kept(value: Value, make: Callable[[exp.Expr], exp.Expr], digits: int = 0) -> Made:
    """Whole numbers and decimals stay exact; a decimal that is rounded may take one digit more."""
    if not _is_number(value.type):
        return None
    if is_.is_integer(value.type):
        return make(cast(value.sql, "BIGINT")), pa.int64()
    kind = pa.float64()
    if is_.is_decimal(value.type):
        more = digits < value.type.scale
        kind = pa.decimal128(min(MOST_DIGITS, value.type.precision + more), value.type.scale)
    return cast_to(make(cast_to(value.sql, kind)), kind), kind


def _float(value: Value, make: Callable[[exp.Expr], exp.Expr]) -> Made:
    return (make(cast(value.sql, "DOUBLE")), pa.float64()) if _is_number(value.type) else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(is_.is_floating(kind)) or as_decimal(kind) is not None
