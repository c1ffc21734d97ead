"""SQLite databases in place: tables, views, types of mixed columns, write-ahead logs, locks and damage."""

from __future__ import annotations

import datetime as dt
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.datasets import open_dataset, sqlite_file
from lamella.core.datasets.formats import tables_of
from lamella.core.datasets.tables import NoSuchTable, SeveralTables
from lamella.core.errors import Cancelled, FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset
from lamella.core.store.paths import CATALOG
from tests.slow_tests import examples

ROUNDS = examples(20)


def database(path: Path, *statements: str, rows: Iterable[tuple[Any, ...]] = ()) -> Path:
    """`rows` go into table t."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
    return path


def opened(path: Path, **options: Any) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache", **options)


def note(dataset: Any, name: str) -> str:
    return (dataset.schema.field(name).metadata or {}).get(b"note", b"").decode()


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_the_only_table_is_opened_and_nothing_is_written(tmp_path: Path) -> None:
    path = database(tmp_path / "shop.db", "CREATE TABLE t (n INTEGER, s TEXT)", rows=[(1, "a"), (None, None)])
    before = files(tmp_path)
    dataset = opened(path)
    assert (dataset.name, dataset.format) == ("t", "SQLite")
    assert dataset.read().to_pydict() == {"n": [1, None], "s": ["a", None]}
    assert files(tmp_path) == before


def test_of_several_tables_and_views_one_is_named(tmp_path: Path) -> None:
    path = database(
        tmp_path / "shop.db",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, total REAL)",
        "CREATE TABLE 'odd \"name' (x)",
        "CREATE VIEW large AS SELECT id, total * 2 AS twice FROM orders WHERE total > 5",
        "CREATE VIRTUAL TABLE words USING fts5(body)",
        "INSERT INTO orders (total) VALUES (1.5), (9.0)",
    )
    with pytest.raises(SeveralTables, match=r"holds 4 tables.*table='odd \"name'") as refused:
        opened(path)
    assert [(t.name, t.kind, t.rows, t.columns) for t in refused.value.tables] == [
        ('odd "name', "table", 0, 1),
        ("orders", "table", 2, 2),
        ("words", "table", 0, 1),
        ("large", "view", 1, 2),
    ]
    assert opened(path, table="large").read().to_pydict() == {"id": [2], "twice": [18.0]}
    assert opened(path, table='odd "name').schema.names == ["x"]
    with pytest.raises(NoSuchTable, match=r"no table 'order'.*'orders'"):
        opened(path, table="order")


def test_opening_a_table_counts_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    count = sqlite_file.count_rows
    monkeypatch.setattr(
        sqlite_file, "count_rows", lambda of, table: counted.append(table) or count(of, table)
    )
    path = database(tmp_path / "a.db", "CREATE TABLE t (n)", "CREATE TABLE other (n)", rows=[(1,)])
    assert opened(path, table="t").num_rows == 1 and not counted
    assert [entry.rows for entry in tables_of(path)] == [0, 1] and counted == ["other", "t"]


TIMESTAMP = pa.timestamp("us")
HALF_PAST = dt.datetime(2024, 2, 29, 10, 0, 0, 500_000)
COLUMNS = {
    "whole numbers": ("", [1, -(2**63), 2**63 - 1], pa.int64(), None),
    "numbers": ("", [1, 2.5, None], pa.float64(), None),
    "long doubles beside others": ("", [2**60, None, 2.5], pa.float64(), None),
    "whole numbers, then others": ("", [1, None, 2.5, "a"], pa.string(), ["1", None, "2.5", "a"]),
    "texts of several bytes": ("", ["é", None, "€uro", "", "a"], pa.string(), None),
    "no number but zero": ("", [0, -0.0, None, float("inf")], pa.float64(), None),
    "long numbers beside others": ("", [2**53 + 1, 2.5], pa.string(), ["9007199254740993", "2.5"]),
    "texts and numbers": ("", ["a", 1, 2.0], pa.string(), ["a", "1", "2.0"]),
    "bytes": ("BLOB", [b"\0\xff", None], pa.binary(), None),
    "bytes and texts": ("", ["a", b"\0\xff"], pa.string(), ["a", "x'00FF'"]),
    "nulls": ("", [None], pa.string(), None),
    "booleans": ("BOOLEAN", [0, 1, None], pa.bool_(), [False, True, None]),
    "no booleans": ("BOOLEAN", [0, 1, 2], pa.int64(), None),
    "dates": ("DATE", ["2024-02-29", None], pa.date32(), [dt.date(2024, 2, 29), None]),
    "no dates": ("DATE", ["2024-02-29", "soon"], pa.string(), None),
    "an empty date": ("DATE", ["2024-02-29", ""], pa.string(), None),
    "numbers as dates": ("DATE", [20240229], pa.int64(), None),
    "times": ("datetime", ["2024-02-29 10:00:00.5"], TIMESTAMP, [HALF_PAST]),
    "times with T": ("datetime", ["2024-02-29T10:00:00"], TIMESTAMP, [dt.datetime(2024, 2, 29, 10)]),
    "prices": ("DECIMAL(9, 2)", [19.99, 5, None], pa.decimal128(9, 2), [Decimal("19.99"), Decimal(5), None]),
    "longer prices": ("DECIMAL(10, 2)", [19.999], pa.float64(), None),
    "texts that look like dates": ("TEXT", ["2024-02-29"], pa.string(), None),
    "leading zeros": ("TEXT", ["007", "1"], pa.string(), None),
}  # fmt: skip


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("case", COLUMNS)
@pytest.mark.parametrize("block", [1, 1000])
def test_a_column_has_the_least_type_that_keeps_every_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, block: int
) -> None:
    declared, values, kind, expected = COLUMNS[case]
    monkeypatch.setattr(sqlite_file, "FIRST_ROWS", block)
    monkeypatch.setattr(sqlite_file, "ROWS_A_BLOCK", block)
    monkeypatch.setattr(sqlite_file, "FEWEST_FETCHED", 1)
    path = database(tmp_path / "a.db", f"CREATE TABLE t (x {declared})", rows=[(v,) for v in values])
    dataset = opened(path)
    dataset.count()
    assert dataset.schema.types == [kind]
    assert dataset.read()["x"].to_pylist() == (values if expected is None else expected)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS, deadline=None)
@given(
    st.lists(
        st.sampled_from([None, 1, 2**60, 2**63 - 1, 0.5, -0.0, "x", "€", "", b"b"]), min_size=2, max_size=12
    ),
    st.sampled_from([1, 2, 3]),
)
def test_a_column_is_the_same_however_many_rows_are_fetched_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], together: int
) -> None:
    path = tmp_path / "a.db"
    path.unlink(missing_ok=True)
    database(path, "CREATE TABLE t (x)", rows=[(value,) for value in values])
    with monkeypatch.context() as patch:
        whole = opened(path).read()
        patch.setattr(sqlite_file, "MOST_FETCHED", together)
        patch.setattr(sqlite_file, "FEWEST_FETCHED", together)
        cut = open_dataset(path, cache_dir=tmp_path / "other").read()
    assert repr(cut.to_pylist()) == repr(whole.to_pylist()) and cut.schema.types == whole.schema.types


def test_what_a_column_mixes_is_said(tmp_path: Path) -> None:
    rows = [("a", b"x"), (1, "b"), (2, None)]
    dataset = opened(database(tmp_path / "a.db", "CREATE TABLE t (x, y)", rows=rows))
    assert note(dataset, "x") == "Holds 2 numbers and 1 text, so all are shown as text"
    assert note(dataset, "y") == "Holds 1 binary value and 1 text, so all are shown as text"


def test_notes_are_written_while_other_threads_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "FIRST_ROWS", 16)
    monkeypatch.setattr(sqlite_file, "ROWS_A_BLOCK", 16)
    rows = [("x", 1, b"b", 2.5) if n % 2 else (1, "x", "y", "z") for n in range(4000)]
    path = database(tmp_path / "a.db", "CREATE TABLE t (a, b, c, d)", rows=rows)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        dataset = opened(path)
        dataset.fill(Job())
    finally:
        sys.setswitchinterval(before)
    assert note(dataset, "a") == "Holds 2,000 numbers and 2,000 texts, so all are shown as text"


def test_texts_that_are_not_utf8_are_shown_as_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "FIRST_ROWS", 100)
    path = database(tmp_path / "a.db", "CREATE TABLE t (x TEXT)", rows=[(f"row {n}",) for n in range(300)])
    database(path, "INSERT INTO t VALUES (CAST(x'FF41' AS TEXT))")
    dataset = opened(path)
    dataset.fill(Job())
    assert dataset.read()["x"].to_pylist() == [*(f"row {n}" for n in range(300)), "x'FF41'"]
    assert dataset.remarks == (sqlite_file.BROKEN_TEXT,) == opened(path).remarks


def test_a_large_table_is_shown_at_once_and_cached(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db", "CREATE TABLE t (n INTEGER, s TEXT)", rows=[(n, f"s{n}") for n in range(90_000)]
    )
    dataset = opened(path)
    assert not dataset.snapshot().complete and dataset.num_rows == sqlite_file.FIRST_ROWS
    fractions: list[float | None] = []
    dataset.fill(Job(lambda progress: fractions.append(progress.fraction)))
    assert fractions[-1] == 1.0 and dataset.count(col("n") >= 80_000) == 10_000
    again = opened(path)
    assert again.snapshot().complete and again.read().equals(dataset.read())


def test_filling_can_be_cancelled(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (n)", rows=[(n,) for n in range(20_000)])
    database(
        path,
        "CREATE VIEW endless AS WITH RECURSIVE"
        " c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
    )
    dataset = opened(path, table="endless")
    job = Job(lambda progress: job.cancel())
    with pytest.raises(Cancelled):
        dataset.fill(job)
    assert not dataset.snapshot().complete


def test_opening_a_view_without_end_can_be_cancelled(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        "CREATE VIEW endless AS WITH RECURSIVE"
        " c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0",
    )
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        opened(path, job=job)


def test_rows_in_a_write_ahead_log_are_read(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "PRAGMA journal_mode=WAL", "CREATE TABLE t (n)", rows=[(1,)])
    assert not path.with_name("a.db-wal").exists()
    assert opened(path).num_rows == 1
    assert not path.with_name("a.db-wal").exists(), "looking at it makes no files"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO t VALUES (2)")
        assert path.with_name("a.db-wal").stat().st_size
        dataset = opened(path)
        assert dataset.read()["n"].to_pylist() == [1, 2] and dataset.paths == (path,)
        connection.execute("INSERT INTO t VALUES (3)")
        assert opened(path).read()["n"].to_pylist() == [1, 2, 3]


def test_a_database_that_changes_while_it_is_shown_is_told(tmp_path: Path) -> None:
    rows = [(n,) for n in range(20_000)]
    path = database(tmp_path / "a.db", "PRAGMA journal_mode=WAL", "CREATE TABLE t (n)", rows=rows)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        dataset = opened(path)
        connection.execute("INSERT INTO t VALUES (-1)")
        with pytest.raises(FileProblem, match=r"changed on disk.*Reload"):
            dataset.fill(Job())
        assert opened(path).count() == 20_001


def test_a_locked_database_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.0)
    path = database(tmp_path / "a.db", "CREATE TABLE t (n)", rows=[(1,)])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FileProblem, match=r"locked by another program.*Wait"):
            opened(path)
    assert opened(path).num_rows == 1


def test_damaged_and_encrypted_databases_are_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (s)", rows=[("x" * 500,) for _ in range(500)])
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12_288:])
    with pytest.raises(FileProblem, match=r"damaged SQLite database.*recover"):
        opened(path).read()
    path.write_bytes(whole[:16] + bytes(range(256)) * 40)
    with pytest.raises(FileProblem, match="encrypted or damaged"):
        opened(path)


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (n)", "DROP TABLE t")
    with pytest.raises(FileProblem, match="holds no tables"):
        opened(path)
    assert tables_of(path) == []


def test_a_view_over_what_is_gone_is_refused(tmp_path: Path) -> None:
    statements = ("CREATE TABLE t (n)", "CREATE VIEW v AS SELECT n FROM t", "DROP TABLE t")
    path = database(tmp_path / "a.db", *statements, "CREATE TABLE other (n)")
    with pytest.raises(FileProblem, match="No such table"):
        opened(path, table="v")
    assert opened(path, table="other").num_rows == 0


def test_the_catalog_of_a_store_is_named_as_that(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        store.create_table("t", pa.table({"n": [1]}))
    with pytest.raises(FileProblem, match=r"is the catalog of a store.*Open the folder .*store"):
        opened(tmp_path / "store" / CATALOG)


def test_tables_are_imported(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db", "CREATE TABLE t (n, d DATE)", rows=[(n, "2024-01-01") for n in range(9_000)]
    )
    database(path, "INSERT INTO t VALUES ('x', 'y')")
    with Store.open(tmp_path / "store") as store:
        table = import_dataset(opened(path), store)
        assert table.num_rows == 9001 and table.schema.field("d").type == pa.string()
        assert table.read(["n"], limit=1, offset=9000)["n"].to_pylist() == ["x"]


CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.binary(max_size=4)
)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS, deadline=None)
@given(ROWS, st.sampled_from(["", "BLOB", "TEXT", "BOOLEAN", "DATE", "DECIMAL(12,3)"]))
def test_what_sqlite_holds_is_read_back(tmp_path: Path, rows: list[tuple[Any, ...]], declared: str) -> None:
    path = tmp_path / "a.db"
    path.unlink(missing_ok=True)
    names = [f"c{n} {declared}" for n in range(len(rows[0]))]
    database(path, f"CREATE TABLE t ({', '.join(names)})", rows=rows)
    with closing(sqlite3.connect(path)) as connection:
        stored = list(zip(*connection.execute("SELECT * FROM t").fetchall(), strict=True))
    for values, column in zip(stored, opened(path).read().columns, strict=True):
        is_text = pa.types.is_string(column.type)
        numbers = column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
        assert numbers.to_pylist() == [as_text(value) if is_text else value for value in values]


def as_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return f"x'{value.hex().upper()}'"
    return None if value is None else value if isinstance(value, str) else repr(value)


def test_a_database_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 100,)] * 200)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(FileProblem, match="is cut off"):
        open_dataset(path, cache_dir=tmp_path / "cache")


def test_columns_of_text_are_read_as_chosen_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "FIRST_ROWS", 2)
    monkeypatch.setattr(sqlite_file, "ROWS_A_BLOCK", 2)
    rows = [
        (None, "n/a", 5),
        (None, None, 6),
        ("1.234,50", "31.12.2025", 7),
        ("k. A.", "01.01.2026", 8),
        (3.5, 4, 9),
    ]
    path = database(tmp_path / "a.db", "CREATE TABLE t (price, day TEXT, n)", rows=rows)
    plain = opened(path)
    assert plain.read()["price"].to_pylist() == [None, None, "1.234,50", "k. A.", "3.5"]
    dataset = opened(path, types={"price": "decimal(10, 2)", "day": "date", "n": "text"})
    for typed_table in (dataset, opened(path, types={"price": "decimal(10, 2)", "day": "date", "n": "text"})):
        typed_table.fill(Job())
        assert typed_table.snapshot().complete and typed_table.schema.types == [
            pa.decimal128(10, 2),
            pa.date32(),
            pa.string(),
        ]
        assert typed_table.read()["price"].to_pylist() == [None, None, Decimal("1234.50"), None, None]
        days = [None, None, dt.date(2025, 12, 31), dt.date(2026, 1, 1), None]
        assert typed_table.read()["day"].to_pylist() == days and typed_table.read()["n"].to_pylist() == [
            "5",
            "6",
            "7",
            "8",
            "9",
        ]
        assert typed_table.remarks == (
            "price: 2 values are not a decimal128(10, 2), and null: 'k. A.' in row 4 and '3.5' in row 5",
            "day: 1 value is not a date, and null: '4' in row 5",
        )
    with Store.open(tmp_path / "store") as store:
        table = import_dataset(opened(path, types={"day": "date"}, dates="month-first"), store)
        assert table.read()["day"].to_pylist() == [None, None, None, dt.date(2026, 1, 1), None]
        lines = store["t_bad_lines"].read(["line", "column", "text"]).to_pylist()
        assert lines[0] == {"line": 3, "column": "day", "text": "31.12.2025"}
    with pytest.raises(UnknownColumn, match=r"prise.*price"):
        opened(path, types={"prise": "int64"})
