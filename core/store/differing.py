"""Which values of two columns differ: null equals null and NaN NaN, and nested values are looked into."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import take, to_numpy
from lamella.core.store.lists import is_list, lists_of


def differs(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Row by row, whether two arrays of one type and length differ."""
    if not a.null_count and not b.null_count:
        return _compared(a, b)
    valid_a, valid_b = to_numpy(a.is_valid()), to_numpy(b.is_valid())
    both: np.ndarray = valid_a & valid_b
    different: np.ndarray = valid_a != valid_b
    if both.any():
        different |= both & _compared(a, b)
    return different


def _compared(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Like `differs`; what it says of nulls does not count."""
    test = next((test for fits, test in _TESTS if fits(a.type)), _scalars)
    return test(a, b)


def _scalars(a: pa.Array, b: pa.Array) -> np.ndarray:
    try:
        return to_numpy(pc.not_equal(a, b))
    except pa.ArrowNotImplementedError:
        pairs = zip(a, b, strict=True)
        return np.fromiter((not x.equals(y) for x, y in pairs), bool, len(a))


def _floats(a: pa.Array, b: pa.Array) -> np.ndarray:
    """NaN is one value, and -0.0 another than 0.0."""
    x, y = to_numpy(a), to_numpy(b)
    nan = np.isnan(x) & np.isnan(y)
    different: np.ndarray = ((x != y) | (np.signbit(x) != np.signbit(y))) & ~nan
    return different


def _decoded(a: pa.Array, b: pa.Array) -> np.ndarray:
    kind = a.type.value_type
    return differs(a.cast(kind), b.cast(kind))


def _stored(a: pa.Array, b: pa.Array) -> np.ndarray:
    return differs(a.storage, b.storage)


def _structs(a: pa.Array, b: pa.Array) -> np.ndarray:
    different = np.zeros(len(a), bool)
    for place in range(a.type.num_fields):
        different |= differs(pc.struct_field(a, [place]), pc.struct_field(b, [place]))
    return different


def _lists(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Of lists equally long, the items are compared, all at once."""
    mine, theirs = lists_of(a), lists_of(b)
    different: np.ndarray = mine.lengths != theirs.lengths
    rows = np.flatnonzero(~different & (mine.lengths > 0))
    if len(rows):
        items = differs(take(mine.items, mine.places(rows)), take(theirs.items, theirs.places(rows)))
        starts = np.cumsum(mine.lengths[rows]) - mine.lengths[rows]
        different[rows] = np.logical_or.reduceat(items, starts)
    return different


_TESTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, pa.Array], np.ndarray]], ...] = (
    (pa.types.is_floating, _floats),
    (pa.types.is_dictionary, _decoded),
    (pa.types.is_struct, _structs),
    (is_list, _lists),
    (lambda kind: isinstance(kind, pa.BaseExtensionType), _stored),
)
