"""Records of a benchmark, one per timed operation, with all samples, and statistics over them.

A workload of questions has two samples for each repeat: one of the first call, and one with the latencies of
the later calls. They are different quantities and are never mixed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lamella.core.bench.registry import accepted_name
from lamella.core.errors import BadData, FileProblem, short_text, visible

COLD, WARM = "cold", "warm"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Figures:
    """What is known about a point whose samples were not saved; times are in seconds.

    `samples` and `repeats` are counts. Percentiles are known only if the calls were timed one by one.
    """

    samples: int
    repeats: int
    median: float
    deviation: float = 0.0
    mean: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True)
class Record:
    """One sample.

    `seconds` is wall-clock time, `cpu_seconds` that of the process and its children. `temperature` is "cold"
    for the first time that the process does this, and for the first call of a question after its database was
    opened; "warm" afterwards. The file cache is warm in both cases. If one sample did the operation many
    times in a row, `latencies` are the seconds of each, and `seconds` and `cpu_seconds` are means. `figures`
    replace all samples of a point if no more was saved: `seconds` is then their median.
    """

    workload: str
    system: str
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
    figures: Figures | None = None

    @property
    def many_calls(self) -> bool:
        """Whether each of many calls in a row was timed."""
        return bool(self.latencies) or (self.figures is not None and self.figures.p95 is not None)

    @property
    def repeat_numbers(self) -> Collection[int]:
        """The numbers of the repeats: of a batch, those of all its samples."""
        return (self.repeat,)

    def values(self, quantity: str) -> Sequence[float]:
        """The values of a numeric field; for seconds, all latencies."""
        if quantity == "seconds" and self.latencies:
            return self.latencies
        return (float(getattr(self, quantity)),)

    @classmethod
    def from_dict(cls, item: dict[str, Any]) -> Record:
        """The record in a dict. Raises BadData unless it has exactly the fields of a record; latencies and
        figures are optional."""
        names = {each.name for each in fields(cls)}
        if wrong := _wrong_fields(names, set(item) | {"latencies", "figures"}):
            raise BadData("A benchmark record has different fields in this version", wrong, _WRITE_AGAIN)
        figures = item.get("figures")
        return parse_row(cls, item | {
            "latencies": seconds_of(item.get("latencies", [])),
            "figures": None if figures is None else parse_row(Figures, object_of(figures)),
        })  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The record as a dict, without empty latencies and figures."""
        item = dict(vars(self))
        for name in ("latencies", "figures"):
            if not item[name]:
                del item[name]
        if self.figures is not None:
            item["figures"] = asdict(self.figures)
        return item


