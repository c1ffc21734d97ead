"""Export, compact, verify, backup and summary as people call them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lamella import Store, open_dataset
from lamella.app import cli
from lamella.core.store.folder import CATALOG
from tests.mounts import seen_read_only
from tests.property.damage import flip_bit


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
    assert "trips: 1 file of " in capsys.readouterr().out
    assert cli.main(["compact", str(store), "trips"]) == 0
    assert capsys.readouterr().out == "trips: nothing to compact, 1 file\n"


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
    output = capsys.readouterr().out
    assert output.startswith("trips: 1,501 rows, 2 columns")
    assert "zones" not in output
    assert cli.main(["summary", str(tmp_path / "nowhere")]) == cli.REFUSED
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["nowhere", "rows.csv", "x" * 3_000])
def test_verify_refuses_what_is_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "rows.csv").write_text("n\n1\n")
    assert cli.main(["verify", str(tmp_path / name)]) == cli.REFUSED
    assert "there is no store here" in capsys.readouterr().err


def test_verify_only_reports(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stray, staged = (
        next(store.rglob("*.parquet")).with_name("0" * 32 + ".parquet"),
        store / "tmp" / ("1" * 32),
    )
    stray.write_bytes(b"")
    staged.mkdir()
    before = _content(store)
    assert cli.main(["verify", str(store)]) == cli.DAMAGED
    output = capsys.readouterr().out
    assert f"{stray}: no table names this file" in output
    assert f"{staged}: no table names this file" in output
    assert _content(store) == before


def test_verify_works_on_a_read_only_medium(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stray = next(store.rglob("*.parquet")).with_name("0" * 32 + ".parquet")
    with seen_read_only(store) as place:
        assert cli.main(["verify", str(place)]) == 0
        stray.write_bytes(b"")
        assert cli.main(["verify", str(place)]) == cli.DAMAGED
    assert f"{stray.name}: no table names this file" in capsys.readouterr().out


def test_verify_tells_of_a_damaged_log_before_anybody_writes_over_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [0]})
        for value in range(20):
            table.update([{"_id": 0, "n": value}])
        shutil.copytree(tmp_path / "s", tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    log = tmp_path / "crashed" / f"{CATALOG}-wal"
    flip_bit(log, 5_000)
    content = log.read_bytes()
    for _ in range(2):
        assert cli.main(["verify", str(tmp_path / "crashed")]) == cli.DAMAGED
        assert "commits after it are lost" in capsys.readouterr().out
    assert log.read_bytes() == content


def _content(folder: Path) -> dict[Path, bytes]:
    """Without what SQLite makes to read a catalog with others."""
    paths = (path for path in folder.rglob("*") if path.suffix not in (".sqlite-wal", ".sqlite-shm"))
    return {path: path.read_bytes() if path.is_file() else b"" for path in paths}


def test_checks_are_listed_and_set(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> str:
        assert cli.main(["checks", str(store), "trips", *words]) == cli.OK
        return capsys.readouterr().out

    assert told() == "no defaults or checks\n"
    assert told("n", "--required", "yes", "--unique", "yes") == "n: required, unique\n"
    assert told("zone", "--one-of", "a,b,c", "--default", "b") == "zone: one of a, b, c, default b\n"
    assert told("n", "--default", "0") == "n: required, unique, default 0\n"
    assert told() == "n: required, unique, default 0\nzone: one of a, b, c, default b\n"
    with Store.open(store) as opened:
        assert opened["trips"].columns.default("n") == 0
        opened["trips"].history.undo()
    assert told("n") == "n: required, unique\n"
    assert told("zone", "--any-value", "--no-default", "--unique", "no") == "no defaults or checks\n"


def test_checks_that_cannot_be_set_change_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["zone", "--required", "yes", "--default", "b"], "1 row has null. It is _id 1500"),
        (["zone", "--one-of", "a,b", "--default", "a"], "'c' (_id 2)"),
        (["n", "--default", "many"], "'many' does not fit a column of type int64"),
        (["m", "--unique", "yes"], "no column 'm'"),
        (["--unique", "yes"], "The column is not given"),
    ):
        assert cli.main(["checks", str(store), "trips", *words]) == cli.REFUSED
        assert said in capsys.readouterr().err
    assert cli.main(["checks", str(store), "trips"]) == cli.OK
    assert capsys.readouterr().out == "no defaults or checks\n"
