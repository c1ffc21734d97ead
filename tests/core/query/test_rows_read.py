"""A statement counts the row groups that statistics left, not all rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store
from lamella.core.datasets.formats import open_dataset
from lamella.core.datasets.sql_result import run_to_result
from lamella.core.jobs import Job
from lamella.core.query.sql.plan_tree import explain_sql
from lamella.core.query.sql.rows_read import RowsRead, row_groups_text
from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.sources import Sources


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Sources:
    """`t` has ten row groups of 1,000 rows in order of `n`, `u` is in memory, `few` names three values."""
    folder: Path = tmp_path_factory.mktemp("read")
    pq.write_table(
        pa.table({"n": range(10_000), "m": [i % 7 for i in range(10_000)]}),
        folder / "t.parquet",
        row_group_size=1_000,
    )
    with Store.open(folder / "s") as store:
        store.create_table("u", [{"n": 5}, {"n": 6}, {"n": 7}])
        datasets = {"t": open_dataset(folder / "t.parquet"), "u": store["u"]}
        yield Sources("the console", list(datasets), lambda name, version: datasets[name])


@pytest.mark.parametrize(
    ("text", "rows", "groups", "exact"),
    [
        ("select sum(m) as s from t where n between 2500 and 2600", 1_000, (1, 10), False),
        ("select sum(m) as s from t where n between 2500 and 4500", 3_000, (3, 10), False),
        ("select sum(m) as s from t where m = 3", 10_000, (10, 10), True),
        ("select n from t", 10_000, (10, 10), True),
        ("select n from t where n > 20000", 0, None, True),
        ("select n from u", 3, None, True),
        ("select sum(t.m) as s from t, u where t.n = u.n", 1_003, (1, 10), False),
        ("select range as n from range(5000)", 0, None, True),
    ],
)
def test_rows_read_of_a_statement(sources: Sources, text: str, rows: int, groups, exact: bool):
    result = run_to_result(text, sources)
    rows_read = result.rows_read
    assert rows_read is not None and (rows_read.rows, rows_read.row_groups, rows_read.is_exact) == (
        rows,
        groups,
        exact,
    )
    measured = explain_sql(text, sources, SqlRequest(), Job(), measured=True).rows_read
    assert (measured.rows, measured.row_groups) == (rows, groups)


@pytest.fixture
def updated(tmp_path: Path) -> Iterator[Sources]:
    """A table of 16 rows of which 3 were replaced, and one of 40,000 of which each fourth was deleted."""
    with Store.open(tmp_path / "s") as store:
        store.create_table("few", [{"n": number, "name": f"C{number}"} for number in range(16)])
        store["few"].update_where("n < 3", {"$set": {"n": 100}})
        store.create_table("many", pa.table({"n": range(40_000)}))
        store["many"].delete(range(0, 40_000, 4))
        yield Sources("the console", ["few", "many"], lambda name, version: store[name])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select n, name from few", 16),
        ("select a.name from few a join few b using (n)", 32),
        ("select sum(n) as n from many where n > 7", 30_000),
    ],
)
def test_replaced_and_deleted_rows_do_not_count_as_read(updated: Sources, text: str, rows: int):
    rows_read = run_to_result(text, updated).rows_read
    assert rows_read is not None and (rows_read.rows, rows_read.is_exact) == (rows, True)
    assert explain_sql(text, updated, SqlRequest(), Job(), measured=True).rows_read.rows == rows


def test_a_plan_names_columns_and_has_only_casts_of_the_statement(updated: Sources):
    def details(text: str) -> str:
        plan = explain_sql(text, updated, SqlRequest(), Job(), measured=True)
        return "; ".join(detail for node in plan.root.walk() for detail in node.details)

    joined = "few a join few b using (n)"
    plan = details(f"select a.name, n / 2 as half, count(distinct a.n) as c from {joined} group by all")
    assert "Groups: name, half" in plan and "Aggregates: count(n)" in plan, plan
    assert not any(internal in plan for internal in ("#", "CAST", "pos", "c1", "c2")), plan
    assert "CAST(n AS INTEGER)" in details("select n from few where n::int > 2")


def test_a_plan_has_the_names_of_tables_and_columns(sources: Sources):
    text = "select u.n, t.m from t join u on t.n = u.n + 1 where t.m > 1"
    for measured in (False, True):
        plan = explain_sql(text, sources, SqlRequest(), Job(), measured=measured)
        details = [detail for node in plan.root.walk() for detail in node.details]
        assert "Projections: n, m" in details and any("m > 1" in each for each in details), details
    assert "Table: t" in details


@pytest.mark.parametrize(
    "names",
    [
        ["file_row_number", "Filename", "m"],
        ["__lamella_1", "file_index", "m"],
        ["f", "f.m", "m"],
    ],
)
def test_columns_called_like_others_or_like_those_of_the_engine_are_read(tmp_path: Path, names: list[str]):
    table = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])], names=names)
    pq.write_table(table, tmp_path / "t.parquet")
    source = Sources("here", ["t"], lambda name, version: open_dataset(tmp_path / "t.parquet"))
    answer = run_sql("select sum(m) as m, count(*) as n from t where m > 5", source)
    assert answer.to_pylist() == [{"m": 6, "n": 1}]
    whole = run_sql("select * from t where m > 5", source)
    assert [list(row.values()) for row in whole.to_pylist()] == [[2, 4, 6]]


def test_rows_read_of_a_limit_are_few(sources: Sources):
    rows_read = run_to_result("select n from t limit 5", sources).rows_read
    assert rows_read is not None and 5 <= rows_read.rows < 10_000
    assert re.fullmatch(r", (a part|parts) of \d+ row groups?", row_groups_text(rows_read))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (RowsRead(2_048, True, (4, 4), is_partial=True), ", parts of 4 row groups"),
        (RowsRead(2_048, True, (1, 1), is_partial=True), ", a part of 1 row group"),
        (RowsRead(1_000, False, (1, 10)), ", 1 of 10 row groups"),
        (RowsRead(5), ""),
    ],
)
def test_row_groups_of_which_few_rows_were_read_do_not_count_as_read(read: RowsRead, text: str):
    assert row_groups_text(read) == text


def test_all_rows_of_all_row_groups_are_no_part(sources: Sources):
    rows_read = run_to_result("select n from t", sources).rows_read
    assert rows_read is not None and row_groups_text(rows_read) == ", 10 of 10 row groups"


def test_rows_read_of_a_stopped_statement_are_not_known(sources: Sources):
    job = Job()
    result = run_to_result("select a.n from t a, t b, t c", sources, job=job, started=lambda _: job.cancel())
    assert result.is_cut and result.rows_read is None


@pytest.mark.parametrize("measured", [False, True])
def test_a_plan_says_in_words_what_operators_do(sources: Sources, measured: bool):
    text = "select u.n, count(*) from t left join u on t.n = u.n group by 1 order by 2 desc limit 3"
    plan = explain_sql(text, sources, SqlRequest(), Job(), measured=measured)
    names = {node.engine_name: node.name for node in plan.root.walk()}
    assert names["READ_PARQUET"] == "Scan of t" and names["PYTHON_ARROW_SCAN"] == "Scan of u"
    assert names["TOP_N"] == "First rows in order" and names["HASH_JOIN"] == "Left join"
    assert not [name for name in names.values() if "_" in name or name.isupper()]


def test_a_plan_says_where_deleted_rows_are_left_out(updated: Sources):
    plan = explain_sql("select n from many", updated, SqlRequest(), Job(), measured=True)
    names = [node.name for node in plan.root.walk() if node.name != "Compute columns"]
    assert names == ["Leave out deleted rows", "Scan of many", "Scan of deleted rows"]
