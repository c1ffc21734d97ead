"""SQLite connections to a catalog, as its medium allows, and copies of it."""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from typing import Any

from lamella.core.errors import ReadOnlyStore, StoreBusy, StoreProblem
from lamella.core.processes import never_finalize

log = logging.getLogger(__name__)

PARTS = ("", "-wal", "-journal")
"""Suffixes of the catalog and of SQLite's files beside it: changes not yet merged, or still to be rolled
back."""
COPY_TRIES = 5


def read_into_memory(path: Path) -> sqlite3.Connection:
    """Read everything committed so far into memory, including a log that a crash left behind."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with tempfile.TemporaryDirectory(prefix="lamella-catalog-") as folder:
            copy = Path(folder, path.name)
            _copy(path, copy)
            with closing(sqlite3.connect(copy)) as source:
                source.backup(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def write_copy(catalog: sqlite3.Connection, path: Path, pairs: str) -> dict[str, str]:
    """Write the catalog as it is now to `path`; return the pairs that the statement `pairs` selects from the
    copy."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            catalog.backup(copy)
            return dict(copy.execute(pairs).fetchall())
    except sqlite3.DatabaseError as error:
        raise StoreProblem(
            f"{path}: the catalog could not be copied", str(error), "Check the disk and its space"
        ) from error


def _copy(path: Path, target: Path) -> None:
    """Copy the catalog and the files beside it, all in the state of one moment."""
    for _ in range(COPY_TRIES):
        before = _stamps(path)
        try:
            for part in PARTS:
                target.with_name(target.name + part).unlink(missing_ok=True)
                if before[part] is not None:
                    copyfile(f"{path}{part}", f"{target}{part}")
        except FileNotFoundError:
            continue
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreProblem(f"{path}: the catalog cannot be read", why, "Check who may read it") from error
        if before == _stamps(path):
            return
    raise StoreBusy(
        f"{path.parent}: another program is writing to the store", fix="Try again when it is done"
    )


def _stamps(path: Path) -> dict[str, tuple[int, int] | None]:
    stamps: dict[str, tuple[int, int] | None] = {}
    for part in PARTS:
        try:
            status = Path(f"{path}{part}").stat()
        except FileNotFoundError:
            stamps[part] = None
        else:
            stamps[part] = (status.st_size, status.st_mtime_ns)
    return stamps


BUSY_SECONDS = 10.0
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a statement may raise; in a damaged file, SQLite's own message may not be valid text."""
_NEEDS_TO_WRITE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR")


