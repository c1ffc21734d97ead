"""Access to a catalog: its two connections, its write lock, and the disk space that commits need."""

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
    ForkedConnection,
    connect,
    connect_to_read,
    is_busy,
    is_full,
    log_exists,
    no_room,
    open_error,
    problem,
    remove_empty_log,
    settle_journal,
)
from lamella.core.store.catalog.schema import LAST_NUMBER, NUMBERED_TABLES, damaged_entry
from lamella.core.store.catalog.transaction import CommitGroup, OnRollback, Transaction
from lamella.core.store.folder import network_type
from lamella.core.store.paths import CATALOG, NO_FILE, FileIdentity, StorePaths, file_identity

LEAST_BYTES, MOST_BYTES = 128 << 10, 1 << 20
LEAST_RESERVE, MOST_RESERVE = 256 << 10, 4 << 20
FRAME_BYTES = 24 + 4096
"""The size of one page in the log, with its header, which is never all zeros."""

log = logging.getLogger(__name__)


class LogRoom:
    """Reserves space in a catalog's write-ahead log. Only the thread that has the catalog's write lock may
    use it.

    The reserved space is zeros, and zeros are no frames: a frame is valid only with the salts and the
    checksum that follow from the log's header (sqlite.org/fileformat2.html, "The Write-Ahead Log"), so
    SQLite stops there, as it does at frames of an earlier round. Only the holder of the lock extends the
    file, so no frames are overwritten.
    """

    def __init__(self, catalog: Path) -> None:
        self._log = Path(f"{catalog}-wal")
        self._bytes = 0

    def keep(self) -> FileIdentity:
        """Double the log, within bounds, if commits have outgrown it; the commit's own sync makes that
        durable. Before the first commit the log is empty, so a process that makes only one reserves nothing.

        If no space can be reserved, commits work without. Returns the identity of the log file.
        """
        identity = NO_FILE
        try:
            status = os.stat(self._log)  # noqa: PTH116 -- at each commit
            identity, size = (status.st_dev, status.st_ino), status.st_size
            grew, self._bytes = size > self._bytes, size
            if grew:
                self._bytes = self._lengthen(size, min(max(size, LEAST_BYTES), MOST_BYTES))
        except FileNotFoundError:
            return NO_FILE
        except OSError as error:
            log.info("%s: no room is made in it: %s", self._log, error)
        return identity

    def _lengthen(self, size: int, by: int) -> int:
        """Extend the log; return its new size. It stays as it is if another process has already reserved
        space, or if the disk is full: the last of the space is for commits."""
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
    """A file that reserves disk space for operations that free space: dropping a table, or expiring versions,
    first needs space in the catalog's log for every page that changes."""

    def __init__(self, paths: StorePaths) -> None:
        self._path, self._catalog = paths.reserve, paths.catalog

    def keep(self) -> None:
        """Make sure that the file exists and is large enough, or as large as the disk allows."""
        try:
            size = min(max(LEAST_RESERVE, self._catalog.stat().st_size), MOST_RESERVE)
            if self._path.exists() and self._path.stat().st_size >= size:
                return
        except OSError as error:
            log.info("%s: no space is reserved for a full disk: %s", self._path, error)
            return
        if not any(self._reserve_room(size * eighths // 8) for eighths in range(8, 0, -1)):
            log.info("%s: the disk has no space to reserve", self._path)

    def _reserve_room(self, size: int) -> bool:
        self.release()
        try:
            with self._path.open("xb") as file:
                file.write(os.urandom(size))  # zeros would take no space on a compressing file system
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Remove the file; return whether it existed."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True


WORTH_SHRINKING_BYTES = 1 << 20

T = TypeVar("T")


class CatalogAccess:
    """Opens or creates the catalog file; subclasses know its content.

    Reads have a connection of their own, so they never wait for a write of this process or another. A thread
    in a transaction reads through the transaction, and so sees what it wrote there.
    """

    def __init__(self, folder: Path, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path, self.read_only, self._busy_seconds = folder / CATALOG, read_only, busy_seconds
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writing_thread: int | None = None
        self._group: CommitGroup | None = None
        self._log_room: LogRoom | None = None
        self._reserve = Reserve(StorePaths(folder))
        self._leaves_log = not read_only or log_exists(self.path)
        self._network = network_type(folder)  # looking through the mounts takes longer than connecting
        self._writer = self._connect()
        self._reader = self._writer
        self._place = str(self.path)
        self._identity, self._log_identity = file_identity(self._place), NO_FILE

    def read_apart(self) -> None:
        """Give reads their own connection from now on; the file must be a catalog by then."""
        if not self.read_only:
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = ON")

    def refuse_replaced_catalog(self) -> None:
        """Raise `StoreProblem` if the catalog's path no longer leads to the open file: a commit would be
        lost, and a sweep could remove another store's files."""
        if file_identity(self._place) != self._identity:
            raise self._replacement_error()

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()
            if not self._leaves_log and not isinstance(self._writer, ClosedConnection | ForkedConnection):
                remove_empty_log(self.path)
            self._reader = self._writer = ClosedConnection(self.path)

    def reset_after_fork(self) -> None:
        """Mark the connections as unusable in a forked child, and replace the locks, which no thread there
        holds."""
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writing_thread = None
        self._writer, self._reader = (
            ForkedConnection(self.path, self._writer),
            ForkedConnection(self.path, self._reader),
        )

    @contextmanager
    def transaction(self, wait: bool = True) -> Iterator[Transaction]:
        """Commit all of the block or nothing. Takes the write lock at once, so what is read inside stays
        true.

        Inside another transaction of the same thread it is part of that one, and may fail on its own. Raises
        `StoreBusy` if somebody else has the lock for too long, or at all with `wait=False`.
        """
        try:
            with self._write_lock(self._busy_seconds if wait else 0):
                yield Transaction(self._writer, self.path, self._group)
        except SQLITE_ERRORS as error:
            raise self._statement_error(error) from error

    def exhausted_tables(self) -> list[DamagedStore]:
        """Find the tables of the catalog whose numbers are used up: SQLite never reuses a number, and reports
        such a table as a full disk."""
        why = "It is the last possible number, so nothing more can be entered there"
        problems = []
        for kind, number in NUMBERED_TABLES.items():
            last = self.rows(f"SELECT max({number}) FROM {kind}")
            last += self.rows("SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = ?", kind)
            if (LAST_NUMBER,) in last:
                problems.append(damaged_entry(self.path, kind, number, LAST_NUMBER, why))
        return problems

    def give_back(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction that frees space in the end, and return its result. On a full disk the
        reserve is released for it.

        Inside another transaction the reserve is released at once: when SQLite finds no space it rolls back
        the whole transaction, so nothing can be retried.
        """
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
        """Make sure that `give_back` has space when the disk is full."""
        if not self.read_only and file_identity(self._place) == self._identity:
            self._reserve.keep()

    @contextmanager
    def commit_group(self, message: str, on_rollback: OnRollback) -> Iterator[CommitGroup]:
        """Run all commits of the block in one transaction. `on_rollback` is called whenever it, or a part of
        it, is rolled back."""
        if self.open_group is not None:
            with self._write_lock(self._busy_seconds):
                yield self.open_group
            return
        try:
            with self._write_lock(self._busy_seconds):
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
            self.keep_reserve()  # a drop in the block may have released it
            raise

    @property
    def open_group(self) -> CommitGroup | None:
        """The group of the `commit_group` block that the calling thread is in, or None."""
        return self._group if self.writes_here() else None

    @contextmanager
    def _write_lock(self, seconds: float) -> Iterator[None]:
        if self.read_only:
            raise ReadOnlyStore(
                f"{self.path.parent}: the store is open read-only",
                fix="Open it for writing, or change a copy of it",
            )
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
        self.refuse_replaced_catalog()
        if self._log_room is not None:
            self._refuse_replaced_log(self._log_room.keep())
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._problem(error) from error

    def _refuse_replaced_log(self, identity: FileIdentity) -> None:
        """Raise `StoreProblem` if the log was replaced. It exists from the first transaction on, while the
        catalog is open."""
        if self._log_identity == NO_FILE:
            self._log_identity = identity
        if identity != self._log_identity or identity == NO_FILE:
            raise self._replacement_error("-wal")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except SQLITE_ERRORS as error:
            raise self._statement_error(error) from error

    @contextmanager
    def _part(self) -> Iterator[None]:
        """Run the block as a savepoint. When the disk fails, SQLite rolls the whole transaction back; nothing
        may follow then."""
        if not self._writer.in_transaction:
            raise self._rollback_error()
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
        """Let all reads of the block see the catalog as it is at the first of them."""
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
        """The bytes that deleted entries take, or 0 if freeing them is not worthwhile."""
        page, free = (self.rows(f"PRAGMA {name}")[0][0] for name in ("page_size", "freelist_count"))
        return page * free if page * free >= WORTH_SHRINKING_BYTES else 0

    def shrink(self) -> int:
        """Free the space that deleted entries take, if that is worthwhile; return the bytes."""
        if not self.free_bytes() or self.writes_here():
            return 0
        with self._writing:
            before = self.path.stat().st_size
            try:
                self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                log.info("%s: could not be shrunk: %s", self.path, error)
            return max(0, before - self.path.stat().st_size)

    def keep_safe(self, new: bool) -> None:
        """Choose how commits are made durable; a `new` file may get a write-ahead log."""
        if self.read_only:
            return
        try:
            if settle_journal(self._writer, self._network, new):
                self._log_room = LogRoom(self.path)
        except SQLITE_ERRORS as error:
            raise self._problem(error) from error

    def _connect(self) -> sqlite3.Connection:
        opened = connect_to_read if self.read_only else connect
        try:
            return opened(self.path, self._network, self._busy_seconds)
        except SQLITE_ERRORS as error:
            raise open_error(self.path, error) from error

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
            f"{self.path.parent}: another program is writing to the store",
            f"It has kept the lock for more than {self._busy_seconds:g} seconds",
            "Try again when it is done",
        )

    def _unreadable(self, error: Exception) -> StoreProblem:
        if is_busy(error):
            return self._busy()
        return StoreProblem(
            f"{self.path}: the catalog could not be read",
            str(error),
            "If this persists, verify the store, or restore a backup",
        )

    def _replacement_error(self, part: str = "") -> StoreProblem:
        return StoreProblem(
            f"{self.path}{part}: is not the file that was opened",
            "The store was moved, removed or replaced while it was open",
            "Nothing changed; close it, and open it where it is now",
        )

    def _problem(self, error: Exception) -> StoreProblem:
        if file_identity(self._place) != self._identity:
            return self._replacement_error()
        return self._busy() if is_busy(error) else problem(self.path, error)

    def _statement_error(self, error: Exception) -> StoreProblem:
        """Like `_problem`, for a statement that may have failed because numbers are used up."""
        used_up = self.exhausted_tables() if is_full(error) else []
        return used_up[0] if used_up else self._problem(error)

    def _rollback_error(self) -> StoreProblem:
        return StoreProblem(
            f"{self.path}: the change could not be written",
            "The transaction has already failed",
            "Nothing changed; start it again",
        )
