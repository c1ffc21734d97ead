"""Keyset pagination: the rows after one that is known by its sort values. A server has no cheap access to the
thousandth row, so answers continue this way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import python_value
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.to_sql import literal
from lamella.core.filters.values import convert
from lamella.core.libraries import exp
from lamella.core.query.fields import Field, Fields, cast, cast_to, column, conjunction, func, paren, text
from lamella.core.query.plan import FilterNode, Identifiers, Node, ProjectNode, Rank
from lamella.core.query.spark.plan import EXACT, SparkCompiler

Bookmark = tuple[Any, ...]
"""The values of the last fetched row in the sort columns, including hidden ones."""


def constant(value: Any, kind: pa.DataType) -> exp.Expr:
    """A Python value as a literal of this type."""
    plain = value_type(kind)
    exact = value if isinstance(value, float) else convert(value, plain).exact
    return cast_to(literal(exact, plain), plain)


class Keyset:
    """The columns by which the rows of an answer are sorted, whether the answer shows them or not."""

    def __init__(self, node: Node, fields: Sequence[Field]) -> None:
        self._node, self._fields = node, fields

    @classmethod
    def of(cls, node: Node, compiler: SparkCompiler) -> Keyset | None:
        """The keyset of an answer; None if rows have no reliable position: the table has no key, or they are
        sorted by nested values, or by floats whose last digits may vary."""
        fields_by_id = {field.identifier: field for field in node.fields.columns}
        fields = [
            fields_by_id.get(field.identifier) or compiler.hidden_field(field.identifier)
            for field in node.order
        ]
        is_exact = all(
            kind_of(field.type) in EXACT or (kind_of(field.type) is Kind.FLOAT and compiler.is_stable(field))
            for field in fields
        )
        return cls(node, fields) if compiler.has_order and fields and is_exact else None

    def rows(self, behind: Bookmark | None) -> Node:
        """The rows of the answer, or those after a bookmark, followed by the hidden sort columns."""
        node = self._node if behind is None else self._rows_behind(behind)
        visible = Identifiers(field.identifier for field in node.fields.columns)
        hidden = [field for field in self._fields if field.identifier not in visible]
        return ProjectNode(
            node, Fields(node.fields.place, (*node.fields.columns, *hidden), node.fields.is_trusted)
        )

    def _rows_behind(self, bookmark: Bookmark) -> Node:
        """The rows after a bookmark. The order is total, so none is left out or repeated."""
        later: list[exp.Expr] = []
        equal: list[exp.Expr] = []
        for rank, value, field in zip(self._node.order, bookmark, self._fields, strict=True):
            is_later, is_equal = _compare(rank, value, field.type)
            if is_later is not None:
                later.append(conjunction([*equal, paren(is_later)]))
            equal.append(is_equal)
        condition = paren(exp.or_(*later)) if later else exp.false()
        return FilterNode(self._node, [condition], Identifiers(key.identifier for key in self._fields))

    def reader(self, pieces: Iterator[pa.Table], most: int) -> KeysetReader:
        """A reader for the pieces of `rows`."""
        places = {field.identifier: place for place, field in enumerate(self.rows(None).fields.columns)}
        columns = [places[field.identifier] for field in self._fields]
        return KeysetReader(pieces, most, len(self._node.fields.columns), columns)


class KeysetReader:
    """Yields the columns that the answer shows, piece by piece. `bookmark` is that of the last of the first
    `most` rows."""

    def __init__(self, pieces: Iterator[pa.Table], most: int, width: int, order: Sequence[int]) -> None:
        self._pieces, self._rows_left, self._width, self._order = pieces, most, width, order
        self.bookmark: Bookmark | None = None

    def __iter__(self) -> Iterator[pa.Table]:
        for piece in self._pieces:
            rows = min(piece.num_rows, self._rows_left)
            self._rows_left -= rows
            if rows:
                self.bookmark = tuple(python_value(piece.column(place)[rows - 1]) for place in self._order)
            yield piece.select(list(range(self._width)))


def _compare(rank: Rank, value: Any, kind: pa.DataType) -> tuple[exp.Expr | None, exp.Expr]:
    """Conditions for a column's value coming after `value` (None if none does), and for being equal. Nulls
    come last, and NaN of any sign is the greatest number."""
    rank_column = column(rank.identifier)
    is_null = exp.Is(this=rank_column, expression=exp.Null())
    if value is None:
        return None, is_null
    compare = exp.LT if rank.descending else exp.GT
    if kind_of(kind) is not Kind.FLOAT:
        last = constant(value, kind)
        return exp.Or(this=compare(this=rank_column, expression=last), expression=is_null), exp.EQ(
            this=rank_column.copy(), expression=last.copy()
        )
    is_nan, is_number = func("isnan", rank_column), exp.Not(this=func("isnan", rank_column.copy()))
    if math.isnan(value):
        return (exp.Or(this=is_number, expression=is_null) if rank.descending else is_null), is_nan
    last = cast(text(repr(value + 0.0)), "DOUBLE")
    number = paren(exp.Add(this=rank_column.copy(), expression=cast(text("0"), "DOUBLE")))  # -0 is 0
    is_further: exp.Expr = conjunction([is_number, compare(this=number, expression=last)])
    if not rank.descending:
        is_further = exp.Or(this=is_nan, expression=is_further)
    is_same = conjunction([is_number.copy(), exp.EQ(this=number.copy(), expression=last.copy())])
    return exp.Or(this=is_further, expression=is_null), is_same
