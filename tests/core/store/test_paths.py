"""Paths that a catalog names, and links in a store's folder: nothing outside is read, written or removed."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import DamagedStore, StoreProblem
from lamella.core.index.fulltext.files import _checksum, _code
from lamella.core.store.paths import StorePaths, new_folder_name, new_name

ROWS = 3_000

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")


@pytest.fixture
def store_folder(tmp_path: Path) -> Path:
    """A store with a table `t` that has a data file, a change file and indexes, and a small table `u`."""
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(ROWS)), "text": ["red fox"] * ROWS})
        table.update([{"_id": i, "n": -i} for i in range(2_000)])
        table.maintenance.flush()
        table.indexes.create("n")
        table.indexes.create("text", kind="fulltext")
        store.create_table("u", [{"n": 1}])
    return tmp_path / "s"


@pytest.fixture
def sentinels(tmp_path: Path, store_folder: Path) -> Iterator[Path]:
    """A folder outside the store, named like a table's, with a copy of a file of it; it must not change."""
    outside = tmp_path / "outside" / "t-00000000"
    outside.mkdir(parents=True)
    (outside / f"{'0' * 32}.parquet").write_bytes(data_file(store_folder).read_bytes())
    (outside / "letter.txt").write_text("dear")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in outside.iterdir()}
    yield outside
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in outside.iterdir()} == before


def data_file(store: Path) -> Path:
    return next((store / "data").rglob("*.parquet"))


