"""What DuckDB leaves out of a text that it reads as a value of another type: it rounds without a word."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.query.sql_parts import cast, func, paren, text, try_cast

_SHORT = r"^\s*[+-]?[0-9.]{1,16}[eE][+-]?[0-9]+\s*$"
"""With an exponent, and of so few digits that a double tells them apart."""
_AHEAD = r":[0-9]{2}(\.[0-9]+)?\s*[+-][0-9:]*[1-9]"
"""A time that tells how far it is from UTC."""
_PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def left_out(given: exp.Expr, kind: pa.DataType, made: exp.Expr) -> Iterator[exp.Expr]:
    """Conditions, each true where the value `made` of the text is not all that it says; floats are the
    nearest ones."""
    if is_.is_integer(kind) or is_.is_decimal(kind):
        yield _rounded(given, kind.scale if is_.is_decimal(kind) else 0, made)
    if is_.is_date(kind):
        moment = try_cast(given, "TIMESTAMP")
        yield exp.NEQ(this=moment, expression=cast(made, "TIMESTAMP"))
    if is_.is_date(kind) or is_.is_timestamp(kind) or is_.is_time(kind):
        places = 0 if is_.is_date(kind) else _PLACES[kind.unit]
        yield _matches(given, rf"\.[0-9]{{{places}}}[0-9]*[1-9]")
    if is_.is_date(kind) or is_.is_time(kind) or (is_.is_timestamp(kind) and kind.tz is None):
        yield _matches(given, _AHEAD)


def _rounded(given: exp.Expr, scale: int, made: exp.Expr) -> exp.Expr:
    plain = _matches(given, rf"^\s*[+-]?[0-9_]*\.?[0-9]{{0,{scale}}}0*\s*$")
    same = exp.EQ(this=cast(made, "DOUBLE"), expression=try_cast(given, "DOUBLE"))
    short = paren(exp.And(this=_matches(given, _SHORT), expression=same))
    return exp.Not(this=paren(exp.Or(this=plain, expression=short)))


def _matches(given: exp.Expr, pattern: str) -> exp.Expr:
    return func("regexp_matches", given, text(pattern))
