"""Values of a column as places on a line, bins of one width along it, and the conditions that name them."""

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
from lamella.core.arrow.nested import python_values
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
    """`value` gives the place on the line, in SQL's type `unit`; `back` makes values of places."""

    value: exp.Expr
    unit: str
    back: Callable[[Sequence[Number]], list[Any]]

    @property
    def whole(self) -> bool:
        return self.unit != "DOUBLE"

    @property
    def storage_type(self) -> pa.DataType:
        """What Arrow has for a place."""
        return {WHOLE: pa.int64(), WIDE: pa.decimal128(38, 0)}.get(self.unit, pa.float64())

    def edges(self, low: Number, high: Number, most: int) -> tuple[Number, ...]:
        """Of at most so many bins of one width, but for the last, from the least to the greatest place. Whole
        numbers are not cut."""
        if self.whole:
            wide = -(-(high - low + 1) // most)
            return (*range(int(low), int(high) + 1, int(wide)), high)
        step = high / most - low / most
        return (*(low + i * step for i in range(most)), high) if step else (low, high)

    def histogram(self, edges: Sequence[Number]) -> exp.Expr:
        """A map of how many values lie in each bin, in order; the last bin has its upper edge too."""
        inner = edges[1:-1]
        below = [e - 1 for e in inner] if self.whole else [math.nextafter(e, -math.inf) for e in inner]
        uppers = exp.Array(expressions=[cast(text(repr(e)), self.unit) for e in (*below, edges[-1])])
        return func("histogram", self.value, uppers)


def axis_of(kind: pa.DataType, value: exp.Expr) -> Axis | None:
    """None for values that do not lie on a line."""
    plain, family = value_type(kind), kind_of(kind)
    if family is Kind.INTEGER:
        unit = WIDE if is_.is_uint64(plain) else WHOLE
        return Axis(cast(value, unit), unit, list)
    if family is Kind.FLOAT or is_.is_decimal32(plain) or is_.is_decimal64(plain) or is_.is_decimal128(plain):
        return Axis(cast(value, "DOUBLE"), "DOUBLE", list)
    if is_.is_duration(plain):
        return Axis(cast(value, WHOLE), WHOLE, _stored_as(plain, np.int64))
    if family is Kind.DATE:
        days = func("date_diff", text("day"), cast(text("1970-01-01"), "DATE"), cast(value, "DATE"))
        return Axis(cast(days, WHOLE), WHOLE, _stored_as(pa.date32(), np.int32))
    if family is Kind.TIMESTAMP:
        return Axis(
            cast(microseconds(value, plain), WHOLE), WHOLE, _stored_as(pa.timestamp("us", plain.tz), np.int64)
        )
    if family is Kind.TIME:
        return Axis(cast(microseconds(value, plain), WHOLE), WHOLE, _stored_as(pa.time64("us"), np.int64))
    return None


def _stored_as(kind: pa.DataType, width: type[np.integer[Any]]) -> Callable[[Sequence[Number]], list[Any]]:
    return lambda places: python_values(from_numpy(np.array(places, width), kind))


FINE_BINS = 240
"""About so many lie between the 1st and the 99th percentile; those of a card are made of them."""
CLIPPED = 32_767
"""Bins further than so many from the first one are counted in the last."""
_LARGEST = int(sys.float_info.max)


@dataclass(frozen=True)
class Scale:
    """Bins of one width on a column's axis: bin 0 begins at `first` widths. A width is `of` / `per` units."""

    first: int
    of: int
    per: int
    whole: bool

    def number(self, axis: Axis) -> str:
        """SQL for the number of a value's bin; null where it is further than `CLIPPED` from the first, or
        none. To multiply is faster than to divide, and half a unit keeps whole numbers from being rounded."""
        place = axis.value.sql("duckdb")
        if self.whole:
            origin = self.first * self.of
            exact = abs(origin) + CLIPPED * self.of < 2**52
            moved = f"({place})::DOUBLE - {origin}" if exact else f"(({place})::HUGEINT - {origin})::DOUBLE"
            inside = f"({moved} + 0.5::DOUBLE) * {1 / self.of!r}::DOUBLE"
        else:
            scaled = f"{place} * {float(self.per)!r}::DOUBLE" if self.per != 1 else place
            inside = f"floor({scaled} / {float(self.of)!r}::DOUBLE) - {float(self.first)!r}::DOUBLE"
        return f"TRY_CAST(floor({inside}) AS SMALLINT)"

    def number_of(self, place: Number) -> int:
        """The number of a finite place's bin."""
        widths = place // self.of if self.whole else place * self.per / self.of
        return math.floor(max(min(widths, _LARGEST), -_LARGEST)) - self.first

    def edge(self, number: int) -> Number:
        """Where a bin begins."""
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
        """From the 1st to the 99th percentile, or between the outermost finite places, `ends`, where both
        are one place. Without any there is one bin."""
        low, high = ends
        if low is None or high is None:
            return cls(0, 1, 1, axis.whole)
        first, last = (min(max(place, low), high) for place in percentiles)
        if first == last:
            first, last = low, high
        return cls.between(first, last, kind) if axis.whole else cls.between_floats(float(first), float(last))

    @classmethod
    def between(cls, low: Number, high: Number, kind: pa.DataType, bins: int = FINE_BINS) -> Scale:
        """About so many bins from a whole number, or a time in its whole units, to another."""
        first, last = int(low), int(high)
        width = _whole_width(-(-(last - first + 1) // bins), kind)
        return cls(first // width, width, 1, True)

    @classmethod
    def between_floats(cls, low: Number, high: Number, bins: int = FINE_BINS) -> Scale:
        span = high / bins - low / bins
        if not span > 0:
            span = abs(low) / bins or 1.0
        span = max(span, math.ulp(max(abs(low), abs(high))))  # ends of narrower bins are one number
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
    """At least so wide, and round: of moments and spans in seconds, minutes, hours or days."""
    if kind_of(kind) not in (Kind.TIMESTAMP, Kind.TIME, Kind.DURATION):
        return _round_width(least)
    units = {"s": 1, "ms": 10**3, "ns": 10**9}.get(kind.unit, 10**6) if is_.is_duration(kind) else 10**6
    if least < units:
        return _round_width(least)
    width = next((seconds for seconds in _SECONDS if seconds * units >= least), None)
    return units * (width or _DAY * _round_width(-(-least // (units * _DAY))))


def _round_width(least: int) -> int:
    """1, 2 or 5, and zeros."""
    power: int = 10 ** (len(str(max(least, 1))) - 1)
    many: int = next(many for many in (1, 2, 5, 10) if many * power >= least)
    return many * power


def range_filter(column: str, kind: pa.DataType, low: Any, high: Any) -> Filter:
    """That a value lies from `low` up to before `high`; None stands for no end."""
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
    """That a value is one of these; None stands for null."""
    present = [value for value in values if value is not None]
    if not present:
        return Predicate(column, "is_null")
    if kind_of(kind) is Kind.BOOLEAN and len(present) == 1:
        return Predicate(column, "is_true" if present[0] else "is_false")
    operator = "eq" if len(present) == 1 else "in"
    one = Predicate(column, operator, tuple(present))
    return one if len(present) == len(values) else Predicate(column, "is_null") | one
