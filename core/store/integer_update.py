"""A single row of integers by its `_id`: written as it was packed, it becomes arrays when it is read."""

from __future__ import annotations

import numpy as np

from lamella.core.integer_rows import IntegerRow
from lamella.core.scan.batch_values import BatchValues
from lamella.core.schema import ID
from lamella.core.store.cells import Cells
from lamella.core.store.changes import own_columns
from lamella.core.store.commit import Change
from lamella.core.store.row_ids import refuse_unknown
from lamella.core.store.state import State


def integers_updated(state: State, row: IntegerRow, message: str) -> Change | None:
    """Like `updated`; None where the row has other columns than ones of such integers, or no `_id`."""
    if ID not in row.keys or len(row.keys) == 1:
        return None
    row_id, given = row.without(ID)
    plan = own_columns(state, given.schema)
    if plan is None:
        return None
    ids = np.array([row_id], np.int64)
    refuse_unknown(state, ids)
    values = BatchValues(plan.keys, given.schema, given.message)
    return Change(message, state.columns, cells=Cells(ids, values))
