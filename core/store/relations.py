"""The relations of a store: declaring them, finding them by their tables, and following them from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from lamella.core.errors import (
    BadData,
    StoreProblem,
    UnknownRelation,
    UnknownTable,
    short_text,
)
from lamella.core.filters.condition import Condition, condition_of, id_list
from lamella.core.filters.expr import Filter, all_of
from lamella.core.jobs import Job
from lamella.core.query.pages import Page, page_by_id
from lamella.core.query.scan_query import read_scan, scan_query_of
from lamella.core.query.source import Source, VersionOrTime
from lamella.core.relations.following import AsOf, condition, counts, link_at, related_rows, versions
from lamella.core.relations.relation import (
    DIRECTIONS,
    Direction,
    End,
    Link,
    Relation,
    apart,
    end_of,
    refuse_apart,
)
from lamella.core.scan.row_ids import ID_COLUMN, IdentifiedRows
from lamella.core.scan.snapshot import Column
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import ColumnIds, RelationRow, column_now, last_name
from lamella.core.store.table_version import Reader
from lamella.core.validation import single_line_of, text_of

if TYPE_CHECKING:
    from lamella.core.relations.checking import RelationCheck
    from lamella.core.relations.graphs import Edges, RelatedTables
    from lamella.core.relations.suggesting import Suggestion

TableOf = Callable[[int], Source]
"""Returns the table with an id of the catalog."""
RowsOf = Callable[[str, VersionOrTime | None], IdentifiedRows]
"""Returns the rows of the table with this name, at the newest or an earlier version."""


class StoreRelations(Sequence[Relation]):
    """The relations of a store, in the order of their declaration: `store.relations.declare(…)`.

    They belong to the store, not to a version: they are neither undone nor restored. They follow renames of
    tables and columns, and casts of columns; dropping a table drops its relations. A relation whose column
    was dropped says so in its `problem`.
    """

    def __init__(self, catalog: Catalog, tables: RelatedTables, table_of: TableOf, rows_at: RowsOf) -> None:
        self._catalog, self._tables, self._table_of, self._rows_at = catalog, tables, table_of, rows_at
        self._place = catalog.path.parent.name

    def __repr__(self) -> str:
        return f"<Relations of '{self._place}'>"

    def __len__(self) -> int:
        return len(self._read_entries()[0])

    def __iter__(self) -> Iterator[Relation]:
        rows, names = self._read_entries()
        return iter([self._relation(row, names) for row in rows])

    @overload
    def __getitem__(self, place: int) -> Relation: ...

    @overload
    def __getitem__(self, place: slice) -> list[Relation]: ...

    def __getitem__(self, place: int | slice) -> Relation | list[Relation]:
        return list(iter(self))[place]

    def declare(
        self, one: str | Iterable[str], other: str | Iterable[str], name: str | None = None
    ) -> Relation:
        """Declare that rows of one table point at rows of another by equal values.

        store.relations.declare("flights.carrier", "airlines.carrier")
        store.relations.declare(["flights.origin", "flights.time_hour"],

                                ["weather.origin", "weather.time_hour"])

        The first end points to the second: many flights to one airline. The rows are not checked; see
        `check`. Without a `name`, it is named after table and columns: `flights_carrier`. Raises
        `UnknownTable`, `UnknownColumn`, `TypeConflict` for columns whose values are never equal, and
        `StoreProblem` if the relation or the name already exists.
        """
        start, target = self._ends(one, other)
        tables = {row.name: row.table_id for row in self._catalog.tables()}
        if name is not None and not single_line_of(name, f"store {self._place}: the relation's name").strip():
            raise BadData(f"store {self._place}: a relation needs a name", fix="Give one, or leave it out")
        with self._catalog.transaction() as transaction:
            for end in (start, target):
                self._refuse_dropped_table(end.table, tables.get(end.table))
            self._refuse_again(start, target)
            names = [row.name for row in transaction.relations.in_order()]
            if name in names:
                raise self._name_problem(name)
            called = name or _free_name(start, target, names)
            row = RelationRow(called, tables[start.table], _ids(start), tables[target.table], _ids(target))
            transaction.relations.add(row)
        return Relation(called, start.table, start.names, target.table, target.names)

    def drop(self, name: str) -> None:
        """Remove a relation; no row changes. Raises `UnknownRelation`."""
        with self._catalog.transaction() as transaction:
            names = [row.name for row in transaction.relations.in_order()]
            if text_of(name, f"store {self._place}: the relation's name") not in names:
                raise UnknownRelation(name, f"store {self._place}", names)
            transaction.relations.drop(name)

    def rename(self, old: str, new: str) -> Relation:
        """Rename a relation; it keeps its position.

        Raises `UnknownRelation`, `BadData` for a name that is empty or holds a control character, and
        `StoreProblem` for one that is taken.
        """
        name = single_line_of(new, f"store {self._place}: the relation's name").strip()
        if not name:
            raise BadData(f"store {self._place}: a relation needs a name", fix="Give one")
        with self._catalog.transaction() as transaction:
            names = [row.name for row in transaction.relations.in_order()]
            if text_of(old, f"store {self._place}: the relation's name") not in names:
                raise UnknownRelation(old, f"store {self._place}", names)
            if name != old:
                if name in names:
                    raise self._name_problem(name)
                transaction.relations.rename(old, name)
        return self.relation_named(name)

    def relation_named(self, name: str) -> Relation:
        """Return the relation with this name; raise `UnknownRelation`."""
        relations = {relation.name: relation for relation in self}
        if text_of(name, f"store {self._place}: the relation's name") not in relations:
            raise UnknownRelation(name, f"store {self._place}", list(relations))
        return relations[name]

    def links(self, table: str) -> tuple[Link, ...]:
        """The links from a table to others, in the order of the relations; a relation of the table to itself
        has two. Relations that cannot be followed are included: see `Relation.problem`."""
        name = text_of(table, f"store {self._place}: the table name")
        return self._catalog.read_through_cache(("links of", name), partial(self._links_of, name))

    def between(
        self, table: str, other: str, through: str | None = None, direction: Direction | None = None
    ) -> Link:
        """Find how rows of `table` lead to rows of `other`: by `columns` that equal `other_columns`.

        `through` names a relation if there are several; `direction` chooses between the two directions of a
        relation of a table to itself. Raises `UnknownTable`, `UnknownRelation`, and `StoreProblem` if no
        relation leads there.
        """
        if direction is not None and direction not in DIRECTIONS:
            raise BadData(f"direction cannot be {short_text(direction)}", fix="Give 'out' or 'in'")
        for name in (table, other):
            text_of(name, f"store {self._place}: the table name")
        links = self._catalog.read_through_cache(("links", table, other), partial(self._links, table, other))
        if not links:
            raise StoreProblem(
                f"store {self._place}: no relation leads between {table} and {other}",
                fix=f"Declare one: store.relations.declare('{table}.…', '{other}.…'); "
                "store.relations.suggest() looks for candidates",
            )
        usable = [link for link in links if through in (None, link.relation.name)]
        if not usable:
            names = dict.fromkeys(link.relation.name for link in links)
            raise UnknownRelation(str(through), f"{table} to {other}", names)
        meant = [link for link in usable if direction in (None, link.direction)]
        if len(meant) != 1:
            raise _ambiguous(table, other, usable, direction)
        meant[0].relation.usable()
        return meant[0]

    def check(self, *names: str, job: Job | None = None) -> tuple[RelationCheck, ...]:
        """Check that the rows that others point to exist: counts and examples by relation, for all or the
        named ones."""
        from lamella.core.relations.checking import check

        relations = [self.relation_named(name) for name in names] if names else list(self)
        tables, work = self._tables, job or Job()
        return tuple(
            check(r, tables[r.from_table].snapshot(), tables[r.to_table].snapshot(), work) for r in relations
        )

    def try_out(
        self, one: str | Iterable[str], other: str | Iterable[str], job: Job | None = None
    ) -> RelationCheck:
        """Check a relation between these ends, given as for `declare`, without declaring it. Raises as
        `declare` does."""
        from lamella.core.relations.checking import check

        start, target = self._ends(one, other)
        relation = Relation("", start.table, start.names, target.table, target.names)
        tables = self._tables
        return check(relation, tables[start.table].snapshot(), tables[target.table].snapshot(), job or Job())

    def suggest(self, *tables: str, job: Job | None = None) -> tuple[Suggestion, ...]:
        """Suggest relations between these tables, or all, the most likely first; none is declared.

        A column may point to one with unique values that contains most of a sample of its own, and so may
        several columns to columns of the same names in another table. Matching texts are evidence enough;
        numbers and dates may coincide, so their columns must also have matching names.
        """
        from lamella.core.relations.suggesting import suggestions

        names = tables or [row.name for row in self._catalog.tables()]
        return suggestions([self._tables[name].snapshot() for name in names], tuple(self), job or Job())

    def edges(self, table: str, source: str | None = None, target: str | None = None) -> Edges:
        """Treat a table as edges between rows of other tables: `source` and `target` name the relations that
        say where edges begin and end. If exactly two relations lead from the table, the first declared is the
        source.

        Raises `UnknownTable`, `UnknownRelation`, and `StoreProblem` where the choice is ambiguous.
        """
        from lamella.core.relations.graphs import edges_of

        return edges_of(self._tables, self._rows_of, table, source, target)

    def from_networkx(
        self,
        graph: Any,
        nodes: str,
        edges: str,
        *,
        key: str = "node",
        ends: tuple[str, str] = ("source", "target"),
        job: Job | None = None,
    ) -> Edges:
        """Create two tables from the nodes and edges of a networkx graph, with their attributes as columns,
        and the relations between them: all of it, or nothing.

        The column `key` has the names of nodes, and so do the two columns `ends` of the edges. Keys of
        parallel edges are in a column `key`, unless networkx numbered them itself. Raises `BadData` for
        names of nodes that have no type in common, `TypeConflict` for nested ones.
        """
        from lamella.core.relations.graphs import tables_of

        return tables_of(self._tables, self._rows_of, graph, nodes, edges, key, ends, job)

    def _rows_of(self, table: str) -> IdentifiedRows:
        return self._rows_at(table, None)

    def _read_entries(self) -> tuple[list[RelationRow], dict[int, str]]:
        """The relations, and the names of tables by their ids, both at one moment."""
        with self._catalog.unchanging():
            return self._catalog.relations.in_order(), {
                row.table_id: row.name for row in self._catalog.tables()
            }

    def _links(self, table: str, target: str) -> list[Link]:
        rows, names = self._read_entries()
        for name in (table, target):
            if name not in names.values():
                raise UnknownTable(name, f"store {self._place}", list(names.values()))
        ends = [(row, {names.get(row.from_table), names.get(row.to_table)}) for row in rows]
        leading = [self._relation(row, names) for row, tables in ends if tables == {table, target}]
        return [link for relation in leading for link in _links(relation, table, target)]

    def _links_of(self, table: str) -> tuple[Link, ...]:
        rows, names = self._read_entries()
        if table not in names.values():
            raise UnknownTable(table, f"store {self._place}", list(names.values()))
        own = [row for row in rows if table in (names.get(row.from_table), names.get(row.to_table))]
        return tuple(
            link
            for relation in (self._relation(row, names) for row in own)
            for link in map(relation.link, DIRECTIONS)
            if link.table == table
        )

    def _relation(self, row: RelationRow, names: dict[int, str]) -> Relation:
        start, target = (names.get(table, "?") for table in (row.from_table, row.to_table))
        if not names.keys() >= {row.from_table, row.to_table}:
            unknown = [tuple("?" for _ in ids) for ids in (row.from_columns, row.to_columns)]
            return Relation(row.name, start, unknown[0], target, unknown[1], "the catalog has no such table")
        froms, lost = self._columns(row.from_table, row.from_columns)
        tos, lost_too = self._columns(row.to_table, row.to_columns)
        problems = [f"{column} of {start} was dropped" for column in lost]
        problems += [f"{column} of {target} was dropped" for column in lost_too]
        if not problems:
            pairs = zip(froms, tos, strict=True)
            problems = [reason for a, b in pairs if (reason := apart(start, a, target, b))]
        return Relation(row.name, start, _names(froms), target, _names(tos), "; ".join(problems))

    def _columns(self, table_id: int, ids: ColumnIds) -> tuple[list[Column], list[str]]:
        """The columns as they are now, and descriptions of those that are gone."""
        columns = {c.key: c for c in self._table_of(table_id).snapshot().columns}
        if all(column_id in columns for column_id in ids):
            return [columns[column_id] for column_id in ids], []
        entries = self._catalog.relations.columns(table_id)
        present, lost = [], []
        for column_id in ids:
            now = columns.get(column_now(entries, column_id) or ID_COLUMN.key, ID_COLUMN)
            if column_id != ID_COLUMN.key and now is ID_COLUMN:
                name = last_name(entries, column_id)
                lost.append("a column" if name is None else f"column '{name}'")
                now = Column(name or "?", ID_COLUMN.type, column_id)
            present.append(now)
        return present, lost

    def _refuse_dropped_table(self, table: str, table_id: int | None) -> None:
        """Raise `UnknownTable` if the table has been dropped meanwhile."""
        if table_id is None or self._catalog.table(table_id) is None:
            raise UnknownTable(table, f"store {self._place}", [row.name for row in self._catalog.tables()])

    def _ends(self, source: str | Iterable[str], far: str | Iterable[str]) -> tuple[End, End]:
        names = {row.name: self._table_of(row.table_id) for row in self._catalog.tables()}
        start, target = (end_of(side, self._place, names) for side in (source, far))
        refuse_apart(self._place, start, target)
        return start, target

    def _refuse_again(self, start: End, target: End) -> None:
        candidate = Relation("", start.table, start.names, target.table, target.names)
        for relation in self:
            if _pairs(relation) == _pairs(candidate):
                raise StoreProblem(
                    f"store {self._place} already has this relation: {relation}",
                    fix=f"Use it, or drop it first: store.relations.drop({relation.name!r})",
                )

    def _name_problem(self, name: str) -> StoreProblem:
        return StoreProblem(
            f"store {self._place} already has a relation '{name}'",
            fix=f"Choose another name, or drop that one: store.relations.drop({name!r})",
        )


class TableRelations:
    """The rows that a row of a table is related to. Relations can be followed both ways:
    `flights.relations.rows(5, "airlines")`, `airlines.relations.rows(2, "flights")`.

    If several lead to the other table, `through` names one; for a relation of a table to itself, `direction`
    says whether to find the rows that a row points to ("out") or those that point to it ("in"). `as_of` is a
    time, a name that a version of both tables has, or versions by the tables' names: both tables are read as
    they were, but the relation, which has no versions, uses the columns that it has now. Each method raises
    `UnknownTable`, `UnknownRow`, and `StoreProblem` if no usable relation leads there.
    """

    __slots__ = ("_reader", "_relations", "_rows_at")

    def __init__(self, reader: Reader, relations: StoreRelations, rows_at: RowsOf) -> None:
        self._reader, self._relations, self._rows_at = reader, relations, rows_at

    def __repr__(self) -> str:
        return f"<Relations of '{self._reader.last_name}'>"

    def rows(  # noqa: PLR0913 -- all that can be asked of a table, by keyword
        self,
        row_id: int,
        to: str,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
        as_of: AsOf | None = None,
    ) -> pa.Table:
        """Read the rows of the table `to` that are related to the row with this `_id`; otherwise as for
        `read`."""
        link, near, far = self._endpoints(to, through, direction, as_of)
        query = scan_query_of(far.snapshot, columns, where, sort, limit, offset)
        selection = related_rows(link, near, row_id, far, job or Job()).and_meeting(query.where)
        return read_scan(far.snapshot, replace(query, where=selection.where), job, within=selection.within)

    def page(  # noqa: PLR0913 -- as above
        self,
        row_id: int,
        to: str,
        size: int,
        after: str | None = None,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
        as_of: AsOf | None = None,
    ) -> Page:
        """Read a page of `size` related rows after the cursor `after`, with the next cursor; see
        `RowsById.page`."""
        link, near, far = self._endpoints(to, through, direction, as_of)
        met = condition_of(where, f"{far.snapshot.name}: where", far.snapshot)
        pointed = condition(link, near, row_id, far, job or Job())
        both = pointed if met is None else all_of((pointed, met))
        return page_by_id(far, size, after, columns, both, sort, job)

    def counts(
        self,
        row_ids: Sequence[int],
        to: str,
        where: Condition | None = None,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
        as_of: AsOf | None = None,
    ) -> pa.Table:
        """Count for each row how many rows of `to` that meet `where` it is related to: a table of `_id` and
        `count`.

        Rows come in the order given. All are counted in one pass.
        """
        ids = id_list(row_ids, f"{self._reader.current().row.name}: ids")
        link, near, far = self._endpoints(to, through, direction, as_of)
        met = condition_of(where, f"{far.snapshot.name}: where", far.snapshot)
        return counts(link, near, ids, far.snapshot, met, job or Job())

    def condition(
        self,
        row_id: int,
        to: str,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
    ) -> Filter:
        """A filter for `to` that only the rows related to the row with this `_id` meet, as both tables are
        now."""
        link, near, far = self._endpoints(to, through, direction, None)
        return condition(link, near, row_id, far, job or Job())

    def _endpoints(
        self, to: str, through: str | None, direction: Direction | None, as_of: AsOf | None
    ) -> tuple[Link, IdentifiedRows, IdentifiedRows]:
        """The link from this table to the other, and both tables as of the requested versions."""
        name = self._reader.current().row.name
        link = self._relations.between(name, to, through, direction)
        near, far = self._rows_at(name, None), self._rows_at(to, None)
        if as_of is None:
            return link, near, far
        when, other_when = versions(link, as_of)
        then, other_then = self._rows_at(name, when), self._rows_at(to, other_when)
        own, pair = (near.snapshot, then.snapshot), (far.snapshot, other_then.snapshot)
        return link_at(link, own, pair), then, other_then


def _links(relation: Relation, table: str, target: str) -> list[Link]:
    links = [relation.link(direction) for direction in DIRECTIONS]
    return [link for link in links if (link.table, link.other) == (table, target)]


def _ambiguous(table: str, target: str, links: Sequence[Link], direction: Direction | None) -> StoreProblem:
    names = list(dict.fromkeys(link.relation.name for link in links))
    if len(names) > 1:
        relations = dict.fromkeys(str(link.relation) for link in links)
        why, fix = "; ".join(relations), f"Choose one: through='{names[0]}'"
    elif direction is None:
        why = f"'{names[0]}' leads from rows of {table} to rows of {table}"
        fix = "Give direction='out' for the rows that a row points to, 'in' for those that point to it"
    else:
        why, fix = f"'{names[0]}' leads the other way", "Leave the direction out"
    return StoreProblem(f"it is not clear how {table} leads to {target}", why, fix)


def _pairs(relation: Relation) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """The pairs of columns of a relation, whose order does not matter."""
    pairs = zip(relation.from_columns, relation.to_columns, strict=True)
    return relation.from_table, relation.to_table, frozenset(pairs)


def _free_name(start: End, target: End, names: Sequence[str]) -> str:
    """A free name such as `flights_carrier`, extended if it is taken."""
    name = "_".join((start.table, *start.names))
    for candidate in (name, f"{name}_{target.table}"):
        if candidate not in names:
            return candidate
    number = 2
    while f"{name}_{number}" in names:
        number += 1
    return f"{name}_{number}"


def _names(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _ids(end: End) -> ColumnIds:
    return tuple(column.key for column in end.columns)
