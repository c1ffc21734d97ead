"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.scan.rows import take_rows
from core.store.table_changes import TableChanges
from core.store.table_columns import TableColumns
from core.store.table_history import TableHistory
from core.store.table_upkeep import TableUpkeep


class Table(TableChanges, TableColumns, TableHistory, TableUpkeep):
    """Rows with an `_id`, in `_id` order. Any thread; changes wait for each other."""

    def get(self, row_id: int) -> dict[str, Any] | None:
        """The row with this `_id`, or None."""
        state = self._reader.current()
        position = state.locate(np.array([row_id], np.int64))
        if position[0] < 0:
            return None
        found: dict[str, Any] = take_rows(state.snapshot, position, state.snapshot.columns).to_pylist()[0]
        return found
