"""$compute, $fill, $round, $trim and $case: compared with expected values, pandas and Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import BadData, Cancelled, LamellaError, TypeConflict, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.store import Table, changes
from tests.slow_tests import examples

EXAMPLES = examples(25)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    rows = pa.table(
        {
            "price": pa.array([10.0, None, 2.5, 4.0]),
            "n": pa.array([1, 2, None, 4], pa.int16()),
            "name": [" Ada  Lovelace ", "bob", None, "\tEVE"],
            "s": pa.array([{"h": 1}, None, {"h": 3}, {"h": None}]),
        }
    )
    return store.create_table("t", rows)


def values(table: Table, name: str) -> list[Any]:
    return table.read([name]).column(0).to_pylist()


def test_compute_sees_the_row_as_it_was_before_the_update(table: Table) -> None:
    table.update_where(None, {"$inc": {"n": 1}, "$compute": {"price": "price * n"}})
    assert values(table, "price") == [10.0, None, None, 16.0]
    assert values(table, "n") == [2, 3, 1, 5]
    table.update_where(None, {"$set": {"a": 1, "b": 2}})
    table.update_where(None, {"$compute": {"a": "b", "b": "a"}})
    assert (values(table, "a"), values(table, "b")) == ([2] * 4, [1] * 4)


def test_compute_takes_built_expressions_ids_and_fields_and_adds_columns(table: Table) -> None:
    table.update_where("n > 1", {"$compute": {"total": col("price") * 2, "number": "_id * 10 + s.h"}})
    assert values(table, "total") == [None, None, None, 8.0]
    assert values(table, "number") == [None] * 4
    commit = table.update_where(None, {"$compute": {"s.h": "n * 2", "name": "upper(name)"}})
    assert [row and row["h"] for row in values(table, "s")] == [2, 4, None, 8]
    assert values(table, "name")[1] == "BOB"
    assert commit.message == "compute s.h, name"


def test_compute_widens_exactly_or_is_refused(table: Table) -> None:
    before = table.version
    with pytest.raises(TypeConflict, match=r"column 'n' is int16 and cannot take string values"):
        table.update_where(None, {"$compute": {"n": "name"}})
    with pytest.raises(UnknownColumn, match="prize"):
        table.update_where(None, {"$compute": {"price": "prize * 2"}})
    with pytest.raises(LamellaError, match=r"price \*"):
        table.update_where(None, {"$compute": {"price": "price *"}})
    with pytest.raises(BadData, match="it takes an expression, not 5"):
        table.update_where(None, {"$compute": {"price": 5}})
    assert table.version == before
    table.update_where(None, {"$compute": {"n": "n * 40000"}})
    assert values(table, "n") == [40000, 80000, None, 160000]
    table.update_where(None, {"$compute": {"n": "n / 3"}})
    assert table.schema.field("n").type == pa.float64()


def test_compute_of_decimals_is_exact_or_asks_to_be_rounded(store: Store) -> None:
    prices = pa.array([Decimal("1.10"), None, Decimal("19.99")], pa.decimal128(10, 2))
    table = store.create_table("p", pa.table({"d": prices}))
    table.update_where(None, {"$compute": {"d": "round(d * 1.19, 2)"}})
    assert values(table, "d") == [Decimal("1.31"), None, Decimal("23.79")]
    table.update_where(None, {"$compute": {"d": "round(d / 3, 2)"}})
    assert values(table, "d") == [Decimal("0.44"), None, Decimal("7.93")]
    assert table.schema.field("d").type == pa.decimal128(10, 2)
    with pytest.raises(BadData, match=r"more digits than decimal128\(10, 2\) holds.*round"):
        table.update_where(None, {"$compute": {"d": "d / 3"}})
    table.update_where(None, {"$compute": {"d": "d * 1.5"}})
    assert values(table, "d") == [Decimal("0.660"), None, Decimal("11.895")]


def test_compute_of_an_upsert_makes_the_new_row(table: Table) -> None:
    table.update_where(col("name") == "new", {"$compute": {"price": "length(name) * 1.5"}}, upsert=True)
    assert table.read(["name", "price"], where="name = 'new'").to_pylist() == [{"name": "new", "price": 4.5}]
    with pytest.raises(BadData, match="a new row has no neighbours"):
        table.update_where(col("name") == "newer", {"$fill": {"price": {"from": "above"}}}, upsert=True)


def test_compute_is_undone_in_one_step_and_can_be_stopped(table: Table) -> None:
    table.update_where(None, {"$compute": {"price": "price + 1"}})
    table.history.undo()
    assert values(table, "price") == [10.0, None, 2.5, 4.0]
    job, before = Job(), table.version
    job.cancel()
    with pytest.raises(Cancelled):
        table.update_where(None, {"$compute": {"price": "price + 1"}}, job=job)
    assert table.version == before


def test_many_rows_change_so_many_at_a_time(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ROWS_AT_ONCE", 1)
    reported: list[int] = []
    job = Job(lambda progress: reported.append(progress.done))
    table.update_where(None, {"$compute": {"n": "n * 20000"}, "$fill": {"price": {"from": "mean"}}}, job=job)
    assert values(table, "n") == [20000, 40000, None, 80000]
    assert values(table, "price") == [10.0, 5.5, 2.5, 4.0]
    assert reported


def test_fill_looks_at_all_rows_of_the_table(table: Table) -> None:
    table.update_where("n is null", {"$fill": {"n": {"from": "above"}, "name": {"from": "below"}}})
    assert values(table, "n") == [1, 2, 2, 4]
    assert values(table, "name")[2] == "\tEVE"
    table.update_where("n = 2 and _id = 1", {"$fill": {"s": {"value": {"h": 9}}}})
    table.update_where(None, {"$fill": {"s.h": 0}})
    assert values(table, "s") == [{"h": 1}, {"h": 9}, {"h": 3}, {"h": 0}]


@pytest.mark.parametrize(
    ("figure", "expected"),
    [("mean", 7 / 3), ("median", 2.0), ("least", 1), ("greatest", 4), ("most common", 1)],
)
def test_fill_by_figures(table: Table, figure: str, expected: float) -> None:
    table.update_where(None, {"$fill": {"n": {"from": figure}}})
    assert values(table, "n") == [1, 2, expected, 4]


def test_fill_keeps_decimals_and_texts_and_dates_in_their_types(store: Store) -> None:
    rows = pa.table(
        {
            "d": pa.array([Decimal("1.00"), Decimal("2.01"), None], pa.decimal128(5, 2)),
            "c": pa.array(["x", None, "x"]).dictionary_encode(),
            "day": pa.array([dt.date(2024, 1, 2), None, None]),
        }
    )
    table = store.create_table("t", rows)
    table.update_where(
        None,
        {"$fill": {"d": {"from": "mean"}, "c": {"from": "most common"}, "day": {"from": "greatest"}}},
    )
    assert table.schema.types[1:] == rows.schema.types
    assert values(table, "d")[2] in (Decimal("1.50"), Decimal("1.51"))
    assert values(table, "c") == ["x"] * 3
    assert values(table, "day") == [dt.date(2024, 1, 2)] * 3


@pytest.mark.parametrize(
    ("operators", "reason"),
    [
        ({"$fill": {"n": None}}, "it takes a value, not None"),
        ({"$fill": {"n": {"from": "left"}}}, "give one of above"),
        ({"$fill": {"n": {"of": 1}}}, "it takes a value, or a source of values"),
        ({"$fill": {"name": {"from": "mean"}}}, "the mean needs numbers, and this is string"),
        ({"$fill": {"s.h": {"from": "above"}}}, "inside nested values it takes only a value"),
        ({"$fill": {"s": {"from": "least"}}}, "have no least value"),
        ({"$fill": {"s": {"from": "most common"}}}, "cannot be counted"),
        ({"$round": {"n": 1.5}}, "number of digits"),
        ({"$round": {"n": True}}, "number of digits"),
        ({"$round": {"name": 1}}, "it is for numbers"),
        ({"$trim": {"name": "middle"}}, "it does not know 'middle'"),
        ({"$trim": {"n": "both"}}, "it is for text"),
        ({"$case": {"name": "Upper"}}, "give one of lower, upper, title, sentence"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changes(
    table: Table, operators: dict[str, Any], reason: str
) -> None:
    before = table.version
    with pytest.raises(LamellaError, match=f"(?i){reason}"):
        table.update_where(None, operators)
    assert table.version == before


def test_trim_and_case(table: Table) -> None:
    table.update_where(None, {"$trim": {"name": True}})
    assert values(table, "name") == ["Ada  Lovelace", "bob", None, "EVE"]
    assert table.update_where(None, {"$trim": {"name": "all"}}).updated == 1
    table.update_where(None, {"$case": {"name": "title"}})
    assert values(table, "name") == ["Ada Lovelace", "Bob", None, "Eve"]


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    cells=st.lists(st.none() | st.integers(-(10**6), 10**6), min_size=1, max_size=12),
    digits=st.integers(-4, 2),
    texts=st.lists(st.none() | st.text("aBc \t\u00a0ß", max_size=6), min_size=1, max_size=12),
)
def test_columns_become_what_pandas_makes_of_them(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[int | None],
    digits: int,
    texts: list[str | None],
) -> None:
    size = min(len(cells), len(texts))
    cells, texts = cells[:size], texts[:size]
    cents = [None if n is None else Decimal(n) / 100 for n in cells]
    data = pa.table(
        {
            "n": pa.array(cells, pa.int64()),
            "up": pa.array(cells, pa.int64()),
            "down": pa.array(cells, pa.int64()),
            "mean": pa.array(cells, pa.float64()),
            "d": pa.array(cents, pa.decimal128(12, 2)),
            "both": pa.array(texts, pa.string()),
            "left": pa.array(texts, pa.string()),
            "low": pa.array(texts, pa.string()),
            "twice": pa.nulls(size, pa.float64()),
        }
    )
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", data)
        table.update_where(
            None,
            {
                "$fill": {"up": {"from": "below"}, "down": {"from": "above"}, "mean": {"from": "mean"}},
                "$round": {"d": digits, "n": min(digits, 0)},
                "$trim": {"both": "both", "left": "left"},
                "$case": {"low": "lower"},
                "$compute": {"twice": "n * 2.5"},
            },
        )
        filled = {name: values(table, name) for name in data.column_names}
    series = pd.Series(cells, dtype="Int64")
    nothing = {pd.NA: None}
    assert filled["up"] == series.bfill().astype(object).replace(nothing).tolist()
    assert filled["down"] == series.ffill().astype(object).replace(nothing).tolist()
    floats = pd.Series(cells, dtype="float64")
    expected = floats.fillna(floats.mean())
    assert pd.Series(filled["mean"], dtype="float64").to_numpy() == pytest.approx(expected, nan_ok=True)
    unit = Decimal(1).scaleb(-digits)
    assert filled["d"] == [None if c is None else c.quantize(unit, ROUND_HALF_UP) for c in cents]
    whole = Decimal(1).scaleb(-min(digits, 0))
    assert filled["n"] == [
        None if c is None else int(Decimal(c).quantize(whole, ROUND_HALF_UP)) for c in cells
    ]
    assert filled["both"] == [None if t is None else t.strip() for t in texts]
    assert filled["left"] == [None if t is None else t.lstrip() for t in texts]
    assert filled["low"] == [None if t is None else t.lower() for t in texts]
    assert filled["twice"] == [None if n is None else n * 2.5 for n in cells]
