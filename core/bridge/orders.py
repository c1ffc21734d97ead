"""How the values of a column are ordered in SQLite, said of the values that Parquet holds.

Every order maps a comparison with a value of SQLite to ranges of *keys*: whole numbers, floats or bytes in
the same order as what SQLite sees of the column. Statistics and decoded values are compared with these.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import take, to_numpy
from lamella.core.bridge.decimals import doubles
from lamella.core.bridge.wanted import NOTHING, VALUES, Range, Wanted, any_of

BEYOND_INTEGERS = 1 << 64
FEW_RANGES = 4


class Order(ABC):
    """`op` is one of = <> < <= > >=. The value compared with lies between `low` and `high`: they differ where
    it is not known to the last digit."""

    @abstractmethod
    def compared(self, op: str, low: Any, high: Any) -> Wanted: ...

    @abstractmethod
    def mask(self, values: pa.ChunkedArray, wanted: Wanted) -> np.ndarray:
        """For each value whether it may be wanted; what it says of nulls is undefined."""


class Numbers(Order):
    """Orders whose keys are an array of numbers."""

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        return to_numpy(values)

    def mask(self, values: pa.ChunkedArray, wanted: Wanted) -> np.ndarray:
        return inside(self.keys(values), wanted)


class Integers(Numbers):
    """Whole numbers, which SQLite compares with its reals exactly."""

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        found = to_numpy(values)
        return found.view(np.uint8) if found.dtype == bool else found

    def compared(self, op: str, low: int | float, high: int | float) -> Wanted:
        first, last = _ceil(low), _floor(high)
        if op in ("<", "<="):
            return _whole_between(-math.inf, _ceil(high) - 1 if op == "<" else last)
        if op in (">", ">="):
            return _whole_between(_floor(low) + 1 if op == ">" else first, math.inf)
        if op == "=":
            return _whole_between(first, last)
        if low != high or first != last:
            return VALUES
        return any_of([_whole_between(-math.inf, first - 1), _whole_between(first + 1, math.inf)])


@dataclass(frozen=True)
class Floats(Numbers):
    """Numbers compared as doubles. `exact`: SQLite sees these very doubles; else what doubles hold nearly, in
    the same order."""

    exact: bool = True

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        if pa.types.is_decimal(values.type):
            return doubles(values)
        return to_numpy(values).astype(np.float64, copy=False)

    def compared(self, op: str, low: int | float, high: int | float) -> Wanted:
        first, last = float(low), float(high)
        strict = self.exact and first == low == high
        if op in ("<", "<="):
            return Wanted(((None, math.nextafter(last, -math.inf) if strict and op == "<" else last),))
        if op in (">", ">="):
            return Wanted(((math.nextafter(first, math.inf) if strict and op == ">" else first, None),))
        if op == "=":
            return _between(first, last)
        if not strict:
            return VALUES
        return Wanted(((None, math.nextafter(first, -math.inf)), (math.nextafter(first, math.inf), None)))


@dataclass(frozen=True)
class Bytes(Order):
    """Texts by their UTF-8 (`text`), and bytes: SQLite's collation BINARY."""

    text: bool = True

    def compared(self, op: str, low: Any, high: Any) -> Wanted:
        key = as_bytes(low)
        less: list[Range] = [(None, self._before(key))] if key else []
        more: list[Range] = [(key + b"\0", None)]
        ranges: dict[str, list[Range]] = {
            "=": [(key, key)],
            "<=": [(None, key)],
            ">=": [(key, None)],
            "<": less,
            ">": more,
            "<>": [*less, *more],
        }
        return Wanted(tuple(ranges[op]))

    def _before(self, key: bytes) -> bytes:
        """What no lesser text is behind; for bytes, which have no such end, the key itself."""
        if key[-1] == 0:
            return key[:-1]
        return key[:-1] + bytes([key[-1] - 1]) + b"\xff" if self.text else key

    def mask(self, values: pa.ChunkedArray, wanted: Wanted) -> np.ndarray:
        plain = values.cast(pa.large_binary())
        points = wanted.points
        if points is not None and len(points) > FEW_RANGES:
            return to_numpy(pc.is_in(plain, value_set=_byte_strings(points)))
        if len(wanted.ranges) == 1:
            return _between_bytes(plain, *wanted.ranges[0])
        return _in_some(plain, wanted) if wanted.ranges else np.zeros(len(plain), bool)


def _in_some(plain: pa.ChunkedArray, wanted: Wanted) -> np.ndarray:
    """From the first end to the last lies little where the ranges are the cases of one beginning."""
    lows, highs = zip(*wanted.ranges, strict=True)
    ends = (None if None in lows else min(lows), None if None in highs else max(highs))
    places = np.flatnonzero(_between_bytes(plain, *ends))
    candidates = take(plain, places)
    met = np.zeros(len(places), bool)
    for low, high in wanted.ranges:
        met |= _between_bytes(candidates, low, high)
    found = np.zeros(len(plain), bool)
    found[places[met]] = True
    return found


def _between_bytes(plain: pa.ChunkedArray, low: bytes | None, high: bytes | None) -> np.ndarray:
    if low is not None and low == high:
        return to_numpy(pc.equal(plain, _byte_strings([low])[0]))
    inside = np.ones(len(plain), bool)
    if low is not None:
        inside &= to_numpy(pc.greater_equal(plain, _byte_strings([low])[0]))
    if high is not None:
        inside &= to_numpy(pc.less_equal(plain, _byte_strings([high])[0]))
    return inside


def _byte_strings(keys: list[bytes]) -> pa.Array:
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(keys))]
    return pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)


def inside(keys: np.ndarray, wanted: Wanted) -> np.ndarray:
    """For each number whether it is in one of the ranges."""
    ranges: list[Range] = list(wanted.ranges)
    points = [low for low, high in ranges if low is not None and low == high]
    found = np.zeros(len(keys), bool)
    if len(points) > FEW_RANGES:
        ranges = [each for each in ranges if each[0] is None or each[0] != each[1]]
        found = np.isin(keys, np.array(points))
    for low, high in ranges:
        above = np.ones(len(keys), bool) if low is None else keys >= low
        found |= above if high is None else above & (keys <= high)
    return found


def as_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _between(low: Any, high: Any) -> Wanted:
    return Wanted(((low, high),)) if low <= high else NOTHING


def _whole_between(low: int | float, high: int | float) -> Wanted:
    """An infinite end is open at its own side and leaves nothing at the other."""
    if low == math.inf or high == -math.inf:
        return NOTHING
    return _open(None if low == -math.inf else low, None if high == math.inf else high)


def _open(low: Any, high: Any) -> Wanted:
    return Wanted(((low, high),)) if low is None or high is None or low <= high else NOTHING


def _floor(number: int | float) -> int | float:
    return math.floor(number) if abs(number) < BEYOND_INTEGERS else math.copysign(math.inf, number)


def _ceil(number: int | float) -> int | float:
    return math.ceil(number) if abs(number) < BEYOND_INTEGERS else math.copysign(math.inf, number)
