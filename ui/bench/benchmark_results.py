"""What one benchmark of a workload has told so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lamella.core.bench.engine.judge import point_of, without_point
from lamella.core.bench.engine.protocol import WRONG, Failure, Measured, Message, Surroundings, Unsupported
from lamella.core.bench.registry import entry_named
from lamella.core.bench.results.compare import Ratio, ratios_between
from lamella.core.bench.results.matrix import Matrices, asks_questions
from lamella.core.bench.results.records import AGAIN, COLD, FIRST, WARM, Sample, Tally
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.ui.bench.quantities import TIME, Quantity
from lamella.ui.bench.series import LiveLines

SAMPLES: dict[str | None, str] = {None: "All samples", COLD: "First in its process", WARM: "Later ones"}
CALLS: dict[str | None, str] = {AGAIN: "Later calls", FIRST: "First call"}
"""A question's first call and those after it are two things, and never one."""


@dataclass(frozen=True)
class Display:
    """Which samples are shown and how. `rows` is the size that bars are of; 0 for the largest."""

    operation: str
    quantity: Quantity = TIME
    statistic: str = "mean"
    samples: str | None = None
    rows: int = 0


@dataclass
class BenchmarkResults:
    """`records` are as they were measured, or in the batches of a saved run."""

    workload: Workload
    records: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unsupported: list[Unsupported] = field(default_factory=list)
    surroundings: dict[str, Surroundings] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    planned: tuple[int, ...] = ()
    """The sizes that are being measured, also those that are still to come."""
    rows_under_way: int = 0
    """The size that is measured now; 0 when nothing is."""

    def __post_init__(self) -> None:
        self.lines, self.matrices = LiveLines(self.tally), Matrices(self.workload, self.tally)

    @classmethod
    def of(
        cls, workload: Workload, samples: Iterable[Sample], messages: Iterable[Message]
    ) -> BenchmarkResults:
        """Of what a saved run has of this workload."""
        records = list(samples)
        made = cls(workload, records, tally=Tally(records))
        for message in messages:
            made.take(message)
        return made

    def take(self, message: Message) -> None:
        match message:
            case Measured(record):
                self.records.append(record)
                self.tally.take(record)
            case Failure():
                self.failures.append(message)
                if message.kind == WRONG:
                    self.records[:] = without_point(self.records, message)
                    self.tally.withdraw(point_of(message))
            case Unsupported():
                if message not in self.unsupported:
                    self.unsupported.append(message)
            case Surroundings():
                self.surroundings[message.system] = message

    @property
    def empty(self) -> bool:
        return not (self.records or self.failures or self.unsupported)

    @property
    def rows(self) -> list[int]:
        """Every size that something is known of, ascending."""
        return sorted({*self.tally.rows, *(failure.rows for failure in self.failures)})

    @property
    def sizes(self) -> tuple[int, ...]:
        """What an axis of rows spans: planned and measured sizes, or the workload's own before that."""
        return tuple(sorted({*self.planned, *self.rows})) or self.workload.default_rows

    @property
    def operations(self) -> list[Operation]:
        """Of the workload, those that were measured; all of them before that."""
        known = self.workload.operations
        return [one for one in known if one.id in self.tally.operations] or list(known)

    def failures_of(self, operation: str) -> dict[str, dict[int, Failure]]:
        """By system and size; of several at one size the last one."""
        found: dict[str, dict[int, Failure]] = {}
        for failure in self.failures:
            if failure.operation == operation:
                found.setdefault(failure.system, {})[failure.rows] = failure
        return found

    @property
    def wrong(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.kind == WRONG]

    def ratios(self, display: Display, of_all: bool = False) -> list[Ratio]:
        """Of one operation at all sizes, or of all operations at one size."""
        if not of_all:
            points = self.tally.summaries("seconds", display.samples, display.operation)
            return ratios_between(self.workload, points, display.statistic)
        rows = display.rows or max(self.tally.rows, default=0)
        points = self.tally.summaries("seconds", display.samples)
        at_size = {point: summary for point, summary in points.items() if point[2] == rows}
        return ratios_between(self.workload, at_size, display.statistic)


def samples_of(workload: Workload) -> dict[str | None, str]:
    """Which of a workload's samples can be told apart, the usual choice first."""
    return CALLS if asks_questions(workload) else SAMPLES


def lost_words(message: Failure | Unsupported) -> str:
    """Beside the place where a value would have been."""
    if isinstance(message, Unsupported):
        return f"cannot: {message.reason}"
    return f"{message.kind}: {message.message}"


def title_of(system: str) -> str:
    return entry_named(system).title
