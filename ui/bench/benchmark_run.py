"""The benchmarks of this session: the running one, the results of each workload, and saved runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.engine.limits import Pause
from lamella.core.bench.engine.protocol import Failure, Measurement, Message, Surroundings, UnsupportedStep
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.run import Recording
from lamella.core.bench.results.store import SavedRuns
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import BadData, FileProblem
from lamella.core.jobs import Job, Progress
from lamella.ui.bench.benchmark_results import BenchmarkResults, results_of
from lamella.ui.tasks import Handle, Tasks

LOOK_MILLISECONDS = 100


class End(StrEnum):
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class BenchmarkRun(QObject):
    """A running benchmark. Messages are queued: thousands a second would each be an event of the window."""

    messages = Signal(list)
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

    def start(
        self, costs: Callable[[], Costs], first_repeat: int = 0, shown_by: QWidget | None = None
    ) -> None:
        """Start. `first_repeat` continues the count of an earlier benchmark that this one adds to; `shown_by`
        shows the progress."""
        choice, pause, inbox = self.choice, self.pause, self._inbox

        def work(job: Job) -> list[Record]:
            return runner.run(choice, inbox.append, job, pause, costs(), first_repeat)

        self._look.start()
        self._handle = self._tasks.read(
            work,
            lambda records: self._end(End.DONE),
            lambda error: self._end(End.FAILED, error),
            on_progress=self._progress,
            on_cancel=lambda: self._end(End.STOPPED),
            owner=self,
            text="Benchmark",
        )
        self._handle.progress_widget = shown_by
        self.destroyed.connect(self._handle.cancel)

    def stop(self) -> None:
        """End the child process at once; the results so far stay."""
        if self._handle is not None:
            self._handle.cancel()

    def _progress(self, progress: Progress) -> None:
        self.progressed.emit(progress.fraction or 0.0)

    def _empty_inbox(self) -> None:
        messages: list[Message] = []
        while self._inbox:
            messages.append(self._inbox.popleft())
        if messages:
            self.messages.emit(messages)

    def _end(self, how: End, error: Exception | None = None) -> None:
        self._look.stop()
        self._handle = None
        self._empty_inbox()
        self.ended.emit(how, error)


class Benchmarks:
    """The results by workload; they stay until the same workload is measured again."""

    def __init__(self) -> None:
        self.last: Recording | None = None
        self.title = ""
        self._results: dict[str, BenchmarkResults] = {}
        self._recordings: dict[str, Recording] = {}

    def begin(self, choice: Choice) -> None:
        """Start a benchmark with empty results for its workloads."""
        self.last = Recording(choice)
        for part in choice.parts:
            self._results[part.workload.id] = BenchmarkResults(part.workload, planned_sizes=part.rows)
            self._recordings[part.workload.id] = self.last

    def take(self, message: Message) -> None:
        """Add a message of the running benchmark; `title` becomes that of the current workload."""
        assert self.last is not None
        self.last.receive(message)
        results = self._results.get(_workload_of(message))
        if results is not None:
            self.title = results.workload.title
            results.take(message)

    def set_under_way(self, rows: int) -> None:
        """Set the size that is being measured; 0 if none is."""
        assert self.last is not None
        for part in self.last.choice.parts:
            results = self._results[part.workload.id]
            results.rows_under_way = rows if results.workload.title == self.title else 0

    def results_of(self, workload: Workload) -> BenchmarkResults:
        return self._results.setdefault(workload.id, BenchmarkResults(workload))

    def recording_of(self, workload: Workload) -> Recording | None:
        return self._recordings.get(workload.id)

    def show(self, recording: Recording, results: Mapping[str, BenchmarkResults]) -> None:
        """Show an earlier benchmark as the last one."""
        self.last = recording
        self._results.update(results)
        self._recordings.update(dict.fromkeys(results, recording))

    def knows(self, workload_id: str) -> bool:
        return workload_id in self._results or workload_id in WORKLOADS

    def workload(self, workload_id: str) -> Workload:
        """The workload as it was measured, or as it is registered."""
        measured = self._results.get(workload_id)
        return measured.workload if measured else WORKLOADS[workload_id]

    def choices_with(self, workloads: tuple[Workload, ...], current: Workload) -> list[Workload]:
        """The workloads to choose from while one is shown: the chosen ones, or those of the last
        benchmark."""
        measured = [part.workload for part in self.last.choice.parts] if self.last else []
        if current.id in [workload.id for workload in measured] and len(workloads) < len(measured):
            return measured
        current_workloads = [self.workload(workload.id) for workload in workloads]
        return (
            current_workloads if current.id in [workload.id for workload in current_workloads] else [current]
        )


def _workload_of(message: Message) -> str:
    match message:
        case Measurement(record):
            return record.workload
        case Failure() | UnsupportedStep() | Surroundings():
            return message.workload
    return ""


class RunSaving(QObject):
    """Saves runs. `saved` carries the number of the run. Without a file nothing is saved."""

    saved = Signal(int)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, saved_runs: SavedRuns | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._saved_runs = tasks, saved_runs
        self._saved_recording: tuple[Recording, int] | None = None

    def save(self, recording: Recording) -> None:
        """Save a benchmark that measured something; one with added repeats replaces its earlier run."""
        saved_runs, saved = self._saved_runs, self._saved_recording
        if saved_runs is None or not (recording.records or recording.failures):
            return
        run = recording.run()
        before = [saved[1]] if saved and saved[0] is recording else []

        def work(job: Job) -> int:
            number = saved_runs.save(run)
            saved_runs.delete(before)
            return number

        def finish(number: int) -> None:
            self._saved_recording = (recording, number)
            self.saved.emit(number)

        self._tasks.write(work, finish, self.failed.emit, owner=self, text="Saving the run")

    def number_of(self, recording: Recording | None) -> int | None:
        """The number of the saved run, if it was saved."""
        saved = self._saved_recording
        return saved[1] if saved is not None and saved[0] is recording else None

    def open(self, number: int) -> tuple[Recording, dict[str, BenchmarkResults]]:
        """A saved run, and its results by workload. Blocks. Raises `UnknownRun`, and `BadData` if its
        workloads are unknown to this version."""
        run = self._saved_runs.run(number) if self._saved_runs else None
        if run is None or run.choice is None:
            raise BadData(f"Run {number} has workloads that this version does not know")
        recording = Recording(
            run.choice, run.started, list(run.records), list(run.failures), list(run.unsupported_steps),
            list(run.surroundings), list(run.processes),
        )  # fmt: skip
        return recording, results_of(run)

    def take(self, recording: Recording, number: int) -> None:
        """Record that a benchmark is already saved as this run."""
        self._saved_recording = (recording, number)

    def costs(self) -> Costs:
        """The costs known from saved runs, or the shipped ones if these cannot be read. Blocks."""
        try:
            return self._saved_runs.costs() if self._saved_runs else shipped_costs()
        except FileProblem:
            return shipped_costs()  # the list of saved runs reports a damaged file
