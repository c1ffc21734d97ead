"""Pages that follow each other without gaps or repeats while rows come and go: each begins behind a row,
not at a number, and costs the same at any depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query import masks, orders
from lamella.core.query.cursor import Cursor, compared, parsed, refuse_unordered, written
from lamella.core.query.indexed import find_by_index
from lamella.core.query.local import find
from lamella.core.query.query import SortKey
from lamella.core.scan.one_row import cells_at
from lamella.core.scan.paths import chosen
from lamella.core.scan.rows import live_positions, read_rows, take_rows
from lamella.core.scan.snapshot import Column, Snapshot


@dataclass(frozen=True)
class Page:
    """`next` is the cursor for the page behind this one; None where no row follows."""

    rows: pa.Table
    next: str | None


@dataclass(frozen=True)
class Asked:
    """What the pages are of. `behind` gives the first position whose `_id` is greater than one."""

    snapshot: Snapshot
    columns: tuple[Column, ...]
    where: Filter | None
    keys: tuple[SortKey, ...]
    id_column: Column
    behind: Callable[[int], int]

    def page(self, size: int, after: str | None, job: Job) -> Page:
        """The `size` rows behind the cursor `after`, the first ones without it."""
        refuse_unordered(self.snapshot, self.keys)
        cursor = None if after is None else parsed(self.snapshot, after, self.keys)
        if self.where is None and not self.keys:
            return self._next_rows(size, cursor)
        found = self._next_met(size + 1, cursor, job)
        if found is None:
            found = self._next_found(size + 1, cursor, job)
        rows = take_rows(self.snapshot, found[:size], self.columns)
        return Page(rows, self._cursor(int(found[size - 1])) if len(found) > size else None)

    def _next_rows(self, size: int, cursor: Cursor | None) -> Page:
        position = 0 if cursor is None else self.behind(cursor.row_id)
        offset = position - int(np.searchsorted(self.snapshot.deleted, position))
        rows = read_rows(self.snapshot, offset, size, self.columns)
        if offset + size >= self.snapshot.num_rows:
            return Page(rows, None)
        last = live_positions(self.snapshot, np.array([offset + size - 1]))
        return Page(rows, self._cursor(int(last[0])))

    def _next_met(self, count: int, cursor: Cursor | None, job: Job) -> np.ndarray | None:
        """Of rows in their own order; None where finding all of them and keeping them costs less."""
        if self.keys or self.where is None:
            return None
        first = 0 if cursor is None else self.behind(cursor.row_id)
        served = find_by_index(self.snapshot, self.where)
        if served is not None:
            return served.positions[np.searchsorted(served.positions, first) :]
        if masks.pays(self.snapshot):
            return masks.find_by_mask(self.snapshot, self.where, job, first, count)
        return None

    def _cursor(self, position: int) -> str:
        return written(self.snapshot, position, self.id_column, self.keys)

    def _next_found(self, count: int, cursor: Cursor | None, job: Job) -> np.ndarray:
        """The first ones are found without ordering the others."""
        asked = orders.order_of(self.snapshot, self.where, self.keys)
        order = orders.kept(asked)
        if order is None and cursor is None:
            return find(self.snapshot, self.where, self.keys, job, first=count)[:count]
        if order is None:
            order = orders.keep(asked, find(self.snapshot, self.where, self.keys, job))
        first = 0 if cursor is None else self._place(order, cursor)
        return order[first : first + count]

    def _place(self, order: np.ndarray, cursor: Cursor) -> int:
        """How many rows of `order` come no later than the cursor's: a binary search."""
        columns = chosen(self.snapshot, (key.column for key in self.keys))
        behind = self.behind(cursor.row_id)
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            position = int(order[middle])
            compares = compared(cells_at(self.snapshot, position, columns), cursor.values, self.keys)
            if compares < 0 or (compares == 0 and position < behind):
                low = middle + 1
            else:
                high = middle
        return low
