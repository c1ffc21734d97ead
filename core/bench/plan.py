"""Which child processes a race needs, in which order, and what they will cost."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from core.bench.workloads import Workload

START_SECONDS = 0.7
STEP_SECONDS_PER_ROW = 25e-6
"""One step, its data and its check included; measured with SQLite on two cores."""

BYTES_PER_ROW = 12_000
"""Of a child at its largest: 100 Python integers in a dict, and once more as an answer."""

BYTES_AT_REST = 200_000_000


@dataclass(frozen=True)
class Trial:
    """One child process."""

    backend: str
    rows: int
    repeats: tuple[int, ...]
    steps: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """A rough estimate, for showing how much of a race is left."""
        return START_SECONDS + len(self.repeats) * len(self.steps) * self.rows * STEP_SECONDS_PER_ROW


def plan(
    workload: Workload,
    rows: Sequence[int],
    names: Sequence[str],
    repeats: int,
    fresh: bool,
    seed: int | None = None,
) -> list[Trial]:
    """Small sizes first; at each size the systems in a shuffled order, so none is always first.

    With `fresh`, every step of every repeat has a process of its own, so that all reads are cold.
    """
    shuffled = random.Random(seed)
    trials: list[Trial] = []
    for size in sorted(set(rows)):
        for name in shuffled.sample(list(names), len(names)):
            trials += _trials(workload, size, name, repeats, fresh)
    return trials


def estimated_seconds(
    workload: Workload, rows: Sequence[int], systems: int, repeats: int, fresh: bool
) -> float:
    names = [str(number) for number in range(systems)]
    return sum(trial.seconds for trial in plan(workload, rows, names, repeats, fresh, seed=0))


def needed_bytes(rows: int) -> int:
    """Memory that a child needs for `rows` Python rows and one answer of the same size."""
    return BYTES_AT_REST + rows * BYTES_PER_ROW


def memory_problem(rows: int) -> str:
    """Why a size cannot be raced on this machine now; empty when it can."""
    free, needed = psutil.virtual_memory().available, needed_bytes(rows)
    if needed <= free:
        return ""
    return f"{rows:,} rows need about {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB is free"


def _trials(workload: Workload, rows: int, name: str, repeats: int, fresh: bool) -> list[Trial]:
    if not fresh:
        return [Trial(name, rows, tuple(range(repeats)), workload.steps)]
    return [Trial(name, rows, (repeat,), (step,)) for repeat in range(repeats) for step in workload.steps]
