"""What the disk says about a folder that a store, or a backup of one, is to be written to."""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lamella.core.store.paths import is_store
from lamella.core.validation import control_character


@dataclass(frozen=True)
class Destination:
    """A folder that exists or will be created. `device` is the disk, and `free` its space, as far as they are
    known. `problem` says why nothing can be written there; it is empty where that is not known beforehand."""

    path: Path
    is_occupied: bool
    has_store: bool
    free: int | None
    device: int | None
    problem: str

    def is_on_disk_of(self, source: Path) -> bool:
        """Whether a folder that exists is on the same disk."""
        try:
            return self.device == source.stat().st_dev
        except OSError:
            return False


def destination(path: Path) -> Destination:
    """Look at a folder; that takes as long as its disk takes to answer."""
    nearest, free, device = nearest_folder(path), None, None
    with suppress(OSError):
        free, device = shutil.disk_usage(nearest).free, nearest.stat().st_dev
    return Destination(path, is_occupied(path), is_store(path), free, device, _problem(path, nearest))


def _problem(path: Path, nearest: Path) -> str:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        new = path.relative_to(nearest).parts
        if control := next(filter(None, map(control_character, new)), ""):
            return f"The name of a folder cannot contain {control}."
    except PermissionError:
        return f"You may not look into {nearest}."
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ENAMETOOLONG:
            return "The name is too long."
        return f"This is not a path: {getattr(error, 'strerror', None) or error}."
    above = [folder for folder in path.parents if os.path.lexists(folder)]
    if above and not is_folder(above[0]):
        return f"{above[0]} is not a folder."
    store = next(filter(is_store, above), None)
    if store is not None:
        return f"{store} is the folder of a store, which only has files of its own."
    if os.access(nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return ""
    read_only = hasattr(os, "statvfs") and os.statvfs(nearest).f_flag & os.ST_RDONLY
    return f"{nearest} is on a read-only medium." if read_only else f"You may not write in {nearest}."


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


_RESERVED_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)
"""The names of devices of Windows."""


def folder_name_problem(name: str) -> str:
    """Why this cannot be the name of a new folder of a store, or "". Every system has to accept it."""
    odd = control_character(name) or next((f"'{mark}'" for mark in name if mark in '/\\:*?"<>|'), "")
    if odd:
        return f"The name of a folder cannot contain {odd}."
    if _RESERVED_NAME.match(name) or (name.endswith((" ", ".")) and name.strip(".")):
        return f"Windows does not allow '{name}' as the name of a folder."
    if name in ("", ".", "..", "~"):
        return f"'{name}' cannot be the name of a folder." if name else "A folder needs a name."
    return ""
