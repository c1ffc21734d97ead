"""Ranges, pivots and facets: of every type, within each other, and however many there are."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, open_dataset
from lamella.core.errors import BadQuery


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as store:
        yield store


@pytest.fixture
def flights(store):
    return store.create_table("f", {"carrier": ["A", "B", "A"], "d": [10, 20, 30], "month": [1, 2, 1]})


def test_facets_hold_whatever_is_looked_up_first(flights):
    actual = (
        flights.query()
        .facets(
            ranges=lambda rows: rows.buckets("d", 2),
            across=lambda rows: rows.pivot("carrier", "month", n=agg.count()),
            within=lambda rows: rows.facets(ranges=lambda inner: inner.buckets("d", 1)),
        )
        .tables()
    )
    assert actual["ranges"].to_pydict() == flights.query().buckets("d", 2).read().to_pydict()
    assert actual["across"].to_pydict() == {"carrier": ["A", "B"], "1": [2, 0], "2": [0, 1]}
    assert actual["within"].to_pylist() == [{"ranges": flights.query().buckets("d", 1).read().to_pylist()}]


def test_facets_are_one_row_to_what_follows(flights):
    facets = flights.query().facets(carrier="carrier", month="month")
    assert facets.count() == 1
    assert facets.agg(n=agg.count()).read().to_pydict() == {"n": [1]}
    assert facets.select("month").unwind("month").read().num_rows == 2


DAY = dt.date
MOST = 1.7976931348623157e308
SPREAD: dict[str, tuple[pa.Array, int]] = {
    "int8": (pa.array([-128, 0, 127], pa.int8()), 10),
    "uint64": (pa.array([0, 2**64 - 1], pa.uint64()), 3),
    "decimal": (pa.array([Decimal("-9.9"), Decimal("0.5"), Decimal("9.9")], pa.decimal128(2, 1)), 4),
    "long decimal": (pa.array([Decimal(1 - 10**38), Decimal(10**38 - 1)], pa.decimal128(38, 0)), 7),
    "seconds": (pa.array([0, 10, 17], pa.timestamp("s")), 3),
    "milliseconds": (pa.array([0, 10, 17], pa.timestamp("ms", "Europe/Berlin")), 3),
    "nanoseconds": (pa.array([-(2**63) + 10, 1, 2**63 - 1000], pa.timestamp("ns")), 3),
    "last days": (pa.array([DAY(9999, 1, 1), DAY(9999, 12, 31)]), 3),
    "durations": (pa.array([-5, 0, 2**62], pa.duration("ms")), 5),
    "float32": (pa.array([0.1, 0.2, 0.3, 0.7], pa.float32()), 7),
    "float64": (pa.array([-MOST, 0.0, MOST]), 4),
    "one value": (pa.array([127, 127], pa.int8()), 4),
    "one float": (pa.array([MOST]), 4),
}


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("name", SPREAD)
def test_ranges_of_one_width_hold_their_values_in_every_type(tmp_path, name):
    values, parts = SPREAD[name]
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
    stored = pq.read_table(tmp_path / "x.parquet").column("x")
    actual = open_dataset(tmp_path / "x.parquet").query().buckets("x", parts, x=agg.list("x")).read()
    assert actual.schema.field("low").type == stored.type
    low, high = ticks(actual.column("low")), ticks(actual.column("high"))
    assert (low[0], high[-1]) == (min(ticks(stored)), max(ticks(stored)))
    inner_values = [ticks(actual.column("x").chunk(0)[place].values) for place in range(actual.num_rows)]
    assert sum(map(len, inner_values)) == len(values)
    for place, inside in enumerate(inner_values):
        last = high[place] == high[-1]
        assert all(low[place] <= v and (v < high[place] or (last and v <= high[place])) for v in inside)


def test_ends_may_be_what_the_column_cannot_hold(store):
    small = pa.table({"x": pa.array([1, 100], pa.int8()), "d": pa.array([1000, 90000], pa.duration("ms"))})
    table = store.create_table("small", small)
    assert table.query().buckets("x", [-1000, 50, 1000]).read().to_pydict() == {
        "low": [-1000, 50], "high": [50, 1000], "n": [1, 1],
    }  # fmt: skip
    minutes = [dt.timedelta(minutes=minute) for minute in (0, 1, 2)]
    assert table.query().buckets("d", minutes).read().column("low").to_pylist() == minutes[:2]
    with pytest.raises(BadQuery, match="not a span of time"):
        table.query().buckets("d", [1, 2]).read()


@pytest.mark.slow
def test_a_thousand_ranges_are_told_apart(store):
    table = store.create_table("t", {"x": list(range(5000))})
    actual = table.query().buckets("x", 1000).read()
    assert actual.column("n").to_pylist() == [5] * 1000
    assert actual.column("low").to_pylist() == list(range(0, 5000, 5))


def test_a_pivot_names_every_value_apart(store, tmp_path):
    texts = store.create_table("texts", {"k": [1, 1, 2], "v": ["null", None, None]})
    assert texts.query().pivot("k", "v", n=agg.count()).read().to_pydict() == {
        "k": [1, 2], "null": [1, 0], "(null)": [1, 1],
    }  # fmt: skip
    moments = pa.table({
        "t": pa.array([3_600_000_000_001, 3_600_000_000_002], pa.time64("ns")),
        "z": pa.array([1, 1000], pa.timestamp("ns", "Europe/Berlin")),
    })  # fmt: skip
    pq.write_table(moments, tmp_path / "m.parquet")
    fine = open_dataset(tmp_path / "m.parquet")
    assert fine.query().pivot([], "t").read().column_names == ["01:00:00.000000001", "01:00:00.000000002"]
    assert fine.query().pivot([], "z").read().to_pydict() == {
        "1970-01-01 01:00:00.000000001+01:00": [1],
        "1970-01-01 01:00:00.000001+01:00": [1],
    }


def test_a_pivot_counts_unless_it_is_told_otherwise(flights):
    assert flights.query().pivot("carrier", "month").read().to_pydict() == {
        "carrier": ["A", "B"], "1": [2, 0], "2": [0, 1],
    }  # fmt: skip


def test_a_pivot_takes_values_in_any_order_and_more_than_once(flights):
    actual = flights.query().pivot(
        "carrier", "month", values=[2, 1, 1.0, 7, None], n=agg.count(), d=agg.list("d")
    )
    assert actual.read().to_pylist() == [
        {
            "carrier": carrier, "2_n": len(two), "2_d": two, "1_n": len(first), "1_d": first,
            "1.0_n": len(first), "1.0_d": first, "7_n": 0, "7_d": [], "null_n": 0, "null_d": [],
        }
        for carrier, first, two in (("A", [10, 30], []), ("B", [], [20]))
    ]  # fmt: skip


def test_a_pivot_without_keys_of_no_values_has_no_columns(flights):
    nothing = flights.where("d > 100").pivot([], "month")
    assert nothing.read().column_names == []
    assert nothing.read().num_rows == nothing.count() == sum(b.num_rows for b in nothing.batches())


@pytest.mark.slow
def test_a_pivot_of_as_many_values_as_it_has_columns(store):
    table = store.create_table(
        "wide", {"k": [n % 3 for n in range(2000)], "v": [n % 1000 for n in range(2000)]}
    )
    actual = table.query().pivot("k", "v").read()
    assert actual.num_columns == 1001
    assert sum(sum(column.to_pylist()) for column in actual.columns[1:]) == 2000
    with pytest.raises(BadQuery, match="more than 1,000 columns"):
        table.query().pivot("k", "_id").read()


def test_fields_inside_structs_are_unpivoted(store):
    table = store.create_table("places", [{"p": {"x": 1, "y": 2}}, {"p": {"x": 3, "y": None}}])
    actual = table.select("p").unpivot(["p.x", "p.y"]).select("name", "value").read()
    assert actual.to_pydict() == {"name": ["p.x", "p.y"] * 2, "value": [1, 2, 3, None]}


def ticks(values: Any) -> list[Any]:
    """Temporal values as whole numbers: Python's do not reach as far."""
    whole = pa.types.is_temporal(values.type)
    return [value.value if whole else value.as_py() for value in values]
