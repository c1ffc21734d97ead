"""The relations that a store declares: listed, added, given up, and found by the tables they lead between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lamella.core.errors import (
    BadData,
    StoreProblem,
    UnknownRelation,
    UnknownTable,
    shown,
)
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
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import ColumnIds, RelationRow, column_now, last_name
from lamella.core.store.table_rows import RowsById
from lamella.core.validation import text_of

TableOf = Callable[[int], RowsById]


class DeclaredRelations:
    """What the catalog says of them now, whoever declared them."""

    def __init__(self, catalog: Catalog, table_of: TableOf) -> None:
        self._catalog, self._table_of = catalog, table_of
        self._store = catalog.path.parent.name

    def all(self) -> tuple[Relation, ...]:
        """The first declared first, those that cannot be followed any more among them."""
        rows, names = self._entered()
        return tuple(self._relation(row, names) for row in rows)

    def declare(self, one: Any, other: Any, name: str | None) -> Relation:
        """See `Store.relate`."""
        tables = {row.name: row.table_id for row in self._catalog.tables()}
        known = {table: self._table_of(number) for table, number in tables.items()}
        start, target = (end_of(given, self._store, known) for given in (one, other))
        refuse_apart(self._store, start, target)
        if name is not None and not text_of(name, f"store {self._store}: the relation's name").strip():
            raise BadData(f"store {self._store}: a relation needs a name", fix="Give one, or leave it out")
        with self._catalog.transaction() as transaction:
            for end in (start, target):
                self._refuse_dropped(end.table, tables[end.table])
            self._refuse_again(start, target)
            taken = [row.name for row in transaction.relations.all()]
            if name in taken:
                raise self._taken(name)
            called = name or _free_name(start, target, taken)
            row = RelationRow(called, tables[start.table], _ids(start), tables[target.table], _ids(target))
            transaction.relations.add(row)
        return Relation(called, start.table, start.names, target.table, target.names)

    def drop(self, name: str) -> None:
        """Raises `UnknownRelation`."""
        with self._catalog.transaction() as transaction:
            names = [row.name for row in transaction.relations.all()]
            if text_of(name, f"store {self._store}: the relation's name") not in names:
                raise UnknownRelation(name, f"store {self._store}", names)
            transaction.relations.drop(name)

    def named(self, name: str) -> Relation:
        """Raises `UnknownRelation`."""
        relations = {relation.name: relation for relation in self.all()}
        if text_of(name, f"store {self._store}: the relation's name") not in relations:
            raise UnknownRelation(name, f"store {self._store}", list(relations))
        return relations[name]

    def between(
        self, table: str, other: str, through: str | None = None, direction: Direction | None = None
    ) -> Link:
        """See `Store.relation_between`."""
        if direction is not None and direction not in DIRECTIONS:
            raise BadData(f"direction cannot be {shown(direction)}", fix="Give 'out' or 'in'")
        for name in (table, other):
            text_of(name, f"store {self._store}: the table name")
        links = self._catalog.noted(("links", table, other), partial(self._links, table, other))
        if not links:
            raise StoreProblem(
                f"store {self._store}: no relation leads between {table} and {other}",
                fix=f"Declare one: store.relate('{table}.…', '{other}.…'); "
                "store.suggest_relations() looks for candidates",
            )
        found = [link for link in links if through in (None, link.relation.name)]
        if not found:
            known = dict.fromkeys(link.relation.name for link in links)
            raise UnknownRelation(str(through), f"{table} to {other}", known)
        meant = [link for link in found if direction in (None, link.direction)]
        if len(meant) != 1:
            raise _ambiguous(table, other, found, direction)
        meant[0].relation.usable()
        return meant[0]

    def _entered(self) -> tuple[list[RelationRow], dict[int, str]]:
        """Relations, and the names of tables by their ids, of one moment."""
        with self._catalog.unchanging():
            return self._catalog.relations.all(), {row.table_id: row.name for row in self._catalog.tables()}

    def _links(self, table: str, other: str) -> list[Link]:
        rows, names = self._entered()
        for name in (table, other):
            if name not in names.values():
                raise UnknownTable(name, f"store {self._store}", list(names.values()))
        ends = [(row, {names.get(row.from_table), names.get(row.to_table)}) for row in rows]
        leading = [self._relation(row, names) for row, tables in ends if tables == {table, other}]
        return [link for relation in leading for link in _links(relation, table, other)]

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
            problems = [told for a, b in pairs if (told := apart(start, a, target, b))]
        return Relation(row.name, start, _names(froms), target, _names(tos), "; ".join(problems))

    def _columns(self, table_id: int, ids: ColumnIds) -> tuple[list[Column], list[str]]:
        """The columns as they are now, and in words those that are gone."""
        columns = {c.key: c for c in self._table_of(table_id).snapshot().columns}
        if all(column_id in columns for column_id in ids):
            return [columns[column_id] for column_id in ids], []
        entries = self._catalog.relations.columns(table_id)
        found, lost = [], []
        for column_id in ids:
            now = columns.get(column_now(entries, column_id) or ID_COLUMN.key, ID_COLUMN)
            if column_id != ID_COLUMN.key and now is ID_COLUMN:
                name = last_name(entries, column_id)
                lost.append("a column" if name is None else f"column '{name}'")
                now = Column(name or "?", ID_COLUMN.type, column_id)
            found.append(now)
        return found, lost

    def _refuse_dropped(self, table: str, table_id: int) -> None:
        """Somebody else may have dropped it since it was looked at."""
        if self._catalog.table(table_id) is None:
            raise UnknownTable(table, f"store {self._store}", [row.name for row in self._catalog.tables()])

    def _refuse_again(self, start: End, target: End) -> None:
        wanted = Relation("", start.table, start.names, target.table, target.names)
        for held in self.all():
            if _pairs(held) == _pairs(wanted):
                raise StoreProblem(
                    f"store {self._store} has this relation already: {held}",
                    fix=f"Use it, or give it up first: store.unrelate({held.name!r})",
                )

    def _taken(self, name: str) -> StoreProblem:
        return StoreProblem(
            f"store {self._store} already has a relation '{name}'",
            fix=f"Choose another name, or give that one up: store.unrelate({name!r})",
        )


def _links(relation: Relation, table: str, other: str) -> list[Link]:
    links = [relation.link(direction) for direction in DIRECTIONS]
    return [link for link in links if (link.table, link.other) == (table, other)]


def _ambiguous(table: str, other: str, links: Sequence[Link], direction: Direction | None) -> StoreProblem:
    names = list(dict.fromkeys(link.relation.name for link in links))
    if len(names) > 1:
        told = dict.fromkeys(str(link.relation) for link in links)
        why, fix = "; ".join(told), f"Say which: through='{names[0]}'"
    elif direction is None:
        why = f"'{names[0]}' leads from rows of {table} to rows of {table}"
        fix = "Say direction='out' for the rows that a row points at, 'in' for those that point at it"
    else:
        why, fix = f"'{names[0]}' leads the other way", "Leave the direction out"
    return StoreProblem(f"it is not clear how {table} leads to {other}", why, fix)


def _pairs(relation: Relation) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """The order in which columns are named means nothing."""
    pairs = zip(relation.from_columns, relation.to_columns, strict=True)
    return relation.from_table, relation.to_table, frozenset(pairs)


def _free_name(start: End, target: End, taken: Sequence[str]) -> str:
    """`flights_carrier`, and more where that is taken."""
    name = "_".join((start.table, *start.names))
    for candidate in (name, f"{name}_{target.table}"):
        if candidate not in taken:
            return candidate
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _names(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _ids(end: End) -> ColumnIds:
    return tuple(column.key for column in end.columns)
