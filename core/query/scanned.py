"""The rows of a dataset, where every query begins."""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow import types as is_
from sqlglot import exp

from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, all_of
from lamella.core.filters.to_sql import to_sql
from lamella.core.query.duckdb_types import holds
from lamella.core.query.fields import Field, Fields
from lamella.core.query.float_statistics import without_statistics
from lamella.core.query.indexed import find_by_index
from lamella.core.query.masks import pays
from lamella.core.query.nodes import Needed, Node, Rank, Running
from lamella.core.query.source import POSITION, identifier, relation, relation_at
from lamella.core.query.sql_parts import alias, cast_to, column
from lamella.core.scan.paths import chosen
from lamella.core.scan.snapshot import Column, Snapshot

MOST_TAKEN = 10_000
"""So many rows that an index finds are taken into memory; of more, the engine reads the files."""


class Scan(Node):
    """The rows of a dataset that meet `where`; `number` tells the datasets of one query apart."""

    def __init__(
        self, snapshot: Snapshot, number: int, where: tuple[Filter, ...] = (), by_id: bool = False
    ) -> None:
        """`by_id`: rows are told by a table's `_id`, which stays when positions change."""
        self.snapshot, self._number, self.where, self._by_id = snapshot, number, where, by_id
        own = [Field(c.name, c.type, self._called(c)) for c in snapshot.columns]
        self.fields = Fields(snapshot.name, tuple(own))
        self._position = f"s{number}"
        ids = snapshot.ids if by_id else None
        self.order = (Rank(self._position if ids is None else self._called(ids), position=True),)
        self.in_order = snapshot.overlay is None and not len(snapshot.deleted)

    def narrowed(self, where: Filter) -> Scan:
        bind(where, self.fields.schema, self.fields.place)
        return Scan(self.snapshot, self._number, (*self.where, where), self._by_id)

    def _columns_read(self, needed: Needed) -> list[Column]:
        filtered = {c.key for c in self._filtered()}
        return [c for c in self.snapshot.columns if c.key in filtered or self._called(c) in needed]

    def query(self, needed: Needed, running: Running) -> exp.Select:
        columns = self._columns_read(needed)
        running.read.append((self.snapshot, columns))
        wanted = [c for c in columns if self._called(c) in needed]
        found = self._by_index(wanted, running)
        rows = found or self._stored(columns, running)
        values = [alias(self._value(c), self._called(c)) for c in wanted]
        made = exp.select(alias(column(POSITION), self._position), *values, copy=False).from_(
            rows, copy=False
        )
        if not self.where or found is not None:
            return made
        return made.where(to_sql(self._bound(), {c.name: identifier(c) for c in columns}), copy=False)

    def _stored(self, columns: Sequence[Column], running: Running) -> exp.Subquery:
        """Of a large file, statistics may tell a filter more than memory does."""
        from_memory = running.grouping and (not self.where or pays(self.snapshot))
        decodings = running.decodings if from_memory else None
        return relation(self.snapshot, columns, running.cursor, job=running.job, decodings=decodings)

    def _by_index(self, wanted: Sequence[Column], running: Running) -> exp.Subquery | None:
        """The rows that meet `where`, if an index names few."""
        served = find_by_index(self.snapshot, self._bound()) if self.where else None
        if served is None or len(served.positions) > MOST_TAKEN:
            return None
        if served.index is not None:
            running.indexes.append(served.index)
        return relation_at(self.snapshot, served.positions, wanted, running.cursor)

    def _value(self, one: Column) -> exp.Expr:
        """Lists of a fixed size as lists: DuckDB 2.0 fails on null among its arrays in a list of rows."""
        value = without_statistics(self.snapshot, one)
        return cast_to(value, one.type) if holds(one.type, is_.is_fixed_size_list) else value

    def _called(self, one: Column) -> str:
        return f"s{self._number}c{one.key}"

    def _bound(self) -> Filter:
        return bind(all_of(self.where), self.fields.schema, self.fields.place)

    def _filtered(self) -> Sequence[Column]:
        from lamella.core.query.typed import columns_of

        return chosen(self.snapshot, columns_of(self._bound())) if self.where else ()
