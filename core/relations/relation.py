"""The relations of a store: their endpoints as people name them, declared, listed and given up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arguments import text_of
from lamella.core.arrow.arrays import from_numpy, in_one, to_numpy
from lamella.core.arrow.types import common_type
from lamella.core.errors import (
    BadData,
    StoreProblem,
    TypeConflict,
    UnknownColumn,
    UnknownRelation,
    UnknownTable,
    shown,
)
from lamella.core.scan.snapshot import Column
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import ColumnIds, RelationRow, column_now, last_name
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.table_rows import RowsById

Direction = Literal["out", "in"]
"""Out goes to the rows that a row points at, in to the rows that point at it."""
DIRECTIONS: tuple[Direction, ...] = ("out", "in")


@dataclass(frozen=True)
class Relation:
    """Rows of one table point at those rows of another, or of the same, that have equal values.

    Null points at nothing. Names are those that tables and columns have now. `problem` says why the relation
    cannot be followed, and is empty where it can.
    """

    name: str
    from_table: str
    from_columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    problem: str = ""

    def __str__(self) -> str:
        told = f"{_end(self.from_table, self.from_columns)} → {_end(self.to_table, self.to_columns)}"
        return f"{self.name}: {told}" + (f" ({self.problem})" if self.problem else "")

    @property
    def within_one_table(self) -> bool:
        return self.from_table == self.to_table

    def seen(self, direction: Direction) -> Link:
        """From the table that points ("out"), or from the one that is pointed at."""
        if direction == "out":
            return Link(
                self, direction, self.from_table, self.from_columns, self.to_table, self.to_columns
            )  # fmt: skip
        return Link(self, direction, self.to_table, self.to_columns, self.from_table, self.from_columns)

    def usable(self) -> Relation:
        """Itself; raises `StoreProblem` where it cannot be followed."""
        if self.problem:
            raise StoreProblem(
                f"the relation '{self.name}' cannot be followed",
                self.problem,
                f"Undo that, or give the relation up: store.unrelate({self.name!r})",
            )
        return self


@dataclass(frozen=True)
class Link:
    """A relation seen from `table`: its `columns` are equal to `other_columns` of the table `other`."""

    relation: Relation
    direction: Direction
    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]


def _end(table: str, columns: tuple[str, ...]) -> str:
    return f"{table}.{columns[0]}" if len(columns) == 1 else f"{table}.({', '.join(columns)})"


_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@lru_cache(4096)
def meeting_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type in which keys of the two are compared, or None where they mean different things."""
    a, b = _plain(a), _plain(b)
    if is_.is_nested(a) or is_.is_nested(b):
        return None
    if is_.is_null(a) or is_.is_null(b) or a.equals(b):
        return b if is_.is_null(a) else a
    if is_.is_timestamp(a) and is_.is_timestamp(b):
        return _coarser(a, b) if (a.tz is None) == (b.tz is None) else None
    if is_.is_duration(a) and is_.is_duration(b):
        return _coarser(a, b)
    if is_.is_date(a) or is_.is_date(b):
        return pa.date32() if is_.is_date(a) and is_.is_date(b) else None
    return _numbers(a, b) if is_.is_integer(a) or is_.is_integer(b) else common_type(a, b)


