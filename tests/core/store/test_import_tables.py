"""Imports of all tables of a database with their relations, and of several files as one table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from lamella.app.cli import main
from lamella.core.datasets import open_dataset
from lamella.core.datasets.formats import foreign_keys_of
from lamella.core.datasets.tables import ForeignKey
from lamella.core.errors import BadData, FileProblem, LamellaError
from lamella.core.store import importing
from lamella.core.store.importing import import_tables
from lamella.core.store.store import Store

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES Customers);
CREATE TABLE lines (order_id INTEGER, n INTEGER, PRIMARY KEY (order_id, n),
                    FOREIGN KEY (order_id) REFERENCES orders (id));
CREATE TABLE parts (order_id INTEGER, n INTEGER, FOREIGN KEY (order_id, n) REFERENCES lines (order_id, n));
CREATE TABLE odd (x TEXT REFERENCES nowhere (y));
INSERT INTO customers VALUES (1, 'a'), (2, 'b');
INSERT INTO orders VALUES (1, 1), (2, 1), (3, 2);
INSERT INTO lines VALUES (1, 1);
INSERT INTO parts VALUES (1, 1);
INSERT INTO odd VALUES ('x');
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SHOP)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as store:
        yield store


def test_foreign_keys_of_sqlite(shop: Path) -> None:
    assert sorted(foreign_keys_of(shop), key=lambda key: key.table) == [
        ForeignKey("lines", ("order_id",), "orders", ("id",)),
        ForeignKey("orders", ("customer",), "customers", ("id",)),
        ForeignKey("parts", ("order_id", "n"), "lines", ("order_id", "n")),
    ]


def test_all_tables_come_with_relations(shop: Path, store: Store) -> None:
    tables, said = import_tables(shop, store)
    assert [table.name for table in tables] == ["customers", "lines", "odd", "orders", "parts"]
    assert said == []
    assert sorted((r.from_table, r.from_columns, r.to_table) for r in store.relations) == [
        ("lines", ("order_id",), "orders"),
        ("orders", ("customer",), "customers"),
        ("parts", ("order_id", "n"), "lines"),
    ]
    again, _ = import_tables(shop, store, ["customers", "orders"])
    assert [table.name for table in again] == ["customers_2", "orders_2"]
    assert ("orders_2", "customers_2") in [(r.from_table, r.to_table) for r in store.relations]


def test_relations_of_duckdb(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY); INSERT INTO a VALUES (1)")
        connection.execute("CREATE TABLE b (a_id INTEGER REFERENCES a (id)); INSERT INTO b VALUES (1)")
    tables, _ = import_tables(path, store)
    assert [table.name for table in tables] == ["a", "b"]
    assert [(r.from_table, r.from_columns, r.to_table) for r in store.relations] == [("b", ("a_id",), "a")]


def test_a_failure_leaves_no_table_behind(shop: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = importing.open_dataset

    def fail_at_orders(path: Path, *, table: str, **options: Any) -> Any:
        if table == "orders":
            raise FileProblem("x", "is full")
        return whole(path, table=table, **options)

    monkeypatch.setattr(importing, "open_dataset", fail_at_orders)
    with pytest.raises(FileProblem):
        import_tables(shop, store)
    assert store.tables == []


def test_several_files_come_whole_or_not_at_all(store: Store, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    options: dict[str, Any] = {"cache_dir": tmp_path / "cache"}
    good = open_dataset(tmp_path / "good.csv", bad_lines="set-aside", **options)
    bad = open_dataset(tmp_path / "bad.csv", ragged="pad", **options)
    store.create_table("there", {"a": [1]})
    with pytest.raises(LamellaError):
        importing.import_datasets([(good, "good"), (bad, "there")], store)
    assert store.tables == ["there"]
    tables, _ = importing.import_datasets([(good, "good"), (bad, "bad")], store)
    assert [table.name for table in tables] == ["good", "bad"]
    assert store.tables == ["bad", "good", "good_bad_lines", "there"]


@pytest.fixture
def months(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "months"
    folder.mkdir()
    paths = [folder / f"sales_{month:02}.csv" for month in range(1, 4)]
    for number, path in enumerate(paths):
        path.write_text("day;amount\n" + f"0{number + 1}.02.2025;1.00{number},50\n")
    paths[2].write_text("day;amount;shop\n03.02.2025;7,5;Rome\n")
    return paths


def test_several_files_are_one_dataset(months: list[Path], tmp_path: Path) -> None:
    sales = open_dataset(months, cache_dir=tmp_path / "cache")
    assert sales.name == "sales"
    assert sales.read(["amount", "shop"]).to_pylist() == [
        {"amount": 1000.5, "shop": None},
        {"amount": 1001.5, "shop": None},
        {"amount": 7.5, "shop": "Rome"},
    ]
    assert sales.remarks == ("Column 'shop' is missing in sales_01.csv, sales_02.csv, and null there",)
    with pytest.raises(BadData):
        open_dataset([])


def test_the_command_imports_them_as_one_or_one_each(
    months: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(path) for path in months]
    target = str(tmp_path / "books")
    assert main(["import", *files, f"{target}:all"]) == 2
    assert "--as-one" in capsys.readouterr().err
    assert main(["import", *files, f"{target}:all", "--as-one"]) == 0
    assert main(["import", *files, target]) == 0
    with Store.open(target) as store:
        assert store.tables == ["all", "sales_01", "sales_02", "sales_03"]
        assert store["all"].num_rows == 3


def test_the_command_imports_all_files_or_none(
    months: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, target = [str(path) for path in months], tmp_path / "books"
    with months[2].open("a") as file:
        file.write("04.02.2025\n")
    with Store.open(target) as store:
        store.create_table("there", {"a": [1]})
    assert main(["import", *files, str(target)]) == 2
    said = capsys.readouterr()
    assert "line 3 has 1 field" in said.err and not said.out
    with Store.open(target) as store:
        assert store.tables == ["there"]
    assert main(["import", *files, str(target), "--ragged", "pad"]) == 0
    assert capsys.readouterr().out.count("1 row is in table sales_") == 2


def test_relations_that_fail_leave_no_table_behind(
    shop: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare = type(store.relations).declare

    def fail_at_parts(relations: Any, ends: list[str], *arguments: Any, **options: Any) -> Any:
        if ends[0].startswith("parts"):
            raise MemoryError
        return declare(relations, ends, *arguments, **options)

    monkeypatch.setattr(type(store.relations), "declare", fail_at_parts)
    with pytest.raises(MemoryError):
        import_tables(shop, store)
    assert (store.tables, list(store.relations)) == ([], [])


def test_the_command_imports_a_database_with_its_relations(shop: Path, tmp_path: Path) -> None:
    assert main(["import", str(shop), str(tmp_path / "shop")]) == 0
    with Store.open(tmp_path / "shop") as store:
        assert len(store.relations) == 3


def test_the_command_adds_and_changes_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "n.csv", f"{tmp_path / 's'}:n"
    path.write_text("id,n\n1,10\n2,20\n")
    assert main(["import", str(path), target]) == 0
    path.write_text("id,n\n2,22\n3,30\n")
    assert main(["import", str(path), target, "--mode", "upsert", "--key", "id"]) == 0
    assert "1 added, 1 changed" in capsys.readouterr().out
    assert main(["import", str(path), target, "--mode", "append"]) == 0
    assert main(["import", str(path), target, "--mode", "upsert"]) == 2
    assert main(["import", str(path), str(tmp_path / "s"), "--mode", "append"]) == 2
    with Store.open(tmp_path / "s") as store:
        assert store["n"].read(["n"])["n"].to_pylist() == [10, 22, 30, 22, 30]
