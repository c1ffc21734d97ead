"""The distinct values of a column in ascending order, and the rows that have each: of one data file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy, to_numpy
from core.index.ordering import as_bytes, as_numbers, differ, in_order, is_bytes, ranked_bytes

Value = int | float | bytes


@dataclass(frozen=True, eq=False)
class Sorted:
    """`values` are distinct and ascending, numbers with NaN last, or large binary; null is none of them.

    `rows` are row numbers of the file (uint32): those of the first value ascending, then those of the next,
    and those that are null at last. The rows of value number i begin at `starts[i]`, those of null at
    `starts[len(values)]`.
    """

    values: pa.Array
    starts: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, values: pa.Array) -> Sorted:
        """Of a column's values, in the order of rows."""
        nulls = np.flatnonzero(to_numpy(values.is_null())) if values.null_count else np.empty(0, np.int64)
        there = np.flatnonzero(to_numpy(values.is_valid())) if values.null_count else None
        if is_bytes(values.type):
            numbers, distinct = ranked_bytes(as_bytes(values))
        else:
            numbers, distinct = as_numbers(values), None
        numbers = numbers if there is None else numbers[there]
        order = in_order(numbers)
        ordered = numbers[order]
        firsts = np.flatnonzero(np.append(True, differ(ordered))) if len(ordered) else np.empty(0, np.int64)
        rows = order if there is None else there[order]
        return cls(
            from_numpy(ordered[firsts], pa.from_numpy_dtype(ordered.dtype)) if distinct is None else distinct,
            np.append(firsts, [len(ordered), len(values)]).astype(np.int32),
            np.concatenate([rows.astype(np.uint32), nulls.astype(np.uint32)]),
        )

    @classmethod
    def of_nulls(cls, rows: int, kind: pa.DataType) -> Sorted:
        """Of a column that has no value at all."""
        return cls(
            pa.nulls(0, pa.large_binary() if is_bytes(kind) else pa.int64()),
            np.array([0, rows], np.int32),
            np.arange(rows, dtype=np.uint32),
        )

    @property
    def num_values(self) -> int:
        return len(self.values)

    def first_not_below(self, value: Value) -> int:
        """The number of the first value that is not less than this one."""
        if isinstance(value, bytes):
            return bisect_left(self._bytes, value)
        return self._place(value, "left")

    def first_above(self, value: Value) -> int:
        if isinstance(value, bytes):
            return bisect_right(self._bytes, value)
        return self._place(value, "right")

    def count(self, first: int, stop: int) -> int:
        """How many rows have one of the values first … stop-1; the number behind the last value is null's."""
        return int(self.starts[stop]) - int(self.starts[first])

    def having(self, first: int, stop: int) -> np.ndarray:
        """The rows that do: ascending for one value."""
        found: np.ndarray = self.rows[self.starts[first] : self.starts[stop]]
        return found

    def _place(self, value: float, side: Literal["left", "right"]) -> int:
        """A value of another type than the index's own would have all of it converted."""
        if self.num_values == 0:
            return 0
        return int(self._numbers.searchsorted(self._numbers.dtype.type(value), side))

    @cached_property
    def _numbers(self) -> np.ndarray:
        return to_numpy(self.values)

    @cached_property
    def _bytes(self) -> _Bytes:
        return _Bytes(self.values)


class _Bytes(Sequence[bytes]):
    """Values of a large binary array as Python bytes, without a scalar for each that is looked at."""

    def __init__(self, values: pa.Array) -> None:
        _, offsets, data = values.buffers()
        self._offsets = memoryview(offsets or b"").cast("B").cast("q")[values.offset :]
        self._data = memoryview(data or b"").cast("B")
        self._count = len(values)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        return bytes(self._data[self._offsets[number] : self._offsets[number + 1]])
