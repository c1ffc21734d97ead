"""Changes that a statement in SQL asks for, made as commits like all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadSql, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.sql.changes import ChangeStatement
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table, TableStore

Answer = Callable[[str], pa.Table]


def change(store: TableStore, statement: ChangeStatement, answer: Answer, message: str, job: Job) -> pa.Table:
    """Make the change, and tell as one row what it was: table, version, inserted, updated, deleted.

    `answer` gives the rows of a question. What is read for a change and the change are one step: others who
    write have to wait meanwhile.
    """
    if statement.kind == "create":
        made = store.create_table(statement.table, answer(statement.question), message, job)
        return _commit_row(made.history.commits()[-1])
    with store.transaction():
        table = _table(store, statement.table)
        return _commit_row(_MADE[statement.kind](table, statement, answer(statement.question), message, job))


def _table(store: TableStore, name: str) -> Table:
    """SQL does not tell upper from lower case in names."""
    alike = [known for known in store.tables if known.casefold() == name.casefold()]
    return store[alike[0] if len(alike) == 1 and name not in store.tables else name]


def _insert(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    own = [name for name in table.schema.names if name != ID]
    names = rows.column_names if statement.by_name else list(statement.columns or own)
    if len(names) != rows.num_columns:
        raise BadSql(
            f"{table.name}: {rows.num_columns} values were given for {len(names)} columns",
            f"The columns are {', '.join(names)}; {ID} is given by the store",
            f"Name the columns, and leave {ID} out: SELECT * EXCLUDE ({ID})",
        )
    return table.insert(_named(table, rows, _known_columns(table, names)), message, job)


def _update(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    _refuse_twice(table, rows)
    return table.update(
        _named(table, rows, [ID, *_known_columns(table, statement.columns or ())]), ID, message, job
    )


def _delete(table: Table, statement: ChangeStatement, rows: pa.Table, message: str, job: Job) -> Commit:
    return table.delete(ids=np.sort(to_numpy(rows.column(0))).tolist(), message=message, job=job)


_MADE = {"insert": _insert, "update": _update, "delete": _delete}


def _known_columns(table: Table, names: Sequence[str]) -> list[str]:
    """As the table calls them. Raises `UnknownColumn`, `BadSql` for one that is set twice, and for `_id`."""
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


def _named(table: Table, rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """A column that is null throughout has the table's own type: the engine gives it any."""
    columns = [
        pa.nulls(len(values), table.schema.field(name).type) if values.null_count == len(values) else values
        for name, values in zip(names, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(names))


def _refuse_twice(table: Table, rows: pa.Table) -> None:
    ids, times = np.unique(to_numpy(rows.column(0)), return_counts=True)
    twice = ids[times > 1]
    if len(twice):
        raise BadSql(
            f"{table.name}: row {twice[0]} would be set more than once",
            "It meets several rows of what it is joined with",
            "Join with one row for each, by GROUP BY or DISTINCT",
        )


def _commit_row(commit: Commit) -> pa.Table:
    row = {
        "table": commit.table, "version": commit.version, "inserted": commit.inserted,
        "updated": commit.updated, "deleted": commit.deleted,
    }  # fmt: skip
    kinds = [pa.string(), *[pa.int64()] * 4]
    columns = [from_values([value], kind) for value, kind in zip(row.values(), kinds, strict=True)]
    return pa.Table.from_arrays(columns, list(row))
