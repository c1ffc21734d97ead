"""A store is moved completely, or stays where it is."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from lamella import Store
from lamella.core.errors import FileProblem, StoreBusy, StoreProblem
from lamella.core.store import backup, moving
from tests.mounts import filled, small_disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "shop") as store:
        table = store.create_table("t", {"n": list(range(3_000))})
        table.indexes.create("n")
        table.update([{"_id": 1, "n": -1}])
    return tmp_path / "shop"


def numbers(path: Path) -> list[int]:
    with Store.open(path) as store:
        assert not store.maintenance.verify().problems
        actual: list[int] = store["t"].read(columns=["n"], limit=3)["n"].to_pylist()
        return actual


def test_a_store_is_moved_with_all_that_is_in_its_folder(path: Path, tmp_path: Path) -> None:
    (path / "notes.txt").write_text("mine")
    move = Store.move(path, tmp_path / "new" / "place")
    assert str(move) == f"moved to {tmp_path / 'new' / 'place'}" and move.copied == 0
    assert not path.exists() and numbers(move.path) == [0, -1, 2]
    assert (move.path / "notes.txt").read_text() == "mine"
    again = Store.move(move.path, move.path.with_name("shop 2"))
    assert numbers(again.path) == [0, -1, 2]


def test_an_empty_folder_is_taken(path: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert numbers(Store.move(path, tmp_path / "empty").path) == [0, -1, 2]


def test_a_store_that_is_open_is_not_moved(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(StoreBusy, match="is open, here or in another program"):
            Store.move(path, tmp_path / "new")
        assert store["t"].num_rows == 3_000
    assert numbers(path) == [0, -1, 2] and not (tmp_path / "new").exists()


def test_places_that_cannot_be_are_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "file").touch()
    for target, why in (
        ("full", "already exists here"), ("file", "already exists here"), ("shop", "there already"),
        ("shop/inside", "into itself"),
    ):  # fmt: skip
        with pytest.raises(StoreProblem, match=why):
            Store.move(path, tmp_path / target)
    with pytest.raises(StoreProblem, match="no store here"):
        Store.move(tmp_path / "full", tmp_path / "new")
    with pytest.raises(FileProblem, match="file: is not a folder"):
        Store.move(path, tmp_path / "file" / "new")
    assert numbers(path) == [0, -1, 2]


def test_to_another_disk_files_are_copied_compared_and_then_removed(path: Path) -> None:
    (path / "notes.txt").write_text("mine")
    with small_disk(8_000) as disk:
        move = Store.move(path, disk / "shop")
        assert move.copied > 0 and move.left == (path / "notes.txt",)
        assert "notes.txt does not belong to the store, and stays" in str(move)
        assert numbers(disk / "shop") == [0, -1, 2]
        assert [entry.name for entry in path.iterdir()] == ["notes.txt"]
        with pytest.raises(StoreProblem, match="something already exists here"):
            Store.move(disk / "shop", path)


def test_a_folder_in_the_way_comes_back_where_the_store_cannot_be_moved(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    with pytest.raises(StoreProblem, match="something already exists here"):
        Store.move(path, tmp_path / "link")

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(FileProblem, match="could not be moved"):
        Store.move(path, tmp_path / "empty")
    monkeypatch.undo()
    assert (tmp_path / "empty").is_dir() and numbers(path) == [0, -1, 2]


def test_what_cannot_be_removed_of_the_old_folder_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is then complete, and the old folder is no longer a store."""

    remove = moving.shutil.rmtree

    def refuse(entry: Path, *arguments: Any, **options: Any) -> None:
        if Path(entry).parent == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        remove(entry, *arguments, **options)

    with small_disk(8_000) as disk:
        monkeypatch.setattr(moving.shutil, "rmtree", refuse)
        move = Store.move(path, disk / "shop")
        monkeypatch.undo()
        assert {"data", "index"} <= {entry.name for entry in move.not_removed}
        assert f"{path / 'data'} cannot be removed" in str(move) and numbers(disk / "shop") == [0, -1, 2]
        with pytest.raises(StoreProblem, match="no store here"):
            Store.move(path, path.with_name("again"))


def test_a_medium_that_vanishes_while_it_is_copied_leaves_no_copy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = moving.restore

    def vanish(source: Path, *arguments: Any) -> Any:
        result = copy(source, *arguments)
        source.rename(source.with_name("away"))
        return result

    monkeypatch.setattr(moving, "restore", vanish)
    with small_disk(8_000) as disk:
        with pytest.raises((FileProblem, StoreProblem)):
            Store.move(path, disk / "shop")
        assert not (disk / "shop").exists()
    assert not path.exists() and numbers(path.with_name("away")) == [0, -1, 2]


def test_a_disk_that_is_too_small_takes_nothing(path: Path) -> None:
    with small_disk(400) as disk, filled(disk, leave=8_192):
        with pytest.raises((FileProblem, StoreProblem)):
            Store.move(path, disk / "shop")
        assert not (disk / "shop").exists()
        assert numbers(path) == [0, -1, 2]
    with small_disk(8_000) as disk, pytest.MonkeyPatch.context() as patched:
        patched.setattr(backup.shutil, "copyfile", _refuse)
        with pytest.raises(FileProblem, match=r"shop: the store could not be moved\. No space left"):
            Store.move(path, disk / "shop")
    assert numbers(path) == [0, -1, 2]


def _refuse(source: Path, target: Path) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_damaged_files_are_not_moved_to_another_disk(path: Path) -> None:
    file = next((path / "data").rglob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[40] ^= 1
    file.write_bytes(content)
    with small_disk(8_000) as disk:
        with pytest.raises(FileProblem, match="does not match what was written"):
            Store.move(path, disk / "shop")
        assert not (disk / "shop").exists() and file.read_bytes() == content


def test_a_store_that_is_changed_while_it_is_copied_stays_where_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may open the store after copying has begun."""
    copy = moving.restore

    def change_meanwhile(source: Path, *arguments: Any) -> Any:
        result = copy(source, *arguments)
        with Store.open(source) as store:
            store["t"].insert({"n": 77})
        return result

    monkeypatch.setattr(moving, "restore", change_meanwhile)
    with small_disk(8_000) as disk:
        with pytest.raises(StoreBusy, match="changed while it was copied"):
            Store.move(path, disk / "shop")
        assert not (disk / "shop").exists()
    with Store.open(path) as store:
        assert 77 in store["t"].read()["n"].to_pylist()
