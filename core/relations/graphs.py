"""Tables whose rows are edges, and their conversion to and from networkx graphs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import take
from lamella.core.arrow.documents import whole
from lamella.core.arrow.nested_values import python_rows, python_values
from lamella.core.arrow.sorted_ids import union
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, LamellaError, StoreProblem, UnknownRelation, short_text
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.jobs import Job
from lamella.core.query.find import find_rows
from lamella.core.query.scan_query import read_scan, scan_query_of
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.following import (
    COUNT,
    Keys,
    RowSelection,
    condition,
    counts,
    of_keys,
    valid_rows,
)
from lamella.core.relations.relation import Relation
from lamella.core.scan.read import take_rows
from lamella.core.scan.row_ids import IdentifiedRows
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.validation import names_of, text_of

Way = Literal["out", "in", "both"]
"""Along the edges, against them, or both."""


class RelatedTable(Protocol):
    """The part of a store's table that edges need."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    def snapshot(self) -> Snapshot: ...

    def read(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
    ) -> pa.Table: ...


class DeclaredRelations(Protocol):
    """The part of a store's relations that edges and graphs need."""

    def __iter__(self) -> Iterator[Relation]: ...

    def declare(self, one: str | Iterable[str], other: str | Iterable[str]) -> Relation: ...

    def check(self, *names: str, job: Job | None = None) -> tuple[RelationCheck, ...]: ...


RowsOf = Callable[[str], IdentifiedRows]
"""Returns the current rows of the table with this name."""


class RelatedTables(Protocol):
    """The part of a store that edges and graphs need."""

    @property
    def name(self) -> str: ...

    @property
    def relations(self) -> DeclaredRelations: ...

    def __getitem__(self, name: str) -> RelatedTable: ...

    def create_table(self, name: str, data: Any, *, job: Job | None = None) -> object: ...

    def transaction(self, message: str) -> AbstractContextManager[object]: ...


