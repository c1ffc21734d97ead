"""Compares the values of two columns: null equals null, NaN equals NaN, nested values are compared by
item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, take, to_numpy

_LAYOUTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
    pa.types.is_map,
)


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists as the concatenated `items` of all; a null list has length 0 and is not `valid`."""

    lengths: np.ndarray
    valid: np.ndarray
    items: pa.Array

    @cached_property
    def starts(self) -> np.ndarray:
        """The index of each list's first item."""
        starts: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return starts

    def places(self, rows: np.ndarray) -> np.ndarray:
        """The indices of the items of these lists, list after list."""
        return ranges(self.starts[rows], self.lengths[rows])


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """`starts[0]`, `starts[0] + 1`, … for `lengths[0]` numbers, then those from `starts[1]` on, and so on."""
    before = np.cumsum(lengths) - lengths
    numbers: np.ndarray = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)
    return numbers


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is a list of any layout, or a map, which is a list of entries."""
    return any(test(kind) for test in _LAYOUTS)


def lists_of(values: pa.Array) -> Lists:
    if pa.types.is_map(values.type):
        values = values.cast(pa.list_(pa.struct([values.type.key_field, values.type.item_field])))
    if len(values) and not values.null_count and isinstance(values, (pa.ListArray, pa.LargeListArray)):
        return _lists_without_nulls(values)
    valid, lengths = np.ones(len(values), bool), to_numpy(pc.list_value_length(values)).astype(np.int64)
    if values.null_count:
        valid = to_numpy(values.is_valid())
        lengths = np.where(valid, lengths, 0)
    return Lists(lengths, valid, pc.list_flatten(values))


def _lists_without_nulls(values: pa.ListArray | pa.LargeListArray) -> Lists:
    """Convert lists without nulls, several times as fast as Arrow's functions, which check each list for
    null."""
    offsets = to_numpy(values.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    items = values.values.slice(first, last - first)
    return Lists(np.diff(offsets).astype(np.int64), np.ones(len(values), bool), items)


def as_array(lists: Lists) -> pa.Array:
    """Make a `list` array, whatever layout the lists had."""
    offsets = np.concatenate([[0], np.cumsum(lists.lengths)]).astype(np.int32)
    bits = None if lists.valid.all() else pa.py_buffer(np.packbits(lists.valid, bitorder="little"))
    kind = pa.list_(lists.items.type)
    buffers = [bits, from_numpy(offsets).buffers()[1]]
    return pa.Array.from_buffers(kind, len(lists.lengths), buffers, children=[lists.items])


def differs(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Row by row, whether two arrays of one type and length differ."""
    if not a.null_count and not b.null_count:
        return _compare(a, b)
    valid_a, valid_b = to_numpy(a.is_valid()), to_numpy(b.is_valid())
    both: np.ndarray = valid_a & valid_b
    different: np.ndarray = valid_a != valid_b
    if both.any():
        different |= both & _compare(a, b)
    return different


def _compare(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Like `differs`, but its result for nulls is meaningless."""
    test = next((test for fits, test in _TESTS if fits(a.type)), _scalars)
    return test(a, b)


def _scalars(a: pa.Array, b: pa.Array) -> np.ndarray:
    try:
        return to_numpy(pc.not_equal(a, b))
    except pa.ArrowNotImplementedError:
        pairs = zip(a, b, strict=True)
        return np.fromiter((not x.equals(y) for x, y in pairs), bool, len(a))


def _floats(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Compare floats: NaN equals NaN, and -0.0 differs from 0.0."""
    x, y = to_numpy(a), to_numpy(b)
    nan = np.isnan(x) & np.isnan(y)
    different: np.ndarray = ((x != y) | (np.signbit(x) != np.signbit(y))) & ~nan
    return different


def _compare_decoded(a: pa.Array, b: pa.Array) -> np.ndarray:
    kind = a.type.value_type
    return differs(a.cast(kind), b.cast(kind))


def _compare_stored(a: pa.Array, b: pa.Array) -> np.ndarray:
    return differs(a.storage, b.storage)


def _structs(a: pa.Array, b: pa.Array) -> np.ndarray:
    different = np.zeros(len(a), bool)
    for place in range(a.type.num_fields):
        different |= differs(pc.struct_field(a, [place]), pc.struct_field(b, [place]))
    return different


def _lists(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Compare lists: by length, then by all items of equally long lists at once."""
    ours, theirs = lists_of(a), lists_of(b)
    different: np.ndarray = ours.lengths != theirs.lengths
    rows = np.flatnonzero(~different & (ours.lengths > 0))
    if len(rows):
        items = differs(take(ours.items, ours.places(rows)), take(theirs.items, theirs.places(rows)))
        starts = np.cumsum(ours.lengths[rows]) - ours.lengths[rows]
        different[rows] = np.logical_or.reduceat(items, starts)
    return different


_TESTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, pa.Array], np.ndarray]], ...] = (
    (pa.types.is_floating, _floats),
    (pa.types.is_dictionary, _compare_decoded),
    (pa.types.is_struct, _structs),
    (is_list, _lists),
    (lambda kind: isinstance(kind, pa.BaseExtensionType), _compare_stored),
)
