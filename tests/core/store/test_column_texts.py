"""Columns of text are split, merged and parsed; duplicates are found among some rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store
from lamella.core.errors import BadData, LamellaError, TypeConflict, UnknownColumn
from lamella.core.store import Table, split_merge
from lamella.core.store.acts import BY_VALUES, CastColumn
from tests.slow_tests import examples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def people(store: Store) -> Table:
    rows = pa.table(
        {
            "name": ["Ada King Lovelace", "Bob", None, ""],
            "born": pa.array([dt.date(1815, 12, 10), None, dt.date(2000, 1, 2), None]),
            "seen": pa.array([dt.datetime(2024, 1, 2, 3, 4), None, None, None]),
            "n": [1, 2, None, None],
            "tags": [["a"], None, None, None],
        }
    )
    return store.create_table("people", rows)


def values(table: Table, name: str) -> list[Any]:
    return table.read([name]).column(0).to_pylist()


def test_split_gives_the_last_column_the_rest(people: Table) -> None:
    commit = people.columns.split("name", ["first", "last"])
    assert list(people.columns)[:3] == ["name", "first", "last"]
    assert values(people, "first") == ["Ada", "Bob", None, ""]
    assert values(people, "last") == ["King Lovelace", None, None, None]
    assert commit.message == "split name into first, last"
    people.history.undo()
    assert "first" not in people.columns


def test_split_of_some_rows_by_a_pattern_so_many_at_a_time(
    people: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_merge, "ROWS_AT_ONCE", 1)
    people.columns.split("name", ["a", "b", "c"], by="[ K]+", regex=True, where=[0, 3])
    assert [values(people, name)[0] for name in "abc"] == ["Ada", "ing", "Lovelace"]
    assert values(people, "a") == ["Ada", None, None, ""]


def test_split_may_take_the_place_of_its_column(people: Table) -> None:
    people.columns.split("name", ["name", "rest"], keep=False)
    assert list(people.columns)[:2] == ["name", "rest"]
    assert values(people, "name") == ["Ada", "Bob", None, ""]


def test_merge_leaves_nulls_out(people: Table) -> None:
    people.columns.merge(["name", "n", "born", "seen"], "all", between="; ")
    assert values(people, "all") == [
        "Ada King Lovelace; 1; 1815-12-10; 2024-01-02 03:04:00",
        "Bob; 2",
        "2000-01-02",
        "",
    ]
    people.columns.merge(["n", "born"], "n", keep=False)
    assert values(people, "n") == ["1 1815-12-10", "2", "2000-01-02", None]
    assert "born" not in people.columns


@pytest.mark.parametrize(
    ("method", "arguments", "error", "reason"),
    [
        ("split", ("n", ["a", "b"]), TypeConflict, "Only text can be split"),
        ("split", ("nam", ["a", "b"]), UnknownColumn, "nam"),
        ("split", ("name", ["a"]), BadData, "1 names were given"),
        ("split", ("name", ["a", "n"]), BadData, "already has a column 'n'"),
        ("split", ("name", ["a", "b"], ""), BadData, "needs a separator"),
        ("split", ("name", ["a", "b"], "(", True), BadData, "is invalid"),
        ("split", ("name", ["a", "b"], "x*", True), BadData, "matches empty text"),
        ("split", ("name", ["a", "b"], " ", False, False, "n = 1"), BadData, "would lose"),
        ("merge", (["name"], "a"), BadData, "two columns or more"),
        ("merge", (["name", "tags"], "a"), TypeConflict, "cannot be written as text"),
        ("merge", (["name", "n"], "n"), BadData, "already has a column 'n'"),
    ],
)
def test_what_cannot_be_split_or_merged_changes_nothing(
    people: Table, method: str, arguments: tuple[Any, ...], error: type[LamellaError], reason: str
) -> None:
    before = people.version
    with pytest.raises(error, match=reason):
        getattr(people.columns, method)(*arguments)
    assert people.version == before


@settings(max_examples=examples(full=25), deadline=None)
@given(
    texts=st.lists(st.none() | st.text("ab,; ", max_size=8), min_size=1, max_size=8), parts=st.integers(2, 4)
)
def test_split_and_merge_do_what_pandas_does(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], parts: int
) -> None:
    names = [f"p{n}" for n in range(parts)]
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({"x": pa.array(texts, pa.string())}))
        table.columns.split("x", names, by=",")
        columns = [values(table, name) for name in names]
        table.columns.merge(names, "again", between=",")
        again = values(table, "again")
    series = pd.Series(texts, dtype=object)
    split = series.str.split(",", n=parts - 1, expand=True) if any(t is not None for t in texts) else None
    for place, column in enumerate(columns):
        known = split is not None and place in split
        expected = split[place].tolist() if known else [None] * len(texts)
        assert column == [None if pd.isna(value) else value for value in expected]
    assert again == texts


READINGS = [
    ("float64", {"decimal": ","}, ["1,5", "-0,25", "3", None], [1.5, -0.25, 3.0, None]),
    ("float64", {"decimal": ",", "thousands": "."}, ["1.234,5", "12", "1.000.000"], [1234.5, 12.0, 1e6]),
    ("int32", {"thousands": ","}, ["1,234", " -5 "], [1234, -5]),
    ("decimal(10, 2)", {"decimal": ",", "thousands": "'"}, ["1'234,50"], [Decimal("1234.50")]),
    (
        "date",
        {"dates": "day first"},
        ["31.12.2024", "1/2/2024"],
        [dt.date(2024, 12, 31), dt.date(2024, 2, 1)],
    ),
    ("date", {"dates": "month first"}, ["12/31/2024"], [dt.date(2024, 12, 31)]),
    (
        "date",
        {"dates": "month first"},
        ["10/22/12", "1/2/68", "1/2/69", "1/2/1999"],
        [dt.date(2012, 10, 22), dt.date(2068, 1, 2), dt.date(1969, 1, 2), dt.date(1999, 1, 2)],
    ),
    ("timestamp[us]", {"dates": "day first"}, ["3.4.24 10:11"], [dt.datetime(2024, 4, 3, 10, 11)]),
    (
        "timestamp[us]",
        {"dates": "day first"},
        ["3-4-2024 10:11"],
        [dt.datetime(2024, 4, 3, 10, 11)],
    ),
    (
        "timestamp[us, tz=UTC]",
        {"dates": "day first"},
        ["3.4.2024 10:11-0500"],
        [dt.datetime(2024, 4, 3, 15, 11, tzinfo=dt.UTC)],
    ),
]


@pytest.mark.parametrize(("kind", "reading", "texts", "expected"), READINGS)
def test_texts_are_read_as_they_are_written(
    store: Store, kind: str, reading: dict[str, str], texts: list[str | None], expected: list[Any]
) -> None:
    table = store.create_table("t", pa.table({"x": pa.array(texts, pa.string())}))
    assert table.columns.cast_failures("x", kind, **reading).count == 0  # type: ignore[arg-type]
    table.columns.cast("x", kind, **reading)  # type: ignore[arg-type]
    assert values(table, "x") == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1/2/12", "10/22/12"], [dt.date(2012, 1, 2), dt.date(2012, 10, 22)]),
        (["1/2/2012", "22/10/2012"], [dt.date(2012, 2, 1), dt.date(2012, 10, 22)]),
        (["2012-01-02", None], [dt.date(2012, 1, 2), None]),
    ],
)
def test_a_value_beyond_12_decides_whether_the_day_is_first(
    store: Store, texts: list[str | None], expected: list[dt.date | None]
) -> None:
    table = store.create_table("t", pa.table({"x": pa.array(texts, pa.string())}))
    act = CastColumn("x", "date", dates=BY_VALUES)
    assert act.effect(table).total == len(texts)
    act.apply(table)
    assert values(table, "x") == expected


def test_dates_of_which_no_value_shows_the_order_are_refused(store: Store) -> None:
    table = store.create_table("t", {"x": ["1/2/2012"], "n": ["5"]})
    for call in (
        CastColumn("x", "date", dates=BY_VALUES).effect,
        CastColumn("x", "date", dates=BY_VALUES).apply,
    ):
        with pytest.raises(BadData, match="2012-02-01 with the day first, 2012-01-02 with the month first"):
            call(table)
    assert CastColumn("n", "int64", dates=BY_VALUES).effect(table).total == 1


def test_what_a_cast_would_lose_is_listed(store: Store) -> None:
    texts = ["1,5", "1.5", "1.234,5", "12.34,5", "soon", None, "31.02.2024"]
    table = store.create_table("t", pa.table({"x": texts, "n": [1, 300, 2, 2**40, 5, 6, 7]}))
    lost = table.columns.cast_failures("x", "float64", decimal=",", thousands=".")
    assert (lost.count, list(lost.ids)) == (4, [1, 3, 4, 6])
    assert lost.values[0] == "1.5" and lost.reasons[0] == "it is written in another notation"
    dates = table.columns.cast_failures("x", "date", dates="day first", most=2)
    assert (dates.count, len(dates.ids)) == (6, 2)
    small = table.columns.cast_failures("n", "int8")
    assert list(small.values) == ["300", str(2**40)]
    assert "has no value near it" in small.reasons[0]
    assert table.columns.cast_failures("n", "float64").count == 0
    before = table.version
    with pytest.raises(BadData, match=r"holds '1\.5', which is not of type double"):
        table.columns.cast("x", "float64", decimal=",", thousands=".")
    assert table.version == before
    table.columns.cast("x", "float64", on_error="null", decimal=",", thousands=".")
    assert values(table, "x") == [1.5, None, 1234.5, None, None, None, None]


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        ({"decimal": ";"}, "decimal cannot be ';'"),
        ({"decimal": ",", "thousands": ","}, "the same character"),
        ({"dates": "year first"}, "dates cannot be 'year first'"),
        ({"thousands": "."}, "the same character"),
    ],
)
def test_signs_that_are_none_are_refused(store: Store, reading: dict[str, str], reason: str) -> None:
    table = store.create_table("t", [{"x": "1"}])
    with pytest.raises(BadData, match=reason):
        table.columns.cast("x", "int64", **reading)  # type: ignore[arg-type]


def test_hints_are_for_text_alone(store: Store) -> None:
    table = store.create_table("t", [{"x": 1.5}])
    with pytest.raises(BadData, match="describe text, but this column is double"):
        table.columns.cast("x", "int64", lossy=True, decimal=",")


@pytest.mark.parametrize("keep", ["first", "last"])
def test_duplicates_among_some_rows(store: Store, keep: str) -> None:
    table = store.create_table("t", pa.table({"k": [1, 1, 1, 2, 2, None, None], "g": list("abababa")}))
    frame = table.read().to_pandas()
    some = frame[frame.g == "a"]
    left = frame.drop(some.index[some.duplicated("k", keep=keep)])
    commit = table.drop_duplicates("k", keep, where="g = 'a'")
    assert commit.deleted == len(frame) - len(left)
    assert values(table, "_id") == left["_id"].tolist()
    assert table.drop_duplicates("k", where=[int(i) for i in left["_id"][:1]]).deleted == 0
