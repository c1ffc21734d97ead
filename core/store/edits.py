"""An edit: changed cells, new rows and deleted rows of a table, as Arrow tables, in one change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, take, to_numpy
from lamella.core.arrow.sorted_ids import among, distinct
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, TypeConflict, UnknownColumn, short_text
from lamella.core.scan.row_ids import refuse_unknown
from lamella.core.store.changes import changed_cells, complete_values, delete_change, stored_values, with_rows
from lamella.core.store.commit import Change
from lamella.core.store.evolution import ColumnPlan
from lamella.core.store.partial_values import PartialRows
from lamella.core.store.row_lookup import row_ids_of
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import items_of


def edit_change(
    state: TableVersion,
    cells: Sequence[pa.Table],
    rows: pa.Table | None,
    deleted: np.ndarray,
    message: str,
) -> Change:
    """Build one change from changed cells, new rows and deleted ids. No column is added or widened."""
    deleted = distinct(deleted)
    refuse_unknown(state, deleted)
    for part in cells:
        if ID in part.column_names:
            row_ids_of(state, part.column(ID))
    ids, cells_of_rows = cells_by_row(state.snapshot.name, cells)
    own = {c.name: c for c in state.columns}
    for table in (cells_of_rows.table, *([] if rows is None else [rows])):
        _refuse_other_columns(state, table.schema)
    change = delete_change(state, deleted, message)
    if len(ids):
        refuse_unknown(state, ids)
        gone = ids[among(ids, deleted)]
        if len(gone):
            raise BadData(
                f"{state.snapshot.name}: the row with {ID} {gone[0]} is both changed and deleted",
                fix="Do one of the two",
            )
        columns = [own[name] for name in cells_of_rows.table.column_names]
        plan = ColumnPlan(tuple(columns), (), ())
        old = stored_values(state, ids, columns)
        values = complete_values(state, ids, plan, cells_of_rows.table, cells_of_rows.omissions)
        new = {own[name]: combine_chunks(values.column(name)) for name in values.column_names}
        change = replace(change, cells=changed_cells(ids, old, new))
    if rows is not None and rows.num_rows:
        plan = ColumnPlan(tuple(own[name] for name in rows.column_names), (), ())
        change = with_rows(change, plan, rows)
    return change


def cell_tables(cells: Any, rows: Any, name: str) -> list[pa.Table]:
    """Return the tables of an edit as a list; raise `BadData` for anything else."""
    parts = items_of(cells)
    if parts is None or not all(isinstance(part, pa.Table) for part in parts):
        raise BadData(
            f"{name}: edit takes a list of Arrow tables, not {short_text(cells)}",
            fix="Give one for each group of cells: its ids in _id, and their columns",
        )
    if rows is not None and not isinstance(rows, pa.Table):
        raise BadData(f"{name}: edit takes new rows as an Arrow table, not {short_text(rows)}")
    for part in (*parts, *([] if rows is None else [rows])):
        twice = [
            column for place, column in enumerate(part.column_names) if column in part.column_names[:place]
        ]
        if twice:
            raise BadData(f"{name}: column '{twice[0]}' is given twice", fix="Name each column once")
    return parts


def cells_by_row(name: str, cells: Sequence[pa.Table]) -> tuple[np.ndarray, PartialRows]:
    """Merge tables of `_id` and columns: return ascending ids and the values for them. Where several tables
    give the same cell, the last one wins. Raises `BadData` for a table without `_id`."""
    parts: dict[str, list[tuple[np.ndarray, pa.Array]]] = {}
    id_arrays: list[np.ndarray] = []
    for table in cells:
        if ID not in table.column_names:
            raise BadData(f"{name}: cells are given without {ID}", fix="Give the rows' ids beside them")
        if not table.num_rows:
            continue
        ids = to_numpy(table.column(ID).cast(pa.int64()))
        id_arrays.append(ids)
        for column in table.column_names:
            if column != ID:
                parts.setdefault(column, []).append((ids, combine_chunks(table.column(column))))
    rows = distinct(np.concatenate(id_arrays)) if parts else np.empty(0, np.int64)
    columns, left_out = {}, {}
    for column, pieces in parts.items():
        places = np.full(len(rows), -1, np.int64)
        at = np.searchsorted(rows, np.concatenate([ids for ids, _ in pieces]))
        places[at] = np.arange(len(at))  # of repeated indices the last one wins
        pool = pa.concat_arrays([values for _, values in pieces])
        lacks = places < 0
        columns[column] = take(pool, np.where(lacks, 0, places))
        if lacks.any():
            left_out[column] = lacks
    return rows, PartialRows(pa.Table.from_arrays(list(columns.values()), names=list(columns)), left_out)


def _refuse_other_columns(state: TableVersion, schema: pa.Schema) -> None:
    """Raise `UnknownColumn` for a column that the table lacks, `TypeConflict` for one of another type."""
    name, own = state.snapshot.name, {c.name: c.type for c in state.columns}
    for field in schema:
        if field.name not in own:
            raise UnknownColumn(field.name, name, list(own))
        kind = own[field.name]
        if kind != field.type:
            raise TypeConflict(
                f"{name}: column '{field.name}' holds {kind}, but {field.type} was given",
                fix="Read the table again: its columns may have changed",
            )
