"""Wherever a condition is taken, text will do."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadFilter, UnknownColumn
from lamella.core.filters import And, Or
from lamella.core.query.expressions import when
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import ExportOptions, export, options_of

ROWS = {"n": [1, 2, 3, 4], "code": ["AA", "UA", None, "DL"]}
WHERE = "n > 1 and not code = 'DL'"

READS: dict[str, Callable[[Any, Any], object]] = {
    "read": lambda rows, where: rows.read(["n"], where=where).column("n").to_pylist(),
    "count": lambda rows, where: rows.count(where),
    "batches": lambda rows, where: rows.batches(["n"], where=where).read_all().column("n").to_pylist(),
}
CHANGES: dict[str, Callable[[Table, Any], object]] = {
    "update_where": lambda table, where: table.update_where(where, {"$set": {"n": 0}}),
    "delete": lambda table, where: table.delete(where=where),
    "transform": lambda table, where: table.transform(
        lambda some: {"n": pa.array([0] * some.num_rows)}, ["n"], where
    ),
}


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("flights", ROWS)


@pytest.fixture(params=["table", "file"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    if request.param == "table":
        return request.getfixturevalue("table")
    pq.write_table(pa.table(ROWS), tmp_path / "flights.parquet")
    return open_dataset(tmp_path / "flights.parquet")


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("read_rows", READS.values(), ids=READS)
def test_text_reads_what_the_expression_reads(rows: Dataset, read_rows: Callable[[Any, Any], object]) -> None:
    assert (
        read_rows(rows, WHERE)
        == read_rows(rows, (col("n") > 1) & ~(col("code") == "DL"))
        != read_rows(rows, None)
    )


@pytest.mark.parametrize("sort", [None, ["n"]])
def test_a_filter_that_asks_nothing_is_met_by_all_rows_or_none(rows: Dataset, sort: list[str] | None) -> None:
    assert rows.read(["n"], where="all()", sort=sort).num_rows == rows.count(And(())) == 4
    assert rows.read(["n"], where="any()", sort=sort).num_rows == rows.count(Or(())) == 0


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_text_changes_what_it_says(table: Table, change: Callable[[Table, Any], object]) -> None:
    change(table, WHERE)
    assert table.count("n in (2, 3)") == 0
    assert table.count("n in (1, 4)") == 2


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    ("wrong", "reason"), [("m > 1", "no column 'm'"), ("n > > 1", "value"), ("", "empty")]
)
def test_text_that_does_not_fit_changes_nothing(
    table: Table, change: Callable[[Table, Any], object], wrong: str, reason: str
) -> None:
    version = table.version
    with pytest.raises((BadFilter, UnknownColumn), match=reason) as caught:
        change(table, wrong)
    assert "^" in str(caught.value)
    assert table.version == version


def test_ids_can_be_asked_for(table: Table) -> None:
    assert (
        table.read(["n"], where="_id >= 2").column("n").to_pylist() == ROWS["n"][-table.count("_id >= 2") :]
    )
    assert table.delete(where="_id = 1") and table.num_rows == 3


def test_pages_take_text(table: Table) -> None:
    page = table.page(1, where="n > 2", columns=["n"])
    assert page.rows.column("n").to_pylist() == [3]
    assert table.page(5, after=page.next, where="n > 2", columns=["n"]).rows.column("n").to_pylist() == [4]


def test_an_export_takes_text(table: Table, tmp_path: Path) -> None:
    assert export(table, tmp_path / "some.csv", ExportOptions(where=WHERE)).rows == 2
    assert export(table, tmp_path / "more.csv", options_of({"where": "n < 4"})).rows == 3
    with pytest.raises(UnknownColumn, match=r"no column 'm'.*\n  m > 1\n  \^"):
        export(table, tmp_path / "none.csv", ExportOptions(where="m > 1"))
    assert not (tmp_path / "none.csv").exists()


def test_what_is_no_condition_is_refused(table: Table) -> None:
    with pytest.raises(BadFilter, match="takes a condition, not 5"):
        table.count(5)  # type: ignore[arg-type]


def test_computed_values_and_relations_take_text(table: Table) -> None:
    table.store.create_table("airlines", {"code": ["AA", "UA"], "name": ["American", "United"]})
    table.store.relations.declare("flights.code", "airlines.code")
    first = int(table.read(["_id"], limit=1).column(0)[0].as_py())
    assert table.relations.rows(first, "airlines", where="name starts with 'A'").num_rows == 1
    assert table.relations.rows(first, "airlines", where="name starts with 'U'").num_rows == 0
    counted = table.where("n > 1").compute(high=when("n > 2 and code = 'DL'", 1, 0)).read()
    assert counted.column("high").to_pylist() == [0, 0, 1]


def test_dicts_are_conditions_too(table: Table) -> None:
    assert table.count({"n": {"$gt": 1}, "code": {"$ne": "DL"}}) == table.count(WHERE)
    assert table.delete(where={"n": 1}) and table.num_rows == 3


def test_a_text_is_read_anew_for_rows_of_another_schema(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        numbers = store.create_table("numbers", {"a": [1, 2]})
        texts = store.create_table("texts", {"a": ["1", "2", "1.0"]})
        days = store.create_table("days", {"a": [dt.date(2024, 1, 1)]})
        second = store.create_table("others", {"b": [1]})
        for _ in range(2):
            assert numbers.count("a = 1") == 1
            assert texts.count("a = 1") == 1
            with pytest.raises(BadFilter, match="cannot be compared"):
                days.count("a = 1")
            with pytest.raises(UnknownColumn):
                second.count("a = 1")
