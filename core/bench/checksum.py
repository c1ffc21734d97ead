"""One number that two systems' answers share only when they hold the same rows.

Rows count in any order, since SQL promises none; the columns' places and every value count.

Integers are compared as int64. Floats are compared exactly, by the bits of a double: a text format has
to give back the very number (17 digits do, and Python's repr). Only -0.0 counts as 0.0, which SQLite makes
of it, and every NaN as the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from lamella.core.bench.workloads.model import Values

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def checksum(answer: Iterable[Sequence[Values]]) -> str:
    """Of blocks of rows, each given as its columns: "rows:digest"."""
    rows, total = 0, 0
    for columns in answer:
        rows += len(columns[0])
        total += int(_row_digests(columns).sum(dtype=np.uint64))
    return f"{rows}:{total % 2**64:016x}"


def _row_digests(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    digests = np.zeros(len(columns[0]), dtype=np.uint64)
    for number, values in enumerate(columns, start=1):
        with np.errstate(over="ignore"):
            place = np.uint64(number) * _STEP
            digests += _mixed(_bits(values) + place)
    return _mixed(digests)


def _bits(values: Values) -> npt.NDArray[np.uint64]:
    if values.dtype.kind != "f":
        return values.astype(np.int64, copy=False).view(np.uint64)
    floats = values.astype(np.float64, copy=False) + 0.0  # makes 0.0 of -0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014), wrapping at 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
