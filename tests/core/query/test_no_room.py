"""A full disk under a query's temporary files is an error with its reason; the next query works."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.errors import NoRoom
from lamella.core.query import find as positions
from lamella.core.query import number_sort as mapped
from tests.mounts import small_disk

ROWS = 400_000

SORTS = """
import sys
from lamella import open_dataset
from lamella.core.errors import NoRoom
from lamella.core.query.engine import limit_memory
limit_memory(24 << 20)
dataset = open_dataset(sys.argv[1])
try:
    dataset.read(sort=["-text"])
except NoRoom as error:
    assert "more temporary disk space" in str(error), error
else:
    sys.exit("it was sorted without room")
assert dataset.count() == 400_000
"""

LARGE_ANSWER = """
import resource, sys
from lamella import Store
from lamella.core.errors import NoRoom
from lamella.core.query.engine import limit_memory
limit_memory(64 << 20)
with Store.open(sys.argv[1]) as store:
    numbers = store.create_table("numbers", {"even": [n % 2 for n in range(3_000)], "n": list(range(3_000))})
    paired = numbers.join(numbers, on="even", suffix="_other")
    paired.limit(1).read()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert paired.explain().rows == 4_500_000
    try:
        paired.read()
    except NoRoom as error:
        assert "64 MB of memory" in str(error), error
    else:
        sys.exit("140 MB were read")
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert taken < 110 << 10, f"{taken >> 10} MB"
"""


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.parquet"
    texts = pa.array([f"{i * 7919 % ROWS:032}" for i in range(ROWS)])
    pq.write_table(pa.table({"text": texts}), path)
    return path


def test_a_sort_that_cannot_spill_says_so_and_the_next_query_works(numbers: Path) -> None:
    program = [sys.executable, "-c", SORTS, str(numbers)]
    with small_disk(1_000) as disk:
        result = subprocess.run(program, env={**os.environ, "TMPDIR": str(disk)}, timeout=300, check=False)
    assert result.returncode == 0


@pytest.mark.slow
def test_an_answer_that_is_larger_than_the_memory_is_refused_and_explaining_it_takes_none(
    tmp_path: Path,
) -> None:
    program = [sys.executable, "-c", LARGE_ANSWER, str(tmp_path / "s")]
    assert subprocess.run(program, timeout=300, check=False).returncode == 0


def test_positions_that_find_no_room_on_disk_are_an_error_and_not_the_end_of_the_process(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "MAPPED_ABOVE", 1_000)
    snapshot = open_dataset(numbers).snapshot()
    with small_disk(1_000) as disk, monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(NoRoom, match="No space left"):
            positions.find_rows(snapshot)
    assert len(positions.find_rows(snapshot)) == ROWS