class Edges:
    """A table with two relations: to the rows where its edges begin, and to the rows where they end. Its
    other columns are attributes of the edges. A row in which either end is null is not an edge."""

    def __init__(self, store: RelatedTables, rows_of: RowsOf, source: Relation, target: Relation) -> None:
        self.store, self.source, self.target = store, source.usable(), target.usable()
        self._rows_of = rows_of

    @property
    def table(self) -> RelatedTable:
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
        """Return the edges that begin ("out") or end ("in") at a row, or both; the rest is as for `read`.

        The row belongs to the table where edges begin or end. Raises `UnknownRow`.
        """
        table, work = self.table, job or Job()
        edges = self._rows_of(self.source.from_table)
        begun = any_of(
            all_of((self._beginning(near, row_id, edges, work), *_whole(far)))
            for near, far in self._ways(direction)
        )
        return table.read(columns, _narrow(table, where, begun), sort, limit, offset, job)

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
        """Return the rows at the other ends of those edges, each once. `where` is a condition on the edges;
        the rest is as for `read` of the neighbours' table."""
        table, work, ways = self.table, job or Job(), self._ways(direction)
        edges = self._rows_of(self.source.from_table)
        nodes = self._rows_of(ways[0][1].to_table)
        query = scan_query_of(nodes.snapshot, columns, None, sort, limit, offset)
        far: list[RowSelection] = []
        for near, onward in ways:
            rows = _narrow(table, where, self._beginning(near, row_id, edges, work))
            positions = find_rows(edges.snapshot, rows, (), work)
            end_keys = take_rows(edges.snapshot, positions, edges.snapshot.select(onward.from_columns))
            far.append(of_keys(end_keys.columns, onward.to_columns, nodes, work))
        return read_scan(nodes.snapshot, query, job, within=_either(far, nodes, work))

    def degrees(
        self,
        row_ids: Sequence[int],
        direction: Way = "out",
        where: Condition | None = None,
        job: Job | None = None,
    ) -> pa.Table:
        """Return `_id` and `count`: how many edges begin or end at each of these rows, in the order given.

        An edge from a row to itself counts twice for "both".
        """
        table = self.table
        edges = table.snapshot()
        degrees = [
            counts(
                near.link("in"),
                self._rows_of(near.to_table),
                row_ids,
                edges,
                _narrow(table, where, *_whole(far)),
                job or Job(),
            )
            for near, far in self._ways(direction)
        ]
        total = degrees[0]
        for more in degrees[1:]:
            added = pc.add(total[COUNT], more[COUNT])
            total = pa.Table.from_arrays([total[ID], added], [ID, COUNT])
        return total

    def check(self, job: Job | None = None) -> tuple[RelationCheck, ...]:
        """Check that the rows where edges begin and end exist; see `store.relations.check`."""
        return self.store.relations.check(self.source.name, self.target.name, job=job)

    def to_networkx(
        self,
        where: Condition | None = None,
        directed: bool = True,
        missing: Missing = "refuse",
        key: str | None = None,
        job: Job | None = None,
    ) -> Any:
        """Return a `networkx.MultiDiGraph`, or `MultiGraph`, of the edges that meet `where` and of all nodes.

        A node is identified by its key, which is a tuple if it has several columns; if edges lead from one
        table to another, by the table's name and the key. The other columns become attributes, except nulls.
        `key` names the column that tells parallel edges apart. Raises `BadData` for nodes with no key or a
        duplicate key, and for edges that point at nothing: with `missing="keep"` these lead to nodes without
        attributes, with "drop" they are left out.
        """
        return graph_of(
            self, condition_of(where, f"{self.table.name}: where", self.table), directed, missing, key, job
        )

    def _beginning(self, near: Relation, row_id: int, edges: IdentifiedRows, job: Job) -> Filter:
        nodes = self._rows_of(near.to_table)
        return condition(near.link("in"), nodes, row_id, edges, job)

    def _ways(self, direction: Way) -> list[tuple[Relation, Relation]]:
        """Return the near and the far end of the edges in this direction."""
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


def _narrow(table: RelatedTable, where: Condition | None, *selections: Filter) -> Filter | None:
    """Combine the selections with `where`."""
    predicate = condition_of(where, f"{table.name}: where", table)
    parts = selections if predicate is None else (*selections, predicate)
    return all_of(parts) if parts else None


def _whole(far: Relation) -> list[Filter]:
    """Return the condition that the far end is not null. The near end never is: null equals nothing."""
    return [Predicate(name, "not_null") for name in far.from_columns if name != ID]


def _either(selections: Sequence[RowSelection], nodes: IdentifiedRows, job: Job) -> np.ndarray:
    """Return the ascending positions of the rows in any of the selections."""
    return union(
        *(find_rows(nodes.snapshot, selection.where, (), job, selection.within) for selection in selections)
    )


def edges_of(
    store: RelatedTables, rows_of: RowsOf, table: str, source: str | None, target: str | None
) -> Edges:
    """Return a table as edges; `source` and `target` name the relations that say where they begin and end."""
    name = store[table].name
    leading = {relation.name: relation for relation in store.relations if relation.from_table == name}
    for end in (source, target):
        if end is not None and text_of(end, f"table {name}: the relation") not in leading:
            raise UnknownRelation(end, f"table {name}", leading)
    further = [relation for relation in leading.values() if relation.name not in (source, target)]
    open_ends = [source, target].count(None)
    if (open_ends and len(further) != open_ends) or (source is not None and source == target):
        listing = "; ".join(map(str, leading.values())) or "none leads from it"
        raise StoreProblem(
            f"store {store.name}: it is not clear where the edges of {name} begin and end",
            f"edges need two relations, and the table has {len(leading)}: {listing}",
            "Name both: store.relations.edges(table, source='…', target='…')",
        )
    begin = leading[source] if source is not None else further.pop(0)
    return Edges(store, rows_of, begin, leading[target] if target is not None else further.pop(0))


