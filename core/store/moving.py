"""Moving or renaming a store: one step on the same disk; to another disk, a copy that is compared by
checksum."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lamella.core.errors import FileProblem, StoreBusy, StoreProblem
from lamella.core.jobs import Job
from lamella.core.store.backup import refuse_open, restore
from lamella.core.store.folder import sync
from lamella.core.store.paths import CATALOG, OWN_NAMES, StorePaths, is_store, refuse_store_name

MOVE_FAILURE = "the store could not be moved"
OPEN, CLOSE = "the store is open, here or in another program", "Close it, then move it"


@dataclass(frozen=True)
class Move:
    """The new place of a store. `copied` is the number of bytes copied to another disk, 0 on the same one.
    `left` are files in the old folder that do not belong to the store; `not_removed` are those that do, but
    could not be removed."""

    path: Path
    copied: int = 0
    left: tuple[Path, ...] = ()
    not_removed: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return "\n".join(
            [
                f"moved to {self.path}",
                *(f"{path} does not belong to the store, and stays" for path in self.left),
                *(f"{path} cannot be removed: remove it yourself" for path in self.not_removed),
            ]
        )


def move(source: Path, target: Path, job: Job) -> Move:
    """See `Store.move`."""
    source, target = source.absolute(), target.absolute()
    if not is_store(source):
        raise StoreProblem(f"{source}: there is no store here", fix="Check the path")
    _refuse_target(source, target)
    StorePaths(source).refuse_links()
    refuse_open(source, OPEN, CLOSE)
    with _disk_problems(target):
        _refuse_file(target.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        if _rename(source, target):
            return Move(target)
    return _move_to_other_disk(source, target, job)


def _rename(source: Path, target: Path) -> bool:
    """Rename the folder; return False if the target is on another disk. An empty folder in the way is
    restored if that fails."""
    was_there = target.exists()
    if was_there:
        target.rmdir()  # Windows cannot rename to an existing folder
    try:
        source.rename(target)
    except OSError as error:
        if was_there:
            target.mkdir(exist_ok=True)
        if error.errno != errno.EXDEV:
            raise
        return False
    sync(target.parent)
    sync(source.parent)
    return True


def _refuse_target(source: Path, target: Path) -> None:
    if target == source:
        raise StoreProblem(f"{source}: the store is there already", fix="Choose another folder or name")
    if source in target.parents:
        raise StoreProblem(f"{target}: a store cannot be moved into itself", fix="Choose another folder")
    if not target.name or target.name in (".", ".."):
        raise StoreProblem(f"{target}: this is not the name of a folder", fix="Choose another one")
    if target.name != source.name:
        refuse_store_name(target)
    with _disk_problems(target):
        is_folder = target.is_dir() and not target.is_symlink()
        occupied = os.path.lexists(target) and (not is_folder or any(target.iterdir()))
    if occupied:
        raise StoreProblem(
            f"{target}: something already exists here", fix="Choose a new folder or another name"
        )


def _refuse_file(folder: Path) -> None:
    """Raise `FileProblem` if the folder, or one that it would be in, is a file."""
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise FileProblem(folder, "is not a folder", fix="Choose a folder")


def _move_to_other_disk(source: Path, target: Path, job: Job) -> Move:
    """Copy the store, then remove the old files once the copies are complete and verified. Indexes are
    rebuilt when they are needed."""
    with _disk_problems(source):
        before = _catalog_stamp(source)
    restored = restore(source, target, False, job, MOVE_FAILURE)
    try:
        with _disk_problems(target):
            sync(target.parent)
        with _disk_problems(source):
            refuse_open(source, OPEN, CLOSE)
            if _catalog_stamp(source) != before:
                raise StoreBusy(f"{source}: it was changed while it was copied", fix="Move it again")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)  # the old folder may be newer than the copy
        raise
    left, not_removed = _remove(source)
    return Move(target, restored.bytes, left, not_removed)


def _remove(store: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Remove the store's files, the catalog first: without it the rest is not a store. Returns foreign files
    that stay, and files of the store that could not be removed."""
    left, not_removed = list[Path](), list[Path]()
    try:
        entries = sorted(store.iterdir(), key=lambda entry: (not entry.name.startswith(CATALOG), entry.name))
    except OSError:
        return (), (store,)
    for entry in entries:
        if entry.name not in OWN_NAMES and not entry.name.startswith(CATALOG):
            left.append(entry)
            continue
        try:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        except OSError:
            not_removed.append(entry)
    if not left and not not_removed:
        with suppress(OSError):  # an empty folder that cannot be removed does no harm
            store.rmdir()
    return tuple(left), tuple(not_removed)


def _catalog_stamp(store: Path) -> tuple[int, int]:
    """A stamp of a closed store, which changes with every commit."""
    status = (store / CATALOG).stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def _disk_problems(place: Path) -> Iterator[None]:
    """Raise an error that names `place` for an error of the disk in the block."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        fix = "Check that the disk is connected and has space, and that you may write to it"
        raise FileProblem(place, MOVE_FAILURE, why, fix) from error
