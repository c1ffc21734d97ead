"""Two columns compared by Arrow and NumPy: exactly, also where neither type holds all values of the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.filters.arrow_values import array_of
from lamella.core.filters.kinds import COUNTED, NUMBERS, kind_of
from lamella.core.filters.pairs import common_decimal
from lamella.core.filters.temporal import unit_ns

_MIRRORED = {"eq": "eq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
_ARROW: dict[str, Callable[[pa.Array, pa.Array], pa.BooleanArray]] = {
    "eq": pc.equal,
    "lt": pc.less,
    "lte": pc.less_equal,
    "gt": pc.greater,
    "gte": pc.greater_equal,
}
_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "lt": np.less,
    "lte": np.less_equal,
    "gt": np.greater,
    "gte": np.greater_equal,
}


@dataclass(frozen=True)
class Side:
    """Values in a type that Arrow computes with, dates and times as counts, and the type they are of."""

    values: pa.Array
    type: pa.DataType


def compare_arrays(how: str, one: Side, other: Side) -> pa.BooleanArray:
    """Null where either is; columns of these types can be compared, or the other holds nothing but nulls."""
    if types.is_null(other.type):
        return array_of([False] * len(one.values), pa.bool_())
    kind = kind_of(one.type)
    if kind in NUMBERS:
        return _numbers(how, one, other)
    if kind in COUNTED and unit_ns(one.type) != unit_ns(other.type):
        return _counts(how, one, other)
    if one.values.type != other.values.type:
        return _ARROW[how](one.values.cast(pa.int64()), other.values.cast(pa.int64()))
    return _ARROW[how](one.values, other.values)


def _numbers(how: str, one: Side, other: Side) -> pa.BooleanArray:
    if types.is_floating(one.type) and not types.is_floating(other.type):
        return _numbers(_MIRRORED[how], other, one)
    if types.is_floating(other.type):
        if types.is_integer(one.type) and one.type.bit_width == 64:
            return _integers_and_floats(how, one, other)
        return _floats(how, _as_float(one.values), _as_float(other.values))
    return _exact_numbers(how, one, other)


def _exact_numbers(how: str, one: Side, other: Side) -> pa.BooleanArray:
    a, b = one.values, other.values
    signed = (
        types.is_integer(one.type) and types.is_integer(other.type) and pa.uint64() not in (a.type, b.type)
    )
    if a.type == b.type or (signed and a.type.bit_width == b.type.bit_width == 64):
        return _ARROW[how](a, b)
    if signed:
        return _ARROW[how](a.cast(pa.int64()), b.cast(pa.int64()))
    wide = pa.decimal256(76, common_decimal(one.type, other.type)[1])
    return _ARROW[how](a.cast(wide), b.cast(wide))


def _as_float(values: pa.Array) -> pa.Array:
    """A decimal as the nearest one."""
    return (values.cast(pa.string()) if types.is_decimal(values.type) else values).cast(pa.float64())


def _floats(how: str, one: pa.Array, other: pa.Array) -> pa.BooleanArray:
    """NaN equals itself and is greater than every number."""
    a, b = to_numpy(one), to_numpy(other)
    nan, beside = np.isnan(a), np.isnan(b)
    met = np.where(nan | beside, _NUMPY[how](nan.astype(int), beside.astype(int)), _NUMPY[how](a, b))
    return _where_both(met, one, other)


def _integers_and_floats(how: str, one: Side, other: Side) -> pa.BooleanArray:
    """The float is rounded to a whole number in the direction that changes nothing."""
    numbers, floats = to_numpy(one.values), to_numpy(other.values.cast(pa.float64()))
    low, high = (float(np.iinfo(numbers.dtype).min), 2.0 ** (64 - (numbers.dtype.kind == "i")))
    whole = np.ceil(floats) if how in ("lt", "gte") else np.floor(floats)
    above, below = ~(whole < high), whole < low
    met = _NUMPY[how](numbers, np.where(above | below, 0, whole).astype(numbers.dtype))
    met = np.where(above, how in ("lt", "lte"), np.where(below, how in ("gt", "gte"), met))
    return _where_both(met & (floats == whole) if how == "eq" else met, one.values, other.values)


def _counts(how: str, one: Side, other: Side) -> pa.BooleanArray:
    """The count in finer units is rounded to coarser ones in the direction that changes nothing."""
    if unit_ns(one.type) < unit_ns(other.type):
        return _counts(_MIRRORED[how], other, one)
    coarse, fine = to_numpy(one.values), to_numpy(other.values)
    whole, rest = np.divmod(fine, unit_ns(one.type) // unit_ns(other.type))
    met = _NUMPY[how](coarse, whole + (rest != 0) if how in ("lt", "gte") else whole)
    return _where_both(met & (rest == 0) if how == "eq" else met, one.values, other.values)


def _where_both(met: np.ndarray, one: pa.Array, other: pa.Array) -> pa.BooleanArray:
    return pc.and_(from_numpy(np.asarray(met)), pc.and_(pc.is_valid(one), pc.is_valid(other)))
