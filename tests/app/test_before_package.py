"""Everything that a user had before the package was called `lamella` opens, value by value, and can be
changed.

`tests/fixtures/make_before_package.py` says what is in the files and how the code of that time made them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest
from PySide6.QtWidgets import QMainWindow

from lamella.app import cli, paths
from lamella.app import settings as settings_file
from lamella.app.memory import State
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import read_json, to_json
from lamella.core.bench.results.store import SavedRuns
from lamella.core.query.builder import Query
from lamella.core.query.expressions import col
from lamella.core.settings import Settings
from lamella.core.store.store import Store

PACKED = Path(__file__).resolve().parents[1] / "fixtures" / "before_package.tar.xz"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("before_package")
    with tarfile.open(PACKED) as packed:
        for member in packed:  # extractall takes a filter, or warns without one, by Python's version
            if member.isdir():
                (folder / member.name).mkdir(parents=True, exist_ok=True)
            else:
                (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / member.name).write_bytes(packed.extractfile(member).read())
    return folder


@pytest.fixture
def before(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, whose `home` is the user's."""
    folder = shutil.copytree(unpacked, tmp_path / "before")
    monkeypatch.setenv("LAMELLA_HOME", str(folder / "home"))
    return folder


@pytest.fixture
def facts(unpacked: Path) -> dict[str, Any]:
    return json.loads((unpacked / "expected" / "facts.json").read_text(encoding="utf-8"))


@pytest.fixture
def store(before: Path) -> Iterator[Store]:
    with Store.open(paths.data_folder() / "shop") as opened:
        yield opened


@pytest.fixture
def unchanged(before: Path) -> Iterator[Store]:
    """Open read-only; no file of it is another afterwards."""
    folder = paths.data_folder() / "shop"
    files = _digests(folder)
    with Store.open(folder, read_only=True) as opened:
        yield opened
    assert _digests(folder) == files


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def expected(before: Path, name: str) -> pa.Table:
    return pa.feather.read_table(before / "expected" / f"{name}.arrow")


def same(actual: pa.Table, wanted: pa.Table) -> None:
    """Assert equality to the type and the bit: NaN is NaN, and -0.0 is not 0.0."""
    assert actual.schema.equals(wanted.schema)
    assert repr(actual.to_pylist()) == repr(wanted.to_pylist())


def test_every_table_and_version_reads_as_before(unchanged: Store, before: Path) -> None:
    for name in unchanged.tables:
        same(unchanged[name].read(), expected(before, name))
    for number in (1, 4, "before the sale"):
        same(unchanged["orders"].as_of(number).read(), expected(before, f"orders at {number}"))
    same(unchanged["many"].as_of(2).read(), expected(before, "many at 2"))
    assert not unchanged.maintenance.verify().problems


def test_history_indexes_metadata_and_relations_are_as_before(
    unchanged: Store, facts: dict[str, Any]
) -> None:
    assert set(unchanged.tables) == set(facts["tables"])
    for name, expected_facts in facts["tables"].items():
        table = unchanged[name]
        actual = {
            "version": table.version,
            "rows": table.num_rows,
            "indexes": [str(index) for index in table.indexes],
            "history": [_commit(commit) for commit in table.history.commits()],
            "undoable": getattr(table.history.undoable(), "version", None),
            "redoable": getattr(table.history.redoable(), "version", None),
            "metadata": table.metadata,
            "column_metadata": {c: table.columns.metadata(c) for c in table.schema.names if c != "_id"},
        }
        assert actual == expected_facts
    assert [str(relation) for relation in unchanged.relations] == facts["relations"]


def _commit(record: Any) -> dict[str, Any]:
    counts = {
        name: getattr(record, name) for name in ("version", "inserted", "updated", "deleted", "restores")
    }
    words = {name: getattr(record, name) for name in ("kind", "message", "name", "transaction_id")}
    return counts | words | {"seconds": record.seconds, "time": record.time.isoformat()}


def test_rows_are_found_by_the_indexes_there_are(
    unchanged: Store, before: Path, facts: dict[str, Any]
) -> None:
    orders = unchanged["orders"]
    questions = ({"where": col("code") == "A0042"}, {"where": col("euros").between(20, 30)})
    explained = [
        str(orders.explain(**question).index) for question in (*questions, {"sort": ["code"], "limit": 5})
    ]
    assert explained == facts["explained"] and "None" not in explained
    same(orders.read(where=col("code") == "A0042"), expected(before, "found"))
    same(orders.read(sort=["-euros"], limit=20), expected(before, "sorted"))
    same(orders.search("+apple -pear", limit=30), expected(before, "searched"))
    same(orders.relations.rows(1, "sales"), expected(before, "related"))


