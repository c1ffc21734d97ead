"""Several processes may read and write one table: none sees half a change, and none is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.store import Table
from tests.slow_tests import rounds

CHANGES = rounds(60)
"""How often each of two writers makes each of three changes."""

WRITER = """
import sys
from lamella import Store
table = Store.open(sys.argv[1])["t"]
for n in range(int(sys.argv[3])):
    table.update([{"_id": 1, "seen": n}])
    table.insert([{"who": sys.argv[2], "n": n}])
    table.update([{"_id": 0, sys.argv[2]: n}])
"""


READER = """
import sys
from lamella import Store, col
from lamella.core.arrow.arrays import to_numpy
ROWS, TOTAL = 30_000, 3_000_000
store = Store.open(sys.argv[1], read_only=sys.argv[2] == "read only")
table = store["t"]
readings, versions = 0, set()
while readings < 5 or "stop" not in store:
    now = table.as_of(table.version)
    rows = now.read(columns=["x"])
    assert rows.num_rows == ROWS and int(to_numpy(rows.column(0)).sum()) == TOTAL
    rich, poor = now.count(col("x") > 100), now.count(col("x") <= 100)
    assert rich + poor == ROWS, (rich, poor)
    streamed = sum(int(to_numpy(batch.column(0)).sum()) for batch in now.batches(["x"]))
    assert streamed == TOTAL
    assert now.read(columns=["x"]).equals(rows)
    assert store.sql("SELECT sum(x) FROM t").to_pylist() == [{"sum(x)": TOTAL}]
    readings += 1
    versions.add(now.version)
print(readings, len(versions))
"""


def give_and_take(table: Table, rows: int, value: int) -> None:
    """Set half of the rows to `value` above 100, and the others to `value` below it."""
    cells = np.where(np.arange(rows) % 2, 100 + value, 100 - value)
    table.update(pa.table({"_id": np.arange(rows), "x": cells}))


def test_readers_see_each_version_whole_while_one_process_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"x": np.full(30_000, 100)})
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", READER, str(store.path), how], stdout=subprocess.PIPE, text=True
            )
            for how in ("read only", "for writing")
        ]
        for n in range(rounds(6)):
            for rows in (2, 4_000, 12_000, 30_000):
                give_and_take(table, rows, n + rows % 7)
            table.maintenance.flush() if n % 2 else table.maintenance.compact()
            table.history.undo()
            table.maintenance.expire(
                keep_versions=25
            )  # more versions than a reader can fall behind between two lines
            store.maintenance.vacuum()
        store.create_table("stop", [{"x": 1}])
        answers = [reader.communicate()[0].split() for reader in readers]
        assert [reader.returncode for reader in readers] == [0, 0]
        assert all(int(readings) >= 5 for readings, _ in answers)
        assert store.maintenance.verify().problems == ()


WAITER = """
import sys
from lamella import Store
from lamella.core.errors import StoreBusy
table = Store.open(sys.argv[1], busy_seconds=float(sys.argv[2]))["t"]
try:
    print("in", flush=True)
    table.update([{"_id": 0, "n": 5}])
except StoreBusy as busy:
    print(busy)
else:
    print("done")
"""


@pytest.mark.slow
def test_a_second_writer_waits_a_bounded_time_and_is_then_told_who_is_in_the_way(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"n": 0}])

        def waiter(seconds: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", WAITER, str(store.path), seconds]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        with store.transaction():
            table.update([{"_id": 0, "n": 1}])
            impatient, patient = waiter("0.1"), waiter("60")
            refused = impatient.communicate()[0]
            assert "writing to the store" in refused and "Try again" in refused
            assert patient.stdout is not None and patient.stdout.readline() == "in\n"
        assert patient.communicate()[0] == "done\n"
        assert table.get(0) == {"_id": 0, "n": 5}


def test_two_writers_lose_nothing_of_each_other(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"who": "nobody", "n": -1}, {"who": "nobody", "n": -1}])
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "s"), who, str(CHANGES)])
            for who in ("one", "two")
        ]
        assert [writer.wait() for writer in writers] == [0, 0]
        table = store["t"]
        rows = table.read().to_pylist()
        assert len(rows) == 2 + 2 * CHANGES
        assert [r["_id"] for r in rows] == list(range(2 + 2 * CHANGES))
        for who in ("one", "two"):
            assert [r["n"] for r in rows if r["who"] == who] == list(range(CHANGES))
            assert rows[0][who] == CHANGES - 1
        assert sorted(table.schema.names) == ["_id", "n", "one", "seen", "two", "who"]
        assert table.version == 1 + 6 * CHANGES
