"""The SQL that changes a catalog: one method for each thing that can happen to a table."""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.store.catalog.schema import (
    FOREVER,
    SAVED_VIEWS,
    VERSIONED_TABLES,
    checked_rows,
    whole_numbers,
)

Rows = Callable[..., list[tuple[Any, ...]]]
ColumnIds = tuple[int, ...]
_COLUMNS = "name, from_table_id, from_column_ids, to_table_id, to_column_ids"


class Transaction:
    """The operations inside `Catalog.transaction()`."""

    def __init__(
        self, connection: sqlite3.Connection, catalog: Path, group: CommitGroup | None = None
    ) -> None:
        self._connection, self._path, self._group = connection, catalog, group

    @property
    def removal(self) -> Removal:
        return Removal(self._connection, self._path)

    @property
    def relations(self) -> RelationEntries:
        return RelationEntries(self._connection, self._path)

    @property
    def views(self) -> ViewEntries:
        return ViewEntries(self._connection, self._path)

    def script(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._connection.execute(statement)

    def add_table(self, name: str, folder: str) -> int:
        cursor = self._connection.execute(
            "INSERT INTO tables (name, folder, version, generation, next_id, next_column)"
            " VALUES (?, ?, 0, 0, 0, 1) RETURNING table_id",
            (name, folder),
        )
        return int(cursor.fetchone()[0])

    def rename_table(self, table_id: int, name: str) -> None:
        self._connection.execute("UPDATE tables SET name = ? WHERE table_id = ?", (name, table_id))

    def table_names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM tables ORDER BY name")]

    def version(self, table_id: int) -> tuple[int, int] | None:
        """(version, generation), or None when the table is gone."""
        row: tuple[int, int] | None = self._connection.execute(
            "SELECT version, generation FROM tables WHERE table_id = ?", (table_id,)
        ).fetchone()
        return row

    def take_ids(self, table_id: int, count: int) -> int:
        """Reserve `count` ids; return the first."""
        return int(self._take(table_id, "next_id", count))

    def take_ids_for_later(self, table_id: int, count: int, staging: str) -> int:
        """Reserve `count` ids for rows that are still being staged; return the first. Until the rows are
        entered, no file may span these ids."""
        first = self.take_ids(table_id, count)
        row = (staging, table_id, first, first + count - 1)
        self._connection.execute("INSERT INTO ids_under_way VALUES (?, ?, ?, ?)", row)
        return first

    def release_ids(self, table_id: int, staging: str, unused: range) -> None:
        """Release the reservation of ids of rows that were staged, and are entered in this transaction or
        given up. The last `unused` ids are returned, unless later ids have already been assigned."""
        self._connection.execute("DELETE FROM ids_under_way WHERE staging = ?", (staging,))
        self._connection.execute(
            "UPDATE tables SET next_id = ? WHERE table_id = ? AND next_id = ?",
            (unused.start, table_id, unused.stop),
        )

    def forget_ids_under_way(self) -> None:
        self._connection.execute("DELETE FROM ids_under_way")

    def overlaps_segment(self, entry: int, table_id: int, version: int, first_id: int, last_id: int) -> bool:
        """Whether the range of ids overlaps another segment, or rows that are being staged."""
        valid = "table_id = :table AND to_version > :version AND from_version <= :version"
        cursor = self._connection.execute(
            f"SELECT 1 FROM data_files WHERE {valid} AND entry <> :entry"
            " AND first_id <= :last AND last_id >= :first UNION ALL"
            f" SELECT 1 FROM pending_rows WHERE {valid}"
            " AND first_id <= :last AND first_id + rows > :first UNION ALL"
            " SELECT 1 FROM ids_under_way WHERE table_id = :table"
            " AND first_id <= :last AND last_id >= :first LIMIT 1",
            {"table": table_id, "version": version, "entry": entry, "first": first_id, "last": last_id},
        )
        return cursor.fetchone() is not None

    def take_column_ids(self, table_id: int, count: int) -> int:
        return int(self._take(table_id, "next_column", count))

    def move_on(self, table_id: int, commit: CommitRow) -> CommitRow:
        """Make `commit` the table's newest; return it as entered: with a time later than the previous
        commit's, whatever the clock says."""
        commit = commit._replace(at=max(commit.at, self._earliest(table_id)))
        checked_rows(self._path, "commits", _STAMP, [(commit.version, commit.at)])
        if self._group is not None:
            commit = self._group.stamp(table_id, commit)
        marks = ", ".join("?" * (1 + len(commit)))
        self._connection.execute(f"INSERT INTO commits VALUES ({marks})", (table_id, *commit))
        self._connection.execute(
            "UPDATE tables SET version = ? WHERE table_id = ?", (commit.version, table_id)
        )
        return commit

    def name_commit(self, table_id: int, version: int, name: str) -> None:
        self._connection.execute(
            "UPDATE commits SET name = ? WHERE table_id = ? AND version = ?", (name, table_id, version)
        )

    def add_index(self, table_id: int, index: tuple[str, str, str]) -> bool:
        """Enter an index (kind, column ids, options); False when the table has one like it."""
        cursor = self._connection.execute(
            "INSERT INTO indexes (table_id, kind, column_ids, options) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING", (table_id, *index)
        )  # fmt: skip
        return cursor.rowcount == 1

    def drop_index(self, table_id: int, kind: str, column_ids: str) -> None:
        self._connection.execute(
            "DELETE FROM indexes WHERE table_id = ? AND kind = ? AND column_ids = ?",
            (table_id, kind, column_ids),
        )

    def next_generation(self, table_id: int) -> None:
        self._connection.execute(
            "UPDATE tables SET generation = generation + 1 WHERE table_id = ?", (table_id,)
        )

    def add(self, kind: str, table_id: int, version: int, values: Sequence[Any]) -> int:
        """Add an entry to a versioned catalog table, valid from `version` on; return its number."""
        cursor = self._connection.execute(_INSERTIONS[kind], (table_id, *values, version, FOREVER))
        return int(cursor.lastrowid or 0)

    def end_entries(self, kind: str, entries: Sequence[int], version: int) -> None:
        """End the validity of these entries before `version`."""
        self._connection.executemany(
            f"UPDATE {kind} SET to_version = ? WHERE entry = ?", [(version, e) for e in entries]
        )

    def restore(self, kind: str, table_id: int, target: int, current: int) -> None:
        """Make what was valid at `target` valid again from `current + 1` on, and nothing else."""
        columns = ", ".join(("table_id", *VERSIONED_TABLES[kind]))
        valid = "table_id = ? AND from_version <= ? AND to_version > ?"
        self._connection.execute(
            f"INSERT INTO {kind} ({columns}, from_version, to_version) SELECT {columns}, ?, ? FROM {kind}"
            f" WHERE {valid} AND NOT (from_version <= ? AND to_version > ?) ORDER BY entry",
            (current + 1, FOREVER, table_id, target, target, current, current),
        )
        self._connection.execute(
            f"UPDATE {kind} SET to_version = ? WHERE {valid} AND NOT (from_version <= ? AND to_version > ?)",
            (current + 1, table_id, current, current, target, target),
        )

    def _earliest(self, table_id: int) -> float:
        """The earliest time for the next commit: a microsecond after the last one."""
        rows = self._connection.execute(
            "SELECT version, at FROM commits WHERE table_id = ? ORDER BY version DESC LIMIT 1", (table_id,)
        ).fetchall()
        if not rows:
            return 0.0
        ((_, last),) = checked_rows(self._path, "commits", _STAMP, rows)
        earliest: float = (round(last * 1_000_000) + 1) / 1_000_000
        return earliest

    def _take(self, table_id: int, counter: str, count: int) -> int:
        rows = self._connection.execute(
            f"UPDATE tables SET {counter} = {counter} + ? WHERE table_id = ? RETURNING {counter}",
            (count, table_id),
        )
        ((following,),) = checked_rows(self._path, "tables", (counter,), rows)
        first: int = following - count
        checked_rows(self._path, "tables", (counter,), [(first,)])
        return first


_STAMP = ("version", "at")


def _insertion(kind: str) -> str:
    columns = ("table_id", *VERSIONED_TABLES[kind], "from_version", "to_version")
    return f"INSERT INTO {kind} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


_INSERTIONS = {kind: _insertion(kind) for kind in VERSIONED_TABLES}


class CommitRow(NamedTuple):
    """A row of the catalog table `commits`, without the table's id."""

    version: int
    at: float
    kind: str
    restores: int | None
    inserted: int
    updated: int
    deleted: int
    seconds: float
    message: str
    name: str = ""
    transaction_id: int | None = None


@dataclass(frozen=True)
class RelationRow:
    """A relation as the catalog has it: columns by their ids at the time it was declared."""

    name: str
    from_table: int
    from_columns: ColumnIds
    to_table: int
    to_columns: ColumnIds


@dataclass(frozen=True)
class ColumnEntry:
    """The name of a column in versions [first, stop)."""

    column_id: int
    name: str
    first: int
    stop: int


class CatalogRelations:
    """Reads relations, and the former names of columns."""

    def __init__(self, rows: Rows, catalog: Path) -> None:
        self._rows, self._path = rows, catalog

    def in_order(self) -> list[RelationRow]:
        """All relations, in the order of their declaration."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM relations ORDER BY relation_id")
        checked = checked_rows(self._path, "relations", _COLUMNS.split(", "), rows)
        return [_row(self._path, row) for row in checked]

    def columns(self, table_id: int) -> list[ColumnEntry]:
        """The entries of a table's columns in all versions that are kept."""
        columns = ("column_id", "name", "from_version", "to_version")
        rows = self._rows(f"SELECT {', '.join(columns)} FROM columns WHERE table_id = ?", table_id)
        return [ColumnEntry(*entry) for entry in checked_rows(self._path, "columns", columns, rows)]


class RelationEntries:
    """Adds, renames and drops relations inside a catalog transaction."""

    def __init__(self, connection: sqlite3.Connection, catalog: Path) -> None:
        self._connection, self._path = connection, catalog

    def in_order(self) -> list[RelationRow]:
        return CatalogRelations(self._fetch, self._path).in_order()

    def add(self, row: RelationRow) -> None:
        self._connection.execute(
            f"INSERT INTO relations ({_COLUMNS}, options) VALUES (?, ?, ?, ?, ?, '{{}}')",
            (
                row.name,
                row.from_table,
                json.dumps(row.from_columns),
                row.to_table,
                json.dumps(row.to_columns),
            ),
        )

    def drop(self, name: str) -> None:
        self._connection.execute("DELETE FROM relations WHERE name = ?", (name,))

    def rename(self, old: str, new: str) -> None:
        self._connection.execute("UPDATE relations SET name = ? WHERE name = ?", (new, old))

    def follow_casts(self, table_id: int) -> None:
        """Replace the ids of columns by those that casts gave them, because the versions that record the
        casts are about to expire."""
        entries = CatalogRelations(self._fetch, self._path).columns(table_id)
        for table, columns in (("from_table_id", "from_column_ids"), ("to_table_id", "to_column_ids")):
            rows = self._fetch(f"SELECT relation_id, {columns} FROM relations WHERE {table} = ?", table_id)
            for relation_id, ids in rows:
                before = whole_numbers(self._path, "relations", columns, ids)
                now = [column_now(entries, column_id) for column_id in before]
                after = [old if new is None else new for old, new in zip(before, now, strict=True)]
                self._connection.execute(
                    f"UPDATE relations SET {columns} = ? WHERE relation_id = ?",
                    (json.dumps(after), relation_id),
                )

    def _fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()


class CatalogViews:
    """Reads saved views: queries as JSON, by name."""

    def __init__(self, rows: Rows, catalog: Path) -> None:
        self._rows, self._path = rows, catalog

    def by_name(self) -> dict[str, str]:
        """All views, sorted by name."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'saved_views'"):
            return {}
        rows = self._rows("SELECT name, query FROM saved_views ORDER BY name")
        return dict(checked_rows(self._path, "saved_views", ("name", "query"), rows))


class ViewEntries:
    """Saves and drops views inside a catalog transaction."""

    def __init__(self, connection: sqlite3.Connection, catalog: Path) -> None:
        self._connection, self._path = connection, catalog

    def by_name(self) -> dict[str, str]:
        return CatalogViews(self._fetch, self._path).by_name()

    def save(self, name: str, query: str) -> None:
        self._connection.execute(SAVED_VIEWS)
        self._connection.execute(
            "INSERT OR REPLACE INTO saved_views (name, query, at) VALUES (?, ?, ?)",
            (name, query, time.time()),
        )

    def drop(self, name: str) -> None:
        self._connection.execute("DELETE FROM saved_views WHERE name = ?", (name,))

    def rename(self, old: str, new: str) -> None:
        self._connection.execute("UPDATE saved_views SET name = ? WHERE name = ?", (new, old))

    def _fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()


def column_now(entries: Sequence[ColumnEntry], column_id: int) -> int | None:
    """The column that this one has become: itself, or the one that a cast made of it; None if it was dropped.

    A cast ends a column, and another of the same name begins in the same version; so does the undo of a
    cast.
    """
    stops: set[tuple[int, int]] = set()
    while column_id != ID_COLUMN.key:
        last = max((e for e in entries if e.column_id == column_id), key=_stop, default=None)
        if last is None or (column_id, last.stop) in stops:
            return None
        if last.stop == FOREVER:
            return column_id
        stops.add((column_id, last.stop))
        following = _successor(entries, last, {e.column_id for e in entries if e.first < last.stop <= e.stop})
        if following is None:
            return None
        column_id = following
    return column_id


def last_name(entries: Sequence[ColumnEntry], column_id: int) -> str | None:
    """The last name of a column; None if no version that had it is kept."""
    last = max((e for e in entries if e.column_id == column_id), key=_stop, default=None)
    return None if last is None else last.name


def _successor(entries: Sequence[ColumnEntry], ended: ColumnEntry, before: Collection[int]) -> int | None:
    begun = (e for e in entries if e.first == ended.stop and e.name == ended.name)
    return next((e.column_id for e in begun if e.column_id not in before), None)


def _stop(entry: ColumnEntry) -> int:
    return entry.stop


def _row(catalog: Path, row: tuple[Any, ...]) -> RelationRow:
    name, from_table, from_columns, to_table, to_columns = row
    froms = whole_numbers(catalog, "relations", "from_column_ids", from_columns)
    tos = whole_numbers(catalog, "relations", "to_column_ids", to_columns)
    return RelationRow(name, from_table, froms, to_table, tos)


FILES = ("data_files", "change_files")
_UNUSED_ENTRIES = (
    "table_id = :table AND (from_version >= to_version OR (to_version <= :oldest AND NOT EXISTS ("
    "SELECT 1 FROM commits c WHERE c.table_id = :table AND c.name != ''"
    " AND c.version >= from_version AND c.version < to_version)))"
)
"""Entries that no kept version has. An entry that a flush ended in the version that made it belongs to
none."""
_USED_COLUMNS = " UNION ".join(
    f"SELECT value FROM {kind}, json_each({kind}.columns) WHERE {kind}.table_id = :table"
    for kind in ("pending_rows", "pending_cells")
)


@dataclass(frozen=True)
class RemovedFile:
    """A file that no version names any more; versions from `first_version` to `last_version` may have named
    it."""

    number: int
    path: str
    bytes: int
    table_id: int
    first_version: int
    last_version: int


class Removal:
    """Removes versions and tables inside a catalog transaction."""

    def __init__(self, connection: sqlite3.Connection, catalog: Path) -> None:
        self._connection, self._path = connection, catalog

    def forget(self, table_id: int, oldest: int) -> None:
        """Remove every unnamed version before `oldest`, and queue the files that only they named."""
        RelationEntries(self._connection, self._path).follow_casts(table_id)
        values = {"table": table_id, "oldest": oldest}
        self._connection.execute(
            "DELETE FROM transactions WHERE transaction_id IN (SELECT transaction_id FROM commits"
            " WHERE table_id = :table AND version < :oldest AND name = '')", values
        )  # fmt: skip
        self._connection.execute(
            "DELETE FROM commits WHERE table_id = :table AND version < :oldest AND name = ''", values
        )
        self._queue_from(table_id, _UNUSED_ENTRIES, values)
        for kind in VERSIONED_TABLES.keys() - {*FILES, "columns"}:
            self._connection.execute(f"DELETE FROM {kind} WHERE {_UNUSED_ENTRIES}", values)
        self._connection.execute(
            f"DELETE FROM columns WHERE {_UNUSED_ENTRIES} AND entry NOT IN ({_USED_COLUMNS})", values
        )
        self._connection.execute(
            "DELETE FROM indexes WHERE table_id = :table AND EXISTS (SELECT 1 FROM json_each(column_ids)"
            " WHERE value NOT IN (SELECT column_id FROM columns WHERE table_id = :table))", values
        )  # fmt: skip

    def drop_table(self, table_id: int) -> None:
        """Remove the table with all its versions, and queue its files."""
        self._queue_from(table_id, "table_id = :table", {"table": table_id})
        self._connection.execute(
            "DELETE FROM transactions WHERE transaction_id IN"
            " (SELECT transaction_id FROM commits WHERE table_id = ?)", (table_id,)
        )  # fmt: skip
        for kind in ("tables", "commits", "indexes", *VERSIONED_TABLES):
            self._connection.execute(f"DELETE FROM {kind} WHERE table_id = ?", (table_id,))
        self._connection.execute("DELETE FROM relations WHERE ? IN (from_table_id, to_table_id)", (table_id,))

    def cross_off(self, numbers: Iterable[int]) -> None:
        """Remove files that are gone from the disk from the queue."""
        self._connection.executemany("DELETE FROM removed_files WHERE number = ?", [(n,) for n in numbers])

    def _queue_from(self, table_id: int, condition: str, values: dict[str, int]) -> None:
        columns = ("path", "bytes", "from_version", "to_version")
        gone: list[tuple[Any, ...]] = []
        for kind in FILES:
            rows = self._connection.execute(
                f"DELETE FROM {kind} WHERE {condition} RETURNING {', '.join(columns)}", values
            )
            gone += checked_rows(self._path, kind, columns, rows)
        if gone:
            self._queue(table_id, gone)

    def _queue(self, table_id: int, gone: Sequence[tuple[Any, ...]]) -> None:
        """Queue files for removal, except those that are still named, because an undo names files again."""
        queries = " UNION ".join(f"SELECT path FROM {kind} WHERE table_id = :table" for kind in FILES)
        named_paths = {path for (path,) in self._connection.execute(queries, {"table": table_id})}
        self._connection.executemany(
            "INSERT INTO removed_files (path, bytes, table_id, first_version, last_version)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " first_version = min(first_version, excluded.first_version),"
            " last_version = max(last_version, excluded.last_version)",
            [
                (path, size, table_id, first, last)
                for path, size, first, last in gone
                if path not in named_paths
            ],
        )


OnRollback = Callable[[], None]
_drafts = itertools.count(1)


class CommitGroup:
    """The commits of one catalog transaction. They share a `number`, and the block's message if it has one.

    `tables` are the ids of the tables that have a commit; `drops` tells whether tables were dropped. `draft`
    distinguishes what is read inside from any other state of the catalog, and from what was rolled back.
    """

    def __init__(self, connection: sqlite3.Connection, message: str, on_rollback: OnRollback) -> None:
        self.draft = next(_drafts)
        self.tables: set[int] = set()
        self.drops = False
        self._connection, self._message, self._on_rollback = connection, message, on_rollback
        cursor = connection.execute(
            "INSERT INTO transactions (at) VALUES (?) RETURNING transaction_id", (time.time(),)
        )
        self.number = int(cursor.fetchone()[0])

    def take_back(self) -> None:
        """Start a new draft after a part failed, because the numbers that it used may be assigned again."""
        self.draft = next(_drafts)
        self._on_rollback()

    def stamp(self, table_id: int, commit: CommitRow) -> CommitRow:
        """Mark the commit as one of this group."""
        self.tables.add(table_id)
        return commit._replace(message=self._message or commit.message, transaction_id=self.number)

    def close(self) -> None:
        """Remove the group's entry if the block made no commits."""
        if not self.tables:
            self._connection.execute("DELETE FROM transactions WHERE transaction_id = ?", (self.number,))
