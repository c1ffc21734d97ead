"""Evaluates a bound filter as a mask over rows in memory."""

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

from lamella.core.arrow.arrays import from_numpy, to_numpy
from lamella.core.arrow.nested_values import Place, is_list, project
from lamella.core.filters.binding import BoundPredicate
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate, fold, path_in_item
from lamella.core.filters.kinds import (
    AS_THEY_ARE,
    COUNTED_KINDS,
    NUMBERS,
    Kind,
    common_decimal,
    kind_of,
    value_type,
)
from lamella.core.filters.operators import OPERATORS, Operand
from lamella.core.filters.predicate_values import BoundReference, as_regex
from lamella.core.filters.temporal import unit_ns
from lamella.core.filters.values import (
    float_width,
    narrow,
    narrow_division,
    narrow_float,
    narrow_values,
    value_range,
)


def typed_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """An array of a type with which `core.filters.to_arrow` computes: text, bytes, booleans, numbers, and
    decimals, whose values are unscaled integers."""
    if types.is_large_string(type_):
        return _variable([value.encode() for value in values], type_)
    if types.is_large_binary(type_):
        return _variable(values, type_)
    if types.is_boolean(type_):
        bits = np.packbits(np.asarray(values, dtype=bool), bitorder="little")
        return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(bits)])
    if types.is_decimal(type_):
        width = type_.bit_width // 8
        data = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
    else:
        data = np.array(values, dtype=type_.to_pandas_dtype()).tobytes()
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(data)])


def scalar_of(value: Any, type_: pa.DataType) -> pa.Scalar:
    return typed_array([value], type_)[0]


def _variable(values: Sequence[bytes], type_: pa.DataType) -> pa.Array:
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return pa.Array.from_buffers(
        type_, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    )


