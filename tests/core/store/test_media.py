"""Stores with limited permissions: read-only media, other people's folders, network folders."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.errors import FileProblem, ReadOnlyStore, StoreBusy, StoreProblem
from lamella.core.jobs import Job
from lamella.core.scan.read import read_all_rows
from lamella.core.store import folder as medium
from lamella.core.store.catalog import connection
from lamella.core.store.destination import destination
from lamella.core.store.paths import CATALOG
from tests.mounts import seen_read_only

CRASH = """
import os, sys
from lamella import Store
store = Store.open(sys.argv[1])
store["t"].update([{"_id": 0, "x": 2}])
os._exit(0)
"""
NOBODY = 65534


def make_store(path: Path) -> None:
    with Store.open(path) as store:
        store.create_table("t", [{"x": 1}])


def crash_after_commit(path: Path) -> None:
    """The commit is then only in the write-ahead log."""
    make_store(path)
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=True)
    assert (path / f"{CATALOG}-wal").stat().st_size


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run without root's privileges."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such rights")
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def elses() -> Iterator[Path]:
    """A store that everybody may read and only the tester may write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    make_store(folder / "s")
    yield folder / "s"
    (folder / "s").chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_on_a_read_only_medium_is_read_and_says_how_it_can_be_opened(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    with seen_read_only(tmp_path / "s") as place:
        with pytest.raises(ReadOnlyStore, match=r"read-only medium.*Open it read-only"):
            Store.open(place)
        with Store.open(place, read_only=True) as store:
            assert store["t"].read(where=col("x") == 1).to_pylist() == [{"_id": 0, "x": 1}]
            assert store.maintenance.verify().problems == ()
            with pytest.raises(ReadOnlyStore, match="open read-only"):
                store["t"].update([{"_id": 0, "x": 2}])


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("shared_memory", [True, False])
def test_what_a_crash_left_in_the_log_is_read_on_a_read_only_medium(
    tmp_path: Path, shared_memory: bool
) -> None:
    crash_after_commit(tmp_path / "s")
    if not shared_memory:
        (tmp_path / "s" / f"{CATALOG}-shm").unlink()
    with seen_read_only(tmp_path / "s") as place, Store.open(place, read_only=True) as store:
        assert store["t"].read().to_pylist() == [{"_id": 0, "x": 2}]


def test_a_store_cannot_be_made_on_a_read_only_medium(tmp_path: Path) -> None:
    with seen_read_only(tmp_path) as place:
        assert destination(place / "s").problem == f"{place} is on a read-only medium."
        with pytest.raises(StoreProblem, match="cannot be created here"):
            Store.open(place / "s")


def test_a_folder_of_somebody_else_is_no_place_for_a_store(elses: Path) -> None:
    with as_nobody():
        assert destination(elses.parent / "new").problem == f"You may not write in {elses.parent}."


def test_a_store_of_somebody_else_is_read_only(elses: Path) -> None:
    folder_before = sorted(p.name for p in elses.iterdir())
    with as_nobody():
        elses_may_write = os.access(elses, os.W_OK, effective_ids=True)
        if elses_may_write:
            pytest.skip("the tester may write everywhere")
        with pytest.raises(ReadOnlyStore, match="is not writable"):
            Store.open(elses)
        with Store.open(elses, read_only=True) as store:
            assert store["t"].num_rows == 1
    assert sorted(p.name for p in elses.iterdir()) == folder_before


def test_a_store_of_somebody_else_that_is_in_use_is_read_with_its_newest_commit(elses: Path) -> None:
    with Store.open(elses) as own:
        own["t"].update([{"_id": 0, "x": 5}])
        with as_nobody(), Store.open(elses, read_only=True) as store:
            assert store["t"].get(0) == {"_id": 0, "x": 5}


@pytest.mark.parametrize("part", [CATALOG, "data", "tmp", "staging.lock"])
def test_one_part_that_may_not_be_written_is_named(elses: Path, part: str) -> None:
    for path in [elses.parent, elses, *elses.rglob("*")]:
        path.chmod(0o777)
    (elses / part).chmod(0o555)
    with as_nobody(), pytest.raises(ReadOnlyStore, match=part):
        Store.open(elses)


def test_a_file_that_may_not_be_read_is_named(elses: Path) -> None:
    with Store.open(elses) as store:
        store.create_table("u", {"x": list(range(5_000))})
        file = next((elses / "data").rglob("*.parquet"))
    file.chmod(0)
    with as_nobody(), Store.open(elses, read_only=True) as store:
        with pytest.raises(Exception, match=rf"{file.name}.*[Pp]ermission"):
            store["u"].read()
        assert store["t"].num_rows == 1
    (elses / CATALOG).chmod(0)
    with as_nobody(), pytest.raises(StoreProblem, match=CATALOG):
        Store.open(elses, read_only=True)


def test_a_folder_that_may_not_be_entered_is_named(elses: Path) -> None:
    elses.chmod(0)
    with as_nobody():
        for read_only in (True, False):
            with pytest.raises(StoreProblem, match="may not be read"):
                Store.open(elses, read_only=read_only)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/home/ada/work", None),
        ("/srv/share/a", "nfs4"),
        ("/srv/share/local disk/a", None),
        ("/mnt/c/x", "9p"),
        ("/media/far", "fuse.sshfs"),
        ("/media/usb", None),
        ("/srv/shareholders", None),
    ],
)
def test_network_folders_are_told_from_the_mount_table(place: str, kind: str | None) -> None:
    mounts = [
        ("/", "ext4"),
        ("/srv/share", "nfs4"),
        ("/srv/share/local disk", "xfs"),
        ("/mnt/c", "9p"),
        ("/media/far", "ext4"),
        ("/media/far", "fuse.sshfs"),
        ("/media/usb", "fuseblk"),
    ]
    assert medium.network_type(Path(place), mounts) == kind


