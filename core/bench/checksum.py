"""One number that two systems' answers share only when they hold the same rows.

Rows count in any order, since SQL promises none; the columns' places and every value count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def checksum(answer: Iterable[Sequence[Integers]]) -> str:
    """Of blocks of rows, each given as its columns: "rows:digest"."""
    rows, total = 0, 0
    for columns in answer:
        rows += len(columns[0])
        total += int(_row_digests(columns).sum(dtype=np.uint64))
    return f"{rows}:{total % 2**64:016x}"


def _row_digests(columns: Sequence[Integers]) -> npt.NDArray[np.uint64]:
    digests = np.zeros(len(columns[0]), dtype=np.uint64)
    for number, values in enumerate(columns, start=1):
        with np.errstate(over="ignore"):
            place = np.uint64(number) * _STEP
            digests += _mixed(values.astype(np.int64, copy=False).view(np.uint64) + place)
    return _mixed(digests)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014), wrapping at 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
