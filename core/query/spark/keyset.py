"""The rows behind one that is known by its place in the order: how an answer goes on where a server has no
cheap way to the thousandth row."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested import python_value
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.to_sql import literal
from lamella.core.filters.values import convert
from lamella.core.libraries import exp
from lamella.core.query.fields import cast, cast_to, column, every, func, paren, text
from lamella.core.query.plan import FilterNode, Identifiers, Node, Rank
from lamella.core.scan.read import read_rows
from lamella.core.scan.snapshot import Snapshot

_EXACT = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN})
"""Values of which a literal is the same value on every engine."""


def constant(value: Any, kind: pa.DataType) -> exp.Expr:
    """A value of Python's as one of this type."""
    plain = value_type(kind)
    exact = value if isinstance(value, float) else convert(value, plain).exact
    return cast_to(literal(exact, plain), plain)


def rows_behind(node: Node, before: Snapshot, stored: Collection[str]) -> Node | None:
    """Those of the answer that come later than the last one of `before`, its first rows. Its order has to
    tell every two rows apart. None where nobody can say where the last row stands: what it is ordered by is
    not in the answer, holds nested or binary values, or floats that are not among the `stored` columns: the
    last digits of a computed one may differ the next time."""
    fields = {one.identifier: one for one in node.fields.all}
    ordered = [fields[rank.identifier] for rank in node.order if rank.identifier in fields]
    is_exact = all(
        kind_of(one.type) in _EXACT or (kind_of(one.type) is Kind.FLOAT and one.identifier in stored)
        for one in ordered
    )
    if not node.order or len(ordered) < len(node.order) or not is_exact or not before.num_rows:
        return None
    columns = [before.by_name[one.name] for one in ordered]
    row = read_rows(before, before.num_rows - 1, 1, columns)
    values = [python_value(values[0]) for values in row.columns]
    later: list[exp.Expr] = []
    equal: list[exp.Expr] = []
    for rank, value, one in zip(node.order, values, ordered, strict=True):
        is_later, is_equal = _compare(rank, value, one.type)
        if is_later is not None:
            later.append(every([*equal, paren(is_later)]))
        equal.append(is_equal)
    condition = paren(exp.or_(*later)) if later else exp.false()
    return FilterNode(node, [condition], Identifiers(one.identifier for one in ordered))


def _compare(rank: Rank, value: Any, kind: pa.DataType) -> tuple[exp.Expr | None, exp.Expr]:
    """Whether a column's value comes later than this one, None where none does, and whether it is equal.
    Nulls come last, and NaN, of any sign, is the greatest number."""
    here = column(rank.identifier)
    is_null = exp.Is(this=here, expression=exp.Null())
    if value is None:
        return None, is_null
    compare = exp.LT if rank.descending else exp.GT
    if kind_of(kind) is not Kind.FLOAT:
        last = constant(value, kind)
        return exp.Or(this=compare(this=here, expression=last), expression=is_null), exp.EQ(
            this=here.copy(), expression=last.copy()
        )
    is_nan, is_number = func("isnan", here), exp.Not(this=func("isnan", here.copy()))
    if math.isnan(value):
        return (exp.Or(this=is_number, expression=is_null) if rank.descending else is_null), is_nan
    last = cast(text(repr(value + 0.0)), "DOUBLE")
    number = paren(exp.Add(this=here.copy(), expression=cast(text("0"), "DOUBLE")))  # -0 is 0
    is_further: exp.Expr = every([is_number, compare(this=number, expression=last)])
    if not rank.descending:
        is_further = exp.Or(this=is_nan, expression=is_further)
    is_same = every([is_number.copy(), exp.EQ(this=number.copy(), expression=last.copy())])
    return exp.Or(this=is_further, expression=is_null), is_same
