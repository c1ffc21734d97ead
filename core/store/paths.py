"""The paths of a store's files, and the only way to turn a name in the catalog into a path.

A store may come from anybody, so nothing in its catalog is trusted: a data file is `<folder>/<file>` below
`data/`, both names match the patterns that Lamella uses, and neither the folder nor the file is a link.
Nothing else is read, written or removed because a catalog names it, and sweeps remove only files whose names
match.
"""

from __future__ import annotations

import os
import re
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from lamella.core.errors import DamagedStore, StoreProblem
from lamella.core.remote.paths import RemotePath
from lamella.core.validation import control_character

CATALOG = "catalog.sqlite"
DATA_FOLDER, STAGING_FOLDER, INDEX_FOLDER, READERS_FOLDER = "data", "tmp", "index", "readers"
LOCK, RESERVE = "staging.lock", "room-for-a-full-disk"
OWN_NAMES = {DATA_FOLDER, STAGING_FOLDER, INDEX_FOLDER, READERS_FOLDER, LOCK, RESERVE}

_HEX = "[0-9a-f]{32}"
_UNIQUE_NAME = re.compile(_HEX)
_TABLE_FOLDER = re.compile(r"[a-z0-9_-]{1,40}-[0-9a-f]{8}")
_DATA_FILE = re.compile(rf"{_HEX}\.(parquet|cells)")
_UNFINISHED_COPY = re.compile(rf"{_DATA_FILE.pattern}\.part")
_INDEX_ENTRY = re.compile(rf"{_HEX}\.[a-z]+(-[0-9]+)+-[0-9a-f]{{8}}(\.{_HEX}\.part)?")
_JUNCTION = 0xA0000003
"""IO_REPARSE_TAG_MOUNT_POINT of Windows."""
_LONGEST_SHOWN = 80

FileIdentity = tuple[int, int]
"""Device and inode: they tell a file from another one put in its place."""
NO_FILE: FileIdentity = (0, 0)


class StorePaths:
    """The paths in a store's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog, self.lock, self.reserve = root / CATALOG, root / LOCK, root / RESERVE
        self.data, self.staging = root / DATA_FOLDER, root / STAGING_FOLDER
        self.index, self.readers = root / INDEX_FOLDER, root / READERS_FOLDER

    def file(self, stored_path: object) -> Path:
        """Return the path of a data or change file that the catalog names as `<folder>/<file>`.

        Raises `DamagedStore` for any other text, and `StoreProblem` for a link.
        """
        folder, mark, name = stored_path.partition("/") if isinstance(stored_path, str) else ("", "", "")
        if not (mark and _TABLE_FOLDER.fullmatch(folder) and _DATA_FILE.fullmatch(name)):
            raise self._foreign("data file", stored_path)
        path = self._refuse_link(self.data / folder) / name
        return self._refuse_link(path)

    def table_folder(self, name: object) -> Path:
        """Return the folder of a table's data and change files. Raises as `file` does."""
        return self._refuse_link(self.data / self._folder(name))

    def index_folder(self, name: object) -> Path:
        """Return the folder of a table's index files. Raises as `file` does."""
        return self._refuse_link(self.index / self._folder(name))

    def refuse_links(self, *more: str) -> None:
        """Raise `StoreProblem` where the catalog, one of the store's folders, or one of `more` is a link: a
        sweep or a commit would otherwise change files outside the store."""
        catalogs = (f"{CATALOG}{part}" for part in ("", "-wal", "-shm", "-journal"))
        for name in (*catalogs, *sorted(OWN_NAMES), *more):
            self._refuse_link(self.root / name)

    def table_folders(self) -> Iterator[Path]:
        """Folders in `data/` that may be swept."""
        return filter(_may_sweep_inside, entries(self.data))

    def data_files(self) -> Iterator[Path]:
        """Yield all files in table folders that have the name of a data or change file."""
        for folder in self.table_folders():
            yield from (path for path in folder.iterdir() if _DATA_FILE.fullmatch(path.name))

    def index_folders(self) -> Iterator[Path]:
        """Folders in `index/` that may be swept."""
        return filter(_may_sweep_inside, entries(self.index))

    def may_sweep(self, path: Path) -> bool:
        """Whether an unnamed file or folder belongs to the store, by its name and location, and is not a
        link."""
        if path.parent == self.staging:
            return bool(_UNIQUE_NAME.fullmatch(path.name)) and _is_folder(path)
        in_table = path.parent.parent == self.data and _may_sweep_inside(path.parent)
        own = _DATA_FILE.fullmatch(path.name) or _UNFINISHED_COPY.fullmatch(path.name)
        return bool(in_table and own) and path.is_file() and not is_link(path)

    def _folder(self, name: object) -> str:
        if not isinstance(name, str) or not _TABLE_FOLDER.fullmatch(name):
            raise self._foreign("table's folder", name)
        return name

    def _refuse_link(self, path: Path) -> Path:
        if is_link(path):
            raise StoreProblem(
                f"{path}: is a link, and nothing is read, written or removed through a link",
                "A store is one folder, which moves as a whole",
                "Put the files themselves in the link's place, or move the whole store and link its folder",
            )
        return path

    def _foreign(self, what: str, value: object) -> DamagedStore:
        text = repr(value)
        text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        return DamagedStore(
            f"{self.catalog}: the catalog names {text} as a {what}",
            "Lamella never gives such names, so nothing is read, written or removed there",
            "Restore a backup; if the store came from somebody else, do not trust it",
        )


def new_folder_name(table: str) -> str:
    """Make a folder name for a table: the part of its name that every file system accepts, and a unique
    suffix."""
    readable = re.sub(r"[^a-z0-9_]+", "-", table.casefold()).strip("-")[:40]
    return f"{readable or 'table'}-{uuid.uuid4().hex[:8]}"


def refuse_store_name(folder: Path) -> None:
    """Raise `StoreProblem` for the folder of a new store whose name holds a control character."""
    control = control_character(folder.name)
    if control:
        raise StoreProblem(
            f"{folder}: the name of a store cannot contain {control}", fix="Choose another name"
        )


def is_store(folder: Path) -> bool:
    """Whether the folder holds a store; also False for an invalid path and for a remote one."""
    if isinstance(folder, RemotePath):
        return False
    return os.path.exists(folder / CATALOG)  # noqa: PTH110 -- Path.exists() raises for an overlong name


def new_name() -> str:
    """Return a name that is unique across processes."""
    return uuid.uuid4().hex


def is_own_name(name: str) -> bool:
    """Whether the name is one that `new_name` makes."""
    return bool(_UNIQUE_NAME.fullmatch(name))


def is_index_entry(name: str) -> bool:
    """Whether a file or folder has the name of an index of a data file, or of a draft of one."""
    return bool(_INDEX_ENTRY.fullmatch(name))


def is_link(path: Path) -> bool:
    """Whether the path is a symbolic link, wherever it leads, or a junction; False where nothing exists."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def file_identity(path: str | Path) -> FileIdentity:
    """Identify the file at a path; `NO_FILE` where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- at each commit
    except OSError:
        return NO_FILE
    return status.st_dev, status.st_ino


def entries(folder: Path) -> list[Path]:
    """List a folder's entries; empty where there is no folder, or a link to one."""
    return list(folder.iterdir()) if _is_folder(folder) else []


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not is_link(path)


def _may_sweep_inside(folder: Path) -> bool:
    return bool(_TABLE_FOLDER.fullmatch(folder.name)) and _is_folder(folder)
