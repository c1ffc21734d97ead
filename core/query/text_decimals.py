"""Columns that are text in SQL, though they hold decimals: where a statement takes them for numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from lamella.core.scan.snapshot import Snapshot

_ORDERS = (exp.Ordered, exp.Min, exp.Max, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_EQUALS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In)


def taken_for_number(statement: exp.Expr, tables: Mapping[str, Snapshot]) -> tuple[str, str] | None:
    """The table and the column of the first such place: text is ordered otherwise, and DuckDB rounds it
    before it compares it with a number."""
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
        for (table, name), found in long.items():
            if name == column.name.casefold() and meant in (None, table.casefold()):
                return found
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
