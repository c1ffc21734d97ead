"""A column of an Arrow batch. Conditions are Boolean arrays without nulls."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.filters.arrow_lists import items_of
from lamella.core.filters.arrow_pairs import Side, compare_arrays
from lamella.core.filters.arrow_values import array_of, scalar_of
from lamella.core.filters.kinds import AS_THEY_ARE, COUNTED, Kind, kind_of, value_type
from lamella.core.filters.like import as_regex
from lamella.core.filters.narrowing import float_width, narrow, narrow_division, narrow_each, narrow_float
from lamella.core.filters.operand import Operand
from lamella.core.filters.values import value_range

T = TypeVar("T")

_COMPARISONS = {
    "eq": pc.equal,
    "lt": pc.less,
    "lte": pc.less_equal,
    "gt": pc.greater,
    "gte": pc.greater_equal,
}


FEW_WANTED = 4
"""So many values are compared one after the other: to look each row up in a set takes longer."""


@dataclass(frozen=True)
class Wanted:
    """Values of Arrow that a condition asks for. NaN is told apart: a set takes one with a sign for another
    than one without."""

    values: pa.Array
    nan: bool = False


class ArrowOperand(Operand[pa.BooleanArray]):
    """Case is folded as Arrow's Unicode tables know it, which are a year
    or two newer than DuckDB's."""

    def __init__(self, array: pa.Array, ignore_case: bool, made: dict[Any, Any] | None = None) -> None:
        """`made`: what was made of the same predicate's values before, by what it is and by type."""
        self._made = {} if made is None else made
        self.array, self._type, self._kind = array, value_type(array.type), kind_of(array.type)
        self._raw = _computable(array, self._kind)
        self._ignore_case = ignore_case
        folds = ignore_case and self._kind is Kind.TEXT
        self._array = pc.utf8_lower(self._raw) if folds else self._raw

    def compare(self, how: str, value: Any) -> pa.BooleanArray:
        if isinstance(value, ArrowOperand):
            return _sure(compare_arrays(how, self._side, value._side))
        if self._kind in AS_THEY_ARE:
            return self._compare(how, self._folded(value))
        if self._kind is Kind.FLOAT:
            return self._compare_float(how, value)
        narrowed = self._once((how, value), lambda: narrow(how, value, *value_range(self._type)))
        return self.always(narrowed) if isinstance(narrowed, bool) else self._compare(*narrowed)

    def one_of(self, values: Sequence[Any]) -> pa.BooleanArray:
        if not values:
            return self.always(False)
        wanted = self._once("one of", lambda: self._wanted(values))
        found = self._among(wanted.values)
        return pc.or_(found, self._is_nan) if wanted.nan else found

    def contains(self, text: str) -> pa.BooleanArray:
        return _sure(pc.match_substring(self._array, self._folded(text)))

    def starts_with(self, text: str) -> pa.BooleanArray:
        return _sure(pc.starts_with(self._array, self._folded(text)))

    def ends_with(self, text: str) -> pa.BooleanArray:
        return _sure(pc.ends_with(self._array, self._folded(text)))

    def like(self, pattern: str) -> pa.BooleanArray:
        return _sure(pc.match_substring_regex(self._array, as_regex(self._folded(pattern))))

    def regex(self, pattern: str) -> pa.BooleanArray:
        return _sure(pc.match_substring_regex(self._raw, pattern, ignore_case=self._ignore_case))

    def leaves(self, divisor: int, remainder: int) -> pa.BooleanArray:
        floats = self._kind is Kind.FLOAT
        exactly = narrow_division(divisor, remainder, *((0, divisor) if floats else value_range(self._type)))
        if exactly is not None:
            return self.one_of(exactly)
        kind = np.dtype(float) if floats else np.dtype(self._type.to_pandas_dtype())
        with np.errstate(invalid="ignore"):
            left = np.fmod(to_numpy(self._array).astype(kind), kind.type(divisor))
        return self._where_valid(left == remainder)

    def any_item(self, test: Callable[[ArrowOperand], pa.BooleanArray]) -> pa.BooleanArray:
        items, starts, stops = items_of(self.array)
        met = to_numpy(test(ArrowOperand(items, self._ignore_case, self._made)))
        before = np.concatenate([[0], np.cumsum(met)])
        return self._where_valid(before[stops] > before[starts])

    def has_size(self, size: int) -> pa.BooleanArray:
        _items, starts, stops = items_of(self.array)
        return self._where_valid(stops - starts == size)

    def always(self, answer: bool) -> pa.BooleanArray:
        return pc.is_valid(self._array) if answer else array_of([False] * len(self._array), pa.bool_())

    def is_null(self) -> pa.BooleanArray:
        return pc.is_null(self._array)

    def opposite(self, condition: pa.BooleanArray) -> pa.BooleanArray:
        return pc.invert(condition)

    def both(self, one: pa.BooleanArray, other: pa.BooleanArray) -> pa.BooleanArray:
        return pc.and_(one, other)

    def either(self, one: pa.BooleanArray, other: pa.BooleanArray) -> pa.BooleanArray:
        return pc.or_(one, other)

    def _among(self, wanted: pa.Array) -> pa.BooleanArray:
        if not 0 < len(wanted) <= FEW_WANTED:
            return pc.is_in(self._array, value_set=wanted)
        return _sure(reduce(pc.or_, (pc.equal(self._array, value) for value in wanted)))

    @property
    def _side(self) -> Side:
        return Side(self._array, self._type)

    def _where_valid(self, met: np.ndarray) -> pa.BooleanArray:
        return pc.and_(from_numpy(np.asarray(met)), pc.is_valid(self._array))

    def _folded(self, value: Any) -> Any:
        if not self._ignore_case:
            return value
        return pc.utf8_lower(array_of([value], pa.large_string()))[0].as_py()

    def _compare(self, how: str, value: Any) -> pa.BooleanArray:
        compared = self._once(("scalar", value), lambda: scalar_of(value, self._array.type))
        return _sure(_COMPARISONS[how](self._array, compared))

    def _once(self, wanted: Hashable, make: Callable[[], T]) -> T:
        """What is made of a condition's values for columns of this type: once, not for each block of rows."""
        key = (wanted, self._type)
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def _wanted(self, values: Sequence[Any]) -> Wanted:
        if self._kind in AS_THEY_ARE:
            folded = [self._folded(value) for value in values] if self._ignore_case else values
            return Wanted(array_of(folded, self._array.type))
        if self._kind is Kind.FLOAT:
            return self._wanted_floats(values)
        return Wanted(array_of(narrow_each(values, *value_range(self._type)), self._array.type))

    def _wanted_floats(self, values: Sequence[Any]) -> Wanted:
        narrowed = (narrow_float("eq", value, float_width(self._type)) for value in values)
        numbers = [found[1] for found in narrowed if not isinstance(found, bool)]
        plain = [number for number in numbers if not math.isnan(number)]
        zeros = [-0.0, 0.0] if 0.0 in plain else []
        return Wanted(array_of(plain + zeros, self._array.type), len(plain) < len(numbers))

    def _compare_float(self, how: str, value: Any) -> pa.BooleanArray:
        narrowed = narrow_float(how, value, float_width(self._type))
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, number = narrowed
        if math.isnan(number):
            return self._compare_nan(how)
        found = self._compare(how, number)
        return pc.or_(found, self._is_nan) if how in ("gt", "gte") else found

    def _compare_nan(self, how: str) -> pa.BooleanArray:
        """NaN equals itself and is greater than every number."""
        if how in ("eq", "gte"):
            return self._is_nan
        if how == "lt":
            return pc.and_(pc.is_valid(self._array), pc.invert(self._is_nan))
        return self.always(how == "lte")

    @property
    def _is_nan(self) -> pa.BooleanArray:
        return _sure(pc.is_nan(self._array))


def _sure(condition: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(condition, _FALSE) if condition.null_count else condition


_FALSE = scalar_of(False, pa.bool_())


def _computable(array: pa.Array, kind: Kind) -> pa.Array:
    """The same values in a type that Arrow's kernels take; dates, times and spans as their counts."""
    if types.is_dictionary(array.type):
        return _computable(array.dictionary_decode(), kind)
    if kind is Kind.TEXT:
        return array.cast(pa.large_string())
    if kind is Kind.UUID:
        return array.storage.cast(pa.large_binary())
    if kind is Kind.BINARY:
        return array.cast(pa.large_binary())
    if kind in COUNTED:
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if types.is_float16(array.type):
        return array.cast(pa.float32())
    if kind is Kind.DECIMAL and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array
