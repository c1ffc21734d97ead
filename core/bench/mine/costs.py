"""What racing a table will take, guessed from a sample of its rows before anything has been measured."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.bench.mine import SYSTEMS

PYTHON_ROWS = ("sqlite", "sqlite-wal", "csv", "jsonl", "pickle")
"""They answer with values of Python's."""

PYTHON_VALUE_BYTES = 64
ARROW_SECONDS, PYTHON_SECONDS = 20e-9, 500e-9
"""Of one value in one step, its check included; rough."""

COPIES_IN_MEMORY = 3
"""The answer, what it was made from, and the table it is checked as."""


def costs_by_system(sample: pa.Table) -> dict[str, list[float]]:
    """Seconds of a step, bytes of memory and bytes on the disk, for one row. The copy that all load from
    counts."""
    rows, values = max(1, sample.num_rows), sample.num_columns
    held = sample.nbytes / rows
    columnar = [values * ARROW_SECONDS, COPIES_IN_MEMORY * held, 2 * held]
    python = [values * PYTHON_SECONDS, COPIES_IN_MEMORY * held + 2 * values * PYTHON_VALUE_BYTES, 3 * held]
    return {system: python if system in PYTHON_ROWS else columnar for system in SYSTEMS}
