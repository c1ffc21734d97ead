"""Folders and files of a store: staging, publishing, and sweeping up after a crash.

A writer holds the store's staging lock, shared with other writers, from before its first file until its
catalog transaction is done. Who gets the lock alone knows that nobody is staging: whatever the catalog
does not name then is a crash's leftover.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StoreBusy, StoreProblem
from core.file_lock import FileLock

LOCK = "staging.lock"
OWN_NAMES = {"data", "tmp", LOCK}
SWEEP_SECONDS = 30.0


class Layout:
    """Where things are in the store's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data, self.staging = root / "data", root / "tmp"

    def create(self) -> None:
        """Make the folders; raises `StoreProblem` where that is not allowed or a file is in the way."""
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self.staging.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreProblem(
                f"{self.root}: a store cannot be made here",
                error.strerror or str(error),
                "Choose another folder",
            ) from error

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """A staging folder that is gone after the block, with whatever was not published from it."""
        lock = FileLock(self.root / LOCK)
        if not lock.wait(shared=True, seconds=SWEEP_SECONDS):
            raise StoreBusy(
                f"{self.root}: another program is tidying the store up", fix="Try again when it is done"
            )
        folder = self.staging / uuid.uuid4().hex
        try:
            folder.mkdir(parents=True)
            yield Staging(folder, self.data)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    def sweep(self, named: Callable[[], set[str]]) -> None:
        """Remove staging folders and data files that nobody names, unless somebody is staging."""
        lock = FileLock(self.root / LOCK)
        if not lock.acquire():
            return
        try:
            for folder in _entries(self.staging):
                shutil.rmtree(folder, ignore_errors=True)
            self._sweep_data(named())
        finally:
            lock.release()

    def strays(self, named: Callable[[], set[str]]) -> list[Path] | None:
        """Files that nobody names; None while somebody is staging, for then they may be named in a moment."""
        lock = FileLock(self.root / LOCK)
        if not lock.acquire():
            return None
        try:
            return [*_entries(self.staging), *self._unnamed(named())]
        finally:
            lock.release()

    def _unnamed(self, named: set[str]) -> list[Path]:
        keep = {self.data / path for path in named}
        return [file for folder in _entries(self.data) for file in _entries(folder) if file not in keep]

    def _sweep_data(self, named: set[str]) -> None:
        for file in self._unnamed(named):
            file.unlink(missing_ok=True)
        for folder in _entries(self.data):
            if not _entries(folder):
                folder.rmdir()


class Staging:
    """Files being written. `publish` moves them where the catalog will name them."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self._data = folder, data
        self._published: dict[Path, Path] = {}

    def new_file(self, suffix: str) -> Path:
        return self._folder / f"{uuid.uuid4().hex}{suffix}"

    def publish(self, files: Iterable[Path], table_folder: str) -> list[str]:
        """Make the files durable in the table's folder; answers their paths below `data/`."""
        target = self._data / table_folder
        target.mkdir(exist_ok=True)
        for file in files:
            sync(file)
            self._published[file] = file.replace(target / file.name)
        sync(target)
        sync(self._data)
        return [f"{table_folder}/{file.name}" for file in files]

    def withdraw(self) -> None:
        """Take back what was published, for the commit that would have named it did not happen."""
        for staged, published in self._published.items():
            published.replace(staged)
        self._published.clear()


def new_folder_name(table: str) -> str:
    """A folder for a table: its name as far as every file system takes it, and something unique."""
    readable = re.sub(r"[^a-z0-9_]+", "-", table.casefold()).strip("-")[:40]
    return f"{readable or 'table'}-{uuid.uuid4().hex[:8]}"


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
