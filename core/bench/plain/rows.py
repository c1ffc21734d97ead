"""The rows of the workload, which the runner wrote as raw doubles, row after row."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Dict, List

Row = Dict[str, float]

DATA = "rows.f64"
"""The name of their file, in the folder of a `Spec`."""


def read_rows(path: Path, columns: List[str]) -> List[Row]:
    values = array("d")
    width = len(columns)
    with path.open("rb") as file:
        values.frombytes(file.read())
    flat = values.tolist()
    return [dict(zip(columns, flat[start : start + width])) for start in range(0, len(flat), width)]
