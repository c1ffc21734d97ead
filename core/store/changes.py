"""Builds the changes of updates, upserts, transforms and deletes: which rows change and into what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, put, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.from_python import cast_to_schema, common_schema, concat_batches
from lamella.core.arrow.ingest import IntegerRow, as_block
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, short_text
from lamella.core.filters.expr import And, Filter, Predicate, Reference, thaw
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of
from lamella.core.filters.values import convert, exact_number_text
from lamella.core.jobs import Job, SilentJob
from lamella.core.scan.chunks import BatchValues
from lamella.core.scan.read import arrays_at, tables, take_rows
from lamella.core.scan.row_ids import ID_COLUMN, refuse_unknown
from lamella.core.scan.snapshot import Column
from lamella.core.store.cells import CellChanges, as_type
from lamella.core.store.checks import defaults_by_name, fill_omissions
from lamella.core.store.columns import refuse_stored_misfits
from lamella.core.store.commit import Change
from lamella.core.store.evolution import ColumnPlan, narrow_rows, plan_columns, to_columns
from lamella.core.store.operators import Assignment, RowContext, apply_assignments, assignments, columns_read
from lamella.core.store.operators.values import array_of, repeat_value, to_stored_type
from lamella.core.store.partial_values import (
    PartialRows,
    is_odd,
    merge_parts,
    parts_of,
    refuse_odd_names,
    refuse_overlaps,
    rows_at,
    with_paths_inside,
)
from lamella.core.store.row_lookup import (
    Matches,
    RowSelection,
    firsts_of_keys,
    known_matches,
    matches,
    refuse_duplicates,
    row_ids_of,
)
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import text_of

TakeIds = Callable[[int], int]


def update_change(
    state: TableVersion,
    rows: PartialRows,
    on: Sequence[str],
    take_ids: TakeIds,
    message: str,
    ignore_missing: bool = False,
) -> Change:
    """Update the rows that the columns `on` identify with the other columns' values, as far as each of `rows`
    gives them."""
    data = rows.table
    refuse_keys(state.snapshot.name, on)
    if not data.num_rows:
        return Change(message, state.columns)
    refuse_missing_keys(state.snapshot.name, rows, on)
    refuse_odd_keys(state, data.column_names)
    ids, places = _matching_rows(state, data, on, ignore_missing)
    if not len(ids):
        return Change(message, state.columns)
    partial = whole_values(state, ids, rows.without({*on, ID}).take(places))
    plan, values = fit_to_columns(state, partial.table, take_ids)
    if not plan.columns:
        return Change(message, state.columns)
    values = complete_values(state, ids, plan, values, partial.omissions)
    return Change(message, plan.apply_to(state.columns), cells=CellChanges(ids, plan.by_key(values)))


def assign_change(
    state: TableVersion, ids: np.ndarray, rows: PartialRows, take_ids: TakeIds, message: str
) -> Change:
    """Set the values of the one given row in the rows of `ids` (ascending); values that stay the same are no
    change."""
    names = rows.table.column_names
    if ID in names:
        raise BadData(
            f"{state.snapshot.name}: {ID} cannot be changed", "it identifies the row", "Leave it out"
        )
    refuse_odd_keys(state, names)
    if not len(ids):
        return Change(message, state.columns)
    values = whole_values(state, ids, rows.take(np.zeros(len(ids), np.int64))).table
    columns = [c for c in state.columns if c.name in values.column_names]
    old = stored_values(state, ids, columns)
    new = dict(zip(values.column_names, map(combine_chunks, values.columns), strict=True))
    return replace_change(state, ids, old, new, take_ids, message)


def refuse_odd_keys(state: TableVersion, names: Sequence[str]) -> None:
    """Raise `BadData` for an empty key, and `UnknownColumn` for a dotted one that names no column."""
    if any(map(is_odd, names)):
        refuse_odd_names(state.snapshot.name, names, {c.name: c.type for c in state.columns})


def operator_change(
    state: TableVersion,
    ids: np.ndarray,
    assignments: Sequence[Assignment],
    take_ids: TakeIds,
    message: str,
    job: Job | None = None,
) -> Change:
    """Apply update operators to the rows of `ids` (ascending); values that stay the same are no change."""
    old, new = assigned_values(state, ids, assignments, job or Job())
    return replace_change(state, ids, old, new, take_ids, message)


ROWS_AT_ONCE = 250_000
Values = dict[str, pa.Array]


def assigned_values(
    state: TableVersion, ids: np.ndarray, assignments: Sequence[Assignment], job: Job
) -> tuple[Values, Values]:
    """The columns of the rows of `ids` (ascending) before and after, computed in batches of `ROWS_AT_ONCE`
    rows."""
    names = set(columns_read(assignments))
    columns = [c for c in state.columns if c.name in names]
    whole = cache(lambda name: _all_cells(state, name, job))
    olds, news = [], []
    for start in range(0, max(1, len(ids)), ROWS_AT_ONCE):
        some = ids[start : start + ROWS_AT_ONCE]
        if len(ids) > ROWS_AT_ONCE:
            job.report(start, len(ids), "rows")
        old = stored_values(state, some, columns)
        context = RowContext(state.snapshot.name, some, old, SilentJob(job), whole)
        olds.append(old)
        news.append(apply_assignments(assignments, old, len(some), context))
    return _join(olds), _join(news)


def _join(parts: Sequence[Values]) -> Values:
    """Concatenate the columns of all parts, each in the common type."""
    if len(parts) == 1:
        return parts[0]
    tables = [pa.Table.from_arrays(list(part.values()), names=list(part)) for part in parts]
    schema = common_schema(table.schema for table in tables)
    whole = pa.concat_tables([cast_to_schema(table, schema) for table in tables])
    return {
        name: combine_chunks(column) for name, column in zip(whole.column_names, whole.columns, strict=True)
    }


def _all_cells(state: TableVersion, name: str, job: Job) -> tuple[np.ndarray, pa.Array]:
    """The ids of all rows, and the values of one column."""
    column = next(c for c in state.columns if c.name == name)
    parts = [rows for rows in tables(state.snapshot, (ID_COLUMN, column), SilentJob(job)) if rows.num_rows]
    if not parts:
        return np.empty(0, np.int64), pa.nulls(0, column.type)
    whole = pa.concat_tables(parts)
    return to_numpy(whole.column(0)), combine_chunks(whole.column(1))


def stored_values(state: TableVersion, ids: np.ndarray, columns: Sequence[Column]) -> dict[str, pa.Array]:
    """The values of the rows of `ids` (ascending) in these columns, by name."""
    positions = state.locate(ids)
    if len(ids) == 1:
        arrays = arrays_at(state.snapshot, int(positions[0]), columns)
    else:
        arrays = [combine_chunks(values) for values in take_rows(state.snapshot, positions, columns).columns]
    return dict(zip([c.name for c in columns], arrays, strict=True))


def replace_change(
    state: TableVersion,
    ids: np.ndarray,
    old: Mapping[str, pa.Array],
    new: Mapping[str, pa.Array],
    take_ids: TakeIds,
    message: str,
) -> Change:
    """Change the rows of `ids` (ascending) in which a value of `new` differs from `old`, both by column."""
    if not len(ids) or not new:
        return Change(message, state.columns)
    plan, arrays, places = differing_values(state, old, new, take_ids)
    cells = _cells_at(places, ids, arrays)
    return Change(message, state.columns if cells is None else plan.apply_to(state.columns), cells=cells)


def changed_cells(
    ids: np.ndarray, old: Mapping[str, pa.Array], new: Mapping[Column, pa.Array]
) -> CellChanges | None:
    """The `new` values of the rows in which any of them differs from `old`; None if none does."""
    return _cells_at(np.flatnonzero(_differ(old, new)), ids, new)


def _cells_at(places: np.ndarray, ids: np.ndarray, values: Mapping[Column, pa.Array]) -> CellChanges | None:
    if not len(places):
        return None
    cells = {c.key: value if len(places) == len(ids) else take(value, places) for c, value in values.items()}
    return CellChanges(ids[places], cells)


def differing_values(
    state: TableVersion, old: Mapping[str, pa.Array], new: Mapping[str, pa.Array], take_ids: TakeIds
) -> tuple[ColumnPlan, dict[Column, pa.Array], np.ndarray]:
    """How `new` changes the columns, the values as they will be stored, and the indices of the rows in which
    any of them differs from `old`."""
    plan, values = fit_to_columns(state, pa.Table.from_arrays(list(new.values()), names=list(new)), take_ids)
    arrays = {c: combine_chunks(values.column(i)) for i, c in enumerate(plan.columns)}
    return plan, arrays, np.flatnonzero(_differ(old, arrays))


def whole_values(state: TableVersion, ids: np.ndarray, rows: PartialRows) -> PartialRows:
    """Complete `rows`, given for the rows of `ids` (ascending): fields of structs that are not given are
    taken from the table, and the values of dotted keys are placed inside their columns."""
    if not rows.documents and not any("." in name for name in rows.table.column_names):
        return rows
    types = {c.name: c.type for c in state.columns}
    parts = set(parts_of(rows, types))
    if not parts:
        return rows
    columns = [c for c in state.columns if c.name in parts]
    return merge_parts(rows, stored_values(state, ids, columns), types, state.snapshot.name)


def delete_change(state: TableVersion, ids: np.ndarray, message: str) -> Change:
    return Change(message, state.columns, deleted_ids=ids)


def fit_to_columns(state: TableVersion, values: pa.Table, take_ids: TakeIds) -> tuple[ColumnPlan, pa.Table]:
    """Convert `values` to the types they will be stored in, and plan how the table's columns change for
    that."""
    own = own_columns(state, values.schema)
    if own is not None:
        return own, values
    values = narrow_rows(values, state.columns)
    plan = plan_columns(state.snapshot.name, state.columns, as_block(values), take_ids)
    refuse_stored_misfits(state, plan.widened_columns)
    return plan, to_columns(values, plan.columns)


def own_columns(state: TableVersion, schema: pa.Schema) -> ColumnPlan | None:
    """The plan for data whose names and types match the table's columns; None if they do not."""
    plan = state.plans.of(schema)
    if plan is None:
        columns = {c.name: c for c in state.columns}
        met = [columns.get(field.name) for field in schema]
        if any(c is None or c.type != f.type for c, f in zip(met, schema, strict=True)):
            return None
        plan = ColumnPlan(tuple(c for c in met if c is not None), (), ())
        state.plans.remember(schema, plan)
    return plan


