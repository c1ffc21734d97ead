"""Edits of a file that was opened in place, as plain data: changed cells, deleted rows and new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_values, put, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.sorted_ids import among, distinct
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, TypeConflict, UnknownColumn, UnknownRow, short_text
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.core.validation import items_of

NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class FileEdits:
    """The edits of a file; rows are numbered from 0 in its order.

    `cells` has, for each column, ascending row numbers and the new values; `deleted_rows` has ascending row
    numbers; `rows` are appended, with null in columns that they lack.
    """

    cells: Mapping[str, tuple[np.ndarray, pa.Array]] = field(default_factory=dict)
    deleted_rows: np.ndarray = field(default_factory=lambda: NO_ROWS)
    rows: pa.Table | None = None

    @property
    def num_cells(self) -> int:
        return sum(len(rows) for rows, _ in self.cells.values())

    @property
    def num_new(self) -> int:
        return 0 if self.rows is None else self.rows.num_rows

    @property
    def touched_rows(self) -> np.ndarray:
        """The rows of the file that are changed or deleted, ascending."""
        return distinct(np.concatenate([self.deleted_rows, *(rows for rows, _ in self.cells.values())]))

    def apply(self, rows: pa.Table, first: int) -> pa.Table:
        """Apply the edits to rows of the file from number `first` on, and drop the deleted ones."""
        stop, columns = first + rows.num_rows, []
        for name in rows.column_names:
            numbers, new = self.cells.get(name, (NO_ROWS, None))
            low, high = np.searchsorted(numbers, [first, stop])
            columns.append(rows.column(name))
            if new is not None and high > low:
                places = numbers[low:high] - first
                columns[-1] = put(columns[-1], places, new.slice(low, high - low))
        edited = pa.Table.from_arrays(columns, schema=rows.schema)
        low, high = np.searchsorted(self.deleted_rows, [first, stop])
        if high == low:
            return edited
        stay = np.ones(rows.num_rows, bool)
        stay[self.deleted_rows[low:high] - first] = False
        return take(edited, np.flatnonzero(stay))


def fill_columns(rows: pa.Table, snapshot: Snapshot) -> pa.Table:
    """Complete the rows to all columns of the file, with null in those that they lack."""
    names = set(rows.column_names)
    columns = [
        rows.column(c.name) if c.name in names else pa.nulls(rows.num_rows, c.type) for c in snapshot.columns
    ]
    return pa.table(columns, schema=snapshot.schema)


def file_edits(
    snapshot: Snapshot,
    cells: Mapping[int, Mapping[str, Any]] | Sequence[pa.Table] = (),
    rows: pa.Table | Sequence[Mapping[str, Any]] | None = None,
    delete: Sequence[int] | np.ndarray | None = None,
) -> FileEdits:
    """Make edits from the arguments of `save_edits`, checked against the rows. If a cell is given twice, the
    last one wins."""
    parts = _of_rows(snapshot, cells) if isinstance(cells, Mapping) else _of_tables(snapshot, cells)
    merged = {name: _merge(pieces) for name, pieces in parts.items()}
    deleted = distinct(_numbers(snapshot, NO_ROWS if delete is None else delete))
    for numbers, _ in merged.values():
        _refuse_unknown(snapshot, numbers)
        both = numbers[among(numbers, deleted)]
        if len(both):
            what = f"{snapshot.name}: row {both[0]} is both changed and deleted"
            raise BadData(what, fix="Do only one of the two")
    _refuse_unknown(snapshot, deleted)
    return FileEdits(merged, deleted, _new_rows(snapshot, rows))


def _of_rows(
    snapshot: Snapshot, cells: Mapping[int, Mapping[str, Any]]
) -> dict[str, list[tuple[np.ndarray, pa.Array]]]:
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    for row, values in cells.items():
        if not isinstance(values, Mapping):
            raise BadData(
                f"{snapshot.name}: row {short_text(row)} is given {short_text(values)}",
                fix="Give a dict of its cells",
            )
        for name, value in values.items():
            numbers, new = columns.setdefault(name, ([], []))
            numbers.append(row)
            new.append(value)
    return {
        name: [(_numbers(snapshot, numbers), _to_column_type(snapshot, name, new))]
        for name, (numbers, new) in columns.items()
    }


def _of_tables(snapshot: Snapshot, cells: Any) -> dict[str, list[tuple[np.ndarray, pa.Array]]]:
    parts = items_of(cells)
    if parts is None or not all(isinstance(part, pa.Table) and ID in part.column_names for part in parts):
        raise BadData(
            f"{snapshot.name}: cells cannot be {short_text(cells)}",
            fix=f"Give {{row: {{column: value}}}}, or Arrow tables with the numbers of rows in {ID}",
        )
    columns: dict[str, list[tuple[np.ndarray, pa.Array]]] = {}
    for part in parts:
        numbers = to_numpy(part.column(ID).cast(pa.int64()))
        for name in part.column_names:
            if name != ID:
                _refuse_type(snapshot, part.schema.field(name))
                columns.setdefault(name, []).append((numbers, combine_chunks(part.column(name))))
    return columns


def _merge(parts: Sequence[tuple[np.ndarray, pa.Array]]) -> tuple[np.ndarray, pa.Array]:
    numbers = np.concatenate([rows for rows, _ in parts])
    values = pa.concat_arrays([values for _, values in parts])
    rows, last = np.unique(numbers[::-1], return_index=True)
    return rows, take(values, len(numbers) - 1 - last)


def _new_rows(snapshot: Snapshot, rows: Any) -> pa.Table | None:
    if rows is None:
        return None
    if not isinstance(rows, pa.Table):
        listed = items_of(rows)
        if listed is None or not all(isinstance(row, Mapping) for row in listed):
            what = f"{snapshot.name}: rows cannot be {short_text(rows)}"
            raise BadData(what, fix="Give dicts, or an Arrow table")
        names = list(dict.fromkeys(name for row in listed for name in row))
        columns = [_to_column_type(snapshot, name, [row.get(name) for row in listed]) for name in names]
        rows = fill_columns(pa.Table.from_arrays(columns, names=names), snapshot) if listed else None
    for column in [] if rows is None else rows.schema:
        _refuse_type(snapshot, column)
    return rows if rows is not None and rows.num_rows else None


def _to_column_type(snapshot: Snapshot, name: str, values: Sequence[Any]) -> pa.Array:
    kind = snapshot.column(name).type
    try:
        return from_values(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeConflict(f"{snapshot.name}: column '{name}' holds {kind}", str(error)) from error


def _refuse_type(snapshot: Snapshot, field: pa.Field) -> None:
    own = snapshot.by_name.get(field.name)
    if own is None:
        raise UnknownColumn(field.name, snapshot.name, [c.name for c in snapshot.columns])
    if own.type != field.type:
        raise TypeConflict(
            f"{snapshot.name}: column '{field.name}' holds {own.type}, but {field.type} was given",
            fix="Read the file again: its columns may have changed",
        )


def _numbers(snapshot: Snapshot, rows: Any) -> np.ndarray:
    if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == np.int64:
        return rows
    listed = items_of(rows)
    if listed is None or not all(isinstance(row, (int, np.integer)) for row in listed):
        raise BadData(
            f"{snapshot.name}: rows cannot be {short_text(rows)}", fix="Give their numbers, from 0 on"
        )
    if any(not 0 <= row < snapshot.num_rows for row in listed):
        row = next(row for row in listed if not 0 <= row < snapshot.num_rows)
        raise _unknown(snapshot, row)
    return np.fromiter(listed, np.int64, len(listed))


def _refuse_unknown(snapshot: Snapshot, numbers: np.ndarray) -> None:
    for row in numbers[(numbers < 0) | (numbers >= snapshot.num_rows)].tolist():
        raise _unknown(snapshot, row)


def _unknown(snapshot: Snapshot, row: int) -> UnknownRow:
    return UnknownRow(
        f"{snapshot.name} has no row {row}", fix=f"It has {snapshot.num_rows:,}, counted from 0"
    )


def differing(snapshot: Snapshot, edits: FileEdits) -> FileEdits:
    """The edits without cells whose value does not change, so that their bytes stay as they are."""
    cells = {}
    for name, (numbers, new) in edits.cells.items():
        old = combine_chunks(take_rows(snapshot, numbers, [snapshot.column(name)]).column(0))
        places = np.flatnonzero(differs(old, new))
        if len(places):
            cells[name] = (numbers[places], take(new, places))
    return replace(edits, cells=cells)
