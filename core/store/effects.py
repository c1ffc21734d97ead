"""The effect of a change before it is made: the first rows before and after, and exact counts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_numpy, from_values, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.from_python import concat_batches
from lamella.core.arrow.ingest import as_block
from lamella.core.arrow.nested_values import project, type_at
from lamella.core.arrow.sorted_ids import among, distinct
from lamella.core.arrow.types import ID
from lamella.core.filters.expr import Filter
from lamella.core.filters.expr import columns_read as filter_columns
from lamella.core.jobs import Job
from lamella.core.query.find import find_rows
from lamella.core.scan.read import live_positions, take_rows
from lamella.core.scan.row_ids import ids_at, known_ids
from lamella.core.store.cells import as_type
from lamella.core.store.changes import (
    assigned_values,
    differing_values,
    fit_to_columns,
    refuse_keys,
    refuse_missing_keys,
    rows_of_keys,
    stored_values,
    whole_values,
    with_rows,
)
from lamella.core.store.checks import defaults_by_name, fill_omissions, with_defaults
from lamella.core.store.column_changes import CastFailures, cast_failures, columns_named, refuse_names
from lamella.core.store.commit import Change
from lamella.core.store.evolution import Cast, ColumnPlan, cast_values, to_columns
from lamella.core.store.operators import Assignment, Operators, assignments, columns_read
from lamella.core.store.operators.table import Path
from lamella.core.store.operators.values import choose
from lamella.core.store.partial_values import PartialRows, partial_rows, with_paths_inside
from lamella.core.store.row_lookup import RowSelection, chosen_ids, firsts_of_keys, matches
from lamella.core.store.split_merge import Merge, Split, check_act, compute_columns, refuse_loss
from lamella.core.store.table_version import TableVersion
from lamella.core.store.writer import rows_of

SAMPLE_ROWS = 20
MOST_CONTEXT = 3
WRITE_SECONDS_A_CELL = 4e-7
"""The time of a commit per cell, in addition to computing the values; measured with a million rows."""
NEW, CHANGED, DELETED, CONFLICT = "new", "changed", "deleted", "conflict"


@dataclass(frozen=True)
class Preview:
    """A sample of rows. `context` has `_id`, null for new rows, and columns that help to recognise the rows;
    `before` and `after` have the columns that change. A new column is missing from `before`; a dropped column
    or a deleted row is missing from `after`. `kinds` says what happens to each row, `reasons` why a value is
    lost."""

    context: pa.Table
    before: pa.Table
    after: pa.Table
    kinds: Sequence[str]
    reasons: Sequence[str] = ()


@dataclass(frozen=True)
class Effect:
    """Exact numbers of rows. `matching` rows are selected, of which `nulls` stay null; `same` and
    `conflicting` are rows of an upsert. `seconds` estimates the commit. `types` has the old and new type of
    columns whose type changes, with None as the old type of a new column."""

    preview: Preview
    matching: int
    changed: int = 0
    inserted: int = 0
    deleted: int = 0
    nulls: int = 0
    same: int = 0
    conflicting: int = 0
    seconds: float = 0.0
    types: Mapping[str, tuple[pa.DataType | None, pa.DataType]] = field(default_factory=dict)
    failures: CastFailures | None = None

    @property
    def total(self) -> int:
        return self.changed + self.inserted + self.deleted


def update_effect(
    state: TableVersion, operators: Operators, where: RowSelection, job: Job, most: int | None = None
) -> Effect:
    """The effect of update operators. With `most`, of the first `most` rows only, which is fast."""
    started = time.perf_counter()
    job.check()
    edits = assignments(operators, state.columns, state.snapshot.name)
    ids = chosen_ids(state, where) if most is None else first_ids(state, where, most)
    old, new = assigned_values(state, ids, edits, job)
    if not new:
        return Effect(_nothing(state), len(ids))
    plan, arrays, places = differing_values(state, old, new, _no_ids)
    values = {column.name: array for column, array in arrays.items()}
    sample = places[:SAMPLE_ROWS] if most is None else np.arange(len(ids))
    own = {c.name for c in state.columns}
    whole = {name: _to_column_type(old[name], state, name) for name in values if name in own}
    paths = _changing(edits, values)
    before, after = _at(paths, whole), _at(paths, values)
    old_rows = {name: take(array, sample) for name, array in before.items()}
    new_rows = {name: take(array, sample) for name, array in after.items()}
    seconds = time.perf_counter() - started
    nulls = _stay_null(before, after, len(ids))
    known_by = [*_columns_of(where), *columns_read(edits)]
    return Effect(
        _preview(state, ids[sample], old_rows, new_rows, CHANGED, known_by, values),
        len(ids),
        changed=len(places),
        nulls=nulls,
        seconds=seconds + len(places) * len(values) * WRITE_SECONDS_A_CELL,
        types=_types(state, plan),
    )


def _changing(edits: Iterable[Assignment], columns: Mapping[str, pa.Array]) -> list[Path]:
    """The paths that change: fields of a struct if the edits touch only such, or else the whole column."""
    edited = [path for edit in edits for path in (edit.path, edit.target) if path is not None]
    changing: list[Path] = []
    for name, values in columns.items():
        paths = [path for path in edited if path.column == name]
        are_fields = all(path.steps and type_at(values.type, path.steps) is not None for path in paths)
        changing += paths if paths and are_fields else [Path(name, (), name)]
    return changing


def _at(paths: Iterable[Path], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The values at the paths, as far as the columns have them."""
    return {
        path.text: project(columns[path.column], path.steps)
        for path in paths
        if path.column in columns and type_at(columns[path.column].type, path.steps) is not None
    }


