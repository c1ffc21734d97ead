"""Comparisons with values that a column's type cannot hold, turned into ones that it can.

`x > 60.5` over whole numbers is `x > 60`; `x < 300` over bytes holds for every byte. Decimals,
dates, times and timestamps are whole numbers too, counted in the type's own unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa

Exact = int | Fraction | float
"""A number without error; a float only where it is infinite."""

Narrowed = tuple[str, int] | bool
"""The comparison to make, or its answer for every value that is not null."""


def narrow(how: str, value: Exact, low: int, high: int) -> Narrowed:
    """`how` is eq, lt, lte, gt or gte; the column holds whole numbers from `low` to `high`."""
    if isinstance(value, float):
        value = high + 1 if value > 0 else low - 1
    if how == "eq":
        return ("eq", int(value)) if value == int(value) and low <= value <= high else False
    bound = math.floor(value) if how in ("gt", "lte") else math.ceil(value)
    first = low + 1 if how in ("lt", "gte") else low
    above = how in ("gt", "gte")
    if bound < first:
        return above
    if bound > high - (how in ("gt", "lte")):
        return not above
    return how, bound


def narrow_each(values: Sequence[Exact], low: int, high: int) -> Sequence[int]:
    """Those of the values that a column of whole numbers from `low` to `high` can hold."""
    if set(map(type, values)) == {int} and low <= min(values) and max(values) <= high:
        return cast(Sequence[int], values)
    narrowed = (narrow("eq", value, low, high) for value in values)
    return [found[1] for found in narrowed if not isinstance(found, bool)]


def narrow_division(divisor: int, remainder: int, low: int, high: int) -> list[int] | None:
    """The only values that leave `remainder`, where the column holds no multiple of `divisor` above 0; None
    where it may."""
    if abs(remainder) >= divisor:
        return []
    if divisor <= high:
        return None
    multiples = [-divisor] if remainder == 0 and low <= -divisor else []
    return [*multiples, remainder] if low <= remainder <= high else multiples


def narrow_float(how: str, value: Exact, width: type[np.floating[Any]]) -> tuple[str, float] | bool:
    """The same for floats; `width` is the column's own, such as `numpy.float32`.

    A number with a fraction stands for the nearest one the column can hold, as it is shown; a whole
    number that it cannot hold, or one beyond its range, is compared as it is.
    """
    near = nearest_float(value, width)
    unending = isinstance(value, float) and not math.isfinite(value)
    if near == value or unending or (value % 1 and math.isfinite(near)):
        return how, near
    if how == "eq":
        return False
    below = near if near < value else float(np.nextafter(width(near), width(-np.inf)))
    return ("gt" if how in ("gt", "gte") else "lte"), below


def nearest_float(value: Exact, width: type[np.floating[Any]]) -> float:
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(width(near))


def float_width(type_: pa.DataType) -> type[np.floating[Any]]:
    return _WIDTHS[type_.bit_width]


_WIDTHS: dict[int, type[np.floating[Any]]] = {16: np.float16, 32: np.float32, 64: np.float64}
