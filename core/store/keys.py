"""Rows found by the values of key columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from core.arrays import from_numpy, to_numpy
from core.errors import UnknownRow
from core.query.engine import cursor
from core.query.source import identifier, relation
from core.store.evolution import as_keys
from core.store.ids import ID_COLUMN
from core.store.state import State


def ids_by_key(state: State, keys: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """(row numbers of `keys`, `_id`s they match); a key that matches several rows is there several times.

    Raises `UnknownRow` naming the first key that no row has. Null matches null.
    """
    columns = [state.snapshot.column(name) for name in keys.column_names]
    keys = as_keys(state.snapshot.name, keys, columns)
    with cursor() as own:
        numbered = keys.rename_columns([f"k{i}" for i in range(len(columns))])
        own.register("keys", numbered.append_column("row", from_numpy(np.arange(len(keys)))))
        same = [
            exp.NullSafeEQ(this=_column(f"k{i}", "keys"), expression=_column(identifier(c), "rows"))
            for i, c in enumerate(columns)
        ]
        rows = relation(state.snapshot, [*columns, ID_COLUMN], own)
        query = (
            exp.select(_column("row", "keys"), _column(identifier(ID_COLUMN), "rows"))
            .from_("keys")
            .join(rows, on=exp.and_(*same), join_type="left")
            .order_by(_column("row", "keys"))
        )
        found = own.sql(query.sql("duckdb")).to_arrow_table()
    _refuse_unknown(state, keys, found)
    return to_numpy(found.column(0)), to_numpy(found.column(1))


def _refuse_unknown(state: State, keys: pa.Table, found: pa.Table) -> None:
    if not found.column(1).null_count:
        return
    row = to_numpy(found.column(0))[to_numpy(found.column(1).is_null())][0]
    told = ", ".join(f"{name} = {keys.column(name)[int(row)].as_py()!r}" for name in keys.column_names)
    raise UnknownRow(
        f"{state.snapshot.name} has no row with {told}", fix="Insert it, or leave it out of the update"
    )


def _column(name: str, table: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)
