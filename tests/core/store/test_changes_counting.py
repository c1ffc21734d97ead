"""Increments of one cell by several processes: none is lost.

`LAMELLA_INCREMENTS=1000` runs it at full length.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lamella import Store
from tests.slow_tests import examples

TIMES = int(os.environ.get("LAMELLA_INCREMENTS", examples(full=60)))

WORKER = """
import sys
from lamella import Store
table = Store.open(sys.argv[1])["t"]
for _ in range(int(sys.argv[2])):
    table.update_where([0], {"$inc": {"count": 1}, "$push": {"who": sys.argv[3]}})
"""


def test_two_processes_counting_in_one_cell_lose_no_increment(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"count": 0, "who": []}, {"count": 0, "who": ["nobody"]}])
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "s"), str(TIMES), who])
            for who in ("one", "two")
        ]
        assert [worker.wait() for worker in workers] == [0, 0]
        row = table.get(0)
        assert row is not None and row["count"] == 2 * TIMES
        assert sorted(row["who"]) == ["one"] * TIMES + ["two"] * TIMES
        assert table.version == 1 + 2 * TIMES
        assert (table.get(1) or {})["count"] == 0