_MIRROR_OPERATORS = {"eq": "eq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
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
    """Values in a type with which Arrow computes (dates and times as counts), and their original type."""

    values: pa.Array
    type: pa.DataType


def compare_arrays(how: str, left: Side, right: Side) -> pa.BooleanArray:
    """Compare arrays; null if either value is. The types must be comparable, or the other side all null."""
    if types.is_null(right.type):
        return typed_array([False] * len(left.values), pa.bool_())
    kind = kind_of(left.type)
    if kind in NUMBERS:
        return _numbers(how, left, right)
    if kind in COUNTED_KINDS and unit_ns(left.type) != unit_ns(right.type):
        return _counts(how, left, right)
    if left.values.type != right.values.type:
        return _ARROW[how](left.values.cast(pa.int64()), right.values.cast(pa.int64()))
    return _ARROW[how](left.values, right.values)


def _numbers(how: str, left: Side, right: Side) -> pa.BooleanArray:
    if types.is_floating(left.type) and not types.is_floating(right.type):
        return _numbers(_MIRROR_OPERATORS[how], right, left)
    if types.is_floating(right.type):
        if types.is_integer(left.type) and left.type.bit_width == 64:
            return _integers_and_floats(how, left, right)
        return _floats(how, _as_float(left.values), _as_float(right.values))
    return _exact_numbers(how, left, right)


def _exact_numbers(how: str, left: Side, right: Side) -> pa.BooleanArray:
    a, b = left.values, right.values
    signed = (
        types.is_integer(left.type) and types.is_integer(right.type) and pa.uint64() not in (a.type, b.type)
    )
    if a.type == b.type or (signed and a.type.bit_width == b.type.bit_width == 64):
        return _ARROW[how](a, b)
    if signed:
        return _ARROW[how](a.cast(pa.int64()), b.cast(pa.int64()))
    wide = pa.decimal256(76, common_decimal(left.type, right.type)[1])
    return _ARROW[how](a.cast(wide), b.cast(wide))


def _as_float(values: pa.Array) -> pa.Array:
    """The values as floats; a decimal becomes the nearest float."""
    return (values.cast(pa.string()) if types.is_decimal(values.type) else values).cast(pa.float64())


def _floats(how: str, left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """Compare floats: NaN equals itself and is greater than every number."""
    a, b = to_numpy(left), to_numpy(right)
    nan, beside = np.isnan(a), np.isnan(b)
    hits = np.where(nan | beside, _NUMPY[how](nan.astype(int), beside.astype(int)), _NUMPY[how](a, b))
    return _and_valid(hits, left, right)


def _integers_and_floats(how: str, left: Side, right: Side) -> pa.BooleanArray:
    """Compare after rounding the float to a whole number in the direction that does not change the result."""
    numbers, floats = to_numpy(left.values), to_numpy(right.values.cast(pa.float64()))
    low, high = (float(np.iinfo(numbers.dtype).min), 2.0 ** (64 - (numbers.dtype.kind == "i")))
    whole = np.ceil(floats) if how in ("lt", "gte") else np.floor(floats)
    above, below = ~(whole < high), whole < low
    hits = _NUMPY[how](numbers, np.where(above | below, 0, whole).astype(numbers.dtype))
    hits = np.where(above, how in ("lt", "lte"), np.where(below, how in ("gt", "gte"), hits))
    return _and_valid(hits & (floats == whole) if how == "eq" else hits, left.values, right.values)


def _counts(how: str, left: Side, right: Side) -> pa.BooleanArray:
    """Compare after rounding the finer count to the coarser unit in the direction that does not change the
    result."""
    if unit_ns(left.type) < unit_ns(right.type):
        return _counts(_MIRROR_OPERATORS[how], right, left)
    coarse, fine = to_numpy(left.values), to_numpy(right.values)
    whole, remainder = np.divmod(fine, unit_ns(left.type) // unit_ns(right.type))
    hits = _NUMPY[how](coarse, whole + (remainder != 0) if how in ("lt", "gte") else whole)
    return _and_valid(hits & (remainder == 0) if how == "eq" else hits, left.values, right.values)


def _and_valid(hits: np.ndarray, left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    return pc.and_(from_numpy(np.asarray(hits)), pc.and_(pc.is_valid(left), pc.is_valid(right)))


Items = tuple[pa.Array, np.ndarray, np.ndarray]
"""The items, and the start and stop of each list among them; undefined for null lists."""


def item_at(lists: pa.Array, number: int) -> pa.Array:
    """The item with this index, from 0; null if the list is null or too short."""
    items, starts, stops = items_of(lists)
    present = to_numpy(lists.is_valid()) & (stops - starts > number)
    return items.take(from_numpy(np.where(present, starts + number, 0), valid=present))


def items_of(lists: pa.Array) -> Items:
    if types.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        starts = np.arange(len(lists)) * size
        return lists.values.slice(lists.offset * size, len(lists) * size), starts, starts + size
    offsets = to_numpy(lists.offsets).astype(np.int64)
    if types.is_list_view(lists.type) or types.is_large_list_view(lists.type):
        return lists.values, offsets, offsets + to_numpy(lists.sizes).astype(np.int64)
    first, stop = int(offsets[0]), int(offsets[-1])
    return lists.values.slice(first, stop - first), offsets[:-1] - first, offsets[1:] - first


T = TypeVar("T")

_COMPARISONS = {
    "eq": pc.equal,
    "lt": pc.less,
    "lte": pc.less_equal,
    "gt": pc.greater,
    "gte": pc.greater_equal,
}


FEW_VALUES = 4
"""Up to this many values are compared one by one, which is faster than a set lookup for each row."""


@dataclass(frozen=True)
class ValueSet:
    """Arrow values that a condition accepts. NaN is separate: a set distinguishes NaNs by their sign."""

    values: pa.Array
    nan: bool = False


class ArrowOperand(Operand[pa.BooleanArray]):
    """A column as an Arrow array. Case is folded by Arrow's Unicode tables, which are a year or two newer
    than DuckDB's."""

    def __init__(self, array: pa.Array, ignore_case: bool, memory: dict[Any, Any] | None = None) -> None:
        """`memory` caches what was prepared from the same predicate's values, by purpose and type."""
        self._memory = {} if memory is None else memory
        self.array, self._type, self._kind = array, value_type(array.type), kind_of(array.type)
        self._raw = _computable(array, self._kind)
        self._ignore_case = ignore_case
        folds = ignore_case and self._kind is Kind.TEXT
        self._array = pc.utf8_lower(self._raw) if folds else self._raw

    def compare(self, how: str, value: Any) -> pa.BooleanArray:
        if isinstance(value, ArrowOperand):
            return _sure(compare_arrays(how, self._side, value._side))
        if self._kind in AS_THEY_ARE:
            return self._compare(how, self._fold(value))
        if self._kind is Kind.FLOAT:
            return self._compare_float(how, value)
        narrowed = self._memoize((how, value), lambda: narrow(how, value, *value_range(self._type)))
        return self.always(narrowed) if isinstance(narrowed, bool) else self._compare(*narrowed)

    def one_of(self, values: Sequence[Any]) -> pa.BooleanArray:
        if not values:
            return self.always(False)
        members = self._memoize("one of", lambda: self._value_set(values))
        hits = self._among(members.values)
        return pc.or_(hits, self._is_nan) if members.nan else hits

    def contains(self, text: str) -> pa.BooleanArray:
        return _sure(pc.match_substring(self._array, self._fold(text)))

    def starts_with(self, text: str) -> pa.BooleanArray:
        return _sure(pc.starts_with(self._array, self._fold(text)))

    def ends_with(self, text: str) -> pa.BooleanArray:
        return _sure(pc.ends_with(self._array, self._fold(text)))

    def like(self, pattern: str) -> pa.BooleanArray:
        return _sure(pc.match_substring_regex(self._array, as_regex(self._fold(pattern))))

    def regex(self, pattern: str) -> pa.BooleanArray:
        return _sure(pc.match_substring_regex(self._raw, pattern, ignore_case=self._ignore_case))

    def leaves(self, divisor: int, remainder: int) -> pa.BooleanArray:
        floats = self._kind is Kind.FLOAT
        exactly = narrow_division(divisor, remainder, *((0, divisor) if floats else value_range(self._type)))
        if exactly is not None:
            return self.one_of(exactly)
        kind = np.dtype(float) if floats else np.dtype(self._type.to_pandas_dtype())
        with np.errstate(invalid="ignore"):
            actual = np.fmod(to_numpy(self._array).astype(kind), kind.type(divisor))
        return self._where_valid(actual == remainder)

    def any_item(self, test: Callable[[ArrowOperand], pa.BooleanArray]) -> pa.BooleanArray:
        items, starts, stops = items_of(self.array)
        hits = to_numpy(test(ArrowOperand(items, self._ignore_case, self._memory)))
        before = np.concatenate([[0], np.cumsum(hits)])
        return self._where_valid(before[stops] > before[starts])

    def has_size(self, size: int) -> pa.BooleanArray:
        _items, starts, stops = items_of(self.array)
        return self._where_valid(stops - starts == size)

    def always(self, answer: bool) -> pa.BooleanArray:
        return pc.is_valid(self._array) if answer else typed_array([False] * len(self._array), pa.bool_())

    def is_null(self) -> pa.BooleanArray:
        return pc.is_null(self._array)

    def opposite(self, condition: pa.BooleanArray) -> pa.BooleanArray:
        return pc.invert(condition)

    def both(self, left: pa.BooleanArray, right: pa.BooleanArray) -> pa.BooleanArray:
        return pc.and_(left, right)

    def either(self, left: pa.BooleanArray, right: pa.BooleanArray) -> pa.BooleanArray:
        return pc.or_(left, right)

    def _among(self, members: pa.Array) -> pa.BooleanArray:
        if not 0 < len(members) <= FEW_VALUES:
            return pc.is_in(self._array, value_set=members)
        return _sure(reduce(pc.or_, (pc.equal(self._array, value) for value in members)))

    @property
    def _side(self) -> Side:
        return Side(self._array, self._type)

    def _where_valid(self, hits: np.ndarray) -> pa.BooleanArray:
        return pc.and_(from_numpy(np.asarray(hits)), pc.is_valid(self._array))

    def _fold(self, value: Any) -> Any:
        if not self._ignore_case:
            return value
        return pc.utf8_lower(typed_array([value], pa.large_string()))[0].as_py()

    def _compare(self, how: str, value: Any) -> pa.BooleanArray:
        return _sure(_COMPARISONS[how](self._array, self._scalar(value)))

    def _scalar(self, value: Any) -> pa.Scalar:
        return self._memoize(("scalar", value), lambda: scalar_of(value, self._array.type))

    def _memoize(self, question: Hashable, make: Callable[[], T]) -> T:
        """Prepare something from a condition's values for columns of this type once, not for each block of
        rows."""
        key = (question, self._type)
        if key not in self._memory:
            self._memory[key] = make()
        answer: T = self._memory[key]
        return answer

    def _value_set(self, values: Sequence[Any]) -> ValueSet:
        if self._kind in AS_THEY_ARE:
            folded = [self._fold(value) for value in values] if self._ignore_case else values
            return ValueSet(typed_array(folded, self._array.type))
        if self._kind is Kind.FLOAT:
            return self._wanted_floats(values)
        return ValueSet(typed_array(narrow_values(values, *value_range(self._type)), self._array.type))

    def _wanted_floats(self, values: Sequence[Any]) -> ValueSet:
        narrowed = (narrow_float("eq", value, float_width(self._type)) for value in values)
        numbers = [pair[1] for pair in narrowed if not isinstance(pair, bool)]
        plain = [number for number in numbers if not math.isnan(number)]
        zeros = [-0.0, 0.0] if 0.0 in plain else []
        return ValueSet(typed_array(plain + zeros, self._array.type), len(plain) < len(numbers))

    def _compare_float(self, how: str, value: Any) -> pa.BooleanArray:
        narrowed = self._memoize((how, value), lambda: narrow_float(how, value, float_width(self._type)))
        if isinstance(narrowed, bool):
            return self.always(narrowed)
        how, number = narrowed
        if math.isnan(number):
            return self._compare_nan(how)
        if how not in _OPPOSITES:
            return self._compare(how, number)
        opposite = _COMPARISONS[_OPPOSITES[how]](self._array, self._scalar(number))
        return _sure(pc.invert(opposite))  # also true for NaN

    def _compare_nan(self, how: str) -> pa.BooleanArray:
        """Compare with NaN, which equals itself and is greater than every number."""
        if how in ("eq", "gte"):
            return self._is_nan
        if how == "lt":
            return pc.and_(pc.is_valid(self._array), pc.invert(self._is_nan))
        return self.always(how == "lte")

    @property
    def _is_nan(self) -> pa.BooleanArray:
        return _sure(pc.is_nan(self._array))


_OPPOSITES = {"gt": "lte", "gte": "lt"}


def _sure(condition: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(condition, _FALSE) if condition.null_count else condition


_FALSE = scalar_of(False, pa.bool_())


def _computable(array: pa.Array, kind: Kind) -> pa.Array:
    """The same values in a type that Arrow's kernels accept; dates, times and durations as counts."""
    if types.is_dictionary(array.type):
        return _computable(array.dictionary_decode(), kind)
    if kind is Kind.TEXT:
        return array.cast(pa.large_string())
    if kind is Kind.UUID:
        return array.storage.cast(pa.large_binary())
    if kind is Kind.BINARY:
        return array.cast(pa.large_binary())
    if kind in COUNTED_KINDS:
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if types.is_float16(array.type):
        return array.cast(pa.float32())
    if kind is Kind.DECIMAL and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array


ROWS_AT_ONCE = 65_536
Find = Callable[[Place], pa.Array]
"""Returns the values of a column, or of a field inside one."""


def mask(
    bound: Filter, rows: pa.Table | pa.RecordBatch, check: Callable[[], None] | None = None
) -> pa.BooleanArray:
    """A mask with True for each row that meets the filter; without nulls, as long as `rows`.

    `check` is called before each condition and block of rows, and may raise to stop.
    """
    batches = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches(ROWS_AT_ONCE)
    parts = [_mask(bound, batch, check) for batch in batches]
    return pa.concat_arrays(parts) if parts else typed_array([], pa.bool_())


def _mask(bound: Filter, batch: pa.RecordBatch, check: Callable[[], None] | None) -> pa.BooleanArray:
    def find(place: Place) -> pa.Array:
        if not place.path:
            return batch.column(place.column)
        around = place.outer_list
        if around is not None:  # a column may have the same name as one of the items
            return _at(find(around), place.path[len(around.path) :])
        if place.name in batch.schema.names:
            return batch.column(place.name)
        return project(batch.column(place.column), place.path)

    return _mask_of(bound, find, batch.num_rows, check)


def _mask_of(
    bound: Filter, find: Find, num_rows: int, check: Callable[[], None] | None = None
) -> pa.BooleanArray:
    def leaf(predicate: Predicate) -> pa.BooleanArray:
        if check is not None:
            check()
        if not isinstance(predicate, BoundPredicate):
            raise TypeError(f"bind() the filter first: {predicate!r}")
        return _test(predicate, find(predicate.place), find)

    return fold(bound, leaf, lambda node, parts: _branch(node, parts, num_rows))


def _test(predicate: BoundPredicate, array: pa.Array, find: Find) -> pa.BooleanArray:
    operator = OPERATORS[predicate.operator]
    if predicate.has_only_values:
        if isinstance(array, pa.DictionaryArray):
            return _test_dictionary(predicate, array, find)
        operand = ArrowOperand(array, predicate.ignore_case, predicate.memo)
        return operator.test(operand, predicate.exact)

    def value(exact: Any) -> Any:
        if isinstance(exact, BoundReference):
            return ArrowOperand(find(exact.place), predicate.ignore_case)
        return _of_items(exact) if isinstance(exact, Filter) else exact

    operand = ArrowOperand(array, predicate.ignore_case)
    return operator.test(operand, list(map(value, predicate.exact)))


def _at(values: pa.Array, path: tuple[str, ...]) -> pa.Array:
    """The values at `path`, which may lead into lists; null where a list is null or too short."""
    for step in path:
        values = item_at(values, int(step)) if is_list(values.type) else project(values, (step,))
    return values


def _of_items(bound: Filter) -> Callable[[ArrowOperand], pa.BooleanArray]:
    def test_items(items: ArrowOperand) -> pa.BooleanArray:
        def find(place: Place) -> pa.Array:
            return _at(items.array, path_in_item(place, items.array.type))

        return _mask_of(bound, find, len(items.array))

    return test_items


def _test_dictionary(predicate: BoundPredicate, array: pa.DictionaryArray, find: Find) -> pa.BooleanArray:
    """Test each distinct value once if there are fewer of them than rows; null is tested as an additional
    value."""
    distinct = array.dictionary
    if len(distinct) > len(array):
        return _test(predicate, array.dictionary_decode(), find)
    tested = _test(predicate, pa.concat_arrays([distinct, pa.nulls(1, distinct.type)]), find)
    null_place = typed_array([len(distinct)], pa.int64())[0]
    return tested.take(pc.fill_null(array.indices.cast(pa.int64()), null_place))


def _branch(node: Branch, parts: list[pa.BooleanArray], num_rows: int) -> pa.BooleanArray:
    if isinstance(node, Not):
        return pc.invert(parts[0])
    if not parts:
        return typed_array([isinstance(node, And)] * num_rows, pa.bool_())
    join = pc.and_ if isinstance(node, And) else pc.or_
    result = parts[0]
    for part in parts[1:]:
        result = join(result, part)
    return result


WIDTH = 32
_SIGN = 1 << (8 * WIDTH - 1)


def ordered_bytes(count: int) -> bytes:
    """The bytes of a decimal with this unscaled value, which sort like the number."""
    return (count + _SIGN).to_bytes(WIDTH, "big")


def sort_keys(decimals: pa.Array) -> pa.Array:
    """The same for an array of decimal256; null stays null."""
    valid, data = decimals.buffers()
    slots = decimals.offset + len(decimals)
    buffer = np.zeros((slots, WIDTH), np.uint8)
    if data is not None:
        buffer[:] = np.frombuffer(data, np.uint8, count=slots * WIDTH).reshape(slots, WIDTH)[:, ::-1]
    buffer[:, 0] ^= 0x80
    buffers = [valid, pa.py_buffer(buffer)]
    return pa.Array.from_buffers(pa.binary(WIDTH), len(decimals), buffers, offset=decimals.offset)


def decimals(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The inverse of `sort_keys`: an array of decimal256 type `kind`, from bytes."""
    valid, data = values.cast(pa.binary(WIDTH)).buffers()
    slots = values.offset + len(values)
    counts = np.zeros((slots, WIDTH), np.uint8)
    if data is not None:
        counts[:] = np.frombuffer(data, np.uint8, count=slots * WIDTH).reshape(slots, WIDTH)[:, ::-1]
    counts[:, -1] ^= 0x80
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(counts)], offset=values.offset)
