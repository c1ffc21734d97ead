"""A bound filter as a sqlglot expression in DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lamella.core.filters.binding import Bound
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate
from lamella.core.filters.items import path_in_item
from lamella.core.filters.operators import OPERATORS
from lamella.core.filters.reading import BoundReference
from lamella.core.filters.sql_operand import SqlOperand, complement
from lamella.core.filters.walk import fold
from lamella.core.nested import Place, is_list

MOST_JOINED = 64
Find = Callable[[Place], exp.Expr]
"""What stands for a column, or a field inside one, in SQL."""


def to_sql(bound: Filter, names: Mapping[str, str], trusted_statistics: bool = False) -> exp.Expr:
    """For a WHERE clause: rows where it is true are those that meet the filter; it may be null.

    `names` maps columns, and fields that stand beside them by their path, to identifiers, unquoted.
    `trusted_statistics` only for Parquet whose float columns carry no statistics where they hold NaN, such as
    this program's own files.
    """

    def find(place: Place) -> exp.Expr:
        around = place.outer_list
        if around is not None:  # a column may be called like one of the items
            return field_in(find(around), around.type, place.path[len(around.path) :])
        if place.name in names:
            return _column(names[place.name])
        return field_in(_column(names[place.column]), place.whole, place.path)

    return _compiled(bound, find, trusted_statistics)


def field_in(value: exp.Expr, type_: pa.DataType, path: Iterable[str]) -> exp.Expr:
    """The field at `path` inside a struct of this type, by its place: SQL does not tell the cases of names
    apart, and has no name for some. A list has null at a number that it has no item for."""
    for name in path:
        if is_list(type_):
            value = exp.func("list_extract", value, exp.Literal.number(int(name) + 1))
            type_ = type_.value_type
            continue
        place = type_.get_field_index(name)
        value = exp.Anonymous(this="struct_extract_at", expressions=[value, exp.Literal.number(place + 1)])
        type_ = type_.field(place).type
    return value


def _compiled(bound: Filter, find: Find, trusted: bool, depth: int = 0) -> exp.Expr:
    def leaf(predicate: Predicate) -> exp.Expr:
        if not isinstance(predicate, Bound):
            raise TypeError(f"bind() the filter first: {predicate!r}")

        def operand(place: Place) -> SqlOperand:
            return SqlOperand(find(place), place.type, predicate.ignore_case, trusted, depth)

        def value(exact: Any) -> Any:
            if isinstance(exact, BoundReference):
                return operand(exact.place)
            return _of_items(exact, trusted) if isinstance(exact, Filter) else exact

        column = operand(predicate.place)
        condition: exp.Expr = OPERATORS[predicate.operator].test(column, list(map(value, predicate.exact)))
        return condition

    return fold(bound, leaf, _branch)


def _column(identifier: str) -> exp.Expr:
    return exp.column(exp.to_identifier(identifier, quoted=True))


def _of_items(bound: Filter, trusted: bool) -> Callable[[SqlOperand], exp.Expr]:
    def met(item: SqlOperand) -> exp.Expr:
        def find(place: Place) -> exp.Expr:
            return field_in(item.column, item.type, path_in_item(place, item.type))

        return _compiled(bound, find, trusted, item.depth)

    return met


def _branch(node: Branch, conditions: list[exp.Expr]) -> exp.Expr:
    if isinstance(node, Not):
        return complement(conditions[0])
    if not conditions:
        return exp.true() if isinstance(node, And) else exp.false()
    return _balanced(conditions, exp.And) if isinstance(node, And) else _any(conditions)


def _any(conditions: list[exp.Expr]) -> exp.Expr:
    """The rewriter of DuckDB 2.0 takes time with the square of the conditions that one OR joins, however they
    are nested: many go into branches of a CASE, which it does not look across."""
    parts = [
        _balanced(conditions[at : at + MOST_JOINED], exp.Or) for at in range(0, len(conditions), MOST_JOINED)
    ]
    if len(parts) == 1:
        return parts[0]
    return exp.Case(ifs=[exp.If(this=part, true=exp.true()) for part in parts], default=exp.false())


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
