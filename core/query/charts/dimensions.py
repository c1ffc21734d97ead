"""The groups along an axis of a chart, of its colours and of its panels: values, ranges or units of time."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of, value_type
from lamella.core.libraries import exp
from lamella.core.query.axis import Axis, Number, Scale, axis_of, range_filter, value_filter
from lamella.core.query.fields import Value, constant
from lamella.core.query.functions import times

NULL, OTHERS = -1, -2
"""Keys of the rows without a value, and of those whose values are too many to show separately."""

UNIT_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 2_629_746,
    "quarter": 3 * 2_629_746,
    "year": 31_556_952,
}
"""The approximate length of each unit in `times.UNITS`, from the finest on."""

_DAY_MICROSECONDS = 86_400 * 10**6
_MOST = sys.float_info.max
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Place:
    """A group of rows: those with the value `low`, or with values from `low` up to, but not including,
    `high`; None means unbounded.

    It is drawn from `left` to `right`, with its point at `at`. Numbers are drawn at their value or its log10,
    moments in seconds since 1970 in local time of their zone, durations in seconds, and everything else by
    its index.
    """

    key: int
    low: Any
    high: Any
    at: float
    left: float
    right: float


@dataclass(frozen=True)
class Dimension:
    """The groups along an axis. `form` is "values", "ranges" or "moments"; `unit` is the unit of moments.
    `others` is the number of values that are combined in the place with the key `OTHERS`."""

    column: str
    type: pa.DataType
    form: str
    places: tuple[Place, ...]
    unit: str = ""
    others: int = 0
    log: bool = False

    def __len__(self) -> int:
        return len(self.places)

    @property
    def is_even(self) -> bool:
        """Whether places have distances, rather than only an order."""
        return self.form != "values" or is_even_value(self.type)

    def place(self, key: int) -> Place:
        return self._by_key[key]

    @cached_property
    def _by_key(self) -> Mapping[int, Place]:
        return {place.key: place for place in self.places}

    def filter_of(self, places: Sequence[Place]) -> Filter | None:
        """The filter for rows in these places, which must be adjacent if places have distances; None if no
        filter can express it."""
        keys = {place.key for place in places}
        if not places or kind_of(self.type) not in COMPARABLE:
            return None
        if self.form == "values":
            return self._value_filter(keys)
        if keys == {NULL}:
            return Predicate(self.column, "is_null")
        present = sorted((place for place in places if place.key >= 0), key=lambda place: place.key)
        first, last = present[0], present[-1]
        ends = (first.low, last.low, last.high)
        far = (str, int) if kind_of(self.type) in (Kind.DATE, Kind.TIMESTAMP) else str
        if any(isinstance(end, far) for end in ends):
            return None  # too far away for any condition to name it
        condition = range_filter(self.column, self.type, first.low, last.high)
        return Predicate(self.column, "is_null") | condition if NULL in keys else condition

    def _value_filter(self, keys: set[int]) -> Filter | None:
        all_values = [place.low for place in self.places if place.key >= 0]
        chosen_values = [place.low for place in self.places if place.key in keys and place.key >= 0]
        chosen_values += [None] if NULL in keys else []
        if any(isinstance(value, float) and math.isnan(value) for value in chosen_values):
            return None
        if OTHERS not in keys:
            return value_filter(self.column, self.type, chosen_values)
        leftover = all_of(
            [Predicate(self.column, "nin", tuple(all_values)), Predicate(self.column, "not_null")]
        )
        return value_filter(self.column, self.type, chosen_values) | leftover if chosen_values else leftover

    def range_between(self, left: float, right: float) -> tuple[Place, ...]:
        """The places that overlap a section of the axis."""
        return tuple(place for place in self.places if place.left < right and place.right > left)


def is_even_value(kind: pa.DataType) -> bool:
    return kind_of(kind) in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


@dataclass(frozen=True)
class Extent:
    """The extremes of a column's finite values, as positions on its axis; None if there are none. `distinct`
    is an estimate."""

    low: Number | None
    high: Number | None
    distinct: int = 0


def seconds_of(kind: pa.DataType) -> float:
    """The number of axis units in a second: positions of times are shown in seconds."""
    plain = value_type(kind)
    if is_.is_duration(plain):
        return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[plain.unit]
    if kind_of(plain) is Kind.DATE:
        return 1 / 86_400
    return 1e6 if kind_of(plain) in (Kind.TIMESTAMP, Kind.TIME) else 1.0


# ------------------------------------------------------------------ values


def values_dimension(
    column: str, kind: pa.DataType, values: Sequence[Any], nulls: bool, others: int
) -> Dimension:
    """One place per value, in this order, followed by the remaining values and the nulls."""
    if is_even_value(kind) and not others and not nulls:
        at = list(map(float, values))
        width = min((after - before for before, after in itertools.pairwise(sorted(at))), default=1.0)
        spread = [
            Place(key, value, None, place, max(place - width / 2, -_MOST), min(place + width / 2, _MOST))
            for key, (value, place) in enumerate(zip(values, at, strict=True))
        ]
        return Dimension(column, kind, "values", tuple(spread))
    places = [_value_place(key, key, value) for key, value in enumerate(values)]
    for key, is_present in ((OTHERS, bool(others)), (NULL, nulls)):
        if is_present:
            places.append(_value_place(key, len(places), None))
    return Dimension(column, kind, "values", tuple(places), others=others)


def _value_place(key: int, number: int, value: Any) -> Place:
    return Place(key, value, None, float(number), number - 0.5, number + 0.5)


def by_height(dimension: Dimension, figures: pa.Table) -> Dimension:
    """Sort texts along x by height, the highest first; the remaining values stay last."""
    if dimension.form != "values" or kind_of(dimension.type) is not Kind.TEXT:
        return dimension
    heights: dict[int, float] = {}
    for key, value in zip(figures["x"].to_pylist(), figures["value"].to_pylist(), strict=True):
        heights[key] = heights.get(key, 0.0) + (value or 0.0)
    by_key = {place.key: place for place in dimension.places}
    keys = sorted(by_key, key=lambda key: (key < 0, -heights.get(key, 0.0)))
    places = [_value_place(key, number, by_key[key].low) for number, key in enumerate(keys)]
    return replace(dimension, places=tuple(places))


# ------------------------------------------------------------------ ranges


@dataclass(frozen=True)
class Ranges:
    """Ranges of equal width along a column's axis, or of the values' log10 if `log`."""

    column: str
    type: pa.DataType
    scale: Scale
    axis: Axis
    log: bool = False

    @classmethod
    def between(
        cls, column: str, kind: pa.DataType, extent: Extent, most: int, log: bool, value: exp.Expr
    ) -> Ranges:
        """About `most` ranges of a round width, or fewer."""
        axis = axis_of(kind, value)
        assert axis is not None
        low, high = (1, 1) if extent.low is None or extent.high is None else (extent.low, extent.high)
        if log:
            place = exp.Anonymous(this="log10", expressions=[axis.value])
            axis = Axis(place, "DOUBLE", list)
            scale = Scale.between_floats(math.log10(low), math.log10(high), most)
        elif axis.whole:
            scale = Scale.between(low, high, value_type(kind), most)
        else:
            scale = Scale.between_floats(float(low), float(high), most)
        return cls(column, kind, scale, axis, log)

    @property
    def key(self) -> str:
        """SQL for the number of a value's range."""
        return self.scale.number(self.axis)

    def number_of(self, place: Number) -> int:
        """The number of the range that contains a position on the axis."""
        return self.scale.number_of(math.log10(place) if self.log else place)

    def coarser(self, counts: Mapping[int, int], usual: int, most: int) -> tuple[Ranges, int]:
        """Combine ranges so that all but the outermost hundredths of the values have about the `usual` number
        of ranges, and all values at most `most`. Return the ranges, and how many were combined into each."""
        numbers, total = sorted(counts), sum(counts.values())
        first, last = (_percentile(numbers, counts, share * total) for share in (0.01, 0.99))
        span = numbers[-1] - numbers[0] + 1
        least = max((last - first + 1) / usual, span / most, 1)
        together = next(n for n in itertools.count(math.ceil(least)) if _is_round(self.scale.of * n))
        scale = replace(self.scale, first=self.scale.first // together, of=self.scale.of * together)
        return replace(self, scale=scale), together

    def coarser_key(self, key: int, together: int) -> int:
        """The number of the coarser range that contains a range."""
        return (self.scale.first + key) // together - self.scale.first // together

    def dimension(self, keys: Iterable[int], nulls: bool = False) -> Dimension:
        """The places of all ranges from the first to the last of the keys."""
        present = [key for key in keys if key >= 0]
        numbers = range(min(present), max(present) + 1) if present else range(0)
        edges = [self.scale.edge(number) for number in (*numbers, numbers.stop)] if present else []
        ends = self._values(edges)
        places = [
            self._place(key, ends[n], ends[n + 1], float(edges[n]), float(edges[n + 1]))
            for n, key in enumerate(numbers)
        ]
        if nulls:
            at = places[-1].right + 1 if places else 0.0
            places.append(Place(NULL, None, None, at, at, at))
        return Dimension(self.column, self.type, "ranges", tuple(places), log=self.log)

    def _place(self, key: int, low: Any, high: Any, left: float, right: float) -> Place:
        per_second = seconds_of(self.type)
        if kind_of(self.type) in (Kind.DATE, Kind.TIMESTAMP):
            left, right = clock_seconds(low, left / per_second), clock_seconds(high, right / per_second)
            return Place(key, low, high, left / 2 + right / 2, left, right)
        if kind_of(self.type) is Kind.INTEGER and not self.log:  # whole numbers are drawn in the middle
            left, right = left - 0.5, right - 0.5
        return Place(
            key, low, high, (left / 2 + right / 2) / per_second, left / per_second, right / per_second
        )

    def _values(self, edges: Sequence[Number]) -> list[Any]:
        if self.log:
            edges = [10.0**edge if edge < sys.float_info.max_10_exp else sys.float_info.max for edge in edges]
        if is_.is_decimal(value_type(self.type)):
            return [Decimal(repr(float(edge))) for edge in edges]
        if self.log:
            return [math.ceil(edge) for edge in edges] if kind_of(self.type) is Kind.INTEGER else list(edges)
        values = list(self.axis.back(edges))
        if kind_of(self.type) is Kind.TIME and values and edges[-1] >= _DAY_MICROSECONDS:
            values[-1] = None  # midnight, which is not later than any other time
        return values


def _percentile(numbers: Sequence[int], counts: Mapping[int, int], threshold: float) -> int:
    count = 0
    for number in numbers:
        count += counts[number]
        if count >= threshold:
            return number
    return numbers[-1]


def _is_round(width: int) -> bool:
    """Whether a width is 1, 2 or 5 times a power of ten."""
    return str(width).rstrip("0") in ("1", "2", "5")


# ------------------------------------------------------------------ moments


@dataclass(frozen=True)
class Moments:
    """Units of time, in local time of the column's zone."""

    column: str
    type: pa.DataType
    unit: str
    value: str
    """The name of the column in SQL."""

    @property
    def key(self) -> str:
        """SQL for the start of the unit that a value lies in."""
        value = Value(exp.column(self.value), value_type(self.type), self.column)
        start = times.truncate([value, constant(self.unit, self.column)])
        assert start is not None
        return start[0].sql("duckdb")

    def dimension(self, keys: Iterable[int], nulls: bool = False) -> Dimension:
        """The places of units. `keys` are their starts, as positions on the column's axis. Units without rows
        have no place."""
        numbers = sorted(key for key in keys if key is not None)
        axis = axis_of(self.type, exp.column(self.value))
        assert axis is not None
        per_second = seconds_of(self.type)
        places, end, right = list[Place](), None, 0.0
        for number, begin in enumerate(axis.back(numbers)):
            left = right if begin == end else clock_seconds(begin, numbers[number] / per_second)
            end = next_begin(begin, self.unit)
            right = left + UNIT_SECONDS[self.unit] if end is None else clock_seconds(end, left)
            places.append(Place(number, begin, "" if end is None else end, left, left, right))
        if nulls:
            at = places[-1].right if places else 0.0
            places.append(Place(NULL, None, None, at, at, at))
        return Dimension(self.column, self.type, "moments", tuple(places), self.unit)


def fitting_unit(kind: pa.DataType, extent: Extent, most: int, requested_unit: str = "") -> str:
    """The finest unit of time that gives at most `most` groups and is not finer than the requested one."""
    seconds = ((extent.high or 0) - (extent.low or 0)) / seconds_of(kind)
    units = list(UNIT_SECONDS)
    finest = "day" if kind_of(kind) is Kind.DATE else "second"
    usable = units[max(units.index(finest), units.index(requested_unit) if requested_unit else 0) :]
    return next((unit for unit in usable if seconds / UNIT_SECONDS[unit] + 1 <= most), "year")


def unit_count(kind: pa.DataType, extent: Extent, unit: str) -> int:
    """The approximate number of groups by a unit of time."""
    return round(((extent.high or 0) - (extent.low or 0)) / seconds_of(kind) / UNIT_SECONDS[unit]) + 1


def next_begin(begin: Any, unit: str) -> Any:
    """The start of the next unit of time; None beyond the end of Python's calendar."""
    if not isinstance(begin, dt.date):
        return None
    try:
        if unit in ("year", "quarter", "month"):
            months = begin.month - 1 + {"year": 12, "quarter": 3, "month": 1}[unit]
            return begin.replace(year=begin.year + months // 12, month=months % 12 + 1)
        step = dt.timedelta(seconds=UNIT_SECONDS[unit])
        if (
            isinstance(begin, dt.datetime)
            and begin.tzinfo is not None
            and unit in ("hour", "minute", "second")
        ):
            return (begin.astimezone(dt.UTC) + step).astimezone(begin.tzinfo)
        return begin + step
    except (OverflowError, ValueError):
        return None


def clock_seconds(moment: Any, otherwise: float) -> float:
    if isinstance(moment, dt.datetime):
        return (moment.replace(tzinfo=None) - _EPOCH).total_seconds()
    if isinstance(moment, dt.date):
        return float((moment - _EPOCH.date()).days * 86_400)
    return otherwise