def test_a_saved_query_gives_the_same_rows(unchanged: Store, before: Path) -> None:
    saved = json.loads((before / "query.json").read_text(encoding="utf-8"))
    query = Query.of(saved, unchanged.__getitem__)
    same(query.read(), expected(before, "query"))
    assert query.to_json() == saved


def test_the_store_takes_changes_and_takes_them_back(store: Store, before: Path) -> None:
    orders, many = store["orders"], store["many"]
    last = orders.version
    orders.update_where(col("code") == "A0042", {"$set": {"euros": 5}, "$push": {"tags": "changed"}})
    added = orders.insert([{"code": "D1", "euros": 1, "text": "a late apple"}])
    assert added.inserted_ids[0] > max(expected(before, "orders")["_id"].to_pylist())
    orders.delete(where=col("code") == "C1")
    assert orders.count(col("code").is_in(["D1", "C1"])) == 1
    assert orders.search("late", columns=["code"])["code"].to_pylist() == ["D1"]
    assert orders.read(["euros"], where=col("code") == "A0042")["euros"].to_pylist() == [5]
    for _ in range(3):
        orders.history.undo()
    same(orders.read(), expected(before, "orders"))
    assert orders.version == last + 6
    orders.history.restore("before the sale")
    same(orders.read(), expected(before, "orders at before the sale"))
    orders.history.undo()
    many.history.redo()
    assert many.read(["n"])["n"].to_pylist() == [n + 1 for n in range(7990)]
    many.history.undo()
    same(many.read(), expected(before, "many"))


def test_a_transaction_of_then_is_taken_back_in_both_tables(store: Store) -> None:
    store["people"].history.undo()
    assert store["people"].read(["name"])["name"].to_pylist() == ["Ada", "Ben", "Cleo"]
    assert store["sales"].num_rows == 5


def test_compacted_backed_up_and_vacuumed_the_rows_stay(store: Store, before: Path, tmp_path: Path) -> None:
    store.maintenance.compact()
    assert not store.maintenance.vacuum().problems
    store.backup(tmp_path / "backup")
    with Store.open(tmp_path / "backup", read_only=True) as copy:
        for each in (store, copy):
            for name in each.tables:
                same(each[name].read(), expected(before, name))
            same(each["orders"].as_of(1).read(), expected(before, "orders at 1"))
            assert not each.maintenance.verify().problems


@pytest.mark.usefixtures("before")
def test_settings_and_the_window_are_as_left(qtbot: Any) -> None:
    settings, problems = settings_file.load(settings_file.settings_path())
    assert len(problems) == 1 and "of_a_later_version" in str(problems[0])
    assert settings.values == {
        **Settings().values,
        "theme": "dark",
        "text_scale": 1.25,
        "page_cache_mb": 300,
        "default_store": "/home/ada/tables",
    }
    settings["theme"] = "light"
    settings_file.save(settings, settings_file.settings_path())
    assert json.loads(settings_file.settings_path().read_text())["of_a_later_version"] == [1, 2]
    state, window = State(), QMainWindow()
    qtbot.addWidget(window)
    assert state.recent == [Path("/home/ada/notes.parquet"), Path("/home/ada/trips.csv")]
    assert window.restoreGeometry(state.geometry) and (window.width(), window.height()) == (700, 500)


def test_saved_runs_and_results_are_as_before(
    before: Path, facts: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    saved = SavedRuns(paths.saved_runs())
    names = ("id", "title", "note", "samples", "seconds", "command")
    actual = [{name: getattr(run_facts, name) for name in names} for run_facts in saved.runs()]
    assert actual == [{name: record[name] for name in names} for record in facts["runs"]]
    assert [run_facts.started.isoformat() for run_facts in saved.runs()] == [
        run_facts["started"] for run_facts in facts["runs"]
    ]
    second, first = (saved.run(record["id"]) for record in facts["runs"])
    results = read_json(before / "results.json")
    assert list(first.records) == results and len(results) > 100
    written = json.loads((before / "results.json").read_text(encoding="utf-8"))
    assert json.loads(to_json(results)) == written
    for run in (first, second):
        assert run.choice is not None and "\n".join(run.choice.commands) == run.command
        assert "Machine:" in markdown_report(run)
    assert cli.main(["bench", "--compare", "1", str(before / "results.json")]) == 0
    assert "measured in both: " in capsys.readouterr().out
    assert saved.run(saved.save(first)).records == first.records