def refuse_keys(name: str, on: Sequence[str]) -> None:
    """Raise `BadData` if no key column is given, or one is named twice."""
    if not on:
        raise BadData(f"{name}: no key columns are given to find rows by", fix="Name one or more in on=")
    twice = [key for place, key in enumerate(on) if key in on[:place]]
    if twice:
        raise BadData(f"{name}: column '{twice[0]}' is named twice in on=", fix="Name each column once")


def complete_values(
    state: TableVersion,
    ids: np.ndarray,
    plan: ColumnPlan,
    values: pa.Table,
    left_out: Mapping[str, np.ndarray],
) -> pa.Table:
    """Fill `values`, given for the rows of `ids`, with stored values where nothing was given."""
    if not left_out:
        return values
    columns = {c.name: c for c in state.columns}
    for place, column in enumerate(plan.columns):
        lacks = left_out.get(column.name)
        if lacks is None or not lacks.any() or column.name not in columns:
            continue
        old = take_rows(state.snapshot, state.locate(ids[lacks]), [columns[column.name]])
        stored = combine_chunks(to_columns(old, [column]).column(0))
        whole = put(values.column(place), np.flatnonzero(lacks), stored)
        values = values.set_column(place, values.schema.field(place), whole)
    return values


def refuse_missing_keys(name: str, rows: PartialRows, on: Sequence[str]) -> None:
    missing = [key for key in on if rows.table.schema.get_field_index(key) < 0]
    if missing:
        raise BadData(
            f"{name}: the rows have no column '{missing[0]}' to find them by", fix="Add it, or name another"
        )
    for key in on:
        lacks = np.flatnonzero(rows.omissions.get(key, ()))
        if len(lacks):
            raise BadData(
                f"{name}: row {lacks[0]} of those given has no '{key}' to find it by",
                fix="Add it, or leave the row out"
                + ("" if key == ID else ": None finds the rows where it is null"),
            )


