"""The right answer to each operation on a table, from the data itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lamella.core.bench.checksum import checksum
from lamella.core.bench.data import BLOCK_ROWS, Numbers, block_at, picked
from lamella.core.bench.workloads import Answer, Changed, Columns, Operation, Values, Workload


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    """The checksum of what an operation ought to give."""
    answer = operation.answer
    names = answer.columns or workload.checked_columns
    return checksum(_checked(block, names) for block in _right(workload, answer, rows))


def _right(workload: Workload, answer: Answer, rows: int) -> Iterator[Columns]:
    size = workload.size(rows)
    changes = [(change, np.sort(picked(change.pick, workload, rows))) for change in answer.changed]
    gone = picked(answer.gone, workload, rows) if answer.gone else None
    only = picked(answer.only, workload, rows) if answer.only else None
    for start in range(0, size, BLOCK_ROWS):
        block = block_at(workload, start, size, answer.version)
        for change, numbers in changes:
            _apply(change, numbers, block, workload, start, size)
        yield _kept(block, start, gone, only, answer)


def _apply(
    change: Changed, numbers: Numbers, block: Columns, workload: Workload, start: int, size: int
) -> None:
    here = numbers[(numbers >= start) & (numbers < start + BLOCK_ROWS)] - start
    if len(here):
        other = block_at(workload, start, size, change.version)
        for name in change.columns or workload.data_columns:
            block[name][here] = other[name][here]


def _kept(block: Columns, start: int, gone: Numbers | None, only: Numbers | None, answer: Answer) -> Columns:
    count = len(next(iter(block.values())))
    numbers = np.arange(start, start + count)
    keep = np.ones(count, bool) if answer.where is None else answer.where(block)
    if gone is not None:
        keep &= ~np.isin(numbers, gone)
    if only is not None:
        keep &= np.isin(numbers, only)
    return {name: values[keep] for name, values in block.items()}


def _checked(block: Columns, names: tuple[str, ...]) -> list[Values]:
    return [block[name] for name in names]