class Sample(Protocol):
    """What can be summarised: a record, or a batch of them."""

    @property
    def workload(self) -> str: ...
    @property
    def system(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def temperature(self) -> str: ...
    @property
    def figures(self) -> Figures | None: ...
    @property
    def many_calls(self) -> bool: ...
    @property
    def repeat_numbers(self) -> Collection[int]: ...

    def values(self, quantity: str) -> Sequence[float]: ...


_S = TypeVar("_S", bound=Sample)
_WRITE_AGAIN = "Another version of the program may have written it: write it again with this one"


_SAVED_NAMES = {"system": "backend"}
"""Fields that have another name in saved runs and results files, which earlier versions also wrote."""


def to_saved_names(item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with their names in saved runs and results files."""
    return {_SAVED_NAMES.get(name, name): value for name, value in item.items()}


def from_saved_names(item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with their names in the program."""
    renamed = {old: name for name, old in _SAVED_NAMES.items() if name not in item}
    return {renamed.get(name, name): value for name, value in item.items()}


def _wrong_fields(field_names: set[str], fields: set[str]) -> str:
    sides = {"it lacks": field_names - fields, "it has the unknown": fields - field_names}
    return "; ".join(
        f"{what} {', '.join(sorted(to_saved_names(dict.fromkeys(names))))}"
        for what, names in sides.items()
        if names
    )


_TYPES: dict[Any, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "str": str,
}
LEAST_SECONDS, MOST_SECONDS = 1e-12, 1e9
_MOST_COUNT = 1 << 63
MOST_BYTES = 1 << 29
"""The maximum size of an uncompressed results file: a hundred times that of all workloads together."""

MOST_TEXT = 1 << 20
"""The maximum number of characters of one text in a file; the longest ones are error outputs of processes."""


@cache
def _fields(kind: type) -> tuple[tuple[str, type | tuple[type, ...], str], ...]:
    """The fields whose types can be checked."""
    return tuple(
        (column.name, _TYPES[column.type], str(column.type))
        for column in fields(kind)
        if column.type in _TYPES
    )


def parse_row(kind: type[_T], row: Mapping[str, Any]) -> _T:
    """An object from a row of a file, whose values may have any type, whatever its columns say.

    Control characters in text are made visible, and unknown systems keep their names. Raises BadData for
    values that a field cannot have.
    """
    row = from_saved_names(row)
    for name, types, type_name in _fields(kind):  # type: ignore[arg-type]
        value: Any = row.get(name)
        if not isinstance(value, types):
            raise BadData(f"{kind.__name__}.{name} is {short_text(value)}, but should be {type_name}")
        if isinstance(value, str):
            row[name] = _text(kind, name, value)
        elif isinstance(value, int | float):
            _check_number(kind, name, value, seconds="float" in type_name)
    try:
        return kind(**row)
    except TypeError as error:
        raise BadData(f"{kind.__name__} has different columns in this version", str(error)) from error


def _check_number(kind: type, name: str, value: float, seconds: bool) -> None:
    """Check a number. All floats of a run are seconds, all integers are counts, and sizes are at least 1."""
    least = 1 if name == "rows" else 0
    if not (is_time(value) if seconds else least <= value < _MOST_COUNT):
        unit = " seconds" if seconds else ""
        raise BadData(f"{kind.__name__}.{name} is {short_text(value)}{unit}, which is impossible")


def _text(kind: type, name: str, value: str) -> str:
    if len(value) > MOST_TEXT:
        raise BadData(f"{kind.__name__}.{name} has {len(value):,} characters; the maximum is {MOST_TEXT:,}")
    text = value if value.isprintable() else visible(value)
    return accepted_name(text) if name == "system" else text


def seconds_of(value: Any) -> tuple[float, ...]:
    """The latencies of a sample. Raises BadData."""
    if not isinstance(value, list) or not all(
        isinstance(item, int | float) and is_time(item) for item in value
    ):
        raise BadData(f"The latencies of a sample are {short_text(value)}, but should be seconds")
    return tuple(value)


def object_of(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object. Raises BadData."""
    if not isinstance(value, dict):
        raise BadData("A benchmark record must be a JSON object", f"It is {short_text(value)}")
    return value


def is_time(seconds: float) -> bool:
    return seconds == 0 or LEAST_SECONDS <= seconds <= MOST_SECONDS


def to_json(records: Iterable[Record]) -> str:
    return json.dumps([to_saved_names(record.to_dict()) for record in records], indent=1)


def from_json(text: str) -> list[Record]:
    """The records in a JSON text. Raises BadData unless it is an array of records of this version."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadData("Benchmark results must be JSON", str(error)) from error
    if not isinstance(items, list):
        raise BadData("Benchmark results must be one JSON array of records")
    return [_from_item(item) for item in items]


def _from_item(item: Any) -> Record:
    return Record.from_dict(from_saved_names(object_of(item)))


def read_json(path: Path) -> list[Record]:
    """The records in a file. Raises FileProblem, also for a file of another version."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadData(f"The file is larger than {MOST_BYTES:,} bytes")
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(path, "cannot be read", str(error), "Choose another file") from error
    except BadData as error:
        raise FileProblem(path, "this is not a file of benchmark results", str(error).rstrip(".")) from error


def write_json(records: Iterable[Record], path: Path) -> None:
    write_text(path, to_json(records) + "\n")


def need_folder(path: Path) -> None:
    """Raise FileProblem if a file cannot be written because its folder does not exist."""
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

    @property
    def count(self) -> int:
        return len(self.samples)

    @cached_property
    def mean(self) -> float:
        return fmean(self.samples)

    @cached_property
    def deviation(self) -> float:
        return math.sqrt(np.mean((self._sorted_samples - self.mean) ** 2))

    @property
    def median(self) -> float:
        return self.percentile(50)

    @property
    def lowest(self) -> float:
        return float(self._sorted_samples[0])

    def percentile(self, percent: float) -> float:
        """A percentile, interpolated linearly between the two nearest samples."""
        ordered = self._sorted_samples
        place = (len(ordered) - 1) * percent / 100
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))

    @property
    def middle_half(self) -> tuple[float, float]:
        return self.percentile(25), self.percentile(75)

    @cached_property
    def _sorted_samples(self) -> npt.NDArray[np.float64]:
        return np.sort(np.array(self.samples))


class SavedSummary(Summary):
    """A summary made from `Figures`; values that they lack are replaced by the median."""

    _figures: Figures

    def __init__(self, figures: Figures) -> None:
        super().__init__((figures.median,))
        object.__setattr__(self, "_figures", figures)  # the dataclass is frozen

    @property
    def count(self) -> int:
        return self._figures.samples

    @cached_property
    def mean(self) -> float:
        return self._figures.median if self._figures.mean is None else self._figures.mean

    @cached_property
    def deviation(self) -> float:
        return self._figures.deviation

    def percentile(self, percent: float) -> float:
        percentile = {95: self._figures.p95, 99: self._figures.p99}.get(int(percent))
        return self._figures.median if percentile is None else percentile

    @property
    def middle_half(self) -> tuple[float, float]:
        """The median ± the deviation, since there are no samples."""
        return max(0.0, self.median - self.deviation), self.median + self.deviation


def spread(summary: Summary, statistic: str) -> tuple[float, float]:
    """The range of an error bar: mean ± deviation, the middle half around a median, nothing for the
    lowest."""
    if statistic == "mean":
        return max(summary.lowest, summary.mean - summary.deviation), summary.mean + summary.deviation
    if statistic == "median":
        return summary.middle_half
    return summary.lowest, summary.lowest


STATISTICS: dict[str, Callable[[Summary], float]] = {
    "median": lambda summary: summary.median,
    "mean": lambda summary: summary.mean,
    "lowest": lambda summary: summary.lowest,
}

Point = tuple[str, str, int]


def summaries(
    records: Iterable[Sample], temperature: str | None = None, quantity: str = "seconds"
) -> dict[Point, Summary]:
    """The summaries by (operation, system, rows), of one temperature if it is given.

    `quantity` is a numeric field of Record; for seconds, every latency is a sample.
    """
    samples: dict[Point, list[float]] = {}
    of_figures: dict[Point, Summary] = {}
    for record in records:
        if temperature in (None, record.temperature):
            point = (record.operation, record.system, record.rows)
            samples.setdefault(point, []).extend(record.values(quantity))
            if record.figures is not None and quantity == "seconds":
                of_figures[point] = SavedSummary(record.figures)
    return {point: of_figures.get(point) or Summary(tuple(values)) for point, values in samples.items()}


FIRST, AGAIN = "first", "again"

Group = tuple[str, str]
"""An operation and which of its calls: "first", "again", or "" if they are not distinguished."""


def by_call(records: Sequence[_S]) -> dict[Group, list[_S]]:
    """The records of one workload by operation and call, in their original order."""
    both = _repeated_operations(records)
    groups: dict[Group, list[_S]] = {}
    for record in records:
        groups.setdefault((record.operation, _call(record, both)), []).append(record)
    return groups


def by_workload(records: Iterable[_S]) -> dict[str, list[_S]]:
    groups: dict[str, list[_S]] = {}
    for record in records:
        groups.setdefault(record.workload, []).append(record)
    return groups


def repeats_of(records: Iterable[Sample]) -> int:
    """How many repeats the records have."""
    all_records = list(records)
    repeats = [record.figures.repeats for record in all_records if record.figures is not None]
    return max([len({repeat for record in all_records for repeat in record.repeat_numbers}), *repeats])


def _call(record: Sample, both: set[str]) -> str:
    if record.operation not in both:
        return ""
    return AGAIN if record.many_calls else FIRST


def _repeated_operations(records: Sequence[Sample]) -> set[str]:
    many = {record.operation for record in records if record.many_calls}
    single_calls = {record.operation for record in records if not record.many_calls}
    return many & single_calls


_Key = tuple[Point, str, str | None]
"""A point, a numeric field of a record, and a key of SAMPLES."""

SAMPLES: dict[str | None, Callable[[Sample], bool]] = {
    None: lambda record: True,
    COLD: lambda record: record.temperature == COLD,
    WARM: lambda record: record.temperature == WARM,
    FIRST: lambda record: not record.many_calls,
    AGAIN: lambda record: record.many_calls,
}
"""Which samples to take: all; COLD and WARM, by their temperature; or FIRST and AGAIN, the first and the
later calls of a question. An operation without repeated calls, such as filling the database, has all its
samples in FIRST and AGAIN."""


class Tally:
    """The samples of one workload. Summaries are cached until a point gets new samples, because redraws ask
    for them again and again while most points do not change."""

    def __init__(self, records: Iterable[Sample] = ()) -> None:
        self._of_points: dict[Point, list[Sample]] = {}
        self._of_operations: dict[str, list[Point]] = {}
        self._lines: dict[tuple[str, str], _Line] = {}
        self._doers: dict[str, dict[str, None]] = {}
        self._systems: dict[int, dict[str, None]] = {}
        self._calls: dict[str, set[bool]] = {}
        self._summaries: dict[_Key, tuple[int, Summary | None]] = {}
        for record in records:
            self.take(record)

    def take(self, record: Sample) -> None:
        operation, system, rows = point = (record.operation, record.system, record.rows)
        if point not in self._of_points:
            self._of_points[point] = []
            self._of_operations.setdefault(operation, []).append(point)
            self._doers.setdefault(operation, {})[system] = None
            self._systems.setdefault(rows, {})[system] = None
            self._lines.setdefault((operation, system), _Line()).points.append(point)
        self._of_points[point].append(record)
        self._lines[operation, system].revision += 1
        self._calls.setdefault(operation, set()).add(record.many_calls)

    def withdraw(self, point: Point) -> None:
        """Remove the samples of a point."""
        if point in self._of_points:
            del self._of_points[point]
            operation, system, _ = point
            self._of_operations[operation].remove(point)
            line = self._lines[operation, system]
            line.points.remove(point)
            line.revision += 1

    @property
    def points(self) -> Iterable[Point]:
        """The points that have samples."""
        return self._of_points

    @property
    def rows(self) -> list[int]:
        """The sizes, ascending."""
        return sorted(self._systems)

    @property
    def operations(self) -> Set[str]:
        return self._of_operations.keys()

    def systems(self, operation: str) -> list[str]:
        """The systems that did an operation at any size."""
        return list(self._doers.get(operation, ()))

    def systems_at(self, rows: int) -> list[str]:
        """The systems that did anything at this size."""
        return list(self._systems.get(rows, ()))

    def revision(self, operation: str, system: str) -> tuple[int, bool]:
        """A value that changes whenever a summary of this operation and system may have changed."""
        line = self._lines.get((operation, system))
        return line.revision if line else 0, self._is_repeated(operation)

    def line(
        self, operation: str, system: str, quantity: str = "seconds", samples: str | None = None
    ) -> dict[int, Summary]:
        """The summaries of one operation and system, by the number of rows."""
        line = self._lines.get((operation, system), _Line())
        pairs = ((point[2], self.summary(point, quantity, samples)) for point in line.points)
        return {rows: summary for rows, summary in pairs if summary is not None}

    def summaries(
        self, quantity: str = "seconds", samples: str | None = None, operation: str | None = None
    ) -> dict[Point, Summary]:
        """Like the function `summaries`, of one operation if it is given; `samples` is a key of SAMPLES."""
        points = self._of_points if operation is None else self._of_operations.get(operation, ())
        pairs = ((point, self.summary(point, quantity, samples)) for point in points)
        return {point: summary for point, summary in pairs if summary is not None}

    def summary(self, point: Point, quantity: str = "seconds", samples: str | None = None) -> Summary | None:
        """The summary of a point, or None if there are no such samples. It stays the same object until there
        are more."""
        records = self._of_points.get(point)
        if records is None:
            return None
        if samples in (FIRST, AGAIN) and not self._is_repeated(point[0]):
            samples = None
        key = (point, quantity, samples)
        summary = self._summaries.get(key)
        if summary is None or summary[0] != len(records):
            selection = [record for record in records if SAMPLES[samples](record)]
            summary = self._summaries[key] = (
                len(records),
                summaries(selection, quantity=quantity).get(point),
            )
        return summary[1]

    def _is_repeated(self, operation: str) -> bool:
        """Whether an operation's first call and the later ones are distinguished."""
        return len(self._calls.get(operation, ())) > 1


@dataclass
class _Line:
    """The points of one system and operation."""

    points: list[Point] = field(default_factory=list)
    revision: int = 0
