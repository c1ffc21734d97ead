"""Limits of time and memory for one step of one system at one size, the watch that ends a child that exceeds
them, and pausing a benchmark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import psutil

from lamella.core.bench.results.figures import shown_bytes
from lamella.core.jobs import Job

LOOK_EVERY_SECONDS = 0.1
LOOKS_FOR_CHILDREN = 20
SHARE_OF_MEMORY = 0.9

START_SECONDS = 60.0
"""The time that a child has to import its system, even if the limit of a step is shorter."""


@dataclass(frozen=True)
class Limits:
    """None is no limit. The time is that of a whole step, including making its data and checking its
    answer."""

    seconds: float | None = None
    memory_bytes: int | None = None

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory_bytes is not None


NO_LIMITS = Limits()


def most_memory() -> int:
    """The default limit of memory: a child that takes more would make the computer unusable."""
    return round(psutil.virtual_memory().available * SHARE_OF_MEMORY)


class Watch:
    """Watches a child on its own thread, and calls `end` once when a limit is exceeded.

    It does not watch before `begin` and after `stop_looking`, so that a paused benchmark does not run out of
    time. Memory is that of the process and its children, read ten times a second. Children are looked up
    only every other second, because that takes a hundred times longer."""

    def __init__(self, pid: int, limits: Limits, end: Callable[[], None]) -> None:
        self.reason = ""
        self._pid, self._limits, self._end = pid, limits, end
        self._condition = threading.Condition()
        self._deadline: float | None = None
        self._seconds = 0.0
        self._looking = self._over = False
        self._family: list[psutil.Process] = []
        self._looks = 0
        self._thread = threading.Thread(target=self._watch, name="limits of a benchmark", daemon=True)

    def __enter__(self) -> Watch:
        if self._limits:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._over = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join()

    def begin(self, at_least: float = 0.0) -> None:
        """Start watching: a step begins now."""
        with self._condition:
            seconds = self._limits.seconds
            self._seconds = 0.0 if seconds is None else max(seconds, at_least)
            self._deadline = None if seconds is None else monotonic() + self._seconds
            self._looking = True
            self._condition.notify()

    def stop_looking(self) -> None:
        with self._condition:
            self._looking = False

    def _watch(self) -> None:
        with self._condition:
            while not self._over and not self.reason:
                self.reason = self._look() if self._looking else ""
                if not self.reason:
                    self._condition.wait(self._pause())
        if self.reason:
            self._end()

    def _pause(self) -> float | None:
        if not self._looking:
            return None
        if self._limits.memory_bytes is not None:
            return LOOK_EVERY_SECONDS
        return None if self._deadline is None else max(0.0, self._deadline - monotonic())

    def _look(self) -> str:
        if self._deadline is not None and monotonic() >= self._deadline:
            return f"the limit of {self._seconds:g} s was exceeded"
        most = self._limits.memory_bytes
        if most is not None and self._resident_bytes() > most:
            return f"the limit of {shown_bytes(most)} of memory was exceeded"
        return ""

    def _resident_bytes(self) -> int:
        if self._looks % LOOKS_FOR_CHILDREN == 0:
            self._family = _family(self._pid)
        self._looks += 1
        return sum(map(_resident, self._family))


def _family(pid: int) -> list[psutil.Process]:
    """A process and its children; empty if it has ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


class Pause:
    """Pauses a benchmark: pass it to `core.bench.engine.runner.run`, and call `pause` and `resume` on any
    thread.

    A step that is being timed is not interrupted: the benchmark waits before the next one.
    """

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()

    @property
    def is_paused(self) -> bool:
        return not self._running.is_set()

    def pause(self) -> None:
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def wait(self, job: Job) -> None:
        """Block while paused. Raises Cancelled if the job is cancelled, paused or not."""
        with job.interrupted_by(self._running.set):
            self._running.wait()
        job.check()
