"""`lamella query` of a table that a Spark server sees."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.app import paths
from lamella.app.cli import main
from lamella.core.remote.paths import path_or_address
from lamella.core.store.views import FileViews


@pytest.fixture
def address(spark_address: str, tmp_path: Path) -> str:
    pq.write_table(pa.table({"id": [3, 1, 2], "fare": [7.5, 60.0, 80.0]}), tmp_path / "t.parquet")
    return f"{spark_address}/parquet:{tmp_path / 't.parquet'}"


def test_steps_and_statements_run_there(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", address, "--where", "fare > 50", "--agg", "n=count()", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["n", "2"]
    assert main(["query", address, "SELECT max(fare) AS m FROM t", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["m", "80.0"]


def test_views_that_the_window_saved_are_asked(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    views = FileViews(paths.saved_views())
    views.save("dear", open_dataset(address).where("fare > 50"), [path_or_address(address)])
    assert main(["query", address, "--view", "dear", "--columns", "id", "--format", "csv"]) != 0
    assert "cannot be combined with --view" in capsys.readouterr().err
    assert main(["query", address, "--view", "dear", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["id,fare", "1,60.0", "2,80.0"]


def test_rows_are_in_the_order_of_their_key(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", address, "--row-key", "id", "--columns", "id", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["id", "1", "2", "3"]


def test_rows_are_imported_and_exported(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", address, f"{tmp_path / 'store'}:trips"]) == 0
    assert "3 rows are in table trips" in capsys.readouterr().out
    assert main(["export", address, str(tmp_path / "out.csv"), "--where", "fare > 50"]) == 0
    assert "2 rows are in" in capsys.readouterr().out


def test_what_cannot_be_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", address, "--limit", "1", "--decimal", ","]) != 0
    assert "--decimal is for files only" in capsys.readouterr().err
    assert main(["query", "sc://127.0.0.1:1/trips", "--limit", "1"]) != 0
    assert "the Spark server does not answer" in capsys.readouterr().err
