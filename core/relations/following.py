"""From rows of one table to the rows of another that are related to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy
from core.filters.expr import Filter, Predicate, any_of
from core.jobs import Job
from core.relations.matching import Keys
from core.relations.relation import Link
from core.scan.one_row import cells_at
from core.scan.rows import take_rows
from core.scan.snapshot import Snapshot
from core.schema import ID
from core.store.row_ids import ids_at, ids_of, refuse_unknown
from core.store.state import State

COUNT = "count"


def condition(link: Link, state: State, row_id: int, other: State, job: Job) -> Filter:
    """What the rows of `other` meet that are related to this row, and no others. Raises `UnknownRow`."""
    ids = ids_of(state, [row_id])
    refuse_unknown(state, ids)
    cells = cells_at(state.snapshot, int(state.locate(ids)[0]), state.snapshot.select(link.columns))
    return of_keys([pa.chunked_array([pa.repeat(cell, 1)]) for cell in cells], link.other_columns, other, job)


def of_keys(values: Sequence[pa.ChunkedArray], names: Sequence[str], other: State, job: Job) -> Filter:
    """What the rows of `other` meet that have one of the keys in the columns of these names."""
    keys = Keys(values, other.snapshot.select(names))
    if keys.first.max(initial=-1) < 0:
        return any_of([])
    found = keys.condition()
    if found is not None and (len(names) == 1 or len(values[0]) == 1):
        return found
    positions = keys.matching(other.snapshot, None, job).positions
    return Predicate(ID, "in", tuple(ids_at(other, positions).tolist()))


def counts(
    link: Link, state: State, row_ids: Sequence[int], other: Snapshot, where: Filter | None, job: Job
) -> pa.Table:
    """How many rows of `other` are related to each of these rows, in the order given."""
    ids = ids_of(state, row_ids)
    refuse_unknown(state, ids)
    rows = take_rows(state.snapshot, state.locate(ids), state.snapshot.select(link.columns))
    keys = Keys(rows.columns, other.select(link.other_columns))
    found = np.bincount(keys.matching(other, where, job).keys, minlength=len(ids))
    each = np.where(keys.first < 0, 0, found[keys.first]) if len(ids) else found
    return pa.Table.from_arrays([from_numpy(ids), from_numpy(each.astype(np.int64))], [ID, COUNT])
