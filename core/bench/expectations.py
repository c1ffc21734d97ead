"""What the right answers to the operations of a workload are, where they are known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lamella.core.bench.families import family_of
from lamella.core.bench.protocol import Expected
from lamella.core.bench.workloads import Workload


def expectations(workload: Workload, operations: Sequence[str], rows: int) -> Iterator[Expected]:
    """Of tables, operations with the same answer are reckoned once."""
    expected, known = family_of(workload).expected, dict[Any, str]()
    if expected is None:
        return
    for name in operations:
        operation = workload.operation(name)
        same = operation.answer if workload.family == "table" else name
        if same not in known:
            known[same] = expected(workload, operation, rows)
        yield Expected(name, rows, known[same])
