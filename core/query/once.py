"""Operands that are long to write, named where a function would write them again and again: so the SQL of
calls within calls grows with their number, and does not double with each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from lamella.core.query.operand import Value
from lamella.core.query.sql_parts import func, number

LONG = 200
"""Characters. What is shorter is written again: DuckDB computes it once by itself, and faster."""
_NAME = "operand"

Made = tuple[exp.Expr, pa.DataType] | None


def once(values: Sequence[Value], make: Callable[[Sequence[Value]], Made]) -> Made:
    """What `make` makes of the values. All of them are computed, whichever it needs."""
    long = [place for place, value in enumerate(values) if _is_long(value.sql)]
    if not long:
        return make(values)
    names = {place: _name(place, len(long)) for place in long}
    made = make([replace(v, sql=exp.Var(this=names[n])) if n in names else v for n, v in enumerate(values)])
    if made is None:
        return None
    written = made[0].sql("duckdb")
    if all(written.count(name) <= 1 for name in names.values()):
        return make(values)
    given = exp.Array(expressions=[_given([values[place].sql for place in long], list(names.values()))])
    found = func("list_transform", given, exp.Var(this=f"lambda {_NAME}: {written}"))
    return func("list_extract", found, number(1)), made[1]


def _is_long(sql: exp.Expr) -> bool:
    """What was computed is written already (`sql_parts.leaf`); names and constants are short."""
    return isinstance(sql, exp.Var) and len(sql.this) > LONG


def _name(place: int, count: int) -> str:
    return _NAME if count == 1 else f"{_NAME}.v{place}"


def _given(operands: list[exp.Expr], names: list[str]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    fields = [name.partition(".")[2] for name in names]
    return func("struct_pack", *(_field(*pair) for pair in zip(fields, operands, strict=True)))


def _field(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Var(this=f"{name} := {value.sql('duckdb')}")
