"""Tables of SQLite and DuckDB files: names, keys, indexes, and databases that are there already."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from lamella.core.errors import BadData, Cancelled, FileProblem
from lamella.core.jobs import Job
from lamella.core.transfer import duckdb_file, sqlite_file
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.writer import Rows

DATA = pa.table({"id": [3, 1, 2], "City": ["Rom", None, "Bonn"], "city": ["x", "y", "z"]})
SUFFIXES = {"sqlite": ".sqlite", "duckdb": ".duckdb"}
both = pytest.mark.parametrize("kind", ["sqlite", "duckdb"])


def export(folder: Path, kind: str, data: pa.Table = DATA, job: Job | None = None, **values: Any) -> Path:
    path = folder / f"out{SUFFIXES[kind]}"
    Destination.of(path, None, values).write(Rows(data.schema, [data], len(data), "places"), job or Job())
    return path


def ask(path: Path, statement: str) -> list[tuple[Any, ...]]:
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(statement).fetchall()
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


@both
def test_a_new_database_has_one_table(tmp_path: Path, kind: str) -> None:
    path = export(tmp_path, kind, table_name="my towns")
    assert ask(path, 'SELECT id, "City", city_2 FROM "my towns"') == [
        (3, "Rom", "x"),
        (1, None, "y"),
        (2, "Bonn", "z"),
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]


@both
def test_keys_and_indexes_are_declared(tmp_path: Path, kind: str) -> None:
    path = export(tmp_path, kind, primary_key=["id"], indexes=["City", "city"])
    if kind == "sqlite":
        assert [row[5] for row in ask(path, "PRAGMA table_info(places)")] == [1, 0, 0]
        names = [row[1] for row in ask(path, "PRAGMA index_list(places)")]
    else:
        keys = ask(
            path,
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'",
        )
        assert keys == [(["id"],)]
        names = [row[0] for row in ask(path, "SELECT index_name FROM duckdb_indexes()")]
    assert {"places by City", "places by city_2"} <= set(names)


@both
def test_a_key_whose_values_stand_twice_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadData, match="primary key would have duplicates"):
        export(tmp_path, kind, pa.table({"id": [1, 1]}), primary_key="id")
    with pytest.raises(BadData, match=r"primary_key: column 'idd' is not exported. Did you mean 'id'"):
        export(tmp_path, kind, primary_key="idd")
    assert list(tmp_path.iterdir()) == []


@both
def test_a_table_is_added_to_a_database_only_when_that_is_wanted(tmp_path: Path, kind: str) -> None:
    path = export(tmp_path, kind)
    with pytest.raises(FileProblem, match="is there already"):
        export(tmp_path, kind, table_name="more")
    export(tmp_path, kind, table_name="more", add=True)
    assert ask(path, "SELECT count(*) FROM places") == ask(path, "SELECT count(*) FROM more") == [(3,)]
    with pytest.raises(FileProblem, match="already has a table 'MORE'"):
        export(tmp_path, kind, table_name="MORE", add=True)
    assert ask(path, "SELECT count(*) FROM more") == [(3,)]


@both
def test_what_fails_or_stops_leaves_a_database_as_it_was(tmp_path: Path, kind: str) -> None:
    path = export(tmp_path, kind)

    job, many = Job(), pa.table({"n": range(50_000)})

    def tables() -> Iterator[pa.Table]:
        for step in range(6):
            if step == 4:
                job.cancel()
            yield many

    with pytest.raises(Cancelled):
        Destination.of(path, None, {"table_name": "more", "add": True}).write(
            Rows(many.schema, tables(), None, "more"), job
        )
    with pytest.raises(BadData, match="duplicates"):
        export(tmp_path, kind, pa.table({"id": [1, 1]}), table_name="more", add=True, primary_key="id")
    tables = {"sqlite": "SELECT name FROM sqlite_master", "duckdb": "SELECT table_name FROM duckdb_tables()"}
    assert ask(path, tables[kind]) == [("places",)]
    assert ask(path, "SELECT count(*) FROM places") == [(3,)]
    assert list(tmp_path.iterdir()) == [path]


@both
def test_a_file_that_is_no_database_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out{SUFFIXES[kind]}"
    path.write_bytes(b"something else" * 500)
    with pytest.raises(FileProblem, match=r"could not be written.*not a"):
        export(tmp_path, kind, add=True)
    assert path.read_bytes() == b"something else" * 500


def test_a_database_that_somebody_writes_to_is_said_to_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_SECONDS", 0.05)
    path = export(tmp_path, "sqlite")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(FileProblem, match="locked"):
            export(tmp_path, "sqlite", table_name="more", add=True)
    finally:
        connection.close()


@both
def test_odd_names_are_quoted(tmp_path: Path, kind: str) -> None:
    data = pa.table({'a "b"': [1], "select": [2], "": [3]})
    path = export(tmp_path, kind, data, table_name='t"; DROP TABLE x; --')
    assert ask(path, 'SELECT * FROM "t""; DROP TABLE x; --"') == [(1, 2, 3)]


@pytest.mark.parametrize("name", ["sqlite_mine", " "])
def test_names_that_sqlite_keeps_for_itself_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadData, match="cannot be called"):
        export(tmp_path, "sqlite", table_name=name)


@pytest.mark.slow
def test_too_many_columns_for_sqlite_are_refused(tmp_path: Path) -> None:
    data = pa.table({f"c{i}": [i] for i in range(2_001)})
    with pytest.raises(BadData, match=r"has 2,001 columns. A table of SQLite has at most 2,000"):
        export(tmp_path, "sqlite", data)
    assert (
        len(
            ask(export(tmp_path, "sqlite", data.select(data.column_names[:2_000])), "SELECT * FROM places")[0]
        )
        == 2_000
    )


class Full:
    """Stands for a connection to a database on a full disk."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise self._error

        return refuse if name != "close" else lambda: None


@both
def test_a_full_disk_says_to_make_room(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Full(full))
    text = 'IO Error: Could not write file "out.duckdb": No space left on device'
    monkeypatch.setattr(duckdb_file.duckdb, "connect", lambda *_, **__: Full(duckdb.IOException(text)))
    with pytest.raises(FileProblem, match="free some space"):
        export(tmp_path, kind)
    assert not list(tmp_path.iterdir())
