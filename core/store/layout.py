"""Folders and files of a store: staging, publishing, and sweeping up after a crash.

A writer holds the store's staging lock, shared with other writers, from before its first file until its
catalog transaction is done. Who gets the lock alone knows that nobody is staging: whatever the catalog
does not name then is a crash's leftover.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import ReadOnlyStore, StoreBusy, StoreProblem
from core.file_lock import FileLock
from core.store.readers import FOLDER as READERS

CATALOG = "catalog.sqlite"
INDEX_FOLDER = "index"
LOCK = "staging.lock"
OWN_NAMES = {"data", "tmp", INDEX_FOLDER, LOCK, READERS}
SWEEP_SECONDS = 30.0
_EFFECTIVE = os.access in os.supports_effective_ids

log = logging.getLogger(__name__)


class Layout:
    """Where things are in the store's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data, self.staging = root / "data", root / "tmp"
        self._own_places = (self.data, self.staging, root / LOCK)
        self._thread = threading.local()

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

    def refuse_unwritable(self) -> None:
        """Raises `ReadOnlyStore` naming what may not be written, before anything is tried."""
        for place in (self.root, *sorted(self.root.glob(f"{CATALOG}*")), *self._own_places):
            if place.exists() and not os.access(place, os.W_OK, effective_ids=_EFFECTIVE):
                raise ReadOnlyStore(
                    f"{self.root}: the store cannot be changed",
                    f"{place} may not be written, or is on a read-only medium",
                    "Open it read-only, or see to it that you may write there",
                )

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """A staging folder that is gone after the block, with whatever was not published from it."""
        outer: Staging | None = getattr(self._thread, "together", None)
        if outer is not None:
            yield outer.part()
            return
        lock = FileLock(self.root / LOCK)
        with disk_problems(self.root):
            had = lock.wait(shared=True, seconds=SWEEP_SECONDS)
        if not had:
            raise StoreBusy(
                f"{self.root}: another program is tidying the store up", fix="Try again when it is done"
            )
        folder = self.staging / uuid.uuid4().hex
        try:
            with disk_problems(self.root):
                folder.mkdir(parents=True)
            yield Staging(folder, self.data)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    @contextmanager
    def stage_together(self) -> Iterator[Staging]:
        """What this thread stages in the block is kept from sweeps to its end, and can be withdrawn whole."""
        with self.stage() as staging:
            outer, self._thread.together = getattr(self._thread, "together", None), staging
            try:
                yield staging
            finally:
                self._thread.together = outer

    def sweep(self, known: Callable[[], set[str]], forget: Callable[[], None] | None = None) -> list[int]:
        """Remove staging folders and data files that nobody knows, unless somebody is staging; `forget` is
        called when nobody is.

        Answers the sizes of the data files that are gone. Nobody ever read them, for no version named them.
        """
        lock = FileLock(self.root / LOCK)
        if not lock.acquire():
            return []
        try:
            for folder in _entries(self.staging):
                shutil.rmtree(folder, ignore_errors=True)
            if forget is not None:
                forget()
            return self._sweep_data(known())
        finally:
            lock.release()

    def strays(self, named: Callable[[], set[str]]) -> list[Path] | None:
        """Files that nobody names; None while somebody is staging, for then they may be named in a moment."""
        lock = FileLock(self.root / LOCK)
        if not lock.acquire():
            return None
        try:
            loose = [file for file in _entries(self.data) if not file.is_dir()]
            return [*_entries(self.staging), *loose, *self._unnamed(named())]
        finally:
            lock.release()

    def _unnamed(self, named: set[str]) -> list[Path]:
        keep = {self.data / path for path in named}
        return [file for folder in _entries(self.data) for file in _entries(folder) if file not in keep]

    def _sweep_data(self, known: set[str]) -> list[int]:
        sizes = []
        for file in self._unnamed(known):
            try:
                size = file.stat().st_size
                file.unlink()
            except OSError as error:
                log.warning("%s: left over by a crash, and could not be removed: %s", file, error)
            else:
                sizes.append(size)
        for folder in _entries(self.data):
            if folder.is_dir() and not _entries(folder):
                folder.rmdir()
        return sizes


class Staging:
    """Files being written. `publish` moves them where the catalog will name them."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self._data = folder, data
        self._published: dict[Path, Path] = {}
        self._made: list[Path] = []
        self._parts: list[Staging] = []

    @property
    def name(self) -> str:
        """Nobody else's, in whichever process; parts share it."""
        return self._folder.name

    def part(self) -> Staging:
        """Files of the same folder that can be withdrawn alone; they are withdrawn with the others too."""
        self._parts.append(Staging(self._folder, self._data))
        return self._parts[-1]

    def new_file(self, suffix: str) -> Path:
        return self._folder / f"{uuid.uuid4().hex}{suffix}"

    def publish(self, files: Iterable[Path], table_folder: str) -> list[str]:
        """Make the files durable in the table's folder; answers their paths below `data/`."""
        target = self._data / table_folder
        with disk_problems(target):
            if not target.is_dir():
                target.mkdir(exist_ok=True)
                self._made.append(target)
            for file in files:
                sync(file)
                self._published[file] = file.replace(target / file.name)
            sync(target)
            sync(self._data)
        return [f"{table_folder}/{file.name}" for file in files]

    def withdraw(self, besides: Collection[str] = ()) -> None:
        """Take back what was published, for the commit that would have named it did not happen; `besides` are
        paths that are named."""
        for part in self._parts:
            part.withdraw(besides)
        for staged, published in self._published.items():
            if published.relative_to(self._data).as_posix() not in besides:
                published.replace(staged)
        self._published.clear()
        for folder in self._made:
            if folder.is_dir() and not _entries(folder):
                folder.rmdir()
        self._made.clear()


@contextmanager
def disk_problems(place: Path) -> Iterator[None]:
    """What the disk refuses in the block, as a `StoreProblem`."""
    try:
        yield
    except OSError as error:
        raise StoreProblem(
            f"{place}: nothing could be written",
            error.strerror or str(error),
            "Nothing changed; check the disk's space, and whether you may write there",
        ) from error


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
