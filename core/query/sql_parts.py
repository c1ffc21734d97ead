"""Small pieces of SQL that every part of a query is built from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa
from sqlglot import exp

from lamella.core.query.duckdb_types import sql_type


def column(identifier: str, table: str | None = None) -> exp.Column:
    return exp.column(quoted(identifier), table=quoted(table) if table else None)


def quoted(identifier: str) -> exp.Identifier:
    return exp.to_identifier(identifier, quoted=True)


def alias(value: exp.Expr, identifier: str) -> exp.Expr:
    return exp.alias_(value, identifier, quoted=True)


def func(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of DuckDB's by its own name, whatever sqlglot takes it for in other dialects."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def cast(value: exp.Expr, name: str) -> exp.Expr:
    """To a type of DuckDB's by its own name."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name))


def cast_to(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """To what DuckDB reads a column of this type as; unchanged where only DuckDB could tell."""
    name = sql_type(kind)
    return value if name is None else cast(value, name)


def leaf(made: exp.Expr) -> exp.Expr:
    """The same SQL, written already: however deep it nests, what is built around it does not."""
    return exp.Var(this=made.sql("duckdb"))


def try_cast(value: exp.Expr, name: str) -> exp.Expr:
    """To a type of DuckDB's by its own name, null where that does not hold the value."""
    return exp.TryCast(this=value, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name))


def paren(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=value)


def case(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def every(conditions: Iterable[exp.Expr]) -> exp.Expr:
    return reduce(lambda a, b: exp.And(this=a, expression=b), map(paren, conditions))