def _to_column_type(values: pa.Array, state: TableVersion, name: str) -> pa.Array:
    return as_type(values, state.snapshot.column(name).type)


def _stay_null(old: Mapping[str, pa.Array], new: Mapping[str, pa.Array], count: int) -> int:
    stay = np.ones(count, bool)
    for name in new:
        stay &= ~to_numpy(new[name].is_valid())
        if name in old:
            stay &= ~to_numpy(old[name].is_valid())
    return int(stay.sum())


def _types(state: TableVersion, plan: ColumnPlan) -> dict[str, tuple[pa.DataType | None, pa.DataType]]:
    had = {c.name: c.type for c in state.columns}
    return {c.name: (had.get(c.name), c.type) for c in (*plan.widened_columns, *plan.added_columns)}


def delete_effect(state: TableVersion, where: RowSelection, job: Job) -> Effect:
    started = time.perf_counter()
    ids = chosen_ids(state, where)
    job.check()
    return _deletion(state, ids, len(ids), time.perf_counter() - started, _columns_of(where))


def duplicates_effect(
    state: TableVersion, gone: np.ndarray, on: Iterable[str], where: RowSelection, job: Job, seconds: float
) -> Effect:
    matching = state.snapshot.num_rows if where is None else len(chosen_ids(state, where))
    job.check()
    return _deletion(state, gone, matching, seconds, [*on, *_columns_of(where)])


def deletion_effect(state: TableVersion, ids: np.ndarray) -> Effect:
    """The effect of deleting the rows of `ids` (ascending)."""
    return _deletion(state, ids, len(ids), 0.0, ())


def insertion_effect(state: TableVersion | None, rows: pa.Table) -> Effect:
    """The effect of inserting rows; `state` is None for a new table."""
    sample = rows.slice(0, SAMPLE_ROWS)
    context = pa.Table.from_arrays([pa.nulls(sample.num_rows, pa.int64())], names=[ID])
    preview = Preview(context, sample.select([]), sample, [NEW] * sample.num_rows)
    cells = rows.num_rows * rows.num_columns
    plan = None if state is None else fit_to_columns(state, rows, _no_ids)[0]
    types = {} if state is None or plan is None else _types(state, plan)
    return Effect(
        preview, rows.num_rows, inserted=rows.num_rows, seconds=cells * WRITE_SECONDS_A_CELL, types=types
    )


def cells_effect(state: TableVersion, ids: np.ndarray, values: Mapping[str, pa.Array]) -> Effect:
    """The effect of setting new values in some columns of the rows of `ids` (ascending), all of which are
    written."""
    columns = [state.snapshot.column(name) for name in values]
    old = stored_values(state, ids, columns)
    plan, arrays, places = differing_values(state, old, values, _no_ids)
    new = {column.name: array for column, array in arrays.items()}
    was = {name: _to_column_type(old[name], state, name) for name in new}
    sample = places[:SAMPLE_ROWS]
    before = {name: take(array, sample) for name, array in was.items()}
    after = {name: take(array, sample) for name, array in new.items()}
    return Effect(
        _preview(state, ids[sample], before, after, CHANGED),
        len(ids),
        changed=len(places),
        nulls=_stay_null(was, new, len(ids)),
        seconds=len(places) * len(new) * WRITE_SECONDS_A_CELL,
        types=_types(state, plan),
    )


