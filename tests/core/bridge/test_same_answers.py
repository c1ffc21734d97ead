"""The same rows in a real SQLite table give the same answers to the same statements."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset
from lamella.core.bridge import connect, register, row_groups
from lamella.core.bridge.module import SCANS_BEFORE
from tests.core.bridge.random_queries import OTHER, OTHERS, Queries
from tests.core.bridge.random_rows import DECLARED, OTHER_LAYOUTS, SCHEMA, as_sqlite, rows
from tests.slow_tests import examples

ROWS, GROUP_ROWS = 120, 10
STATEMENTS = examples(250)
OTHER_ROWS = SCANS_BEFORE + 4
Tables = tuple[apsw.Connection, list[tuple[int, dict[str, Any]]]]


def _files(folder: Path, randomly: random.Random) -> Tables:
    """Two files, of which one lacks a column."""
    data = rows(randomly, ROWS)
    for row in data[80:]:
        row["took"] = None
    folder.joinpath("trips").mkdir()
    for name, part, schema in (
        ("a", data[:80], SCHEMA),
        ("b", data[80:], pa.schema([field for field in SCHEMA if field.name != "took"])),
    ):
        table = pa.Table.from_pylist(part, schema)
        pq.write_table(table, folder / "trips" / f"{name}.parquet", row_group_size=GROUP_ROWS)
    connection = connect([])
    register(connection, "t", open_dataset(folder / "trips" / "*.parquet"))
    return connection, list(enumerate(data, 1))


def _other_layouts(folder: Path, randomly: random.Random) -> Tables:
    """The same values in other types of Arrow."""
    data = rows(randomly, ROWS)
    table = pa.Table.from_pylist(data, SCHEMA)
    schema = pa.schema([field.with_type(OTHER_LAYOUTS.get(field.name, field.type)) for field in SCHEMA])
    path = folder / "t.parquet"
    pq.write_table(table.cast(schema), path, row_group_size=GROUP_ROWS, compression="zstd")
    return connect(path), list(enumerate(data, 1))


def _table(folder: Path, randomly: random.Random) -> Tables:
    """Files of small row groups, with changed cells, new rows and deletions pending over them."""
    with Store.open(folder / "store") as store:
        data = _changed_table(store, randomly)
    return connect(folder / "store"), data


def _changed_table(store: Store, randomly: random.Random) -> list[tuple[int, dict[str, Any]]]:
    table = store.create_table("t", pa.Table.from_pylist(rows(randomly, ROWS), SCHEMA))
    table.maintenance.compact(GROUP_ROWS)
    table.insert(pa.Table.from_pylist(rows(randomly, 15), SCHEMA))
    table.delete(ids=[3, 4, 5, 50, 119])
    changed = pa.Table.from_pylist(rows(randomly, 12), SCHEMA).select(["n", "code", "x", "at"])
    ids = randomly.sample([i for i in range(ROWS) if i not in (3, 4, 5, 50, 119)], 12)
    table.update(changed.append_column("_id", pa.array(ids, pa.int64())), on="_id")
    return [(row.pop("_id"), row) for row in table.read().to_pylist()]


def _beside(
    connection: apsw.Connection, data: Iterable[tuple[int, dict[str, Any]]], randomly: random.Random
) -> None:
    """A database `real` with the same rows in a table of its own, and `other` to join with."""
    connection.execute("ATTACH ':memory:' AS real")
    declared = ", ".join(f"{name} {kind}" for name, kind in DECLARED.items())
    connection.execute(f"CREATE TABLE real.t ({declared})")
    marks = ", ".join("?" * (len(DECLARED) + 1))
    values = ((row_id, *(as_sqlite(row[name]) for name in DECLARED)) for row_id, row in data)
    connection.executemany(f"INSERT INTO real.t (rowid, {', '.join(DECLARED)}) VALUES ({marks})", values)
    connection.execute(f"CREATE TABLE other ({', '.join(f'{name} {kind}' for name, kind in OTHER.items())})")
    for _ in range(OTHER_ROWS):
        connection.execute(
            "INSERT INTO other VALUES (?, ?, ?, ?, ?)", [randomly.choice(OTHERS) for _ in OTHER]
        )


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("make", [_files, _other_layouts, _table])
def test_random_statements(make: Callable[[Path, random.Random], Tables], tmp_path: Path) -> None:
    randomly = random.Random(20)
    connection, data = make(tmp_path, randomly)
    _beside(connection, data, randomly)
    queries, answered = Queries(randomly), 0
    for _ in range(STATEMENTS):
        statement, values = queries.next()
        ours = _answer(connection, statement, values)
        theirs = _answer(connection, statement.replace(" t ", " real.t "), values)
        assert ours == theirs, (statement, values)
        answered += bool(ours)
    assert answered > STATEMENTS / 4
    assert row_groups(connection).skipped > row_groups(connection).read / 4
    connection.close()


def _answer(connection: apsw.Connection, statement: str, values: list[Any]) -> list[str]:
    actual = map(repr, connection.execute(statement, values))
    return list(actual) if "ORDER BY" in statement else sorted(actual)
