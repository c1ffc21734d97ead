"""Cooperation of processes: locks that end with their holder, and what a forked child must release."""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time
import weakref
from pathlib import Path
from typing import Protocol


class ForkListener(Protocol):
    def reset_after_fork(self) -> None:
        """Called in the child, right after the fork, when no other thread runs."""


_listeners: weakref.WeakSet[ForkListener] = weakref.WeakSet()


def call_after_fork(thing: ForkListener) -> None:
    """Have `thing.reset_after_fork()` called in every child that is forked from this process."""
    _listeners.add(thing)


def never_finalize(thing: object) -> None:
    """Keep the object until the process ends: in a child, its finalizer could affect the parent, or crash."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    for thing in list(_listeners):
        thing.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


_RETRY_SECONDS = 0.01
LOCKED_BYTES = 1 << 20
"""The length of the part of a file that is locked; bytes after it stay readable for others, on Windows
too."""

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int, shared: bool) -> bool:
        """Windows has no shared locks here: sharers take one byte each, an exclusive holder all of them."""
        os.lseek(handle, random.randrange(LOCKED_BYTES) if shared else 0, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1 if shared else LOCKED_BYTES)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        """Nothing to do: Windows releases the locks of a closed file, and has no forks."""
else:
    import fcntl

    def _try_lock(handle: int, shared: bool) -> bool:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        """Closing the file alone would leave the lock with a child forked a moment ago."""
        fcntl.flock(handle, fcntl.LOCK_UN)


class FileLock:
    """A lock on a file, which is never deleted: for one exclusive holder, or any number of sharers. With
    `makes=False` the file is not created, so no write permission is needed."""

    def __init__(self, path: Path, makes: bool = True) -> None:
        self._path, self._flags = path, os.O_RDWR | os.O_CREAT if makes else os.O_RDONLY
        self._handle: int | None = None
        call_after_fork(self)

    def acquire(self, shared: bool = False) -> bool:
        """Try to take the lock without waiting; return whether that succeeded."""
        handle = os.open(self._path, self._flags)
        try:
            had = _try_lock(handle, shared)
        except OSError:  # a network folder whose server does not support locks
            os.close(handle)
            raise
        if had:
            self._handle = handle
        else:
            os.close(handle)
        return had

    def wait(self, shared: bool, seconds: float) -> bool:
        """Try again until the lock is taken or the time is up."""
        until = time.monotonic() + seconds
        while not self.acquire(shared):
            if time.monotonic() > until:
                return False
            time.sleep(_RETRY_SECONDS)
        return True

    def release(self) -> None:
        if self._handle is not None:
            _unlock(self._handle)
            os.close(self._handle)
            self._handle = None

    def reset_after_fork(self) -> None:
        """A child must neither keep its parent's lock, by keeping the file open, nor release it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_locked(self) -> bool:
        """Return whether somebody holds the lock now."""
        if not self._path.exists():
            return False
        if self.acquire():
            self.release()
            return False
        return True
