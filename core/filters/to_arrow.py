"""A bound filter as a mask over rows in memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from core.filters.arrow_operand import ArrowOperand
from core.filters.arrow_values import array_of
from core.filters.binding import Bound
from core.filters.expr import And, Branch, Filter, Not, Predicate
from core.filters.operators import OPERATORS
from core.filters.walk import fold

ROWS_AT_ONCE = 65_536


def mask(bound: Filter, rows: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
    """True for each row that meets the filter; without nulls, as long as `rows`."""
    batches = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches(ROWS_AT_ONCE)
    parts = [_mask(bound, batch) for batch in batches]
    return pa.concat_arrays(parts) if parts else array_of([], pa.bool_())


def _mask(bound: Filter, batch: pa.RecordBatch) -> pa.BooleanArray:
    def leaf(predicate: Predicate) -> pa.BooleanArray:
        if not isinstance(predicate, Bound):
            raise TypeError(f"bind() the filter first: {predicate!r}")
        return _test(predicate, batch.column(predicate.column))

    def branch(node: Branch, parts: list[pa.BooleanArray]) -> pa.BooleanArray:
        return _branch(node, parts, batch.num_rows)

    return fold(bound, leaf, branch)


def _test(predicate: Bound, array: pa.Array) -> pa.BooleanArray:
    if isinstance(array, pa.DictionaryArray):
        return _test_dictionary(predicate, array)
    operator = OPERATORS[predicate.operator]
    return operator.test(ArrowOperand(array, predicate.ignore_case), predicate.exact)


def _test_dictionary(predicate: Bound, array: pa.DictionaryArray) -> pa.BooleanArray:
    """Each distinct value is tested once; null is the one after the last."""
    distinct = array.dictionary
    tested = _test(predicate, pa.concat_arrays([distinct, pa.nulls(1, distinct.type)]))
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
