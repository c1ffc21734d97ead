"""Values laid out on a line of numbers, which is cut into bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.arrays import from_numpy
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.query.sql_parts import cast, func, text
from lamella.core.query.time_functions import microseconds
from lamella.core.scan.python_value import python_values

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
    def stored(self) -> pa.DataType:
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
