"""The rows behind one that is known by its place in the order: how an answer goes on where a server has no
cheap way to the thousandth row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested import python_value
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.to_sql import literal
from lamella.core.filters.values import convert
from lamella.core.libraries import exp
from lamella.core.query.fields import cast_to, column, every, paren
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


def rows_behind(node: Node, before: Snapshot) -> Node | None:
    """Those of the answer that come later than the last one of `before`, its first rows. Its order has to
    tell every two rows apart. None where nobody can say where the last row stands: what it is ordered by is
    not in the answer, or holds floats or nested values."""
    fields = {one.identifier: one for one in node.fields.all}
    ordered = [fields[rank.identifier] for rank in node.order if rank.identifier in fields]
    is_exact = all(kind_of(one.type) in _EXACT for one in ordered)
    if not node.order or len(ordered) < len(node.order) or not is_exact or not before.num_rows:
        return None
    columns = [before.by_name[one.name] for one in ordered]
    row = read_rows(before, before.num_rows - 1, 1, columns)
    values = [python_value(values[0]) for values in row.columns]
    last = [
        None if value is None else constant(value, one.type)
        for value, one in zip(values, ordered, strict=True)
    ]
    inputs = Identifiers(one.identifier for one in ordered)
    return FilterNode(node, [_is_behind(node.order, last)], inputs)


def _is_behind(order: tuple[Rank, ...], last: list[exp.Expr | None]) -> exp.Expr:
    """Whether a row comes later than one with these values: nulls are last, so nothing is later than null."""
    later: list[exp.Expr] = []
    equal: list[exp.Expr] = []
    for rank, value in zip(order, last, strict=True):
        here = column(rank.identifier)
        is_null = exp.Is(this=here, expression=exp.Null())
        if value is None:
            equal.append(is_null)
            continue
        compare = exp.LT if rank.descending else exp.GT
        further = exp.Or(this=compare(this=here, expression=value), expression=is_null)
        later.append(every([*equal, paren(further)]))
        equal.append(exp.EQ(this=here.copy(), expression=value.copy()))
    return paren(exp.or_(*later)) if later else exp.false()
