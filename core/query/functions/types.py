"""The common type of several values, and casts to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.kinds import NUMBERS, ORDERED_KINDS, Kind, kind_of
from lamella.core.libraries import exp
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.fields import (
    Value,
    case,
    cast,
    cast_to,
    common_subexpressions,
    func,
    literal_of_type,
    number,
    paren,
    text,
    try_cast,
)
from lamella.core.query.functions.texts import loss_conditions
from lamella.core.scan.snapshot import Snapshot

MOST_DIGITS = 38
DIGITS_OF_A_DOUBLE = 15


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The type of a column that holds values of all these types; None if there is none. Floats with other
    numbers become float64, as far as `cast_exactly` finds that it can represent them; whole numbers int64;
    decimals one with room for all."""
    types = list(dict.fromkeys(kind for kind in kinds if not is_.is_null(kind)))
    if len(types) <= 1:
        return types[0] if types else pa.null()
    families = {kind_of(kind) for kind in types}
    if families <= NUMBERS:
        return _number(types, families)
    if families == {Kind.TEXT}:
        return pa.string()
    if families == {Kind.BINARY}:
        return pa.binary()
    if families == {Kind.TIMESTAMP} and len({kind.tz is None for kind in types}) == 1:
        return pa.timestamp(_finest([kind.unit for kind in types]), types[0].tz)
    if all(is_.is_duration(kind) for kind in types):
        return pa.duration(_finest([kind.unit for kind in types]))
    return None


def as_decimal(kind: pa.DataType) -> pa.Decimal128Type | None:
    """The decimal type that can represent every value of an integer or decimal type; None if there is
    none."""
    if is_.is_integer(kind):
        return pa.decimal128({8: 3, 16: 5, 32: 10, 64: 20}[kind.bit_width], 0)
    return kind if is_.is_decimal(kind) and kind.precision <= MOST_DIGITS else None


def in_common(values: Sequence[Value]) -> tuple[list[exp.Expr], pa.DataType] | None:
    """Convert the values to their common type. Constants are read as the type of the others if possible: next
    to dates, '2024-05-01' is a date."""
    common = common_type([value.type for value in values if not value.constant])
    if common is not None and not is_.is_null(common):
        typed = [_read(value, common) for value in values]
        if all(value is not None for value in typed):
            return [value for value in typed if value is not None], common
    kind = common_type([value.type for value in values])
    return None if kind is None else ([cast_exactly(value, kind) for value in values], kind)


def cast_exactly(value: Value, kind: pa.DataType) -> exp.Expr:
    """Cast a value to a type that can represent it; a number that float64 would round makes the query
    fail."""
    if is_.is_null(value.type):
        return cast_to(exp.Null(), kind)
    if value.type.equals(kind):
        return value.sql
    if is_.is_duration(kind):
        factor = per_second(kind.unit) // per_second(value.type.unit)
        return exp.Mul(this=exp.Paren(this=value.sql), expression=exp.Literal.number(factor))
    if not may_round(value.type, kind):
        return cast_to(value.sql, kind)
    pair = common_subexpressions([value], lambda values: (_cast_exactly(values[0], kind), kind))
    assert pair is not None
    return pair[0]


def _cast_exactly(value: Value, kind: pa.DataType) -> exp.Expr:
    cast = cast_to(value.sql, kind)
    return or_error(value, kind, is_changed_by_cast(value, cast), cast)


def is_changed_by_cast(value: Value, cast: exp.Expr) -> exp.Expr:
    """Whether a cast and the cast back change the value."""
    back = try_cast(cast, sql_type(value.type) or "")
    return exp.NullSafeNEQ(this=back, expression=value.sql)


