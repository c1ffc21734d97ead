"""A lock that the operating system gives back when its holder dies, however it dies."""

from __future__ import annotations

import os
from pathlib import Path

if os.name == "nt":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FileLock:
    """Held by one process and holder at a time, through a file that stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT)
        if _try_lock(handle):
            self._handle = handle
            return True
        os.close(handle)
        return False

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_held(self) -> bool:
        """Whether somebody holds it now."""
        if not self._path.exists():
            return False
        if self.acquire():
            self.release()
            return False
        return True
