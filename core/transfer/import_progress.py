"""How far an import is and how fast it goes, as one progress of one job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lamella.core.jobs import Job


class ImportProgress:
    """Counts what was read; the total is in the source's own unit, bytes or rows."""

    def __init__(self, job: Job, total: int) -> None:
        self._job, self._total = job, total
        self._started = time.perf_counter()

    def told(self, rows: int, done: int) -> None:
        """Raises `Cancelled` when the import should stop."""
        seconds = max(time.perf_counter() - self._started, 0.001)
        self._job.report(min(done, self._total), self._total, f"{rows:,} rows · {rows / seconds:,.0f} rows/s")


class Unreported(Job):
    """A job inside another one: it hears the other's cancel, and keeps its own counting to itself."""

    def __init__(self, outer: Job) -> None:
        super().__init__()
        self._outer = outer

    @property
    def cancelled(self) -> bool:
        return self._outer.cancelled

    def cancel(self) -> None:
        self._outer.cancel()

    def check(self) -> None:
        self._outer.check()

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        self.check()

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        with self._outer.interrupted_by(interrupt):
            yield
