"""What the disk says about a folder that a store, or a backup of one, is to be written to."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Destination:
    """A folder that exists or will be created. `device` is the disk, and `free` its space, as far as they are
    known."""

    path: Path
    is_occupied: bool
    free: int | None
    device: int | None

    def is_on_disk_of(self, source: Path) -> bool:
        """Whether a folder that exists is on the same disk."""
        try:
            return self.device == source.stat().st_dev
        except OSError:
            return False


def destination(path: Path) -> Destination:
    """Look at a folder; that takes as long as its disk takes to answer."""
    nearest = nearest_folder(path)
    occupied = is_occupied(path)
    try:
        return Destination(path, occupied, shutil.disk_usage(nearest).free, nearest.stat().st_dev)
    except OSError:
        return Destination(path, occupied, None, None)


def nearest_folder(path: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder == folder.parent or is_folder(folder))


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False also where that cannot be known."""
    return os.path.isdir(path)  # noqa: PTH112 -- Path.is_dir() raises for an overlong name


def is_occupied(folder: Path) -> bool:
    """Whether something is in the way of a new folder; an empty folder is not."""
    try:
        return os.path.lexists(folder) and (not is_folder(folder) or any(folder.iterdir()))
    except OSError:
        return False  # the work says why


def free_name(folder: Path) -> Path:
    """The folder, or the first of the same name with a number that does not exist yet."""
    numbered = (folder.with_name(f"{folder.name} {number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], numbered) if not os.path.lexists(path))
