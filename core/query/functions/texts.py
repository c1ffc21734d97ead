"""Functions of text, and checks for what DuckDB drops from a text that it reads as another type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.libraries import exp
from lamella.core.query.fields import Value, cast, func, number, paren, text, try_cast

TypedSql = tuple[exp.Expr, pa.DataType] | None
WHITE_SPACE = " \t\n\r\v\f"


def simple(name: str) -> Callable[[Sequence[Value]], TypedSql]:
    """A DuckDB function from text to text."""

    def compile_call(values: Sequence[Value]) -> TypedSql:
        return (func(name, values[0].sql), pa.string()) if _is_text(values[0]) else None

    return compile_call


def trim(values: Sequence[Value]) -> TypedSql:
    space = exp.Literal.string(WHITE_SPACE)
    return (func("trim", values[0].sql, space), pa.string()) if _is_text(values[0]) else None


def length(values: Sequence[Value]) -> TypedSql:
    kind = values[0].type
    if _is_text(values[0]):
        return func("length", values[0].sql), pa.int64()
    if kind_of(kind) is Kind.BINARY:
        return func("octet_length", values[0].sql), pa.int64()
    return (func("len", values[0].sql), pa.int64()) if kind_of(kind) is Kind.LIST else None


def substring(values: Sequence[Value]) -> TypedSql:
    text, start, count = values
    if not _is_text(text) or not _is_count(start) or not _is_count(count):
        return None
    return func("substring", text.sql, number(start.literal + 1), number(count.literal)), pa.string()


def replace(values: Sequence[Value]) -> TypedSql:
    if not all(map(_is_text, values)):
        return None
    return func("replace", *(value.sql for value in values)), pa.string()


def _is_text(value: Value) -> bool:
    return kind_of(value.type) is Kind.TEXT


def _is_count(value: Value) -> bool:
    literal = value.literal
    return isinstance(literal, int) and not isinstance(literal, bool) and 0 <= literal < 2**31


_SHORT = r"^\s*[+-]?[0-9.]{1,16}[eE][+-]?[0-9]+\s*$"
"""A number with an exponent, with few enough digits that a double represents it exactly."""
_AHEAD = r":[0-9]{2}(\.[0-9]+)?\s*[+-][0-9:]*[1-9]"
"""A time with a non-zero offset from UTC."""
_PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def loss_conditions(text: exp.Expr, kind: pa.DataType, expression: exp.Expr) -> Iterator[exp.Expr]:
    """Conditions that are true if `expression`, the value read from the text, does not represent all of it.
    Floats are the nearest ones."""
    if is_.is_integer(kind) or is_.is_decimal(kind):
        yield _is_rounded(text, kind.scale if is_.is_decimal(kind) else 0, expression)
    if is_.is_date(kind):
        moment = try_cast(text, "TIMESTAMP")
        yield exp.NEQ(this=moment, expression=cast(expression, "TIMESTAMP"))
    if is_.is_date(kind) or is_.is_timestamp(kind) or is_.is_time(kind):
        places = 0 if is_.is_date(kind) else _PLACES[kind.unit]
        yield _matches(text, rf"\.[0-9]{{{places}}}[0-9]*[1-9]")
    if is_.is_date(kind) or is_.is_time(kind) or (is_.is_timestamp(kind) and kind.tz is None):
        yield _matches(text, _AHEAD)


def _is_rounded(number: exp.Expr, scale: int, expression: exp.Expr) -> exp.Expr:
    plain = _matches(number, rf"^\s*[+-]?[0-9_]*\.?[0-9]{{0,{scale}}}0*\s*$")
    same = exp.EQ(this=cast(expression, "DOUBLE"), expression=try_cast(number, "DOUBLE"))
    short = paren(exp.And(this=_matches(number, _SHORT), expression=same))
    return exp.Not(this=paren(exp.Or(this=plain, expression=short)))


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return func("regexp_matches", value, text(pattern))
