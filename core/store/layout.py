"""Folders and files of a store: staging, publishing, and sweeping up after a crash.

A writer holds the store's staging lock, shared with other writers, from before its first file until its
catalog transaction is done. Who gets the lock alone knows that nobody is staging: whatever the catalog
does not name then is a crash's leftover.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lamella.core.errors import ReadOnlyStore, StoreBusy, StoreProblem
from lamella.core.file_lock import FileLock
from lamella.core.store.paths import CATALOG, StorePaths, entries, new_name

SWEEP_SECONDS = 30.0


_EFFECTIVE = os.access in os.supports_effective_ids

log = logging.getLogger(__name__)


class Layout:
    """Where things are in the store's folder. `refuse_replaced` raises where that is another one by now."""

    def __init__(self, root: Path, refuse_replaced: Callable[[], None] | None = None) -> None:
        self.root, self.paths = root, StorePaths(root)
        self.refuse_replaced = refuse_replaced or _no_refusal
        self.data, self.staging, self._lock = self.paths.data, self.paths.staging, self.paths.lock
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
        own = (self.data, self.staging, self._lock)
        for place in (self.root, *sorted(self.root.glob(f"{CATALOG}*")), *own):
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
        self.refuse_replaced()
        lock = FileLock(self._lock)
        with disk_problems(self.root):
            had = lock.wait(shared=True, seconds=SWEEP_SECONDS)
        if not had:
            raise StoreBusy(
                f"{self.root}: another program is tidying the store up", fix="Try again when it is done"
            )
        folder = self.staging / new_name()
        try:
            with disk_problems(self.root):
                folder.mkdir(parents=True)
            yield Staging(folder, self.paths, self.refuse_replaced)
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
        called when nobody is. What is not called like the store's own files stays, and so do links.

        Answers the sizes of the data files that are gone. Nobody ever read them, for no version named them.
        """
        lock = FileLock(self._lock)
        try:
            if not lock.acquire():
                return []
        except OSError as error:
            log.warning("%s: what a crash left is not looked for: %s", self.root, error)
            return []
        try:
            self.refuse_replaced()
            for folder in filter(self.paths.may_sweep, entries(self.staging)):
                shutil.rmtree(folder, ignore_errors=True)
            if forget is not None:
                forget()
            return self._sweep_data(known())
        finally:
            lock.release()

    def strays(self, named: Callable[[], set[str]]) -> list[Path] | None:
        """Files and links that nobody names; None while somebody is staging, for then they may be named in a
        moment. Nothing is written for it: where there is no lock, nobody ever staged anything."""
        lock = FileLock(self._lock, makes=False)
        try:
            if not lock.acquire():
                return None
        except FileNotFoundError:
            pass
        try:
            folders = set(self.paths.table_folders())
            loose = [path for path in entries(self.data) if path not in folders]
            return [*entries(self.staging), *loose, *_unnamed(folders, named())]
        finally:
            lock.release()

    def _sweep_data(self, known: set[str]) -> list[int]:
        sizes = []
        folders = list(self.paths.table_folders())
        for file in filter(self.paths.may_sweep, _unnamed(folders, known)):
            try:
                size = file.stat().st_size
                file.unlink()
            except OSError as error:
                log.warning("%s: left over by a crash, and could not be removed: %s", file, error)
            else:
                sizes.append(size)
        for folder in folders:
            remove_empty(folder)
        return sizes


class Staging:
    """Files being written. `publish` moves them where the catalog will name them."""

    def __init__(self, folder: Path, paths: StorePaths, refuse_replaced: Callable[[], None]) -> None:
        self._folder, self._paths, self._refuse_replaced = folder, paths, refuse_replaced
        self._published: dict[Path, Path] = {}
        self._made: list[Path] = []
        self._parts: list[Staging] = []

    @property
    def name(self) -> str:
        """Nobody else's, in whichever process; parts share it."""
        return self._folder.name

    def part(self) -> Staging:
        """Files of the same folder that can be withdrawn alone; they are withdrawn with the others too."""
        self._parts.append(Staging(self._folder, self._paths, self._refuse_replaced))
        return self._parts[-1]

    def new_file(self, suffix: str) -> Path:
        return self._folder / f"{new_name()}{suffix}"

    def publish(self, files: Iterable[Path], table_folder: str) -> list[str]:
        """Make the files durable in the table's folder; answers their paths below `data/`."""
        self._refuse_replaced()
        target = self._paths.table_folder(table_folder)
        with disk_problems(target):
            if not target.is_dir():
                target.mkdir(exist_ok=True)
                self._made.append(target)
            for file in files:
                sync(file)
                self._published[file] = file.replace(target / file.name)
            sync(target)
            sync(self._paths.data)
        return [f"{table_folder}/{file.name}" for file in files]

    def withdraw(self, besides: Collection[str] = ()) -> None:
        """Take back what was published, for the commit that would have named it did not happen; `besides` are
        paths that are named."""
        for part in self._parts:
            part.withdraw(besides)
        for staged, published in self._published.items():
            if published.relative_to(self._paths.data).as_posix() not in besides:
                published.replace(staged)
        self._published.clear()
        for folder in self._made:
            remove_empty(folder)
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


def remove_empty(folder: Path) -> None:
    """Remove a folder unless there is something in it."""
    if not folder.is_dir() or any(folder.iterdir()):
        return
    try:
        folder.rmdir()
    except OSError as error:
        log.info("%s: is empty, and could not be removed: %s", folder, error)


def _no_refusal() -> None:
    """Of a folder that nobody has open."""


def _unnamed(folders: Iterable[Path], named: Collection[str]) -> list[Path]:
    return [
        file for folder in folders for file in entries(folder) if f"{folder.name}/{file.name}" not in named
    ]


def sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
