"""What adding, dropping, renaming, ordering and casting columns stages: the table's columns afterwards, and
the values of at most one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.arrays import from_values, take, to_numpy
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column
from lamella.core.scan.stream import tables
from lamella.core.schema import ID, stored_type
from lamella.core.store.cells import Cells
from lamella.core.store.column_cast import Cast, Lost, converted, is_carried, refuse_unrelated
from lamella.core.store.commit import Change, Metadata
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.state import State

TakeIds = Callable[[int], int]
CAST_FROM = b"lamella.cast_from"
"""Noted about a column that a cast made: the ids of those it was before, the last one first."""


def added(state: State, column: Column, default: Any, after: str | None, job: Job, message: str) -> Change:
    """One more column, null in every row, or `default`, which its type has to hold."""
    table = state.snapshot.name
    refuse_names(table, [c.name for c in state.columns], [column.name])
    place = 0 if after == ID else len(state.columns)
    if after not in (None, ID):
        place = state.columns.index(known(state, [after])[0]) + 1
    columns = (*state.columns[:place], column, *state.columns[place:])
    if default is None:
        return Change(message, columns)
    value = _fitting(table, column, default)
    ids = np.concatenate([np.empty(0, np.int64), *_ids(state, job)])
    return Change(message, columns, cells=Cells(ids, {column.key: take(value, np.zeros(len(ids), np.int64))}))


def dropped(state: State, names: Sequence[str], message: str) -> Change:
    gone = set(known(state, names))
    kept = tuple(c for c in state.columns if c not in gone)
    keys = {c.key for c in gone}
    metadata = {key: value for key, value in state.metadata.items() if key[0] not in keys}
    return Change(message, kept, metadata=metadata)


def renamed(state: State, names: Mapping[str, str], message: str) -> Change:
    """All at once, so that two columns can swap their names."""
    renaming = {c.key: new for c, new in zip(known(state, list(names)), names.values(), strict=True)}
    others = [c.name for c in state.columns if c.key not in renaming]
    refuse_names(state.snapshot.name, others, list(names.values()))
    return Change(message, tuple(replace(c, name=renaming.get(c.key, c.name)) for c in state.columns))


def reordered(state: State, names: Sequence[str], message: str) -> Change:
    """These columns first, the others behind them in the order they had."""
    first = known(state, names)
    keys = {c.key for c in first}
    return Change(message, (*first, *(c for c in state.columns if c.key not in keys)))


def cast(state: State, name: str, how: Cast, take_ids: TakeIds, job: Job, message: str) -> Change:
    """The column as another type: where values have to be converted it is a new column in the old one's
    place, so that earlier versions keep theirs."""
    column, how = known(state, [name])[0], replace(how, to=stored_type(how.to))
    if how.to.equals(column.type):
        return Change(message, state.columns)
    if is_carried(column.type, how.to):
        return Change(message, _replaced(state, column, replace(column, type=how.to)))
    refuse_unrelated(state.snapshot.name, name, column.type, how.to)
    ids, values = _converted(state, column, how, job)
    made = Column(name, how.to, take_ids(1))
    cells = Cells(ids, {made.key: values}) if len(ids) else None
    return Change(message, _replaced(state, column, made), _moved(state.metadata, column, made), cells=cells)


def known(state: State, names: Sequence[str]) -> list[Column]:
    """The columns of these names, each named once; raises `UnknownColumn`, and `BadData` for `_id`."""
    table, by_name = state.snapshot.name, {c.name: c for c in state.columns}
    if ID in names:
        raise BadData(f"{table}: {ID} is the table's own and stays as it is", fix="Name another column")
    times = Counter(text_of(name, f"{table}: the column") for name in names)
    for name in names:
        if name not in by_name:
            raise UnknownColumn(name, table, list(by_name))
        if times[name] > 1:
            raise BadData(f"{table}: column '{name}' is named twice", fix="Name each column once")
    return [by_name[name] for name in names]


def refuse_names(table: str, taken: Iterable[str], wanted: Sequence[str]) -> None:
    """Raise `BadData` for a new name that is empty, taken, given twice, not Unicode, or the table's own."""
    held = set(taken)
    for name in wanted:
        text_of(name, f"{table}: the column name")
        if not name:
            raise BadData(f"{table}: a column needs a name", fix="Give it one")
        if name == ID:
            raise BadData(f"{table}: {ID} is what the table calls its row ids", fix="Choose another name")
        if name in held:
            raise BadData(
                f"{table} has a column '{name}' already", fix="Choose another name, or rename that one too"
            )
        held.add(name)


def _replaced(state: State, column: Column, by: Column) -> tuple[Column, ...]:
    return tuple(by if c is column else c for c in state.columns)


def _moved(metadata: Metadata, column: Column, to: Column) -> Metadata:
    moved = {(to.key if key == column.key else key, name): v for (key, name), v in metadata.items()}
    was = ",".join(map(str, (column.key, *cast_from(metadata, column.key))))
    return moved | {(to.key, CAST_FROM): was.encode()}


def cast_from(metadata: Metadata, key: int) -> tuple[int, ...]:
    """The ids that a column had before it was cast, the last one first."""
    noted = metadata.get((key, CAST_FROM), b"")
    return tuple(map(int, noted.split(b","))) if noted else ()


def _fitting(table: str, column: Column, default: Any) -> pa.Array:
    try:
        return from_values([default], column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise BadData(
            f"{table}: {default!r} does not fit column '{column.name}' of type {column.type}",
            str(error),
            "Give a value that does, or another type",
        ) from error


def _converted(state: State, column: Column, how: Cast, job: Job) -> tuple[np.ndarray, pa.Array]:
    """A row group at a time: only what is made of the column is kept in memory."""
    ids, values = [np.empty(0, np.int64)], [pa.nulls(0, how.to)]
    for rows in tables(state.snapshot, (ID_COLUMN, column), job):
        ids.append(to_numpy(rows.column(0)))
        try:
            values.append(converted(rows.column(1).combine_chunks(), how))
        except Lost as lost:
            raise BadData(
                f"{state.snapshot.name}: column '{column.name}' holds {lost.value}, which is no {how.to}",
                lost.why,
                lost.fix,
            ) from lost
    return np.concatenate(ids), pa.concat_arrays(values)


def _ids(state: State, job: Job) -> Iterator[np.ndarray]:
    return (to_numpy(rows.column(0)) for rows in tables(state.snapshot, (ID_COLUMN,), job))
