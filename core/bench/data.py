"""The rows of a benchmark: made from a seed, so that every system gets the same ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from core.bench.workloads import Workload

SEED = 97
LARGEST_VALUE = 1_000_000
BLOCK_ROWS = 10_000

Columns = dict[str, npt.NDArray[np.int64]]


def blocks(workload: Workload, rows: int, version: int = 0) -> Iterator[Columns]:
    """The data as columns, at most 10,000 rows at a time.

    A larger size begins with the rows of the smaller ones; another `version` has the same keys and
    other values.
    """
    for start in range(0, rows, BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows - start)
        values = _values(start // BLOCK_ROWS, version, len(workload.data_columns))[:count]
        keys = {workload.key: np.arange(start, start + count, dtype=np.int64)} if workload.key else {}
        yield keys | {name: values[:, number] for number, name in enumerate(workload.data_columns)}


def python_rows(workload: Workload, rows: int, version: int = 0) -> list[dict[str, int]]:
    """The data as dicts of Python integers: about 7 kB a row with 100 columns."""
    made: list[dict[str, int]] = []
    for block in blocks(workload, rows, version):
        names = list(block)
        table = np.column_stack(list(block.values())).tolist()
        made.extend(dict(zip(names, row, strict=True)) for row in table)
    return made


def _values(block: int, version: int, columns: int) -> npt.NDArray[np.int64]:
    generator = np.random.default_rng([SEED, version, block])
    return generator.integers(0, LARGEST_VALUE + 1, size=(BLOCK_ROWS, columns), dtype=np.int64)
