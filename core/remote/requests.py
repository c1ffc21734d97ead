"""Runs requests to servers on separate threads, so that a thread that waits can be cancelled at once.

The libraries that send requests cannot interrupt them. A cancelled request continues until the server answers
or it times out, and its answer is discarded.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from lamella.core.jobs import Job, current_job, on_behalf_of
from lamella.core.processes import call_after_fork
from lamella.core.remote.problems import Throttled

LONGEST_THROTTLE_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 8.0
MOST_AT_ONCE = 8
MOST_IDLE = 16
EXIT_SECONDS = 0.5
"""How long the program waits at exit for requests to end."""

T = TypeVar("T")


def answers(asks: Iterable[Callable[[], T]], job: Job | None = None, patient: bool = True) -> list[T]:
    """Run requests, several at a time, and return their answers in order. Raises the first error of any.
    With `patient`, throttled requests are repeated. Raises `Cancelled` as soon as the job, by default this
    thread's current job, is cancelled."""
    job = job or current_job() or Job()
    queue = enumerate(asks)
    begun, results = 0, dict[int, T]()
    events: SimpleQueue[tuple[int, T | None, BaseException | None] | None] = SimpleQueue()
    with job.interrupted_by(partial(events.put, None)):
        while True:
            while begun - len(results) < MOST_AT_ONCE and (following := next(queue, None)) is not None:
                number, ask = following
                work = partial(patiently, ask) if patient else ask
                _threads.begin(partial(_answer, number, work, job, events))
                begun += 1
            if len(results) == begun:
                return [results[number] for number in range(begun)]
            event = events.get()
            job.check()
            if event is None:
                continue
            number, answer, error = event
            if error is not None:
                raise error
            results[number] = answer  # type: ignore[assignment]


def answer(ask: Callable[[], T], job: Job | None = None, patient: bool = True) -> T:
    """Run one request as `answers` does, and return its answer."""
    return answers([ask], job, patient)[0]


def _answer(number: int, work: Callable[[], T], job: Job, events: SimpleQueue[Any]) -> None:
    try:
        with on_behalf_of(job):
            result = work()
    except BaseException as error:  # noqa: BLE001 -- raised on the thread that waits for the answer
        events.put((number, None, error))
    else:
        events.put((number, result, None))


def patiently(ask: Callable[[], T]) -> T:
    """Return the result of `ask`, repeating it for half a minute with growing pauses while the server
    throttles. This thread's current job shows a notice meanwhile. Raises `Cancelled` as soon as that job is
    cancelled."""
    pause, until = FIRST_PAUSE_SECONDS, time.monotonic() + LONGEST_THROTTLE_SECONDS
    while True:
        try:
            return ask()
        except Throttled as problem:
            wait = max(pause, problem.seconds or 0)
            if time.monotonic() + wait > until:
                raise
            notice = f"{problem.server} asks for fewer requests: trying again"
        _sleep(wait, current_job() or Job(), notice)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _sleep(seconds: float, job: Job, notice: str) -> None:
    woken: SimpleQueue[None] = SimpleQueue()
    with job.notice(notice), job.interrupted_by(partial(woken.put, None)):
        try:
            woken.get(timeout=seconds)
        except Empty:
            return
    job.check()


class _Threads:
    """A pool of threads that are reused for later requests. A silent server does not keep the program from
    ending."""

    def __init__(self) -> None:
        self.reset_after_fork()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Start anew: a child process has none of its parent's threads."""
        self._condition = threading.Condition()
        self._busy = 0
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def begin(self, work: Callable[[], None]) -> None:
        with self._condition:
            self._busy += 1
            calls = self._idle.pop() if self._idle else None
        if calls is None:
            calls = SimpleQueue()
            threading.Thread(target=self._serve, args=(calls,), name="request", daemon=True).start()
        calls.put(work)

    def _serve(self, calls: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            work = calls.get()
            work()
            del work  # it refers to its answer
            with self._condition:
                self._busy -= 1
                self._condition.notify_all()
                if len(self._idle) >= MOST_IDLE:
                    return
                self._idle.append(calls)

    def end(self) -> None:
        """Wait briefly for requests to end before the interpreter exits, since they would fail while it shuts
        down. A request to a silent server ends with the process."""
        with self._condition:
            self._condition.wait_for(lambda: self._busy == 0, EXIT_SECONDS)


_threads = _Threads()
atexit.register(_threads.end)
