"""Applies a function to the rows of a table, a batch at a time, as a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.from_python import cast_to_schema, common_schema, to_table
from lamella.core.arrow.types import ID, exact_cast
from lamella.core.errors import BadData, Cancelled
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.scan.read import tables, take_rows
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column
from lamella.core.store.cells import CellChanges
from lamella.core.store.changes import TakeIds, fit_to_columns
from lamella.core.store.commit import Change
from lamella.core.store.row_lookup import chosen_ids
from lamella.core.store.table_version import TableVersion

Function = Callable[[pa.Table], Any]
ROWS_A_CALL = 100_000


def transform_change(
    state: TableVersion,
    function: Function,
    columns: Iterable[str] | None,
    where: Filter | None,
    take_ids: TakeIds,
    message: str,
    job: Job,
) -> Change:
    """Set the columns that `function` computes in the rows that `where` selects."""
    read_columns = state.columns if columns is None else state.snapshot.select(columns)
    result = _TransformResult()
    for rows in _batches(state, read_columns, where, job):
        job.check()
        _add(result, state, rows, len(read_columns), function)
    if not result.changed_columns:
        result.refuse_omitted_columns(state.snapshot.name)
        return Change(message, state.columns)
    plan, values = fit_to_columns(state, result.table(), take_ids)
    cells = {c.key: values.column(i).combine_chunks() for i, c in enumerate(plan.columns)}
    return Change(message, plan.apply_to(state.columns), cells=CellChanges(np.concatenate(result.ids), cells))


class _TransformResult:
    """The function's results for rows that it changed; `changed_columns` are the columns that changed."""

    def __init__(self) -> None:
        self.ids: list[np.ndarray] = []
        self.changed_columns: dict[str, None] = {}
        self._tables: list[pa.Table] = []
        self._omitted_columns: dict[str, None] = {}
        self._computes = False

    def look(self, rows: pa.Table, values: pa.Table) -> None:
        """Note which columns the function left out, and whether it computed any array itself."""
        arrays = dict(zip(rows.column_names, rows.columns, strict=True))
        self._omitted_columns |= dict.fromkeys(name for name in arrays if name not in values.column_names)
        columns = zip(values.column_names, values.columns, strict=True)
        computed = (name not in arrays or not _share_memory(arrays[name], column) for name, column in columns)
        self._computes |= not values.num_columns or any(computed)

    def refuse_omitted_columns(self, table: str) -> None:
        """Raise `BadData` if the function only left columns out."""
        if self._omitted_columns and not self._computes:
            names = list(self._omitted_columns)
            raise BadData(
                f"{table}: the function leaves out column '{names[0]}' and changes nothing else",
                "columns that it does not return stay as they are",
                f"Use table.columns.drop({', '.join(map(repr, names))})",
            )

    def add(self, ids: np.ndarray, values: pa.Table, differing: Mapping[str, np.ndarray]) -> None:
        rows = np.flatnonzero(np.logical_or.reduce(list(differing.values())))
        if len(rows):
            self.changed_columns |= dict.fromkeys(name for name, where in differing.items() if where.any())
            self.ids.append(ids[rows])
            self._tables.append(values if len(rows) == len(ids) else take(values, rows))

    def table(self) -> pa.Table:
        whole = common_schema(table.schema for table in self._tables)
        schema = pa.schema([field for field in whole if field.name in self.changed_columns])
        return pa.concat_tables([cast_to_schema(table, schema) for table in self._tables])


def _share_memory(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    """Whether two columns share their memory, so that neither was computed."""
    return left.type.equals(right.type) and _addresses(left) == _addresses(right)


def _addresses(values: pa.ChunkedArray) -> list[tuple[int, int, list[int]]]:
    parts = (chunk for chunk in values.chunks if len(chunk))
    return [(c.offset, len(c), [b.address for b in c.buffers() if b is not None]) for c in parts]


def _batches(
    state: TableVersion, columns: tuple[Column, ...], where: Filter | None, job: Job
) -> Iterator[pa.Table]:
    """Yield batches of the columns, with `_id` as the last one."""
    with_ids = (*columns, ID_COLUMN)
    if where is None:
        yield from (table for table in tables(state.snapshot, with_ids, job) if table.num_rows)
        return
    positions = state.locate(chosen_ids(state, where))
    for start in range(0, len(positions), ROWS_A_CALL):
        job.report(start, len(positions))
        yield take_rows(state.snapshot, positions[start : start + ROWS_A_CALL], with_ids)


def _add(
    result: _TransformResult, state: TableVersion, rows: pa.Table, count: int, function: Function
) -> None:
    ids = to_numpy(rows.column(rows.num_columns - 1))
    columns = rows.select(range(count))
    values = _call(state.snapshot.name, function, columns, ids)
    result.look(columns, values)
    cells = _cells_before(state, rows, count, values.column_names, ids)
    differing = {}
    for place, name in enumerate(values.column_names):
        new = values.column(place).combine_chunks()
        if name not in cells:
            differing[name] = to_numpy(new.is_valid())
            continue
        fit = exact_cast(new, cells[name].type)
        differing[name] = np.ones(len(ids), bool) if fit is None else differs(cells[name], fit)
    if differing:
        result.add(ids, values, differing)


def _cells_before(
    state: TableVersion, rows: pa.Table, count: int, names: list[str], ids: np.ndarray
) -> dict[str, pa.Array]:
    """The current values of these columns, which may include others than the function was given."""
    columns = [c for c in state.columns if c.name in names and c.name not in rows.column_names[:count]]
    more = take_rows(state.snapshot, state.locate(ids), columns) if columns else rows.select([])
    cells = {name: rows.column(i) for i, name in enumerate(rows.column_names[:count]) if name in names}
    cells |= dict(zip(more.column_names, more.columns, strict=True))
    return {name: column.combine_chunks() for name, column in cells.items()}


def _call(table: str, function: Function, rows: pa.Table, ids: np.ndarray) -> pa.Table:
    where = f"the rows with {ID} {ids[0]} to {ids[-1]}"
    try:
        values = to_table(function(rows))
    except Cancelled:
        raise
    except Exception as error:
        raise BadData(
            f"{table}: the function failed at {where}", f"{type(error).__name__}: {error}", "Nothing changed"
        ) from error
    if values.num_columns and values.num_rows != len(ids):
        raise BadData(
            f"{table}: the function returned {values.num_rows} rows for the {len(ids)} of {where}",
            "Each row needs its own value",
            "Return as many rows as it gets, in the same order",
        )
    if ID not in values.column_names:
        return values
    if ID not in rows.column_names or not values.column(ID).equals(rows.column(ID)):
        raise BadData(f"{table}: the function changed {ID} at {where}", "it identifies the row")
    return values.drop_columns([ID])
