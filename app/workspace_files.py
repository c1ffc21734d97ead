"""The workspace files: one for each window, written by one running program.

A program locks the files of its windows. The locks end with the program, however it ends: a file that is not
locked belonged to a program that has ended, and can be restored.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lamella.app.settings import KEPT_BESIDE, WRITABLE, read_object, write_object
from lamella.core.errors import FileProblem
from lamella.core.processes import FileLock

VERSION = 1
SET_ASIDE = ".set-aside"
STARTS = "starts"


class WindowEntry:
    """The file of one window, locked by this process. `state` is its content at the time it was claimed."""

    def __init__(self, path: Path, lock: FileLock | None, state: Mapping[str, Any]) -> None:
        self.state = state
        self._path, self._lock = path, lock
        self._writing = threading.Lock()
        self._newest = 0
        self._is_over = False

    @property
    def path(self) -> Path:
        return self._path

    def save(self, state: Mapping[str, Any], number: int) -> None:
        """Save a state. Any thread. The state with the greatest number stays, in whichever order they are
        written. Raises `FileProblem`."""
        with self._writing:
            if number <= self._newest or self._is_over:
                return
            if self._lock is None:
                self._lock = _acquire(FileLock(_lock_path(self._path)), self._path)
            write_object(self._path, {"version": VERSION, **state})
            self._newest = number

    def release(self) -> None:
        """Stop writing, and leave the file to the next program that starts."""
        with self._writing:
            self._is_over = True
            if self._lock is not None:
                self._lock.release()

    def forget(self) -> None:
        """Remove the file, so that the window is not restored."""
        with self._writing:
            self._is_over = True
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._drop_lock()

    def set_aside(self) -> Path:
        """Rename the file, so that it is not restored but not lost either. Raises `FileProblem`."""
        aside = self._path.with_name(self._path.name + SET_ASIDE)
        with self._writing:
            self._is_over = True
            try:
                self._path.replace(aside)
            except OSError as error:
                why = error.strerror or str(error)
                raise FileProblem(self._path, "cannot be renamed", why, WRITABLE) from error
            self._drop_lock()
        return aside

    def _drop_lock(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                _lock_path(self._path).unlink(missing_ok=True)
            self._lock.release()


class WorkspaceFiles:
    """A folder with an entry for each window."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own_entries: list[WindowEntry] = []

    def claim(self) -> tuple[list[WindowEntry], list[FileProblem]]:
        """Claim the windows that no running program has, the last written first, for this program. Also
        return the problems with any of them."""
        entries, problems = list[WindowEntry](), list[FileProblem]()
        for path in sorted(self.folder.glob("*.json"), key=_write_time, reverse=True):
            try:
                entry = self._claim(path)
            except FileProblem as problem:
                problems.append(problem)
                continue
            if entry is not None:
                entries.append(entry)
        self._own_entries += entries
        return entries, problems

    def add(self) -> WindowEntry:
        """An entry for a new window. Its file is created when something is saved."""
        entry = WindowEntry(self.folder / f"{uuid.uuid4().hex}.json", None, {})
        self._own_entries.append(entry)
        return entry

    # ------------------------------------------------------------------- starts

    def begin_start(self) -> int:
        """Count this start. Return how many starts before it failed while restoring windows."""
        path = self.folder / STARTS
        try:
            before = int(path.read_text("ascii"))
        except (OSError, ValueError):
            before = 0
        with suppress(OSError):  # starts are not counted on a read-only medium
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(str(before + 1), "ascii")
        return before

    def end_start(self) -> None:
        """Record that the windows were restored successfully."""
        with suppress(OSError):
            (self.folder / STARTS).unlink(missing_ok=True)

    # ------------------------------------------------------------------- claiming

    def _claim(self, path: Path) -> WindowEntry | None:
        lock: FileLock | None = FileLock(_lock_path(path))
        assert lock is not None
        try:
            if not lock.acquire():
                return None
        except OSError:  # without write access, the file can still be read
            lock = None
        state: dict[str, Any] = {}
        try:
            state = _read(path)
        finally:
            if not state and lock is not None:
                lock.release()
        return WindowEntry(path, lock, state) if state else None


def _read(path: Path) -> dict[str, Any]:
    """The state of a window; empty if the file has just been removed. Raises `FileProblem` for an invalid
    file, and sets it aside unless a newer program wrote it."""
    try:
        state = read_object(path)
    except FileProblem as problem:
        raise _unreadable(path, problem.why) from problem
    if not state:
        return {}
    version = state.pop("version", None)
    if isinstance(version, int) and version > VERSION:
        why = "A newer Lamella saved this window"
        raise FileProblem(path, "is not restored", why, "Update Lamella, or remove the file")
    if version != VERSION:
        raise _unreadable(path, f"Its version is {version!r}")
    return state


def _unreadable(path: Path, why: str) -> FileProblem:
    aside = path.with_name(path.name + KEPT_BESIDE)
    with suppress(OSError):
        path.replace(aside)
    fix = "It listed the tabs of a window, which now starts empty; the file can be removed"
    return FileProblem(aside, "cannot be read", why, fix)


def _acquire(lock: FileLock, path: Path) -> FileLock:
    """Acquire the lock. Raises `FileProblem` if it cannot be created, or if another process holds it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        had = lock.acquire()
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "cannot be written", why, WRITABLE) from error
    if not had:
        raise FileProblem(path, "is not written", "Another Lamella uses this window now", "Close one of them")
    return lock


def _lock_path(path: Path) -> Path:
    return path.with_suffix(".lock")


def _write_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
