"""Columns of lists taken apart into lengths and items, and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_numpy, to_numpy

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
    """`items` of all lists end to end; a list that is null has length 0 and is not `valid`."""

    lengths: np.ndarray
    valid: np.ndarray
    items: pa.Array

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each list begins among the items."""
        starts: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return starts

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where the items of these lists are, list after list."""
        return ranges(self.starts[rows], self.lengths[rows])


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """`starts[0]`, `starts[0] + 1`, … for `lengths[0]` numbers, then those from `starts[1]` on, and so on."""
    before = np.cumsum(lengths) - lengths
    numbers: np.ndarray = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)
    return numbers


def is_list(kind: pa.DataType) -> bool:
    """Lists of any layout, and maps, which are lists of entries."""
    return any(test(kind) for test in _LAYOUTS)


def lists_of(values: pa.Array) -> Lists:
    if pa.types.is_map(values.type):
        values = values.cast(pa.list_(pa.struct([values.type.key_field, values.type.item_field])))
    if len(values) and not values.null_count and isinstance(values, (pa.ListArray, pa.LargeListArray)):
        return _all_there(values)
    valid, lengths = np.ones(len(values), bool), to_numpy(pc.list_value_length(values)).astype(np.int64)
    if values.null_count:
        valid = to_numpy(values.is_valid())
        lengths = np.where(valid, lengths, 0)
    return Lists(lengths, valid, pc.list_flatten(values))


def _all_there(values: pa.ListArray | pa.LargeListArray) -> Lists:
    """Several times as quick as Arrow's functions, which look at each list for a null."""
    ends = to_numpy(values.offsets)
    first, last = int(ends[0]), int(ends[-1])
    items = values.values.slice(first, last - first)
    return Lists(np.diff(ends).astype(np.int64), np.ones(len(values), bool), items)


def as_array(lists: Lists) -> pa.Array:
    """A `list` column, whatever layout the lists came from."""
    ends = np.concatenate([[0], np.cumsum(lists.lengths)]).astype(np.int32)
    bits = None if lists.valid.all() else pa.py_buffer(np.packbits(lists.valid, bitorder="little"))
    kind = pa.list_(lists.items.type)
    buffers = [bits, from_numpy(ends).buffers()[1]]
    return pa.Array.from_buffers(kind, len(lists.lengths), buffers, children=[lists.items])
