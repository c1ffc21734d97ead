"""Files read by several threads, each with a file of its own and a small task at a time.

Arrow's threads decode the columns of one call side by side, but the calling thread waits, and then works on
what they decoded alone. Here a thread decodes and works on it while it lies in the processor's cache, in
memory that its last task let go of.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

import pyarrow as pa

from lamella.core.jobs import current_job, on_behalf_of
from lamella.core.processes import call_after_fork
from lamella.core.scan.parquet_file import OpenFile

Task = TypeVar("Task")
Answer = TypeVar("Answer")

MOST_THREADS = 8
COLUMNS_AT_ONCE = 8
FEWEST_CELLS, TASKS = 1 << 17, 16
"""What is too little for a task, and into how many more than that is cut at least."""


def cells_at_once(cells: int, most: int) -> int:
    """How many of all the cells a task should have."""
    return max(FEWEST_CELLS, min(most, cells // TASKS))


def rows_at_once(cells: int, columns: int) -> int:
    """How many rows such a task should have, where there are so many columns."""
    return cells // max(1, min(columns, COLUMNS_AT_ONCE))


def each(
    work: Callable[[Task, OpenFile], Answer],
    tasks: Sequence[Task],
    begun: Callable[[Task], None] = lambda task: None,
    alone: bool = False,
) -> list[Answer]:
    """What `work` answers for each of the tasks, in their order; the first error ends it all.

    The calling thread works too, and calls `begun` with each task it begins: to report, or to cancel.
    `alone`: no other one does, for Arrow's own threads have enough to share in each task.
    """
    walk = _Walk(work, tasks)
    threads = 1 if alone else min(MOST_THREADS, pa.cpu_count(), len(tasks))
    _helpers.call(walk.help, threads - 1)
    try:
        walk.run(begun, alone=threads <= 1)
    finally:
        walk.end()
    return walk.results()


class _Walk(Generic[Task, Answer]):
    """The way of all threads through the tasks."""

    def __init__(self, work: Callable[[Task, OpenFile], Answer], tasks: Sequence[Task]) -> None:
        self._work, self._tasks, self._job = work, tasks, current_job()
        self._left = iter(range(len(tasks)))
        self._changed = threading.Condition()
        self._helping = 0
        self._done: dict[int, Answer] = {}
        self._error: BaseException | None = None

    def run(self, begun: Callable[[Task], None], alone: bool) -> None:
        with OpenFile(alone) as file:
            while (number := self._next()) is not None:
                begun(self._tasks[number])
                self._done[number] = self._work(self._tasks[number], file)

    def help(self) -> None:
        """The same on another thread; what goes wrong there is raised by `answers`."""
        with self._changed:
            self._helping += 1
        try:
            with on_behalf_of(self._job):
                self.run(lambda task: None, alone=False)
        except BaseException as error:  # noqa: BLE001 -- raised by `answers`
            self._error = error
            self._stop()
        finally:
            with self._changed:
                self._helping -= 1
                self._changed.notify()

    def end(self) -> None:
        """Nobody begins another task, and those that were begun are done. Who comes to help later goes."""
        self._stop()
        with self._changed:
            self._changed.wait_for(lambda: self._helping == 0)

    def results(self) -> list[Answer]:
        """Once: a helper that comes too late may know the walk for long."""
        if self._error is not None:
            raise self._error
        answers, self._done = self._done, {}
        return [answers[number] for number in range(len(self._tasks))]

    def _next(self) -> int | None:
        with self._changed:
            return next(self._left, None)

    def _stop(self) -> None:
        with self._changed:
            self._left = iter(range(0))


class _Helpers:
    """Threads that wait to be called. They stay: memory that a thread leaves when it ends is not used again
    soon, and fresh memory costs more than decoding into it."""

    def __init__(self) -> None:
        self.forked()
        call_after_fork(self)

    def forked(self) -> None:
        """A child has none of its parent's threads."""
        self._lock = threading.Lock()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def call(self, help_: Callable[[], None], times: int) -> None:
        with self._lock:
            while len(self._threads) < times:
                thread = threading.Thread(target=_serve, args=(self._calls,), name="decode", daemon=True)
                self._threads.append(thread)
                thread.start()
            for _ in range(times):
                self._calls.put(help_)

    def end(self) -> None:
        """They do what they were called for before, and are gone. Who calls later has others."""
        with self._lock:
            calls, threads = self._calls, self._threads
            self._begin_anew()
        for _ in threads:
            calls.put(None)
        for thread in threads:
            thread.join()


def _serve(calls: SimpleQueue[Callable[[], None] | None]) -> None:
    while True:
        help_ = calls.get()
        if help_ is None:
            return
        help_()
        del help_  # while it waits, the thread would keep a snapshot, and so files from being removed


_helpers = _Helpers()
end_threads = _helpers.end
"""When a program needs them no more, though it may again."""
atexit.register(end_threads)  # a thread that decodes while the interpreter ends would end it badly
