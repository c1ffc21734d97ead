"""The one table of types: what SQLite sees of a column, and how it orders the column's values."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.documents import whole
from lamella.core.arrow.nested_values import json_text, python_values

EXACT_DIGITS = 15
"""A double holds this many digits exactly, so a single division rounds only once."""


def doubles(decimals: pa.ChunkedArray) -> np.ndarray:
    """Return decimals as doubles; the value for a null is undefined."""
    kind = decimals.type
    if kind.precision > EXACT_DIGITS or not 0 <= kind.scale <= EXACT_DIGITS:
        return np.array([float(v) if v is not None else 0.0 for v in decimals.to_pylist()], np.float64)
    parts = [_whole_numbers(chunk) / 10.0**kind.scale for chunk in decimals.chunks]
    return np.concatenate([np.empty(0), *parts])


def _whole_numbers(decimals: pa.Array) -> np.ndarray:
    """Return the digits as whole numbers: at most `EXACT_DIGITS` digits fit in the lowest bytes of a
    value."""
    width = min(8, decimals.type.byte_width)
    values = np.frombuffer(decimals.buffers()[1], f"V{decimals.type.byte_width}")[decimals.offset :]
    lowest = values[: len(decimals)].view(np.uint8).reshape(len(decimals), -1)[:, :width]
    return np.ascontiguousarray(lowest).view(f"<i{width}").reshape(-1)


Range = tuple[Any, Any]
"""A range that includes both ends; None is an open end."""


@dataclass(frozen=True)
class MatchingValues:
    """The values inside any of `ranges`, and null if `nulls` is set: at least all that meet the constraint,
    possibly more, because SQLite checks every row it is given again."""

    ranges: tuple[Range, ...]
    nulls: bool = False

    def meets(self, low: Any, high: Any) -> bool:
        """Return whether some value from `low` to `high` may match."""
        return any(
            (first is None or first <= high) and (last is None or low <= last) for first, last in self.ranges
        )

    @property
    def all_values(self) -> bool:
        return (None, None) in self.ranges

    @property
    def points(self) -> list[Any] | None:
        """The values, if each range is a single value."""
        if all(first is not None and first == last for first, last in self.ranges):
            return [first for first, _ in self.ranges]
        return None


NOTHING = MatchingValues(())
NULLS = MatchingValues((), nulls=True)
VALUES = MatchingValues(((None, None),))
EVERYTHING = MatchingValues(((None, None),), nulls=True)


def any_of(parts: Iterable[MatchingValues]) -> MatchingValues:
    parts = list(parts)
    ranges = tuple(dict.fromkeys(each for part in parts for each in part.ranges))
    return MatchingValues(ranges, any(part.nulls for part in parts))


BEYOND_INTEGERS = 1 << 64
FEW_RANGES = 4


class Order(ABC):
    """How SQLite orders the values of a type.

    In `compare`, `op` is one of = <> < <= > >=, and the operand lies between `low` and `high`, which differ
    if it is not known to the last digit.
    """

    @abstractmethod
    def compare(self, op: str, low: Any, high: Any) -> MatchingValues: ...

    @abstractmethod
    def mask(self, values: pa.ChunkedArray, values_to_match: MatchingValues) -> np.ndarray:
        """Return for each value whether it may match; for nulls the result is undefined."""


class Numbers(Order):
    """Orders whose keys are an array of numbers."""

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        return to_numpy(values)

    def mask(self, values: pa.ChunkedArray, values_to_match: MatchingValues) -> np.ndarray:
        return inside(self.keys(values), values_to_match)


class Integers(Numbers):
    """Whole numbers, which SQLite compares exactly with reals."""

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        keys = to_numpy(values)
        return keys.view(np.uint8) if keys.dtype == bool else keys

    def compare(self, op: str, low: int | float, high: int | float) -> MatchingValues:
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
    """Numbers compared as doubles. `exact`: SQLite sees the same doubles; otherwise the doubles approximate
    them, in the same order."""

    exact: bool = True

    def keys(self, values: pa.ChunkedArray) -> np.ndarray:
        if pa.types.is_decimal(values.type):
            return doubles(values)
        return to_numpy(values).astype(np.float64, copy=False)

    def compare(self, op: str, low: int | float, high: int | float) -> MatchingValues:
        first, last = float(low), float(high)
        strict = self.exact and first == low == high
        if op in ("<", "<="):
            return MatchingValues(
                ((None, math.nextafter(last, -math.inf) if strict and op == "<" else last),)
            )
        if op in (">", ">="):
            return MatchingValues(
                ((math.nextafter(first, math.inf) if strict and op == ">" else first, None),)
            )
        if op == "=":
            return _between(first, last)
        if not strict:
            return VALUES
        return MatchingValues(
            ((None, math.nextafter(first, -math.inf)), (math.nextafter(first, math.inf), None))
        )


@dataclass(frozen=True)
class Bytes(Order):
    """Texts by their UTF-8 bytes (`text`), or bytes, in SQLite's collation BINARY."""

    text: bool = True

    def compare(self, op: str, low: Any, high: Any) -> MatchingValues:
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
        return MatchingValues(tuple(ranges[op]))

    def _before(self, key: bytes) -> bytes:
        """Return an upper bound of all texts less than `key`; for bytes, which have none, the key itself."""
        if key[-1] == 0:
            return key[:-1]
        return key[:-1] + bytes([key[-1] - 1]) + b"\xff" if self.text else key

    def mask(self, values: pa.ChunkedArray, values_to_match: MatchingValues) -> np.ndarray:
        plain = values.cast(pa.large_binary())
        points = values_to_match.points
        if points is not None and len(points) > FEW_RANGES:
            return to_numpy(pc.is_in(plain, value_set=_byte_strings(points)))
        if len(values_to_match.ranges) == 1:
            return _between_bytes(plain, *values_to_match.ranges[0])
        return (
            _lie_in_ranges(plain, values_to_match) if values_to_match.ranges else np.zeros(len(plain), bool)
        )


