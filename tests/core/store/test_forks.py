"""After a fork with an open store, the child is told to open its own, and the parent is unaffected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lamella import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")

BEGIN = """
import gc, multiprocessing, os, sys, threading
from lamella import Store, col
from lamella.core.errors import LamellaError, StoreProblem
path = sys.argv[1]
store = Store.open(path)
table = store["t"]
assert table.read(where=col("x") >= 0).num_rows == 3
def refused(work):
    try:
        work()
    except StoreProblem as problem:
        assert "before this process was forked" in str(problem) and "in the child" in str(problem), problem
    else:
        raise AssertionError("it was not refused")
def ended_well(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

USES = """
child = os.fork()
if child == 0:
    refused(lambda: table.read())
    refused(lambda: table.get(0))
    refused(lambda: table.insert([{"x": 9}]))
    refused(lambda: table.maintenance.flush())
    refused(lambda: store.tables)
    with Store.open(path) as own:
        own["t"].update([{"_id": 0, "x": 10}])
        assert own["t"].get(0)["x"] == 10
    sys.exit(0)
ended_well(child)
assert table.get(0)["x"] == 10
table.update([{"_id": 0, "x": 11}])
assert store.maintenance.verify().problems == ()
"""

FORGETS = """
child = os.fork()
if child == 0:
    store.close()
    del store, table
    gc.collect()
    sys.exit(0)
ended_well(child)
for n in range(20):
    table.update([{"_id": 0, "x": n}])
assert table.get(0)["x"] == 19
assert store.maintenance.verify().problems == ()
"""

IN_THE_MIDDLE = """
with store.transaction():
    table.update([{"_id": 0, "x": 50}])
    child = os.fork()
    if child == 0:
        refused(lambda: table.update([{"_id": 1, "x": 50}]))
        os._exit(0)
    ended_well(child)
    table.update([{"_id": 1, "x": 51}])
assert [row["x"] for row in table.read().to_pylist()][:2] == [50, 51]

child = 0
def leaves():
    global child
    with store.transaction():
        table.update([{"_id": 2, "x": 60}])
        child = os.fork()
try:
    leaves()
except StoreProblem:
    assert child == 0
    os._exit(0)
ended_well(child)
assert table.get(2)["x"] == 60
assert store.maintenance.verify().problems == ()
"""

WHILE_ANOTHER_THREAD_WRITES = """
forked, forked_already = threading.Event(), threading.Event()
def rows():
    import pyarrow as pa
    for first in range(0, 20_000, 5_000):
        yield pa.record_batch({"x": list(range(first, first + 5_000))})
        forked.set()
        forked_already.wait()
def insert():
    import pyarrow as pa
    table.insert(pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), rows()))
def hold():
    with store.transaction():
        table.update([{"_id": 0, "x": 70}])
        forked.set()
        forked_already.wait()
def change():
    def wait(rows):
        forked.set()
        forked_already.wait()
        return {"x": [71] * rows.num_rows}
    table.transform(wait, where=col("x") == 70)
for work in (insert, hold, change):
    forked.clear(), forked_already.clear()
    writer = threading.Thread(target=work)
    writer.start()
    forked.wait()
    child = os.fork()
    if child == 0:
        refused(lambda: table.update([{"_id": 0, "x": 0}]))
        refused(lambda: table.read())
        os._exit(0)
    ended_well(child)
    forked_already.set()
    writer.join()
assert table.num_rows == 20_003
assert table.get(0)["x"] == 71
assert list((store.path / "tmp").iterdir()) == []
assert store.maintenance.verify().problems == ()
"""

LOCKS_END_WITH_THE_PARENT = """
hold, holding = os.pipe()
told, telling = os.pipe()
with store._layout.stage():
    child = os.fork()
    if child == 0:
        os.close(holding)
        os.read(hold, 1)
        os._exit(0)
stray = store.path / "data" / "stray-00000000"
stray.mkdir()
(stray / f"{'0' * 32}.parquet").touch()
Store.open(path).close()
assert not stray.exists(), "the child kept the lock"
os.close(holding)
ended_well(child)
"""

POOLS = """
def add(name):
    with Store.open(path) as own:
        own["t"].update_where([0], {"$inc": {"x": 1}})
        return own["t"].read(sort=["x"]).num_rows
before = table.get(0)["x"]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(add, range(6)) == [3] * 6
assert table.get(0)["x"] == before + 6
assert store.maintenance.verify().problems == ()
"""


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "program",
    [USES + IN_THE_MIDDLE + LOCKS_END_WITH_THE_PARENT + POOLS, FORGETS + WHILE_ANOTHER_THREAD_WRITES],
    ids=["that uses the store", "that forgets it"],
)
def test_a_forked_child_does_no_harm(tmp_path: Path, program: str) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"x": 1}, {"x": 2}, {"x": 3}])
    process = subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(tmp_path / "s")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    with Store.open(tmp_path / "s") as store:
        assert store.maintenance.verify().problems == ()
