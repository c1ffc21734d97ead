"""Core jobs on threads: reads in parallel, writes one after the other, answers on the GUI thread.

Nothing else in `ui` makes threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from lamella.core.errors import Cancelled
from lamella.core.jobs import Job, Progress, on_behalf_of

T = TypeVar("T")
READERS = 6  # enough that pages of the grid do not wait for long queries
ENDLESS_READERS = 64
GRACE_MS = 2000
"""How long a read that was cancelled may take to end, before what asked for it goes on without it."""
PATIENCE_SECONDS = 5.0
"""How long the end waits for reads that were cancelled. A disk that is gone may never answer."""

log = logging.getLogger(__name__)
_unanswered_reads: list[Future[None]] = []
"""Reads that had not ended when the end stopped waiting for them."""


@dataclass(frozen=True)
class Callbacks:
    """Functions to call on the GUI thread: exactly one of the first three, and `discard` with a result that
    `on_result` does not get."""

    on_result: Callable[[Any], object] | None = None
    on_error: Callable[[Exception], object] | None = None
    on_cancel: Callable[[], object] | None = None
    on_progress: Callable[[Progress], object] | None = None
    discard: Callable[[Any], object] | None = None


def _nothing(job: Job) -> None:
    """The work of a handle that was requested after the end."""


class Handle:
    """One piece of work that was requested. Used on the GUI thread only."""

    def __init__(
        self, text: str, write: bool, quiet: bool, owner: QObject | None, callbacks: Callbacks
    ) -> None:
        self.job, self.text, self.write, self.quiet = Job(), text, write, quiet
        self.over = False
        self.callbacks = callbacks
        self.work: Callable[[Job], Any] = _nothing
        self.pool: ThreadPoolExecutor | None = None
        self.on_cancel_request: Callable[[Handle], object] | None = None
        self.result: Any = None
        self.error: Exception | None = None
        """Why it failed."""
        self.progress_widget: QWidget | None = None
        """The widget that shows its progress and a Stop button, if that is not the status bar."""
        self._owner, self._has_owner = owner, owner is not None

    @property
    def running(self) -> bool:
        """Whether it has been requested and has not answered yet; waiting in the queue counts."""
        return not self.over

    @property
    def is_owner_alive(self) -> bool:
        """Whether the owner still exists."""
        return not self._has_owner or (self._owner is not None and shiboken6.isValid(self._owner))

    @property
    def is_shown(self) -> bool:
        """Whether something on screen shows its progress already."""
        shown_by = self.progress_widget
        return shown_by is not None and shiboken6.isValid(shown_by) and shown_by.isVisible()

    def cancel(self) -> None:
        """Ask the work to stop. A read no longer answers; a write that was already committed does."""
        self.job.cancel()
        if self.on_cancel_request is not None:
            self.on_cancel_request(self)

    def discard(self) -> None:
        """Discard a result that no callback receives."""
        result, self.result = self.result, None
        if result is not None and self.callbacks.discard is not None:
            self.callbacks.discard(result)


def has_unanswered_reads() -> bool:
    """Whether reads still run that the end did not wait for: Python would wait for their threads."""
    return not all(read.done() for read in _unanswered_reads)


class Tasks(QObject):
    """Runs work off the GUI thread; every signal and callback arrives on the GUI thread.

    `failed` carries errors that no callback handles. `progressed` is emitted at most every 50 ms for one
    handle. A cancelled read that does not end, as of a disk that is gone, is `finished` after a while: it is
    then one of `unanswered_reads`, and other reads get other threads.
    """

    started = Signal(Handle)
    cancelled = Signal(Handle)
    finished = Signal(Handle)
    unanswered_changed = Signal()
    progressed = Signal(Handle, Progress)
    busy_changed = Signal(bool)
    failed = Signal(Exception)
    _answered = Signal(Handle, object)
    _reported = Signal(Handle, Progress)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="read")
        self._endless = ThreadPoolExecutor(ENDLESS_READERS, thread_name_prefix="endless read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="copy")
        self._running: list[Handle] = []
        self._reads: dict[Handle, Future[None]] = {}
        self._former_readers: list[ThreadPoolExecutor] = []
        """Those with a thread that may never end."""
        self._is_closed = False
        self._answered.connect(self._answer, Qt.ConnectionType.QueuedConnection)
        self._reported.connect(self._report, Qt.ConnectionType.QueuedConnection)

    def read(  # noqa: PLR0913 -- a word for each way that it may end
        self,
        work: Callable[[Job], T],
        on_result: Callable[[T], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        on_cancel: Callable[[], object] | None = None,
        discard: Callable[[T], object] | None = None,
        owner: QObject | None = None,
        text: str = "",
        quiet: bool = False,
        may_be_endless: bool = False,
    ) -> Handle:
        """Run `work` beside other reads. Exactly one of `on_result`, `on_error` or, when cancelled,
        `on_cancel` is called.

        None of them is called if `owner` has been destroyed in the meantime, or after `shutdown`; `discard`
        gets every result that `on_result` does not get, such as an open store. A `quiet` read does not count
        as busy. Work that `may_be_endless` keeps no other read waiting. Without `on_error`, an exception goes
        to the `failed` signal.
        """
        callbacks = Callbacks(on_result, on_error, on_cancel, on_progress, discard)
        pool = self._endless if may_be_endless else self._readers
        return self._start(pool, Handle(text, False, quiet, owner, callbacks), work)

    def write(  # noqa: PLR0913 -- as for `read`
        self,
        work: Callable[[Job], T],
        on_result: Callable[[T], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        on_cancel: Callable[[], object] | None = None,
        discard: Callable[[T], object] | None = None,
        owner: QObject | None = None,
        text: str = "",
        quiet: bool = False,
    ) -> Handle:
        """Run `work` after all writes requested before; otherwise like `read`. A `quiet` write is one that
        the user did not request: the window closes without asking about it."""
        callbacks = Callbacks(on_result, on_error, on_cancel, on_progress, discard)
        return self._start(self._writer, Handle(text, True, quiet, owner, callbacks), work)

    def copy(
        self,
        work: Callable[[Job], T],
        on_result: Callable[[T], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        on_cancel: Callable[[], object] | None = None,
        owner: QObject | None = None,
        text: str = "",
    ) -> Handle:
        """Run `work` that writes elsewhere, such as a backup, beside reads and writes; otherwise like
        `write`."""
        callbacks = Callbacks(on_result, on_error, on_cancel, on_progress, None)
        return self._start(self._copier, Handle(text, True, False, owner, callbacks), work)

    @property
    def running(self) -> list[Handle]:
        """The work that a Stop button would stop, oldest first."""
        return [handle for handle in self._running if not handle.quiet]

    @property
    def writing(self) -> list[Handle]:
        return [handle for handle in self._running if handle.write and handle.pool is not self._copier]

    @property
    def copying(self) -> list[Handle]:
        return [handle for handle in self._running if handle.pool is self._copier]

    @property
    def unanswered_reads(self) -> list[Handle]:
        """The reads that were cancelled and given up, and whose threads still wait."""
        return [handle for handle in self._reads if handle.over]

    def cancel_all(self) -> None:
        for handle in self.running:
            handle.cancel()

    def shutdown(self) -> None:
        """Cancel everything and wait until the threads have ended, but not for ever for reads. Later requests
        end at once, and only `discard` is called."""
        self._is_closed = True
        for handle in self._running:
            handle.cancel()
            handle.over = True
        reading = (*self._former_readers, self._readers, self._endless)
        for pool in reading:
            pool.shutdown(wait=False, cancel_futures=True)
        for pool in (self._writer, self._copier):
            pool.shutdown(wait=True, cancel_futures=True)
        # `wait` would not count those that were cancelled in the queue as done
        begun = [read for read in self._reads.values() if not read.cancelled()]
        late = wait(begun, PATIENCE_SECONDS).not_done
        if late:
            texts = [handle.text for handle, read in self._reads.items() if read in late]
            log.warning("Left without an answer: %s", ", ".join(filter(None, texts)) or "a read")
            _unanswered_reads.extend(late)
        else:
            for pool in reading:
                pool.shutdown(wait=True)
        for handle in (*self._running, *self._reads):
            handle.discard()
        self._running.clear()

    def _start(self, pool: ThreadPoolExecutor, handle: Handle, work: Callable[[Job], Any]) -> Handle:
        if self._is_closed:
            handle.over = True
            return handle
        handle.job = Job(lambda progress: self._reported.emit(handle, progress))
        was_busy = bool(self.running)
        handle.work, handle.pool, handle.on_cancel_request = work, pool, self._follow_cancel
        self._running.append(handle)
        future = pool.submit(self._run, handle, work)
        if not handle.write:
            self._reads[handle] = future
        self.started.emit(handle)
        if bool(self.running) != was_busy:
            self.busy_changed.emit(True)
        return handle

    def _run(self, handle: Handle, work: Callable[[Job], Any]) -> None:
        error = None
        try:
            handle.job.check()
            with on_behalf_of(handle.job):
                handle.result = work(handle.job)
        except Exception as caught:  # noqa: BLE001 -- handed to the GUI thread, where it is shown
            error = caught
        if not self._is_closed:
            self._answered.emit(handle, error)

    def _report(self, handle: Handle, progress: Progress) -> None:
        if handle.over or not handle.is_owner_alive:
            return
        if handle.callbacks.on_progress is not None:
            handle.callbacks.on_progress(progress)
        self.progressed.emit(handle, progress)

    def _follow_cancel(self, handle: Handle) -> None:
        if not (handle.over or self._is_closed):
            self.cancelled.emit(handle)
            if not handle.write:
                QTimer.singleShot(GRACE_MS, self, partial(self._give_up, handle))

    def _give_up(self, handle: Handle) -> None:
        """Go on without a read that does not end. Its thread is lost to others: they get new ones."""
        if handle not in self._running:
            return
        if self._reads[handle].cancel():  # it was still waiting for a thread
            del self._reads[handle]
        else:
            log.warning("Given up without an answer: %s", handle.text or "a read")
            self._replace_readers()
        self._end(handle, Cancelled())
        self.unanswered_changed.emit()

    def _replace_readers(self) -> None:
        former, self._readers = self._readers, ThreadPoolExecutor(READERS, thread_name_prefix="read")
        self._former_readers.append(former)
        for handle, future in self._reads.items():
            if handle.pool is former and future.cancel():
                handle.pool = self._readers
                self._reads[handle] = self._readers.submit(self._run, handle, handle.work)
        former.shutdown(wait=False)  # threads end that have nothing to do

    def _answer(self, handle: Handle, error: Exception | None) -> None:
        is_late = handle not in self._running
        self._reads.pop(handle, None)
        if is_late:
            handle.discard()
            self.unanswered_changed.emit()
        else:
            self._end(handle, error)

    def _end(self, handle: Handle, error: Exception | None) -> None:
        self._running.remove(handle)
        handle.over, handle.work = True, _nothing
        handle.error = None if isinstance(error, Cancelled) else error
        self.finished.emit(handle)
        if not handle.quiet and not self.running:
            self.busy_changed.emit(False)
        if handle.is_owner_alive:
            self._call_back(handle, error)
        handle.discard()

    def _call_back(self, handle: Handle, error: Exception | None) -> None:
        callbacks = handle.callbacks
        if isinstance(error, Cancelled) or (handle.job.cancelled and not handle.write):
            if callbacks.on_cancel is not None:
                callbacks.on_cancel()
        elif error is not None:
            (callbacks.on_error or self.failed.emit)(error)
        elif callbacks.on_result is not None:
            result, handle.result = handle.result, None
            callbacks.on_result(result)
