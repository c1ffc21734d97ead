"""Changed cells of single rows, laid over what the segments hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from core.arrays import take

Changed = tuple[np.ndarray, pa.Array]
"""Ascending positions and the new value at each."""
Part = tuple[np.ndarray, Callable[[], pa.Array]]
"""Ascending positions, and what gives their values when they are wanted."""


class ChangedColumn:
    """The changes of one column, oldest first, put together when they are first read. Any thread."""

    def __init__(self, kind: pa.DataType, parts: tuple[Part, ...]) -> None:
        self._kind, self._parts = kind, parts

    @cached_property
    def merged(self) -> Changed:
        """The last value that each changed cell was given."""
        values = [self._typed(give()) for _, give in self._parts]
        if len(values) == 1:
            return self._parts[0][0], values[0]
        positions = np.concatenate([places for places, _ in self._parts])
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        last = order[np.append(ordered[1:] != ordered[:-1], True)]
        return positions[last], take(pa.concat_arrays(values), last)

    def of_type(self, kind: pa.DataType) -> ChangedColumn:
        return self if kind.equals(self._kind) else ChangedColumn(kind, self._parts)

    def followed_by(self, part: Part) -> ChangedColumn:
        if "merged" not in self.__dict__:
            return ChangedColumn(self._kind, (*self._parts, part))
        positions, values = self.merged
        return ChangedColumn(self._kind, ((positions, lambda: values), part))

    def _typed(self, values: pa.Array) -> pa.Array:
        return values if values.type.equals(self._kind) else values.cast(self._kind)


class Overlay:
    """Changed cells by column key."""

    def __init__(self, columns: Mapping[int, ChangedColumn]) -> None:
        self.columns = columns

    def changed(self, key: int) -> Changed | None:
        """The changed cells of a column, None where there are none."""
        column = self.columns.get(key)
        return None if column is None else column.merged
