"""Room reserved in the catalog's write-ahead log: no commit is lost, and none is read from it."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.store.catalog.access import LEAST_BYTES, MOST_BYTES, LogRoom
from lamella.core.store.paths import CATALOG
from tests.mounts import filled, small_disk

COMMITS = 60


def log_of(folder: Path) -> Path:
    return folder / f"{CATALOG}-wal"


def begun(folder: Path) -> Store:
    store = Store.open(folder)
    store.create_table("t", {"n": [0, 1, 2]})
    return store


def change(store: Store, value: int) -> None:
    store["t"].update([{"_id": 1, "n": value}])


def as_after_a_crash(folder: Path, copy: Path) -> Store:
    """A copy of the store as another process would find it if this one were killed."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    return Store.open(copy)


def test_the_log_of_many_commits_grows_in_few_steps(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store:
        sizes = []
        for value in range(COMMITS):
            change(store, value)
            sizes.append(log_of(store.path).stat().st_size)
        assert len(set(sizes)) < COMMITS / 3
        assert store["t"].get(1) == {"_id": 1, "n": COMMITS - 1}


def test_one_commit_makes_no_room(tmp_path: Path) -> None:
    begun(tmp_path / "s").close()
    with Store.open(tmp_path / "s") as store:
        change(store, 5)
        assert log_of(store.path).read_bytes()[-1024:] != bytes(1024)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("commits", [1, 2, 3, 11, COMMITS])
def test_a_crash_at_any_size_loses_no_commit(tmp_path: Path, commits: int) -> None:
    with begun(tmp_path / "s") as store:
        for value in range(commits):
            change(store, value + 10)
        with as_after_a_crash(store.path, tmp_path / "copy") as recovered:
            assert recovered["t"].get(1) == {"_id": 1, "n": commits + 9}
            assert recovered._catalog.integrity() == []
            change(recovered, -1)
            assert recovered["t"].get(1) == {"_id": 1, "n": -1}


def test_a_crash_between_room_and_commit_leaves_the_last_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path / "s").close()
    with Store.open(tmp_path / "s") as store:
        change(store, 10)
        keep_room, before = LogRoom.keep, log_of(store.path).stat().st_size

        def keep(room: LogRoom) -> None:
            keep_room(room)
            raise KeyboardInterrupt

        monkeypatch.setattr(LogRoom, "keep", keep)
        with pytest.raises(KeyboardInterrupt):
            change(store, 99)
        monkeypatch.undo()
        assert log_of(store.path).stat().st_size > before
        with as_after_a_crash(store.path, tmp_path / "copy") as recovered:
            assert recovered["t"].get(1) == {"_id": 1, "n": 10}
        change(store, 7)
        assert store["t"].get(1) == {"_id": 1, "n": 7}


def test_writers_that_take_turns_keep_each_others_pages(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store, Store.open(tmp_path / "s") as elsewhere:
        for value in range(COMMITS):
            change(store if value % 3 else elsewhere, value)
            assert {s["t"].get(1)["n"] for s in (store, elsewhere)} == {value}
        assert len(store["t"].history.commits()) == COMMITS + 1
        with as_after_a_crash(store.path, tmp_path / "copy") as recovered:
            assert recovered["t"].get(1) == {"_id": 1, "n": COMMITS - 1}


def test_room_is_made_again_after_the_log_was_cut(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store:
        for value in range(COMMITS // 2):
            change(store, value)
        reading = sqlite3.connect(store.path / CATALOG)
        reading.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reading.close()
        assert log_of(store.path).stat().st_size == 0
        for value in range(COMMITS):
            change(store, value)
        assert store["t"].get(1) == {"_id": 1, "n": COMMITS - 1}
        assert store._catalog.integrity() == []


def test_a_large_log_gets_no_more_than_a_megabyte_at_once(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.write_bytes(b"x" * 3 * MOST_BYTES)
    room = LogRoom(tmp_path / CATALOG)
    room.keep()
    assert log.stat().st_size == 4 * MOST_BYTES
    room.keep()
    assert log.stat().st_size == 4 * MOST_BYTES


def test_a_small_log_gets_room_for_several_commits(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    log.write_bytes(b"x" * 1000)
    LogRoom(tmp_path / CATALOG).keep()
    assert log.read_bytes() == b"x" * 1000 + bytes(LEAST_BYTES)


def test_a_catalog_without_a_log_gets_none(tmp_path: Path) -> None:
    LogRoom(tmp_path / CATALOG).keep()
    assert not log_of(tmp_path).exists()


def test_a_full_disk_keeps_what_there_is_for_commits() -> None:
    with small_disk(512) as disk:
        log = log_of(disk)
        log.write_bytes(b"x" * 100_000)
        room = LogRoom(disk / CATALOG)
        with filled(disk, leave=50_000):
            room.keep()
            assert log.read_bytes() == b"x" * 100_000


def test_room_that_earlier_openings_left_is_used_before_more_is_made(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store:
        for value in range(COMMITS):
            with Store.open(store.path) as elsewhere:
                change(elsewhere, value)
        assert log_of(store.path).stat().st_size < 6 * MOST_BYTES
        assert store["t"].get(1) == {"_id": 1, "n": COMMITS - 1}


@pytest.mark.slow
def test_writers_that_take_turns_do_not_make_room_for_each_others(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store, Store.open(tmp_path / "s") as elsewhere:
        for value in range(4 * COMMITS):
            change(store if value % 2 else elsewhere, value)
        assert log_of(store.path).stat().st_size < 6 * MOST_BYTES


def test_a_log_that_cannot_be_looked_at_stops_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(tmp_path / "s") as store:
        monkeypatch.setattr(LogRoom, "_lengthen", _refused)
        for value in range(3):
            change(store, value)
        assert store["t"].get(1) == {"_id": 1, "n": 2}


def _refused(room: LogRoom, size: int, by: int) -> int:
    raise PermissionError(13, "Permission denied")
