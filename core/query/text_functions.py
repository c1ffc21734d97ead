"""Functions of text, and of what has a length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import func, number

Made = tuple[exp.Expr, pa.DataType] | None
WHITE_SPACE = " \t\n\r\v\f"


def simple(name: str) -> Callable[[Sequence[Value]], Made]:
    """A function of DuckDB's that makes one text of another."""

    def made(values: Sequence[Value]) -> Made:
        return (func(name, values[0].sql), pa.string()) if _is_text(values[0]) else None

    return made


def trim(values: Sequence[Value]) -> Made:
    space = exp.Literal.string(WHITE_SPACE)
    return (func("trim", values[0].sql, space), pa.string()) if _is_text(values[0]) else None


def length(values: Sequence[Value]) -> Made:
    kind = values[0].type
    if _is_text(values[0]):
        return func("length", values[0].sql), pa.int64()
    if kind_of(kind) is Kind.BINARY:
        return func("octet_length", values[0].sql), pa.int64()
    return (func("len", values[0].sql), pa.int64()) if kind_of(kind) is Kind.LIST else None


def substring(values: Sequence[Value]) -> Made:
    text, start, count = values
    if not _is_text(text) or not _is_count(start) or not _is_count(count):
        return None
    return func("substring", text.sql, number(start.given + 1), number(count.given)), pa.string()


def replace(values: Sequence[Value]) -> Made:
    if not all(map(_is_text, values)):
        return None
    return func("replace", *(value.sql for value in values)), pa.string()


def _is_text(value: Value) -> bool:
    return kind_of(value.type) is Kind.TEXT


def _is_count(value: Value) -> bool:
    given = value.given
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**31