def _differ(current: Mapping[str, pa.Array], new: Mapping[Column, pa.Array]) -> np.ndarray:
    """Which rows have a new value that differs."""
    changed = np.zeros(len(next(iter(new.values()))), bool)
    for column, values in new.items():
        now = current.get(column.name)
        changed |= to_numpy(values.is_valid()) if now is None else differs(as_type(now, column.type), values)
    return changed


def _matching_rows(
    state: TableVersion, data: pa.Table, on: Sequence[str], ignore_missing: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The ascending ids of the rows that `on` identifies, and for each the index of its row in `data`."""
    if list(on) == [ID]:
        row_ids = row_ids_of(state, data.column(ID))
        if len(row_ids) == 1 and not ignore_missing:
            refuse_unknown(state, row_ids)
            return row_ids, np.zeros(1, np.int64)
        ascending = bool((row_ids[1:] > row_ids[:-1]).all())
        order = np.arange(len(row_ids)) if ascending else np.argsort(row_ids, kind="stable")
        ids = row_ids[order]
        refuse_duplicates(state.snapshot.name, ids)
        if ignore_missing:
            exists = state.locate(ids) >= 0
            return ids[exists], order[exists]
        refuse_unknown(state, ids)
        return ids, order
    matches = known_matches(state, data.select(list(on)), ignore_missing)
    return matches.ids, matches.keys


def upsert_change(
    state: TableVersion,
    rows: PartialRows,
    on: Sequence[str],
    set_on_insert: Mapping[str, Any],
    take_ids: TakeIds,
    message: str,
    keep: str = "refuse",
) -> Change:
    """Update the rows that `on` identifies with the other columns' values; insert the others, with
    `set_on_insert` in addition."""
    name = state.snapshot.name
    refuse_keys(name, on)
    if not rows.table.num_rows:
        return Change(message, state.columns)
    refuse_missing_keys(name, rows, on)
    rows = rows_of_keys(rows, on, keep, name)
    data = rows.table
    _refuse(state, data, set_on_insert)
    refuse_odd_keys(state, [*data.column_names, *set_on_insert])
    _plan, keys = fit_to_columns(state, data.select(list(on)), take_ids)
    lookup = matches(state, keys)
    if len(lookup.unknown):
        data = _with_constants(data, set_on_insert)
    rows, lookup = _whole_rows(
        state, PartialRows(data, rows.omissions, rows.documents), lookup, set_on_insert
    )
    plan, values = fit_to_columns(state, rows.table, take_ids)
    cells = _cells(state, plan, PartialRows(values, rows.omissions), lookup, {*on, *set_on_insert})
    change = Change(message, plan.apply_to(state.columns), cells=cells)
    if not len(lookup.unknown):
        return change
    left_out = {name: lacks[lookup.unknown] for name, lacks in rows.omissions.items()}
    new = fill_omissions(rows_at(values, lookup.unknown), left_out, defaults_by_name(state))
    return with_rows(change, plan, to_columns(new, plan.columns))


def rows_of_keys(rows: PartialRows, on: Sequence[str], keep: str, name: str) -> PartialRows:
    """Keep one row for each key, the first or the last of those given; all of them if `keep` is "refuse"."""
    if text_of(keep, f"{name}: keep") not in ("refuse", "first", "last"):
        raise BadData(f"{name}: keep is '{keep}'", fix="Say 'refuse', 'first' or 'last'")
    if keep == "refuse":
        return rows
    firsts = firsts_of_keys(name, rows.table.select(list(on)))
    places = np.arange(len(firsts))
    if keep == "first":
        return rows.take(places[firsts == places])
    last = np.zeros(len(firsts), np.int64)
    last[firsts] = places  # of several writes to one index, the last wins
    return rows.take(last[firsts == places])


def _whole_rows(
    state: TableVersion, rows: PartialRows, matches: Matches, set_on_insert: Mapping[str, Any]
) -> tuple[PartialRows, Matches]:
    """Complete `rows`, merging partial values into those stored: the matching rows first, then the new ones;
    and `matches` for that order."""
    types = {c.name: c.type for c in state.columns}
    if not parts_of(rows, types):
        return rows, matches
    values = whole_values(state, matches.ids, rows.take(matches.keys).without(set_on_insert))
    new = rows.take(matches.unknown)
    result = with_paths_inside(new.table, types, state.snapshot.name)
    table = concat_batches([as_block(values.table), as_block(result)])
    count, more = len(matches.ids), len(matches.unknown)
    lacks = {n: np.concatenate([left_out, np.zeros(more, bool)]) for n, left_out in values.omissions.items()}
    return PartialRows(table, lacks), Matches(matches.ids, np.arange(count), np.arange(count, count + more))


def insert_instead_change(
    state: TableVersion, where: RowSelection, edits: Sequence[Assignment], take_ids: TakeIds, message: str
) -> Change:
    """Insert one row for a filter that no row meets: the values that the filter requires, then the
    operators."""
    name = state.snapshot.name
    if where is not None and not isinstance(where, Filter):
        raise BadData(
            f"{name}: no row matches, and none can be inserted by its {ID}", "the table assigns ids",
            "Choose rows by a filter",
        )  # fmt: skip
    types = {c.name: c.type for c in state.columns}
    equal = list(_equalities(where))
    inside = {path: value for path, value in equal if path not in types}
    cells = {column: _cell(value, types[column]) for column, value in equal if column in types}
    cells |= {column: pa.nulls(1, kind) for column, kind in types.items() if column not in cells}
    present = {column: value for column, value in cells.items() if value.null_count == 0}
    placed = assignments({"$set": inside}, state.columns, name) if inside else []
    context = RowContext(name, np.zeros(1, np.int64), cells, Job())
    row = present | apply_assignments([*placed, *edits], cells, 1, context, inserted=True)
    plan, values = fit_to_columns(state, pa.Table.from_arrays(list(row.values()), names=list(row)), take_ids)
    return with_rows(Change(message, plan.apply_to(state.columns)), plan, values)


def _equalities(where: Filter | None) -> Iterator[tuple[str, Any]]:
    """Yield columns, or fields inside them, and the values that the condition requires them to equal."""
    if isinstance(where, And):
        for child in where.children:
            yield from _equalities(child)
    elif isinstance(where, Predicate) and where.operator == "eq" and where.column != ID:
        yield from ((where.column, thaw(v)) for v in where.values if not isinstance(v, Reference))


def _cell(value: Any, kind: pa.DataType) -> pa.Array:
    """A value that the condition requires, converted to the column's type as the condition converts it."""
    if kind_of(kind) is Kind.TEXT:
        value = exact_number_text(value) or value
    elif kind_of(kind) not in NESTED_KINDS:
        value = convert(value, kind).shown_value
    return to_stored_type(array_of([value]), kind)


def _refuse(state: TableVersion, data: pa.Table, set_on_insert: Mapping[str, Any]) -> None:
    name = state.snapshot.name
    if not isinstance(set_on_insert, Mapping):
        fix = "Give a dict: {'created': dt.date.today()}"
        raise BadData(f"{name}: set_on_insert takes a dict, not {short_text(set_on_insert)}", fix=fix)
    if ID in data.column_names or ID in set_on_insert:
        raise BadData(
            f"{name}: an upsert takes no {ID}",
            "the table assigns the ids of new rows",
            f"Find rows by other columns, or update() those whose {ID} you know",
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
        data = data.append_column(column, repeat_value(array_of([value]), data.num_rows))
    return data


def _cells(
    state: TableVersion, plan: ColumnPlan, rows: PartialRows, matches: Matches, skipped_names: set[str]
) -> CellChanges | None:
    """The changed cells of the matching rows, without the columns `skipped_names`: the keys and those for
    new rows only."""
    ids, places = matches.ids, matches.keys
    if not len(ids) or skipped_names.issuperset(c.name for c in plan.columns):
        return None
    left_out = {n: lacks[places] for n, lacks in rows.omissions.items() if n not in skipped_names}
    values = complete_values(state, ids, plan, rows_at(rows.table, places), left_out)
    values_of = {
        c.key: combine_chunks(values.column(i))
        for i, c in enumerate(plan.columns)
        if c.name not in skipped_names
    }
    return CellChanges(ids, values_of)


def with_rows(change: Change, plan: ColumnPlan, rows: pa.Table) -> Change:
    return replace(change, rows=(plan.by_key(rows), rows.num_rows), inserted=rows.num_rows)


def integer_update_change(state: TableVersion, row: IntegerRow, message: str) -> Change | None:
    """Like `update_change` for one row of integers; None if it has other columns than such, or no `_id`."""
    if ID not in row.keys or len(row.keys) == 1:
        return None
    row_id, values_row = row.without(ID)
    plan = own_columns(state, values_row.schema)
    if plan is None:
        return None
    ids = np.array([row_id], np.int64)
    refuse_unknown(state, ids)
    values = BatchValues(plan.keys, values_row.schema, values_row.message)
    return Change(message, state.columns, cells=CellChanges(ids, values))
