"""Killed at any moment, a store has every commit that returned and nothing of one that did not."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core import Store

KILLS = 8

WRITER = """
import sys
from core import Store
store = Store.open(sys.argv[1])
table = store["t"] if "t" in store else store.create_table("t", {"n": [0] * 30_000, "step": [0] * 30_000})
step = table.get(0)["step"]
while True:
    step += 1
    kind = step % 4
    if kind == 0:
        table.update_where(None, {"$set": {"step": step}})
    elif kind == 1:
        table.update([{"_id": 0, "step": step}])
    elif kind == 2:
        table.update([{"_id": i, "step": step} for i in range(12_000)])
    else:
        table.update([{"_id": 0, "step": step}])
        table.flush()
    print(step, flush=True)
"""


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_writer_loses_nothing_it_was_told_is_safe(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    told = [int(writer.stdout.readline())]
    time.sleep(random.Random(seed).uniform(0, 0.4))  # the moment of the kill, not something waited for
    writer.kill()
    rest, _ = writer.communicate()
    told += [int(line) for line in rest.split("\n")[:-1]]
    with Store.open(path) as store:
        table = store["t"]
        step = table.get(0)["step"]
        assert step in (told[-1], told[-1] + 1)
        assert table.read().column("_id").to_pylist() == list(range(30_000))
        _whole_steps(table.read(columns=["step"]).column(0).to_pylist(), step)
        _no_stray_file(store)


def _whole_steps(steps: list[int], newest: int) -> None:
    """Commits touch rows 0, 0…11,999 or all: within each of these groups all rows are of one commit."""
    assert len(set(steps[1:12_000])) == 1
    assert len(set(steps[12_000:])) == 1
    assert steps[12_000] == newest // 4 * 4


def _no_stray_file(store: Store) -> None:
    on_disk = {
        str(p.relative_to(store.path / "data")) for p in (store.path / "data").rglob("*") if p.is_file()
    }
    assert on_disk == store.catalog.paths()
    assert list((store.path / "tmp").iterdir()) == []
