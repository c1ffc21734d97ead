"""Exact values as SQL literals that DuckDB reads back without loss."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyarrow import types
from sqlglot import exp

from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.narrowing import Exact
from lamella.core.filters.ordered_decimals import ordered_bytes
from lamella.core.filters.temporal import DAY_NS, unit_ns
from lamella.core.filters.values import value_range

_MICROSECONDS = (-9_223_372_022_400_000_000, 9_223_372_036_854_775_806)
_DAYS = (-(2**31) + 2, 2**31 - 2)
_EPOCH = dt.datetime(1970, 1, 1)
_YEARS_WRITTEN_OUT = (-719_162 * 86_400, 2_932_897 * 86_400)
"""Seconds from the epoch to the year 1 and to the year 10000."""


def sql_unit_ns(type_: pa.DataType) -> int:
    """How many nanoseconds one step is in DuckDB, which knows days, microseconds and nanoseconds.

    A span is a whole number there, of the column's own unit.
    """
    if types.is_date(type_):
        return DAY_NS
    if types.is_duration(type_):
        return unit_ns(type_)
    return 1 if type_.unit == "ns" else 1000


def sql_range(type_: pa.DataType) -> tuple[int, int]:
    """The counts that DuckDB's type for a column of this type can hold."""
    if types.is_date(type_):
        return _DAYS
    if types.is_timestamp(type_) and type_.unit != "ns":
        return _MICROSECONDS
    if types.is_time(type_):
        return 0, DAY_NS // sql_unit_ns(type_) - 1
    return value_range(type_)


def in_sql_units(value: Exact, type_: pa.DataType) -> Exact:
    if isinstance(value, float) or not types.is_temporal(type_):
        return value
    return Fraction(value) * unit_ns(type_) / sql_unit_ns(type_)


def literal(value: Any, type_: pa.DataType) -> exp.Expr:
    """`value` as `core.filters.narrowing` leaves it, counted in DuckDB's unit."""
    plain = value_type(type_)
    return _WRITERS[kind_of(plain)](value, plain)


def _integer(value: int, _type: pa.DataType) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def _decimal(value: int, type_: pa.DataType) -> exp.Expr:
    if types.is_decimal256(type_):
        return _binary(ordered_bytes(value), type_)
    digits = Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -type_.scale))
    return _cast(f"{digits:f}", f"DECIMAL({type_.precision}, {type_.scale})")


def _float(value: float, type_: pa.DataType) -> exp.Expr:
    if types.is_float64(type_):
        text = repr(value)
        if text.replace(".", "").lstrip("-").isdigit() and len(text) <= 15:
            number = exp.Literal.number(text.lstrip("-").removesuffix(".0"))
            return exp.Neg(this=number) if value < 0 else number
        return _cast(text, "DOUBLE")
    return _cast(repr(value), "FLOAT")


def _text(value: str, _type: pa.DataType) -> exp.Expr:
    return exp.Literal.string(value)


def _binary(value: bytes, _type: pa.DataType) -> exp.Expr:
    return exp.Unhex(this=exp.Literal.string(value.hex()))


def _uuid(value: bytes, _type: pa.DataType) -> exp.Expr:
    return _cast(str(UUID(bytes=value)), "UUID")


def _boolean(value: bool, _type: pa.DataType) -> exp.Expr:
    return exp.true() if value else exp.false()


def _date(days: int, _type: pa.DataType) -> exp.Expr:
    if _written_out(days * 86_400):
        return _cast((_EPOCH + dt.timedelta(days=days)).date().isoformat(), "DATE")
    return exp.func("make_date", _integer(days, _type))


def _timestamp(count: int, type_: pa.DataType) -> exp.Expr:
    fine, zoned = type_.unit == "ns", type_.tz is not None
    seconds, ns = divmod(count * sql_unit_ns(type_), 10**9)
    if not _written_out(seconds):
        return exp.func("make_timestamptz" if zoned else "make_timestamp", _integer(count, type_))
    name = (
        ("TIMESTAMPTZ_NS" if zoned else "TIMESTAMP_NS") if fine else ("TIMESTAMPTZ" if zoned else "TIMESTAMP")
    )
    text = (
        (_EPOCH + dt.timedelta(seconds=seconds)).isoformat(sep=" ") + _fraction(ns) + ("+00" if zoned else "")
    )
    return _cast(text, name)


def _time(count: int, type_: pa.DataType) -> exp.Expr:
    seconds, ns = divmod(count * sql_unit_ns(type_), 10**9)
    text = (_EPOCH + dt.timedelta(seconds=seconds)).time().isoformat() + _fraction(ns)
    return _cast(text, "TIME_NS" if type_.unit == "ns" else "TIME")


def _fraction(ns: int) -> str:
    return f".{ns:09d}".rstrip("0").rstrip(".") if ns else ""


def _written_out(seconds: int) -> bool:
    return _YEARS_WRITTEN_OUT[0] <= seconds < _YEARS_WRITTEN_OUT[1]


def _cast(text: str, name: str) -> exp.Expr:
    only_in_duckdb = name in ("TIMESTAMPTZ_NS", "TIME_NS")
    return exp.cast(exp.Literal.string(text), exp.DataType.build(name, dialect="duckdb", udt=only_in_duckdb))


_WRITERS: dict[Kind, Callable[[Any, pa.DataType], exp.Expr]] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIME: _time,
    Kind.DURATION: _integer,
    Kind.UUID: _uuid,
}
