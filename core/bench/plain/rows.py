"""The rows of the workload, which the runner wrote as raw doubles, row after row, and their checksum: in
plain Python, the same as `core.bench.workloads.table_rows.checksum`."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Dict, Iterable, List, Sequence

Row = Dict[str, float]

DATA = "rows.f64"
"""The file of the rows, in the folder of a `Spec`."""


def read_rows(path: Path, columns: List[str]) -> List[Row]:
    values = array("d")
    width = len(columns)
    with path.open("rb") as file:
        values.frombytes(file.read())
    flat = values.tolist()
    return [dict(zip(columns, flat[start : start + width])) for start in range(0, len(flat), width)]


STEP = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
WORD = 2**64 - 1


def checksum(rows: Iterable[Sequence[float]]) -> str:
    """The checksum of rows. The order of rows does not matter; that of columns and all values do."""
    count, total = 0, 0
    for row in rows:
        count += 1
        total += _mix(_sum_of_row(row))
    return "%d:%016x" % (count, total & WORD)


def _sum_of_row(row: Sequence[float]) -> int:
    total = 0
    for place, bits in enumerate(_bits(row), start=1):
        total += _mix((bits + place * STEP) & WORD)
    return total & WORD


def _bits(row: Sequence[float]) -> array[int]:
    """The bits of the values. -0.0 counts as 0.0, and all NaNs are the same."""
    floats = array("d", [value + 0.0 if value == value else float("nan") for value in row])
    return array("Q", floats.tobytes())


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * FIRST) & WORD
    value = ((value ^ (value >> 27)) * SECOND) & WORD
    return value ^ (value >> 31)
