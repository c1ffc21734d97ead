"""From rows of one table to the rows of another that are related to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.ascending import distinct
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.jobs import Job
from lamella.core.relations.matching import Keys, of_one_key
from lamella.core.relations.relation import Link
from lamella.core.scan.one_row import cells_at
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.core.schema import ID
from lamella.core.store.row_ids import ids_at, ids_of, refuse_unknown
from lamella.core.store.state import State

COUNT = "count"


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows of a table: those that meet `where`, of the live positions `within` where they are known."""

    where: Filter | None = None
    within: np.ndarray | None = None

    def and_meeting(self, where: Filter | None) -> Chosen:
        both = [each for each in (self.where, where) if each is not None]
        return Chosen(all_of(both) if both else None, self.within)


def related(link: Link, state: State, row_id: int, other: State, job: Job) -> Chosen:
    """The rows of `other` that are related to this row. Raises `UnknownRow`."""
    if link.other_columns != (ID,):
        return Chosen(condition(link, state, row_id, other, job))
    return of_keys([_key(cell) for cell in _cells(link, state, row_id)], link.other_columns, other, job)


def condition(link: Link, state: State, row_id: int, other: State, job: Job) -> Filter:
    """What the rows of `other` meet that are related to this row, and no others. Raises `UnknownRow`."""
    cells = _cells(link, state, row_id)
    found = of_one_key(cells, other.snapshot.select(link.other_columns))
    if found is not None:
        return found
    return _condition([_key(cell) for cell in cells], link.other_columns, other, job)


def of_keys(values: Sequence[pa.ChunkedArray], names: Sequence[str], other: State, job: Job) -> Chosen:
    """The rows of `other` that have one of the keys in the columns of these names."""
    if tuple(names) == (ID,) and pa.types.is_signed_integer(values[0].type):
        ids = to_numpy(values[0].drop_null()).astype(np.int64)
        positions = distinct(other.locate(ids))
        return Chosen(within=positions[positions >= 0])
    return Chosen(_condition(values, names, other, job))


def _condition(values: Sequence[pa.ChunkedArray], names: Sequence[str], other: State, job: Job) -> Filter:
    keys = Keys(values, other.snapshot.select(names))
    if keys.first.max(initial=-1) < 0:
        return any_of([])
    found = keys.condition()
    if found is not None and (len(names) == 1 or len(values[0]) == 1):
        return found
    positions = keys.matching(other.snapshot, None, job).positions
    return Predicate(ID, "in", tuple(ids_at(other, positions).tolist()))


def _keys_of(link: Link, state: State, ids: np.ndarray) -> list[pa.ChunkedArray]:
    if link.columns == (ID,):
        return [pa.chunked_array([from_numpy(ids)])]
    columns = state.snapshot.select(link.columns)
    return take_rows(state.snapshot, state.locate(ids), columns).columns  # type: ignore[no-any-return]


def _cells(link: Link, state: State, row_id: int) -> list[pa.Scalar]:
    ids = ids_of(state, [row_id])
    position = int(state.locate(ids)[0])
    if position < 0:
        refuse_unknown(state, ids)
    return cells_at(state.snapshot, position, state.snapshot.select(link.columns))


def _key(cell: pa.Scalar) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(cell, 1)])


def counts(
    link: Link, state: State, row_ids: Sequence[int], other: Snapshot, where: Filter | None, job: Job
) -> pa.Table:
    """How many rows of `other` are related to each of these rows, in the order given."""
    ids = ids_of(state, row_ids)
    refuse_unknown(state, ids)
    keys = Keys(_keys_of(link, state, ids), other.select(link.other_columns))
    found = np.bincount(keys.matching(other, where, job).keys, minlength=len(ids))
    each = np.where(keys.first < 0, 0, found[keys.first]) if len(ids) else found
    return pa.Table.from_arrays([from_numpy(ids), from_numpy(each.astype(np.int64))], [ID, COUNT])