def _lie_in_ranges(plain: pa.ChunkedArray, values_to_match: MatchingValues) -> np.ndarray:
    """Return which values lie in any of the ranges, checking first the span of all ranges: few values lie in
    it if the ranges are one prefix in different cases."""
    lows, highs = zip(*values_to_match.ranges, strict=True)
    bounds = (None if None in lows else min(lows), None if None in highs else max(highs))
    places = np.flatnonzero(_between_bytes(plain, *bounds))
    candidates = take(plain, places)
    hits = np.zeros(len(places), bool)
    for low, high in values_to_match.ranges:
        hits |= _between_bytes(candidates, low, high)
    matching = np.zeros(len(plain), bool)
    matching[places[hits]] = True
    return matching


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
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(keys))]
    return pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)


def inside(keys: np.ndarray, values_to_match: MatchingValues) -> np.ndarray:
    """Return for each number whether it is in one of the ranges."""
    ranges: list[Range] = list(values_to_match.ranges)
    points = [low for low, high in ranges if low is not None and low == high]
    matching = np.zeros(len(keys), bool)
    if len(points) > FEW_RANGES:
        ranges = [each for each in ranges if each[0] is None or each[0] != each[1]]
        matching = np.isin(keys, np.array(points))
    for low, high in ranges:
        above = np.ones(len(keys), bool) if low is None else keys >= low
        matching |= above if high is None else above & (keys <= high)
    return matching


def as_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _between(low: Any, high: Any) -> MatchingValues:
    return MatchingValues(((low, high),)) if low <= high else NOTHING


def _whole_between(low: int | float, high: int | float) -> MatchingValues:
    """Return the whole numbers between two ends. An infinite end is open on its own side; on the other side
    it leaves nothing."""
    if low == math.inf or high == -math.inf:
        return NOTHING
    return _open(None if low == -math.inf else low, None if high == math.inf else high)


def _open(low: Any, high: Any) -> MatchingValues:
    return MatchingValues(((low, high),)) if low is None or high is None or low <= high else NOTHING


def _floor(number: int | float) -> int | float:
    return math.floor(number) if abs(number) < BEYOND_INTEGERS else math.copysign(math.inf, number)


def _ceil(number: int | float) -> int | float:
    return math.ceil(number) if abs(number) < BEYOND_INTEGERS else math.copysign(math.inf, number)


DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits after the point, in a text with a fraction of a second, by unit."""
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY = dt.date.min.toordinal() - _EPOCH.toordinal()
_LAST_DAY = dt.date.max.toordinal() - _EPOCH.toordinal()
_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Moments(Numbers):
    """Days, moments and times of day. `form` is "day", "moment" or "clock"; `unit` is that of the stored
    numbers, unused for days."""

    form: str
    unit: str = "s"

    def compare(self, op: str, low: str, high: str) -> MatchingValues:
        """Moments outside the years 1 to 9999 always match, because their texts are not in order."""
        first, last = self._bounds()
        place, equal = _place(self, low)
        at_most = min(place if equal and op == "<=" else place - 1, last)
        at_least = place + 1 if equal and op == ">" else place
        ranges = {
            "=": [(place, place)] if equal else [],
            "<>": [(first, place - 1), (place + equal, last)],
            "<": [(first, at_most)],
            "<=": [(first, at_most)],
            ">": [(at_least, last)],
            ">=": [(at_least, last)],
        }[op]
        inside = [(a, b) for a, b in ranges if a <= b]
        if inside == [(first, last)]:
            return VALUES
        return MatchingValues(((None, first - 1), *inside, (last + 1, None)))

    def text(self, number: int) -> str:
        """Return the text that SQLite sees for a stored number."""
        if self.form == "day":
            return (_EPOCH + dt.timedelta(days=number)).date().isoformat()
        digits = DIGITS[self.unit]
        seconds, fraction = divmod(number, 10**digits)
        moment = (_EPOCH + dt.timedelta(seconds=seconds)).isoformat(" ")
        text = moment[11:] if self.form == "clock" else moment
        return f"{text}.{fraction:0{digits}}" if fraction else text

    def _bounds(self) -> tuple[int, int]:
        second = 10 ** DIGITS[self.unit]
        if self.form == "day":
            return _FIRST_DAY, _LAST_DAY
        if self.form == "clock":
            return 0, _DAY_SECONDS * second - 1
        return _FIRST_DAY * _DAY_SECONDS * second, (_LAST_DAY + 1) * _DAY_SECONDS * second - 1


@lru_cache(1024)
def _place(order: Moments, text: str) -> tuple[int, bool]:
    """Return the first number whose text is not less, or the one after the last, and whether the texts are
    equal."""
    low, high = order._bounds()
    end = high + 1
    guess = _number(order, text)
    if guess is not None and low <= guess < end and order.text(guess) == text:
        return guess, True
    high = end
    while low < high:
        middle = (low + high) // 2
        if order.text(middle) < text:
            low = middle + 1
        else:
            high = middle
    return low, low < end and order.text(low) == text


def _number(order: Moments, text: str) -> int | None:
    """Return the number of a text in the usual form, without a search; None for other texts."""
    whole, _, fraction = text.partition(".")
    try:
        if order.form == "day":
            return dt.date.fromisoformat(whole).toordinal() - _EPOCH.toordinal()
        moment = dt.datetime.fromisoformat(f"1970-01-01 {whole}" if order.form == "clock" else whole)
        digits = DIGITS[order.unit]
        seconds = (moment.replace(tzinfo=None) - _EPOCH) // dt.timedelta(seconds=1)
        scale: int = 10**digits
        return seconds * scale + int(fraction.ljust(digits, "0")[:digits] or 0)
    except ValueError:
        return None


def day_texts(days: pa.Array) -> list[Any]:
    texts: list[Any] = days.cast(pa.string()).to_pylist()
    return texts


def moment_texts(moments: pa.Array) -> list[Any]:
    """Return moments as texts; those with a time zone in UTC."""
    return _without_empty_fraction(moments.cast(pa.timestamp(moments.type.unit)))


def clock_texts(times: pa.Array) -> list[Any]:
    return _without_empty_fraction(times)


def _without_empty_fraction(values: pa.Array) -> list[Any]:
    texts: list[Any] = values.cast(pa.string()).to_pylist()
    digits = DIGITS[values.type.unit]
    if not digits:
        return texts
    empty, cut = "." + "0" * digits, -digits - 1
    return [text[:cut] if text is not None and text.endswith(empty) else text for text in texts]


MOST_SQLITE_INTEGER = (1 << 63) - 1
EXACT_DECIMAL_DIGITS = 18

Values = Callable[[pa.Array], list[Any]]


class Storage(IntEnum):
    """SQLite's classes of values, in the order in which SQLite sorts them."""

    NUMBER = 0
    TEXT = 1
    BLOB = 2


@dataclass(frozen=True)
class ColumnType:
    """What SQLite sees of a type. `declared_type` gives the column its affinity. `values` converts an array
    into the values that SQLite gets, None for null. `order` is None if only nulls can be excluded."""

    declared_type: str
    storage: Storage
    order: Order | None
    values: Values


