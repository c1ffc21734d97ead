"""Changes written in SQL: what they would do, and the commits that do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, from_values, take, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadSql, UnknownColumn, VersionConflict
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.sql.changes import ChangeStatement
from lamella.core.store.commit import Commit
from lamella.core.store.effects import Effect, cells_effect, deletion_effect, insertion_effect
from lamella.core.store.table import Table, TableStore

FLOAT_NOISE = 1e-12
"""The relative error that calculations with floats may leave."""
Answer = Callable[[str], pa.Table]


def change_by_sql(
    store: TableStore,
    statement: ChangeStatement,
    answer: Answer,
    message: str,
    job: Job,
    expected_version: int | None = None,
) -> Commit:
    """Run the change.

    `answer` returns the rows of a query. Reading for the change and the change itself are one transaction:
    other writers wait meanwhile. Raises `VersionConflict` if the table is not at `expected_version`.
    """
    if statement.kind == "create":
        new_table = store.create_table(statement.table, answer(statement.question), message, job)
        return new_table.history.commits()[-1]
    with store.transaction():
        table = table_of_change(store, statement)
        _refuse_other_version(table, expected_version)
        return _CHANGES[statement.kind](table, statement, answer(statement.question), message, job)


def effect_of_sql(
    store: TableStore, statement: ChangeStatement, answer: Answer, job: Job
) -> tuple[Effect, int | None]:
    """Return what the change would do, and the table's version that this holds for; the version is None for a
    table to be created. Nothing changes."""
    if statement.kind == "create":
        if statement.table in store.tables:
            raise BadSql(f"there is a table '{statement.table}' already", fix="Choose another name")
        return insertion_effect(None, answer(statement.question)), None
    table = table_of_change(store, statement)
    state = table._state()
    rows = answer(statement.question)
    _refuse_other_version(table, state.version)
    job.check()
    if statement.kind == "insert":
        return insertion_effect(state, _rows_to_insert(table, statement, rows)), state.version
    if statement.kind == "delete":
        return deletion_effect(state, np.sort(to_numpy(rows.column(0)))), state.version
    cells = _cells_to_update(table, statement, rows)
    ids = to_numpy(cells.column(0))
    order = np.argsort(ids)
    values = {name: take(combine_chunks(cells.column(name)), order) for name in cells.column_names[1:]}
    return cells_effect(state, ids[order], values), state.version


def _refuse_other_version(table: Table, expected: int | None) -> None:
    if expected is not None and table.version != expected:
        raise VersionConflict(
            f"{table.name} has changed since the preview",
            f"It was at version {expected}, and is now at {table.version}",
            "Check the preview again",
        )


def table_of_change(store: TableStore, statement: ChangeStatement) -> Table:
    """The table to change. Names in SQL are not case-sensitive."""
    name = statement.table
    alike = [table_name for table_name in store.tables if table_name.casefold() == name.casefold()]
    return store[alike[0] if len(alike) == 1 and name not in store.tables else name]


def _rows_to_insert(table: Table, statement: ChangeStatement, rows: pa.Table) -> pa.Table:
    own = [name for name in table.schema.names if name != ID]
    names = rows.column_names if statement.by_name else list(statement.columns or own)
    if len(names) != rows.num_columns:
        raise BadSql(
            f"{table.name}: {rows.num_columns} values were given for {len(names)} columns",
            f"The columns are {', '.join(names)}; the store assigns {ID}",
            f"Name the columns, and leave {ID} out: SELECT * EXCLUDE ({ID})",
        )
    return _as_columns_of(table, rows, _known_columns(table, names))


def _cells_to_update(table: Table, statement: ChangeStatement, rows: pa.Table) -> pa.Table:
    _refuse_twice(table, rows)
    names = statement.columns or ()
    if rows.num_columns != len(names) + 1:
        raise BadSql(
            f"{table.name}: {rows.num_columns - 1} values were given for {len(names)} columns",
            "A * stands for every column of a table or a struct",
            "Name the column instead: SET a = s.b",
        )
    return _as_columns_of(table, rows, [ID, *_known_columns(table, names)])


def _insert(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    return table.insert(_rows_to_insert(table, statement, rows), message, job)


def _update(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    return table.update(_cells_to_update(table, statement, rows), ID, message, job)


def _delete(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    return table.delete(ids=np.sort(to_numpy(rows.column(0))).tolist(), message=message, job=job)


_CHANGES = {"insert": _insert, "update": _update, "delete": _delete}


def _known_columns(table: Table, names: Sequence[str]) -> list[str]:
    """The columns' names in the table. Raises `UnknownColumn`, and `BadSql` for a column set twice and for
    `_id`."""
    own = table.schema.names
    lower = {name.lower(): name for name in own}
    columns = [name if name in own else lower.get(name.lower(), name) for name in names]
    for name in columns:
        if name not in own:
            raise UnknownColumn(name, table.name, own)
        if name == ID or columns.count(name) > 1:
            what = "cannot be set" if name == ID else "is named twice"
            raise BadSql(f"{table.name}: column '{name}' {what}", fix="Leave it out")
    return columns


def _as_columns_of(table: Table, rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Give the rows' columns these names, each in the table's type if possible."""
    columns = [
        _assign(values, table.schema.field(name).type)
        for name, values in zip(names, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(names))


def _assign(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert values as an SQL assignment does: a decimal 2.5 becomes a float, 2.0 an integer in a column of
    integers, the float 1.99 a decimal, the text '2024-01-31' a date, null a null of any type. Values that do
    not fit stay as they are: the table widens for them, or refuses them."""
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values), kind)])
    if pa.types.is_decimal(kind) and pa.types.is_floating(values.type):
        return _as_decimals(values, kind)
    is_text_of_value = pa.types.is_string(values.type) and kind_of(kind) in _WRITTEN_AS_TEXT
    may_be_whole = pa.types.is_integer(kind) and kind_of(values.type) in (Kind.DECIMAL, Kind.FLOAT)
    target = kind if is_text_of_value or may_be_whole else _decimals_as_floats(values.type, kind)
    if target.equals(values.type):
        return values
    try:
        if is_text_of_value and pa.types.is_time(kind):  # Arrow parses times of day only within timestamps
            moments = pc.binary_join_element_wise("1970-01-01", values, " ").cast(pa.timestamp("us"))
            return moments.cast(pa.time64("us")).cast(kind)
        return values.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values


def _as_decimals(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Floats as decimals, unless digits would be lost; 0.99 * 3, which is 2.9699999999999998, is 2.97."""
    try:
        decimals = values.cast(kind)
    except pa.ArrowInvalid:
        return values
    lost = pc.abs(pc.subtract(decimals.cast(pa.float64()), values.cast(pa.float64())))
    least = pc.multiply(pc.abs(values), FLOAT_NOISE)
    return decimals if pc.all(pc.less_equal(lost, least), min_count=0).as_py() else values


_WRITTEN_AS_TEXT = frozenset(
    {Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIME}
)


def _decimals_as_floats(have: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """Replace decimals in `have` by floats where `kind` has floats, including inside lists and structs."""
    if pa.types.is_decimal(have) and pa.types.is_floating(kind):
        return kind
    if pa.types.is_list(have) and pa.types.is_list(kind):
        return pa.list_(_decimals_as_floats(have.value_type, kind.value_type))
    if pa.types.is_struct(have) and pa.types.is_struct(kind):
        types = {field.name: field.type for field in kind}
        fields = [(f.name, _decimals_as_floats(f.type, types.get(f.name, f.type))) for f in have]
        return pa.struct(fields)
    return have


def _refuse_twice(table: Table, rows: pa.Table) -> None:
    ids, times = np.unique(to_numpy(rows.column(0)), return_counts=True)
    twice = ids[times > 1]
    if len(twice):
        raise BadSql(
            f"{table.name}: row {twice[0]} would be set more than once",
            "It matches several rows of the joined table",
            "Join with only one row for each, by GROUP BY or DISTINCT",
        )


def commit_row(commit: Commit) -> pa.Table:
    """A commit as one row: table, version, inserted, updated, deleted."""
    row = {
        "table": commit.table, "version": commit.version, "inserted": commit.inserted,
        "updated": commit.updated, "deleted": commit.deleted,
    }  # fmt: skip
    kinds = [pa.string(), *[pa.int64()] * 4]
    columns = [from_values([value], kind) for value, kind in zip(row.values(), kinds, strict=True)]
    return pa.Table.from_arrays(columns, list(row))
