"""A store whose folder is removed, moved or replaced while it is open: every change is refused, and nothing
is written to the replacement."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.bridge import connect
from lamella.core.errors import FileProblem, LamellaError, StoreProblem

ROWS = 3_000

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows moves no folder with open files")


def filled(path: Path, first: int) -> None:
    with Store.open(path) as store:
        table = store.create_table("t", {"n": list(range(first, first + ROWS)), "text": ["fox"] * ROWS})
        table.update([{"_id": i, "n": -i} for i in range(1_500)])
        table.indexes.create("n")
        table.indexes.create("text", kind="fulltext")
        store.create_table("u", [{"n": 1}])


def removed(path: Path) -> None:
    shutil.rmtree(path)


def moved(path: Path) -> None:
    path.rename(path.with_name("moved"))


def replaced(path: Path) -> None:
    moved(path)
    filled(path, 50_000)


def replaced_by_its_copy(path: Path) -> None:
    moved(path)
    shutil.copytree(path.with_name("moved"), path)


def replaced_by_a_file(path: Path) -> None:
    moved(path)
    path.write_text("dear")


def catalog_removed(path: Path) -> None:
    (path / "catalog.sqlite").unlink()


def catalog_replaced(path: Path) -> None:
    copy = path / "copy"
    shutil.copyfile(path / "catalog.sqlite", copy)
    copy.replace(path / "catalog.sqlite")


HARMS = [
    removed,
    moved,
    replaced,
    replaced_by_its_copy,
    replaced_by_a_file,
    catalog_removed,
    catalog_replaced,
]


def in_transaction(store: Store) -> None:
    with store.transaction():
        store["t"].insert([{"n": 1}])
        store["u"].insert({"n": list(range(ROWS))})


CHANGES: dict[str, Callable[[Store], object]] = {
    "insert few": lambda store: store["t"].insert([{"n": 1}]),
    "insert many": lambda store: store["t"].insert({"n": list(range(ROWS))}),
    "update few": lambda store: store["t"].update([{"_id": 1, "n": 5}]),
    "update all": lambda store: store["t"].update_where(None, {"$inc": {"n": 1}}),
    "delete": lambda store: store["t"].delete(ids=[3]),
    "undo": lambda store: store["t"].history.undo(),
    "flush": lambda store: store["t"].maintenance.flush(),
    "compact": lambda store: store["t"].maintenance.compact(),
    "add a column": lambda store: store["t"].columns.add("m", "int64"),
    "create a small table": lambda store: store.create_table("v", [{"n": 1}]),
    "create a table": lambda store: store.create_table("v", {"n": list(range(ROWS))}),
    "copy a table": lambda store: store.copy_table("t", "v"),
    "rename a table": lambda store: store.rename_table("u", "v"),
    "drop a table": lambda store: store.drop_table("t"),
    "create an index": lambda store: store["u"].indexes.create("n"),
    "drop an index": lambda store: store["t"].indexes.drop("n"),
    "relate": lambda store: store.relations.declare("t.n", "u.n"),
    "expire": lambda store: store["t"].maintenance.expire(keep_versions=1),
    "name a version": lambda store: store["t"].history.name_version("now"),
    "SQL": lambda store: store.sql("delete from t where n = 7", write=True),
    "vacuum": lambda store: store.maintenance.vacuum(),
    "several tables": in_transaction,
}

QUESTIONS: dict[str, Callable[[Store], object]] = {
    "tables": lambda store: store.tables,
    "read": lambda store: store["t"].read(),
    "get": lambda store: store["t"].get(2_000),
    "where": lambda store: store["t"].read(where="n = 2500"),
    "search": lambda store: store["t"].search("fox"),
    "SQL": lambda store: store.sql("select sum(n) from t"),
    "SQLite": lambda store: connect(store).close(),
    "an earlier version": lambda store: store["t"].as_of(1).read(),
    "history": lambda store: store["t"].history.commits(),
    "summary": lambda store: store.maintenance.summary(),
    "verify": lambda store: store.maintenance.verify(),
    "backup": lambda store: store.backup(store.path.with_name("backup")),
    "export": lambda store: store["t"].export(store.path.with_name("t.csv"), overwrite=True),
}


@pytest.fixture(params=["looked at", "fresh"])
def filled_store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with two tables, either with some of its data cached in memory or with none."""
    filled(tmp_path / "s", 0)
    with Store.open(tmp_path / "s") as store:
        if request.param == "looked at":
            store["t"].read()
            store["t"].insert([{"n": 7}])
        yield store


