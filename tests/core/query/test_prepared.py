"""A statement over columns in memory is bound once, and its cursor kept: it answers as if it were bound anew,
and keeps nothing else."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, agg, sql
from lamella.core.errors import Cancelled, LamellaError
from lamella.core.jobs import Job
from lamella.core.query import engine
from lamella.core.query import execute as prepared
from lamella.core.scan import cache as caches
from lamella.core.store import Table

ROWS = 20_000
BY_KIND = "select kind, count(*) n, sum(n) s from t group by 1 order by 1"
SUMS = [{"kind": "a", "n": 10_000, "s": 99_990_000}, {"kind": "b", "n": 10_000, "s": 100_000_000}]
Ask = Callable[..., pa.Table]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    engine.limit_memory(engine.memory_limit())  # no cursors of earlier tests
    with Store.open(tmp_path / "store") as store:
        flushed = store.create_table("t", {"kind": ["a", "b"] * (ROWS // 2), "n": list(range(ROWS))})
        flushed.maintenance.flush()
        yield flushed


@pytest.fixture(params=["sql", "steps"])
def ask(request: pytest.FixtureRequest, table: Table) -> Ask:
    """The same question in both ways, answered from memory already."""
    grouped = table.group_by("kind").agg(n=agg.count(), s=agg.sum("n"))
    questions: dict[str, Ask] = {
        "sql": lambda job=None: table.store.sql(BY_KIND, job=job),
        "steps": lambda job=None: grouped.read(job),
    }
    for _ in range(3):
        assert questions[request.param]().to_pylist() == SUMS
    return questions[request.param]


@pytest.fixture
def cursors(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cursors created from now on."""
    cursors_made: list[Any] = []
    real = engine.Engine.cursor

    def noted(self: engine.Engine) -> Any:
        cursors_made.append(real(self))
        return cursors_made[-1]

    monkeypatch.setattr(engine.Engine, "cursor", noted)
    return cursors_made


@pytest.mark.slow(after=1)
def test_who_asks_again_binds_nothing(ask: Ask, cursors: list[Any]) -> None:
    for _ in range(3):
        assert ask().to_pylist() == SUMS
    assert not cursors


@pytest.mark.slow
def test_a_kept_cursor_holds_no_rows(ask: Ask) -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    caches.limit(0)
    gc.collect()
    try:
        assert before - pa.total_allocated_bytes() >= ROWS * 8
        assert ask().to_pylist() == SUMS
    finally:
        caches.limit(caches.DEFAULT_CACHE_BYTES)


@pytest.mark.slow(after=1)
def test_a_change_is_seen(ask: Ask, table: Table, cursors: list[Any]) -> None:
    table.insert([{"kind": "c", "n": 7}])
    assert ask().to_pylist() == [*SUMS, {"kind": "c", "n": 1, "s": 7}]
    table.history.undo()
    for _ in range(4):
        assert ask().to_pylist() == SUMS


@pytest.mark.slow(after=1)
def test_who_is_cancelled_leaves_no_cursor_behind(
    ask: Ask, cursors: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job()
    real = prepared.LentRows.__arrow_c_stream__

    def cancelled(lent: prepared.LentRows, requested: Any = None) -> Any:
        job.cancel()
        return real(lent, requested)

    with monkeypatch.context() as patch:
        patch.setattr(prepared.LentRows, "__arrow_c_stream__", cancelled)
        with pytest.raises(Cancelled):
            ask(job=job)
    assert not cursors
    for _ in range(3):
        assert ask().to_pylist() == SUMS
    assert len(cursors) == 1


@pytest.mark.slow(after=1)
def test_several_ask_at_the_same_time(ask: Ask) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _n: ask().to_pylist(), range(64)))
    assert answers == [SUMS] * 64


def test_a_statement_that_fails_is_bound_anew(table: Table, cursors: list[Any]) -> None:
    for _ in range(5):
        with pytest.raises(LamellaError):
            table.store.sql("select kind, sum(kind::int) s from t group by 1")
    assert len(cursors) >= 5


def test_values_of_a_statement_are_bound_each_time(table: Table) -> None:
    for more in (1, 2.5, 1, True, "1"):
        statement = "select kind, sum(n) + ?::double s from t group by 1 order by 1"
        for _ in range(4):
            actual = table.store.sql(statement, [more])["s"].to_pylist()
            assert actual == [99_990_000 + float(more), 100_000_000 + float(more)]


def test_versions_are_told_apart(table: Table) -> None:
    table.update([{"_id": 1, "kind": "a"}])
    for _ in range(5):
        assert table.store.sql(BY_KIND, as_of=1).to_pylist() == SUMS
        assert table.store.sql(BY_KIND)["n"].to_pylist() == [10_001, 9_999]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("files", [False, True])
def test_copies_of_a_store_are_told_apart(table: Table, tmp_path: Path, files: bool) -> None:
    table.store.backup(tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        copied = copy["t"]
        table.update([{"_id": 1, "kind": "a"}])
        copied.update([{"_id": 1, "kind": "c"}])
        table.maintenance.compact()
        copied.maintenance.compact()
        for _ in range(5):
            for source, kinds in ((table, ["a", "b"]), (copied, ["a", "b", "c"])):
                assert sql(BY_KIND, {"t": source}, files=files)["kind"].to_pylist() == kinds
                assert source.store.sql(BY_KIND, files=files)["kind"].to_pylist() == kinds


def test_a_new_memory_limit_holds_for_statements_that_were_kept(table: Table, cursors: list[Any]) -> None:
    for _ in range(4):
        table.store.sql(BY_KIND)
    before = engine.memory_limit()
    statement = "select kind, current_setting('memory_limit') m from t group by 1 order by 1"
    for _ in range(4):
        table.store.sql(statement)
    try:
        engine.limit_memory(512 << 20)
        assert table.store.sql(statement)["m"].to_pylist() == ["512.0 MiB"] * 2
    finally:
        engine.limit_memory(before)


def test_no_more_than_so_many_are_kept(table: Table, cursors: list[Any]) -> None:
    statements = [f"select kind, sum(n + {n}) s from t group by 1" for n in range(engine.MOST_CURSORS + 1)]
    for statement in statements * 2:
        table.store.sql(statement)
    count = len(cursors)
    table.store.sql(statements[-1])
    assert len(cursors) == count
    table.store.sql(statements[0])
    assert len(cursors) == count + 1


PROGRAM = """
import os, sys
from lamella import agg, open_dataset, sql
file = open_dataset(sys.argv[1])
def asked():
    steps = file.group_by("x").agg(n=agg.count()).read().to_pylist()
    return steps, sql("select x, count(*) n from t group by 1 order by 1", {"t": file}).to_pylist()
before = [asked() for _ in range(5)][-1]
child = os.fork()
if child == 0:
    assert all(asked() == before for _ in range(5))
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert asked() == before
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_leaves_the_kept_cursors_alone(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, 2, 2, 3] * 1000}), tmp_path / "x.parquet")
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "x.parquet")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
