"""Folders and files of a store: staging, publishing, and sweeping up after a crash.

A writer stages files in `tmp/<id>/` and holds the lock file there until its catalog transaction is
done. So whatever the catalog does not name, while no staging lock is held, is a crash's leftover.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StoreProblem
from core.file_lock import FileLock

LOCK = "lock"


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

    def table_folder(self, folder: str) -> Path:
        return self.data / folder

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """A staging folder that is gone after the block, with whatever was not published from it."""
        folder = self.staging / uuid.uuid4().hex
        folder.mkdir(parents=True)
        lock = FileLock(folder / LOCK)
        lock.acquire()
        try:
            yield Staging(folder, self.data)
        finally:
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, named: Iterable[str]) -> None:
        """Remove dead staging folders, and data files that nobody names while nobody is staging."""
        if any(self._alive(folder) for folder in _entries(self.staging)):
            return
        keep = {self.data / path for path in named}
        for folder in _entries(self.data):
            for file in _entries(folder):
                if file not in keep:
                    file.unlink(missing_ok=True)
            if not _entries(folder):
                folder.rmdir()

    def _alive(self, folder: Path) -> bool:
        if FileLock(folder / LOCK).is_held():
            return True
        shutil.rmtree(folder, ignore_errors=True)
        return False


class Staging:
    """Files being written. `publish` moves them where the catalog will name them."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self._data = folder, data
        self._published: list[Path] = []

    def new_file(self) -> Path:
        return self._folder / f"{uuid.uuid4().hex}.parquet"

    def publish(self, files: Iterable[Path], table_folder: str) -> list[str]:
        """Make the files durable in the table's folder; answers their paths below `data/`."""
        target = self._data / table_folder
        target.mkdir(exist_ok=True)
        for file in files:
            _sync(file)
            self._published.append(file.replace(target / file.name))
        _sync(target)
        _sync(self._data)
        return [f"{table_folder}/{file.name}" for file in files]

    def withdraw(self) -> None:
        """Remove what was published: the commit that would have named it did not happen."""
        for file in self._published:
            file.unlink(missing_ok=True)
        self._published.clear()


def new_folder_name(table: str) -> str:
    """A folder for a table: its name as far as every file system takes it, and something unique."""
    readable = re.sub(r"[^a-z0-9_]+", "-", table.casefold()).strip("-")[:40]
    return f"{readable or 'table'}-{uuid.uuid4().hex[:8]}"


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
