"""What insert, update and delete stage: plain data about which rows change and into what."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import take, to_numpy
from core.casts import exact_cast
from core.errors import BadData, UnknownColumn, UnknownName, UnknownRow
from core.filters.expr import Filter
from core.query.positions import find
from core.rows import aligned
from core.scan.rows import take_rows
from core.scan.snapshot import Column
from core.schema import ID
from core.store.cells import Cells
from core.store.commit import Change
from core.store.evolution import ColumnPlan, narrowed, plan_columns, stored_as
from core.store.ids import ID_COLUMN
from core.store.keys import ids_by_key
from core.store.state import State

TakeIds = Callable[[int], int]


def updated(state: State, data: pa.Table, on: Sequence[str], take_ids: TakeIds, message: str) -> Change:
    """Rows found by `on` get the other columns' values."""
    name = state.snapshot.name
    missing = [key for key in on if key not in data.column_names]
    if missing:
        raise BadData(
            f"{name}: the rows have no column '{missing[0]}' to find them by", fix="Add it, or name another"
        )
    ids, values = _found_rows(state, data, on)
    values = narrowed(values, state.columns)
    plan = plan_columns(name, state.columns, values.schema, take_ids)
    values = stored_as(values, plan.columns)
    order = np.argsort(ids, kind="stable")
    _refuse_duplicates(name, ids[order], on)
    cells = {c.key: take(values.column(i).combine_chunks(), order) for i, c in enumerate(plan.columns)}
    return Change(message, plan.applied(state.columns), cells=Cells(ids[order], cells))


def set_where(
    state: State, ids: np.ndarray, operators: Mapping[str, Mapping[str, Any]], take_ids: TakeIds, message: str
) -> Change:
    """The same new values for every row of `ids` (ascending) that does not hold them yet."""
    values = narrowed(_set_values(state, operators), state.columns)
    plan = plan_columns(state.snapshot.name, state.columns, values.schema, take_ids)
    stored = stored_as(values, plan.columns)
    new = {c: stored.column(i).combine_chunks() for i, c in enumerate(plan.columns)}
    differing = ids[_differ(state, ids, new, plan)]
    cells = {c.key: take(value, np.zeros(len(differing), np.int64)) for c, value in new.items()}
    columns = plan.applied(state.columns)
    return Change(message, columns, cells=Cells(differing, cells))


def _differ(state: State, ids: np.ndarray, new: Mapping[Column, pa.Array], plan: ColumnPlan) -> np.ndarray:
    """Which rows any of the new values changes."""
    held = [c for c in new if c not in plan.added]
    positions = state.locate(ids)
    changed = np.full(len(ids), len(held) < len(new))
    for column in held:
        now = take_rows(state.snapshot, positions, [state.snapshot.column(column.name)]).column(0)
        changed |= _differs(now.cast(column.type), new[column])
    return changed


def _differs(now: pa.ChunkedArray, new: pa.Array) -> np.ndarray:
    if not new[0].is_valid:
        return to_numpy(pc.is_valid(now))
    try:
        same = pc.equal(now, new[0])
    except pa.ArrowNotImplementedError:
        return np.ones(len(now), bool)  # nested values are not compared
    differs: np.ndarray = ~(to_numpy(same) & to_numpy(pc.is_valid(same)))
    return differs


def deleted(state: State, ids: np.ndarray, message: str) -> Change:
    return Change(message, state.columns, deleted=ids)


def ids_where(state: State, where: Filter | None) -> np.ndarray:
    """Ids of the live rows that meet `where`, ascending."""
    positions = find(state.snapshot, where).positions
    return to_numpy(take_rows(state.snapshot, positions, [ID_COLUMN]).column(0))


def known_ids(state: State, ids: Iterable[int]) -> np.ndarray:
    """`ids`, ascending and each once; raises `UnknownRow` naming the first that is not in the table."""
    wanted = np.unique(_as_ids(state, list(ids)))
    lost = wanted[state.locate(wanted) < 0]
    if len(lost):
        raise UnknownRow(
            f"{state.snapshot.name} has no row with {ID} {lost[0]}",
            fix="It may have been deleted; read the table again",
        )
    return wanted


def _found_rows(state: State, data: pa.Table, on: Sequence[str]) -> tuple[np.ndarray, pa.Table]:
    values = data.drop_columns(list({*on, ID} & set(data.column_names)))
    if list(on) == [ID]:
        whole = pa.types.is_integer(data.schema.field(ID).type)
        given = exact_cast(data.column(ID), pa.int64()) if whole else None
        if given is None or given.null_count:
            raise _bad_ids(state)
        ids = to_numpy(given)
        known_ids(state, ids)
        return ids, values
    rows, ids = ids_by_key(state, data.select(list(on)))
    return ids, take(values, rows)


def _as_ids(state: State, ids: Sequence[Any]) -> np.ndarray:
    try:
        return np.fromiter((operator.index(i) for i in ids), np.int64, len(ids))
    except (TypeError, OverflowError) as error:
        raise _bad_ids(state) from error


def _bad_ids(state: State) -> BadData:
    return BadData(
        f"{state.snapshot.name}: every {ID} has to be a whole number", fix="Leave the other rows out"
    )


def _refuse_duplicates(name: str, ids: np.ndarray, on: Sequence[str]) -> None:
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise BadData(
            f"{name}: two of the rows given are for the same row ({ID} {twice[0]}, found by {', '.join(on)})",
            fix="Give each row once",
        )


def _set_values(state: State, operators: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """The assigned values as a table of one row."""
    for name in operators:
        if name != "$set":
            raise UnknownOperator(name, f"updating {state.snapshot.name}", ["$set"])
    assigned = operators.get("$set", {})
    if ID in assigned:
        raise BadData(f"{state.snapshot.name}: {ID} cannot be changed", "it is how rows are found")
    known = [c.name for c in state.columns]
    for name, value in assigned.items():
        if value is None and name not in known:
            raise UnknownColumn(name, state.snapshot.name, known)
    _, tables = aligned([dict(assigned)])
    return next(tables)


class UnknownOperator(UnknownName):
    kind = "update operator"