def connect(path: Path, network: str | None, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Connect for writing; create the file if it is missing. `network` is the `network_type` of its
    folder."""
    connection = _open(path, "mode=rwc", busy_seconds)
    try:
        if network is not None:
            _leave_log(connection, path, network)
    except sqlite3.OperationalError as error:
        connection.close()
        raise problem(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(
    path: Path, network: str | None, busy_seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Connect for reading only: nothing is written, not even beside the file.

    Where SQLite would have to write, to merge what a crash left or to tell writers that it is reading, the
    catalog is read into memory instead, as it was when it was opened.
    """
    connection = _open(path, "mode=ro", busy_seconds)
    try:
        if _readable_in_place(connection, network is not None):
            return connection
    except sqlite3.OperationalError as error:
        if not _name(error).startswith(_NEEDS_TO_WRITE):
            connection.close()
            raise problem(path, error) from error
    except BaseException:  # not a database
        connection.close()
        raise
    connection.close()
    try:
        return read_into_memory(path)
    except sqlite3.Error as error:
        raise problem(path, error) from error


def log_exists(path: Path) -> bool:
    return os.path.exists(f"{path}-wal")  # noqa: PTH110 -- Path.exists() raises for a name that is too long


def remove_empty_log(path: Path) -> None:
    """Remove the empty log and its index that SQLite leaves behind after a catalog was only read. The last
    connection that may write removes both when it closes, under SQLite's own locks; while others have the
    catalog open, they stay."""
    try:
        if os.stat(f"{path}-wal").st_size:  # noqa: PTH116 -- as above
            return
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        with closing(connection):
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except (OSError, sqlite3.Error) as error:
        log.info("%s: an empty log may stay beside it: %s", path, error)


def settle_journal(connection: sqlite3.Connection, network: str | None, new: bool) -> bool:
    """Choose how a connection protects commits from a power failure; return whether by a write-ahead log.

    Only a `new` catalog gets one: an existing one without may be open on another computer.
    """
    mode = "= WAL" if new and network is None else ""
    ahead: bool = connection.execute(f"PRAGMA journal_mode {mode}").fetchone()[0] == "wal"
    if not ahead:
        connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA synchronous = FULL")
    return ahead


def is_busy(error: Exception) -> bool:
    return _name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"))


def problem(path: Path, error: Exception) -> StoreProblem:
    """Turn an error of SQLite into one that says what to do."""
    why = str(error)
    if is_busy(error):
        what = f"{path.parent}: another program is using the store"
        return StoreBusy(what, why, "Try again when it is done")
    if _name(error).startswith("SQLITE_READONLY"):
        return ReadOnlyStore(f"{path.parent}: the store cannot be written", why, "Open it read-only")
    if _name(error).startswith("SQLITE_CANTOPEN"):
        fix = "Check the permissions of the folder and its files"
        return StoreProblem(f"{path}: the catalog cannot be opened", why, fix)
    if isinstance(error, UnicodeDecodeError) or _name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreProblem(f"{path}: the catalog is damaged", why, "Verify the store, or restore a backup")
    what = f"{path}: the change could not be written"
    fix = "Nothing changed; check the free space: dropping a table frees some"
    return StoreProblem(what, why, fix)


def no_room(problem: StoreProblem) -> bool:
    """Whether SQLite found no space on the disk. Only some of its error codes tell that from other
    failures."""
    cause = problem.__cause__
    return isinstance(cause, sqlite3.OperationalError) and _name(cause).startswith(_NO_ROOM)


def is_full(error: Exception) -> bool:
    """Whether SQLite reports a full disk, which it also does when the numbers of a table are used up."""
    return _name(error) == "SQLITE_FULL"


def open_error(path: Path, error: Exception) -> StoreProblem:
    """The error for a file that could not be opened as a catalog."""
    if isinstance(error, sqlite3.Error) and _name(error).startswith(_NO_ROOM):
        return StoreProblem(
            f"{path}: the catalog could not be opened", str(error), "Check the disk and its space"
        )
    return not_a_catalog(path, str(error))


def not_a_catalog(path: Path, why: str) -> StoreProblem:
    fix = "If it used to be one, restore a backup; otherwise choose another folder"
    return StoreProblem(f"{path}: not the catalog of a store", why, fix)


class ForkedConnection(sqlite3.Connection):
    """Stands in for a connection in a forked child, where using or even closing it would harm the parent."""

    in_transaction = False

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        never_finalize(connection)

    def execute(self, *_: object) -> sqlite3.Cursor:
        raise StoreProblem(
            f"{self._path.parent}: the store was opened before this process was forked",
            "What it holds open belongs to the parent process",
            "Open it again in the child",
        )

    def backup(self, *_: Any, **__: Any) -> None:
        self.execute()

    def close(self) -> None:
        """Do nothing: the connection belongs to the parent and stays open."""


class ClosedConnection(sqlite3.Connection):
    """Stands in for a connection that was closed, so that errors speak of the store."""

    in_transaction = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def execute(self, *_: object) -> sqlite3.Cursor:
        raise StoreProblem(f"{self._path.parent}: the store was closed", fix="Open it again")

    def backup(self, *_: Any, **__: Any) -> None:
        self.execute()

    def close(self) -> None:
        """Do nothing: it is already closed."""


def _open(path: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=busy_seconds,
            isolation_level=None, check_same_thread=False,
        )  # fmt: skip
    except sqlite3.OperationalError as error:
        raise problem(path, error) from error


def _leave_log(connection: sqlite3.Connection, path: Path, kind: str) -> None:
    """Switch from a write-ahead log to a rollback journal. Exclusive locking reads the log without shared
    memory; it ends with the read after it."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    mode = connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone()[0]
    connection.execute("PRAGMA locking_mode = NORMAL")
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    if mode == "wal":
        raise StoreBusy(
            f"{path.parent}: the store is on a network folder ({kind}), and open in another program",
            "its write-ahead log works on one computer only",
            "Close it there first",
        )


def _readable_in_place(connection: sqlite3.Connection, network: bool) -> bool:
    """Whether the catalog can be read where it is. Raises SQLite's error where it would have to write. A log
    does not work on network folders, see `_leave_log`."""
    if network:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    log = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    if network and log:
        return False
    connection.execute("PRAGMA locking_mode = NORMAL")
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    return True


def _name(error: Exception) -> str:
    return getattr(error, "sqlite_errorname", "")
