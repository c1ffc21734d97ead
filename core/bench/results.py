"""Records of a race: one per timed operation, all samples kept, and statistics over them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, median
from typing import Any

from core.errors import BadData, FileProblem

COLD, WARM = "cold", "warm"


@dataclass(frozen=True)
class Record:
    """One sample.

    `seconds` is wall-clock, `cpu_seconds` of the process and its children. `temperature` is "cold"
    for the first time its process does this, "warm" afterwards; the file cache is warm in both.
    `latencies` are the seconds of each where one sample did the operation many times in a row, and
    then `seconds` and `cpu_seconds` are means.
    """

    workload: str
    backend: str
    operation: str
    rows: int
    columns: int
    repeat: int
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    disk_bytes: int
    checksum: str
    temperature: str
    latencies: tuple[float, ...] = ()

    @classmethod
    def from_dict(cls, item: dict[str, Any]) -> Record:
        """Raises BadData unless `item` has exactly the fields of a record; latencies may be left out."""
        names = {field.name for field in fields(cls)}
        if not isinstance(item, dict) or set(item) | {"latencies"} != names:
            raise BadData(
                "A benchmark record has the wrong fields", f"It is {item!r}", f"Needed: {sorted(names)}"
            )
        return cls(**(item | {"latencies": tuple(item.get("latencies", ()))}))

    def to_dict(self) -> dict[str, Any]:
        """Latencies only where there are some."""
        return {name: value for name, value in asdict(self).items() if name != "latencies" or value}


def to_json(records: Iterable[Record]) -> str:
    return json.dumps([record.to_dict() for record in records], indent=1)


def from_json(text: str) -> list[Record]:
    items = json.loads(text)
    if not isinstance(items, list):
        raise BadData("Benchmark results must be one JSON array of records")
    return [Record.from_dict(item) for item in items]


def write_json(records: Iterable[Record], path: Path) -> None:
    write_text(path, to_json(records) + "\n")


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileProblem(
            path, "cannot be written", error.strerror or str(error), "Choose another place"
        ) from error


@dataclass(frozen=True)
class Summary:
    """Statistics over the samples of one point; `deviation` is of the population, as published."""

    samples: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.samples)

    @property
    def deviation(self) -> float:
        mean = self.mean
        return math.sqrt(fmean((sample - mean) ** 2 for sample in self.samples))

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def lowest(self) -> float:
        return min(self.samples)

    def percentile(self, percent: float) -> float:
        """Linear between the two nearest samples."""
        ordered = sorted(self.samples)
        place = (len(ordered) - 1) * percent / 100
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(summary: Summary, statistic: str) -> tuple[float, float]:
    """What an error bar spans: mean ± deviation, the middle half about a median, nothing about a lowest."""
    if statistic == "mean":
        return max(summary.lowest, summary.mean - summary.deviation), summary.mean + summary.deviation
    if statistic == "median":
        return summary.percentile(25), summary.percentile(75)
    return summary.lowest, summary.lowest


STATISTICS: dict[str, Callable[[Summary], float]] = {
    "median": lambda summary: summary.median,
    "mean": lambda summary: summary.mean,
    "lowest": lambda summary: summary.lowest,
}

Point = tuple[str, str, int]


def summaries(
    records: Iterable[Record], temperature: str | None = None, quantity: str = "seconds"
) -> dict[Point, Summary]:
    """By (operation, backend, rows); only of one temperature when it is given.

    `quantity` is a numeric field of Record; of seconds, every latency is a sample.
    """
    samples: dict[Point, list[float]] = {}
    for record in records:
        if temperature in (None, record.temperature):
            point = (record.operation, record.backend, record.rows)
            samples.setdefault(point, []).extend(_values(record, quantity))
    return {point: Summary(tuple(values)) for point, values in samples.items()}


def _values(record: Record, quantity: str) -> tuple[float, ...]:
    if quantity == "seconds" and record.latencies:
        return record.latencies
    return (float(getattr(record, quantity)),)
