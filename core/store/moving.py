"""Moving a store, or giving its folder another name: one step on the same disk, a copy that is compared with
checksums to another."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lamella.core.errors import FileProblem, StoreBusy, StoreProblem
from lamella.core.jobs import Job
from lamella.core.store.backup import refuse_open, restore
from lamella.core.store.folder import sync
from lamella.core.store.paths import CATALOG, OWN_NAMES, StorePaths, is_store

OPEN = "the store is open, here or in another program"


@dataclass(frozen=True)
class Move:
    """Where a store is now. `copied` are the bytes that went to another disk, 0 for a step on the same one;
    `left` is what stays in the old folder, for it is none of the store's."""

    path: Path
    copied: int = 0
    left: tuple[Path, ...] = ()

    def __str__(self) -> str:
        text = f"moved to {self.path}"
        return "\n".join([text, *(f"{path} is none of the store's files, and stays" for path in self.left)])


def move(source: Path, target: Path, job: Job) -> Move:
    """See `Store.move`."""
    source, target = source.absolute(), target.absolute()
    if not is_store(source):
        raise StoreProblem(f"{source}: there is no store here", fix="Check the path")
    _refuse_target(source, target)
    StorePaths(source).refuse_links()
    refuse_open(source, OPEN)
    with _disk_problems(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.rmdir()
        try:
            source.rename(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            sync(target.parent)
            sync(source.parent)
            return Move(target)
    return _move_to_other_disk(source, target, job)


def _refuse_target(source: Path, target: Path) -> None:
    if target == source:
        raise StoreProblem(f"{source}: the store is there already", fix="Choose another folder or name")
    if source in target.parents:
        raise StoreProblem(f"{target}: a store cannot be moved into itself", fix="Choose another folder")
    if not target.name or target.name in (".", ".."):
        raise StoreProblem(f"{target}: that is no name of a folder", fix="Choose another one")
    with _disk_problems(target):
        occupied = os.path.lexists(target) and (not target.is_dir() or any(target.iterdir()))
    if occupied:
        raise StoreProblem(
            f"{target}: there is something here already", fix="Choose a new folder or another name"
        )


def _move_to_other_disk(source: Path, target: Path, job: Job) -> Move:
    """The old files are removed only when the new ones are there and whole; indexes are made anew when they
    are needed."""
    before = _catalog_stamp(source)
    done = restore(source, target, False, job)
    with _disk_problems(target):
        sync(target.parent)
    try:
        refuse_open(source, OPEN)
        if _catalog_stamp(source) != before:
            raise StoreBusy(f"{source}: it was changed while it was copied", fix="Move it again")
    except StoreBusy:
        shutil.rmtree(target)  # the old folder has more than the copy
        raise
    with _disk_problems(source):
        for entry in list(source.iterdir()):
            if entry.name in OWN_NAMES or entry.name.startswith(CATALOG):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        left = tuple(sorted(source.iterdir()))
        if not left:
            source.rmdir()
    return Move(target, done.bytes, left)


def _catalog_stamp(store: Path) -> tuple[int, int]:
    """Of a store that nobody has open: another one after every commit."""
    status = (store / CATALOG).stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def _disk_problems(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        fix = "Check that you may write there, and the disk's space"
        raise FileProblem(place, "the store could not be moved here", why, fix) from error