def change_catalog(store: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(store / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute(sql, values)


ODD = {
    "absolute": "/etc/passwd",
    "parent": "../catalog.sqlite",
    "parent of a folder": f"t-00000000/../../{'0' * 32}.parquet",
    "deeper": f"t-00000000/t-00000000/{'0' * 32}.parquet",
    "no folder": f"{'0' * 32}.parquet",
    "folder alone": "t-00000000",
    "current folder": f"./{'0' * 32}.parquet",
    "drive": f"C:\\t-00000000\\{'0' * 32}.parquet",
    "backslash": f"t-00000000\\{'0' * 32}.parquet",
    "pattern": "t-00000000/*.parquet",
    "user's file": "t-00000000/letter.txt",
    "null character": f"t-00000000/{'0' * 32}.parquet\0",
    "line end": f"t-00000000/{'0' * 32}.parquet\n",
    "other digits": f"t-00000000/{'٠' * 32}.parquet",
    "nothing": "",
    "huge": "x" * 1_000_000,
    "null": None,
    "bytes": f"t-00000000/{'0' * 32}.parquet".encode(),
    "number": 7,
}


@pytest.mark.parametrize("named", ODD.values(), ids=ODD)
def test_what_a_catalog_names_is_a_file_of_the_store_or_refused(tmp_path: Path, named: object) -> None:
    paths = StorePaths(tmp_path)
    for resolve in (paths.file, paths.table_folder, paths.index_folder):
        if resolve == paths.file or named != "t-00000000":
            with pytest.raises(DamagedStore, match=r"the catalog names .{1,100} as a .*do not trust it"):
                resolve(named)


@pytest.mark.parametrize("table", ["t", "Ärger mit Ümläuten", "", "../..", "x" * 300, "a/b", "-", "名前"])
def test_names_that_are_given_are_names_that_are_taken(tmp_path: Path, table: str) -> None:
    folder, name = new_folder_name(table), new_name()
    for suffix in ("parquet", "cells"):
        assert StorePaths(tmp_path).file(f"{folder}/{name}.{suffix}") == (
            tmp_path / "data" / folder / f"{name}.{suffix}"
        )


def places(outside: Path) -> dict[str, str]:
    """A sentinel's path as a catalog could contain it."""
    target = outside / f"{'0' * 32}.parquet"
    return {"absolute": str(target), "relative": os.path.relpath(target, outside.parents[1] / "s" / "data")}


@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_removed_file_outside_the_store_stays(store_folder: Path, sentinels: Path, how: str) -> None:
    change_catalog(
        store_folder,
        "INSERT INTO removed_files (path, bytes, table_id, first_version, last_version)"
        " VALUES (?, 1, 99, 0, 1)",
        places(sentinels)[how],
    )
    with Store.open(store_folder) as store:
        store.maintenance.compact()
        assert store.maintenance.verify(quick=True).tables == 2
        (problem,) = store.maintenance.vacuum().problems
        assert "Lamella never gives such names" in problem
        store.drop_table("t")
        assert store["u"].num_rows == 1


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("kind", ["data_files", "change_files"])
@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_data_file_outside_the_store_is_neither_read_nor_removed(
    store_folder: Path, sentinels: Path, tmp_path: Path, how: str, kind: str
) -> None:
    change_catalog(store_folder, f"UPDATE {kind} SET path = ?", places(sentinels)[how])
    with pytest.raises(DamagedStore, match="do not trust it"):
        Store.restore_backup(store_folder, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    with Store.open(store_folder) as store:
        tries: tuple[Callable[[], object], ...] = (
            store["t"].read,
            lambda: store["t"].insert([{"n": 1}]),
            lambda: store.sql("select * from t"),
            store["t"].maintenance.compact,
            lambda: store.copy_table("t", "again"),
            lambda: store.backup(tmp_path / "backup"),
        )
        for attempt in tries:
            with pytest.raises(DamagedStore, match="do not trust it"):
                attempt()
        assert any("do not trust it" in problem for problem in store.maintenance.verify().problems)
        store.drop_table("t")
        store.maintenance.vacuum()
        assert store.tables == ["u"]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("folder", ["..", "../../outside", "/tmp", "t-00000000/../..", "."])
def test_a_table_folder_outside_the_store_is_not_written_to(
    store_folder: Path, sentinels: Path, folder: str
) -> None:
    change_catalog(store_folder, "UPDATE tables SET folder = ? WHERE name = 'u'", folder)
    before = set(store_folder.parent.rglob("*"))
    with Store.open(store_folder) as store:
        with pytest.raises(DamagedStore, match="as a table's folder"):
            store["u"].insert({"n": list(range(ROWS))})
        assert store["t"].num_rows == ROWS
        store.drop_table("u")
        assert store.maintenance.vacuum().problems == []
    new = {path for path in set(store_folder.parent.rglob("*")) - before if store_folder not in path.parents}
    assert new == set()


def linked(place: Path, target: Path) -> None:
    """Move `place` to `target`, and leave a link to it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    place.rename(target)
    place.symlink_to(target, target_is_directory=True)


@needs_links
@pytest.mark.parametrize("kind", ["data", "index"])
def test_a_linked_table_folder_is_refused_and_left_untouched(
    store_folder: Path, tmp_path: Path, kind: str
) -> None:
    folder = next(path for path in (store_folder / kind).iterdir() if path.name.startswith("t-"))
    linked(folder, moved := tmp_path / "bigger disk" / folder.name)
    files = {path: path.stat().st_size for path in moved.rglob("*")}
    with Store.open(store_folder) as store:
        with pytest.raises(StoreProblem, match=r"is a link.*A store is one folder, which moves as a whole"):
            store["t"].read()
        with pytest.raises(StoreProblem, match="is a link"):
            store["t"].insert({"n": list(range(ROWS))})
        assert any("is a link" in problem for problem in store.maintenance.verify().problems)
        store.drop_table("t")
        problems = store.maintenance.vacuum().problems
        assert all("is a link" in problem for problem in problems) and bool(problems) == (kind == "data")
        assert store["u"].num_rows == 1
    for _ in range(2):
        with Store.open(store_folder) as store:
            assert store.tables == ["u"]
    assert {path: path.stat().st_size for path in moved.rglob("*")} == files
    assert folder.is_symlink()


@needs_links
def test_a_linked_data_file_is_refused(store_folder: Path, tmp_path: Path, sentinels: Path) -> None:
    file = data_file(store_folder)
    file.unlink()
    file.symlink_to(sentinels / f"{'0' * 32}.parquet")
    with Store.open(store_folder) as store:
        with pytest.raises(StoreProblem, match="is a link"):
            store["t"].read()
        with pytest.raises(StoreProblem, match="is a link"):
            store.backup(tmp_path / "backup")
        store.drop_table("t")
        assert len(store.maintenance.vacuum().problems) == 1
    Store.open(store_folder).close()


@pytest.mark.slow(after=2)
@needs_links
@pytest.mark.parametrize("own", ["data", "tmp", "index", "readers", "staging.lock", "catalog.sqlite"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_with_a_linked_part_does_not_open(
    store_folder: Path, tmp_path: Path, own: str, read_only: bool
) -> None:
    (store_folder / "readers").mkdir(exist_ok=True)
    linked(store_folder / own, tmp_path / "elsewhere" / own)
    letter = tmp_path / "elsewhere" / new_name()
    letter.write_text("dear")
    with pytest.raises(StoreProblem, match=rf"{own}: is a link.*moves as a whole"):
        Store.open(store_folder, read_only=read_only)
    assert letter.exists()


@needs_links
def test_a_linked_store_is_opened(store_folder: Path, tmp_path: Path) -> None:
    linked(store_folder, tmp_path / "bigger disk" / "s")
    with Store.open(store_folder) as store:
        assert store["t"].num_rows == ROWS
        store.drop_table("t")
        assert store.maintenance.vacuum().problems == []


FOREIGN = ["letter.txt", f"{'0' * 32}.txt", ".hidden", "t", f"x{'0' * 32}.parquet"]


def test_sweeps_remove_only_what_is_called_like_files_of_a_store(store_folder: Path) -> None:
    table = next(path.name for path in (store_folder / "data").iterdir())
    folders = ["", "data", f"data/{table}", "data/mine", "tmp", "index", f"index/{table}", "readers"]
    for folder in folders:
        (store_folder / folder).mkdir(exist_ok=True)
    foreign = [store_folder / folder / name for folder in folders for name in FOREIGN]
    for path in foreign:
        path.write_text("mine")
    foreign += [
        store_folder / "tmp" / "folder",
        store_folder / "data" / "empty",
        store_folder / "index" / "mine",
    ]
    gone = [
        store_folder / "tmp" / new_name(),
        store_folder / "data" / new_folder_name("x"),
        store_folder / "index" / "x-00000000",
    ]
    for path in (*foreign[-3:], *gone):
        path.mkdir()
    left = store_folder / "data" / table / f"{new_name()}.parquet"
    left.write_text("half")
    with Store.open(store_folder) as store:
        assert not left.exists()
        problems = store.maintenance.verify(quick=True).problems
        assert {f"{path}: does not belong to the store, and stays" for path in foreign[5:15]} <= set(problems)
        store.drop_table("t")
        store.maintenance.vacuum()
    assert [path for path in foreign if not path.exists()] == []
    assert [path for path in gone if path.exists()] == []


@needs_links
def test_sweeps_follow_no_links(store_folder: Path, sentinels: Path) -> None:
    (store_folder / "readers").mkdir(exist_ok=True)
    table = next(path.name for path in (store_folder / "data").iterdir())
    file = sentinels / f"{'0' * 32}.parquet"
    links = {
        store_folder / "data" / "x-00000000": sentinels,
        store_folder / "data" / table / f"{new_name()}.parquet": file,
        store_folder / "tmp" / new_name(): sentinels,
        store_folder / "readers" / new_name(): sentinels / "letter.txt",
        store_folder / "index" / "x-00000000": sentinels,
        store_folder / "index" / table / f"{new_name()}.sorted-1-00000000": file,
        store_folder / "index" / table / f"{new_name()}.fulltext-2-00000000": sentinels,
    }
    for link, target in links.items():
        link.symlink_to(target)
    for _ in range(2):
        with Store.open(store_folder) as store:
            store.maintenance.verify()
            store.maintenance.vacuum()
    with Store.open(store_folder) as store:
        store["t"].indexes.drop("n")
        store.drop_table("t")
        store.maintenance.vacuum()
    dropped = [link for link in links if not link.is_symlink()]
    assert all(".sorted-1-" in link.name for link in dropped)  # the link itself belongs to the index


@needs_links
@pytest.mark.parametrize("read_only", [False, True])
def test_an_index_that_is_a_link_is_not_read(store_folder: Path, tmp_path: Path, read_only: bool) -> None:
    outside = []
    for entry in list((store_folder / "index").glob("*/*")):
        outside.append(tmp_path / "elsewhere" / entry.name)
        linked(entry, outside[-1])
    sizes = [path.stat().st_size for folder in outside for path in (folder, *folder.rglob("*"))]
    with Store.open(store_folder, read_only=read_only) as store:
        assert store["t"].read(where="n = 2500").num_rows == 1
        assert store["t"].search("fox").num_rows > 0
    assert [path.stat().st_size for folder in outside for path in (folder, *folder.rglob("*"))] == sizes
    if not read_only:
        assert not any(entry.is_symlink() for entry in (store_folder / "index").glob("*/*"))


@needs_links
def test_a_seal_that_names_files_outside_the_index_is_not_believed(
    store_folder: Path, sentinels: Path
) -> None:
    (seal,) = (store_folder / "index").rglob("seal.json")
    seal_text = json.loads(seal.read_text())["told"]
    letter = sentinels / "letter.txt"
    seal_text["files"][str(letter)] = _checksum(letter)
    seal.write_text(json.dumps({"told": seal_text, "checksum": _code(seal_text)}))
    with Store.open(store_folder) as store:
        assert any("its checksum of" in problem for problem in store.maintenance.verify().problems)


@pytest.mark.slow(after=2)
@needs_links
@pytest.mark.parametrize("place", ["data", "data/table", "backup.json.part", "tmp", "catalog.sqlite"])
def test_a_backup_is_not_written_through_links(
    store_folder: Path, sentinels: Path, tmp_path: Path, place: str
) -> None:
    target = tmp_path / "backup"
    with Store.open(store_folder) as store:
        store.backup(target)
        folder = next(path for path in (target / "data").iterdir())
        linking = folder if place == "data/table" else target / place
        if linking.exists():
            linking.rename(target / "aside")
        linking.symlink_to(sentinels if linking.name != "backup.json.part" else sentinels / "letter.txt")
        with pytest.raises(StoreProblem, match="is a link"):
            store.backup(target)
