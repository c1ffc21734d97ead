"""Files that hold several tables, and remarks about files, on the command line."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from lamella import Store
from lamella.app import cli
from tests.core.datasets.workbooks import shop_database, workbook


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_database(tmp_path)


def test_query_names_tables_of_a_file(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT name, sum(total) s FROM orders JOIN customers ON id = customer GROUP BY 1 ORDER BY 1"
    assert cli.main(["query", str(shop), statement, "--format", "csv"]) == cli.OK
    assert capsys.readouterr().out == "name,s\nAda,12\nBo,1\n"
    assert (
        cli.main(["query", str(shop), "--table", "orders", "--where", "total > 5", "--format", "csv"])
        == cli.OK
    )
    assert capsys.readouterr().out == "customer,total\n1,7\n"
    assert cli.main(["query", str(shop), "--where", "total > 5"]) != cli.OK
    assert "holds 2 tables" in (said := capsys.readouterr().err) and "Give --table: customers, orders" in said


def test_query_reads_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = workbook(tmp_path / "a.xlsx", {"one": [["n"], [1]], "two": [["n"], [2]]})
    assert cli.main(["query", str(path), "--sheet", "two", "--limit", "1", "--format", "csv"]) == cli.OK
    assert capsys.readouterr().out == "n\n2\n"


def test_import_brings_all_tables_of_a_file(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["import", str(shop), str(tmp_path / "all")]) == cli.OK
    assert cli.main(["import", str(shop), f"{tmp_path / 'one'}:o", "--table", "orders"]) == cli.OK
    with Store.open(tmp_path / "all") as all_tables, Store.open(tmp_path / "one") as single:
        assert sorted(all_tables.tables) == ["customers", "orders"] and single.tables == ["o"]
        assert single["o"].num_rows == 3
    capsys.readouterr()
    assert cli.main(["import", str(shop), f"{tmp_path / 'none'}:t"]) != cli.OK
    assert "cannot all become table 't'" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_import_says_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = workbook(tmp_path / "a.xlsx", {"one": [["Title"], ["n", "m"], [1, 2]]})
    assert cli.main(["import", str(path), str(tmp_path / "store")]) == cli.OK
    assert "1 row above the table is left out: Title." in capsys.readouterr().err


@pytest.mark.parametrize(
    "data",
    [b"n,s\n1,a\n2,b\n", b'{"n": 1}\n{"n": 2}\n', gzip.compress(b"n,s\n1,a\n2,b\n")],
    ids=["csv", "jsonl", "csv.gz"],
)
def test_query_reads_standard_input(
    data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["SELECT sum(n) AS s FROM stdin"], ["--agg", "s=sum(n)"]):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert cli.main(["query", "-", *words, "--format", "csv"]) == cli.OK
        assert capsys.readouterr().out == "s\n3\n"


def test_query_reads_a_table_of_a_database_from_standard_input(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--table", "orders", "--agg", "n=count()"], ["SELECT count(*) AS n FROM orders"]):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(shop.read_bytes())))
        assert cli.main(["query", "-", *words, "--format", "csv"]) == cli.OK
        assert capsys.readouterr().out == "n\n3\n"


def test_query_offers_to_fill_up_short_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.csv"
    path.write_text("a,b\n1,2\n3\n")
    assert cli.main(["query", str(path), "--limit", "5"]) == 2
    assert "--ragged pad" in capsys.readouterr().err
    assert cli.main(["query", str(path), "--limit", "5", "--ragged", "pad", "--format", "csv"]) == cli.OK
    assert capsys.readouterr().out == "a,b\n1,2\n3,\n"
    assert cli.main(["export", str(path), str(tmp_path / "x.parquet")]) == 2
    assert "--ragged" not in capsys.readouterr().err


def test_query_refuses_empty_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    assert cli.main(["query", "-", "SELECT 1"]) != cli.OK
    assert "stdin: is empty" in capsys.readouterr().err


def test_query_reads_a_folder_of_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for month in (1, 2):
        (tmp_path / f"{month}.csv").write_text(f"month,n\n{month},5\n")
    assert cli.main(["query", str(tmp_path / "*.csv"), "--where", "month = 2", "--format", "csv"]) == cli.OK
    assert capsys.readouterr().out == "month,n\n2,5\n"
