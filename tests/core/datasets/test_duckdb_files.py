"""DuckDB databases in place: tables, schemas and views, types, locks, damage, views that read other files."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.datasets import open_dataset
from lamella.core.datasets.tables import NoSuchTable, SeveralTables
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset


def database(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def opened(path: Path, **options: Any) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache", **options)


def test_the_only_table_is_opened_and_nothing_is_written(tmp_path: Path) -> None:
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT range AS n FROM range(3)")
    before = path.read_bytes()
    dataset = opened(path)
    assert (dataset.name, dataset.format) == ("t", "DuckDB")
    assert dataset.read().to_pydict() == {"n": [0, 1, 2]}
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a.duckdb"]


def test_of_several_tables_and_views_one_is_named(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.duckdb",
        'CREATE TABLE "odd "" name" (x INT, y INT)',
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.orders AS SELECT 5 AS total",
        "CREATE VIEW twice AS SELECT total * 2 AS t FROM sales.orders",
    )
    with pytest.raises(SeveralTables, match="holds 3 tables") as refused:
        opened(path)
    assert [(t.name, t.kind, t.rows, t.columns) for t in refused.value.tables] == [
        ('odd " name', "table", 0, 2),
        ("sales.orders", "table", 1, 1),
        ("twice", "view", None, 1),
    ]
    assert opened(path, table="sales.orders").read().to_pylist() == [{"total": 5}]
    assert opened(path, table="twice").read().to_pylist() == [{"t": 10}]
    assert opened(path, table='odd " name').num_rows == 0
    with pytest.raises(NoSuchTable):
        opened(path, table="orders")


def test_types_keep_or_are_text_that_says_so(tmp_path: Path) -> None:
    columns = {
        "TINYINT '5'": (pa.int8(), 5),
        "HUGEINT '12345678901234567890'": (pa.decimal128(38, 0), Decimal(12345678901234567890)),
        "HUGEINT '170141183460469231731687303715884105727'": (pa.string(), str(2**127 - 1)),
        "DECIMAL(10, 2) '1.50'": (pa.decimal128(10, 2), Decimal("1.50")),
        "DATE '2024-02-29'": (pa.date32(), dt.date(2024, 2, 29)),
        "TIMESTAMPTZ '2024-02-29 12:00+02'": (
            pa.timestamp("us", "UTC"), dt.datetime(2024, 2, 29, 10, tzinfo=dt.UTC),
        ),
        "INTERVAL 3 DAY": (pa.string(), "3 days"),
        "BIT '101'": (pa.string(), "101"),
        "[1, 2]": (pa.list_(pa.int32()), [1, 2]),
        "{'a': 'x'}": (pa.struct([("a", pa.string())]), {"a": "x"}),
        "BLOB 'a'": (pa.binary(), b"a"),
        "UUID '00000000-0000-0000-0000-000000000001'": (pa.string(), "00000000-0000-0000-0000-000000000001"),
    }  # fmt: skip
    selected = ", ".join(f"{value} AS c{place}" for place, value in enumerate(columns))
    dataset = opened(database(tmp_path / "a.duckdb", f"CREATE TABLE t AS SELECT {selected}"))
    assert dataset.schema.types == [kind for kind, _ in columns.values()]
    assert list(dataset.read().to_pylist()[0].values()) == [value for _, value in columns.values()]
    assert dataset.remarks == (
        "Column 'c2' of type HUGEINT is shown as text",
        "Column 'c6' of type INTERVAL is shown as text",
        "Column 'c7' of type BIT is shown as text",
    )


def test_a_large_table_is_read_through_the_cache(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT range AS n, 'x' AS s FROM range(500_000)"
    )
    dataset = opened(path)
    assert not dataset.snapshot().complete and 0 < dataset.num_rows < 500_000
    fractions: list[float | None] = []
    dataset.fill(Job(lambda progress: fractions.append(progress.fraction)))
    assert fractions[-1] == 1.0 and dataset.count() == 500_000
    assert opened(path).snapshot().complete


def test_a_view_that_reads_other_files_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    path = database(tmp_path / "a.duckdb", f"CREATE VIEW v AS SELECT * FROM read_csv('{secret}')")
    with pytest.raises(FileProblem, match="view that reads other files"):
        opened(path)
    database(path, "CREATE TABLE t (n INT)")
    assert opened(path, table="t").num_rows == 0


@contextmanager
def held_by_another_program(path: Path) -> Iterator[None]:
    code = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('ready', flush=True); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None and process.stdout.readline()
        yield
        process.communicate(b"\n")


def test_a_locked_database_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t (n INT)")
    with (
        held_by_another_program(path),
        pytest.raises(FileProblem, match=r"locked by another program.*Close"),
    ):
        opened(path)
    assert opened(path).num_rows == 0


def test_damaged_databases_are_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT range AS n FROM range(10)")
    whole = path.read_bytes()
    path.write_bytes(whole[:12_388] + b"\xff" * 5000 + whole[17_388:])
    with pytest.raises(FileProblem, match="damaged DuckDB database"):
        opened(path)
    path.write_bytes(whole[:5000])
    with pytest.raises(FileProblem, match="damaged DuckDB database"):
        opened(path)


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="holds no tables"):
        opened(database(tmp_path / "a.duckdb", "CREATE SCHEMA s"))


def test_tables_are_imported(tmp_path: Path) -> None:
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT range AS n FROM range(200_000)")
    with Store.open(tmp_path / "store") as store:
        assert import_dataset(opened(path), store).num_rows == 200_000
