"""Rows that are inserted where there are none to be updated: one change for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.arrays import in_one
from lamella.core.block import as_block
from lamella.core.errors import BadData, shown
from lamella.core.filters.expr import And, Filter, Predicate, Reference, thawed
from lamella.core.filters.kinds import NESTED, Kind, kind_of
from lamella.core.filters.values import convert, number_text
from lamella.core.given import Given, taken
from lamella.core.rows import together
from lamella.core.schema import ID
from lamella.core.store.cells import Cells
from lamella.core.store.changes import (
    TakeIds,
    completed,
    fitted,
    refuse_keys,
    refuse_missing_keys,
    whole_values,
)
from lamella.core.store.commit import Change
from lamella.core.store.evolution import ColumnPlan
from lamella.core.store.keys import Matches, matches
from lamella.core.store.operators import Assignment, applied, assignments
from lamella.core.store.operators.meeting import array_of, as_held, repeated
from lamella.core.store.partial_values import parts_of, refuse_overlaps, with_paths_inside
from lamella.core.store.row_ids import Where
from lamella.core.store.state import State


def upserted(
    state: State,
    rows: Given,
    on: Sequence[str],
    set_on_insert: Mapping[str, Any],
    take_ids: TakeIds,
    message: str,
) -> Change:
    """Rows found by `on` get the other columns' values; the others are new, and get `set_on_insert` too."""
    name, data = state.snapshot.name, rows.table
    refuse_keys(name, on)
    if not data.num_rows:
        return Change(message, state.columns)
    refuse_missing_keys(name, rows, on)
    _refuse(state, data, set_on_insert)
    _plan, keys = fitted(state, data.select(list(on)), take_ids)
    found = matches(state, keys)
    if len(found.unknown):
        data = _with_constants(data, set_on_insert)
    rows, found = _whole_rows(state, Given(data, rows.left_out, rows.documents), found, set_on_insert)
    plan, values = fitted(state, rows.table, take_ids)
    cells = _cells(state, plan, Given(values, rows.left_out), found, {*on, *set_on_insert})
    change = Change(message, plan.applied(state.columns), cells=cells)
    return _with_rows(change, plan, taken(values, found.unknown)) if len(found.unknown) else change


def _whole_rows(
    state: State, rows: Given, found: Matches, set_on_insert: Mapping[str, Any]
) -> tuple[Given, Matches]:
    """`rows` with columns that are whole, those that are found before those that are new, and where they are
    then. What is given in part is laid over what the rows found hold."""
    types = {c.name: c.type for c in state.columns}
    if not parts_of(rows, types):
        return rows, found
    known = whole_values(state, found.ids, rows.taken(found.keys).without(set_on_insert))
    new = rows.taken(found.unknown)
    made = with_paths_inside(new.table, types, state.snapshot.name)
    table = together([as_block(known.table), as_block(made)])
    count, more = len(found.ids), len(found.unknown)
    lacks = {n: np.concatenate([left_out, np.zeros(more, bool)]) for n, left_out in known.left_out.items()}
    return Given(table, lacks), Matches(found.ids, np.arange(count), np.arange(count, count + more))


def inserted_instead(
    state: State, where: Where, found: Sequence[Assignment], take_ids: TakeIds, message: str
) -> Change:
    """One new row for a condition that none meets: what it asks to be equal, changed by the operators."""
    name = state.snapshot.name
    if where is not None and not isinstance(where, Filter):
        raise BadData(
            f"{name}: there is no row to change, and none can be inserted", f"the table gives each its {ID}",
            "Choose rows by a filter",
        )  # fmt: skip
    types = {c.name: c.type for c in state.columns}
    equal = list(_equalities(where))
    inside = {path: value for path, value in equal if path not in types}
    held = {column: _cell(value, types[column]) for column, value in equal if column in types}
    held |= {column: pa.nulls(1, kind) for column, kind in types.items() if column not in held}
    given = {column: value for column, value in held.items() if value.null_count == 0}
    placed = assignments({"$set": inside}, state.columns, name) if inside else []
    row = given | applied([*placed, *found], held, 1, name, inserted=True)
    plan, values = fitted(state, pa.Table.from_arrays(list(row.values()), names=list(row)), take_ids)
    return _with_rows(Change(message, plan.applied(state.columns)), plan, values)


def _equalities(where: Filter | None) -> Iterator[tuple[str, Any]]:
    """Columns, or fields inside them, and the values they are equal to wherever the condition is met."""
    if isinstance(where, And):
        for child in where.children:
            yield from _equalities(child)
    elif isinstance(where, Predicate) and where.operator == "eq" and where.column != ID:
        yield from ((where.column, thawed(v)) for v in where.values if not isinstance(v, Reference))


def _cell(value: Any, kind: pa.DataType) -> pa.Array:
    """A value that the condition asks for, read as the column's type, as the condition reads it."""
    if kind_of(kind) is Kind.TEXT:
        value = number_text(value) or value
    elif kind_of(kind) not in NESTED:
        value = convert(value, kind).shown
    return as_held(array_of([value]), kind)


def _refuse(state: State, data: pa.Table, set_on_insert: Mapping[str, Any]) -> None:
    name = state.snapshot.name
    if not isinstance(set_on_insert, Mapping):
        fix = "Give a dict: {'created': dt.date.today()}"
        raise BadData(f"{name}: set_on_insert takes a dict, not {shown(set_on_insert)}", fix=fix)
    if ID in data.column_names or ID in set_on_insert:
        raise BadData(
            f"{name}: an upsert takes no {ID}",
            "rows that are not there yet are given theirs by the table",
            f"Find rows by columns of your own, or update() those whose {ID} you know",
        )
    for column in set_on_insert:
        text_of(column, f"{name}: the column name")
        if column in data.column_names:
            raise BadData(
                f"{name}: column '{column}' is in the rows and in set_on_insert", fix="Leave it out of one"
            )
    refuse_overlaps(name, data.column_names, list(set_on_insert), {c.name: c.type for c in state.columns})


def _with_constants(data: pa.Table, constants: Mapping[str, Any]) -> pa.Table:
    for column, value in constants.items():
        data = data.append_column(column, repeated(array_of([value]), data.num_rows))
    return data


def _cells(state: State, plan: ColumnPlan, rows: Given, found: Matches, others: set[str]) -> Cells | None:
    """What the rows found are given, without the columns that found them and those for new rows."""
    ids, places = found.ids, found.keys
    if not len(ids) or others.issuperset(c.name for c in plan.columns):
        return None
    left_out = {n: lacks[places] for n, lacks in rows.left_out.items() if n not in others}
    values = completed(state, ids, plan, taken(rows.table, places), left_out)
    kept = {c.key: in_one(values.column(i)) for i, c in enumerate(plan.columns) if c.name not in others}
    return Cells(ids, kept)


def _with_rows(change: Change, plan: ColumnPlan, rows: pa.Table) -> Change:
    return replace(change, rows=(plan.by_key(rows), rows.num_rows), inserted=rows.num_rows)
