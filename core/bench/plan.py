"""Which child processes a race needs, and in which order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lamella.core.bench.workloads import Workload


@dataclass(frozen=True)
class Trial:
    """One child process."""

    workload: Workload
    backend: str
    rows: int
    repeats: tuple[int, ...]
    steps: tuple[str, ...]

    @property
    def table_rows(self) -> int:
        return self.workload.size(self.rows)


def plan(
    workload: Workload,
    rows: Sequence[int],
    names: Sequence[str],
    repeats: int,
    fresh: bool,
    seed: int | None = None,
    first_repeat: int = 0,
) -> list[Trial]:
    """Small sizes first; at each size the systems in a shuffled order, so none is always first.

    With `fresh`, every step of every repeat has a process of its own, so that all reads are cold,
    and the systems take turns after each repeat. The same seed gives the same order.
    """
    shuffled = random.Random(seed)
    numbers = range(first_repeat, first_repeat + repeats)
    turns = [(repeat,) for repeat in numbers] if fresh else [tuple(numbers)]
    trials: list[Trial] = []
    for size in sorted(set(rows)):
        for turn in turns:
            for name in shuffled.sample(list(names), len(names)):
                trials += _trials(workload, size, name, turn, fresh)
    return trials


def _trials(workload: Workload, rows: int, name: str, turn: tuple[int, ...], fresh: bool) -> list[Trial]:
    parts = [(step,) for step in workload.steps] if fresh else [workload.steps]
    return [Trial(workload, name, rows, turn, steps) for steps in parts]
