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
    table_rows: int

    @property
    def seconds(self) -> float:
        """A rough estimate, for showing how much of a race is left."""
        steps = len(self.repeats) * len(self.steps)
        return START_SECONDS + steps * self.table_rows * STEP_SECONDS_PER_ROW


def plan(
    workload: Workload,
    rows: Sequence[int],
    names: Sequence[str],
    repeats: int,
    fresh: bool,
    seed: int | None = None,
) -> list[Trial]:
    """Small sizes first; at each size the systems in a shuffled order, so none is always first.

    With `fresh`, every step of every repeat has a process of its own, so that all reads are cold,
    and the systems take turns after each repeat.
    """
    shuffled = random.Random(seed)
    trials: list[Trial] = []
    for size in sorted(set(rows)):
        for turn in _turns(repeats, fresh):
            for name in shuffled.sample(list(names), len(names)):
                trials += _trials(workload, size, name, turn, fresh)
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


def _turns(repeats: int, fresh: bool) -> list[tuple[int, ...]]:
    return [(repeat,) for repeat in range(repeats)] if fresh else [tuple(range(repeats))]


def _trials(workload: Workload, rows: int, name: str, turn: tuple[int, ...], fresh: bool) -> list[Trial]:
    parts = [(step,) for step in workload.steps] if fresh else [workload.steps]
    return [Trial(name, rows, turn, steps, workload.size(rows)) for steps in parts]
