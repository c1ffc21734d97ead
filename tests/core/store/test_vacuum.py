"""Files of expired versions are removed once no process reads them."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job
from lamella.core.processes import FileLock
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.store import Table
from lamella.core.store.paths import READERS_FOLDER as FOLDER

ROWS = 250_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        opened.create_table("t", {"n": list(range(ROWS))})
        yield opened


def files(store: Store) -> set[str]:
    return {str(f.relative_to(store.path / "data")) for f in (store.path / "data").rglob("*") if f.is_file()}


def rewritten(table: Table) -> None:
    """Replace every file of the newest version, and expire the earlier versions."""
    before = files(table.store)
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    table.store.maintenance.vacuum()
    assert len(files(table.store) - before) == len(before) == 1
    table.maintenance.expire(keep_versions=1)


def test_vacuum_removes_what_no_version_has(store: Store) -> None:
    table = store["t"]
    before = files(store)
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    store.maintenance.vacuum()
    changed = table.history.diff(1).summary().changed
    assert store.maintenance.vacuum().files == 0 and changed == ROWS
    planned = table.maintenance.expire(keep_versions=1, dry_run=True)
    assert files(store) >= before
    assert table.maintenance.expire(keep_versions=1) == planned
    sizes = sum((store.path / "data" / name).stat().st_size for name in before)
    vacuum = store.maintenance.vacuum()
    assert (vacuum.files, vacuum.bytes, vacuum.problems) == (planned.files, planned.bytes, [])
    assert (vacuum.files, vacuum.bytes) == (len(before), sizes)
    assert files(store) == store._catalog.paths()
    assert table.read(limit=3)["n"].to_pylist() == [1, 2, 3]
    assert store.maintenance.vacuum().files == 0


class JobUntil(Job):
    """A job that is cancelled when so much is done."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        if done == self._most:
            self.cancel()
        super().report(done, total, text)


def test_a_vacuum_that_is_stopped_is_finished_by_the_next(store: Store) -> None:
    for name in ("a", "b", "c"):
        table = store.create_table(name, {"n": list(range(60_000))})
        table.update_where(None, {"$inc": {"n": 1}})
        table.maintenance.compact()
        table.maintenance.expire(keep_versions=1)
    planned, before = store.maintenance.vacuum_plan(), files(store)
    job = JobUntil(1)
    with pytest.raises(Cancelled):
        store.maintenance.vacuum(job)
    assert planned.files > 2 and job.progress.text == f"0 of {planned.files} files"
    assert len(before) - len(files(store)) == 1
    assert store.maintenance.vacuum_plan().files == planned.files - 1
    assert store.maintenance.vacuum().files == planned.files - 1
    assert [store[name].read(limit=1)["n"].to_pylist() for name in "abc"] == [[1]] * 3


def test_no_version_expires_when_the_job_is_stopped_in_between(store: Store) -> None:
    table = store["t"]
    table.update_where(None, {"$inc": {"n": 1}})
    job = Job(lambda progress: job.cancel())
    with pytest.raises(Cancelled):
        table.maintenance.expire(keep_versions=1, job=job)
    assert job.progress.text == "" and len(table.history.commits()) == 2
    assert table.maintenance.expire(keep_versions=1).expired == (1,)


def test_vacuum_removes_files_replaced_within_a_version(store: Store) -> None:
    table = store["t"]
    table.update([{"_id": i, "n": 0} for i in range(100)])
    table.maintenance.flush()
    table.maintenance.compact()
    store.maintenance.vacuum()
    assert table.as_of(1).read(limit=2)["n"].to_pylist() == [0, 1]
    assert files(store) == store._catalog.paths()
    assert len(files(store)) == 2


