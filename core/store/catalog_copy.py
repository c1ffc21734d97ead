"""Copies of a catalog: into memory, for media on which SQLite cannot open it where it is, and for backups."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from shutil import copyfile

from lamella.core.errors import StoreBusy, StoreProblem

PARTS = ("", "-wal", "-journal")
"""The catalog, and what may lie beside it: what is not in it yet, or is to be taken back."""
COPY_TRIES = 5


def read_into_memory(path: Path) -> sqlite3.Connection:
    """All that was committed when it is called, what a crash left beside the file included."""
    held = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with tempfile.TemporaryDirectory(prefix="lamella-catalog-") as folder:
            copy = Path(folder, path.name)
            _copy(path, copy)
            with closing(sqlite3.connect(copy)) as source:
                source.backup(held)
    except BaseException:
        held.close()
        raise
    return held


def write_copy(catalog: sqlite3.Connection, path: Path, pairs: str) -> dict[str, str]:
    """Write a catalog as it is at this moment to `path`; answers what the statement `pairs` finds in it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        try:
            catalog.backup(copy)
            return dict(copy.execute(pairs).fetchall())
        except sqlite3.DatabaseError as error:
            raise StoreProblem(
                f"{path}: the catalog could not be copied", str(error), "Check the disk and its space"
            ) from error


def _copy(path: Path, target: Path) -> None:
    """Copy the catalog with what is beside it, as all of it was at one moment."""
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
