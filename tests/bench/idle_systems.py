"""A system that does nothing while it is timed, to measure what the harness itself adds.

It records the calls, and computes the answers when they are checked. It is not in the table of systems:
`tests.bench.idle_systems:NoOp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.workloads.model import Columns, Values
from lamella.core.bench.workloads.table_rows import Numbers, Row
from lamella.core.bench.workloads.tables import is_needle, query_mask

NUMBERS = range(50_000)


Condition = Callable[[Columns], Values]


class NoOp(TableSystem):
    id = "noop"

    @classmethod
    def version(cls) -> str:
        return "1"

    @classmethod
    def describe(cls) -> str:
        return "does nothing while it is timed: what it takes is what the harness adds"

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + (self.workload.key is not None)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Nothing is open."""

    def create(self, prepared: Rows) -> None:
        self._begin(prepared)

    def fill(self, batches: Iterable[Columns]) -> None:
        self._begin(batches)

    def _begin(self, batches: Iterable[Columns | Row]) -> None:
        self._made = batches
        self._table: Columns | None = None
        self._told: list[tuple[Sequence[int], Rows | None]] = []

    def read(self) -> None:
        return None

    def query(self) -> Condition:
        return query_mask

    def find(self) -> Condition:
        return is_needle

    def row_ids(self, numbers: Numbers) -> list[int]:
        plain: list[int] = numbers.tolist()
        return plain

    def get(self, row_id: int) -> int:
        return row_id

    def as_row(self, answer: int) -> Row:
        columns = self._columns()
        return {name: values[answer].item() for name, values in columns.items()}

    def update(self, prepared: Rows) -> None:
        self._told.append(((), prepared))

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> tuple[Sequence[int], Rows]:
        return row_ids, rows

    def update_by_row_id(self, prepared: tuple[Sequence[int], Rows]) -> None:
        self._told.append(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._told.append((row_ids, None))

    def blocks(self, answer: Condition | None, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        columns = self._columns()
        keep = self._kept if answer is None else self._kept & answer(columns)
        yield [columns[name][keep] for name in names]

    # ------------------------------------------------------------ off the timers

    def _columns(self) -> Columns:
        """Return the current values of all rows that were ever added; `_kept` are the rows that still
        exist."""
        if self._table is None:
            self._table = _table(self._made)
            self._kept = np.ones(len(next(iter(self._table.values()))), bool)
        for row_ids, rows in self._told:
            if rows is None:
                self._kept[list(row_ids)] = False
            else:
                self._change(self._table, row_ids, rows)
        self._told.clear()
        return self._table

    def _change(self, columns: Columns, row_ids: Sequence[int], rows: Rows) -> None:
        """Change rows. Those without ids are found by the key, which numbers them."""
        key = self.workload.key
        numbers = list(row_ids) or [int(row[key]) for row in rows if key is not None]
        for name in rows[0]:
            columns[name][numbers] = [row[name] for row in rows]


class Busy(NoOp):
    """A system with the same work in each operation: a sum of 50,000 numbers."""

    id = "busy"

    def read(self) -> None:
        sum(NUMBERS)

    def get(self, row_id: int) -> int:
        sum(NUMBERS)
        return row_id

    def update_by_row_id(self, prepared: tuple[Sequence[int], Rows]) -> None:
        sum(NUMBERS)
        super().update_by_row_id(prepared)


def _table(batches: Iterable[Columns | Row]) -> Columns:
    """Return a table from blocks of columns, or from rows."""
    parts: list[Any] = list(batches)
    if not isinstance(next(iter(parts[0].values())), np.ndarray):
        parts = [{name: np.array([row[name] for row in parts]) for name in parts[0]}]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
