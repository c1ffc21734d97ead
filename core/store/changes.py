"""What update, operators and delete stage: plain data about which rows change and into what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrays import in_one, take, to_numpy
from lamella.core.block import as_block
from lamella.core.errors import BadData
from lamella.core.given import Given
from lamella.core.scan.one_row import arrays_at
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.cells import Cells, as_type
from lamella.core.store.commit import Change
from lamella.core.store.differing import differs
from lamella.core.store.evolution import ColumnPlan, narrowed, plan_columns, stored_as
from lamella.core.store.keys import known_matches
from lamella.core.store.operators import Assignment, applied, columns_read
from lamella.core.store.partial_values import merge_parts, parts_of
from lamella.core.store.row_ids import ids_given, refuse_duplicates, refuse_unknown
from lamella.core.store.state import State
from lamella.core.store.stored_values import refuse_stored_misfits

TakeIds = Callable[[int], int]


def updated(state: State, rows: Given, on: Sequence[str], take_ids: TakeIds, message: str) -> Change:
    """Rows found by `on` get the other columns' values, those that each of `rows` has."""
    data = rows.table
    refuse_keys(state.snapshot.name, on)
    if not data.num_rows:
        return Change(message, state.columns)
    refuse_missing_keys(state.snapshot.name, rows, on)
    ids, places = _found_rows(state, data, on)
    found = whole_values(state, ids, rows.without({*on, ID}).taken(places))
    plan, values = fitted(state, found.table, take_ids)
    if not plan.columns:
        return Change(message, state.columns)
    values = completed(state, ids, plan, values, found.left_out)
    return Change(message, plan.applied(state.columns), cells=Cells(ids, plan.by_key(values)))


def operated(
    state: State, ids: np.ndarray, found: Sequence[Assignment], take_ids: TakeIds, message: str
) -> Change:
    """The rows of `ids` (ascending) as update operators change them; what stays the same is no change."""
    name, wanted = state.snapshot.name, set(columns_read(found))
    columns = [c for c in state.columns if c.name in wanted]
    held = dict(zip([c.name for c in columns], _held(state, ids, columns), strict=True))
    return replaced(state, ids, held, applied(found, held, len(ids), name), take_ids, message)


def _held(state: State, ids: np.ndarray, columns: Sequence[Column]) -> list[pa.Array]:
    positions = state.locate(ids)
    if len(ids) == 1:
        return arrays_at(state.snapshot, int(positions[0]), columns)
    return [in_one(values) for values in take_rows(state.snapshot, positions, columns).columns]


def replaced(
    state: State,
    ids: np.ndarray,
    held: Mapping[str, pa.Array],
    new: Mapping[str, pa.Array],
    take_ids: TakeIds,
    message: str,
) -> Change:
    """`new` values by column for the rows of `ids` (ascending), where they differ from those `held`."""
    nothing = Change(message, state.columns)
    if not len(ids) or not new:
        return nothing
    plan, values = fitted(state, pa.Table.from_arrays(list(new.values()), names=list(new)), take_ids)
    arrays = {c: in_one(values.column(i)) for i, c in enumerate(plan.columns)}
    places = np.flatnonzero(_differ(held, arrays))
    if not len(places):
        return nothing
    cells = {c.key: value if len(places) == len(ids) else take(value, places) for c, value in arrays.items()}
    return Change(message, plan.applied(state.columns), cells=Cells(ids[places], cells))


def whole_values(state: State, ids: np.ndarray, rows: Given) -> Given:
    """`rows` for those of `ids` (ascending), with columns that are whole: fields of structs that are not
    given as the table holds them, and the values of dotted keys inside their columns."""
    if not rows.documents and not any("." in name for name in rows.table.column_names):
        return rows
    types = {c.name: c.type for c in state.columns}
    parts = set(parts_of(rows, types))
    if not parts:
        return rows
    columns = [c for c in state.columns if c.name in parts]
    held = dict(zip([c.name for c in columns], _held(state, ids, columns), strict=True))
    return merge_parts(rows, held, types, state.snapshot.name)


def deleted(state: State, ids: np.ndarray, message: str) -> Change:
    return Change(message, state.columns, deleted=ids)


