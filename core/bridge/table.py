"""A dataset as a virtual table: SQLite plans with it, and opens cursors on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import apsw
import pyarrow as pa

from lamella.core.bridge.column_types import column_type
from lamella.core.bridge.constraints import wanted
from lamella.core.bridge.cursor import Cursor
from lamella.core.bridge.declared import Declared, declare, found_again, statement
from lamella.core.bridge.lookup import Scans
from lamella.core.bridge.plan import ROWID, Plan
from lamella.core.bridge.planning import Numbered, best_index
from lamella.core.bridge.scanning import Condition, RowGroups, Scan
from lamella.core.dataset import Dataset
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.rows_by_id import RowsById


class VirtualTable:
    """Read-only: it has none of the methods by which SQLite changes tables. `close` is called, if given, when
    SQLite lets go of it."""

    def __init__(self, dataset: Dataset, counted: RowGroups, close: Callable[[], None] | None = None) -> None:
        self._dataset, self._counted, self._close = dataset, counted, close
        if not dataset.snapshot().complete:
            dataset.fill(Job())  # only then it is certain which types its columns have
        columns = dataset.snapshot().columns
        names = [column.name for column in columns]
        self._columns: list[Declared] = declare(columns)
        self._numbered = Numbered(names.index(ID_COLUMN.name) if isinstance(dataset, RowsById) else None)
        self._scans: tuple[object, Scans] | None = None
        self.declaration = statement(self._columns)

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:  # noqa: N802 -- SQLite's names, here and below
        best_index(info, self._columns, self._numbered, self._dataset.num_rows)
        return True

    def Open(self) -> Cursor:  # noqa: N802
        """A cursor sees one version from start to end, however often a join begins anew with it."""
        snapshot = self._dataset.snapshot()
        if self._scans is None or self._scans[0] != snapshot.token:
            self._scans = (snapshot.token, Scans(self._columns))
        return Cursor(partial(self._scans[1].blocks, partial(self._scan, snapshot)))

    def Disconnect(self) -> None:  # noqa: N802
        self._scans = None
        if self._close is not None:
            self._close()

    Destroy = Disconnect

    def _scan(self, snapshot: Snapshot, plan: Plan, values: Sequence[Any]) -> Scan:
        numbers, conditions = [], []
        for asked, value in zip(plan.asked, values, strict=True):
            if asked.column == ROWID:
                numbers.append(wanted(column_type(pa.int64()), asked.op, value))
            else:
                told = self._columns[asked.column]
                column = found_again(told, snapshot)
                conditions.append(Condition(column, wanted(told.type, asked.op, value, asked.literal)))
        columns = [found_again(self._columns[place], snapshot) for place in plan.columns]
        place = self._numbered.id_place
        id_column = None if place is None else found_again(self._columns[place], snapshot)
        return Scan(snapshot, columns, conditions, numbers, id_column, self._counted)
