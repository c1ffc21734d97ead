"""Opening a store: what is refused, and how the remains of a crash are removed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import DamagedStore, ReadOnlyStore, StoreProblem, StoreTooNew


def test_a_store_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    Store.open(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "catalog.sqlite") as catalog:
        catalog.execute("PRAGMA user_version = 999")
    catalog.close()
    with pytest.raises(StoreTooNew, match="later version of Lamella"):
        Store.open(tmp_path / "s")


def test_a_folder_with_other_things_is_not_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(StoreProblem, match="holds other files"):
        Store.open(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(StoreProblem, match="a store is a folder"):
        Store.open(tmp_path / "x")


@pytest.mark.parametrize("content", [b"not a database, just some bytes" * 100, b""])
def test_a_broken_catalog_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "catalog.sqlite").write_bytes(content)
    for read_only in (False, True) if content else ():
        with pytest.raises(StoreProblem, match="not the catalog"):
            Store.open(tmp_path, read_only=read_only)
    if not content:
        with Store.open(tmp_path) as store:
            assert store.tables == []


def test_read_only_means_no_change(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"a": 1}])
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert store["t"].read().to_pylist() == [{"_id": 0, "a": 1}]
        with pytest.raises(ReadOnlyStore):
            store["t"].delete(ids=[0])
        with pytest.raises(ReadOnlyStore):
            store.create_table("u", [{"a": 1}])


def test_leftovers_of_a_crash_are_swept_but_not_while_somebody_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", {"a": list(range(5_000))})
        folder = next((store.path / "data").iterdir())
        stray, staged = folder / f"{'0' * 32}.parquet", store.path / "tmp" / ("0" * 32)
        stray.write_bytes(b"half")
        staged.mkdir()
        (staged / "lock").touch()
        with store._layout.stage():
            Store.open(tmp_path / "s").close()
            assert stray.exists()
    with Store.open(tmp_path / "s") as store:
        assert not stray.exists()
        assert not staged.exists()
        assert store["t"].num_rows == 5_000


def test_two_open_stores_see_each_others_commits(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as first, Store.open(tmp_path / "s") as second:
        table = first.create_table("t", [{"a": 1}])
        second["t"].update([{"_id": 0, "a": 2}])
        table.update([{"_id": 0, "b": 3}])
        assert second["t"].read().to_pylist() == [{"_id": 0, "a": 2, "b": 3}]


def test_dropped_and_renamed_tables(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("a", {"x": list(range(3_000))})
        store.create_table("b", [{"x": 1}])
        store.rename_table("a", "Ä / b")
        assert store["Ä / b"].num_rows == 3_000
        store.drop_table("Ä / b")
        assert store.tables == ["b"]
        assert list((store.path / "data").rglob("*.parquet")) == []


def test_a_store_that_was_closed_says_so_whatever_is_asked_of_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    table = store.create_table("t", [{"a": 1}])
    store.close()
    questions = (
        lambda: store.tables,
        lambda: store.create_table("u", [{"a": 1}]),
        lambda: store.backup(tmp_path / "copy"),
        table.read,
        lambda: table.insert([{"a": 2}]),
        lambda: list(table.history.commits()),
    )
    for ask in questions:
        with pytest.raises(StoreProblem, match=r"s: the store was closed\. Open it again"):
            ask()
    with pytest.raises(StoreProblem, match="the store was closed"), store.transaction():
        pytest.fail("it cannot begin")
    store.close()


def test_a_stray_file_beside_the_tables_folders_is_told_and_left_alone(tmp_path: Path) -> None:
    stray = tmp_path / "s" / "data" / "notes.txt"
    Store.open(tmp_path / "s").close()
    stray.write_text("mine")
    with Store.open(tmp_path / "s") as store:
        assert store.maintenance.verify().problems == (f"{stray}: does not belong to the store, and stays",)
    assert stray.read_text() == "mine"


def test_stores_tables_and_versions_say_what_they_are_even_when_closed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [1]})
        assert repr(table.as_of(table.version)) == f"<OldVersion {table.version} of 't'>"
    assert repr(store) == f"<Store '{tmp_path / 's'}'>"
    assert repr(table) == f"<Table 't' of '{tmp_path / 's'}'>"


@pytest.mark.parametrize("number", [0, -1])
def test_a_format_that_never_was_is_no_catalog(tmp_path: Path, number: int) -> None:
    Store.open(tmp_path / "s").close()
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite")) as catalog:
        catalog.execute(f"pragma user_version = {number}")
    with pytest.raises(StoreProblem, match=f"Its format is {number}"):
        Store.open(tmp_path / "s")


FOREIGN = {
    "trigger": (
        "CREATE TRIGGER more AFTER INSERT ON commits BEGIN DELETE FROM columns; END",
        "has a trigger 'more'",
    ),
    "view": ("CREATE VIEW more AS SELECT 1 AS one", "has a view 'more'"),
    "virtual table": ("CREATE VIRTUAL TABLE more USING fts5(words)", "has a virtual table 'more'"),
}


@pytest.mark.parametrize(("statement", "reason"), FOREIGN.values(), ids=FOREIGN.keys())
def test_a_catalog_with_what_could_change_commits_is_read_and_not_written(
    tmp_path: Path, statement: str, reason: str
) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"a": 1}])
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite")) as catalog:
        catalog.execute(statement)
    with pytest.raises(DamagedStore, match=f"{reason}.*open it read-only"):
        Store.open(tmp_path / "s")
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert store["t"].read().to_pylist() == [{"_id": 0, "a": 1}]
        (problem,) = store.maintenance.verify().problems
        assert reason.replace("has a", "holds a") in problem


@pytest.mark.parametrize(
    "definition",
    ["VIEW columns AS SELECT * FROM elsewhere", "VIRTUAL TABLE columns USING fts5(entry, table_id, name)"],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_catalog_whose_table_is_none_is_not_opened(
    tmp_path: Path, definition: str, read_only: bool
) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"a": 1}])
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite")) as catalog:
        catalog.execute("ALTER TABLE columns RENAME TO elsewhere")
        catalog.execute(f"CREATE {definition}")
    with pytest.raises(DamagedStore, match=r"(table|view) 'columns'"):
        Store.open(tmp_path / "s", read_only=read_only)


def test_reading_leaves_no_file_beside_the_catalog_and_others_keep_theirs(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"a": 1}])
    before = {path.name for path in (tmp_path / "s").iterdir()}
    first, second = (Store.open(tmp_path / "s", read_only=True) for _ in range(2))
    with Store.open(tmp_path / "s") as writer:
        assert (tmp_path / "s" / "catalog.sqlite-wal").exists()
        for reader in (first, second):
            assert reader["t"].count() == 1
        first.close()
        writer["t"].insert([{"a": 2}])
        assert second["t"].count() == 2
    second.close()
    Store.open(tmp_path / "s", read_only=True).close()
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert store["t"].count() == 2
    assert {path.name for path in (tmp_path / "s").iterdir()} - before <= {
        "catalog.sqlite-wal",
        "catalog.sqlite-shm",
    }


@pytest.mark.parametrize("lost", ["emptied", "removed"])
def test_a_store_that_lost_its_catalog_keeps_its_files(tmp_path: Path, lost: str) -> None:
    """A new catalog would not list the files, so they would be removed as orphans."""
    with Store.open(tmp_path / "shop") as store:
        store.create_table("t", {"n": list(range(5_000))})
    catalog = tmp_path / "shop" / "catalog.sqlite"
    whole = catalog.read_bytes()
    catalog.write_bytes(b"") if lost == "emptied" else catalog.unlink()
    with pytest.raises(StoreProblem, match="the catalog is empty, although there are data files beside it"):
        Store.open(tmp_path / "shop")
    catalog.write_bytes(whole)
    with Store.open(tmp_path / "shop") as store:
        assert store["t"].num_rows == 5_000 and not store.maintenance.verify().problems
