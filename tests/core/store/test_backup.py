"""A backup is a copy of the store at one moment, and itself a store."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import Cancelled, FileProblem, StoreBusy, StoreProblem
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import size_text
from lamella.core.store.sizes import folder_bytes
from lamella.core.store.table import Table
from tests.mounts import seen_read_only
from tests.property.damage import flip_bit
from tests.slow_tests import Tier


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as opened:
        table = opened.create_table("t", pa.table({"n": pa.array(range(30_000))}))
        table.update([{"_id": i, "n": 0} for i in range(0, 30_000, 2)])
        table.update([{"_id": 1, "n": -1}])
        opened.create_table("small", [{"word": "a"}])
        yield opened


def inodes(path: Path) -> set[int]:
    return {p.stat().st_ino for p in (path / "data").rglob("*") if p.is_file()}


@pytest.mark.parametrize("link", [False, True])
def test_a_backup_opens_as_a_store_with_its_history_and_verifies(
    store: Store, tmp_path: Path, link: bool
) -> None:
    backup = store.backup(tmp_path / "copy", link)
    assert (backup.copied, backup.kept) == (2, 0)
    assert (inodes(tmp_path / "copy") == inodes(store.path)) is link
    with Store.open(tmp_path / "copy") as copy:
        assert copy.maintenance.verify().problems == ()
        assert copy.tables == ["small", "t"]
        assert copy["t"].read().equals(store["t"].read())
        assert [c.message for c in copy["t"].history.commits()] == [
            c.message for c in store["t"].history.commits()
        ]
        copy["t"].history.undo()
        copy["t"].insert([{"n": 9}])
        copy["t"].maintenance.compact()
    assert store.maintenance.verify().problems == ()
    assert store["t"].get(1)["n"] == -1


def test_files_that_copied_tables_share_are_in_a_backup_once(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        store.copy_table("t", f"copy {number}")
    reports: list[Progress] = []
    backup = store.backup(tmp_path / "copy", job=Job(reports.append))
    assert len(inodes(tmp_path / "copy")) == len(inodes(store.path)) == 2
    assert (backup.copied, backup.bytes) == (8, sum(_sizes(store.path)))
    assert reports[-1].total == backup.bytes == sum(_sizes(tmp_path / "copy"))
    assert folder_bytes(tmp_path / "copy" / "data") == backup.bytes
    with Store.restore_backup(tmp_path / "copy", tmp_path / "back") as again:
        assert len(inodes(tmp_path / "back")) == 2
        assert again.maintenance.verify().problems == ()
        again["copy 1"].insert([{"n": 9}])
        assert again["copy 1"].num_rows == again["copy 2"].num_rows + 1


def test_a_shared_file_whose_first_copy_is_damaged_is_copied_again(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    store.copy_table("t", "a copy")
    first = next((tmp_path / "copy" / "data").glob("t-*/*.parquet"))
    flip_bit(first, 100)
    assert store.backup(tmp_path / "copy").damaged == ()
    with Store.open(tmp_path / "copy") as copy:
        assert copy.maintenance.verify().problems == ()


def _sizes(path: Path) -> list[int]:
    """The size of each file of a store, however many names it has."""
    files = [file.stat() for file in (path / "data").rglob("*") if file.is_file()]
    return list({file.st_ino: file.st_size for file in files}.values())


def test_a_second_backup_copies_what_is_new_and_drops_what_is_gone(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    store["small"].insert({"word": ["x"] * 1_500})
    backup = store.backup(tmp_path / "copy")
    assert (backup.copied, backup.kept) == (1, 2)
    store.drop_table("t")
    assert store.backup(tmp_path / "copy").copied == 0
    with Store.open(tmp_path / "copy", read_only=True) as copy:
        assert copy.tables == ["small"]
        assert copy["small"].num_rows == 1_501
        assert copy.maintenance.verify().problems == ()
    assert len(inodes(tmp_path / "copy")) == 1


def test_a_restored_backup_is_the_store_again(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    rows = store["t"].read()
    store["t"].delete(ids=[0])
    with Store.restore_backup(tmp_path / "copy", tmp_path / "back") as back:
        assert back["t"].read().equals(rows)
        assert back.maintenance.verify().problems == ()
        back["t"].insert([{"n": 1}])
    with pytest.raises(StoreProblem, match="something already exists here"):
        Store.restore_backup(tmp_path / "copy", tmp_path / "back")
    with pytest.raises(StoreProblem, match="no store here"):
        Store.restore_backup(tmp_path / "nowhere", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def paged(table: Table) -> list[int]:
    first = table.page(2, sort=["n"])
    return [n for p in (first, table.page(2, first.next, sort=["n"])) for n in p.rows["n"].to_pylist()]


def test_what_is_remembered_of_a_table_is_not_taken_for_the_same_version_of_its_copy(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", {"n": [1, 2, 3, 4]})
        store.backup(tmp_path / "copy")
        with Store.restore_backup(tmp_path / "copy", tmp_path / "back") as back:
            table.update_where(None, {"$mul": {"n": -1}})
            back["t"].update_where([0], {"$set": {"n": 9}})
            assert (table.version, paged(table)) == (back["t"].version, [-4, -3, -2, -1])
            assert paged(back["t"]) == [2, 3, 4, 9]
            assert back["t"].snapshot().token != table.snapshot().token == table.snapshot().token


def test_a_file_that_was_damaged_in_the_backup_is_copied_again(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    for suffix in ("parquet", "cells"):
        flip_bit(next((tmp_path / "copy").rglob(f"*.{suffix}")))
    backup = store.backup(tmp_path / "copy")
    assert (backup.copied, backup.kept, backup.damaged) == (2, 0, ())
    with Store.open(tmp_path / "copy") as copy:
        assert copy.maintenance.verify().problems == ()


def test_a_file_that_is_damaged_in_the_store_is_told_and_never_takes_a_whole_ones_place(
    store: Store, tmp_path: Path
) -> None:
    store.backup(tmp_path / "early")
    damaged = next(store.path.rglob("*.parquet"))
    flip_bit(damaged)
    assert store.backup(tmp_path / "early").damaged == ()
    with Store.restore_backup(tmp_path / "early", tmp_path / "back") as back:
        assert back.maintenance.verify().problems == ()
    late = store.backup(tmp_path / "late")
    assert late.damaged == (damaged,)
    assert f"{damaged} is damaged: its checksum differs" in str(late)
    with pytest.raises(FileProblem, match="does not match what was written"):
        Store.restore_backup(tmp_path / "late", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_backup_that_is_open_as_a_store_is_left_alone(
    store: Store, tmp_path: Path, read_only: bool
) -> None:
    store.backup(tmp_path / "copy")
    store["small"].insert([{"word": "b"}])
    with Store.open(tmp_path / "copy", read_only=read_only) as copy:
        with pytest.raises(StoreBusy, match="open as a store"):
            store.backup(tmp_path / "copy")
        assert copy["small"].num_rows == 1
    store.backup(tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        assert copy["small"].num_rows == 2


CRASHES = """
import itertools, os, shutil, sys
from pathlib import Path
from lamella import Store

