"""The folders and files of a store: staging, publishing, sweeping, and which versions are being read."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import struct
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from lamella.core.errors import ReadOnlyStore, StoreBusy, StoreProblem
from lamella.core.processes import LOCKED_BYTES, FileLock
from lamella.core.store.paths import (
    CATALOG,
    NO_FILE,
    StorePaths,
    entries,
    file_identity,
    is_link,
    is_own_name,
    new_name,
)

SWEEP_SECONDS = 30.0


_EFFECTIVE = os.access in os.supports_effective_ids

log = logging.getLogger(__name__)


def _is_unwritable(path: Path) -> bool:
    """Whether a file or folder is there and cannot be written. A file that vanishes meanwhile is not: SQLite
    removes those beside the catalog when the last program closes it."""
    before = file_identity(path)
    if before == NO_FILE or os.access(path, os.W_OK, effective_ids=_EFFECTIVE):
        return False
    return file_identity(path) == before


class Layout:
    """The layout of the store's folder. `refuse_replaced_catalog` raises where another folder has taken its
    place."""

    def __init__(self, root: Path, refuse_replaced: Callable[[], None] | None = None) -> None:
        self.root, self.paths = root, StorePaths(root)
        self.refuse_replaced_catalog = refuse_replaced or _no_refusal
        self.data, self.staging, self._lock = self.paths.data, self.paths.staging, self.paths.lock
        self._data = str(self.data)
        self._thread = threading.local()

    def create(self) -> None:
        """Create the folders; raise `StoreProblem` where that is not permitted or a file is in the way."""
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self.staging.mkdir(exist_ok=True)
            self.paths.readers.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreProblem(
                f"{self.root}: a store cannot be created here",
                error.strerror or str(error),
                "Choose another folder",
            ) from error

    def refuse_unwritable(self) -> None:
        """Raise `ReadOnlyStore`, naming what is not writable, before anything is changed."""
        own = (self.data, self.staging, self._lock)
        for place in (self.root, *sorted(self.root.glob(f"{CATALOG}*")), *own):
            if _is_unwritable(place):
                raise ReadOnlyStore(
                    f"{self.root}: the store cannot be changed",
                    f"{place} is not writable, or is on a read-only medium",
                    "Open it read-only, or get permission to write there",
                )

    def refuse_missing_folder(self, table_folder: str) -> None:
        """Raise `StoreProblem` where a table's folder is missing: a commit to the catalog would otherwise
        succeed on a table that cannot be read."""
        if not os.path.isdir(f"{self._data}{os.sep}{table_folder}"):  # noqa: PTH112 -- at each commit
            self.refuse_replaced_catalog()
            raise StoreProblem(
                f"{self.data / table_folder}: the folder of the table's files is not there",
                "It was moved or removed, and the table cannot be read without it",
                "Nothing changed; put it back, or restore a backup",
            )

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """Provide a staging folder; it is removed after the block, with whatever was not published from
        it."""
        outer: Staging | None = getattr(self._thread, "group", None)
        if outer is not None:
            yield outer.part()
            return
        self.refuse_replaced_catalog()
        lock = FileLock(self._lock)
        with disk_problems(self.root):
            had = lock.wait(shared=True, seconds=SWEEP_SECONDS)
        if not had:
            raise StoreBusy(
                f"{self.root}: another program is cleaning up the store", fix="Try again when it is done"
            )
        folder = self.staging / new_name()
        try:
            with disk_problems(self.root):
                folder.mkdir(parents=True)
            yield Staging(folder, self.paths, self.refuse_replaced_catalog)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    @contextmanager
    def stage_group(self) -> Iterator[Staging]:
        """Protect what this thread stages in the block from sweeps until its end, so that it can be withdrawn
        as a whole."""
        with self.stage() as staging:
            outer, self._thread.group = getattr(self._thread, "group", None), staging
            try:
                yield staging
            finally:
                self._thread.group = outer

    def sweep(
        self, known_paths: Callable[[], set[str]], forget: Callable[[], None] | None = None
    ) -> list[int]:
        """Remove staging folders and data files that are not in `known_paths`, unless somebody is staging;
        `forget` is called when nobody is. Files whose names are not the store's own stay, and so do links.

        Returns the sizes of the data files removed. Nobody ever read them, because no version named them.
        """
        lock = FileLock(self._lock)
        try:
            if not lock.acquire():
                return []
        except OSError as error:
            log.warning("%s: files left by a crash are not looked for: %s", self.root, error)
            return []
        try:
            self.refuse_replaced_catalog()
            for folder in filter(self.paths.may_sweep, entries(self.staging)):
                shutil.rmtree(folder, ignore_errors=True)
            if forget is not None:
                forget()
            return self._sweep_data(known_paths())
        finally:
            lock.release()

    def strays(self, known_paths: Callable[[], set[str]]) -> list[Path] | None:
        """List files and links that nobody names. Returns None while somebody is staging, because they may be
        named in a moment. Writes nothing: where there is no lock file, nobody has ever staged anything."""
        lock = FileLock(self._lock, makes=False)
        try:
            if not lock.acquire():
                return None
        except FileNotFoundError:
            pass
        try:
            folders = set(self.paths.table_folders())
            loose = [path for path in entries(self.data) if path not in folders]
            return [*entries(self.staging), *loose, *_unnamed_files(folders, known_paths())]
        finally:
            lock.release()

    def _sweep_data(self, known_paths: set[str]) -> list[int]:
        sizes = []
        folders = list(self.paths.table_folders())
        for file in filter(self.paths.may_sweep, _unnamed_files(folders, known_paths)):
            try:
                size = file.stat().st_size
                file.unlink()
            except OSError as error:
                log.warning("%s: left behind by a crash, and could not be removed: %s", file, error)
            else:
                sizes.append(size)
        for folder in folders:
            remove_empty(folder)
        return sizes


class Staging:
    """Files being written. `publish` moves them to where the catalog will name them."""

    def __init__(self, folder: Path, paths: StorePaths, refuse_replaced: Callable[[], None]) -> None:
        self._folder, self._paths, self._refuse_replaced_catalog = folder, paths, refuse_replaced
        self._published_paths: dict[Path, Path] = {}
        self._new_folders: list[Path] = []
        self._parts: list[Staging] = []

    @property
    def name(self) -> str:
        """The staging folder's name, unique across processes; parts share it."""
        return self._folder.name

    def part(self) -> Staging:
        """Start a part: files in the same folder that can be withdrawn on their own. They are also withdrawn
        with the whole."""
        self._parts.append(Staging(self._folder, self._paths, self._refuse_replaced_catalog))
        return self._parts[-1]

    def new_file(self, suffix: str) -> Path:
        return self._folder / f"{new_name()}{suffix}"

    def publish(self, files: Iterable[Path], table_folder: str) -> list[str]:
        """Make the files durable in the table's folder; return their paths below `data/`."""
        self._refuse_replaced_catalog()
        target = self._paths.table_folder(table_folder)
        with disk_problems(target):
            if not target.is_dir():
                target.mkdir(exist_ok=True)
                self._new_folders.append(target)
            for file in files:
                sync(file)
                self._published_paths[file] = file.replace(target / file.name)
            sync(target)
            sync(self._paths.data)
        return [f"{table_folder}/{file.name}" for file in files]

    def withdraw(self, besides: Collection[str] = ()) -> None:
        """Take back the published files, because the commit that would have named them did not happen. Files
        whose paths are in `besides` stay."""
        for part in self._parts:
            part.withdraw(besides)
        for staged, published in self._published_paths.items():
            if published.relative_to(self._paths.data).as_posix() not in besides:
                published.replace(staged)
        self._published_paths.clear()
        for folder in self._new_folders:
            remove_empty(folder)
        self._new_folders.clear()


