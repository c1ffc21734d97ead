"""Tables that their user has as one NumPy array, a row of it for each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lamella.core.bench.backends.base import Rows
from lamella.core.bench.data import BLOCK_ROWS
from lamella.core.bench.workloads import Columns, Values, Workload

Table = npt.NDArray[Any]


def from_dicts(rows: Rows, workload: Workload) -> Table:
    return np.array([list(row.values()) for row in rows], dtype=workload.dtype)


def from_blocks(made: Iterable[Columns], workload: Workload) -> Iterator[Table]:
    for block in made:
        yield np.column_stack([values.astype(workload.dtype, copy=False) for values in block.values()])


def queried(table: Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (table[:, names.index("col1")] > 100) & (
        table[:, names.index("col97")] < 1000
    )
    return found


def places_of(keys: Values, wanted: Values) -> npt.NDArray[np.intp]:
    """Where each of `wanted` is among `keys`, which come in any order, each once."""
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys, wanted, sorter=order)]


def blocks(answer: Table, held: Sequence[str], names: Sequence[str]) -> Iterator[Sequence[Values]]:
    """`held` are the names of the answer's columns."""
    for start in range(0, len(answer), BLOCK_ROWS):
        part = answer[start : start + BLOCK_ROWS]
        yield [part[:, held.index(name)] for name in names]
