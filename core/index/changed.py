"""Pending cells of a column in order, where they are many: a whole column may have been changed."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.index.sorted import Sorted
from lamella.core.scan.snapshot import Column

FEWEST = 2_000


class SortedChanges:
    """One column's each. They are put in order when the same ones are asked for a second time: the next
    change to the column makes others of them. Any thread; what two make at once is the same."""

    def __init__(self) -> None:
        self._asked: dict[int, pa.Array] = {}
        self._made: dict[int, tuple[pa.Array, Sorted]] = {}

    def of(self, column: Column, values: pa.Array) -> Sorted | None:
        """None where looking at each of them costs less."""
        values_made, made = self._made.get(column.key, (None, None))
        if values_made is values or len(values) < FEWEST:
            return made if values_made is values else None
        if self._asked.get(column.key) is not values:
            self._asked[column.key] = values
            return None
        made = Sorted.of(values)
        self._made[column.key] = (values, made)
        return made

    def let_go(self) -> None:
        self._asked.clear()
        self._made.clear()
