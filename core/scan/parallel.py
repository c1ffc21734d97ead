"""Reads files on several threads, each with its own open file and one small task at a time.

Arrow's threads decode the columns of one call in parallel, but the calling thread waits, and then processes
the result alone. Here a thread decodes a part and processes it while it is in the processor's cache, reusing
the memory of its last task.
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
from lamella.core.scan.open_file import OpenFile

Task = TypeVar("Task")
Answer = TypeVar("Answer")

MOST_THREADS = 8
COLUMNS_AT_ONCE = 8
FEWEST_CELLS, TASKS = 1 << 17, 16
"""The least cells of a task, and the least number of tasks that more cells are divided into."""


def cells_at_once(cells: int, most: int) -> int:
    """The number of cells that a task should have."""
    return max(FEWEST_CELLS, min(most, cells // TASKS))


def rows_at_once(cells: int, columns: int) -> int:
    """The number of rows that such a task should have for this number of columns."""
    return cells // max(1, min(columns, COLUMNS_AT_ONCE))


def run_tasks(
    work: Callable[[Task, OpenFile], Answer],
    tasks: Sequence[Task],
    begun: Callable[[Task], None] = lambda task: None,
    alone: bool = False,
) -> list[Answer]:
    """Run `work` on each of the tasks; return the results in order. The first error ends everything.

    The calling thread works too, and calls `begun` with each task that it starts, to report progress or
    cancel. `alone`: no other thread does, because Arrow's own threads have enough to share in each task.
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
    """The shared progress of all threads through the tasks."""

    def __init__(self, work: Callable[[Task, OpenFile], Answer], tasks: Sequence[Task]) -> None:
        self._work, self._tasks, self._job = work, tasks, current_job()
        self._queue = iter(range(len(tasks)))
        self._condition = threading.Condition()
        self._helping = 0
        self._answers: dict[int, Answer] = {}
        self._error: BaseException | None = None

    def run(self, begun: Callable[[Task], None], alone: bool) -> None:
        with OpenFile(alone) as file:
            while (number := self._next()) is not None:
                begun(self._tasks[number])
                self._answers[number] = self._work(self._tasks[number], file)

    def help(self) -> None:
        """Run tasks on another thread; its error is raised by `results`."""
        with self._condition:
            self._helping += 1
        try:
            with on_behalf_of(self._job):
                self.run(lambda task: None, alone=False)
        except BaseException as error:  # noqa: BLE001 -- raised by `results`
            self._error = error
            self._stop()
        finally:
            with self._condition:
                self._helping -= 1
                self._condition.notify()

    def end(self) -> None:
        """Start no more tasks, and wait for those that have started. Helpers that come later leave at
        once."""
        self._stop()
        with self._condition:
            self._condition.wait_for(lambda: self._helping == 0)

    def results(self) -> list[Answer]:
        """Return the results, once: a late helper may keep a reference to the walk for long."""
        if self._error is not None:
            raise self._error
        answers, self._answers = self._answers, {}
        return [answers[number] for number in range(len(self._tasks))]

    def _next(self) -> int | None:
        with self._condition:
            return next(self._queue, None)

    def _stop(self) -> None:
        with self._condition:
            self._queue = iter(range(0))


class _Helpers:
    """Threads that wait for work. They stay alive, because memory of a thread that ends is not reused soon,
    and fresh memory costs more than decoding into it."""

    def __init__(self) -> None:
        self.reset_after_fork()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Start afresh in a forked child, which has none of its parent's threads."""
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
        """Let the threads finish their work and end. Later calls start new ones."""
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
        del help_  # a waiting thread would otherwise keep a snapshot, and so its files, alive


_helpers = _Helpers()
end_threads = _helpers.end
"""Ends the threads, for a program that does not need them any more; later calls start new ones."""
atexit.register(end_threads)  # a thread that decodes while the interpreter shuts down could crash it
