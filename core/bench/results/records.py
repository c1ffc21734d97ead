"""Records of a benchmark: one per timed operation, all samples kept, and statistics over them.

A workload of questions has, of each repeat, one sample of the first call and one that holds the latencies of
those after it: two quantities, never one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from lamella.core.errors import BadData, FileProblem

COLD, WARM = "cold", "warm"


@dataclass(frozen=True)
class Record:
    """One sample.

    `seconds` is wall-clock, `cpu_seconds` of the process and its children. `temperature` is "cold"
    for the first time its process does this, and for the first call of a question since its database was
    opened; "warm" afterwards. The file cache is warm in both.
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
        if not isinstance(item, dict):
            raise BadData("A benchmark record must be a JSON object", f"It is {item!r}")
        if wrong := _wrong_fields(names, set(item) | {"latencies"}):
            raise BadData("A benchmark record has other fields than this version writes", wrong, _WRITE_AGAIN)
        return cls(**(item | {"latencies": tuple(item.get("latencies", ()))}))

    def to_dict(self) -> dict[str, Any]:
        """Latencies only where there are some."""
        return {name: value for name, value in asdict(self).items() if name != "latencies" or value}


_WRITE_AGAIN = "It may be of another version of the program: write it again with this one"


def _wrong_fields(needed: set[str], found: set[str]) -> str:
    told = {"it lacks": needed - found, "unknown are": found - needed}
    return "; ".join(f"{what} {', '.join(sorted(names))}" for what, names in told.items() if names)


def to_json(records: Iterable[Record]) -> str:
    return json.dumps([record.to_dict() for record in records], indent=1)


def from_json(text: str) -> list[Record]:
    """Raises BadData for what is not an array of records of this version."""
    try:
        items = json.loads(text)
    except ValueError as error:
        raise BadData("Benchmark results must be JSON", str(error)) from error
    if not isinstance(items, list):
        raise BadData("Benchmark results must be one JSON array of records")
    return [Record.from_dict(item) for item in items]


def read_json(path: Path) -> list[Record]:
    """Raises FileProblem, for a file of another version too."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(path, "cannot be read", str(error), "Choose another file") from error
    except BadData as error:
        raise FileProblem(path, "these are no results of a benchmark", str(error).rstrip(".")) from error


def write_json(records: Iterable[Record], path: Path) -> None:
    write_text(path, to_json(records) + "\n")


def need_folder(path: Path) -> None:
    """Raises FileProblem where a file could not be written for want of its folder."""
    if not path.absolute().parent.is_dir():
        raise FileProblem(path, "cannot be written", "There is no such folder", "Choose another place")


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

    @cached_property
    def mean(self) -> float:
        return fmean(self.samples)

    @cached_property
    def deviation(self) -> float:
        return math.sqrt(np.mean((self._ordered - self.mean) ** 2))

    @property
    def median(self) -> float:
        return self.percentile(50)

    @property
    def lowest(self) -> float:
        return float(self._ordered[0])

    def percentile(self, percent: float) -> float:
        """Linear between the two nearest samples."""
        ordered = self._ordered
        place = (len(ordered) - 1) * percent / 100
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))

    @cached_property
    def _ordered(self) -> npt.NDArray[np.float64]:
        return np.sort(np.array(self.samples))


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


FIRST, AGAIN = "first", "again"

Group = tuple[str, str]
"""An operation and which of its calls: "first", "again", or "" where they are not told apart."""


def by_call(records: Sequence[Record]) -> dict[Group, list[Record]]:
    """The records of one workload, told apart; in the order in which they came."""
    both = _repeated_operations(records)
    groups: dict[Group, list[Record]] = {}
    for record in records:
        groups.setdefault((record.operation, _call(record, both)), []).append(record)
    return groups


def by_workload(records: Iterable[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.workload, []).append(record)
    return groups


def _call(record: Record, both: set[str]) -> str:
    if record.operation not in both:
        return ""
    return AGAIN if record.latencies else FIRST


def _repeated_operations(records: Sequence[Record]) -> set[str]:
    many = {record.operation for record in records if record.latencies}
    once = {record.operation for record in records if not record.latencies}
    return many & once


_Key = tuple[Point, str, str | None]
"""A point, a numeric field of a record, and which samples."""

SAMPLES: dict[str | None, Callable[[Record], bool]] = {
    None: lambda record: True,
    COLD: lambda record: record.temperature == COLD,
    WARM: lambda record: record.temperature == WARM,
    FIRST: lambda record: not record.latencies,
    AGAIN: lambda record: bool(record.latencies),
}
"""All of them; the first of its kind in its process, or of a question since its database was opened, and the
later ones; of a question alone the first call, and the later calls: of what is done once, like filling it,
these are all of them."""


class Tally:
    """Holds the records of one workload. A redraw asks again and again, and most points stay as they were."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._of_points: dict[Point, list[Record]] = {}
        self._calls: dict[str, set[bool]] = {}
        self._known: dict[_Key, tuple[int, Summary | None]] = {}
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        self._of_points.setdefault((record.operation, record.backend, record.rows), []).append(record)
        self._calls.setdefault(record.operation, set()).add(bool(record.latencies))

    @property
    def rows(self) -> list[int]:
        """The sizes, ascending."""
        return sorted({rows for _, _, rows in self._of_points})

    @property
    def operations(self) -> set[str]:
        return {operation for operation, _, _ in self._of_points}

    def summaries(
        self, quantity: str = "seconds", samples: str | None = None, operation: str | None = None
    ) -> dict[Point, Summary]:
        """As `results.summaries`: of one operation when it is given, `samples` being a key of SAMPLES."""
        wanted = (point for point in self._of_points if operation in (None, point[0]))
        found = ((point, self.summary(point, quantity, samples)) for point in wanted)
        return {point: summary for point, summary in found if summary is not None}

    def summary(self, point: Point, quantity: str = "seconds", samples: str | None = None) -> Summary | None:
        """None where nothing of the kind was measured."""
        records = self._of_points.get(point, [])
        if samples in (FIRST, AGAIN) and not self._is_repeated(point[0]):
            samples = None
        asked = (point, quantity, samples)
        known = self._known.get(asked)
        if known is None or known[0] != len(records):
            chosen = [record for record in records if SAMPLES[samples](record)]
            known = self._known[asked] = (len(records), summaries(chosen, quantity=quantity).get(point))
        return known[1]

    def _is_repeated(self, operation: str) -> bool:
        """Whether its first call and the later ones are told apart."""
        return len(self._calls.get(operation, ())) > 1
