"""A view answers any page of a filtered and sorted table, whatever is pending on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import Cancelled, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.find import Method, count_rows
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store import Table

ROWS = 250_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Three row groups with deletions, changed cells and rows that are not in a file yet."""
    random = np.random.default_rng(7)
    store = Store.open(tmp_path_factory.mktemp("view") / "store")
    changed_table = store.create_table(
        "t",
        {
            "n": pa.array(np.arange(ROWS)),
            "group": pa.array(random.integers(0, 50, ROWS)),
            "label": pa.array([f"label {i % 1000:03}" for i in range(ROWS)]),
            "x": pa.array(random.normal(size=ROWS)),
        },
    )
    changed_table.delete(ids=range(10, 300_00, 7))
    changed_table.update([{"_id": i, "group": 99} for i in range(5, ROWS, 9_973) if changed_table.get(i)])
    changed_table.insert(
        [{"n": -1, "group": 99, "label": None, "x": None}, {"n": -2, "group": 3, "label": "z"}]
    )
    yield changed_table
    store.close()


@pytest.fixture(scope="module")
def model(table: Table) -> list[dict]:
    return table.read().to_pylist()


def pages(view: View, size: int = 1_000) -> list[dict]:
    starts = range(0, view.num_rows, size)
    return list(itertools.chain.from_iterable(view.page(s, size).to_pylist() for s in starts))


def test_pages_laid_end_to_end_are_the_table(table: Table, model: list[dict]) -> None:
    assert pages(View(table.snapshot()), 60_000) == model


def test_a_filter_sees_changed_new_and_deleted_rows(table: Table, model: list[dict]) -> None:
    view = View(table.snapshot(), ScanQuery(where=col("group") == 99))
    assert pages(view) == [row for row in model if row["group"] == 99]
    assert view.num_rows == count_rows(table.snapshot(), col("group") == 99, method=Method.DUCKDB)


def test_several_sort_keys_with_nulls_last(table: Table, model: list[dict]) -> None:
    where, keys = col("group").is_in([3, 99]), (SortKey("label", True), SortKey("n"))
    view = View(table.snapshot(), ScanQuery(where=where, sort=keys))
    chosen = sorted((r for r in model if r["group"] in (3, 99)), key=lambda r: r["n"])
    expected = sorted(chosen, key=lambda r: r["label"] or "", reverse=True)
    assert pages(view) == expected


def test_a_page_of_scattered_rows_is_the_same_however_it_is_fetched(table: Table) -> None:
    view = View(table.snapshot(), ScanQuery(sort=(SortKey("x"),)))
    snapshot = table.snapshot()
    from lamella.core.query import view as fetching
    from lamella.core.scan.read import take_rows

    positions = view.positions(1_000, 300)
    joined = fetching._join_rows(snapshot, positions, snapshot.columns, None)
    assert joined.to_pylist() == take_rows(snapshot, positions, snapshot.columns).to_pylist()


def test_limit_and_offset_cut_the_answer(table: Table, model: list[dict]) -> None:
    view = View(table.snapshot(), ScanQuery(limit=5, offset=40_000))
    assert pages(view) == model[40_000:40_005]
    assert view.page(3, 10).num_rows == 2


def test_row_groups_that_cannot_match_are_not_read(table: Table) -> None:
    view = View(table.snapshot(), ScanQuery(where=col("n").between(210_000, 210_005)))
    assert view.num_rows == 6
    assert (view.explain.row_groups_read, view.explain.row_groups_total) == (1, 3)


def test_a_misspelt_column_is_an_error_and_not_an_empty_answer(table: Table) -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'group'"):
        View(table.snapshot(), ScanQuery(where=col("grop") == 1))
    with pytest.raises(UnknownColumn, match="Did you mean 'label'"):
        View(table.snapshot(), ScanQuery(sort=(SortKey("lable"),)))


def test_a_cancelled_job_runs_no_query(table: Table) -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        View(table.snapshot(), ScanQuery(where=col("n") > 5), job)


def test_names_that_sql_reserves_or_that_differ_in_case_work(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        odd = store.create_table(
            "select", [{"a": 1, "A": 2, "": 3, 'say "hi"': 4, "pos": 5, "file_row_number": 6}]
        )
        assert odd.count((col("a") == 1) & (col("A") == 2) & (col("") == 3)) == 1
        assert odd.read(where=col('say "hi"') == 4, sort=["-pos", "file_row_number"]).num_rows == 1


def test_a_view_takes_its_condition_as_text_too(table: Table) -> None:
    column = table.schema.names[1]
    query = ScanQuery(where=f"{column} is null")  # type: ignore[arg-type]
    assert View(table.snapshot(), query).num_rows == count_rows(
        table.snapshot(), col(column).is_null(), method=Method.DUCKDB
    )


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("deleted", "inserted"),
    [(range(0, 50, 7), 3), (range(11_000), 2_000)],
    ids=["few", "so many that files are rewritten"],
)
@pytest.mark.parametrize(
    "query",
    [
        ScanQuery(),
        ScanQuery(where=col("x") > 300),
        ScanQuery(sort=(SortKey("x"),)),
        ScanQuery(limit=12_500),
    ],
    ids=["own order", "filtered", "sorted", "limited"],
)
def test_a_view_follows_its_rows_into_a_later_snapshot(tmp_path, query, inserted, deleted) -> None:
    x = np.random.default_rng(3).integers(0, 1_000, 13_000)
    with Store.open(tmp_path / "store") as store:
        own = store.create_table("t", pa.table({"n": np.arange(13_000), "x": x}))
        own.delete(ids=[5, 12_999])
        before = View(own.snapshot(), query)
        ids = before.page(0, before.num_rows, ["_id"]).column(0).to_pylist()
        gone = np.array(sorted(set(deleted) - {5}))
        cells = pa.table({"_id": [12_000, 12_400], "n": [1, 1]})
        new = pa.table({"n": np.full(inserted, 1)})
        commit = own.edit([cells], new, gone)
        after = before.follow(own.snapshot(), commit.inserted)
        gone_ids = set(deleted)
        left = [i for i in ids if i not in gone_ids]
        new_ids = commit.inserted_ids.tolist()
        assert after.page(0, after.num_rows, ["_id"]).column(0).to_pylist() == left + new_ids
        if 12_400 in left:
            assert after.page(left.index(12_400), 1, ["n"]).column(0).to_pylist() == [1]
