"""A process forked after queries ran makes queries of its own, and its end leaves the parent's alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = """
import os, sys
from lamella import col, open_dataset
def smallest():
    return open_dataset(sys.argv[1]).read(where=col("x") > 3, sort=["x"], limit=1).column("x").to_pylist()
before = smallest()
child = os.fork()
if child == 0:
    assert smallest() == before
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert smallest() == before == [4]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_asks_with_a_duckdb_of_its_own(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "x.parquet")
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "x.parquet")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