def _deletion(
    state: TableVersion, ids: np.ndarray, matching: int, seconds: float, known_by: Iterable[str]
) -> Effect:
    sample = ids[:SAMPLE_ROWS]
    own = {c.name: c for c in state.columns}
    names = [name for name in dict.fromkeys([*known_by, *own]) if name in own]
    columns = [own[name] for name in names[: 2 * MOST_CONTEXT]]
    rows = take_rows(state.snapshot, state.locate(sample), columns)
    context = pa.Table.from_arrays([from_numpy(sample)], names=[ID])
    preview = Preview(context, rows, rows.select([]), [DELETED] * len(sample))
    return Effect(preview, matching, deleted=len(ids), seconds=seconds + len(ids) * WRITE_SECONDS_A_CELL)


def cast_effect(state: TableVersion, name: str, how: Cast, job: Job) -> Effect:
    """The effect of a cast on all rows. The preview shows rows whose value would be lost first, with the
    reason."""
    started = time.perf_counter()
    column = columns_named(state, [name])[0]
    failures = cast_failures(state, name, how, 10 * SAMPLE_ROWS, job)
    ids = first_ids(state, None, SAMPLE_ROWS)
    if failures.count:
        ids = np.array(failures.ids[:SAMPLE_ROWS], np.int64)
    values = combine_chunks(take_rows(state.snapshot, state.locate(ids), [column]).column(0))
    cast = cast_values(values, replace(how, nulls=True))
    kinds = [
        CONFLICT if was and not now else CHANGED
        for was, now in zip(to_numpy(values.is_valid()), to_numpy(cast.is_valid()), strict=True)
    ]
    preview = _preview(state, ids, {name: values}, {name: cast}, CHANGED)
    lost = dict(zip(failures.ids, failures.reasons, strict=True))
    count = state.snapshot.num_rows
    return Effect(
        replace(preview, kinds=kinds, reasons=[lost.get(row_id, "") for row_id in ids.tolist()]),
        count,
        changed=count,
        conflicting=failures.count,
        seconds=time.perf_counter() - started + count * WRITE_SECONDS_A_CELL,
        types={name: (column.type, how.to)},
        failures=failures,
    )


def made_columns_effect(
    state: TableVersion, act: Split | Merge, where: RowSelection, job: Job, most: int | None = None
) -> Effect:
    """The effect of splitting or merging columns. With `most`, of the first `most` rows only."""
    started = time.perf_counter()
    sources, names = check_act(state, act)
    ids = chosen_ids(state, where) if most is None else first_ids(state, where, most)
    if most is None:
        refuse_loss(state, act, len(ids))
    some = ids[:SAMPLE_ROWS]
    parts = next(compute_columns(state, act, some, Job()), [pa.nulls(0, pa.string()) for _ in names])
    rows = take_rows(state.snapshot, state.locate(some), sources)
    before = {name: combine_chunks(rows.column(name)) for name in rows.column_names}
    after = dict(zip(names, parts, strict=True))
    preview = _preview(state, some, before, after, CHANGED, _columns_of(where))
    job.check()
    return Effect(
        preview,
        len(ids),
        changed=len(ids),
        seconds=time.perf_counter() - started + len(ids) * len(names) * 2 * WRITE_SECONDS_A_CELL,
        types={name: (None, pa.string()) for name in names},
    )


def rename_effect(state: TableVersion, names: Mapping[str, str]) -> Effect:
    """The effect of renaming columns: no row changes, and the preview has the columns under both names."""
    columns = columns_named(state, list(names))
    stay = [c.name for c in state.columns if c not in columns]
    refuse_names(state.snapshot.name, stay, list(names.values()))
    ids = first_ids(state, None, SAMPLE_ROWS)
    rows = take_rows(state.snapshot, state.locate(ids), columns)
    context = pa.Table.from_arrays([from_numpy(ids)], names=[ID])
    preview = Preview(context, rows, rows.rename_columns(list(names.values())), [""] * len(ids))
    return Effect(preview, state.snapshot.num_rows)


