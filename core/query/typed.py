"""An expression made to fit columns: every name known, every function given types it takes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadQuery, instead_of, shown
from lamella.core.filters.binding import bind
from lamella.core.filters.kinds import value_type
from lamella.core.filters.sql_literals import in_sql_units, literal
from lamella.core.filters.to_sql import to_sql
from lamella.core.filters.values import convert, natural
from lamella.core.filters.walk import columns_read
from lamella.core.query.expressions import DEEPEST, Call, Condition, Constant, Expression, Named
from lamella.core.query.fields import Fields
from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import case, cast, leaf, number


@dataclass(frozen=True)
class Typed:
    """`used` are the identifiers of the columns it is computed from."""

    value: Value
    used: frozenset[str]


def typed(expression: Expression, fields: Fields, depth: int = 0) -> Typed:
    """Raises `UnknownColumn`, `BadQuery` for a function that does not fit, `BadFilter` for a condition."""
    if depth > DEEPEST:
        raise BadQuery(
            f"{fields.place}: a computed value nests calls more than {DEEPEST} deep",
            fix="Compute parts of it as columns first",
        )
    if isinstance(expression, Named):
        field, kind, value = fields.at_path(expression.name)
        return Typed(Value(value, value_type(kind), expression.name), frozenset([field.identifier]))
    if isinstance(expression, Constant):
        return Typed(constant(expression.value, fields.place), frozenset())
    if isinstance(expression, Condition):
        return _condition(expression, fields)
    if isinstance(expression, Call):
        return _call(expression, fields, depth)
    raise BadQuery(f"{fields.place}: {expression!r} is no value to compute", fix="Build one with col()")


def condition(filter: Any, fields: Fields) -> tuple[exp.Expr, frozenset[str]]:
    """A filter over the columns as SQL, which may be null, and the identifiers it uses."""
    bound = bind(filter, fields.schema, fields.place)
    used = {fields.at_path(name)[0].identifier for name in columns_of(bound)}
    return to_sql(bound, fields.identifiers), frozenset(used)


def constant(given: Any, place: str) -> Value:
    """Raises `BadQuery` for what can stand in no column."""
    plain = natural(given)
    if plain is None:
        return Value(exp.Null(), pa.null(), "null", None, True)
    kind = _constant_type(plain)
    if kind is None:
        raise BadQuery(
            f"{place}: {shown(given)} cannot be computed with",
            fix="Give text, a number, true or false, a date or a time",
        )
    try:
        return Value(written(plain, kind), kind, repr(given), plain, True)
    except ValueError as error:
        raise BadQuery(f"{place}: {given!a} cannot be computed with", str(error)) from error


def written(plain: Any, kind: pa.DataType) -> exp.Expr:
    """A Python value as a literal of the type. Raises `ValueError` where it does not fit it."""
    if pa.types.is_duration(kind):
        unit = {"s": 10**6, "ms": 10**3, "us": 1}.get(kind.unit, 1)
        ticks = plain // dt.timedelta(microseconds=1)
        return cast(number(ticks * 1000 if kind.unit == "ns" else ticks // unit), "BIGINT")
    if pa.types.is_floating(kind):
        return literal(float(convert(plain, kind).shown), kind)
    exact = in_sql_units(convert(plain, kind).exact, kind)
    if isinstance(exact, Fraction):
        if exact.denominator != 1:
            raise ValueError(f"{plain!r} is no value of {kind}")
        exact = int(exact)
    made = literal(exact, kind)
    return cast(made, "BIGINT") if pa.types.is_integer(kind) else made


def _constant_type(plain: Any) -> pa.DataType | None:
    if isinstance(plain, int) and not isinstance(plain, bool) and not -(2**63) <= plain < 2**63:
        return pa.decimal128(38, 0) if abs(plain) < 10**38 else None
    if isinstance(plain, Decimal):
        return _decimal_type(plain)
    if isinstance(plain, dt.datetime):
        return pa.timestamp("us", None if plain.tzinfo is None else "UTC")
    kinds = {
        bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary(),
        dt.date: pa.date32(), dt.time: pa.time64("us"), dt.timedelta: pa.duration("us"),
    }  # fmt: skip
    return kinds.get(type(plain))


def _decimal_type(value: Decimal) -> pa.DataType | None:
    if not value.is_finite():
        return None
    _sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    return pa.decimal128(precision, scale) if precision <= 38 else None


def _condition(expression: Condition, fields: Fields) -> Typed:
    met, used = condition(expression.filter, fields)
    return Typed(Value(case(met, exp.true(), exp.false()), pa.bool_(), "the condition"), used)


def _call(expression: Call, fields: Fields, depth: int) -> Typed:
    from lamella.core.query.functions import FUNCTIONS

    function = FUNCTIONS.get(expression.function)
    if function is None:
        raise BadQuery(
            f"{fields.place}: there is no function '{expression.function}'",
            fix=instead_of(expression.function, list(FUNCTIONS)),
        )
    parts = []
    for argument in expression.arguments:
        parts.append(typed(argument, fields, depth + 1))
    value = function.applied([part.value for part in parts], fields.place)
    return Typed(replace(value, sql=leaf(value.sql)), frozenset[str]().union(*(part.used for part in parts)))


def columns_of(bound: Any) -> Iterator[str]:
    """The columns, and paths, that a bound filter asks of."""
    yield from columns_read(bound)
