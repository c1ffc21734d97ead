"""Jobs: how a long operation reports progress and learns that it should stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lamella.core.errors import Cancelled

REPORT_EVERY_SECONDS = 0.05


@dataclass(frozen=True)
class Progress:
    """`fraction` is None while the total is unknown; `done` counts in the job's own unit."""

    done: int = 0
    total: int | None = None
    text: str = ""

    @property
    def fraction(self) -> float | None:
        return min(1.0, self.done / self.total) if self.total else None


class Job:
    """Progress, status text and cancel for one piece of work.

    Thread-safe without a lock: one thread works and reports, any thread may call `cancel`.
    The listener is called on the working thread, at most every 50 ms and once at the end.
    """

    def __init__(self, listener: Callable[[Progress], None] | None = None) -> None:
        self.progress = Progress()
        self._listener = listener
        self._reported_at = 0.0
        self._cancelled = False
        self._interrupts: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        self._cancelled = True
        for interrupt in list(self._interrupts):
            interrupt()

    def check(self) -> None:
        """Raise `Cancelled` if this job was cancelled."""
        if self._cancelled:
            raise Cancelled

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        """Report progress; raises `Cancelled` if the job was cancelled."""
        self.check()
        self.progress = Progress(done, total, text or self.progress.text)
        now = time.monotonic()
        if self._listener and (now - self._reported_at >= REPORT_EVERY_SECONDS or done == total):
            self._reported_at = now
            self._listener(self.progress)

    def advance(self, count: int) -> None:
        """Count `count` more units of the work: `CountingJob`s report them, others check for a cancel."""
        self.check()

    @contextmanager
    def notice(self, text: str) -> Iterator[None]:
        """Show a text instead of the job's own while the block runs, such as why there is no progress."""
        before = self.progress.text
        if before == text:
            yield
            return
        self._show(text)
        try:
            yield
        finally:
            self._show(before)

    def _show(self, text: str) -> None:
        self.progress = replace(self.progress, text=text)
        if self._listener:
            self._listener(self.progress)

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` when the job is cancelled while the block runs, on the thread that cancels.

        No cancel is lost: one that came before raises `Cancelled` here. One that comes as the block ends may
        still call `interrupt` a moment later.
        """
        self._interrupts.append(interrupt)
        try:
            self.check()
            yield
        finally:
            self._interrupts.remove(interrupt)


class SilentJob(Job):
    """A job inside another one: it is cancelled with the other, but does not report its progress."""

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
    def notice(self, text: str) -> Iterator[None]:
        with self._outer.notice(text):
            yield

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        with self._outer.interrupted_by(interrupt):
            yield


class CountingJob(SilentJob):
    """A job inside another one, which counts units of work and reports their number as the other's progress.
    `text` makes the status of both numbers."""

    def __init__(self, outer: Job, total: int, text: Callable[[int, int], str]) -> None:
        super().__init__(outer)
        self.total, self._count, self._text = total, 0, text

    def advance(self, count: int) -> None:
        self.reach(self._count + count)

    def reach(self, done: int) -> None:
        """Report that `done` units are complete, however many were counted: work may be repeated."""
        self._count = min(done, self.total)
        self._outer.report(self._count, self.total, self._text(self._count, self.total))


class Part(SilentJob):
    """A part of a job: its progress moves that of the whole job from `done` by `size` of `total`."""

    def __init__(self, outer: Job, done: int, size: int, total: int, text: str) -> None:
        super().__init__(outer)
        self._before, self._size, self._whole, self._text = done, size, total, text

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        share = Progress(done, total).fraction or 0.0
        self._outer.report(self._before + round(self._size * share), self._whole, self._text)


class _OfThread(threading.local):
    job: Job | None = None


_of_thread = _OfThread()


def current_job() -> Job | None:
    """Return the job that this thread works for, as set by `on_behalf_of`."""
    return _of_thread.job


@contextmanager
def on_behalf_of(job: Job | None) -> Iterator[None]:
    """Make `job` the one that this thread works for, so that waits inside the block, such as for a server,
    end when it is cancelled. Do not use around a `yield`: the block must end on the thread where it began."""
    before, _of_thread.job = _of_thread.job, job
    try:
        yield
    finally:
        _of_thread.job = before
