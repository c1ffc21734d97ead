"""Export, compact, verify, backup and summary as people call them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import cli
from core import Store, open_dataset


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "taxi") as opened:
        trips = opened.create_table("trips", {"n": list(range(1_500)), "zone": ["a", "b", "c"] * 500})
        trips.insert([{"n": 1_500, "zone": None}])
        opened.create_table("zones", [{"zone": "a"}])
    return tmp_path / "taxi"


def test_export_writes_files_and_folders(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(store), "trips", str(tmp_path / "out.csv"), "--columns", "zone,n"]) == 0
    assert "1,501 rows are in" in capsys.readouterr().out
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == '"a",0'
    assert cli.main(["export", str(store), "trips", str(tmp_path / "out"), "--partition-by", "zone"]) == 0
    assert open_dataset(tmp_path / "out").num_rows == 1_501
    assert cli.main(["export", str(store), "trips", str(tmp_path / "out.csv")]) == cli.REFUSED
    assert cli.main(["export", str(store), "tripz", str(tmp_path / "x.csv")]) == cli.REFUSED
    assert "Did you mean 'trips'" in capsys.readouterr().err


def test_compact_says_what_became_of_each_table(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compact", str(store)]) == 0
    assert "trips: 1 file (" in capsys.readouterr().out
    assert cli.main(["compact", str(store), "trips"]) == 0
    assert capsys.readouterr().out == "trips: in good order already, 1 file\n"


def test_verify_tells_damage_by_its_exit_code(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", str(store)]) == 0
    assert "all is well" in capsys.readouterr().out
    next(store.rglob("*.parquet")).unlink()
    assert cli.main(["verify", str(store), "--quick"]) == cli.DAMAGED
    assert "is missing" in capsys.readouterr().out


def test_backup_and_summary(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["backup", str(store), str(tmp_path / "copy")]) == 0
    assert "1 file" in capsys.readouterr().out
    assert cli.main(["summary", str(tmp_path / "copy"), "trips"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("trips: 1,501 rows, 2 columns")
    assert "zones" not in told
    assert cli.main(["summary", str(tmp_path / "nowhere")]) == cli.REFUSED
    assert not (tmp_path / "nowhere").exists()
