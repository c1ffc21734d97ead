"""Lists of Arrow in any layout as their items, end to end, and where each list lies among them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types

from lamella.core.arrays import from_numpy, to_numpy

Items = tuple[pa.Array, np.ndarray, np.ndarray]
"""The items, and the first and the stop of each list among them; what stands for a list that is
null is undefined."""


def item_at(lists: pa.Array, number: int) -> pa.Array:
    """The item of this number, from 0 on; null where a list is null or too short."""
    items, starts, stops = items_of(lists)
    there = to_numpy(lists.is_valid()) & (stops - starts > number)
    return items.take(from_numpy(np.where(there, starts + number, 0), valid=there))


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
