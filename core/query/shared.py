"""Rows that several queries begin with, and the answers of those together."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lamella.core.query.fields import Fields
from lamella.core.query.nodes import Needed, Node, Running
from lamella.core.query.sql_parts import alias, column, func, number, quoted


class Shared(Node):
    """Rows that several queries begin with, read once: within those they are selected from a name, and what
    is needed of them is noted. A query of one part alone reads them itself."""

    def __init__(self, rows: Node, name: str) -> None:
        self._rows, self._name = rows, name
        self.fields, self.order, self.depth = rows.fields, rows.order, rows.depth

    def query(self, needed: Needed, running: Running) -> exp.Select:
        if self._name not in running.shared:
            return self._rows.query(needed, running)
        running.shared[self._name] |= needed
        return exp.select("*", copy=False).from_(exp.Table(this=quoted(self._name)), copy=False)

    def name(self, running: Running) -> None:
        """What is built from here on selects the rows from their name."""
        running.shared[self._name] = Needed()

    def read_into(self, query: exp.Select, running: Running) -> exp.Select:
        """The query with the rows under their name."""
        rows = self._rows.query(running.shared.pop(self._name), running)
        return query.with_(quoted(self._name), as_=rows, materialized=True)


class Faceted(Node):
    """One row with the whole answer of each of several queries, as a list of its rows."""

    def __init__(self, shared: Shared, fields: Fields, parts: Sequence[Node]) -> None:
        self._shared, self._parts, self.fields = shared, parts, fields
        self.order = ()
        self.depth = max((part.depth for part in parts), default=shared.depth) + 1

    def query(self, needed: Needed, running: Running) -> exp.Select:
        wanted = [
            pair for pair in zip(self.fields.all, self._parts, strict=True) if pair[0].identifier in needed
        ]
        if not wanted:
            return exp.select(alias(number(1), "row"), copy=False)
        self._shared.name(running)
        lists = [self._listed(part, field.identifier, running) for field, part in wanted]
        query = exp.select("*", copy=False).from_(lists[0], copy=False)
        for one in lists[1:]:
            query = query.join(one, join_type="cross", copy=False)
        return self._shared.read_into(query, running)

    def _listed(self, part: Node, identifier: str, running: Running) -> exp.Subquery:
        """One row: all rows of a part. As a scalar subquery DuckDB 2.0 fails where a full join is in it."""
        held = Needed(field.identifier for field in part.fields.all)
        packed: exp.Expr = func("row", *(column(field.identifier) for field in part.fields.all))
        if part.order:
            packed = exp.Order(this=packed, expressions=[rank.sql for rank in part.order])
        every_row = exp.Coalesce(this=func("list", packed), expressions=[exp.Array(expressions=[])])
        rows = part.source(held | part.ranked, running)
        listed = exp.select(alias(every_row, identifier), copy=False).from_(rows, copy=False)
        return listed.subquery(identifier, copy=False)