def test_what_is_held_in_this_process_stays_readable(store: Store) -> None:
    table = store["t"]
    stream, view = table.batches(), View(table.snapshot(), ScanQuery(where=col("n") < 10))
    old = table.as_of(1)
    first = [stream.read_next_batch()["n"][0].as_py(), view.page(0, 2).num_rows]
    rewritten(table)
    waiting = store.maintenance.vacuum()
    assert first == [0, 2] and waiting.files == 0 and len(waiting.problems) == 1
    assert "is being read" in waiting.problems[0]
    assert stream.read_all().num_rows < ROWS and view.page(2, 8).num_rows == 8
    assert old.read(limit=1)["n"].to_pylist() == [0]
    del stream, view
    assert store.maintenance.vacuum().files == 0
    del old
    gc.collect()
    assert store.maintenance.vacuum().files == 1
    assert files(store) == store._catalog.paths()


def test_the_files_of_a_dropped_table_wait_for_who_reads_it(store: Store) -> None:
    stream = store["t"].batches()
    store.drop_table("t")
    Store.open(store.path).close()
    assert stream.read_all().num_rows == ROWS
    del stream
    gc.collect()
    Store.open(store.path).close()
    assert files(store) == set() and list((store.path / "data").iterdir()) == []


def test_the_newest_version_held_in_memory_keeps_no_older_files(store: Store) -> None:
    with Store.open(store.path) as elsewhere:
        rewritten(store["t"])
        assert elsewhere["t"].read(limit=1)["n"].to_pylist() == [1]
        snapshot = elsewhere["t"].snapshot()
        store["t"].update_where(None, {"$inc": {"n": 1}})
        store["t"].maintenance.compact()
        store.maintenance.vacuum()
        assert snapshot.num_rows == ROWS
        assert elsewhere["t"].as_of(2).read(limit=1)["n"].to_pylist() == [1]


READER = """
import sys
from lamella import Store, col
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
table = Store.open(sys.argv[1], read_only=len(sys.argv) > 2)["t"]
stream = table.batches()
view = View(table.snapshot(), ScanQuery(where=col("n") >= 0))
seen = stream.read_next_batch().column("n").to_pylist()
print(len(seen), flush=True)
sys.stdin.readline()
for batch in stream:
    seen += batch.column("n").to_pylist()
assert seen == list(range(250_000)), len(seen)
assert view.page(200_000, 3).column("n").to_pylist() == [200_000, 200_001, 200_002]
print("read", flush=True)
sys.stdin.readline()
"""


