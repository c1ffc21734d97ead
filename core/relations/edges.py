"""A table whose rows are edges: each leads from a row of one table to a row of another, or of the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arguments import Condition, condition_of, text_of
from lamella.core.ascending import union
from lamella.core.errors import BadData, StoreProblem, UnknownRelation
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.jobs import Job
from lamella.core.query.local import answer, asked, find
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.following import COUNT, Chosen, condition, counts, of_keys
from lamella.core.relations.relation import Relation
from lamella.core.scan.rows import take_rows
from lamella.core.schema import ID
from lamella.core.store.state import State
from lamella.core.store.table import Table

if TYPE_CHECKING:
    from lamella.core.relations.graphs import Missing
    from lamella.core.store.store import Store

Way = Literal["out", "in", "both"]
"""Along the edges, against them, or either way."""


class Edges:
    """A table with two relations, to the rows where its edges begin and to those where they end. Its other
    columns are the edges' own. A row that lacks one of its ends is no edge."""

    def __init__(self, store: Store, source: Relation, target: Relation) -> None:
        self.store, self.source, self.target = store, source.usable(), target.usable()

    @property
    def table(self) -> Table:
        return self.store[self.source.from_table]

    def incident(
        self,
        row_id: int,
        direction: Way = "out",
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
    ) -> pa.Table:
        """The edges that begin ("out") or end ("in") at a row, or either; all else as for `read`.

        The row is one of the table where edges begin, or end. Raises `UnknownRow`.
        """
        table, work = self.table, job or Job()
        edges = table.state()
        begun = any_of(
            all_of((self._beginning(near, row_id, edges, work), *_whole(far)))
            for near, far in self._ways(direction)
        )
        return table.read(columns, _met(table, where, begun), sort, limit, offset, job)

    def neighbours(
        self,
        row_id: int,
        direction: Way = "out",
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
    ) -> pa.Table:
        """The rows at the other ends of those edges, each once. `where` is a condition on the edges; all else
        is as for `read` of the neighbours' table."""
        table, work, ways = self.table, job or Job(), self._ways(direction)
        edges, nodes = table.state(), self.store[ways[0][1].to_table].state()
        query = asked(nodes.snapshot, columns, None, sort, limit, offset)
        far: list[Chosen] = []
        for near, other in ways:
            chosen = _met(table, where, self._beginning(near, row_id, edges, work))
            positions = find(edges.snapshot, chosen, (), work)
            ends = take_rows(edges.snapshot, positions, edges.snapshot.select(other.from_columns))
            far.append(of_keys(ends.columns, other.to_columns, nodes, work))
        return answer(nodes.snapshot, query, job, within=_either(far, nodes, work))

    def degrees(
        self,
        row_ids: Sequence[int],
        direction: Way = "out",
        where: Condition | None = None,
        job: Job | None = None,
    ) -> pa.Table:
        """`_id` and `count`: how many edges begin or end at each of these rows, in the order given.

        An edge from a row to itself counts twice for "both".
        """
        table = self.table
        edges = table.snapshot()
        found = [
            counts(
                near.seen("in"),
                self.store[near.to_table].state(),
                row_ids,
                edges,
                _met(table, where, *_whole(far)),
                job or Job(),
            )
            for near, far in self._ways(direction)
        ]
        total = found[0]
        for more in found[1:]:
            added = pc.add(total[COUNT], more[COUNT])
            total = pa.Table.from_arrays([total[ID], added], [ID, COUNT])
        return total

    def check(self, job: Job | None = None) -> tuple[RelationCheck, ...]:
        """Whether the rows are there at which edges begin and end; see `Store.check_relations`."""
        return self.store.check_relations(self.source.name, self.target.name, job=job)

    def to_networkx(
        self,
        where: Condition | None = None,
        directed: bool = True,
        missing: Missing = "refuse",
        key: str | None = None,
        job: Job | None = None,
    ) -> Any:
        """A `networkx.MultiDiGraph`, or `MultiGraph`, of the edges that meet `where` and of all nodes.

        A node is called by its key, a tuple where that has several columns; where edges lead from one table
        to another, by the table's name and the key. The other columns are attributes, without those that are
        null. `key` names the column that tells parallel edges apart. Raises `BadData` for nodes without a key
        or with that of another, and for edges that point at nothing: with `missing="keep"` those lead to
        nodes without attributes, with "drop" they are left out.
        """
        from lamella.core.relations.graphs import graph_of

        return graph_of(
            self, condition_of(where, f"{self.table.name}: where", self.table), directed, missing, key, job
        )

    def _beginning(self, near: Relation, row_id: int, edges: State, job: Job) -> Filter:
        nodes = self.store[near.to_table].state()
        return condition(near.seen("in"), nodes, row_id, edges, job)

    def _ways(self, direction: Way) -> list[tuple[Relation, Relation]]:
        """The near and the far end of the edges that are meant."""
        ways = {"out": [(self.source, self.target)], "in": [(self.target, self.source)]}
        if direction != "both":
            if direction not in ways:
                raise BadData(f"direction cannot be {direction!r}", fix="Give 'out', 'in' or 'both'")
            return ways[direction]
        if self.source.to_table != self.target.to_table:
            raise BadData(
                f"{self.source.from_table}: its edges lead from {self.source.to_table} to"
                f" {self.target.to_table}, and a row is in one of them",
                fix="Give 'out' for where edges begin, 'in' for where they end",
            )
        return ways["out"] + ways["in"]


def _met(table: Table, where: Condition | None, *chosen: Filter) -> Filter | None:
    """What is chosen, of those rows that meet `where`."""
    met = condition_of(where, f"{table.name}: where", table)
    parts = chosen if met is None else (*chosen, met)
    return all_of(parts) if parts else None


def _whole(far: Relation) -> list[Filter]:
    """An edge has this end too. The end that it was found by is there: null is equal to nothing."""
    return [Predicate(name, "not_null") for name in far.from_columns if name != ID]


def _either(chosen: Sequence[Chosen], nodes: State, job: Job) -> np.ndarray:
    """Ascending positions of the rows that are chosen by one of them."""
    return union(*(find(nodes.snapshot, one.where, (), job, one.within) for one in chosen))


def edges_of(store: Store, table: str, source: str | None, target: str | None) -> Edges:
    """See `Store.edges`."""
    name = store[table].name
    leading = {relation.name: relation for relation in store.relations if relation.from_table == name}
    for given in (source, target):
        if given is not None and text_of(given, f"table {name}: the relation") not in leading:
            raise UnknownRelation(given, f"table {name}", leading)
    left = [relation for relation in leading.values() if relation.name not in (source, target)]
    wanted = [source, target].count(None)
    if (wanted and len(left) != wanted) or (source is not None and source == target):
        shown = "; ".join(map(str, leading.values())) or "none leads from it"
        raise StoreProblem(
            f"store {store.name}: it is not clear where the edges of {name} begin and end",
            f"two relations say that, and here there are {len(leading)}: {shown}",
            "Name both: store.edges(table, source='…', target='…')",
        )
    begin = leading[source] if source is not None else left.pop(0)
    return Edges(store, begin, leading[target] if target is not None else left.pop(0))
