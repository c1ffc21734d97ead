"""The SQLite catalog: the only place that knows its SQL, and what makes a commit atomic.

No transaction stays open between calls.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ReadOnlyStore, StoreBusy, StoreProblem, StoreTooNew
from core.store.catalog_schema import APPLICATION_ID, FOREVER, FORMAT_VERSION, MIGRATIONS, TABLES, VERSIONED

BUSY_SECONDS = 10.0
NAME = "catalog.sqlite"


@dataclass(frozen=True)
class TableRow:
    """Where a table stands. `generation` changes when its files do without a new version."""

    table_id: int
    name: str
    folder: str
    version: int
    generation: int
    next_id: int


class Catalog:
    """Opens or makes `catalog.sqlite` in a store's folder.

    Reads have a connection of their own, so they never wait for a write, of this process or another.

    Raises `StoreTooNew` when a later program wrote it, `StoreProblem` when it is not a catalog.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.path, self.read_only = folder / NAME, read_only
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writer = self._connect()
        self._reader = self._writer
        try:
            self._check_format()
            if not read_only:
                self._reader = self._connect()
                self._reader.execute("PRAGMA query_only = ON")
        except BaseException:
            self._writer.close()
            raise

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All of the block or nothing; takes the write lock at once, so what is read inside holds.

        Inside another one of the same thread it is a part of that one.
        """
        if self.read_only:
            raise ReadOnlyStore(f"{self.path.parent}: the store is open read-only", fix="Open it for writing")
        with self._writing:
            if self._writer.in_transaction:
                yield Transaction(self._writer)
                return
            self._begin()
            try:
                yield Transaction(self._writer)
                self._writer.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._unwritable(error) from error
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """All reads of the block see the catalog as it is at the first of them."""
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                yield
            finally:
                self._reader.execute("COMMIT")

    def tables(self) -> list[TableRow]:
        return [TableRow(*row) for row in self._rows(f"SELECT {_TABLE} FROM tables ORDER BY name")]

    def table(self, table_id: int) -> TableRow | None:
        found = self._rows(f"SELECT {_TABLE} FROM tables WHERE table_id = ?", table_id)
        return TableRow(*found[0]) if found else None

    def valid(self, kind: str, table_id: int, version: int, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Entries of a versioned table that hold at `version`, oldest first."""
        return self._rows(
            f"SELECT {', '.join(columns)} FROM {kind}"
            " WHERE table_id = ? AND to_version > ? AND from_version <= ? ORDER BY entry",
            table_id, version, version,
        )  # fmt: skip

    def entry(self, kind: str, entry: int, columns: Sequence[str]) -> tuple[Any, ...]:
        return self._rows(f"SELECT {', '.join(columns)} FROM {kind} WHERE entry = ?", entry)[0]

    def commits(self, table_id: int) -> list[tuple[Any, ...]]:
        return self._rows(
            "SELECT version, at, kind, restores, inserted, updated, deleted, seconds, message,"
            " name, transaction_id FROM commits WHERE table_id = ? ORDER BY version",
            table_id,
        )

    def every(self, kind: str, table_id: int, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Entries of a versioned table, whichever versions they hold at, oldest first."""
        return self._rows(
            f"SELECT {', '.join(columns)} FROM {kind} WHERE table_id = ? ORDER BY entry", table_id
        )

    def integrity(self) -> list[str]:
        """What SQLite finds damaged in its file; nothing when all is well."""
        try:
            found = self._rows("PRAGMA integrity_check")
        except StoreProblem as problem:
            return [problem.why]
        return [told for (told,) in found if told != "ok"]

    def paths(self) -> set[str]:
        """Every data and change file that any version of any table still names."""
        named = "SELECT path FROM data_files UNION SELECT path FROM change_files"
        return {row[0] for row in self._rows(named)}

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reader.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise StoreProblem(
                    f"{self.path}: the catalog could not be read",
                    str(error),
                    "If it stays so, verify the store, or restore a backup",
                ) from error

    def _connect(self) -> sqlite3.Connection:
        mode = "mode=ro" if self.read_only else "mode=rwc"
        if self.read_only and not os.access(self.path.parent, os.W_OK):
            mode += "&immutable=1"  # SQLite would make its shared-memory file beside it
        try:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY_SECONDS,
                isolation_level=None, check_same_thread=False,
            )  # fmt: skip
        except sqlite3.OperationalError as error:
            raise StoreProblem(f"{self.path.parent}: the store cannot be opened", str(error)) from error
        return connection

    def _check_format(self) -> None:
        try:
            written = int(self._rows("PRAGMA user_version")[0][0])
            if written == 0 and not self._rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                self._create()
                return
            known = self._rows("PRAGMA application_id")[0][0] == APPLICATION_ID
        except (sqlite3.DatabaseError, StoreProblem) as error:
            raise self._not_a_catalog(str(error.__cause__ or error)) from error
        if not known:
            raise self._not_a_catalog("it is a SQLite file of another program")
        if written > FORMAT_VERSION:
            raise StoreTooNew(
                f"{self.path.parent}: the store was written by a later version of Lamella",
                f"its format is {written}, this program knows {FORMAT_VERSION}",
                "Open it with the version that wrote it, or a newer one",
            )
        self._configure()
        if written < FORMAT_VERSION:
            self._migrate()

    def _migrate(self) -> None:
        """Another program may be doing it at the same moment: each step is looked at under the lock."""
        if self.read_only:
            raise StoreProblem(
                f"{self.path.parent}: the store is of an earlier format",
                fix="Open it once for writing, which brings it up to date",
            )
        with self.transaction() as transaction:
            for written in range(self._writer.execute("PRAGMA user_version").fetchone()[0], FORMAT_VERSION):
                transaction.script(MIGRATIONS[written])
                transaction.script(f"PRAGMA user_version = {written + 1}")

    def _create(self) -> None:
        """Another program may be making it at the same moment: whoever has the lock first does."""
        if self.read_only:
            raise self._not_a_catalog("it is empty")
        self._configure()
        with self.transaction() as transaction:
            if self._writer.execute("PRAGMA user_version").fetchone()[0] == 0:
                transaction.script(TABLES)
                transaction.script(f"PRAGMA application_id = {APPLICATION_ID}")
                transaction.script(f"PRAGMA user_version = {FORMAT_VERSION}")

    def _configure(self) -> None:
        """WAL so that readers never wait; FULL so that a commit that returned survives a power cut."""
        if self.read_only:
            return
        try:
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")
        except sqlite3.OperationalError as error:
            raise self._busy() from error

    def _not_a_catalog(self, why: str) -> StoreProblem:
        return StoreProblem(f"{self.path}: not the catalog of a store", why, "Choose another folder")

    def _begin(self) -> None:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "readonly" in str(error):
                raise ReadOnlyStore(f"{self.path.parent}: the store cannot be written", str(error)) from error
            raise self._busy() from error

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self.path.parent}: another program is writing to the store",
            f"it kept the lock for more than {BUSY_SECONDS:.0f} seconds",
            "Try again when it is done",
        )

    def _unwritable(self, error: sqlite3.Error) -> StoreProblem:
        return StoreProblem(
            f"{self.path}: the change could not be written",
            str(error),
            "Nothing changed; check the disk's space",
        )


class Transaction:
    """What may be done inside `Catalog.transaction()`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def script(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._connection.execute(statement)

    def add_table(self, name: str, folder: str) -> int:
        made = self._connection.execute(
            "INSERT INTO tables (name, folder, version, generation, next_id, next_column)"
            " VALUES (?, ?, 0, 0, 0, 1) RETURNING table_id",
            (name, folder),
        )
        return int(made.fetchone()[0])

    def rename_table(self, table_id: int, name: str) -> None:
        self._connection.execute("UPDATE tables SET name = ? WHERE table_id = ?", (name, table_id))

    def drop_table(self, table_id: int) -> None:
        for kind in ("tables", "commits", *VERSIONED):
            self._connection.execute(f"DELETE FROM {kind} WHERE table_id = ?", (table_id,))

    def table_names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM tables ORDER BY name")]

    def version(self, table_id: int) -> tuple[int, int] | None:
        """(version, generation), or None when the table is gone."""
        found: tuple[int, int] | None = self._connection.execute(
            "SELECT version, generation FROM tables WHERE table_id = ?", (table_id,)
        ).fetchone()
        return found

    def take_ids(self, table_id: int, count: int) -> int:
        """The first of `count` ids that nobody else gets."""
        return int(self._take(table_id, "next_id", count))

    def take_column_ids(self, table_id: int, count: int) -> int:
        return int(self._take(table_id, "next_column", count))

    def move_on(self, table_id: int, commit: tuple[Any, ...]) -> None:
        """Make `commit` (version, at, kind, restores, counts…, seconds, message, name, transaction) the
        table's newest."""
        marks = ", ".join("?" * (1 + len(commit)))
        self._connection.execute(f"INSERT INTO commits VALUES ({marks})", (table_id, *commit))
        self._connection.execute("UPDATE tables SET version = ? WHERE table_id = ?", (commit[0], table_id))

    def next_generation(self, table_id: int) -> None:
        self._connection.execute(
            "UPDATE tables SET generation = generation + 1 WHERE table_id = ?", (table_id,)
        )

    def add(self, kind: str, table_id: int, version: int, values: Sequence[Any]) -> int:
        """A new entry of a versioned table, valid from `version` on; answers its number."""
        columns = ("table_id", *VERSIONED[kind], "from_version", "to_version")
        marks = ", ".join("?" * len(columns))
        made = self._connection.execute(
            f"INSERT INTO {kind} ({', '.join(columns)}) VALUES ({marks})",
            (table_id, *values, version, FOREVER),
        )
        return int(made.lastrowid or 0)

    def close(self, kind: str, entries: Sequence[int], version: int) -> None:
        """End these entries' validity before `version`."""
        self._connection.executemany(
            f"UPDATE {kind} SET to_version = ? WHERE entry = ?", [(version, e) for e in entries]
        )

    def restore(self, kind: str, table_id: int, target: int, current: int) -> None:
        """Make what was valid at `target` valid again from `current + 1` on, and nothing else."""
        columns = ", ".join(("table_id", *VERSIONED[kind]))
        held = "table_id = ? AND from_version <= ? AND to_version > ?"
        self._connection.execute(
            f"INSERT INTO {kind} ({columns}, from_version, to_version) SELECT {columns}, ?, ? FROM {kind}"
            f" WHERE {held} AND NOT (from_version <= ? AND to_version > ?) ORDER BY entry",
            (current + 1, FOREVER, table_id, target, target, current, current),
        )
        self._connection.execute(
            f"UPDATE {kind} SET to_version = ? WHERE {held} AND NOT (from_version <= ? AND to_version > ?)",
            (current + 1, table_id, current, current, target, target),
        )

    def _take(self, table_id: int, counter: str, count: int) -> int:
        return int(
            self._connection.execute(
                f"UPDATE tables SET {counter} = {counter} + ? WHERE table_id = ? RETURNING {counter} - ?",
                (count, table_id, count),
            ).fetchone()[0]
        )


_TABLE = "table_id, name, folder, version, generation, next_id"