# ------------------------------------------------------------------------------ upserts


def upsert_effect(state: TableVersion, data: object, on: Sequence[str], keep: str, job: Job) -> Effect:
    """The effect of an upsert. With `keep` "refuse", rows that share a key but have other values are counted
    as conflicts, and shown first."""
    started = time.perf_counter()
    name, rows = state.snapshot.name, partial_rows(data)
    refuse_keys(name, on)
    refuse_missing_keys(name, rows, on)
    conflicts = _conflicts(rows, on, name) if keep == "refuse" else np.empty(0, np.int64)
    single = rows_of_keys(rows, on, "first" if keep == "refuse" else keep, name).without([ID])
    types = {c.name: c.type for c in state.columns}
    plan, values = fit_to_columns(state, with_paths_inside(single.table, types, name), _no_ids)
    lookup = matches(state, values.select(list(on)))
    job.check()
    old, new, changed = _differences(state, lookup.ids, single.take(lookup.keys).without(on))
    sample = changed[:SAMPLE_ROWS]
    updated = _UpdatedRows(
        lookup.ids[sample],
        take(values.select(list(on)), lookup.keys[sample]),
        {name: take(array, sample) for name, array in old.items()},
        {name: take(array, sample) for name, array in new.items()},
    )
    conflicting = take(rows.without([ID]).table, conflicts[:SAMPLE_ROWS])
    unknown = PartialRows(values, single.omissions).take(lookup.unknown[:SAMPLE_ROWS])
    cells = len(changed) * max(1, len(new)) + len(lookup.unknown) * single.table.num_columns
    return Effect(
        _upsert_preview(
            state,
            with_paths_inside(conflicting, types, name),
            _added_rows(state, plan, unknown),
            updated,
            on,
        ),
        rows.table.num_rows,
        changed=len(changed),
        inserted=len(lookup.unknown),
        same=len(lookup.ids) - len(changed),
        conflicting=len(conflicts),
        seconds=time.perf_counter() - started + cells * WRITE_SECONDS_A_CELL,
        types=_types(state, plan),
    )


def _differences(
    state: TableVersion, ids: np.ndarray, values: PartialRows
) -> tuple[Mapping[str, pa.Array], Mapping[str, pa.Array], np.ndarray]:
    """The stored values of these rows, the new ones, and the places of the rows where they differ."""
    columns = [c for c in state.columns if c.name in values.table.column_names]
    old = stored_values(state, ids, columns)
    new = _whole(state, ids, values, old)
    if not new or not len(ids):
        return old, new, np.empty(0, np.int64)
    _, arrays, changed = differing_values(state, old, new, _no_ids)
    return old, {column.name: array for column, array in arrays.items()}, changed


def has_conflicts(table: str, data: object, on: Sequence[str]) -> bool:
    """Whether a key is given twice with different values."""
    rows = partial_rows(data)
    refuse_missing_keys(table, rows, on)
    return len(_conflicts(rows, on, table)) > 0


def _conflicts(rows: PartialRows, on: Sequence[str], name: str) -> np.ndarray:
    """The numbers of the rows whose key another row gives with different values."""
    firsts = firsts_of_keys(name, rows.table.select(list(on)))
    again = np.flatnonzero(firsts != np.arange(len(firsts)))
    if not len(again):
        return again
    unlike = np.zeros(len(again), bool)
    for column in rows.table.columns:
        values = combine_chunks(column)
        unlike |= differs(take(values, firsts[again]), take(values, again))
    for lacks in rows.omissions.values():  # leaving a value out differs from giving null
        unlike |= lacks[firsts[again]] != lacks[again]
    return np.flatnonzero(among(firsts, distinct(firsts[again][unlike])))


def _whole(
    state: TableVersion, ids: np.ndarray, rows: PartialRows, old: Mapping[str, pa.Array]
) -> dict[str, pa.Array]:
    """The new columns of the matching rows, with stored values where nothing is given."""
    merged = whole_values(state, ids, rows)
    columns = {name: combine_chunks(merged.table.column(name)) for name in merged.table.column_names}
    for name, lacks in merged.omissions.items():
        if name in old:
            columns[name] = choose(lacks, old[name], columns[name])
    return columns