def content(folder: Path) -> dict[Path, bytes]:
    """Bytes by file, without those that change when others read: shared memory, and the list of readers."""
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".sqlite-shm" and path.parent.name != "readers"
    }


@pytest.mark.slow(except_every=6)
@pytest.mark.parametrize("harm", HARMS)
def test_a_store_that_is_not_where_it_was_opened_refuses_every_change(
    filled_store: Store, harm: Callable[[Path], None]
) -> None:
    harm(filled_store.path)
    before = content(filled_store.path)
    for name, change in CHANGES.items():
        with pytest.raises(LamellaError) as refusal:
            change(filled_store)
        if not isinstance(refusal.value, FileProblem):  # a data file that had to be read is missing
            assert "was moved, removed or replaced while it was open" in str(refusal.value), name
    for question in QUESTIONS.values():
        with suppress(LamellaError):
            question(filled_store)
    filled_store.close()
    assert content(filled_store.path) == before
    assert filled_store.path.exists() == (harm not in (removed, moved))


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("harm", [moved, replaced, replaced_by_its_copy])
def test_what_was_committed_before_is_where_the_store_went(
    filled_store: Store, harm: Callable[[Path], None]
) -> None:
    rows = filled_store["t"].num_rows
    harm(filled_store.path)
    with pytest.raises(StoreProblem, match="moved, removed or replaced"):
        filled_store["t"].insert([{"n": 1}])
    filled_store.close()
    with Store.open(filled_store.path.with_name("moved")) as store:
        assert store["t"].num_rows == rows
        assert store.maintenance.verify().problems == ()
        store["t"].insert([{"n": 1}])
    if harm is not moved:
        with Store.open(filled_store.path) as store:
            assert store.maintenance.verify().problems == ()


def test_a_log_that_was_removed_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "s", 0)
    with Store.open(tmp_path / "s") as store:
        store["t"].insert([{"n": 1}])
        (store.path / "catalog.sqlite-wal").unlink()
        with pytest.raises(StoreProblem, match=r"catalog.sqlite-wal: is not the file that was opened"):
            store["t"].insert([{"n": 2}])
    with Store.open(tmp_path / "s") as store:
        assert store["t"].num_rows == ROWS + 1


TABLE_CHANGES: dict[str, Callable[[Store], object]] = {
    "insert": lambda store: store["t"].insert([{"n": 1}]),
    "insert many": lambda store: store["t"].insert({"n": list(range(ROWS))}),
    "update": lambda store: store["t"].update([{"_id": 1, "n": 5}]),
    "delete": lambda store: store["t"].delete(ids=[1]),
    "undo": lambda store: store["t"].history.undo(),
    "rename a column": lambda store: store["t"].columns.rename("n", "m"),
}


@pytest.mark.slow(except_every=6)
@pytest.mark.parametrize("folder", ["data", "data/*"])
@pytest.mark.parametrize("change", TABLE_CHANGES.values(), ids=TABLE_CHANGES)
def test_a_table_whose_files_are_gone_refuses_every_change(
    filled_store: Store, change: Callable[[Store], object], folder: str
) -> None:
    version, aside = filled_store["t"].version, filled_store.path.with_name("kept")
    (gone,) = (
        path for path in filled_store.path.glob(folder) if path.name == "data" or path.name.startswith("t-")
    )
    gone.rename(aside)
    with pytest.raises(StoreProblem, match=r"t-\w+: the folder of the table's files is not there"):
        change(filled_store)
    assert not gone.exists()
    aside.rename(gone)
    assert filled_store["t"].version == version
    change(filled_store)
    assert filled_store["t"].version == version + 1
    assert filled_store.maintenance.verify().problems == ()


def test_a_table_without_files_needs_no_folder(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"n": 1}])
        table.insert([{"n": 2}])
        assert list((tmp_path / "s" / "data").iterdir()) == []
        assert table.count() == 2
