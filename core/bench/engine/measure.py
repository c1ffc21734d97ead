"""Measures the cost of operations, and runs one repeat of a workload on one database: its steps in order,
each timed and checked.

A step that changes data is checked by the next read: the workload's own if one follows, or an extra one that
is not timed.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import ClassVar, Generic, TypeVar

import psutil

from lamella.core.bench.systems.base import System
from lamella.core.bench.workloads.model import Workload

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """The cost of one operation. If it was done many times in a row, `latencies` has the seconds of each,
    and `seconds` and `cpu_seconds` are means."""

    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    latencies: tuple[float, ...] = ()

    def __add__(self, other: Cost) -> Cost:
        """The cost of two pieces of work done one after the other."""
        return Cost(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_rss_bytes, other.peak_rss_bytes),
        )


def measure(work: Callable[[], T]) -> tuple[T, Cost]:
    """Run `work` and return its answer and cost.

    The garbage collector stays on, as in any program, but starts clean and skips existing objects, so that no
    operation pays for the garbage or the input of another. Peak memory is that of this operation if the
    operating system can reset the peak (Linux), or of the process so far. A system's worker processes (those
    of `multiprocessing`) count: their peaks are added up. If the caller has frozen the collector's objects,
    they stay frozen.
    """
    frozen_before = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    _forget_peak()
    _of_workers(_forget_peak)
    cpu_before, before = _cpu_seconds(), time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - before
    cost = Cost(seconds, _cpu_seconds() - cpu_before, _peak_rss())
    if not frozen_before:
        gc.unfreeze()
    return answer, cost


def measure_each(
    works: Sequence[Callable[[], T]], enough_seconds: float, before_each: Callable[[], object] | None = None
) -> tuple[list[T], Cost]:
    """Run and time each of `works`; after `enough_seconds` the rest is left out.

    The time of `before_each` is not part of `seconds`, but of `cpu_seconds`.
    """
    latencies: list[float] = []

    def run_all() -> list[T]:
        answers: list[T] = []
        end = time.perf_counter() + enough_seconds
        for work in works:
            if time.perf_counter() > end and latencies:
                break
            if before_each is not None:
                before_each()
            before = time.perf_counter()
            answers.append(work())
            latencies.append(time.perf_counter() - before)
        return answers

    answers, whole = measure(run_all)
    cpu_seconds = whole.cpu_seconds / len(latencies)
    return answers, Cost(fmean(latencies), cpu_seconds, whole.peak_rss_bytes, tuple(latencies))


def _of_workers(figure: Callable[[int], float]) -> float:
    """The sum of a figure over the running processes that this one started by `multiprocessing`, which is not
    imported if no system uses it."""
    module, total = sys.modules.get("multiprocessing.process"), 0.0
    for child in module.active_children() if module else ():
        with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            total += figure(child.pid)
    return total


def _cpu_seconds() -> float:
    """The processor time of this process, of children that it has waited for, and of its workers."""
    times = psutil.Process().cpu_times()
    return time.process_time() + times.children_user + times.children_system + _of_workers(_cpu_of)


def _cpu_of(pid: int) -> float:
    return float(sum(psutil.Process(pid).cpu_times()[:4]))


def _forget_peak(process: int | str = "self") -> float:
    if sys.platform == "linux":
        Path(f"/proc/{process}/clear_refs").write_text("5")
    return 0.0


def _peak_rss() -> int:
    if sys.platform in ("linux", "win32"):
        return _peak_of(os.getpid()) + round(_of_workers(_peak_of))
    import resource

    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # bytes on macOS
    return peak + round(_of_workers(lambda pid: psutil.Process(pid).memory_info().rss))


def _peak_of(pid: int) -> int:
    if sys.platform == "win32":
        return int(psutil.Process(pid).memory_info().peak_wset)
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024


B = TypeVar("B", bound=System)

ENOUGH_SECONDS = 5.0
"""The time for changes one by one; a slow system does the rest at once, so that all end with the same
rows."""


@dataclass(frozen=True)
class Sample:
    """One measurement. `again` marks an operation that the open database has just done before, `first` the
    one before it, if both have the same name."""

    operation: str
    cost: Cost
    disk_bytes: int
    checksum: str
    again: bool = False
    first: bool = False


class Cycle(ABC, Generic[B]):
    """Runs steps on one system instance; each step opens the database and closes it."""

    steps: ClassVar[tuple[str, ...]]
    """The methods that are steps, named as in `Workload.steps`."""

    def __init__(self, system: B, workload: Workload, rows: int) -> None:
        self.system, self.workload, self.rows = system, workload, rows
        self._unchecked_samples: list[tuple[str, Cost, int]] = []

    def step(self, name: str) -> Iterator[Sample]:
        if name not in self.steps:
            raise KeyError(f"{type(self).__name__} has no step {name!r}")
        yield from getattr(self, name)()

    def settle(self) -> Iterator[Sample]:
        """Check the changes that no timed read has checked yet."""
        if self._unchecked_samples:
            self.system.open(writing=False)
            digest = self._database_digest()
            self.system.close()
            yield from self._checked_samples(digest)

    @abstractmethod
    def _database_digest(self) -> str:
        """The checksum of everything in the open database."""

    def _changing(self, work: Callable[[], None]) -> Cost:
        """Measure a change, including closing the database: work that a system defers until then counts."""
        _, cost = self._measure_opening(work, writing=True)
        _, closing = measure(self.system.close)
        return cost + closing

    def _measure_opening(self, work: Callable[[], T], writing: bool) -> tuple[T, Cost]:
        """Time `work`, and opening the database before it if the workload counts that. It stays open."""
        if not self.workload.opens_inside:
            self.system.open(writing)
            return measure(work)
        _, opening = measure(lambda: self.system.open(writing))
        answer, cost = measure(work)
        return answer, opening + cost

    def _owe(self, *operations: tuple[str, Cost]) -> None:
        size = self.system.disk_bytes()
        pairs = (operation for operation in operations if self.workload.has(operation[0]))
        self._unchecked_samples.extend((operation, cost, size) for operation, cost in pairs)

    def _checked_samples(self, digest: str) -> Iterator[Sample]:
        for operation, cost, size in self._unchecked_samples:
            yield Sample(operation, cost, size, digest)
        self._unchecked_samples.clear()