def _added_rows(state: TableVersion, plan: ColumnPlan, rows: PartialRows) -> pa.Table:
    """New rows as they will be stored, with defaults for what they lack."""
    if not rows.table.num_rows:
        return rows.table
    values = to_columns(fill_omissions(rows.table, rows.omissions, defaults_by_name(state)), plan.columns)
    change = with_rows(Change("", plan.apply_to(state.columns)), plan, values)
    return rows_of(with_defaults(state, change)).table()


@dataclass(frozen=True, eq=False)
class _UpdatedRows:
    """Existing rows, their keys, and the values of the given columns before and after."""

    ids: np.ndarray
    keys: pa.Table
    before: Mapping[str, pa.Array]
    after: Mapping[str, pa.Array]


def _upsert_preview(
    state: TableVersion, conflicting: pa.Table, added: pa.Table, updated: _UpdatedRows, on: Sequence[str]
) -> Preview:
    """The preview of an upsert: conflicting rows as given, then new ones, then those that change."""
    first = len(conflicting) + len(added)
    known_columns = {*on, *updated.before}
    defaults = [c for c in state.columns if c.name in added.column_names and c.name not in known_columns]
    before = {**updated.before, **stored_values(state, updated.ids, defaults)}
    columns = {**{name: updated.keys.column(name) for name in on}, **before, **updated.after}
    parts = (conflicting, added, _table(columns))
    rows = concat_batches([as_block(part) for part in parts])[:SAMPLE_ROWS]
    ids = from_values([None] * first + updated.ids.tolist(), pa.int64())
    kinds = [CONFLICT] * len(conflicting) + [NEW] * len(added) + [CHANGED] * len(updated.ids)
    context = pa.Table.from_arrays([ids[:SAMPLE_ROWS], *(rows.column(name) for name in on)], names=[ID, *on])
    shown_before = {
        n: pa.concat_arrays([pa.nulls(first, array.type), array])[:SAMPLE_ROWS] for n, array in before.items()
    }
    value_names = [name for name in rows.column_names if name not in on]
    return Preview(context, _table(shown_before), rows.select(value_names), kinds[:SAMPLE_ROWS])


# ------------------------------------------------------------------------------ rows that are shown


def _columns_of(where: RowSelection) -> list[str]:
    """The columns that a filter reads."""
    names = filter_columns(where) if isinstance(where, Filter) else ()
    return [name.partition(".")[0] for name in names]


def first_ids(state: TableVersion, where: RowSelection, most: int) -> np.ndarray:
    """The ids of the first `most` rows that `where` selects."""
    if where is None:
        count = min(most, state.snapshot.num_rows)
        return ids_at(state, live_positions(state.snapshot, np.arange(count)))
    if isinstance(where, Filter):
        return ids_at(state, find_rows(state.snapshot, where, (), Job(), None, most)[:most])
    return known_ids(state, where)[:most]


def _preview(
    state: TableVersion,
    ids: np.ndarray,
    before: Mapping[str, pa.Array],
    after: Mapping[str, pa.Array],
    kind: str,
    known_by: Iterable[str] = (),
    columns: Iterable[str] = (),
) -> Preview:
    """Make a preview. `known_by` are columns by which users recognise rows, such as those of the filter or of
    an expression. `columns` are those of the fields in `before` and `after`."""
    changing, own = {*before, *after, *columns}, {c.name: c for c in state.columns}
    names = [name for name in dict.fromkeys([*known_by, *own]) if name in own and name not in changing]
    rows = take_rows(state.snapshot, state.locate(ids), [own[name] for name in names[:MOST_CONTEXT]])
    context = pa.Table.from_arrays([from_numpy(ids), *rows.columns], names=[ID, *rows.column_names])
    return Preview(context, _table(before), _table(after), [kind] * len(ids))


def _table(columns: Mapping[str, pa.Array]) -> pa.Table:
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _nothing(state: TableVersion) -> Preview:
    return _preview(state, np.empty(0, np.int64), {}, {}, CHANGED)


def _no_ids(_count: int) -> int:
    """Column ids for a preview, in which nothing is stored."""
    return 2**40