Missing = Literal["refuse", "keep", "drop"]
MISSING = ("refuse", "keep", "drop")


def graph_of(
    edges: Edges, where: Filter | None, directed: bool, missing: Missing, key: str | None, job: Job | None
) -> Any:
    """See `Edges.to_networkx`."""
    if missing not in MISSING:
        raise BadData(f"missing cannot be {missing!r}", fix="Give 'refuse', 'keep' or 'drop'")
    networkx = _networkx()
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    rows = edges.table.read(where=where, job=job)
    keys = (
        [None] * rows.num_rows
        if key is None
        else python_values(rows[edges.table.snapshot().column(key).name])
    )
    ends = (edges.source, edges.target)
    apart = edges.source.to_table != edges.target.to_table
    tables = {end.to_table: end.to_columns for end in reversed(ends)}
    nodes = {
        name: Nodes(name, edges.store[name].read(job=job), columns, apart) for name, columns in tables.items()
    }
    for end in ends:
        nodes[end.to_table].refuse_unclear(end)
    for each in nodes.values():
        graph.add_nodes_from(each.labelled_nodes())
    starts, stops = (nodes[end.to_table].targets(rows, end, missing) for end in ends)
    own = [ID, key, *edges.source.from_columns, *edges.target.from_columns]
    graph.add_edges_from(
        (start, stop, name, values)
        for start, stop, name, values in zip(starts, stops, keys, _attributes(rows, own), strict=True)
        if start is not None and stop is not None
    )
    return graph


class Nodes:
    """The rows of a table at which edges begin or end, and each one's name in the graph: its key, with the
    table's name if nodes come from two tables."""

    def __init__(self, table: str, rows: pa.Table, key: Sequence[str], apart: bool) -> None:
        self._table, self._rows, self._key, self._apart = table, rows, key, apart
        self._labels = self._node_keys(_columns(rows, key))

    def refuse_unclear(self, end: Relation) -> None:
        """Raise `BadData` for a row that has no key, or the key of an earlier row."""
        values = _columns(self._rows, end.to_columns)
        keys = Keys(values, _as_columns(values))
        for row in np.flatnonzero(keys.first != np.arange(self._rows.num_rows)).tolist():
            names = ", ".join(end.to_columns)
            unset = keys.first[row] < 0
            raise BadData(
                f"{self._table}: the row with {ID} {self._rows[ID][row]} cannot be a node",
                f"it has no {names}" if unset else f"an earlier row has the same {names}",
                f"Change the row, or relate the edges to {self._table}.{ID}",
            )

    def labelled_nodes(self) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        yield from zip(self._labels, _attributes(self._rows, [ID, *self._key]), strict=True)

    def targets(self, rows: pa.Table, end: Relation, missing: Missing) -> list[Hashable | None]:
        """Return the node that each edge leads to; None for a row that is not an edge or is left out."""
        values = _columns(rows, end.from_columns)
        matches, places = Keys(_columns(self._rows, end.to_columns), _as_columns(values)).match(values)
        labels: list[Hashable | None] = [None] * rows.num_rows
        for row, place in zip(matches.tolist(), places.tolist(), strict=True):
            labels[row] = self._labels[place]
        valid = valid_rows(values)
        valid[matches] = False
        dangling = np.flatnonzero(valid)
        if len(dangling) and missing != "drop":
            keys = self._node_keys([take(column, dangling) for column in values])
            if missing == "refuse":
                raise _pointing_at_nothing(rows, end, int(dangling[0]), keys)
            for row, label in zip(dangling.tolist(), keys, strict=True):
                labels[row] = label
        return labels

    def _node_keys(self, values: Sequence[pa.ChunkedArray]) -> list[Hashable]:
        columns = [python_values(column) for column in values]
        keys: Iterable[Hashable] = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        return [(self._table, key) if self._apart else key for key in keys]


