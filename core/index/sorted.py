"""The distinct values of a column in ascending order, and the rows that have each: of one data file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.index.ordering import as_bytes, as_numbers, differ, is_bytes, ranked_bytes
from lamella.core.stable_order import comparable, stable_order

Span = tuple[int, int]
"""Numbers of values, from a first one to before a stop."""

Value = int | float | bytes
Values: TypeAlias = np.ndarray | pa.Array
"""Several, each once: ascending numbers, or large binary in any order."""

MUCH_FEWER = 32
"""Of so many values one is searched for; of fewer, all are compared."""


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
        order = stable_order(comparable(numbers))
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

    def is_at(self, number: int, value: Value) -> bool:
        """Whether a value is the one of this number. NaN is itself here."""
        if number == self.num_values:
            return False
        if isinstance(value, bytes):
            return self._bytes[number] == value
        found, own = self._numbers[number], self._numbers.dtype.type(value)
        return bool(found == own or (found != found and own != own))

    def numbers_of(self, values: Values) -> np.ndarray:
        """The numbers of those that are there, ascending."""
        if not self.num_values or not len(values):
            return np.empty(0, np.int64)
        if isinstance(values, np.ndarray):
            own = values.astype(self._numbers.dtype)
            places = np.minimum(np.searchsorted(self._numbers, own), self.num_values - 1)
            there = self._numbers[places]
            found: np.ndarray = places[(there == own) | ((there != there) & (own != own))]
            return found
        if len(values) * MUCH_FEWER > self.num_values:
            return np.flatnonzero(to_numpy(pc.is_in(self.values, value_set=values)))
        places = self._places(values)
        equal = to_numpy(pc.equal(self.values.take(from_numpy(places)), values))
        return np.sort(places[equal])

    def count(self, spans: Sequence[Span]) -> int:
        """How many rows have one of the values first … stop-1 of a span; the number behind the last value is
        null's."""
        if len(spans) == 1:
            ((first, stop),) = spans
            return int(self.starts[stop]) - int(self.starts[first])
        firsts, stops = self._bounds(spans)
        return int((stops - firsts).sum())

    def having(self, spans: Sequence[Span]) -> np.ndarray:
        """The rows that do: ascending for one value."""
        if len(spans) == 1:
            ((first, stop),) = spans
            return np.asarray(self.rows[self.starts[first] : self.starts[stop]])
        firsts, stops = self._bounds(spans)
        counts = stops - firsts
        before = np.cumsum(counts) - counts
        places = np.repeat(firsts - before, counts) + np.arange(int(counts.sum()))
        return np.asarray(self.rows[places])

    def _bounds(self, spans: Sequence[Span]) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array(spans, np.int64).reshape(-1, 2)
        return self.starts[numbers[:, 0]].astype(np.int64), self.starts[numbers[:, 1]].astype(np.int64)

    def _places(self, values: pa.Array) -> np.ndarray:
        """For each of the values the number of the first that is not less, or of the last: halving for all of
        them together."""
        low, high = np.zeros(len(values), np.int64), np.full(len(values), self.num_values - 1)
        for _ in range(self.num_values.bit_length()):
            middle = (low + high) >> 1
            less = to_numpy(pc.less(self.values.take(from_numpy(middle)), values)) & (low < high)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low

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
