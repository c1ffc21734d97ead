"""Which versions are being read: what keeps removed files on disk until no reader needs them.

Every open store that reads has a file of its own in `readers/`, locked for as long as it lives. Each slot of
the file names one version in use. A reader fills its slot first and looks the version up afterwards; whoever
removes files takes them out of the catalog first and looks at the slots afterwards. So one of the two always
sees the other.
"""

from __future__ import annotations

import itertools
import logging
import os
import struct
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lamella.core.file_lock import LOCKED_BYTES, FileLock
from lamella.core.store.paths import StorePaths, entries, is_link, is_own_name, new_name

_SLOT = struct.Struct("<qqq")
_FREE = _SLOT.pack(0, 0, 0)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """A version in use, looked up when the newest removal of a file was number `removals`."""

    table_id: int
    version: int
    removals: int


class Claim:
    """Keeps the files of a version for as long as it is referred to."""


class Readers:
    """The claims of one open store, and a look at those of all."""

    def __init__(self, root: Path) -> None:
        self._folder = StorePaths(root).readers
        self._slots: _Slots | None = None

    def claim(self, reading: Reading) -> Claim | None:
        """None where the folder takes no file: a medium that nobody can remove files from, or a full one."""
        try:
            if self._slots is None or self._slots.process != os.getpid():
                self._slots = _Slots.locked_in(self._folder)
            return self._slots.claim(reading)
        except OSError as error:
            log.info("%s: what is read cannot be kept from being removed: %s", self._folder, error)
            return None

    def readings(self) -> list[Reading]:
        """Every version in use, in whatever process; files that dead processes left are removed, and what is
        none of these files is left alone."""
        found: list[Reading] = []
        for path in filter(_is_slots, entries(self._folder)):
            lock = FileLock(path)
            try:
                if lock.acquire():
                    _remove_dead(path, lock)
                else:
                    found += _readings_of(path)
            except FileNotFoundError:
                continue  # its process closed the store in this moment
        return found

    def sweep(self) -> None:
        """Remove the files of the dead."""
        self.readings()

    def close(self) -> None:
        """Claims still referred to last on."""
        self._slots = None


class _Slots:
    """A file of slots. It is unlocked and removed when the last claim in it is gone."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.process, self._path = os.getpid(), path
        self._numbers, self._given_back = itertools.count(), deque[int]()
        weakref.finalize(self, _remove, path, lock, self.process)

    @classmethod
    def locked_in(cls, folder: Path) -> _Slots:
        """Whoever looks for the files of the dead may take a new one for such: then another is made."""
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
            return self._given_back.popleft()
        except IndexError:
            return next(self._numbers)

    def _release(self, number: int) -> None:
        """Runs on any thread, in the middle of anything, so it takes no lock."""
        if self.process != os.getpid():
            return  # a fork has no say in what its parent reads
        try:
            self._write(number, _FREE)
        except OSError as error:
            log.info("%s: a version stays claimed until the store is closed: %s", self._path, error)
        else:
            self._given_back.append(number)

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
    """Removed before it is unlocked, lest it is taken into use in between; Windows removes no open file,
    but there it cannot be removed either once it is in use."""
    if os.name == "nt":
        lock.release()
    try:
        path.unlink()
    except PermissionError as error:
        log.info("%s: left where it is: %s", path, error)
    finally:
        lock.release()


def _remove(path: Path, lock: FileLock, process: int) -> None:
    lock.release()
    if process != os.getpid():
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # the store is not there any more, or may not be written
        log.info("%s: left where it is: %s", path, error)
