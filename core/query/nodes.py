"""The rows between the steps of a query, as relations that know their columns and their order.

Each node builds on the one before it, and is asked for SQL with the columns that are needed of it: so a
file's columns are read only where something uses them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import duckdb
from sqlglot import exp

from lamella.core.jobs import Job
from lamella.core.query.decoded import Decodings
from lamella.core.query.fields import Fields
from lamella.core.query.sql_parts import alias, column, every, func, leaf, number, paren
from lamella.core.scan.snapshot import Column, Snapshot

Needed = frozenset[str]


@dataclass(frozen=True)
class Running:
    """What rows in memory are registered on while a query runs, what it reads of which dataset, by which
    indexes, and what is needed of the rows that its parts share, by their name. With `decodings`, columns of
    files may come from memory while it is `grouping`: for joins and sorts the engine needs the statistics
    that files have."""

    cursor: duckdb.DuckDBPyConnection
    job: Job
    read: list[tuple[Snapshot, list[Column]]] = field(default_factory=list)
    shared: dict[str, Needed] = field(default_factory=dict)
    indexes: list[str] = field(default_factory=list)
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
    def query(self, needed: Needed, running: Running) -> exp.Select:
        """A relation with at least the columns of these identifiers."""

    @property
    def ranked(self) -> Needed:
        return frozenset(rank.identifier for rank in self.order)

    def source(self, needed: Needed, running: Running, name: str = "t") -> exp.Expr:
        """The relation in parentheses, under a name."""
        inside = leaf(paren(self.query(needed, running)))
        return exp.alias_(exp.Table(this=inside), name, quoted=True, table=True)


class Filtered(Node):
    """The rows that meet all of these conditions."""

    def __init__(self, rows: Node, met: Sequence[exp.Expr], used: Needed) -> None:
        self._rows, self._met, self._used = rows, met, used
        self.fields, self.order, self.in_order = rows.fields, rows.order, rows.in_order
        self.depth = rows.depth + 1

    def narrowed(self, met: exp.Expr, used: Needed) -> Filtered:
        return Filtered(self._rows, (*self._met, met), self._used | used)

    def query(self, needed: Needed, running: Running) -> exp.Select:
        rows = self._rows.source(needed | self._used, running)
        met = every(map(leaf, self._met))
        return exp.select("*", copy=False).from_(rows, copy=False).where(met, copy=False)


class Computed(Node):
    """Further columns: each with its SQL and what that uses. `fields` are those of the answer."""

    def __init__(self, rows: Node, fields: Fields, made: dict[str, tuple[exp.Expr, Needed]]) -> None:
        self._rows, self._made, self.fields = rows, made, fields
        self.order, self.in_order = rows.order, rows.in_order
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
        wanted = {name: made for name, made in self._made.items() if name in needed}
        used = Needed().union(*(used for _sql, used in wanted.values()))
        values = [alias(sql, name) for name, (sql, _used) in wanted.items()]
        rows = self._rows.source((needed - self._made.keys()) | used, running)
        return exp.select("*", *values, copy=False).from_(rows, copy=False)


class Chosen(Node):
    """Other names, another order or fewer of the same columns, or another order of the rows."""

    def __init__(self, rows: Node, fields: Fields, order: Order | None = None) -> None:
        self._rows, self.fields = rows, fields
        self.order = rows.order if order is None else order
        self.in_order = rows.in_order and order is None
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
        return self._rows.query(needed, running)


class Grouped(Node):
    """A row for each combination of `keys`, in their order; `made` as in `Computed`, of many rows each."""

    def __init__(
        self, rows: Node, fields: Fields, keys: Sequence[str], made: dict[str, tuple[exp.Expr, Needed]]
    ) -> None:
        self._rows, self._keys, self._made, self.fields = rows, keys, made, fields
        self.order = tuple(Rank(key) for key in keys)
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
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


class Unnested(Node):
    """Each row once for each item of its lists, which are of one length: `made` as in `Computed`. `rank` is
    the one that numbers the items."""

    def __init__(
        self, rows: Node, fields: Fields, made: dict[str, tuple[exp.Expr, Needed]], rank: str
    ) -> None:
        self._rows, self._made, self._rank, self.fields = rows, made, rank, fields
        self.order = (*rows.order, Rank(rank))
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
        wanted = {name: made for name, made in self._made.items() if name in needed or name == self._rank}
        used = Needed().union(*(used for _sql, used in wanted.values()))
        values = [alias(func("unnest", sql), name) for name, (sql, _used) in wanted.items()]
        rows = self._rows.source((needed - self._made.keys()) | used, running)
        return exp.select("*", *values, copy=False).from_(rows, copy=False)


class Joined(Node):
    """Rows of two sides whose keys are equal; `keys` are pairs of columns. `left.order` tells rows that have
    no left side by nulls."""

    def __init__(
        self, left: Node, right: Node, fields: Fields, keys: Sequence[tuple[exp.Expr, exp.Expr]], how: str
    ) -> None:
        self._left, self._right, self._keys, self._how = left, right, keys, how
        self.fields = fields
        self.order = left.order if how in ("semi", "anti") else (*left.order, *right.order)
        self.depth = max(left.depth, right.depth) + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
        met = every(exp.EQ(this=left, expression=right) for left, right in self._keys)
        used = Needed(found.name for found in met.find_all(exp.Column))
        running = replace(running, grouping=False)
        left = self._left.source(needed | used, running, "l")
        right = self._right.source(needed | used, running, "r")
        return (
            exp.select("*", copy=False)
            .from_(left, copy=False)
            .join(right, on=met, join_type=self._how, copy=False)
        )


class Cut(Node):
    """The first rows in an order, from some row on."""

    def __init__(
        self, rows: Node, count: int | None, offset: int, by: Sequence[exp.Expr] | None = None
    ) -> None:
        self._rows, self._count, self._offset, self._by = rows, count, offset, by
        self.fields, self.order = rows.fields, rows.order
        self.depth = rows.depth + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
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


def sampled(rows: Node, count: int, seed: int) -> Node:
    """Ordered by a hash of what tells the rows apart, the first ones are any rows, and always the same."""
    told = [column(rank.identifier) for rank in rows.order]
    return Cut(rows, count, 0, [func("hash", number(seed), *told), *(rank.sql for rank in rows.order)])


def whole(node: Node, running: Running) -> exp.Select:
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


def counted(node: Node, running: Running) -> exp.Select:
    return exp.select(func("count", exp.Star()), copy=False).from_(node.source(Needed(), running), copy=False)
