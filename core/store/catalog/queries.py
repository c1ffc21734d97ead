"""The SQLite catalog: what a store reads from it, and its format."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.errors import DamagedStore, StoreProblem, StoreTooNew
from lamella.core.processes import call_after_fork
from lamella.core.store.catalog.access import CatalogAccess
from lamella.core.store.catalog.connection import BUSY_SECONDS, not_a_catalog, open_error, write_copy
from lamella.core.store.catalog.schema import (
    APPLICATION_ID,
    CHECKSUMMED_COLUMNS,
    FORMAT_VERSION,
    MIGRATIONS,
    SAVED_VIEWS,
    TABLES,
    checked_rows,
    damaged_entry,
)
from lamella.core.store.catalog.transaction import FILES, CatalogRelations, CatalogViews, RemovedFile
from lamella.core.store.paths import StorePaths


def settle_format(catalog: CatalogAccess) -> None:
    """Create, check or migrate the catalog.

    Raises `StoreTooNew` if a later version of Lamella wrote it, and `StoreProblem` if it is not a catalog.
    """
    try:
        # The content first: another program may create the same store between the two reads.
        is_empty = not catalog.rows("SELECT 1 FROM sqlite_master LIMIT 1")
        written = int(catalog.rows("PRAGMA user_version")[0][0])
        is_ours = catalog.rows("PRAGMA application_id")[0][0] == APPLICATION_ID
    except (sqlite3.DatabaseError, StoreProblem) as error:
        cause = error.__cause__ or error
        if isinstance(cause, sqlite3.Error):
            raise open_error(catalog.path, cause) from cause
        raise not_a_catalog(catalog.path, str(cause)) from error
    if is_empty and written == 0:
        _create(catalog)
        return
    foreign = foreign_objects(catalog)
    if not is_ours:
        raise not_a_catalog(catalog.path, "it is a SQLite file of another program")
    if written not in MIGRATIONS and written < FORMAT_VERSION:
        raise not_a_catalog(catalog.path, f"its format is {written}, which does not exist")
    if written > FORMAT_VERSION:
        raise StoreTooNew(
            f"{catalog.path.parent}: the store was written by a later version of Lamella",
            f"its format is {written}, this program knows {FORMAT_VERSION}",
            "Open it with the version that wrote it, or a newer one",
        )
    _refuse_foreign(catalog, foreign)
    catalog.keep_safe(new=False)
    if written < FORMAT_VERSION:
        _migrate(catalog)


def foreign_objects(catalog: CatalogAccess) -> list[tuple[str, str]]:
    """(kind, name) of objects that Lamella never puts into a catalog: a trigger runs its own statements on a
    commit, and a view or virtual table may return anything when it is read."""
    objects = catalog.rows(
        "SELECT CASE WHEN type = 'table' THEN 'virtual table' ELSE type END, name FROM sqlite_master"
        " WHERE type IN ('trigger', 'view') OR (type = 'table' AND ifnull(rootpage, 0) = 0)"
    )
    return [(str(kind), str(name)) for kind, name in objects]


def _refuse_foreign(catalog: CatalogAccess, objects: Sequence[tuple[str, str]]) -> None:
    """Raise `DamagedStore` for foreign objects. A read-only store may have them, unless they hide one of its
    own tables."""
    own = set(_OWN_TABLES.findall(TABLES + SAVED_VIEWS))  # in lower case: SQLite ignores case in names
    for kind, name in objects:
        is_own = name.lower() in own
        if is_own or not catalog.read_only:
            raise DamagedStore(
                f"{catalog.path}: the catalog has a {kind} '{name:.60}'",
                f"Lamella creates no {kind}s, and this one could change what is written or read",
                "Do not trust the store if it came from somebody else; restore a backup"
                + ("" if is_own else ", or open it read-only"),
            )


def _migrate(catalog: CatalogAccess) -> None:
    """Migrate the catalog to the current format. Another program may be doing so at the same moment, so the
    format is read again under the lock."""
    if catalog.read_only:
        raise StoreProblem(
            f"{catalog.path.parent}: the store has an earlier format",
            fix="Open it once for writing, which updates it",
        )
    with catalog.transaction() as transaction:
        for written in range(catalog.rows("PRAGMA user_version")[0][0], FORMAT_VERSION):
            transaction.script(MIGRATIONS[written])
            transaction.script(f"PRAGMA user_version = {written + 1}")


def _create(catalog: CatalogAccess) -> None:
    """Create the tables of a new catalog. If another program does so at the same moment, the first to get the
    lock does it."""
    if catalog.read_only:
        raise not_a_catalog(catalog.path, "it is empty")
    # In this order: a program that creates a store sets the version before it writes data files.
    has_files = any(StorePaths(catalog.path.parent).data_files())
    if has_files and catalog.rows("PRAGMA user_version")[0][0] == 0:
        raise StoreProblem(
            f"{catalog.path}: the catalog is empty, although there are data files beside it",
            "It was lost or truncated, and a new one would not know these files",
            "Restore a backup, or import the Parquet files in the folder data into another store",
        )
    catalog.keep_safe(new=True)
    with catalog.transaction() as transaction:
        if catalog.rows("PRAGMA user_version")[0][0] == 0:
            transaction.script(TABLES)
            transaction.script(f"PRAGMA application_id = {APPLICATION_ID}")
            transaction.script(f"PRAGMA user_version = {FORMAT_VERSION}")


_OWN_TABLES = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")

Rows = Callable[..., list[tuple[Any, ...]]]


class CatalogVersions:
    """The versions of one table that are kept: all since the oldest, and earlier ones that have a name."""

    def __init__(self, rows: Rows, table_id: int, catalog: Path) -> None:
        self._rows, self._table_id, self._path = rows, table_id, catalog

    def count(self) -> int:
        sql = "SELECT count(*) FROM commits WHERE table_id = ?"
        return int(self._rows(sql, self._table_id)[0][0])

    def exists(self, version: int) -> bool:
        return bool(self._column("version", "version = ?", version))

    def version_named(self, name: str) -> int | None:
        versions = self._column("version", "name = ?", name)
        return int(versions[0]) if versions else None

    def names(self) -> list[str]:
        return self._column("name", "name != '' ORDER BY version")

    def name_of(self, version: int) -> str:
        return str(self._column("name", "version = ?", version)[0])

    def named_ones(self) -> list[int]:
        return self._column("version", "name != '' ORDER BY version")

    def at(self, seconds: float) -> int | None:
        """The last version made until then; it may be one that has a name and outlived its successors. Times
        ascend with versions, whatever the clock says."""
        versions = self._column("version", "at <= ? ORDER BY version DESC LIMIT 1", seconds)
        return int(versions[0]) if versions else None

    def stamps(self) -> list[tuple[int, float]]:
        """All versions as (version, seconds since 1970), ascending."""
        sql = "SELECT version, at FROM commits WHERE table_id = ? ORDER BY version"
        rows = checked_rows(self._path, "commits", ("version", "at"), self._rows(sql, self._table_id))
        return [(version, at) for version, at in rows]

    def _column(self, column: str, condition: str, *values: object) -> list[Any]:
        sql = f"SELECT {column} FROM commits WHERE table_id = ? AND {condition}"
        rows = self._rows(sql, self._table_id, *values)
        return [value for (value,) in checked_rows(self._path, "commits", (column,), rows)]


NO_VERSION = -1
_TABLES_KEY = "tables"
"""The cache key of the rows of all tables."""

T = TypeVar("T")

_openings = itertools.count()

IdsUnderWay = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class TableRow:
    """The state of a table in the catalog. `generation` changes when its files do without a new version.
    `draft` is a unique number while a transaction may still be rolled back, and otherwise 0. `opening` tells
    the table from the same one in a copy of the store. If there is `damage`, only the id, and the name if it
    is text, are valid."""

    table_id: int
    name: str
    folder: str
    version: int
    generation: int
    next_id: int
    draft: int
    opening: int
    damage: DamagedStore | None = None


class Catalog(CatalogAccess):
    """Opens or creates `catalog.sqlite` in a store's folder.

    Raises `StoreTooNew` if a later version of Lamella wrote it, and `StoreProblem` if it is not a catalog.
    """

    def __init__(self, folder: Path, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> None:
        super().__init__(folder, read_only, busy_seconds)
        self._opening = next(_openings)
        self._cached_reads: tuple[int, dict[object, Any]] = (NO_VERSION, {})
        try:
            settle_format(self)
            self.read_apart()
        except BaseException:
            self.close()
            raise
        call_after_fork(self)

    def read_through_cache(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` reads from the catalog, cached until somebody commits: checking for a commit
        takes half as long as the shortest query."""
        if self.writes_here():
            return make()
        version, (noted_at, notes) = self.rows("PRAGMA data_version")[0][0], self._cached_reads
        if version != noted_at:
            notes = dict[object, Any]()
            self._cached_reads = (version, notes)
        if key not in notes:
            notes[key] = make()  # of this version, or a later one, which the next check notices
        value: T = notes[key]
        return value

    def tables(self) -> list[TableRow]:
        """All tables, sorted by name, including damaged ones."""
        return list(self.read_through_cache(_TABLES_KEY, self._tables))

    def table(self, table_id: int) -> TableRow | None:
        """The table's row; None if there is none. Raises `DamagedStore` if its entry in the catalog is
        invalid."""
        row = self.read_through_cache(table_id, partial(self._table, table_id))
        if row is not None and row.damage is not None:
            raise DamagedStore(row.damage.what, row.damage.why, row.damage.fix)
        return row

    def _tables(self) -> tuple[TableRow, ...]:
        rows = self.rows(f"SELECT {_TABLE} FROM tables ORDER BY name")
        names = {row[1] for row in rows}
        return tuple(self._table_row(row, names) for row in rows)

    def _table(self, table_id: int) -> TableRow | None:
        if not self.writes_here() and _TABLES_KEY in (noted := self._cached_reads[1]):
            return next((row for row in noted[_TABLES_KEY] if row.table_id == table_id), None)
        rows = self.rows(f"SELECT {_TABLE} FROM tables WHERE table_id = ?", table_id)
        return self._table_row(rows[0]) if rows else None

    def valid(self, kind: str, table_id: int, version: int, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """The entries of a versioned catalog table that are valid at `version`, oldest first."""
        rows = self.rows(
            f"SELECT {', '.join(columns)} FROM {kind}"
            " WHERE table_id = ? AND to_version > ? AND from_version <= ? ORDER BY entry",
            table_id, version, version,
        )  # fmt: skip
        return checked_rows(self.path, kind, columns, rows)

    def entry(self, kind: str, entry: int, columns: Sequence[str]) -> tuple[Any, ...]:
        rows = self.rows(f"SELECT {', '.join(columns)} FROM {kind} WHERE entry = ?", entry)
        if not rows:
            raise damaged_entry(self.path, kind, "entry", None, f"Entry {entry} is named, but does not exist")
        return checked_rows(self.path, kind, columns, rows)[0]

    def indexes(self, table_id: int) -> list[tuple[str, str, str]]:
        """A table's indexes as (kind, column ids, options), in the order of their creation."""
        columns = ("kind", "column_ids", "options")
        sql = f"SELECT {', '.join(columns)} FROM indexes WHERE table_id = ? ORDER BY index_id"
        rows = checked_rows(self.path, "indexes", columns, self.rows(sql, table_id))
        return [(kind, column_ids, options) for kind, column_ids, options in rows]

    def ids_under_way(self, table_id: int) -> IdsUnderWay:
        """The ids reserved for rows that any process is staging, as (first, last)."""
        columns = ("first_id", "last_id")
        rows = self.rows("SELECT first_id, last_id FROM ids_under_way WHERE table_id = ?", table_id)
        return [(first, last) for first, last in checked_rows(self.path, "ids_under_way", columns, rows)]

    def forget_ids_under_way(self) -> None:
        """Release the ids of rows whose staging was interrupted; nobody may be staging now."""
        if self.rows("SELECT 1 FROM ids_under_way LIMIT 1"):
            with self.transaction() as transaction:
                transaction.forget_ids_under_way()

    def commits(self, table_id: int) -> list[tuple[Any, ...]]:
        sql = f"SELECT {', '.join(_COMMIT)} FROM commits WHERE table_id = ? ORDER BY version"
        return checked_rows(self.path, "commits", _COMMIT, self.rows(sql, table_id))

    def newest_commits(self, table_id: int, count: int, before: int | None = None) -> list[tuple[Any, ...]]:
        """The newest commits, the newest first; with `before`, only those of earlier versions."""
        earlier = "" if before is None else " AND version < ?"
        of_table = f"SELECT {', '.join(_COMMIT)} FROM commits WHERE table_id = ?"
        sql = f"{of_table}{earlier} ORDER BY version DESC LIMIT ?"
        values = [table_id, count] if before is None else [table_id, before, count]
        return checked_rows(self.path, "commits", _COMMIT, self.rows(sql, *values))

    def all_entries(self, kind: str, table_id: int, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """All entries of a versioned catalog table, whichever versions they are valid for, oldest first."""
        sql = f"SELECT {', '.join(columns)} FROM {kind} WHERE table_id = ? ORDER BY entry"
        return checked_rows(self.path, kind, columns, self.rows(sql, table_id))

    def checked_entries(self, kind: str, table_id: int) -> Iterator[tuple[Any, ...]]:
        """Yield pending entries of all versions as (entry, checksum, checked values…), one at a time; those
        that disappear meanwhile are skipped."""
        columns = ("entry", "checksum", *CHECKSUMMED_COLUMNS[kind])
        for (entry,) in self.all_entries(kind, table_id, ("entry",)):
            rows = self.rows(f"SELECT {', '.join(columns)} FROM {kind} WHERE entry = ?", entry)
            yield from checked_rows(self.path, kind, columns, rows)

    def integrity(self) -> list[str]:
        """The damage that SQLite finds in its file; empty if there is none."""
        try:
            rows = self.rows("PRAGMA integrity_check")
        except StoreProblem as problem:
            return [problem.why]
        return [message for (message,) in rows if message != "ok"]

    def file_spans(self, table_id: int) -> list[tuple[Any, ...]]:
        """All files as (path, bytes, from_version, to_version), once for each time that they were entered."""
        columns = ("path", "bytes", "from_version", "to_version")
        of_kind = f"SELECT {', '.join(columns)} FROM {{}} WHERE table_id = ?"
        sql = " UNION ALL ".join(map(of_kind.format, FILES))
        return checked_rows(self.path, "data_files", columns, self.rows(sql, *[table_id] * len(FILES)))

    @property
    def format(self) -> int:
        """The number of the catalog's format."""
        return int(self.rows("PRAGMA user_version")[0][0])

    @property
    def relations(self) -> CatalogRelations:
        return CatalogRelations(self.rows, self.path)

    @property
    def views(self) -> CatalogViews:
        return CatalogViews(self.rows, self.path)

    def versions(self, table_id: int) -> CatalogVersions:
        return CatalogVersions(self.rows, table_id, self.path)

    def copy_to(self, path: Path) -> dict[str, str]:
        """Write the catalog as it is now to `path`; return the files that the copy names, with their
        checksums."""
        with self._reading:
            files = write_copy(self._reader, path, _NAMED_FILES)
        return dict(checked_rows(self.path, "data_files", ("path", "checksum"), files.items()))

    def paths(self) -> set[str]:
        """All data and change files that a version of any table names."""
        rows = checked_rows(self.path, "data_files", ("path", "checksum"), self.rows(_NAMED_FILES))
        return {path for path, _ in rows}

    def known_paths(self) -> set[str]:
        """All files that a version names, and those that wait for removal until nobody reads them."""
        return self.paths() | {file.path for file in self.removed_files()}

    def paths_on_disk(self) -> set[str]:
        """Like `known_paths`, but read again from disk if the catalog was read into memory when it was
        opened."""
        if self.rows("PRAGMA database_list")[0][2]:
            return self.known_paths()
        with closing(Catalog(self.path.parent, read_only=True)) as now:
            return now.known_paths()

    def removed_files(self) -> list[RemovedFile]:
        """Files that no version names any more but that still exist, the earliest first."""
        names = [field.name for field in fields(RemovedFile)]
        rows = self.rows(f"SELECT {', '.join(names)} FROM removed_files ORDER BY number")
        return [RemovedFile(*row) for row in checked_rows(self.path, "removed_files", names, rows)]

    def removals(self) -> int:
        """How many files have ever been removed from the catalog."""
        rows = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'removed_files'")
        checked_rows(self.path, "sqlite_sequence", ("seq",), rows)
        return int(rows[0][0]) if rows else 0

    def transaction_tables(self, transaction_id: int) -> list[int]:
        """The tables of a transaction; empty once one of them is dropped, or its version has expired."""
        return [
            row[0]
            for row in self.rows(
                "SELECT DISTINCT table_id FROM commits JOIN transactions USING (transaction_id)"
                " WHERE transaction_id = ?",
                transaction_id,
            )
        ]

    def _table_row(self, fields: tuple[Any, ...], names: Collection[Any] = ()) -> TableRow:
        """Make a table's row. `names` are those of other tables, which a table with an invalid name does not
        get."""
        group = self.open_group
        draft = 0 if group is None else group.draft
        try:
            (row,) = checked_rows(self.path, "tables", _TABLE_COLUMNS, [fields])
        except DamagedStore as damage:
            ((table_id,),) = checked_rows(self.path, "tables", _TABLE_COLUMNS[:1], [fields[:1]])
            damage.__traceback__ = None
            name = fields[1] if isinstance(fields[1], str) else f"table {table_id}"
            while name is not fields[1] and name in names:
                name += "?"
            return TableRow(table_id, name, "", 0, 0, 0, draft, self._opening, damage)
        return TableRow(*(*row, draft, self._opening))


_TABLE_COLUMNS = ("table_id", "name", "folder", "version", "generation", "next_id")
_TABLE = ", ".join(_TABLE_COLUMNS)
_COMMIT = (
    *("version", "at", "kind", "restores", "inserted", "updated", "deleted", "seconds", "message"),
    *("name", "transaction_id"),
)
_NAMED_FILES = "SELECT path, checksum FROM data_files UNION SELECT path, checksum FROM change_files"