WRITES = {"os.rename", "os.remove", "os.mkdir"}
source, target = Path(sys.argv[1]), Path(sys.argv[1]).with_name("copy")

def back_up(stop):
    with Store.open(source) as store:
        left = itertools.count(stop, -1)
        sys.addaudithook(lambda event, _: os._exit(1) if event in WRITES and next(left) == 0 else None)
        store.backup(target)
        os._exit(0)

def numbers():
    with Store.open(target, read_only=True) as copy:
        report = copy.maintenance.verify()
        assert all("no table names this file" in told for told in report.problems), report
        return copy["t"].read(["n"])["n"].to_pylist()

def crashing(before, after):
    for stop in itertools.count(0, int(sys.argv[2])):
        shutil.rmtree(target, ignore_errors=True)
        if before is not None:
            shutil.copytree(source.with_name("earlier"), target)
        child = os.fork()
        if child == 0:
            back_up(stop)
        done = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if (target / "catalog.sqlite").exists():
            assert numbers() in ([after] if done else [before, after]), stop
        else:
            assert before is None and not done, stop
        with Store.open(source) as store:
            store.backup(target)
        assert numbers() == after, stop
        assert len(list(target.rglob("*.p*"))) == 1 + (before is not None), stop
        if done:
            return stop

with Store.open(source) as store:
    table = store.create_table("t", {"n": list(range(2_000))})
assert crashing(None, list(range(2_000))) > 10
shutil.copytree(target, source.with_name("earlier"))
with Store.open(source) as store:
    store["t"].update([{"_id": 0, "n": -1}])
    store["t"].insert({"n": list(range(2_000))})