def _pointing_at_nothing(rows: pa.Table, end: Relation, row: int, keys: Sequence[Hashable]) -> BadData:
    return BadData(
        f"{end.from_table}: {len(keys):,} edges lead to nothing in {end.to_table},"
        f" such as the one with {ID} {rows[ID][row]} to {keys[0]!r}",
        fix="Give missing='keep' for nodes without attributes, or missing='drop' to leave such edges out",
    )


def tables_of(
    store: RelatedTables,
    rows_of: RowsOf,
    graph: Any,
    nodes: str,
    edges: str,
    key: str,
    ends: tuple[str, str],
    job: Job | None,
) -> Edges:
    """Create two tables with a graph's nodes and edges, and the relations between them."""
    if not isinstance(graph, _networkx().Graph):
        raise BadData(
            f"store {store.name}: {short_text(graph)} is not a networkx graph", fix="Convert it to one first"
        )
    _refuse_ends(store.name, ends)
    if not len(graph):
        raise BadData(f"store {store.name}: the graph has no nodes", fix="Add one")
    points = [_row(nodes, {key: node}, values) for node, values in graph.nodes(data=True)]
    lines = [_row(edges, dict(zip(ends, (u, v), strict=True)), values) for u, v, values in _lines(graph)]
    with store.transaction(f"{nodes} and {edges} from a graph"):
        store.create_table(nodes, points, job=job)
        store.create_table(edges, lines or {end: [] for end in ends}, job=job)
        source, target = (store.relations.declare(f"{edges}.{end}", f"{nodes}.{key}") for end in ends)
    return Edges(store, rows_of, source, target)


def _refuse_ends(store: str, ends: Any) -> None:
    if not isinstance(ends, (tuple, list)) or len(names_of(ends, f"store {store}: ends")) != 2:
        raise BadData(f"store {store}: ends takes two names, not {ends!r}", fix="Give ('source', 'target')")
    if ends[0] == ends[1]:
        raise BadData(f"store {store}: both ends are called '{ends[0]}'", fix="Give two different names")


def _lines(graph: Any) -> Iterator[tuple[Hashable, Hashable, Mapping[str, Any]]]:
    """Yield edges with their attributes. Keys of parallel edges are included unless networkx assigned
    them."""
    if not graph.is_multigraph():
        yield from graph.edges(data=True)
        return
    has_names = any(not isinstance(name, int) for _, _, name in graph.edges(keys=True))
    for start, stop, name, values in graph.edges(keys=True, data=True):
        yield start, stop, {"key": name, **values} if has_names else values


def _row(table: str, ends: dict[str, Hashable], values: Mapping[Any, Any]) -> dict[str, Any]:
    for name in values:
        if not isinstance(name, str) or name in ends:
            raise BadData(
                f"{table}: an attribute of the graph is called {name!r}",
                "that column holds the key" if name in ends else "columns are called by text",
                "Rename it, or choose other names for the columns: key= and ends=",
            )
    return {**ends, **values}


def _columns(rows: pa.Table, names: Sequence[str]) -> list[pa.ChunkedArray]:
    return [rows[name] for name in names]


def _as_columns(values: Sequence[pa.ChunkedArray]) -> list[Column]:
    return [Column(str(place), value.type, place) for place, value in enumerate(values)]


def _attributes(rows: pa.Table, without: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    attributes = rows.select([name for name in rows.column_names if name not in without])
    if not attributes.num_columns:
        yield from ({} for _ in range(rows.num_rows))
    for batch in attributes.to_batches() if attributes.num_columns else ():
        for row in python_rows(batch):
            yield {name: whole(value) for name, value in row.items() if value is not None}


def _networkx() -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError as error:
        raise LamellaError(
            "graphs need networkx, which is not installed", fix="Install it: pip install networkx"
        ) from error
