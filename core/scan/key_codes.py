"""Rows of key values, in one column or several, as numbers: which rows have which key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.filters.arrow_values import scalar_of


class KeyCodes:
    """Keys as numbers below their count: column after column, each pair of what was counted so far and the
    next value is counted again. Null equals null, NaN equals NaN, and 0.0 equals -0.0."""

    def __init__(self, keys: Sequence[pa.ChunkedArray]) -> None:
        self._values = [pc.unique(_comparable(column)) for column in keys[1:]]
        self._counted: list[pa.Array] = []
        code = _comparable(keys[0])
        for values, column in zip(self._values, keys[1:], strict=True):
            self._counted.append(pc.unique(code))
            code = _paired(code, self._counted[-1], column, values)
        self._keys = code

    @cached_property
    def first(self) -> np.ndarray:
        """For each key the number of the first one that is equal to it."""
        return to_numpy(pc.index_in(self._keys, value_set=self._keys)).astype(np.int64)

    def found(self, columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows that have a key, and the number of the first key that each has. The columns are of the
        keys' types."""
        code = _comparable(columns[0])
        for counted, values, column in zip(self._counted, self._values, columns[1:], strict=True):
            code = _paired(code, counted, column, values)
        places = pc.index_in(code, value_set=self._keys)
        rows = np.flatnonzero(to_numpy(places.is_valid()))
        return rows, to_numpy(places)[rows].astype(np.int64)


def _paired(code: pa.Array, counted: pa.Array, column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    """One number for what `code` and `column` hold in a row, null where either is not among the keys'."""
    before, own = pc.index_in(code, value_set=counted), pc.index_in(_comparable(column), value_set=values)
    valid = to_numpy(before.is_valid()) & to_numpy(own.is_valid())
    return from_numpy(to_numpy(before).astype(np.int64) * len(values) + to_numpy(own), valid=valid)


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    """Values that are equal where their bytes are."""
    values, kind = column.combine_chunks(), column.type
    if isinstance(kind, pa.BaseExtensionType):
        values, kind = values.storage, kind.storage_type
    if pa.types.is_dictionary(kind):
        return values.cast(kind.value_type)
    if pa.types.is_floating(kind):
        return pc.add(values.cast(pa.float64()), scalar_of(0.0, pa.float64()))
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return values.cast(pa.decimal128(kind.precision, kind.scale))
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return values.cast(views[kind]) if kind in views else values
