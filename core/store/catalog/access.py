"""Who may write a catalog: its two connections, its lock, and the room that commits need on the disk."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.errors import DamagedStore, ReadOnlyStore, StoreBusy, StoreProblem
from lamella.core.store.catalog.connection import (
    BUSY_SECONDS,
    SQLITE_ERRORS,
    ClosedConnection,
    Forked,
    connect,
    connect_to_read,
    is_busy,
    is_full,
    log_exists,
    no_room,
    problem,
    remove_empty_log,
    settle_journal,
    unopened,
)
from lamella.core.store.catalog.schema import LAST_NUMBER, NUMBERED, damaged_entry
from lamella.core.store.catalog.transaction import CommitGroup, OnRollback, Transaction
from lamella.core.store.paths import CATALOG, NO_FILE, FileIdentity, StorePaths, file_identity

LEAST_BYTES, MOST_BYTES = 128 << 10, 1 << 20
LEAST_RESERVE, MOST_RESERVE = 256 << 10, 4 << 20
FRAME_BYTES = 24 + 4096
"""Of a page of a catalog, as the log holds it: its header is never all zeros."""

log = logging.getLogger(__name__)


class LogRoom:
    """Of the log beside a catalog. One thread at a time, which has the catalog's write lock.

    Zeros are no frames: one is valid only with the salts and the checksum that follow from the log's header
    (sqlite.org/fileformat2.html, "The Write-Ahead Log"), so SQLite stops there, as it does where frames of an
    earlier round follow. Only who has the lock lengthens the file, so nobody's frames are written over.
    """

    def __init__(self, catalog: Path) -> None:
        self._log = Path(f"{catalog}-wal")
        self._bytes = 0

    def keep(self) -> FileIdentity:
        """Twice the log, within bounds, where it was outgrown; the commit's own sync makes it durable. Before
        the first commit the log is empty, so a process that makes only one does without.

        Where none can be made, commits do without too. Answers which file the log is.
        """
        identity = NO_FILE
        try:
            status = os.stat(self._log)  # noqa: PTH116 -- at each commit
            identity, size = (status.st_dev, status.st_ino), status.st_size
            grew, self._bytes = size > self._bytes, size
            if grew:
                self._bytes = self._lengthened(size, min(max(size, LEAST_BYTES), MOST_BYTES))
        except FileNotFoundError:
            return NO_FILE
        except OSError as error:
            log.info("%s: no room is made in it: %s", self._log, error)
        return identity

    def _lengthened(self, size: int, by: int) -> int:
        """The log's new size. It stays as it is where somebody else made room, of whichever process, and on a
        full disk: the last of the room is for commits."""
        whole = False
        with self._log.open("r+b", buffering=0) as file:
            file.seek(max(0, size - FRAME_BYTES))
            if size and not any(file.read(FRAME_BYTES)):
                return size
            try:
                whole = file.write(bytes(by)) == by
            finally:
                if not whole:
                    file.truncate(size)
        return size + by if whole else size


class Reserve:
    """A file that takes room until a full disk stands in the way of giving room back: to drop a table, or to
    let versions expire, first takes room in the catalog's log, for every page that changes."""

    def __init__(self, paths: StorePaths) -> None:
        self._path, self._catalog = paths.reserve, paths.catalog

    def keep(self) -> None:
        """See to it that there is one that is large enough, or as large as the disk has room for."""
        try:
            size = min(max(LEAST_RESERVE, self._catalog.stat().st_size), MOST_RESERVE)
            if self._path.exists() and self._path.stat().st_size >= size:
                return
        except OSError as error:
            log.info("%s: no room is kept back for a full disk: %s", self._path, error)
            return
        if not any(self._reserve_room(size * eighths // 8) for eighths in range(8, 0, -1)):
            log.info("%s: the disk has no room that could be kept back", self._path)

    def _reserve_room(self, size: int) -> bool:
        self.release()
        try:
            with self._path.open("xb") as file:
                file.write(os.urandom(size))  # zeros take no room where a file system compresses
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give its room back; whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True


WORTH_SHRINKING_BYTES = 1 << 20

T = TypeVar("T")


class CatalogAccess:
    """Opens or makes the file; subclasses know what is in it.

    Reads have a connection of their own, so they never wait for a write, of this process or another. A thread
    that is in a transaction reads through it, and so what it wrote there.
    """

    def __init__(self, folder: Path, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path, self.read_only, self._busy_seconds = folder / CATALOG, read_only, busy_seconds
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writing_thread: int | None = None
        self._group: CommitGroup | None = None
        self._log_room: LogRoom | None = None
        self._reserve = Reserve(StorePaths(folder))
        self._leaves_log = not read_only or log_exists(self.path)
        self._writer = self._connect()
        self._reader = self._writer
        self._place = str(self.path)
        self._identity, self._log_identity = file_identity(self._place), NO_FILE

    def read_apart(self) -> None:
        """From now on reads have their own connection; the file has to be a catalog by then."""
        if not self.read_only:
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = ON")

    def refuse_replaced(self) -> None:
        """Raise `StoreProblem` where the catalog's path leads to another file than the one that is open or to
        none: what is committed would be lost, and what is swept another store's."""
        if file_identity(self._place) != self._identity:
            raise self._replaced()

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()
            if not self._leaves_log and not isinstance(self._writer, ClosedConnection | Forked):
                remove_empty_log(self.path)
            self._reader = self._writer = ClosedConnection(self.path)

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
                yield Transaction(self._writer, self.path, self._group)
        except SQLITE_ERRORS as error:
            raise self._refused(error) from error

    def used_up(self) -> list[DamagedStore]:
        """The tables of the catalog that can take no entry any more: SQLite never gives a number again, and
        says of such a table that the disk is full."""
        why = "No number follows it, so that nothing more can be entered there"
        problems = []
        for kind, number in NUMBERED.items():
            last = self.rows(f"SELECT max({number}) FROM {kind}")
            last += self.rows("SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = ?", kind)
            if (LAST_NUMBER,) in last:
                problems.append(damaged_entry(self.path, kind, number, LAST_NUMBER, why))
        return problems

    def give_back(self, work: Callable[[Transaction], T]) -> T:
        """What `work` answers in a transaction that gives room back in the end. On a full disk it has the
        room that was kept back for it.

        Inside another transaction it has that room at once: where SQLite finds none, it takes back all of the
        transaction, and nothing can be tried again."""
        if self.writes_here():
            self._reserve.release()
        try:
            with self.transaction() as transaction:
                return work(transaction)
        except StoreProblem as problem:
            if self.writes_here() or not (no_room(problem) and self._reserve.release()):
                raise
        with self.transaction() as transaction:
            return work(transaction)

    def keep_reserve(self) -> None:
        """See to it that `give_back` has room when the disk is full."""
        if not self.read_only and file_identity(self._place) == self._identity:
            self._reserve.keep()

    @contextmanager
    def commit_group(self, message: str, on_rollback: OnRollback) -> Iterator[CommitGroup]:
        """One transaction for all commits of the block. `on_rollback` is called whenever a part of it, or
        all, is undone because it failed."""
        if self.open_group is not None:
            with self._locked(self._busy_seconds):
                yield self.open_group
            return
        try:
            with self._locked(self._busy_seconds):
                with self._refusing():
                    self._group = group = CommitGroup(self._writer, message, on_rollback)
                try:
                    yield group
                    with self._refusing():
                        group.close()
                finally:
                    self._group = None
        except BaseException:
            on_rollback()
            self.keep_reserve()  # which a drop in the block may have given up
            raise

    @property
    def open_group(self) -> CommitGroup | None:
        """The block of `commit_group` that the calling thread is in."""
        return self._group if self.writes_here() else None

    @contextmanager
    def _locked(self, seconds: float) -> Iterator[None]:
        if self.read_only:
            raise ReadOnlyStore(f"{self.path.parent}: the store is open read-only", fix="Open it for writing")
        if not self._writing.acquire(timeout=seconds):
            raise self._busy()
        try:
            with self._part() if self.writes_here() else self._whole(seconds):
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
        self.refuse_replaced()
        if self._log_room is not None:
            self._refuse_replaced_log(self._log_room.keep())
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._problem(error) from error

    def _refuse_replaced_log(self, identity: FileIdentity) -> None:
        """It is there from the first transaction on, for as long as the catalog is open."""
        if self._log_identity == NO_FILE:
            self._log_identity = identity
        if identity != self._log_identity or identity == NO_FILE:
            raise self._replaced("-wal")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except SQLITE_ERRORS as error:
            raise self._refused(error) from error

    @contextmanager
    def _part(self) -> Iterator[None]:
        """SQLite takes a whole transaction back by itself when the disk fails; nothing may follow then."""
        if not self._writer.in_transaction:
            raise self._rolled_back()
        self._writer.execute("SAVEPOINT part")
        try:
            yield
            self._writer.execute("RELEASE part")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK TO part")
                self._writer.execute("RELEASE part")
            if self._group is not None:
                self._group.take_back()
            raise

    def writes_here(self) -> bool:
        """Whether the calling thread is in a transaction."""
        return self._writing_thread == threading.get_ident()

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """All reads of the block see the catalog as it is at the first of them."""
        if self.writes_here():
            yield
            return
        with self._reading:
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if self.writes_here():
            return self._writer.execute(sql, values).fetchall()
        with self._reading:
            try:
                return self._reader.execute(sql, values).fetchall()
            except SQLITE_ERRORS as error:
                raise self._unreadable(error) from error

    def free_bytes(self) -> int:
        """The room that deleted entries took, where it is worth giving back."""
        page, free = (self.rows(f"PRAGMA {name}")[0][0] for name in ("page_size", "freelist_count"))
        return page * free if page * free >= WORTH_SHRINKING_BYTES else 0

    def shrink(self) -> int:
        """Give back the room that deleted entries took, if it is worth it; answers the bytes."""
        if not self.free_bytes() or self.writes_here():
            return 0
        with self._writing:
            before = self.path.stat().st_size
            try:
                self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                log.info("%s: stays as large as it is: %s", self.path, error)
            return max(0, before - self.path.stat().st_size)

    def keep_safe(self, new: bool) -> None:
        """Settle how commits are made durable; a `new` file may be given a write-ahead log."""
        if self.read_only:
            return
        try:
            if settle_journal(self._writer, self.path, new):
                self._log_room = LogRoom(self.path)
        except SQLITE_ERRORS as error:
            raise self._problem(error) from error

    def _connect(self) -> sqlite3.Connection:
        opened = connect_to_read if self.read_only else connect
        try:
            return opened(self.path, self._busy_seconds)
        except SQLITE_ERRORS as error:
            raise unopened(self.path, error) from error

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

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self.path.parent}: somebody else is writing to the store",
            f"They kept the lock for more than {self._busy_seconds:g} seconds",
            "Try again when they are done",
        )

    def _unreadable(self, error: Exception) -> StoreProblem:
        if is_busy(error):
            return self._busy()
        return StoreProblem(
            f"{self.path}: the catalog could not be read",
            str(error),
            "If it stays so, verify the store, or restore a backup",
        )

    def _replaced(self, part: str = "") -> StoreProblem:
        return StoreProblem(
            f"{self.path}{part}: is not the file that was opened",
            "The store was moved, removed or replaced while it was open",
            "Nothing changed; close it, and open it where it is now",
        )

    def _problem(self, error: Exception) -> StoreProblem:
        if file_identity(self._place) != self._identity:
            return self._replaced()
        return self._busy() if is_busy(error) else problem(self.path, error)

    def _refused(self, error: Exception) -> StoreProblem:
        """The same of a statement that may have been refused for numbers that are used up."""
        used_up = self.used_up() if is_full(error) else []
        return used_up[0] if used_up else self._problem(error)

    def _rolled_back(self) -> StoreProblem:
        return StoreProblem(
            f"{self.path}: the change could not be written",
            "the transaction failed before",
            "Nothing changed; begin it again",
        )
