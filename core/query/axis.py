"""Values of a column as positions on an axis, bins of equal width along it, and the matching filters."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.nested_values import python_values
from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.libraries import exp
from lamella.core.query.fields import cast, func, text
from lamella.core.query.functions.times import microseconds

Number = int | float
WHOLE = "BIGINT"
WIDE = "HUGEINT"


@dataclass(frozen=True)
class Axis:
    """`value` gives a value's position on the axis, of SQL type `unit`; `back` converts positions to
    values."""

    value: exp.Expr
    unit: str
    back: Callable[[Sequence[Number]], list[Any]]

    @property
    def whole(self) -> bool:
        return self.unit != "DOUBLE"

    @property
    def storage_type(self) -> pa.DataType:
        """The Arrow type of positions."""
        return {WHOLE: pa.int64(), WIDE: pa.decimal128(38, 0)}.get(self.unit, pa.float64())

    def edges(self, low: Number, high: Number, most: int) -> tuple[Number, ...]:
        """The bounds of at most `most` bins of equal width (the last may be narrower), from the least to the
        greatest position. Bounds of whole numbers are whole."""
        if self.whole:
            wide = -(-(high - low + 1) // most)
            return (*range(int(low), int(high) + 1, int(wide)), high)
        step = high / most - low / most
        return (*(low + i * step for i in range(most)), high) if step else (low, high)

    def histogram(self, edges: Sequence[Number]) -> exp.Expr:
        """SQL for a map with the number of values in each bin, in order; the last bin includes its upper
        bound."""
        inner = edges[1:-1]
        below = [e - 1 for e in inner] if self.whole else [math.nextafter(e, -math.inf) for e in inner]
        uppers = exp.Array(expressions=[cast(text(repr(e)), self.unit) for e in (*below, edges[-1])])
        return func("histogram", self.value, uppers)


def axis_of(kind: pa.DataType, value: exp.Expr) -> Axis | None:
    """The axis of a type; None for types whose values have no position on one."""
    plain, family = value_type(kind), kind_of(kind)
    if family is Kind.INTEGER:
        unit = WIDE if is_.is_uint64(plain) else WHOLE
        return Axis(cast(value, unit), unit, list)
    if family is Kind.FLOAT or is_.is_decimal32(plain) or is_.is_decimal64(plain) or is_.is_decimal128(plain):
        return Axis(cast(value, "DOUBLE"), "DOUBLE", list)
    if is_.is_duration(plain):
        return Axis(cast(value, WHOLE), WHOLE, _place_converter(plain, np.int64))
    if family is Kind.DATE:
        days = func("date_diff", text("day"), cast(text("1970-01-01"), "DATE"), cast(value, "DATE"))
        return Axis(cast(days, WHOLE), WHOLE, _place_converter(pa.date32(), np.int32))
    if family is Kind.TIMESTAMP:
        return Axis(
            cast(microseconds(value, plain), WHOLE),
            WHOLE,
            _place_converter(pa.timestamp("us", plain.tz), np.int64),
        )
    if family is Kind.TIME:
        return Axis(
            cast(microseconds(value, plain), WHOLE), WHOLE, _place_converter(pa.time64("us"), np.int64)
        )
    return None


def _place_converter(
    kind: pa.DataType, width: type[np.integer[Any]]
) -> Callable[[Sequence[Number]], list[Any]]:
    return lambda places: python_values(from_numpy(np.array(places, width), kind))


FINE_BINS = 240
"""The approximate number of bins between the 1st and the 99th percentile; the bars of a card combine them."""
FARTHEST_BIN = 32_767
"""Bins with a higher number than this are counted in this one; likewise below its negative."""
_LARGEST = int(sys.float_info.max)


@dataclass(frozen=True)
class Scale:
    """Bins of equal width on a column's axis; bin 0 starts at `first` widths. A width is `of` / `per`
    units."""

    first: int
    of: int
    per: int
    whole: bool

    def number(self, axis: Axis) -> str:
        """SQL for the number of a value's bin; null if it is further than `FARTHEST_BIN` from bin 0, or if
        there is none. Multiplying is faster than dividing, and the half unit guards whole numbers against
        rounding errors."""
        place = axis.value.sql("duckdb")
        if self.whole:
            origin = self.first * self.of
            exact = abs(origin) + FARTHEST_BIN * self.of < 2**52
            moved = f"({place})::DOUBLE - {origin}" if exact else f"(({place})::HUGEINT - {origin})::DOUBLE"
            inside = f"({moved} + 0.5::DOUBLE) * {1 / self.of!r}::DOUBLE"
        else:
            scaled = f"{place} * {float(self.per)!r}::DOUBLE" if self.per != 1 else place
            inside = f"floor({scaled} / {float(self.of)!r}::DOUBLE) - {float(self.first)!r}::DOUBLE"
        return f"TRY_CAST(floor({inside}) AS SMALLINT)"

    def number_of(self, place: Number) -> int:
        """The number of the bin at a finite position."""
        widths = place // self.of if self.whole else place * self.per / self.of
        return math.floor(max(min(widths, _LARGEST), -_LARGEST)) - self.first

    def edge(self, number: int) -> Number:
        """The position at which a bin starts."""
        place = (self.first + number) * self.of
        if self.whole:
            return place
        return (
            place / self.per
            if abs(place) < _LARGEST * self.per
            else float(_LARGEST if place > 0 else -_LARGEST)
        )

    @classmethod
    def between_percentiles(
        cls,
        axis: Axis,
        kind: pa.DataType,
        ends: tuple[Number | None, Number | None],
        percentiles: Sequence[Number],
    ) -> Scale:
        """A scale from the 1st to the 99th percentile. If both are equal, it spans `ends`, the outermost
        finite positions; without finite values it has one bin."""
        low, high = ends
        if low is None or high is None:
            return cls(0, 1, 1, axis.whole)
        first, last = (min(max(place, low), high) for place in percentiles)
        if first == last:
            first, last = low, high
        return cls.between(first, last, kind) if axis.whole else cls.between_floats(float(first), float(last))

    @classmethod
    def between(cls, low: Number, high: Number, kind: pa.DataType, bins: int = FINE_BINS) -> Scale:
        """About `bins` bins from one whole number, or one time in its integer units, to another."""
        first, last = int(low), int(high)
        width = _whole_width(-(-(last - first + 1) // bins), kind)
        return cls(first // width, width, 1, True)

    @classmethod
    def between_floats(cls, low: Number, high: Number, bins: int = FINE_BINS) -> Scale:
        span = high / bins - low / bins
        if not span > 0:
            span = abs(low) / bins or 1.0
        span = max(span, math.ulp(max(abs(low), abs(high))))  # narrower bins have both edges at one number
        exponent = min(max(math.floor(math.log10(span)), -300), 306)
        of = next((m for m in (1, 2, 5) if m * 10.0**exponent >= span), 10)
        of, per = (of * 10**exponent, 1) if exponent >= 0 else (of, 10**-exponent)
        if of % per == 0:
            of, per = of // per, 1
        elif of == 10:
            of, per = 1, per // 10
        first = low * per / of
        return cls(math.floor(first) if math.isfinite(first) else 0, of, per, False)


_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
_DAY = 86_400


def _whole_width(least: int, kind: pa.DataType) -> int:
    """A round width of at least `least`; for times and durations a round number of seconds, minutes, hours or
    days."""
    if kind_of(kind) not in (Kind.TIMESTAMP, Kind.TIME, Kind.DURATION):
        return _round_width(least)
    units = {"s": 1, "ms": 10**3, "ns": 10**9}.get(kind.unit, 10**6) if is_.is_duration(kind) else 10**6
    if least < units:
        return _round_width(least)
    width = next((seconds for seconds in _SECONDS if seconds * units >= least), None)
    return units * (width or _DAY * _round_width(-(-least // (units * _DAY))))


def _round_width(least: int) -> int:
    """The smallest width of 1, 2 or 5 times a power of ten that is at least `least`."""
    power: int = 10 ** (len(str(max(least, 1))) - 1)
    many: int = next(many for many in (1, 2, 5, 10) if many * power >= least)
    return many * power


def range_filter(column: str, kind: pa.DataType, low: Any, high: Any) -> Filter:
    """The filter for values from `low` up to, but not including, `high`; None means unbounded."""
    days = is_.is_date(value_type(kind))
    whole = days or is_.is_integer(value_type(kind))
    if whole and high is not None:
        high -= dt.timedelta(days=1) if days else 1
    if low is None and high is None:
        return Predicate(column, "not_null")
    if whole and low is not None and low == high:
        return Predicate(column, "eq", (low,))
    if whole and low is not None and high is not None:
        return Predicate(column, "between", (low, high))
    below = "lte" if whole else "lt"
    parts = [] if low is None else [Predicate(column, "gte", (low,))]
    parts += [] if high is None else [Predicate(column, below, (high,))]
    return parts[0] if len(parts) == 1 else all_of(parts)


def value_filter(column: str, kind: pa.DataType, values: Sequence[Any]) -> Filter:
    """The filter for values that are one of these; None stands for null."""
    present = [value for value in values if value is not None]
    if not present:
        return Predicate(column, "is_null")
    if kind_of(kind) is Kind.BOOLEAN and len(present) == 1:
        return Predicate(column, "is_true" if present[0] else "is_false")
    operator = "eq" if len(present) == 1 else "in"
    membership = Predicate(column, operator, tuple(present))
    return membership if len(present) == len(values) else Predicate(column, "is_null") | membership
