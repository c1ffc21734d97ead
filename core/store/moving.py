"""Moving a store, or giving its folder another name: one step on the same disk, a copy that is compared with
checksums to another."""

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
from lamella.core.store.paths import CATALOG, OWN_NAMES, StorePaths, is_store

OPEN, CLOSE = "the store is open, here or in another program", "Close it there, and move it then"


@dataclass(frozen=True)
class Move:
    """Where a store is now. `copied` are the bytes that went to another disk, 0 for a step on the same one;
    `left` is what stays in the old folder, for it is none of the store's, and `not_removed` what is the
    store's but cannot be removed there."""

    path: Path
    copied: int = 0
    left: tuple[Path, ...] = ()
    not_removed: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return "\n".join(
            [
                f"moved to {self.path}",
                *(f"{path} is none of the store's files, and stays" for path in self.left),
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
        target.parent.mkdir(parents=True, exist_ok=True)
        if _renamed(source, target):
            return Move(target)
    return _move_to_other_disk(source, target, job)


def _renamed(source: Path, target: Path) -> bool:
    """Whether that was all: not to another disk. An empty folder that is in the way comes back where it
    fails."""
    was_there = target.exists()
    if was_there:
        target.rmdir()  # Windows renames to nothing that is there
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
    with _disk_problems(target):
        is_folder = target.is_dir() and not target.is_symlink()
        occupied = os.path.lexists(target) and (not is_folder or any(target.iterdir()))
    if occupied:
        raise StoreProblem(
            f"{target}: there is something here already", fix="Choose a new folder or another name"
        )


def _move_to_other_disk(source: Path, target: Path, job: Job) -> Move:
    """The old files are removed only when the new ones are there and whole; indexes are made anew when they
    are needed."""
    with _disk_problems(source):
        before = _catalog_stamp(source)
    done = restore(source, target, False, job)
    try:
        with _disk_problems(target):
            sync(target.parent)
        with _disk_problems(source):
            refuse_open(source, OPEN, CLOSE)
            if _catalog_stamp(source) != before:
                raise StoreBusy(f"{source}: it was changed while it was copied", fix="Move it again")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)  # the old folder may have more than the copy
        raise
    left, not_removed = _remove(source)
    return Move(target, done.bytes, left, not_removed)


def _remove(store: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What is left in the folder, and what of the store cannot be removed. The catalog goes first: without it
    the rest is not a store."""
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
        with suppress(OSError):  # an empty folder that may not be removed is none of anybody's
            store.rmdir()
    return tuple(left), tuple(not_removed)


def _catalog_stamp(store: Path) -> tuple[int, int]:
    """Of a store that nobody has open: another one after every commit."""
    status = (store / CATALOG).stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def _disk_problems(place: Path) -> Iterator[None]:
    """`place` is what cannot be read or written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        fix = "Check that the disk is there, that it has room, and that you may write to it"
        raise FileProblem(place, "the store could not be moved", why, fix) from error
