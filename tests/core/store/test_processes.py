"""Several processes may write to one table: every commit of each is there in the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from core import Store

WRITER = """
import sys
from core import Store
table = Store.open(sys.argv[1])["t"]
for n in range(60):
    table.update([{"_id": 1, "seen": n}])
    table.insert([{"who": sys.argv[2], "n": n}])
    table.update([{"_id": 0, sys.argv[2]: n}])
"""


def test_two_writers_lose_nothing_of_each_other(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"who": "nobody", "n": -1}, {"who": "nobody", "n": -1}])
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "s"), who])
            for who in ("one", "two")
        ]
        assert [writer.wait() for writer in writers] == [0, 0]
        table = store["t"]
        rows = table.read().to_pylist()
        assert len(rows) == 122
        assert [r["_id"] for r in rows] == list(range(122))
        for who in ("one", "two"):
            assert [r["n"] for r in rows if r["who"] == who] == list(range(60))
            assert rows[0][who] == 59
        assert sorted(table.schema.names) == ["_id", "n", "one", "seen", "two", "who"]
        assert table.version == 1 + 6 * 60