@pytest.fixture
def on_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medium, "_mounts", lambda: [("/", "nfs4")])


def journal_of(path: Path) -> str:
    with sqlite3.connect(path / CATALOG) as catalog:
        mode = catalog.execute("PRAGMA journal_mode").fetchone()[0]
    catalog.close()
    return str(mode)


@pytest.mark.usefixtures("on_network")
def test_no_shared_memory_is_used_on_a_network_folder(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store.open(path) as first, Store.open(path) as second, Store.open(path, read_only=True) as reader:
        table = first.create_table("t", [{"x": 1}, {"x": 1}])
        for n in range(20):
            table.update([{"_id": 0, "x": n}])
            second["t"].update_where([1], {"$inc": {"x": 1}})
            assert reader["t"].read().column("x").to_pylist() == [n, n + 2]
        table.maintenance.flush()
        table.history.undo()
        assert not list(path.glob("*-shm")) and not list(path.glob("*-wal"))
        assert first.maintenance.verify().problems == ()
    assert journal_of(path) != "wal"


def test_a_store_with_a_log_gives_it_up_on_a_network_folder_and_keeps_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_after_commit(tmp_path / "s")
    with monkeypatch.context() as network:
        network.setattr(medium, "_mounts", lambda: [("/", "cifs")])
        with Store.open(tmp_path / "s", read_only=True) as store:
            assert store["t"].get(0) == {"_id": 0, "x": 2}
        with Store.open(tmp_path / "s") as store:
            assert store["t"].get(0) == {"_id": 0, "x": 2}
            store["t"].update([{"_id": 0, "x": 3}])
    assert journal_of(tmp_path / "s") != "wal"
    with Store.open(
        tmp_path / "s"
    ) as store:  # another process may still have the file open, but the log does not return
        store["t"].update([{"_id": 0, "x": 4}])
    assert journal_of(tmp_path / "s") != "wal"


def test_a_store_that_is_in_use_with_a_log_is_refused_on_a_network_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "s") as local:
        local.create_table("t", [{"x": 1}])
        monkeypatch.setattr(medium, "_mounts", lambda: [("/", "smb3")])
        with pytest.raises(StoreBusy):
            Store.open(tmp_path / "s", busy_seconds=0.1)
        local["t"].update([{"_id": 0, "x": 2}])
        assert local["t"].get(0) == {"_id": 0, "x": 2}


@pytest.mark.skipif(sys.platform == "win32", reason="a SQLite of Unix")
def test_where_sqlite_has_no_log_a_rollback_journal_is_used(tmp_path: Path) -> None:
    path = tmp_path / CATALOG
    own = sqlite3.connect(f"{path.as_uri()}?vfs=unix-dotfile", uri=True, isolation_level=None)
    connection.settle_journal(own, None, new=True)
    assert own.execute("PRAGMA journal_mode").fetchone()[0] == "truncate"
    assert own.execute("PRAGMA synchronous").fetchone()[0] == 2
    own.close()


def test_rows_on_a_medium_that_vanishes_say_to_put_it_back(tmp_path: Path) -> None:
    with Store.open(tmp_path / "disk" / "shop") as store:
        snapshot = store.create_table("sales", {"n": [1] * 2_000}).snapshot()
        (tmp_path / "disk").rename(tmp_path / "drawer")
        with pytest.raises(FileProblem, match=r"the disk was removed.*Put it back where it was"):
            read_all_rows(snapshot, snapshot.columns, Job())