@contextmanager
def disk_problems(place: Path) -> Iterator[None]:
    """Raise a `StoreProblem` for an error of the disk in the block."""
    try:
        yield
    except OSError as error:
        raise StoreProblem(
            f"{place}: nothing could be written",
            error.strerror or str(error),
            "Nothing changed; check the free space and your permission to write there",
        ) from error


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty."""
    if not folder.is_dir() or any(folder.iterdir()):
        return
    try:
        folder.rmdir()
    except OSError as error:
        log.info("%s: is empty, and could not be removed: %s", folder, error)


def _no_refusal() -> None:
    """The default for a folder that no catalog has open."""


def _unnamed_files(folders: Iterable[Path], known_paths: Collection[str]) -> list[Path]:
    return [
        file
        for folder in folders
        for file in entries(folder)
        if f"{folder.name}/{file.name}" not in known_paths
    ]


def sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Mount = tuple[str, str]
"""Where a file system is mounted, and its type."""

NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "afpfs", "webdav", "ncpfs", "ceph"}
    | {"lustre", "beegfs", "gpfs", "gfs2", "ocfs2", "glusterfs", "virtiofs", "vboxsf", "prl_fs", "vmhgfs"}
    | {"drvfs", "coda", "davfs", "sshfs", "osxfuse", "macfuse"}
)
LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs", "fuse.ntfs-3g", "fuse.exfat", "fuse.portal"})
_DRIVE_REMOTE = 4


def network_type(folder: Path, mounts: Iterable[Mount] | None = None) -> str | None:
    """Return the type of the file system if other machines can reach it, or None if it is local.

    `mounts` defaults to this machine's mounts; a later one hides an earlier one.
    """
    if mounts is None and sys.platform == "win32":
        return _remote_drive(folder)
    real = folder.resolve()
    distances = {str(around): distance for distance, around in enumerate((real, *real.parents))}
    nearest, kind = len(distances), ""
    for place, type_ in _mounts() if mounts is None else mounts:
        distance = distances.get(place, nearest + 1)
        if distance <= nearest:
            nearest, kind = distance, type_
    fuse = kind.startswith("fuse") and kind not in LOCAL_FUSE
    return kind if fuse or kind in NETWORK else None


def _mounts() -> list[Mount]:
    return [(p.mountpoint, p.fstype) for p in psutil.disk_partitions(all=True)]


def _remote_drive(folder: Path) -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes

    root = os.path.splitdrive(folder.resolve())[0] + "\\"
    remote = root.startswith("\\\\") or ctypes.windll.kernel32.GetDriveTypeW(root) == _DRIVE_REMOTE
    return "network drive" if remote else None


_SLOT = struct.Struct("<qqq")
_FREE = _SLOT.pack(0, 0, 0)


@dataclass(frozen=True)
class Reading:
    """A version in use, read when the newest removal of a file was number `removals`."""

    table_id: int
    version: int
    removals: int


class Claim:
    """Keeps the files of a version from being removed for as long as it is referenced."""


class Readers:
    """The claims of one open store, and access to those of all processes."""

    def __init__(self, root: Path) -> None:
        self._folder = StorePaths(root).readers
        self._slots: _Slots | None = None

    def claim(self, reading: Reading) -> Claim | None:
        """Claim a version; return None where the claim cannot be written: on a read-only or full medium."""
        try:
            if self._slots is None or self._slots.process != os.getpid():
                self._slots = _Slots.create_in(self._folder)
            return self._slots.claim(reading)
        except OSError as error:
            log.info("%s: files being read cannot be protected from removal: %s", self._folder, error)
            return None

    def readings(self, sweeps: bool = True) -> list[Reading]:
        """List every version in use, in any process. With `sweeps`, files that dead processes left are
        removed; files that are not of this kind are left alone."""
        readings: list[Reading] = []
        for path in filter(_is_slots, entries(self._folder)):
            lock = FileLock(path)
            try:
                if lock.acquire():
                    _remove_dead(path, lock) if sweeps else lock.release()
                else:
                    readings += _readings_of(path)
            except FileNotFoundError:
                continue  # its process has just closed the store
        return readings

    def sweep(self) -> None:
        """Remove the files of dead processes."""
        self.readings()

    def close(self) -> None:
        """Forget the file of slots; claims still referenced stay valid."""
        self._slots = None


class _Slots:
    """A file with one slot per claim. It is unlocked and removed when its last claim is gone."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.process, self._path = os.getpid(), path
        self._numbers, self._free_numbers = itertools.count(), deque[int]()
        weakref.finalize(self, _remove, path, lock, self.process)

    @classmethod
    def create_in(cls, folder: Path) -> _Slots:
        """Create and lock a new file. A process that removes files of dead ones may remove it before it is
        locked; then another one is created."""
        folder.mkdir(exist_ok=True)
        while True:
            path = folder / new_name()
            lock = FileLock(path)
            if lock.acquire() and path.exists():
                return cls(path, lock)
            lock.release()

    def claim(self, reading: Reading) -> Claim:
        number = self._free_number()
        self._write(number, _SLOT.pack(reading.table_id, reading.version, reading.removals))
        claim = Claim()
        weakref.finalize(claim, self._release, number).atexit = False
        return claim

    def _free_number(self) -> int:
        try:
            return self._free_numbers.popleft()
        except IndexError:
            return next(self._numbers)

    def _release(self, number: int) -> None:
        """Free a slot. The garbage collector may call this on any thread at any time, so it takes no lock."""
        if self.process != os.getpid():
            return  # a forked child must not release its parent's claims
        try:
            self._write(number, _FREE)
        except OSError as error:
            log.info("%s: a version stays claimed until the store is closed: %s", self._path, error)
        else:
            self._free_numbers.append(number)

    def _write(self, number: int, content: bytes) -> None:
        with self._path.open("r+b", buffering=0) as file:
            file.seek(LOCKED_BYTES + number * _SLOT.size)
            file.write(content)


def _is_slots(path: Path) -> bool:
    return is_own_name(path.name) and path.is_file() and not is_link(path)


def _readings_of(path: Path) -> Iterator[Reading]:
    with path.open("rb") as file:
        file.seek(LOCKED_BYTES)
        content = file.read()
    whole = len(content) // _SLOT.size * _SLOT.size
    slots = (Reading(*slot) for slot in _SLOT.iter_unpack(content[:whole]))
    return (reading for reading in slots if reading.table_id)


def _remove_dead(path: Path, lock: FileLock) -> None:
    """Remove the file before unlocking it, so that nobody uses it in between. Windows cannot remove an open
    file, but there it cannot be removed once it is in use either."""
    if os.name == "nt":
        lock.release()
    try:
        path.unlink()
    except PermissionError as error:
        log.info("%s: could not be removed: %s", path, error)
    finally:
        lock.release()


def _remove(path: Path, lock: FileLock, process: int) -> None:
    lock.release()
    if process != os.getpid():
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # the store is gone or not writable
        log.info("%s: could not be removed: %s", path, error)
