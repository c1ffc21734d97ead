"""A bound filter as a sqlglot expression in DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from core.filters.binding import Bound
from core.filters.expr import And, Branch, Filter, Not, Predicate
from core.filters.operators import OPERATORS
from core.filters.sql_operand import SqlOperand, complement
from core.filters.walk import fold


def to_sql(bound: Filter, names: Mapping[str, str], trusted_statistics: bool = False) -> exp.Expr:
    """For a WHERE clause: rows where it is true are those that meet the filter; it may be null.

    `names` maps a column's name to its identifier, unquoted. `trusted_statistics` only for Parquet
    whose float columns carry no statistics where they hold NaN, such as this program's own files.
    """

    def leaf(predicate: Predicate) -> exp.Expr:
        if not isinstance(predicate, Bound):
            raise TypeError(f"bind() the filter first: {predicate!r}")
        name = names[predicate.column]
        operand = SqlOperand(name, predicate.type, predicate.ignore_case, trusted_statistics)
        condition: exp.Expr = OPERATORS[predicate.operator].test(operand, predicate.exact)
        return condition

    return fold(bound, leaf, _branch)


def _branch(node: Branch, conditions: list[exp.Expr]) -> exp.Expr:
    if isinstance(node, Not):
        return complement(conditions[0])
    if not conditions:
        return exp.true() if isinstance(node, And) else exp.false()
    return _balanced(conditions, exp.And if isinstance(node, And) else exp.Or)


def _balanced(conditions: list[exp.Expr], join: type[exp.Connector]) -> exp.Expr:
    """One connector over all, as a tree of little depth; it reads as a flat chain in SQL."""
    level = [_grouped(condition, join) for condition in conditions]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) % 2 else []
        level = [join(this=one, expression=other) for one, other in pairs] + odd
    return level[0]


def _grouped(condition: exp.Expr, join: type[exp.Connector]) -> exp.Expr:
    mixed = isinstance(condition, exp.Connector) and not isinstance(condition, join)
    return exp.Paren(this=condition) if mixed else condition