def fitted(state: State, values: pa.Table, take_ids: TakeIds) -> tuple[ColumnPlan, pa.Table]:
    """`values` in the types they will be stored in, and what that makes of the table's columns."""
    own = own_columns(state, values.schema)
    if own is not None:
        return own, values
    values = narrowed(values, state.columns)
    plan = plan_columns(state.snapshot.name, state.columns, as_block(values), take_ids)
    refuse_stored_misfits(state, plan.widened)
    return plan, stored_as(values, plan.columns)


def own_columns(state: State, schema: pa.Schema) -> ColumnPlan | None:
    """The plan for data of these names and types where the table's are the same."""
    plan = state.plans.of(schema)
    if plan is None:
        known = {c.name: c for c in state.columns}
        met = [known.get(field.name) for field in schema]
        if any(c is None or c.type != f.type for c, f in zip(met, schema, strict=True)):
            return None
        plan = ColumnPlan(tuple(c for c in met if c is not None), (), ())
        state.plans.remember(schema, plan)
    return plan


def refuse_keys(name: str, on: Sequence[str]) -> None:
    """Raise `BadData` for no column to find rows by, and for one that is named twice."""
    if not on:
        raise BadData(f"{name}: nothing says by which columns to find rows", fix="Name one or more in on=")
    twice = [key for place, key in enumerate(on) if key in on[:place]]
    if twice:
        raise BadData(f"{name}: column '{twice[0]}' is named twice in on=", fix="Name each column once")


def completed(
    state: State, ids: np.ndarray, plan: ColumnPlan, values: pa.Table, left_out: Mapping[str, np.ndarray]
) -> pa.Table:
    """`values` for the rows of `ids`, with what a row holds already where nothing was given."""
    if not left_out:
        return values
    known = {c.name: c for c in state.columns}
    for place, column in enumerate(plan.columns):
        lacks = left_out.get(column.name)
        if lacks is None or not lacks.any() or column.name not in known:
            continue
        held = take_rows(state.snapshot, state.locate(ids[lacks]), [known[column.name]])
        pool = pa.concat_arrays([in_one(values.column(place)), in_one(stored_as(held, [column]).column(0))])
        places = np.arange(len(ids))
        places[lacks] = len(ids) + np.arange(held.num_rows)
        values = values.set_column(place, values.schema.field(place), take(pool, places))
    return values


def refuse_missing_keys(name: str, rows: Given, on: Sequence[str]) -> None:
    missing = [key for key in on if rows.table.schema.get_field_index(key) < 0]
    if missing:
        raise BadData(
            f"{name}: the rows have no column '{missing[0]}' to find them by", fix="Add it, or name another"
        )
    for key in on:
        lacks = np.flatnonzero(rows.left_out.get(key, ()))
        if len(lacks):
            raise BadData(
                f"{name}: row {lacks[0]} of those given has no '{key}' to find it by",
                fix="Add it, or leave the row out"
                + ("" if key == ID else ": None finds the rows where it is null"),
            )


def _differ(held: Mapping[str, pa.Array], new: Mapping[Column, pa.Array]) -> np.ndarray:
    """Which rows any of the new values changes."""
    changed = np.zeros(len(next(iter(new.values()))), bool)
    for column, values in new.items():
        now = held.get(column.name)
        changed |= to_numpy(values.is_valid()) if now is None else differs(as_type(now, column.type), values)
    return changed


def _found_rows(state: State, data: pa.Table, on: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Ascending ids of the rows that `on` finds, and the place in `data` of the row for each."""
    if list(on) == [ID]:
        given = ids_given(state, data.column(ID))
        if len(given) == 1:
            refuse_unknown(state, given)
            return given, np.zeros(1, np.int64)
        order = _ascending_order(given)
        ids = given[order]
        refuse_duplicates(state.snapshot.name, ids)
        refuse_unknown(state, ids)
        return ids, order
    found = known_matches(state, data.select(list(on)))
    return found.ids, found.keys


def _ascending_order(ids: np.ndarray) -> np.ndarray:
    ascending = bool((ids[1:] > ids[:-1]).all())
    return np.arange(len(ids)) if ascending else np.argsort(ids, kind="stable")
