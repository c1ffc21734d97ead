"""The options of how a file is read, on the command line: the same table as Python's and the docs'."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from lamella.app.cli import main
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import OpenOptions
from lamella.core.datasets.options import READING
from lamella.core.store.store import Store

ROOT = Path(__file__).resolve().parents[2]


def test_every_option_is_python_s_too_and_documented() -> None:
    parameters = inspect.signature(open_dataset).parameters
    page = (ROOT / "docs" / "text-files.md").read_text("utf-8")
    for option in READING:
        assert option.name in parameters
        assert option.name in OpenOptions.__dataclass_fields__ or option.name == "row_key", "of no file"
        if option.name not in ("cells", "version", "row_key"):
            assert f"| `{option.name}` |" in page, option.name


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.csv"
    path.write_bytes(b"Tag;PLZ;Betrag;Bezahlt\n01/02/2025;01067;1.234,50;J\n02/02/2025;80331;k. A.;N\n9;\n")
    return path


OPTIONS = [
    "--dates", "day-first", "--nulls", "k. A.", "--types", "PLZ=text,Betrag=decimal(10, 2)",
    "--names", "Tag=day,Betrag=amount", "--booleans", "ja/nein,J/N", "--bad-lines", "set-aside",
]  # fmt: skip


def test_a_file_is_imported_with_them(tmp_path: Path, bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(bank), f"{tmp_path / 'store'}:sales", *OPTIONS]) == 0
    with Store.open(tmp_path / "store") as store:
        rows = store["sales"].read(["day", "PLZ", "amount", "Bezahlt"]).to_pylist()
        assert [(str(row["day"]), row["PLZ"], str(row["amount"]), row["Bezahlt"]) for row in rows] == [
            ("2025-02-01", "01067", "1234.50", True),
            ("2025-02-02", "80331", "None", False),
        ]
        assert store.tables == ["sales", "sales_bad_lines"]
    said = capsys.readouterr().err
    assert "1 line that cannot be read is left out (line 4: it has 2 fields instead of 4)." in said
    assert "They are in table sales_bad_lines." in said


def test_a_file_is_queried_with_them(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT sum(amount) AS s FROM bank WHERE Bezahlt"
    assert main(["query", str(bank), statement, "--format", "csv", *OPTIONS]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["s", "1234.50"]
    assert "1 line that cannot be read is left out" in err


@pytest.mark.parametrize(
    "options",
    [
        ["--types", "PLZ"],
        ["--types", "nowhere=date"],
        ["--decimal", "x"],
        ["--zone", "Berlin"],
        ["--dates", "d"],
        ["--booleans", "ja"],
    ],
)
def test_what_cannot_be_is_refused(
    bank: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["query", str(bank), *options])
    except SystemExit as exit:
        status = exit.code
    assert status == 2
    assert capsys.readouterr().err


def test_a_store_is_not_read_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "store") as store:
        store.create_table("t", {"a": [1]})
    assert main(["query", str(tmp_path / "store"), "--table", "t", "--decimal", ","]) == 2
    assert "--decimal is for files only" in capsys.readouterr().err
