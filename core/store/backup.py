"""A copy of a store as it is at one moment, made while others write: a store itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lamella.core.checksums import checksum_of
from lamella.core.errors import FileProblem, StoreProblem
from lamella.core.jobs import Job
from lamella.core.store.backup_files import PART, copy_files
from lamella.core.store.backup_mark import mark, refuse_open, refuse_other
from lamella.core.store.catalog import Catalog
from lamella.core.store.catalog_copy import PARTS
from lamella.core.store.layout import Layout, sync
from lamella.core.store.paths import CATALOG, StorePaths, entries

ATTEMPTS = 5


@dataclass(frozen=True)
class Backup:
    """What was copied, and how many files an earlier backup in the same place had already.

    `damaged` are files of the store that hold other bytes than were written, and so do their copies.
    """

    path: Path
    copied: int
    kept: int
    bytes: int
    damaged: tuple[Path, ...] = ()

    def __str__(self) -> str:
        files = "1 file" if self.copied == 1 else f"{self.copied:,} files"
        told = f"{files} ({self.bytes:,} bytes) copied to {self.path}, {self.kept:,} there already"
        return "\n".join([told, *(f"{path} is damaged: its checksum differs" for path in self.damaged)])


def back_up(catalog: Catalog, target: Path, link: bool, job: Job) -> Backup:
    """Copy a store to `target`, a new folder or an earlier backup of the same store.

    Cut short at any moment, even by a crash, an earlier backup is whole, and the next one can be made.
    """
    catalog.refuse_replaced()
    source = catalog.path.parent
    with _disk_problems(target, link):
        earlier = refuse_other(source, target)

    def ready(part: Path) -> None:
        if earlier:
            refuse_open(target)
        mark(target, source, [*earlier, checksum_of(part)])

    with _disk_problems(target, link), _removed_if_new(target):
        mark(target, source, earlier)
        return _copied(catalog, target, link, job, ready)


def restore(backup: Path, target: Path, link: bool, job: Job) -> Backup:
    """Copy a backup, or any store nobody writes to, to a new folder.

    Raises `FileProblem` where it is damaged.
    """
    with _disk_problems(target, link):
        taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if taken:
        raise StoreProblem(f"{target}: there is something here already", fix="Choose a new folder")
    StorePaths(backup).refuse_links()
    if not (backup / CATALOG).exists():
        raise StoreProblem(f"{backup}: there is no store here", fix="Check the path")
    catalog = Catalog(backup, read_only=True)
    try:
        with _disk_problems(target, link), _removed_if_new(target):
            done = _copied(catalog, target, link, job, lambda part: None)
            if done.damaged:
                raise _damaged(done.damaged[0])
            return done
    finally:
        catalog.close()


def _copied(
    catalog: Catalog, target: Path, link: bool, job: Job, ready: Callable[[Path], None]
) -> Backup:  # fmt: skip
    """A file may be let go of between the catalog's copy and its own: then both are copied again. `ready` is
    called with the new catalog when all files are there."""
    part = target / (CATALOG + PART)
    for _ in range(ATTEMPTS):
        _remove(part, PARTS)
        try:
            named = catalog.copy_to(part)
            files = copy_files(StorePaths(catalog.path.parent), named, StorePaths(target), link, job)
        except FileNotFoundError:
            continue
        _sync_folders(StorePaths(target).data)
        sync(part)
        ready(part)
        _take_over(part, target, named)
        return Backup(target, files.copied, len(named) - files.copied, files.bytes, files.damaged)
    raise StoreProblem(
        f"{catalog.path.parent}: its files keep changing", fix="Try again when it is less busy, or verify it"
    )


def _take_over(part: Path, target: Path, named: Collection[str]) -> None:
    """From here on the backup is the new one; what only the last one named is removed."""
    _remove(target / CATALOG, ("-wal", "-shm"))
    part.replace(target / CATALOG)
    sync(target)
    Layout(target).sweep(lambda: set(named))


def _remove(catalog: Path, parts: Collection[str]) -> None:
    for part in parts:
        Path(f"{catalog}{part}").unlink(missing_ok=True)


def _sync_folders(data: Path) -> None:
    if data.is_dir():
        for folder in (data, *entries(data)):
            sync(folder)


@contextmanager
def _removed_if_new(target: Path) -> Iterator[None]:
    """A folder that was made for a copy which then fails is taken away again."""
    new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        if new:
            shutil.rmtree(target, ignore_errors=True)
        raise


@contextmanager
def _disk_problems(target: Path, link: bool) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        plain = "Check that you may write there, and the disk's space"
        fix = "Hard links need the same disk: leave link=True out" if link else plain
        why = error.strerror or str(error)
        raise FileProblem(target, "the backup could not be written", why, fix) from error


def _damaged(path: Path) -> FileProblem:
    return FileProblem(
        path,
        "holds other bytes than were written: its checksum differs",
        fix="Restore another backup, or open this one and read what is whole",
    )