@contextmanager
def python(script: str, *arguments: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def reader(store: Store, *options: str) -> Iterator[subprocess.Popen]:
    """A process that has begun to read the newest version, and continues on request."""
    with python(READER, str(store.path), *options) as process:
        assert process.stdout is not None and int(process.stdout.readline()) > 0
        yield process


def ended(process: subprocess.Popen) -> None:
    """Close the input of the process, which must then end without an error."""
    process.communicate()
    assert process.returncode == 0


def go_on(process: subprocess.Popen) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return str(process.stdout.readline())


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("options", [(), ("read only",)])
def test_another_process_reads_an_old_version_to_its_end(store: Store, options: tuple[str, ...]) -> None:
    with reader(store, *options) as process:
        rewritten(store["t"])
        waiting = store.maintenance.vacuum()
        assert waiting.files == 0 and len(waiting.waiting) == 1 and waiting.waiting[0].bytes > 0
        Store.open(store.path).close()
        assert go_on(process) == "read\n"
        ended(process)
    assert store.maintenance.vacuum().files == 1
    assert files(store) == store._catalog.paths()
    assert len(list((store.path / FOLDER).iterdir())) == 1  # this process has the store open


@pytest.mark.slow
def test_another_process_reads_a_dropped_table_to_its_end(store: Store) -> None:
    with reader(store) as process:
        store.drop_table("t")
        assert len(files(store)) == 1
        assert go_on(process) == "read\n"
        ended(process)
    Store.open(store.path).close()
    assert files(store) == set()


def test_a_killed_reader_keeps_nothing(store: Store) -> None:
    with reader(store) as process:
        rewritten(store["t"])
        assert len(store.maintenance.vacuum().waiting) == 1
        process.kill()
    assert store.maintenance.vacuum().files == 1
    assert files(store) == store._catalog.paths()
    assert all(FileLock(f).is_locked() for f in (store.path / FOLDER).iterdir())


@pytest.mark.slow
def test_readers_never_miss_a_file_however_fast_versions_go(store: Store) -> None:
    """One process repeatedly replaces all files and removes the old ones, while others read."""
    store.drop_table("t")
    table = store.create_table("t", {"n": [0] * 2_000})
    looker = """
import sys
from lamella import Store
table = Store.open(sys.argv[1])["t"]
print("ready", flush=True)
last = 0
while last < 25:
    old = table.as_of(table.version)
    rows = table.read().column("n").to_pylist()
    assert len(rows) == 2_000 and len(set(rows)) == 1 and rows[0] >= last, (len(rows), set(rows), last)
    assert old.read().num_rows == 2_000
    last = rows[0]
"""
    with python(looker, str(store.path)) as first, python(looker, str(store.path)) as second:
        assert [p.stdout.readline() for p in (first, second) if p.stdout] == ["ready\n"] * 2
        for _ in range(25):
            table.update_where(None, {"$inc": {"n": 1}})
            table.maintenance.compact()
            table.maintenance.expire(keep_versions=3)
            store.maintenance.vacuum()
        ended(first)
        ended(second)
    store.maintenance.vacuum()
    assert files(store) == store._catalog.paths()


def test_a_file_in_the_way_stays_queued_and_is_reported(store: Store) -> None:
    """Nobody, not even root, can unlink a folder in place of the file."""
    name = next(iter(files(store)))
    rewritten(store["t"])
    path = store.path / "data" / name
    path.unlink()
    path.mkdir()
    report = store.maintenance.vacuum()
    assert report.files == 0 and [w.path for w in report.waiting] == [name] and report.waiting[0].why
    path.rmdir()
    assert store.maintenance.vacuum().waiting == ()
    assert store["t"].read(limit=1)["n"].to_pylist() == [1]


@pytest.mark.slow
def test_a_fork_does_not_end_what_its_parent_reads(store: Store) -> None:
    """The child releases everything it inherited; the parent continues to read."""
    script = """
import os, sys
from lamella import Store
store = Store.open(sys.argv[1])
stream = store["t"].batches()
child = os.fork()
if child == 0:
    del stream, store
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(1, flush=True)
sys.stdin.readline()
assert stream.read_all().num_rows == 250_000
print("read", flush=True)
"""
    with python(script, str(store.path)) as process:
        assert process.stdout is not None and process.stdout.readline() == "1\n"
        rewritten(store["t"])
        assert len(store.maintenance.vacuum().waiting) == 1
        assert go_on(process) == "read\n"
        ended(process)
    assert store.maintenance.vacuum().files == 1


def test_vacuum_gives_back_the_room_of_expired_changes_in_the_catalog(store: Store) -> None:
    table = store["t"]
    text = "x" * 10_000
    for start in range(0, 200, 10):
        table.update([{"_id": i, "text": text + str(i)} for i in range(start, start + 10)])
    table.delete(ids=list(range(200)))
    table.maintenance.compact()
    table.maintenance.expire(keep_versions=1)
    before = (store.path / "catalog.sqlite").stat().st_size
    freed = store.maintenance.vacuum().catalog_bytes
    assert freed > 1_000_000
    assert (store.path / "catalog.sqlite").stat().st_size == before - freed
    assert table.num_rows == ROWS - 200
    assert pa.types.is_string(table.schema.field("text").type)


def test_a_file_that_is_queued_and_still_named_stays(tmp_path: Path) -> None:
    """A damaged or malicious catalog could contain this."""
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", pa.table({"n": range(100_000)}))
        (path,) = store._catalog.paths()
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite")) as catalog, catalog:
        catalog.execute(
            "insert into removed_files (path, bytes, table_id, first_version, last_version)"
            " values (?, 5, 1, 0, 1)",
            (path,),
        )
    with Store.open(tmp_path / "s") as store:
        assert [file.why for file in store.maintenance.vacuum().waiting] == ["a version still uses it"]
        assert store["t"].count("n >= 0") == 100_000