def brought(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Keys as what `meeting_type` says. What has no equal there becomes null: half a number among whole ones,
    a millisecond among seconds."""
    values = _storage(values)
    if values.type.equals(kind) or is_.is_null(kind):
        return values
    if is_.is_null(values.type):
        return values.cast(kind)
    if is_.is_floating(values.type) and is_.is_integer(kind):
        return pa.chunked_array([_whole(in_one(values), kind)])
    if is_.is_timestamp(kind) or is_.is_duration(kind):
        return pa.chunked_array([_in_units(in_one(values), kind)])
    return values.cast(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """What a dictionary or an extension type holds."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if is_.is_dictionary(kind) else kind


def _storage(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(values.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    return values.cast(values.type.value_type) if is_.is_dictionary(values.type) else values


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Whole numbers with others: floats meet them as whole numbers, for a double is not exact enough."""
    if is_.is_floating(a) or is_.is_floating(b):
        return b if is_.is_floating(a) else a
    if is_.is_boolean(a) or is_.is_boolean(b):
        return None
    both = is_.is_integer(a) and is_.is_integer(b)
    return common_type(a, b) or (pa.decimal128(20, 0) if both else None)


def _coarser(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return min(a, b, key=lambda kind: _UNITS[kind.unit])


def _whole(values: pa.Array, kind: pa.DataType) -> pa.Array:
    numbers = to_numpy(values).astype(np.float64)
    low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    with np.errstate(invalid="ignore"):
        held = (numbers == np.floor(numbers)) & (numbers >= float(low)) & (numbers < float(high) + 1)
    valid = to_numpy(values.is_valid()) & held
    exact = np.where(valid, numbers, 0.0).astype(kind.to_pandas_dtype())
    return _array(exact, kind, valid)


def _in_units(values: pa.Array, kind: pa.DataType) -> pa.Array:
    counts, valid = to_numpy(values.view(pa.int64())), to_numpy(values.is_valid())
    whole, rest = np.divmod(counts, _UNITS[values.type.unit] // _UNITS[kind.unit])
    return _array(whole, kind, valid & (rest == 0))


def _array(values: np.ndarray, kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    return from_numpy(values, kind, None if valid.all() else valid)


@dataclass(frozen=True)
class End:
    """Columns of one table, whose values are a key."""

    table: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def end_of(given: Any, store: str, tables: Mapping[str, RowsById]) -> End:
    """Raises `BadData` for what names no columns of one table, `UnknownTable` and `UnknownColumn`."""
    parts = [given] if isinstance(given, str) else _texts(given)
    if not parts:
        raise BadData(
            f"store {store}: a relation has no end like {shown(given)}",
            fix="Name a table and its column: 'flights.carrier', or several in a list",
        )
    found = [_split(part, store, tables) for part in parts]
    names = {table for table, _ in found}
    if len(names) > 1:
        raise BadData(
            f"store {store}: one end of a relation is in one table, not in {' and '.join(sorted(names))}",
            fix="Give the columns of one table first, those of the other second",
        )
    columns = tuple(column for _, column in found)
    if len(set(columns)) < len(columns):
        raise BadData(f"store {store}: {shown(given)} names a column twice", fix="Name each column once")
    return End(found[0][0], columns)


def refuse_apart(store: str, one: End, other: End) -> None:
    """Raise `BadData` where the ends have not as many columns, or are the same; `TypeConflict` where no value
    of one column can ever be equal to one of the other."""
    if len(one.columns) != len(other.columns):
        raise BadData(
            f"store {store}: {_shown(one)} cannot point at {_shown(other)}",
            f"that is {len(one.columns)} columns at {len(other.columns)}",
            "Give as many columns at both ends, in the same order",
        )
    if one == other:
        raise BadData(f"store {store}: {_shown(one)} would point at itself", fix="Name two different columns")
    for a, b in zip(one.columns, other.columns, strict=True):
        told = apart(one.table, a, other.table, b)
        if told:
            raise TypeConflict(
                f"store {store}: {one.table}.{a.name} cannot point at {other.table}.{b.name}",
                told,
                _cast_or_not(a.type, b.type),
            )


def apart(table: str, column: Column, other_table: str, other: Column) -> str:
    """Why values of the two columns are never equal; empty where they may be."""
    for name, each in ((table, column), (other_table, other)):
        if pa.types.is_nested(each.type):
            return f"{name}.{each.name} holds {each.type}, and nested values are no keys"
    if meeting_type(column.type, other.type) is None:
        return f"{table}.{column.name} is {column.type}, {other_table}.{other.name} is {other.type}"
    return ""


def _cast_or_not(a: pa.DataType, b: pa.DataType) -> str:
    nested = pa.types.is_nested(a) or pa.types.is_nested(b)
    return "Name a column of single values" if nested else "Cast one of the columns first: table.cast_column"


def _texts(given: Any) -> list[str]:
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)) else []
    return listed if all(isinstance(part, str) for part in listed) else []


def _split(text: str, store: str, tables: Mapping[str, RowsById]) -> tuple[str, Column]:
    """Both names may hold dots: the table and the column that are there are meant."""
    named = [name for name in tables if text.startswith(f"{name}.")]
    if not named:
        table, dot, _ = text.partition(".")
        if not dot:
            raise BadData(
                f"store {store}: '{text}' names no table and column",
                fix=f"Write both with a dot between: '{_with_column(text, tables)}'",
            )
        raise UnknownTable(table, f"store {store}", list(tables))
    columns = {name: tables[name].snapshot().columns for name in named}
    found = [
        (name, column)
        for name in named
        for column in columns[name]
        if text == f"{name}.{column.name}"
    ]  # fmt: skip
    if not found:
        longest = max(named, key=len)
        known = [column.name for column in columns[longest]]
        raise UnknownColumn(text[len(longest) + 1 :], longest, known)
    if len(found) > 1:
        meant = " or ".join(f"column '{column.name}' of table '{name}'" for name, column in found)
        raise BadData(f"store {store}: '{text}' may mean {meant}", fix="Rename one of them")
    return found[0]


def _with_column(text: str, tables: Mapping[str, RowsById]) -> str:
    """What the user may have meant by a name alone."""
    if text in tables:
        names: Sequence[str] = tables[text].schema.names
        return f"{text}.{names[-1]}"
    holders = [name for name, table in tables.items() if text in table.schema.names]
    return f"{holders[0]}.{text}" if holders else "table.column"


def _shown(end: End) -> str:
    return ", ".join(f"{end.table}.{name}" for name in end.names)


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
        ends = [(row, {names[row.from_table], names[row.to_table]}) for row in rows]
        leading = [self._relation(row, names) for row, tables in ends if tables == {table, other}]
        return [link for relation in leading for link in _links(relation, table, other)]

    def _relation(self, row: RelationRow, names: dict[int, str]) -> Relation:
        start, target = names[row.from_table], names[row.to_table]
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
    links = [relation.seen(direction) for direction in DIRECTIONS]
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
