"""The rows between the steps of a query, as relations that know their columns and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

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
    every,
    func,
    leaf,
    number,
    paren,
    quoted,
)  # fmt: skip
from lamella.core.query.find import READ_WHOLE, Method, RowSearch, Strategy, is_cacheable
from lamella.core.query.steps import Aggregates
from lamella.core.scan.snapshot import Column, Snapshot, project

Needed = frozenset[str]


@dataclass(frozen=True)
class QueryContext:
    """What rows in memory are registered on while a query runs, what it reads of which dataset, how those
    rows are found, and what is needed of the rows that its parts share, by their name. With `decodings`,
    columns of files may come from memory while it is `grouping`: for joins and sorts the engine needs the
    statistics that files have."""

    cursor: duckdb.DuckDBPyConnection
    job: Job
    read: list[tuple[Snapshot, list[Column]]] = field(default_factory=list)
    shared: dict[str, Needed] = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    decodings: Decodings | None = None
    grouping: bool = False


@dataclass(frozen=True)
class Rank:
    """A column that rows are ordered by. Nulls come last in both directions; a position is never null."""

    identifier: str
    descending: bool = False
    position: bool = False

    @property
    def sql(self) -> exp.Expr:
        return exp.Ordered(this=column(self.identifier), desc=self.descending, nulls_first=False)


Order = tuple[Rank, ...]


class Node(ABC):
    """`order` tells every two rows apart; `in_order` says that they come in it without being sorted; `depth`
    is how many nodes are built on each other."""

    fields: Fields
    order: Order
    in_order: bool = False
    depth: int = 1

    @abstractmethod
    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        """A relation with at least the columns of these identifiers."""

    @property
    def ranked(self) -> Needed:
        return frozenset(rank.identifier for rank in self.order)

    def source(self, needed: Needed, running: QueryContext, name: str = "t") -> exp.Expr:
        """The relation in parentheses, under a name."""
        inside = leaf(paren(self.query(needed, running)))
        return exp.alias_(exp.Table(this=inside), name, quoted=True, table=True)


class FilterNode(Node):
    """The rows that meet all of these conditions."""

    def __init__(self, rows: Node, met: Sequence[exp.Expr], used: Needed) -> None:
        self._rows, self._met, self._used = rows, met, used
        self.fields, self.order, self.in_order = rows.fields, rows.order, rows.in_order
        self.depth = rows.depth + 1

    def narrowed(self, met: exp.Expr, used: Needed) -> FilterNode:
        return FilterNode(self._rows, (*self._met, met), self._used | used)

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        rows = self._rows.source(needed | self._used, running)
        met = every(map(leaf, self._met))
        return exp.select("*", copy=False).from_(rows, copy=False).where(met, copy=False)


class ComputeNode(Node):
    """Further columns: each with its SQL and what that uses. `fields` are those of the answer."""

    def __init__(self, rows: Node, fields: Fields, made: dict[str, tuple[exp.Expr, Needed]]) -> None:
        self._rows, self._made, self.fields = rows, made, fields
        self.order, self.in_order = rows.order, rows.in_order
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        wanted = {name: made for name, made in self._made.items() if name in needed}
        used = Needed().union(*(used for _sql, used in wanted.values()))
        values = [alias(sql, name) for name, (sql, _used) in wanted.items()]
        rows = self._rows.source((needed - self._made.keys()) | used, running)
        return exp.select("*", *values, copy=False).from_(rows, copy=False)


class ProjectNode(Node):
    """Other names, another order or fewer of the same columns, or another order of the rows."""

    def __init__(self, rows: Node, fields: Fields, order: Order | None = None) -> None:
        self._rows, self.fields = rows, fields
        self.order = rows.order if order is None else order
        self.in_order = rows.in_order and order is None
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        return self._rows.query(needed, running)


class GroupNode(Node):
    """A row for each combination of `keys`, in their order; `made` as in `ComputeNode`, of many rows each."""

    def __init__(
        self, rows: Node, fields: Fields, keys: Sequence[str], made: dict[str, tuple[exp.Expr, Needed]]
    ) -> None:
        self._rows, self._keys, self._made, self.fields = rows, keys, made, fields
        self.order = tuple(Rank(key) for key in keys)
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        wanted = {name: made for name, made in self._made.items() if name in needed}
        used = Needed().union(self._keys, *(used for _sql, used in wanted.values()))
        keys = [column(key) for key in self._keys]
        values = [alias(sql, name) for name, (sql, _used) in wanted.items()]
        running = replace(running, grouping=True)
        if not keys and not values:
            values = [func("count", exp.Star())]
        return (
            exp.select(*keys, *values, copy=False)
            .from_(self._rows.source(used, running), copy=False)
            .group_by(*keys, copy=False)
        )


class UnnestNode(Node):
    """Each row once for each item of its lists, which are of one length: `made` as in `ComputeNode`. `rank`
    is the one that numbers the items."""

    def __init__(
        self, rows: Node, fields: Fields, made: dict[str, tuple[exp.Expr, Needed]], rank: str
    ) -> None:
        self._rows, self._made, self._rank, self.fields = rows, made, rank, fields
        self.order = (*rows.order, Rank(rank))
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        wanted = {name: made for name, made in self._made.items() if name in needed or name == self._rank}
        used = Needed().union(*(used for _sql, used in wanted.values()))
        values = [alias(func("unnest", sql), name) for name, (sql, _used) in wanted.items()]
        rows = self._rows.source((needed - self._made.keys()) | used, running)
        return exp.select("*", *values, copy=False).from_(rows, copy=False)


class JoinNode(Node):
    """Rows of two sides whose keys are equal; `keys` are pairs of columns. `left.order` tells rows that have
    no left side by nulls."""

    def __init__(
        self, left: Node, right: Node, fields: Fields, keys: Sequence[tuple[exp.Expr, exp.Expr]], how: str
    ) -> None:
        self._left, self._right, self._keys, self._how = left, right, keys, how
        self.fields = fields
        self.order = left.order if how in ("semi", "anti") else (*left.order, *right.order)
        self.depth = max(left.depth, right.depth) + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        met = every(exp.EQ(this=left, expression=right) for left, right in self._keys)
        used = Needed(reference.name for reference in met.find_all(exp.Column))
        running = replace(running, grouping=False)
        left = self._left.source(needed | used, running, "l")
        right = self._right.source(needed | used, running, "r")
        return (
            exp.select("*", copy=False)
            .from_(left, copy=False)
            .join(right, on=met, join_type=self._how, copy=False)
        )


class LimitNode(Node):
    """The first rows in an order, from some row on."""

    def __init__(
        self, rows: Node, count: int | None, offset: int, by: Sequence[exp.Expr] | None = None
    ) -> None:
        self._rows, self._count, self._offset, self._by = rows, count, offset, by
        self.fields, self.order = rows.fields, rows.order
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        ordered = self._by or [rank.sql for rank in self.order]
        running = replace(running, grouping=False)
        query = exp.select("*", copy=False).from_(
            self._rows.source(needed | self.ranked, running), copy=False
        )
        if ordered and (self._by is not None or not self._rows.in_order):
            query = query.order_by(*ordered, copy=False)
        if self._count is not None:
            query = query.limit(number(self._count), copy=False)
        return query.offset(number(self._offset), copy=False) if self._offset else query


class SharedNode(Node):
    """Rows that several queries begin with, read once: within those they are selected from a name, and what
    is needed of them is noted. A query of one part alone reads them itself."""

    def __init__(self, rows: Node, name: str) -> None:
        self._rows, self._name = rows, name
        self.fields, self.order, self.depth = rows.fields, rows.order, rows.depth

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        if self._name not in running.shared:
            return self._rows.query(needed, running)
        running.shared[self._name] |= needed
        return exp.select("*", copy=False).from_(exp.Table(this=quoted(self._name)), copy=False)

    def name(self, running: QueryContext) -> None:
        """What is built from here on selects the rows from their name."""
        running.shared[self._name] = Needed()

    def read_into(self, query: exp.Select, running: QueryContext) -> exp.Select:
        """The query with the rows under their name."""
        rows = self._rows.query(running.shared.pop(self._name), running)
        return query.with_(quoted(self._name), as_=rows, materialized=True)


class FacetNode(Node):
    """One row with the whole answer of each of several queries, as a list of its rows."""

    def __init__(self, shared: SharedNode, fields: Fields, parts: Sequence[Node]) -> None:
        self._shared, self._parts, self.fields = shared, parts, fields
        self.order = ()
        self.depth = max((part.depth for part in parts), default=shared.depth) + 1

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        wanted = [
            pair for pair in zip(self.fields.all, self._parts, strict=True) if pair[0].identifier in needed
        ]
        if not wanted:
            return exp.select(alias(number(1), "row"), copy=False)
        self._shared.name(running)
        lists = [self._packed_rows(part, field.identifier, running) for field, part in wanted]
        query = exp.select("*", copy=False).from_(lists[0], copy=False)
        for one in lists[1:]:
            query = query.join(one, join_type="cross", copy=False)
        return self._shared.read_into(query, running)

    def _packed_rows(self, part: Node, identifier: str, running: QueryContext) -> exp.Subquery:
        """One row: all rows of a part. As a scalar subquery DuckDB 2.0 fails where a full join is in it."""
        needed = Needed(field.identifier for field in part.fields.all)
        packed: exp.Expr = func("row", *(column(field.identifier) for field in part.fields.all))
        if part.order:
            packed = exp.Order(this=packed, expressions=[rank.sql for rank in part.order])
        every_row = exp.Coalesce(this=func("list", packed), expressions=[exp.Array(expressions=[])])
        rows = part.source(needed | part.ranked, running)
        listed = exp.select(alias(every_row, identifier), copy=False).from_(rows, copy=False)
        return listed.subquery(identifier, copy=False)


def sample_node(rows: Node, count: int, seed: int) -> Node:
    """Ordered by a hash of what tells the rows apart, the first ones are any rows, and always the same."""
    columns = [column(rank.identifier) for rank in rows.order]
    return LimitNode(
        rows, count, 0, [func("hash", number(seed), *columns), *(rank.sql for rank in rows.order)]
    )


def select_answer(node: Node, running: QueryContext) -> exp.Select:
    """The columns of the answer, in its order; null where it has none, for SQL has no such rows."""
    wanted: list[exp.Expr] = [column(field.identifier) for field in node.fields.all]
    wanted = wanted or [exp.Null()]
    needed = Needed(field.identifier for field in node.fields.all)
    if node.in_order or not node.order:
        return exp.select(*wanted, copy=False).from_(node.source(needed, running), copy=False)
    rows = node.source(needed | node.ranked, running)
    return (
        exp.select(*wanted, copy=False)
        .from_(rows, copy=False)
        .order_by(*(rank.sql for rank in node.order), copy=False)
    )


def select_count(node: Node, running: QueryContext) -> exp.Select:
    return exp.select(func("count", exp.Star()), copy=False).from_(node.source(Needed(), running), copy=False)


class Compiling(Protocol):
    """What a step needs of the query that it is part of."""

    job: Job

    def reachable(self, names: Iterable[str], rows: Node) -> tuple[Node, list[Field]]: ...

    def grouped(self, rows: Node, keys: Sequence[Field], aggregates: Aggregates) -> Node: ...

    def new(self) -> str: ...


class ScanNode(Node):
    """The rows of a dataset that meet `where`; `number` tells the datasets of one query apart."""

    def __init__(
        self, snapshot: Snapshot, number: int, where: tuple[Filter, ...] = (), by_id: bool = False
    ) -> None:
        """`by_id`: rows are told by a table's `_id`, which stays when positions change."""
        self.snapshot, self._number, self.where, self._by_id = snapshot, number, where, by_id
        own = [Field(c.name, c.type, self._called(c), c.note) for c in snapshot.columns]
        self.fields = Fields(snapshot.name, tuple(own))
        self._position = f"s{number}"
        ids = snapshot.ids if by_id else None
        self.order = (Rank(self._position if ids is None else self._called(ids), position=True),)
        self.in_order = snapshot.overlay is None and not len(snapshot.deleted)

    def narrowed(self, where: Filter) -> ScanNode:
        bind(where, self.fields.schema, self.fields.place)
        return ScanNode(self.snapshot, self._number, (*self.where, where), self._by_id)

    def _columns_read(self, needed: Needed) -> list[Column]:
        filtered = {c.key for c in self._filtered()}
        return [c for c in self.snapshot.columns if c.key in filtered or self._called(c) in needed]

    def query(self, needed: Needed, running: QueryContext) -> exp.Select:
        columns = self._columns_read(needed)
        running.read.append((self.snapshot, columns))
        wanted = [c for c in columns if self._called(c) in needed]
        positions = self._by_index(wanted, running)
        rows = positions or self._stored_columns(columns, running)
        values = [alias(self._value(c), self._called(c)) for c in wanted]
        made = exp.select(alias(column(POSITION), self._position), *values, copy=False).from_(
            rows, copy=False
        )
        if not self.where or positions is not None:
            return made
        return made.where(to_sql(self._bound(), {c.name: identifier(c) for c in columns}), copy=False)

    def _stored_columns(self, columns: Sequence[Column], running: QueryContext) -> exp.Subquery:
        """Of a large file, statistics may tell a filter more than memory does."""
        from_memory = running.grouping and (not self.where or is_cacheable(self.snapshot))
        decodings = running.decodings if from_memory else None
        return relation(self.snapshot, columns, running.cursor, job=running.job, decodings=decodings)

    def _by_index(self, wanted: Sequence[Column], running: QueryContext) -> exp.Subquery | None:
        """The rows that meet `where`, if an index names few."""
        if not self.where:
            running.strategies.append(READ_WHOLE)
            return None
        search = RowSearch(self.snapshot, self._bound(), statement=True)
        running.strategies.append(search.strategy)
        if search.strategy.method is not Method.INDEX:
            return None
        return relation_at(self.snapshot, search.run(running.job).positions, wanted, running.cursor)

    def _value(self, one: Column) -> exp.Expr:
        """Lists of a fixed size as lists: DuckDB 2.0 fails on null among its arrays in a list of rows."""
        value = without_statistics(self.snapshot, one)
        return cast_to(value, one.type) if holds(one.type, is_.is_fixed_size_list) else value

    def _called(self, one: Column) -> str:
        return f"s{self._number}c{one.key}"

    def _bound(self) -> Filter:
        return bind(all_of(self.where), self.fields.schema, self.fields.place)

    def _filtered(self) -> Sequence[Column]:
        from lamella.core.query.functions.table import columns_of

        return project(self.snapshot, columns_of(self._bound())) if self.where else ()
