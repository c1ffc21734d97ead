"""A bound filter as a mask over rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.filters.arrow_lists import item_at
from lamella.core.filters.arrow_operand import ArrowOperand
from lamella.core.filters.arrow_values import array_of
from lamella.core.filters.binding import Bound
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate
from lamella.core.filters.items import path_in_item
from lamella.core.filters.operators import OPERATORS
from lamella.core.filters.reading import BoundReference
from lamella.core.filters.walk import fold
from lamella.core.nested import Place, is_list, project

ROWS_AT_ONCE = 65_536
Find = Callable[[Place], pa.Array]
"""The values of a column, or of a field inside one."""


def mask(
    bound: Filter, rows: pa.Table | pa.RecordBatch, check: Callable[[], None] | None = None
) -> pa.BooleanArray:
    """True for each row that meets the filter; without nulls, as long as `rows`.

    `check` is called before each condition and block of rows: what it raises ends the work.
    """
    batches = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches(ROWS_AT_ONCE)
    parts = [_mask(bound, batch, check) for batch in batches]
    return pa.concat_arrays(parts) if parts else array_of([], pa.bool_())


def _mask(bound: Filter, batch: pa.RecordBatch, check: Callable[[], None] | None) -> pa.BooleanArray:
    def find(place: Place) -> pa.Array:
        if not place.path:
            return batch.column(place.column)
        around = place.outer_list
        if around is not None:  # a column may be called like one of the items
            return _at(find(around), place.path[len(around.path) :])
        if place.name in batch.schema.names:
            return batch.column(place.name)
        return project(batch.column(place.column), place.path)

    return _met(bound, find, batch.num_rows, check)


def _met(
    bound: Filter, find: Find, num_rows: int, check: Callable[[], None] | None = None
) -> pa.BooleanArray:
    def leaf(predicate: Predicate) -> pa.BooleanArray:
        if check is not None:
            check()
        if not isinstance(predicate, Bound):
            raise TypeError(f"bind() the filter first: {predicate!r}")
        return _test(predicate, find(predicate.place), find)

    return fold(bound, leaf, lambda node, parts: _branch(node, parts, num_rows))


def _test(predicate: Bound, array: pa.Array, find: Find) -> pa.BooleanArray:
    operator = OPERATORS[predicate.operator]
    if predicate.plain:
        if isinstance(array, pa.DictionaryArray):
            return _test_dictionary(predicate, array, find)
        operand = ArrowOperand(array, predicate.ignore_case, predicate.made)
        return operator.test(operand, predicate.exact)

    def value(exact: Any) -> Any:
        if isinstance(exact, BoundReference):
            return ArrowOperand(find(exact.place), predicate.ignore_case)
        return _of_items(exact) if isinstance(exact, Filter) else exact

    operand = ArrowOperand(array, predicate.ignore_case)
    return operator.test(operand, list(map(value, predicate.exact)))


def _at(values: pa.Array, path: tuple[str, ...]) -> pa.Array:
    """What is at `path`, which may lead into lists: null where a list is null or too short."""
    for step in path:
        values = item_at(values, int(step)) if is_list(values.type) else project(values, (step,))
    return values


def _of_items(bound: Filter) -> Callable[[ArrowOperand], pa.BooleanArray]:
    def met(items: ArrowOperand) -> pa.BooleanArray:
        def find(place: Place) -> pa.Array:
            return _at(items.array, path_in_item(place, items.array.type))

        return _met(bound, find, len(items.array))

    return met


def _test_dictionary(predicate: Bound, array: pa.DictionaryArray, find: Find) -> pa.BooleanArray:
    """Each distinct value is tested once where rows are more than these; null is the one after the last."""
    distinct = array.dictionary
    if len(distinct) > len(array):
        return _test(predicate, array.dictionary_decode(), find)
    tested = _test(predicate, pa.concat_arrays([distinct, pa.nulls(1, distinct.type)]), find)
    null_place = array_of([len(distinct)], pa.int64())[0]
    return tested.take(pc.fill_null(array.indices.cast(pa.int64()), null_place))


def _branch(node: Branch, parts: list[pa.BooleanArray], num_rows: int) -> pa.BooleanArray:
    if isinstance(node, Not):
        return pc.invert(parts[0])
    if not parts:
        return array_of([isinstance(node, And)] * num_rows, pa.bool_())
    join = pc.and_ if isinstance(node, And) else pc.or_
    result = parts[0]
    for part in parts[1:]:
        result = join(result, part)
    return result
