"""Joins of keys of different types: equal exactly where they mean the same, and none of them rounded."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from lamella import Store, agg, col
from lamella.core.errors import BadQuery
from lamella.core.query.expressions import coalesce, greatest, when

BIG = 2**53
FAR = dt.datetime(1500, 1, 1)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as store:
        yield store


def two(store: Store, left: pa.Array, right: pa.Array):
    return store.create_table("a", pa.table({"k": left})), store.create_table("b", pa.table({"k": right}))


def test_keys_that_one_side_alone_has_are_not_brought_into_the_type_of_the_other(store):
    left, right = two(store, pa.array([1, 2], pa.int64()), pa.array([1.0, 1.5]))
    assert left.join(right, on="k", how="full").read()["k"].to_pylist() == [1.0, 2.0, 1.5]
    counted = left.join(right, on="k", how="right").group_by("k").agg(n=agg.count()).read()
    assert counted.to_pydict() == {"k": [1.0, 1.5], "n": [1, 1]}


def test_keys_may_be_too_large_for_the_type_of_the_left_side(store):
    left, right = two(store, pa.array([1, 2], pa.int8()), pa.array([1, 1000], pa.int64()))
    assert left.join(right, on="k", how="right").read()["k"].to_pylist() == [1, 1000]


@pytest.mark.parametrize(
    ("left", "right", "matched"),
    [
        (pa.array([BIG, BIG + 1, 5]), pa.array([float(BIG), 5.5, 5.0]), [BIG, 5]),
        (pa.array([2**63 - 1, 0]), pa.array([2.0**63, -0.0]), [0]),
        (pa.array([2**64 - 1, 7], pa.uint64()), pa.array([float("nan"), 7.0], pa.float32()), [7]),
        (
            pa.array([Decimal(BIG + 1), Decimal("0.10")], pa.decimal128(20, 2)),
            pa.array([2.0**53, 0.1]),
            ["0.1"],
        ),
        (
            pa.array([FAR, dt.datetime(2024, 1, 1)]),
            pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ns")),
            [1],
        ),
    ],
)
def test_keys_are_equal_exactly_where_they_mean_the_same(store, left, right, matched):
    first, second = two(store, left, right)
    joined = first.join(second, on="k").read()["k"].to_pylist()
    assert len(joined) == len(matched)
    if not isinstance(joined[0], dt.datetime):
        assert joined == [Decimal(value) for value in matched]
    assert first.join(second, on="k", how="anti").count() == first.count() - len(matched)
    assert second.join(first, on="k").count() == len(matched)


@pytest.mark.parametrize(
    "value",
    [
        coalesce(col("i"), col("f")),
        greatest(col("f"), col("i")),
        when(col("i") > 0, col("i"), col("f")),
        coalesce(col("f"), BIG + 1),
    ],
    ids=str,
)
def test_a_whole_number_that_a_float_would_round_ends_the_query(store, value):
    rows = pa.table({"i": pa.array([7, BIG + 1]), "f": pa.array([0.5, None], pa.float64())})
    table = store.create_table("t", rows)
    assert table.where("i < 10").compute(made=value).read()["made"].type == pa.float64()
    with pytest.raises(BadQuery, match=f"'double' cannot hold a value of .*{BIG + 1}"):
        table.compute(made=value).read()


def test_columns_that_one_column_does_not_hold_exactly_are_not_turned_into_it(store):
    table = store.create_table("t", pa.table({"i": [7, BIG + 1], "f": [0.5, 1.5]}))
    assert table.limit(1).unpivot(["i", "f"]).read()["value"].to_pylist() == [7.0, 0.5]
    with pytest.raises(BadQuery, match=f"cannot hold a value of i: {BIG + 1}"):
        table.query().unpivot(["i", "f"]).read()
