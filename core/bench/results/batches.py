"""Samples as columns: the samples of one point with equal texts form a batch, with an array for each number.

A run may have half a million samples. As batches they are read, summarised and written without an object for
each; `Records` creates the objects when they are first accessed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lamella.core.bench.results.records import LEAST_SECONDS, MOST_SECONDS, Figures, Record
from lamella.core.errors import BadData

INTEGER, FLOAT = np.dtype("<i8"), np.dtype("<f8")
COLUMNS = {
    "places": INTEGER,
    "repeats": INTEGER,
    "seconds": FLOAT,
    "cpu_seconds": FLOAT,
    "peak_rss_bytes": INTEGER,
    "disk_bytes": INTEGER,
    "calls": INTEGER,
    "latencies": FLOAT,
}
"""The arrays of a batch and their types, in the order of its fields, as they are saved."""

MOST_CALLS = 1 << 20
"""The maximum number of latencies in one batch, because they are one value in a file."""

Array = npt.NDArray[Any]
Row = tuple[Any, ...]
"""A sample on its way into a batch: the fields of `Batch` up to `figures`, its latencies, and its numbers."""


@dataclass(frozen=True, eq=False)
class Batch:
    """`places` are the positions of the samples in their run. If samples consist of many calls, `latencies`
    has those of all samples, one after the other, and `calls` the number of each; otherwise both are
    empty."""

    workload: str
    system: str
    operation: str
    rows: int
    columns: int
    checksum: str
    temperature: str
    figures: Figures | None
    places: Array
    repeats: Array
    seconds: Array
    cpu_seconds: Array
    peak_rss_bytes: Array
    disk_bytes: Array
    calls: Array
    latencies: Array

    def __len__(self) -> int:
        return len(self.places)

    @property
    def many_calls(self) -> bool:
        """As for a record."""
        return len(self.calls) > 0 or (self.figures is not None and self.figures.p95 is not None)

    @property
    def repeat_numbers(self) -> set[int]:
        return set(self.repeats.tolist())

    def values(self, quantity: str) -> list[float]:
        """As for a record, the values of all samples."""
        samples = self.latencies if quantity == "seconds" and len(self.calls) else getattr(self, quantity)
        values: list[float] = samples.astype(FLOAT).tolist()
        return values

    def records(self) -> Iterator[Record]:
        numbers = (self.repeats, self.seconds, self.cpu_seconds, self.peak_rss_bytes, self.disk_bytes)
        latencies = self._latencies() or [()] * len(self)
        for (repeat, seconds, cpu, peak, disk), calls in zip(
            zip(*(column.tolist() for column in numbers), strict=True), latencies, strict=True
        ):
            yield Record(
                self.workload, self.system, self.operation, self.rows, self.columns, repeat, seconds, cpu,
                peak, disk, self.checksum, self.temperature, calls, self.figures,
            )  # fmt: skip

    def _latencies(self) -> list[tuple[float, ...]]:
        stops = np.cumsum(self.calls)
        return [tuple(part.tolist()) for part in np.split(self.latencies, stops[:-1])] if len(stops) else []


class Records(Sequence[Record]):
    """The records of a run, created when the first of them is accessed."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self.batches = tuple(batches)

    def __len__(self) -> int:
        return sum(map(len, self.batches))

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...

    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        return self._records[place]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        """In the order in which they were measured."""
        if not self.batches:
            return ()
        records = [record for batch in self.batches for record in batch.records()]
        order = np.argsort(np.concatenate([batch.places for batch in self.batches]), kind="stable")
        return tuple(records[at] for at in order.tolist())


def batches_of(records: Sequence[Record]) -> tuple[Batch, ...]:
    return records.batches if isinstance(records, Records) else group_rows(map(_row, records))


def _row(record: Record) -> Row:
    return (
        record.workload, record.system, record.operation, record.rows, record.columns, record.checksum,
        record.temperature, record.figures, record.latencies, record.repeat, record.seconds,
        record.cpu_seconds, record.peak_rss_bytes, record.disk_bytes,
    )  # fmt: skip


@dataclass
class _Group:
    numbers: list[tuple[float, ...]] = field(default_factory=list)
    latencies: list[tuple[float, ...]] = field(default_factory=list)
    num_calls: int = 0


def group_rows(rows: Iterable[Row]) -> tuple[Batch, ...]:
    """Group rows into batches, in the order of their first samples."""
    groups: dict[Row, _Group] = {}
    result: list[tuple[Row, _Group]] = []
    for place, (*texts, latencies, repeat, seconds, cpu, peak, disk) in enumerate(rows):
        key = (*texts, not latencies)
        group = groups.get(key)
        if group is None or group.num_calls >= MOST_CALLS:
            group = groups[key] = _Group()
            result.append((key, group))
        group.numbers.append((place, repeat, seconds, cpu, peak, disk))
        if latencies:
            group.latencies.append(latencies)
            group.num_calls += len(latencies)
    return tuple(_batch(key[:-1], group) for key, group in result)


def _batch(texts: Row, group: _Group) -> Batch:
    places, repeats, seconds, cpu, peak, disk = zip(*group.numbers, strict=True)
    arrays: dict[str, Any] = {
        "places": places, "repeats": repeats, "seconds": seconds, "cpu_seconds": cpu, "peak_rss_bytes": peak,
        "disk_bytes": disk, "calls": [len(latency) for latency in group.latencies],
        "latencies": [seconds for latency in group.latencies for seconds in latency],
    }  # fmt: skip
    return Batch(*texts, *(np.array(arrays[name], kind) for name, kind in COLUMNS.items()))


def column_bytes(batch: Batch) -> dict[str, bytes]:
    """The arrays as they are saved: little-endian, 8 bytes per number."""
    return {name: getattr(batch, name).astype(kind).tobytes() for name, kind in COLUMNS.items()}


def columns_of(runs: Sequence[Sequence[bytes]]) -> Iterator[tuple[Array, ...]]:
    """The arrays of each batch, made from their bytes, in the order of COLUMNS. Raises BadData.

    The numbers of all batches are checked at once: that takes as long as one of thousands of small arrays.
    """
    if not runs:
        return
    whole = []
    for name, parts in zip(COLUMNS, zip(*runs, strict=True), strict=True):
        column = np.frombuffer(b"".join(parts), COLUMNS[name])
        _check(name, column)
        stops = np.cumsum([len(part) for part in parts]) // COLUMNS[name].itemsize
        whole.append(_split(column, stops.tolist()))
    for arrays in zip(*whole, strict=True):
        calls, latencies = arrays[-2:]
        if len(calls) and (calls.max() > len(latencies) or calls.sum() != len(latencies)):
            raise BadData("A batch of samples has another number of latencies than it says")
        yield arrays


def _split(column: Array, stops: Sequence[int]) -> list[Array]:
    return [column[start:end] for start, end in zip((0, *stops), stops, strict=False)]


def _check(name: str, column: Array) -> None:
    sound = _SOUND[COLUMNS[name]](column)
    if not sound.all():
        unit = " seconds" if COLUMNS[name] == FLOAT else ""
        raise BadData(f"A sample's {name} is {column[~sound][0].item()!r}{unit}, which is impossible")


_SOUND: dict[np.dtype[Any], Callable[[Array], Array]] = {
    INTEGER: lambda column: column >= 0,
    FLOAT: lambda column: (column == 0) | ((column >= LEAST_SECONDS) & (column <= MOST_SECONDS)),
}
