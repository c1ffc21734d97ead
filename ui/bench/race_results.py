"""What one race has told so far, and the lines it draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.bench.diary import described
from core.bench.protocol import Failure, Measured, Message, Surroundings
from core.bench.published import published_lines
from core.bench.ratios import competitors, shown_bytes, shown_seconds
from core.bench.results import Record, Summary, summaries
from ui.bench.axes import bytes_label, seconds_label
from ui.bench.series import Series, live_series, published_series


@dataclass(frozen=True)
class Quantity:
    """A numeric field of a record: how its axis and its values are written."""

    field: str
    title: str
    axis: Callable[[float], str]
    exact: Callable[[float], str]


QUANTITIES = {
    quantity.field: quantity
    for quantity in (
        Quantity("seconds", "Time", seconds_label, shown_seconds),
        Quantity("cpu_seconds", "Processor time", seconds_label, shown_seconds),
        Quantity("peak_rss_bytes", "Peak memory", bytes_label, shown_bytes),
        Quantity("disk_bytes", "Size on disk", bytes_label, shown_bytes),
    )
}


@dataclass(frozen=True)
class Display:
    """Which samples are shown and how; no temperature means all samples."""

    operation: str
    quantity: Quantity = QUANTITIES["seconds"]
    statistic: str = "mean"
    temperature: str | None = None


@dataclass
class RaceResults:
    workload: str
    records: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    surroundings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        match message:
            case Measured(record):
                self.records.append(record)
            case Failure():
                self.failures.append(message)
            case Surroundings():
                self.surroundings[message.backend] = described(message)

    def lines(self, display: Display) -> list[Series]:
        """Live lines first, then the published ones: those are times only."""
        live = self._live(display)
        if display.quantity.field != "seconds":
            return live
        return live + [published_series(line) for line in published_lines(self.workload, display.operation)]

    def _live(self, display: Display) -> list[Series]:
        points = summaries(self.records, display.temperature, display.quantity.field)
        by_system: dict[str, dict[int, Summary]] = {}
        for (operation, backend, rows), summary in points.items():
            if operation == display.operation:
                by_system.setdefault(backend, {})[rows] = summary
        return [
            live_series(name, by_system[name], display.statistic)
            for name in competitors(self.records)
            if name in by_system
        ]
