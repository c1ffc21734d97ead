"""One benchmark under way: what it tells, collected between two looks, and how it ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.costs import Costs
from lamella.core.bench.engine.limits import Pause
from lamella.core.bench.engine.protocol import Message
from lamella.core.bench.results.records import Record
from lamella.core.jobs import Job, Progress
from lamella.ui.tasks import Handle, Tasks

LOOK_MILLISECONDS = 100


class End(StrEnum):
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class BenchmarkRun(QObject):
    """Messages wait in a queue, since thousands a second would each be an event of the window."""

    told = Signal(list)
    progressed = Signal(float)
    ended = Signal(End, object)

    def __init__(self, tasks: Tasks, choice: Choice, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice, self.pause = choice, Pause()
        self._tasks = tasks
        self._inbox: deque[Message] = deque()
        self._handle: Handle | None = None
        self._look = QTimer(self, interval=LOOK_MILLISECONDS)
        self._look.timeout.connect(self._empty_inbox)

    def start(self, costs: Callable[[], Costs], first_repeat: int = 0) -> None:
        """`first_repeat` counts on from an earlier benchmark that this one adds to."""
        choice, pause, inbox = self.choice, self.pause, self._inbox

        def work(job: Job) -> list[Record]:
            return runner.run(choice, inbox.append, job, pause, costs(), first_repeat)

        self._look.start()
        self._handle = self._tasks.read(
            work,
            lambda records: self._end(End.DONE),
            lambda error: self._end(End.FAILED, error),
            progress=self._progress,
            stopped=lambda: self._end(End.STOPPED),
            owner=self,
            text="Benchmark",
        )
        self.destroyed.connect(self._handle.cancel)

    def stop(self) -> None:
        """End the child process at once; what was measured stays."""
        if self._handle is not None:
            self._handle.cancel()

    def _progress(self, progress: Progress) -> None:
        self.progressed.emit(progress.fraction or 0.0)

    def _empty_inbox(self) -> None:
        told: list[Message] = []
        while self._inbox:
            told.append(self._inbox.popleft())
        if told:
            self.told.emit(told)

    def _end(self, how: End, error: Exception | None = None) -> None:
        self._look.stop()
        self._handle = None
        self._empty_inbox()
        self.ended.emit(how, error)
