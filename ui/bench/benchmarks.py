"""The benchmarks of this session: the results of each workload, and the recording that they belong to."""

from __future__ import annotations

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.protocol import Failure, Measured, Message, Surroundings, Unsupported
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.results.run import Recording
from lamella.core.bench.workloads.model import Workload
from lamella.ui.bench.benchmark_results import BenchmarkResults


class Benchmarks:
    """Results stay until the same workload is measured again."""

    def __init__(self) -> None:
        self.last: Recording | None = None
        self.title = ""
        self._results: dict[str, BenchmarkResults] = {}
        self._recordings: dict[str, Recording] = {}

    def begin(self, choice: Choice) -> None:
        """The results of its workloads are empty from now on."""
        self.last = Recording(choice)
        for part in choice.parts:
            self._results[part.workload.id] = BenchmarkResults(part.workload)
            self._recordings[part.workload.id] = self.last

    def take(self, message: Message) -> None:
        """Of the last benchmark; `title` is of the workload that it is at."""
        assert self.last is not None
        self.last.hear(message)
        results = self._results.get(_workload_of(message))
        if results is not None:
            self.title = results.workload.title
            results.take(message)

    def results_of(self, workload: Workload) -> BenchmarkResults:
        return self._results.setdefault(workload.id, BenchmarkResults(workload))

    def recording_of(self, workload: Workload) -> Recording | None:
        return self._recordings.get(workload.id)

    def workload(self, workload_id: str) -> Workload:
        """As it was measured, or as it is known."""
        measured = self._results.get(workload_id)
        return measured.workload if measured else WORKLOADS[workload_id]

    def shown_with(self, chosen: tuple[Workload, ...], shown: Workload) -> list[Workload]:
        """The workloads to choose from while one is shown: those chosen, or those of the last benchmark."""
        measured = [part.workload for part in self.last.choice.parts] if self.last else []
        if shown.id in [workload.id for workload in measured] and len(chosen) < len(measured):
            return measured
        known = [self.workload(workload.id) for workload in chosen]
        return known if shown.id in [workload.id for workload in known] else [shown]


def _workload_of(message: Message) -> str:
    match message:
        case Measured(record):
            return record.workload
        case Failure() | Unsupported() | Surroundings():
            return message.workload
    return ""