assert crashing(list(range(2_000)), [-1, *range(1, 2_000), *range(2_000)]) > 10
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_crash_at_any_step_leaves_the_last_backup_whole_and_the_next_one_possible(tmp_path: Path) -> None:
    program = [sys.executable, "-c", CRASHES, str(tmp_path / "store"), "1" if Tier.slow else "2"]
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_backup_without_one_of_its_files_is_refused_with_the_name_of_the_file(
    store: Store, tmp_path: Path
) -> None:
    store.backup(tmp_path / "copy")
    gone = next((tmp_path / "copy" / "data").rglob("*.parquet"))
    gone.unlink()
    with pytest.raises(FileProblem, match=f"{gone.name}: is missing"):
        Store.restore_backup(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    lost = store.path / gone.relative_to(tmp_path / "copy")
    lost.unlink()
    with pytest.raises(FileProblem, match=f"{lost.name}: is missing"):
        store.backup(tmp_path / "other")


def test_places_that_hold_something_else_are_refused(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    Store.open(folder).close()
    with pytest.raises(StoreProblem, match="something other than a backup"):
        store.backup(folder)
    with pytest.raises(StoreProblem, match="inside the store itself"):
        store.backup(store.path / "copy")
    store.backup(tmp_path / "copy")
    with (
        Store.open(folder) as other,
        pytest.raises(StoreProblem, match=f"It is a backup of {store.path}. Choose a new folder"),
    ):
        other.backup(tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        copy["t"].insert([{"n": 1}])
    with pytest.raises(StoreProblem, match="changed since it was made"):
        store.backup(tmp_path / "copy")
    (tmp_path / "file").write_text("x")
    with pytest.raises((StoreProblem, FileProblem)):
        store.backup(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


def test_places_where_nothing_can_be_written_are_told(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    below = tmp_path / "file" / "copy"
    with pytest.raises(FileProblem, match=r"file/copy: .*Not a directory\. Check the free space"):
        store.backup(below)
    store.backup(tmp_path / "copy")
    with pytest.raises(FileProblem, match="Not a directory"):
        Store.restore_backup(tmp_path / "copy", below)
    with pytest.raises(StoreProblem, match="no store here"):
        Store.restore_backup(below, tmp_path / "new")
    with seen_read_only(tmp_path) as place, pytest.raises(FileProblem, match="Read-only file system"):
        store.backup(place / "other")


def test_a_cancelled_backup_leaves_nothing_and_the_last_one_whole(store: Store, tmp_path: Path) -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        store.backup(tmp_path / "copy", job=job)
    assert not (tmp_path / "copy").exists()
    store.backup(tmp_path / "copy")
    store["t"].insert({"n": list(range(1_500))})
    with pytest.raises(Cancelled):
        store.backup(tmp_path / "copy", job=job)
    with Store.open(tmp_path / "copy", read_only=True) as copy:
        assert copy["t"].num_rows == 30_000
        assert copy.maintenance.verify().problems == ()


def test_every_backup_made_beside_a_writer_is_whole(store: Store, tmp_path: Path) -> None:
    stop, failed = threading.Event(), []

    def write() -> None:
        try:
            with Store.open(store.path) as backup_store:
                table = backup_store["t"]
                while not stop.is_set():
                    table.insert({"n": list(range(1_100))})
                    table.update([{"_id": 1, "n": table.version}])
                    table.maintenance.compact(rows_a_group=20_000, rows_a_file=20_000)
        except Exception as error:  # noqa: BLE001 -- shown by the test
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(4):
            store.backup(tmp_path / f"copy{number % 2}")
            with Store.open(tmp_path / f"copy{number % 2}", read_only=True) as copy:
                assert copy.maintenance.verify().problems == ()
                assert copy["t"].num_rows >= 30_000
    finally:
        stop.set()
        writer.join()
    assert failed == []


def test_the_progress_of_a_backup_is_that_of_its_bytes(store: Store, tmp_path: Path) -> None:
    store["small"].insert({"word": ["x"] * 1_500})
    reports = list[Progress]()
    backup = store.backup(tmp_path / "copy", job=Job(reports.append))
    assert reports[0].done == 0 and reports[0].total == backup.bytes
    assert reports[0].text == f"0 of {backup.copied} files, 0 bytes of {size_text(backup.bytes)}"


@pytest.mark.parametrize("earlier", [False, True])
def test_a_backup_says_that_its_folder_vanished_and_writes_nothing_more_there(
    store: Store, tmp_path: Path, earlier: bool
) -> None:
    target, elsewhere = tmp_path / "disk" / "copy", tmp_path / "unmounted"
    if earlier:
        store.backup(target)
        store["t"].insert({"n": list(range(2_000))})

    def unmount(progress: object) -> None:
        if not elsewhere.exists() and target.exists():
            target.rename(elsewhere)

    with pytest.raises(FileProblem, match="copy: vanished while it was written"):
        store.backup(target, job=Job(unmount))
    assert not target.exists() and elsewhere.exists()
    assert store.maintenance.verify().problems == ()
