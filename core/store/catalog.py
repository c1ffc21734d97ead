"""The SQLite catalog: the only place that knows its SQL, and what makes a commit atomic.

No transaction stays open between calls.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from core.errors import ReadOnlyStore, StoreBusy, StoreProblem, StoreTooNew
from core.forks import let_go_in_children
from core.store.catalog_copy import write_copy
from core.store.catalog_relations import CatalogRelations
from core.store.catalog_retention import FILES, RemovedFile
from core.store.catalog_schema import APPLICATION_ID, CHECKED, FORMAT_VERSION, MIGRATIONS, TABLES
from core.store.catalog_transaction import Transaction
from core.store.catalog_versions import CatalogVersions
from core.store.connection import (
    BUSY_SECONDS,
    Closed,
    Forked,
    connect,
    connect_to_read,
    is_busy,
    problem,
    settle_journal,
)
from core.store.layout import CATALOG
from core.store.log_room import LogRoom
from core.store.together import TakenBack, Together

WORTH_SHRINKING_BYTES = 1 << 20
NO_VERSION = -1
_ALL = "tables"
"""What all of them are noted by."""

T = TypeVar("T")

log = logging.getLogger(__name__)

_openings = itertools.count()


IdsUnderWay = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class TableRow:
    """Where a table stands. `generation` changes when its files do without a new version; `draft` is not 0
    while what it says may yet be taken back, and then a number of its own. `opening` tells it from the same
    table in a copy of the store."""

    table_id: int
    name: str
    folder: str
    version: int
    generation: int
    next_id: int
    draft: int
    opening: int


class Catalog:
    """Opens or makes `catalog.sqlite` in a store's folder.

    Reads have a connection of their own, so they never wait for a write, of this process or another. A thread
    that is in a transaction reads through it, and so what it wrote there.

    Raises `StoreTooNew` when a later program wrote it, `StoreProblem` when it is not a catalog.
    """

    def __init__(self, folder: Path, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path, self.read_only, self._busy_seconds = folder / CATALOG, read_only, busy_seconds
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writing_thread: int | None = None
        self._together: Together | None = None
        self._log_room: LogRoom | None = None
        self._opening = next(_openings)
        self._noted: tuple[int, dict[object, Any]] = (NO_VERSION, {})
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
        let_go_in_children(self)

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()
            self._reader = self._writer = Closed(self.path)

    def forked(self) -> None:
        """In a forked child nothing is left of what was open, and no other thread to wait for."""
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writing_thread = None
        self._writer, self._reader = Forked(self.path, self._writer), Forked(self.path, self._reader)

    @contextmanager
    def transaction(self, wait: bool = True) -> Iterator[Transaction]:
        """All of the block or nothing; takes the write lock at once, so what is read inside holds.

        Inside another one of the same thread it is a part of that one, and may fail without it. Raises
        `StoreBusy` when somebody else has the lock for too long, or at all if it is not to `wait`.
        """
        try:
            with self._locked(self._busy_seconds if wait else 0):
                yield Transaction(self._writer, self._together)
        except sqlite3.Error as error:
            raise self._problem(error) from error

    @contextmanager
    def together(self, message: str, taken_back: TakenBack) -> Iterator[Together]:
        """One transaction for all commits of the block. `taken_back` is called whenever a part of it, or all,
        is undone because it failed."""
        if self.together_here is not None:
            with self._locked(self._busy_seconds):
                yield self.together_here
            return
        try:
            with self._locked(self._busy_seconds):
                self._together = together = Together(self._writer, message, taken_back)
                try:
                    yield together
                    together.close()
                finally:
                    self._together = None
        except BaseException:
            taken_back()
            raise

    @property
    def together_here(self) -> Together | None:
        """The block of `together` that the calling thread is in."""
        return self._together if self._writes_here() else None

    @contextmanager
    def _locked(self, seconds: float) -> Iterator[None]:
        if self.read_only:
            raise ReadOnlyStore(f"{self.path.parent}: the store is open read-only", fix="Open it for writing")
        if not self._writing.acquire(timeout=seconds):
            raise self._busy()
        try:
            with self._part() if self._writes_here() else self._whole(seconds):
                yield
        finally:
            self._writing.release()

    @contextmanager
    def _whole(self, seconds: float) -> Iterator[None]:
        self._begin(seconds)
        self._writing_thread = threading.get_ident()
        try:
            yield
            self._commit()
        finally:
            self._writing_thread = None
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _commit(self) -> None:
        if self._log_room is not None:
            self._log_room.keep()
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._problem(error) from error

    @contextmanager
    def _part(self) -> Iterator[None]:
        """SQLite takes a whole transaction back by itself when the disk fails; nothing may follow then."""
        if not self._writer.in_transaction:
            raise self._taken_back()
        self._writer.execute("SAVEPOINT part")
        try:
            yield
            self._writer.execute("RELEASE part")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK TO part")
                self._writer.execute("RELEASE part")
            if self._together is not None:
                self._together.take_back()
            raise

    def _writes_here(self) -> bool:
        """Whether the calling thread is in a transaction."""
        return self._writing_thread == threading.get_ident()

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """All reads of the block see the catalog as it is at the first of them."""
        if self._writes_here():
            yield
            return
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                yield
            finally:
                self._reader.execute("COMMIT")

    def noted(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` reads of the catalog, once for as long as nobody commits: to ask whether somebody did
        takes half as long as the shortest query."""
        if self._writes_here():
            return make()
        version, (noted_at, found) = self._rows("PRAGMA data_version")[0][0], self._noted
        if version != noted_at:
            found = dict[object, Any]()
            self._noted = (version, found)
        if key not in found:
            found[key] = make()  # of this version, or of one that makes the next look differ
        made: T = found[key]
        return made

    def tables(self) -> list[TableRow]:
        return list(self.noted(_ALL, self._tables))

    def table(self, table_id: int) -> TableRow | None:
        return self.noted(table_id, partial(self._table, table_id))

    def _tables(self) -> tuple[TableRow, ...]:
        return tuple(map(self._table_row, self._rows(f"SELECT {_TABLE} FROM tables ORDER BY name")))

    def _table(self, table_id: int) -> TableRow | None:
        if not self._writes_here() and _ALL in (noted := self._noted[1]):
            return next((row for row in noted[_ALL] if row.table_id == table_id), None)
        found = self._rows(f"SELECT {_TABLE} FROM tables WHERE table_id = ?", table_id)
        return self._table_row(found[0]) if found else None

    def valid(self, kind: str, table_id: int, version: int, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Entries of a versioned table that hold at `version`, oldest first."""
        return self._rows(
            f"SELECT {', '.join(columns)} FROM {kind}"
            " WHERE table_id = ? AND to_version > ? AND from_version <= ? ORDER BY entry",
            table_id, version, version,
        )  # fmt: skip

    def entry(self, kind: str, entry: int, columns: Sequence[str]) -> tuple[Any, ...]:
        return self._rows(f"SELECT {', '.join(columns)} FROM {kind} WHERE entry = ?", entry)[0]

    def indexes(self, table_id: int) -> list[tuple[str, str, str]]:
        """(kind, column ids, options) of a table's indexes, the first made first."""
        return self._rows(
            "SELECT kind, column_ids, options FROM indexes WHERE table_id = ? ORDER BY index_id", table_id
        )

    def ids_under_way(self, table_id: int) -> IdsUnderWay:
        """(first, last) of the ids that rows being staged have, of whichever process."""
        found = self._rows("SELECT first_id, last_id FROM ids_under_way WHERE table_id = ?", table_id)
        return [(first, last) for first, last in found]

    def forget_ids_under_way(self) -> None:
        """Of rows whose staging was cut short; nobody may be staging now."""
        if self._rows("SELECT 1 FROM ids_under_way LIMIT 1"):
            with self.transaction() as transaction:
                transaction.forget_ids_under_way()

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

    def checked(self, kind: str, table_id: int) -> Iterator[tuple[Any, ...]]:
        """(entry, checksum, what it is of…) of pending entries, whichever versions they hold at, one at a
        time; those that go meanwhile are left out."""
        wanted = ", ".join(("entry", "checksum", *CHECKED[kind]))
        for (entry,) in self.every(kind, table_id, ("entry",)):
            yield from self._rows(f"SELECT {wanted} FROM {kind} WHERE entry = ?", entry)

    def integrity(self) -> list[str]:
        """What SQLite finds damaged in its file; nothing when all is well."""
        try:
            found = self._rows("PRAGMA integrity_check")
        except StoreProblem as problem:
            return [problem.why]
        return [told for (told,) in found if told != "ok"]

    def file_spans(self, table_id: int) -> list[tuple[Any, ...]]:
        """(path, bytes, from_version, to_version) of every file, for each time it is entered."""
        return self._rows(
            " UNION ALL ".join(
                f"SELECT path, bytes, from_version, to_version FROM {kind} WHERE table_id = ?1"
                for kind in FILES
            ),
            table_id,
        )

    @property
    def relations(self) -> CatalogRelations:
        return CatalogRelations(self._rows)

    def versions(self, table_id: int) -> CatalogVersions:
        return CatalogVersions(self._rows, table_id)

    def copy_to(self, path: Path) -> dict[str, str]:
        """Write the catalog as it is at this moment to `path`; answers the files that the copy names, and
        their checksums."""
        with self._reading:
            return write_copy(self._reader, path, _NAMED_FILES)

    def paths(self) -> set[str]:
        """Every data and change file that any version of any table still names."""
        return {row[0] for row in self._rows(_NAMED_FILES)}

    def known_paths(self) -> set[str]:
        """Every file that a version names, or that waits until nobody reads it any more."""
        return self.paths() | {file.path for file in self.removed_files()}

    def removed_files(self) -> list[RemovedFile]:
        """Files that no version names any more and that are not removed yet, the first first."""
        names = ", ".join(field.name for field in fields(RemovedFile))
        return [RemovedFile(*row) for row in self._rows(f"SELECT {names} FROM removed_files ORDER BY number")]

    def removals(self) -> int:
        """How many files were ever taken out of the catalog."""
        found = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'removed_files'")
        return int(found[0][0]) if found else 0

    def transaction_tables(self, transaction_id: int) -> list[int]:
        """The tables of a transaction; nothing once one of them is dropped, or its version has expired."""
        return [
            row[0]
            for row in self._rows(
                "SELECT DISTINCT table_id FROM commits JOIN transactions USING (transaction_id)"
                " WHERE transaction_id = ?",
                transaction_id,
            )
        ]

    def _table_row(self, found: tuple[Any, ...]) -> TableRow:
        together = self.together_here
        draft = 0 if together is None else together.draft
        return TableRow(*(*found, draft, self._opening))

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if self._writes_here():
            return self._writer.execute(sql, values).fetchall()
        with self._reading:
            try:
                return self._reader.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise self._unreadable(error) from error

    def _connect(self) -> sqlite3.Connection:
        opened = connect_to_read if self.read_only else connect
        try:
            return opened(self.path, self._busy_seconds)
        except sqlite3.DatabaseError as error:
            raise self._not_a_catalog(str(error)) from error

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
        self._configure(new=False)
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
        self._configure(new=True)
        with self.transaction() as transaction:
            if self._writer.execute("PRAGMA user_version").fetchone()[0] == 0:
                transaction.script(TABLES)
                transaction.script(f"PRAGMA application_id = {APPLICATION_ID}")
                transaction.script(f"PRAGMA user_version = {FORMAT_VERSION}")

    def _configure(self, new: bool) -> None:
        if self.read_only:
            return
        try:
            if settle_journal(self._writer, self.path, new):
                self._log_room = LogRoom(self.path)
        except sqlite3.Error as error:
            raise self._problem(error) from error

    def _not_a_catalog(self, why: str) -> StoreProblem:
        return StoreProblem(f"{self.path}: not the catalog of a store", why, "Choose another folder")

    def _begin(self, seconds: float) -> None:
        try:
            if seconds:
                self._writer.execute("BEGIN IMMEDIATE")
            else:
                self._begin_at_once()
        except sqlite3.OperationalError as error:
            raise self._problem(error) from error

    def _begin_at_once(self) -> None:
        self._writer.execute("PRAGMA busy_timeout = 0")
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        finally:
            self._writer.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")

    def shrink(self) -> int:
        """Give back the room that deleted entries took, if it is worth it; answers the bytes."""
        page, free = (self._rows(f"PRAGMA {name}")[0][0] for name in ("page_size", "freelist_count"))
        if page * free < WORTH_SHRINKING_BYTES or self._writes_here():
            return 0
        with self._writing:
            before = self.path.stat().st_size
            try:
                self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                log.info("%s: stays as large as it is: %s", self.path, error)
            return max(0, before - self.path.stat().st_size)

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self.path.parent}: somebody else is writing to the store",
            f"They kept the lock for more than {self._busy_seconds:g} seconds",
            "Try again when they are done",
        )

    def _unreadable(self, error: sqlite3.Error) -> StoreProblem:
        if is_busy(error):
            return self._busy()
        return StoreProblem(
            f"{self.path}: the catalog could not be read",
            str(error),
            "If it stays so, verify the store, or restore a backup",
        )

    def _problem(self, error: sqlite3.Error) -> StoreProblem:
        return self._busy() if is_busy(error) else problem(self.path, error)

    def _taken_back(self) -> StoreProblem:
        return StoreProblem(
            f"{self.path}: the change could not be written",
            "the transaction failed before",
            "Nothing changed; begin it again",
        )


_TABLE = "table_id, name, folder, version, generation, next_id"
_NAMED_FILES = "SELECT path, checksum FROM data_files UNION SELECT path, checksum FROM change_files"
