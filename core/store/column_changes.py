"""Changes of the columns of a table, as data: added, dropped, renamed, reordered and cast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.types import ID, stored_type
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.scan.read import tables
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column
from lamella.core.store.cells import CellChanges
from lamella.core.store.checks import rules_cast
from lamella.core.store.column_rules import value_array, with_default
from lamella.core.store.commit import Change
from lamella.core.store.evolution import (
    Cast,
    LostValues,
    cast_values,
    failures,
    is_carried,
    reason,
    refuse_null_character,
    refuse_unrelated_types,
)
from lamella.core.store.table_version import Metadata, TableVersion
from lamella.core.validation import text_of

TakeIds = Callable[[int], int]
CAST_FROM = b"lamella.cast_from"
"""The metadata key of a column that a cast made: the ids of the columns it was before, the most recent
first."""


def add_change(
    state: TableVersion, column: Column, default: Any, after: str | None, job: Job, message: str
) -> Change:
    """Add a column that is null in every row, or `default`, which must fit its type and becomes the default
    of new rows."""
    table = state.snapshot.name
    refuse_names(table, [c.name for c in state.columns], [column.name])
    place = 0 if after == ID else len(state.columns)
    if after not in (None, ID):
        place = state.columns.index(columns_named(state, [after])[0]) + 1
    columns = (*state.columns[:place], column, *state.columns[place:])
    if default is None:
        return Change(message, columns)
    value = value_array(table, column, [default])
    ids = np.concatenate([np.empty(0, np.int64), *_ids(state, job)])
    cells = CellChanges(ids, {column.key: take(value, np.zeros(len(ids), np.int64))})
    return Change(message, columns, with_default(state.metadata, column.key, value), cells=cells)


def drop_change(state: TableVersion, names: Sequence[str], message: str) -> Change:
    gone = set(columns_named(state, names))
    columns = tuple(c for c in state.columns if c not in gone)
    keys = {c.key for c in gone}
    metadata = {key: value for key, value in state.metadata.items() if key[0] not in keys}
    return Change(message, columns, metadata=metadata)


def rename_change(state: TableVersion, names: Mapping[str, str], message: str) -> Change:
    """Rename columns, all at once, so that two can swap names."""
    renaming = {c.key: new for c, new in zip(columns_named(state, list(names)), names.values(), strict=True)}
    unchanged_names = [c.name for c in state.columns if c.key not in renaming]
    refuse_names(state.snapshot.name, unchanged_names, list(names.values()))
    return Change(message, tuple(replace(c, name=renaming.get(c.key, c.name)) for c in state.columns))


def reorder_change(state: TableVersion, names: Sequence[str], message: str) -> Change:
    """Put these columns first, and the others behind them in their present order."""
    first = columns_named(state, names)
    keys = {c.key for c in first}
    return Change(message, (*first, *(c for c in state.columns if c.key not in keys)))


def cast_change(
    state: TableVersion, name: str, how: Cast, take_ids: TakeIds, job: Job, message: str
) -> Change:
    """Cast a column. If values have to be converted, a new column replaces the old one, so that earlier
    versions keep theirs."""
    column, how = columns_named(state, [name])[0], replace(how, to=stored_type(how.to))
    if how.to.equals(column.type):
        return Change(message, state.columns)
    if is_carried(column.type, how.to):
        return Change(message, _with_column(state, column, replace(column, type=how.to)))
    refuse_unrelated_types(state.snapshot.name, name, column.type, how.to)
    how.notation.refuse(f"{state.snapshot.name}: column '{name}'", column.type)
    ids, values = _convert(state, column, how, job)
    new_column = Column(name, how.to, take_ids(1))
    cells = CellChanges(ids, {new_column.key: values}) if len(ids) else None
    metadata = rules_cast(state, _move_metadata(state.metadata, column, new_column), column, new_column, how)
    return Change(message, _with_column(state, column, new_column), metadata, cells=cells)


@dataclass(frozen=True)
class CastFailures:
    """The values that a cast would lose: `count` in `column`, with the `ids`, `values` and `reasons` of the
    first."""

    column: str
    count: int
    ids: Sequence[int]
    values: Sequence[str]
    reasons: Sequence[str]


def cast_failures(state: TableVersion, name: str, how: Cast, most: int, job: Job) -> CastFailures:
    """Find the values that a cast would lose, reading one row group at a time."""
    column, how = columns_named(state, [name])[0], replace(how, to=stored_type(how.to))
    table, none = state.snapshot.name, CastFailures(name, 0, [], [], [])
    if how.to.equals(column.type) or is_carried(column.type, how.to):
        return none
    refuse_unrelated_types(table, name, column.type, how.to)
    how.notation.refuse(f"{table}: column '{name}'", column.type)
    count = 0
    ids: list[int] = []
    examples: list[pa.Array] = []
    for rows in tables(state.snapshot, (ID_COLUMN, column), job):
        values = rows.column(1).combine_chunks()
        places = failures(values, how)
        count += len(places)
        for place in places[: most - len(ids)].tolist():
            ids.append(rows.column(0)[place].as_py())
            examples.append(values.slice(place, 1))
    return CastFailures(
        name,
        count,
        ids,
        [str(example[0].as_py()) for example in examples],
        [reason(example, how) for example in examples],
    )


def columns_named(state: TableVersion, names: Sequence[str]) -> list[Column]:
    """Return the columns with these names; raise `UnknownColumn`, and `BadData` for `_id` and for a repeated
    name."""
    table, by_name = state.snapshot.name, {c.name: c for c in state.columns}
    if ID in names:
        raise BadData(f"{table}: {ID} belongs to the table and cannot be changed", fix="Name another column")
    times = Counter(text_of(name, f"{table}: the column") for name in names)
    for name in names:
        if name not in by_name:
            raise UnknownColumn(name, table, list(by_name))
        if times[name] > 1:
            raise BadData(f"{table}: column '{name}' is named twice", fix="Name each column once")
    return [by_name[name] for name in names]


def refuse_names(table: str, existing: Iterable[str], new_names: Sequence[str]) -> None:
    """Raise `BadData` for a new name that is empty, taken, repeated, not Unicode, or reserved by the
    table."""
    names = set(existing)
    for name in new_names:
        text_of(name, f"{table}: the column name")
        if not name:
            raise BadData(f"{table}: a column needs a name", fix="Give it one")
        refuse_null_character(table, name)
        if name == ID:
            raise BadData(f"{table}: {ID} is reserved for row ids", fix="Choose another name")
        if name in names:
            raise BadData(
                f"{table} already has a column '{name}'", fix="Choose another name, or rename that one too"
            )
        names.add(name)


def _with_column(state: TableVersion, column: Column, by: Column) -> tuple[Column, ...]:
    return tuple(by if c is column else c for c in state.columns)


def _move_metadata(metadata: Metadata, column: Column, to: Column) -> Metadata:
    moved = {(to.key if key == column.key else key, name): v for (key, name), v in metadata.items()}
    was = ",".join(map(str, (column.key, *ids_before_casts(metadata, column.key))))
    return moved | {(to.key, CAST_FROM): was.encode()}


def ids_before_casts(metadata: Metadata, key: int) -> tuple[int, ...]:
    """The ids that a column had before casts, the most recent first."""
    noted = metadata.get((key, CAST_FROM), b"")
    return tuple(map(int, noted.split(b","))) if noted else ()


def _convert(state: TableVersion, column: Column, how: Cast, job: Job) -> tuple[np.ndarray, pa.Array]:
    """Convert a column one row group at a time, keeping only the new values in memory; return ids and
    values."""
    ids, values = [np.empty(0, np.int64)], [pa.nulls(0, how.to)]
    for rows in tables(state.snapshot, (ID_COLUMN, column), job):
        ids.append(to_numpy(rows.column(0)))
        try:
            values.append(cast_values(rows.column(1).combine_chunks(), how))
        except LostValues as lost:
            raise BadData(
                f"{state.snapshot.name}: column '{column.name}' holds {lost.value},"
                f" which is not of type {how.to}",
                lost.why,
                lost.fix,
            ) from lost
    return np.concatenate(ids), pa.concat_arrays(values)


def _ids(state: TableVersion, job: Job) -> Iterator[np.ndarray]:
    return (to_numpy(rows.column(0)) for rows in tables(state.snapshot, (ID_COLUMN,), job))
