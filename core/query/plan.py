"""The nodes of a compiled query: relations that know their columns and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.types import holds
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, all_of
from lamella.core.filters.to_sql import to_sql
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, exp
from lamella.core.query.duckdb_source import (
    POSITION,
    Decodings,
    identifier,
    relation,
    relation_at,
    without_statistics,
)
from lamella.core.query.fields import (
    Field,
    Fields,
    alias,
    cast_to,
    column,
    conjunction,
    func,
    leaf,
    number,
    paren,
    quote_identifier,
)  # fmt: skip
from lamella.core.query.find import READ_WHOLE, Method, RowSearch, Strategy, is_cacheable
from lamella.core.query.steps import Aggregates
from lamella.core.scan.snapshot import Column, Snapshot, project

Identifiers = frozenset[str]
Values: TypeAlias = "dict[str, tuple[exp.Expr, Identifiers]]"
"""Computed columns by identifier: the SQL of each, and the columns that it reads."""


@dataclass(frozen=True)
class QueryContext:
    """The state of a running query. Rows in memory are registered on `cursor`. `read` records what is read of
    each dataset, `strategies` how its rows are found, and `shared_columns` which columns are needed of rows
    that several parts share, by name. With `decodings`, columns of files may come from memory while
    `grouping`; for joins and sorts DuckDB needs the statistics in the files."""

    cursor: duckdb.DuckDBPyConnection
    job: Job
    read: list[tuple[Snapshot, list[Column]]] = field(default_factory=list)
    shared_columns: dict[str, Identifiers] = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    decodings: Decodings | None = None
    grouping: bool = False


@dataclass(frozen=True)
class Rank:
    """A column that rows are sorted by. Nulls come last in both directions; a `position` is never null."""

    identifier: str
    descending: bool = False
    position: bool = False

    @property
    def sql(self) -> exp.Expr:
        return exp.Ordered(this=column(self.identifier), desc=self.descending, nulls_first=False)


Order = tuple[Rank, ...]


class Node(ABC):
    """A relation. `order` is a total order of the rows; `in_order` means that they arrive in it without
    sorting; `depth` is the number of nested nodes."""

    fields: Fields
    order: Order
    in_order: bool = False
    depth: int = 1

    @abstractmethod
    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        """A SELECT with at least the columns of these identifiers."""

    @property
    def order_columns(self) -> Identifiers:
        return frozenset(rank.identifier for rank in self.order)

    def source(self, identifiers: Identifiers, context: QueryContext, name: str = "t") -> exp.Expr:
        """The relation in parentheses, with an alias."""
        inside = leaf(paren(self.query(identifiers, context)))
        return exp.alias_(exp.Table(this=inside), name, quoted=True, table=True)


class FilterNode(Node):
    """The rows that meet all of these conditions."""

    def __init__(self, rows: Node, conditions: Sequence[exp.Expr], inputs: Identifiers) -> None:
        self._rows, self._conditions, self._inputs = rows, conditions, inputs
        self.fields, self.order, self.in_order = rows.fields, rows.order, rows.in_order
        self.depth = rows.depth + 1

    def with_filter(self, condition: exp.Expr, inputs: Identifiers) -> FilterNode:
        return FilterNode(self._rows, (*self._conditions, condition), self._inputs | inputs)

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        rows = self._rows.source(identifiers | self._inputs, context)
        condition = conjunction(map(leaf, self._conditions))
        return exp.select("*", copy=False).from_(rows, copy=False).where(condition, copy=False)


def _values_for(identifiers: Collection[str], values: Values) -> tuple[dict[str, exp.Expr], Identifiers]:
    """Choose values by identifier; return their SQL, and the columns that they read."""
    used_values = {name: value for name, value in values.items() if name in identifiers}
    inputs = Identifiers().union(*(inputs for _sql, inputs in used_values.values()))
    return {name: sql for name, (sql, _inputs) in used_values.items()}, inputs


class ComputeNode(Node):
    """Adds columns: each with its SQL, and the columns that it reads. `fields` are the columns of the
    result."""

    def __init__(self, rows: Node, fields: Fields, values: Values) -> None:
        self._rows, self._values, self.fields = rows, values, fields
        self.order, self.in_order = rows.order, rows.in_order
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        values, inputs = _values_for(identifiers, self._values)
        columns = [alias(sql, name) for name, sql in values.items()]
        rows = self._rows.source((identifiers - self._values.keys()) | inputs, context)
        return exp.select("*", *columns, copy=False).from_(rows, copy=False)


class ProjectNode(Node):
    """Renames, reorders or drops columns, or sorts the rows."""

    def __init__(self, rows: Node, fields: Fields, order: Order | None = None) -> None:
        self._rows, self.fields = rows, fields
        self.order = rows.order if order is None else order
        self.in_order = rows.in_order and order is None
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        return self._rows.query(identifiers, context)


class GroupNode(Node):
    """One row for each combination of `keys`, sorted by them; `values` are aggregates."""

    def __init__(self, rows: Node, fields: Fields, keys: Sequence[str], values: Values) -> None:
        self._rows, self._keys, self._values, self.fields = rows, keys, values, fields
        self.order = tuple(Rank(key) for key in keys)
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        values, inputs = _values_for(identifiers, self._values)
        keys = [column(key) for key in self._keys]
        columns = [*keys, *(alias(sql, name) for name, sql in values.items())]
        rows = self._rows.source(inputs.union(self._keys), replace(context, grouping=True))
        return (
            exp.select(*(columns or [func("count", exp.Star())]), copy=False)
            .from_(rows, copy=False)
            .group_by(*keys, copy=False)
        )


class UnnestNode(Node):
    """Repeats each row once per item of its lists, `values`, which have equal lengths; `rank` numbers the
    items."""

    def __init__(self, rows: Node, fields: Fields, values: Values, rank: str) -> None:
        self._rows, self._values, self._rank, self.fields = rows, values, rank, fields
        self.order = (*rows.order, Rank(rank))
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        values, inputs = _values_for(identifiers | {self._rank}, self._values)
        columns = [alias(func("unnest", sql), name) for name, sql in values.items()]
        rows = self._rows.source((identifiers - self._values.keys()) | inputs, context)
        return exp.select("*", *columns, copy=False).from_(rows, copy=False)


class JoinNode(Node):
    """Combines rows of two sides with equal keys; `keys` are pairs of columns. Rows without a left side have
    nulls in `left.order`."""

    def __init__(
        self, left: Node, right: Node, fields: Fields, keys: Sequence[tuple[exp.Expr, exp.Expr]], how: str
    ) -> None:
        self._left, self._right, self._keys, self._how = left, right, keys, how
        self.fields = fields
        self.order = left.order if how in ("semi", "anti") else (*left.order, *right.order)
        self.depth = max(left.depth, right.depth) + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        condition = conjunction(exp.EQ(this=left, expression=right) for left, right in self._keys)
        inputs = Identifiers(reference.name for reference in condition.find_all(exp.Column))
        context = replace(context, grouping=False)
        left = self._left.source(identifiers | inputs, context, "l")
        right = self._right.source(identifiers | inputs, context, "r")
        return (
            exp.select("*", copy=False)
            .from_(left, copy=False)
            .join(right, on=condition, join_type=self._how, copy=False)
        )


class LimitNode(Node):
    """The first `count` rows in an order, from row `offset` on."""

    def __init__(
        self, rows: Node, count: int | None, offset: int, by: Sequence[exp.Expr] | None = None
    ) -> None:
        self._rows, self._count, self._offset, self._by = rows, count, offset, by
        self.fields, self.order = rows.fields, rows.order
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        ordered = self._by or [rank.sql for rank in self.order]
        context = replace(context, grouping=False)
        query = exp.select("*", copy=False).from_(
            self._rows.source(identifiers | self.order_columns, context), copy=False
        )
        if ordered and (self._by is not None or not self._rows.in_order):
            query = query.order_by(*ordered, copy=False)
        if self._count is not None:
            query = query.limit(number(self._count), copy=False)
        return query.offset(number(self._offset), copy=False) if self._offset else query


class SharedNode(Node):
    """Rows that several queries start from, read once. Inside those queries they are selected by name, and
    the columns needed are recorded. A query of a single part reads the rows directly."""

    def __init__(self, rows: Node, name: str) -> None:
        self._rows, self._name = rows, name
        self.fields, self.order, self.depth = rows.fields, rows.order, rows.depth

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        if self._name not in context.shared_columns:
            return self._rows.query(identifiers, context)
        context.shared_columns[self._name] |= identifiers
        return exp.select("*", copy=False).from_(exp.Table(this=quote_identifier(self._name)), copy=False)

    def name(self, context: QueryContext) -> None:
        """Make everything built from now on select the rows by their name."""
        context.shared_columns[self._name] = Identifiers()

    def read_into(self, query: exp.Select, context: QueryContext) -> exp.Select:
        """Add the rows, under their name, to the query."""
        rows = self._rows.query(context.shared_columns.pop(self._name), context)
        return query.with_(quote_identifier(self._name), as_=rows, materialized=True)


class FacetNode(Node):
    """One row with the whole answers of several queries, each as a list of rows."""

    def __init__(self, shared: SharedNode, fields: Fields, parts: Sequence[Node]) -> None:
        self._shared_node, self._parts, self.fields = shared, parts, fields
        self.order = ()
        self.depth = max((part.depth for part in parts), default=shared.depth) + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        parts = [
            pair
            for pair in zip(self.fields.columns, self._parts, strict=True)
            if pair[0].identifier in identifiers
        ]
        if not parts:
            return exp.select(alias(number(1), "row"), copy=False)
        self._shared_node.name(context)
        lists = [self._packed_rows(part, field.identifier, context) for field, part in parts]
        query = exp.select("*", copy=False).from_(lists[0], copy=False)
        for query_part in lists[1:]:
            query = query.join(query_part, join_type="cross", copy=False)
        return self._shared_node.read_into(query, context)

    def _packed_rows(self, part: Node, identifier: str, context: QueryContext) -> exp.Subquery:
        """One row with a list of all rows of a part. DuckDB 2.0 fails on a scalar subquery that contains a
        full join."""
        identifiers = Identifiers(field.identifier for field in part.fields.columns)
        rows_value: exp.Expr = func("row", *(column(field.identifier) for field in part.fields.columns))
        if part.order:
            rows_value = exp.Order(this=rows_value, expressions=[rank.sql for rank in part.order])
        every_row = exp.Coalesce(this=func("list", rows_value), expressions=[exp.Array(expressions=[])])
        rows = part.source(identifiers | part.order_columns, context)
        query = exp.select(alias(every_row, identifier), copy=False).from_(rows, copy=False)
        return query.subquery(identifier, copy=False)


def sample_node(rows: Node, count: int, seed: int) -> Node:
    """The first rows, sorted by a hash of the columns that identify rows: a random sample that stays the
    same."""
    columns = [column(rank.identifier) for rank in rows.order]
    return LimitNode(
        rows, count, 0, [func("hash", number(seed), *columns), *(rank.sql for rank in rows.order)]
    )


def select_answer(node: Node, context: QueryContext) -> exp.Select:
    """Select the columns of the answer, in order; null if there are none, since SQL has no rows without
    columns."""
    columns: list[exp.Expr] = [column(field.identifier) for field in node.fields.columns]
    columns = columns or [exp.Null()]
    identifiers = Identifiers(field.identifier for field in node.fields.columns)
    if node.in_order or not node.order:
        return exp.select(*columns, copy=False).from_(node.source(identifiers, context), copy=False)
    rows = node.source(identifiers | node.order_columns, context)
    return (
        exp.select(*columns, copy=False)
        .from_(rows, copy=False)
        .order_by(*(rank.sql for rank in node.order), copy=False)
    )


def select_count(node: Node, context: QueryContext) -> exp.Select:
    rows = node.source(Identifiers(), context)
    return exp.select(func("count", exp.Star()), copy=False).from_(rows, copy=False)


class Compiling(Protocol):
    """The operations that steps need from the compiler of their query."""

    job: Job

    def reachable(self, names: Iterable[str], rows: Node) -> tuple[Node, list[Field]]: ...

    def group_node(self, rows: Node, keys: Sequence[Field], aggregates: Aggregates) -> Node: ...

    def read(self, node: Node, most: int | None = None) -> pa.Table: ...

    def new(self) -> str: ...


class ScanNode(Node):
    """The rows of a dataset that meet `where`; `number` distinguishes the datasets of a query."""

    def __init__(
        self, snapshot: Snapshot, number: int, where: tuple[Filter, ...] = (), by_id: bool = False
    ) -> None:
        """`by_id` identifies rows by a table's `_id`, which stays the same when positions change."""
        self.snapshot, self._number, self.where, self._by_id = snapshot, number, where, by_id
        fields = [Field(c.name, c.type, self._identifier(c), c.note) for c in snapshot.columns]
        self.fields = Fields(snapshot.name, tuple(fields))
        self._position = f"s{number}"
        ids = snapshot.ids if by_id else None
        self.order = (Rank(self._position if ids is None else self._identifier(ids), position=True),)
        self.in_order = snapshot.overlay is None and not len(snapshot.deleted_positions)

    def with_filter(self, where: Filter) -> ScanNode:
        bind(where, self.fields.schema, self.fields.place)
        return ScanNode(self.snapshot, self._number, (*self.where, where), self._by_id)

    def _columns_read(self, identifiers: Identifiers) -> list[Column]:
        filtered = {c.key for c in self._filter_columns()}
        return [c for c in self.snapshot.columns if c.key in filtered or self._identifier(c) in identifiers]

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        columns = self._columns_read(identifiers)
        context.read.append((self.snapshot, columns))
        visible = [c for c in columns if self._identifier(c) in identifiers]
        positions = self._by_index(visible, context)
        rows = positions or self._stored_columns(columns, context)
        values = [alias(self._value(c), self._identifier(c)) for c in visible]
        query = exp.select(alias(column(POSITION), self._position), *values, copy=False).from_(
            rows, copy=False
        )
        if not self.where or positions is not None:
            return query
        return query.where(to_sql(self._bound_filter(), {c.name: identifier(c) for c in columns}), copy=False)

    def _stored_columns(self, columns: Sequence[Column], context: QueryContext) -> exp.Subquery:
        """The stored columns. For a large file, a filter may gain more from statistics than from decoded
        columns."""
        from_memory = context.grouping and (not self.where or is_cacheable(self.snapshot))
        decodings = context.decodings if from_memory else None
        return relation(self.snapshot, columns, context.cursor, job=context.job, decodings=decodings)

    def _by_index(self, columns: Sequence[Column], context: QueryContext) -> exp.Subquery | None:
        """The rows that meet `where`, if an index finds them and they are few."""
        if not self.where:
            context.strategies.append(READ_WHOLE)
            return None
        search = RowSearch(self.snapshot, self._bound_filter(), statement=True)
        context.strategies.append(search.strategy)
        if search.strategy.method is not Method.INDEX:
            return None
        return relation_at(self.snapshot, search.run(context.job).positions, columns, context.cursor)

    def _value(self, column_: Column) -> exp.Expr:
        """A column's value. Fixed-size lists become lists: DuckDB 2.0 fails on nulls among arrays in a list
        of rows."""
        value = without_statistics(self.snapshot, column_)
        return cast_to(value, column_.type) if holds(column_.type, is_.is_fixed_size_list) else value

    def _identifier(self, column_: Column) -> str:
        return f"s{self._number}c{column_.key}"

    def _bound_filter(self) -> Filter:
        return bind(all_of(self.where), self.fields.schema, self.fields.place)

    def _filter_columns(self) -> Sequence[Column]:
        from lamella.core.query.functions.table import columns_of

        return project(self.snapshot, columns_of(self._bound_filter())) if self.where else ()