def may_round(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether floats of the new type cannot represent all numbers of the old one."""
    if not is_.is_floating(new) or is_.is_floating(old):
        return False
    exact = as_decimal(old)
    return exact is None or exact.precision > DIGITS_OF_A_DOUBLE or not is_.is_float64(new)


def or_error(value: Value, kind: pa.DataType, missed: exp.Expr, cast_sql: exp.Expr) -> exp.Expr:
    """The cast value; the query fails if `missed` is true."""
    message = func(
        "concat", text(f"'{kind}' cannot hold a value of {value.phrase}: "), cast(value.sql, "VARCHAR")
    )
    valid = exp.Not(this=exp.Is(this=value.sql, expression=exp.Null()))
    return case(exp.And(this=valid, expression=paren(missed)), func("error", message), cast_sql)


def per_second(unit: str) -> int:
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def _read(value: Value, kind: pa.DataType) -> exp.Expr | None:
    if not value.constant:
        return cast_exactly(value, kind)
    if value.literal is None:
        return cast_to(exp.Null(), kind)
    if is_.is_duration(kind) or is_.is_nested(kind):
        return None
    if is_.is_integer(kind) and isinstance(value.literal, float):
        return None
    if is_.is_floating(kind) and isinstance(value.literal, int) and float(value.literal) != value.literal:
        return None
    try:
        return literal_of_type(value.literal, kind)
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


TypedSql = tuple[exp.Expr, pa.DataType] | None
_CASTABLE = NUMBERS | {Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TIME}


def coalesce(values: Sequence[Value]) -> TypedSql:
    common = in_common(values)
    return common and (func("coalesce", *common[0]), common[1])


def extreme(name: str) -> Callable[[Sequence[Value]], TypedSql]:
    def compile_call(values: Sequence[Value]) -> TypedSql:
        common = in_common(values)
        if common is None or kind_of(common[1]) not in ORDERED_KINDS:
            return None
        return func(name, *common[0]), common[1]

    return compile_call


def when(values: Sequence[Value]) -> TypedSql:
    condition, *results = values
    common = in_common(results) if is_.is_boolean(condition.type) else None
    return common and (case(condition.sql, *common[0]), common[1])


def as_type(values: Sequence[Value]) -> TypedSql:
    """Cast to another type; a value that it cannot represent exactly makes the query fail."""
    from lamella.core.arrow.types import type_named

    value, kind = values[0], type_named(values[1].literal)
    if is_.is_null(value.type):
        return cast_to(exp.Null(), kind), kind
    if kind_of(value.type) not in _CASTABLE or kind_of(kind) not in _CASTABLE or sql_type(kind) is None:
        return None
    if is_.is_decimal256(value.type) or is_.is_decimal256(kind):
        return None
    if not _are_related(value.type, kind):
        return None
    cast = try_cast(value.sql, sql_type(kind) or "")
    lost = [exp.Is(this=cast, expression=exp.Null()), *_losses(value, kind, cast)]
    return or_error(value, kind, reduce(lambda a, b: exp.Or(this=a, expression=b), lost), cast), kind


def _losses(value: Value, kind: pa.DataType, cast: exp.Expr) -> Iterator[exp.Expr]:
    """Conditions for whether DuckDB's cast rounded the value or dropped a part of it."""
    if kind_of(kind) is Kind.TEXT:
        return
    if (is_.is_timestamp(kind) or is_.is_time(kind)) and kind.unit in ("s", "ms"):
        remainder = exp.Mod(this=func("epoch_us", cast), expression=number(10**6 // per_second(kind.unit)))
        yield exp.NEQ(this=remainder, expression=number(0))
    if kind_of(value.type) is Kind.TEXT:
        yield from loss_conditions(value.sql, kind, cast)
    elif _may_round(value.type, kind):
        yield is_changed_by_cast(value, cast)


def _are_related(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether values of one type can be read as the other at all."""
    families = {kind_of(old), kind_of(new)}
    plain = NUMBERS | {Kind.BOOLEAN}
    moments = {Kind.DATE, Kind.TIMESTAMP}
    zones = {kind.tz is None for kind in (old, new) if is_.is_timestamp(kind)}
    if families <= moments:
        return len(zones) <= 1 and (True not in map(_has_zone, (old, new)) or families == {Kind.TIMESTAMP})
    return len(families) == 1 or Kind.TEXT in families or families <= plain


def _has_zone(kind: pa.DataType) -> bool:
    return bool(is_.is_timestamp(kind) and kind.tz is not None)


def _may_round(old: pa.DataType, new: pa.DataType) -> bool:
    joined = common_type([old, new])
    return joined is None or not joined.equals(new) or is_.is_floating(new) != is_.is_floating(old)


_ORDERS = (exp.Ordered, exp.Min, exp.Max, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_EQUALS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In)


def text_compared_as_number(statement: exp.Expr, tables: Mapping[str, Snapshot]) -> tuple[str, str] | None:
    """The table and column of the first decimal of more than 38 digits that is used as a number. Such
    decimals are text in DuckDB: text sorts differently, and is rounded before it is compared with a
    number."""
    long = {
        (table, c.name.casefold()): (table, c.name)
        for table, snapshot in tables.items()
        for c in snapshot.columns
        if pa.types.is_decimal256(c.type)
    }
    if not long:
        return None
    aliases = {t.alias_or_name.casefold(): t.name.casefold() for t in statement.find_all(exp.Table)}
    for column in statement.find_all(exp.Column):
        if not _as_number(column):
            continue
        meant = aliases.get(column.table.casefold())
        for (table, name), kinds in long.items():
            if name == column.name.casefold() and meant in (None, table.casefold()):
                return kinds
    return None


def _as_number(column: exp.Column) -> bool:
    operand: exp.Expr = column
    while isinstance(operand.parent, exp.Paren):
        operand = operand.parent
    around = operand.parent
    if isinstance(around, _ORDERS):
        return True
    if not isinstance(around, _EQUALS):
        return False
    return any(_is_number(part) for part in around.iter_expressions() if part is not operand)


def _is_number(part: exp.Expr) -> bool:
    while isinstance(part, exp.Paren | exp.Neg):
        part = part.this
    return isinstance(part, exp.Literal) and not part.is_string