def _as_they_are(values: pa.Array) -> list[Any]:
    items: list[Any] = values.to_pylist()
    return items


def _integers(values: pa.Array) -> list[Any]:
    return _as_they_are(values.cast(pa.int64()))


def _convert_unsigned(values: pa.Array) -> list[Any]:
    """Numbers beyond SQLite's integers become reals, as they do in a SQL statement."""
    items = _as_they_are(values)
    return [float(v) if v is not None and v > MOST_SQLITE_INTEGER else v for v in items]


def _floats(values: pa.Array) -> list[Any]:
    """SQLite has no negative zero, and turns NaN into null."""
    return [v + 0.0 if v is not None else v for v in _as_they_are(values)]


def _decimals(values: pa.Array) -> list[Any]:
    items: list[Any] = doubles(pa.chunked_array([values])).tolist()
    if values.null_count:
        items = [
            v if valid else None for v, valid in zip(items, _as_they_are(values.is_valid()), strict=True)
        ]
    return items


def _uuids(values: pa.Array) -> list[Any]:
    return [None if v is None else str(uuid.UUID(bytes=v)) for v in _as_they_are(values.storage)]


def _documents(values: pa.Array) -> list[Any]:
    return [None if v is None else json_text(whole(v)) for v in python_values(values)]


def _convert_others(values: pa.Array) -> list[Any]:
    return [None if v is None else v if isinstance(v, str) else str(v) for v in python_values(values)]


def _in_dictionary(kind: ColumnType) -> Values:
    def values(array: pa.Array) -> list[Any]:
        members = kind.values(array.dictionary)
        return [None if place is None else members[place] for place in _as_they_are(array.indices)]

    return values


def _decimal(kind: pa.DataType) -> ColumnType:
    """Whole numbers that fit SQLite's integers stay exact; all others become reals."""
    if kind.scale == 0 and kind.precision <= EXACT_DECIMAL_DIGITS:
        return ColumnType("INTEGER", Storage.NUMBER, Floats(exact=False), _integers)
    return ColumnType("REAL", Storage.NUMBER, Floats(), _decimals)


def _text(_kind: pa.DataType) -> ColumnType:
    return ColumnType("TEXT", Storage.TEXT, Bytes(), _as_they_are)


def _blob(_kind: pa.DataType) -> ColumnType:
    return ColumnType("BLOB", Storage.BLOB, Bytes(text=False), _as_they_are)


_NESTED_VALUES = ColumnType("TEXT", Storage.TEXT, None, _documents)
_OPAQUE = ColumnType("TEXT", Storage.TEXT, None, _convert_others)
_TABLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], ColumnType]], ...] = (
    (is_.is_boolean, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _integers)),
    (
        is_.is_uint64,
        lambda kind: ColumnType("INTEGER", Storage.NUMBER, Floats(exact=False), _convert_unsigned),
    ),
    (is_.is_integer, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _as_they_are)),
    (is_.is_floating, lambda kind: ColumnType("REAL", Storage.NUMBER, Floats(), _floats)),
    (is_.is_decimal, _decimal),
    (is_.is_date32, lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("day"), day_texts)),
    (
        is_.is_timestamp,
        lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("moment", kind.unit), moment_texts),
    ),
    (is_.is_time, lambda kind: ColumnType("TEXT", Storage.TEXT, Moments("clock", kind.unit), clock_texts)),
    (is_.is_duration, lambda kind: ColumnType("INTEGER", Storage.NUMBER, Integers(), _integers)),
    (is_.is_string, _text),
    (is_.is_large_string, _text),
    (is_.is_string_view, _text),
    (is_.is_binary, _blob),
    (is_.is_large_binary, _blob),
    (is_.is_binary_view, _blob),
    (is_.is_fixed_size_binary, _blob),
    (lambda kind: kind == pa.uuid(), lambda kind: ColumnType("TEXT", Storage.TEXT, None, _uuids)),
    (is_.is_nested, lambda kind: _NESTED_VALUES),
)


@lru_cache(1024)
def column_type(kind: pa.DataType) -> ColumnType:
    """Return what SQLite sees of a column of this type."""
    if is_.is_dictionary(kind):
        inner = column_type(kind.value_type)
        return replace(inner, values=_in_dictionary(inner))
    for fits, make in _TABLE:
        if fits(kind):
            return make(kind)
    return _OPAQUE
