"""Building blocks of Spark's SQL: what is known of a statement's columns, and parts of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadSql
from lamella.core.libraries import exp
from lamella.core.query.spark.types import cast_kind


class NotInDialect(BadSql):
    """SQL without an equivalent in Spark's dialect; `what` is a noun phrase, such as "nanoseconds"."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.subject = what
        super().__init__(f"Spark Connect: {what}", fix=fix)


@dataclass(frozen=True)
class Context:
    """What is known of a statement: the types of columns by identifier, and the SQL of tables by the name
    that the statement uses."""

    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)

    def type_of(self, value: exp.Expr) -> pa.DataType | None:
        """Arrow's type of a value; None if unknown."""
        while isinstance(value, exp.Paren):
            value = value.this
        if "arrow" in value.meta:
            return value.meta["arrow"]
        if isinstance(value, exp.Column) and not value.table:
            return self.types.get(value.name)
        if isinstance(value, exp.Case):
            kinds = [self.type_of(branch.args["true"]) for branch in value.args["ifs"]]
            return next(
                (kind for kind in kinds if kind is not None),
                self.type_of(value.args.get("default") or exp.Null()),
            )
        if isinstance(value, (exp.Coalesce, exp.Min, exp.Max, exp.Abs, exp.Neg)):
            return self.type_of(value.this)
        if isinstance(value, exp.Div):
            return pa.float64()
        if isinstance(value, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            kinds = [self.type_of(value.this), self.type_of(value.expression)]
            return pa.float64() if any(kind is not None and is_.is_floating(kind) for kind in kinds) else None
        return cast_kind(value)


Rule = Callable[[Any, Context], "exp.Expr"]


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of Spark by its own name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def spark_cast(value: exp.Expr, name: str, safe: bool = False) -> exp.Expr:
    """Cast to a type of Spark by its own name."""
    kind = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name)
    return exp.TryCast(this=value, to=kind, safe=True) if safe else exp.Cast(this=value, to=kind)


def whole(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def case(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def not_null(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value, expression=exp.Null()))


def rename_rule(name: str) -> Rule:
    """A rule that renames a function with the same meaning."""

    def rule(node: Any, _context: Context) -> exp.Expr:
        return call(name, *arguments(node))

    return rule


def arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [
        part for name in node.arg_types for part in as_list(node.args.get(name)) if isinstance(part, exp.Expr)
    ]


def as_list(part: Any) -> list[Any]:
    return part if isinstance(part, list) else [part]


def as_it_is(node: Any, _context: Context) -> Any:
    return node


def with_type(expression: exp.Expr, kind: pa.DataType) -> exp.Expr:
    expression.meta["arrow"] = kind
    return expression


def without_sign_of_zero(value: exp.Expr, context: Context) -> exp.Expr:
    kind = context.type_of(value)
    if kind is None or not is_.is_floating(kind):
        return value
    return exp.Add(this=value, expression=spark_cast(whole(0), "DOUBLE"))
