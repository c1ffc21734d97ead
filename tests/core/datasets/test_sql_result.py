"""The answer of a statement as a dataset: whole, long, with names that stand twice, and stopped."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from lamella.core.datasets import sql_result
from lamella.core.datasets.sql_result import SqlResult, run_to_result
from lamella.core.errors import Cancelled, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.source import SnapshotSource
from lamella.core.query.sql import Sources
from lamella.core.scan.snapshot import snapshot_of_rows

ROWS = pa.table({"n": [1, 2, 3], "city": ["Oslo", "Rome", None]})
SOURCES = Sources("what is open", ["t"], lambda *_: SnapshotSource(snapshot_of_rows(ROWS, "t")))
LONG = "select range as n, 'v' || range % 7 as s from range(1000000)"


def test_result_is_a_dataset():
    result = run_to_result("select * from t where n > 1", SOURCES)
    assert result.read(sort=["-n"]).to_pylist() == [{"n": 3, "city": None}, {"n": 2, "city": "Rome"}]
    (table_read,) = result.reads
    assert (table_read.name, table_read.columns, table_read.num_columns, table_read.num_rows) == (
        "t",
        2,
        2,
        3,
    )


def test_names_that_stand_twice_are_told_apart():
    result = run_to_result('select n, n, 1 as n_2, 2 as "N" from t limit 1', SOURCES)
    assert result.schema.names == ["n", "n_3", "n_2", "N"]
    assert result.read().to_pylist() == [{"n": 1, "n_3": 1, "n_2": 1, "N": 2}]
    assert "this one is shown as 'n_3'" in result.remarks[0]
    many = run_to_result(f"select {', '.join(['n'] * 500)} from t", SOURCES).remarks
    assert many == ("Columns whose names are already taken are shown as 'n_2', 'n_3', 'n_4' and 496 more",)


def test_columns_that_an_average_computes_are_figures():
    result = run_to_result(
        "select n, avg(n) as mean, n / 3, round(avg(n), 1) as r from t group by n", SOURCES
    )
    assert result.figures == {"mean", "(n / 3)"}
    assert run_to_result("select *, n / 3 as third from t", SOURCES).figures == frozenset()


def test_an_answer_without_rows_has_columns():
    result = run_to_result("select * from t where false", SOURCES)
    assert result.num_rows == 0 and result.schema.names == ["n", "city"] and result.snapshot().complete


@pytest.mark.slow
def test_ten_thousand_columns():
    result = run_to_result("select " + ", ".join(f"{n} as c{n}" for n in range(10_000)), SOURCES)
    assert result.read(columns=["c9999"]).to_pylist() == [{"c9999": 9999}]


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(sql_result, "IN_MEMORY", 1 << 20)
    monkeypatch.setattr(sql_result, "PART_BYTES", 1 << 20)


def test_a_long_answer_goes_to_files_that_are_removed(little_memory):
    firsts: list[tuple[int, bool]] = []

    def begin(result: SqlResult) -> None:
        snapshot = result.snapshot()
        firsts.append((snapshot.num_rows, snapshot.complete))

    result = run_to_result(LONG, SOURCES, started=begin)
    assert 0 < firsts[0][0] < 1_000_000 and not firsts[0][1]
    snapshot = result.snapshot()
    assert len(snapshot.segments) > 2 and snapshot.complete
    assert result.read(where="n = 999999").to_pylist() == [{"n": 999_999, "s": f"v{999_999 % 7}"}]
    assert result.count("s = 'v3'") == sum(n % 7 == 3 for n in range(1_000_000))
    folder = snapshot.keeps.path
    assert folder.exists()
    del result, snapshot
    gc.collect()
    assert not folder.exists()


def test_stopped_while_rows_come_in_it_ends_with_those_that_came(little_memory):
    job = Job()
    result = run_to_result(
        "select * from range(1000000000)", SOURCES, job=job, started=lambda _: job.cancel()
    )
    assert result.is_cut and result.snapshot().complete and result.num_rows > 0
    assert result.remarks[0].startswith(f"Stopped after {result.num_rows:,} rows")


def test_stopped_before_the_first_row_it_is_none():
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        run_to_result(LONG, SOURCES, job=job)


def test_failing_while_rows_come_in_says_that_it_is_not_all(little_memory):
    results: list[SqlResult] = []
    text = "select case when range > 900000 then error('no more') else range::varchar end from range(1000000)"
    with pytest.raises(LamellaError, match="no more"):
        run_to_result(text, SOURCES, started=results.append)
    assert results[0].snapshot().complete and "The statement failed after" in results[0].remarks[0]


def test_closed_it_takes_no_more_rows():
    job = Job()
    results: list[SqlResult] = []

    def begin(result: SqlResult) -> None:
        results.append(result)
        result.close()

    result = run_to_result("select * from range(1000000000)", SOURCES, job=job, started=begin)
    assert result.is_cut and result.num_rows < 1_000_000_000
