"""Computing is exact with decimals, and as in Python with floats and days."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from tests.slow_tests import examples

D = Decimal
DAY = dt.date(2024, 2, 28)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("arithmetic") / "s") as store:
        store.create_table(
            "t",
            pa.table(
                {
                    "a": pa.array([D("0.3"), D("9.9"), D("-0.3")], pa.decimal128(2, 1)),
                    "b": pa.array([D("0.1"), D("0.1"), D("0.2")], pa.decimal128(2, 1)),
                    "long": pa.array([D("9" * 38), D(7), D(-7)], pa.decimal128(38, 0)),
                    "day": [DAY, DAY, None],
                    "span": pa.array([1, 86400, 0], pa.duration("s")),
                    "point": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int16(), 2)),
                }
            ),
        )
        yield store


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (col("a") // col("b"), [D(3), D(99), D(-2)]),
        (col("a") % col("b"), [D("0.0"), D("0.0"), D("0.1")]),
        (col("long") // 2, [D("4" + "9" * 37), D(3), D(-4)]),
        (col("long") % 2, [D(1), D(1), D(1)]),
        (col("a") // 0, [None] * 3),
        (col("a").ceil(), [D(1), D(10), D(0)]),
        (col("a").floor(), [D(0), D(9), D(-1)]),
        (col("a").round(), [D(0), D(10), D(0)]),
        (col("a").round(-1), [D(0), D(10), D(0)]),
        (col("a").round(1), [D("0.3"), D("9.9"), D("-0.3")]),
        (col("day") + dt.timedelta(days=2), [dt.date(2024, 3, 1)] * 2 + [None]),
        (col("day") - dt.timedelta(days=2), [dt.date(2024, 2, 26)] * 2 + [None]),
        (2 + col("day"), [dt.date(2024, 3, 1)] * 2 + [None]),
        (dt.timedelta(hours=6) + col("day"), [dt.datetime(2024, 2, 28, 6)] * 2 + [None]),
        (col("day") + col("span"), [dt.datetime(2024, 2, 28, 0, 0, 1), dt.datetime(2024, 2, 29), None]),
        (col("point").length(), [2, None, 2]),
    ],
    ids=str,
)
def test_computing_is_exact(store, value, expected):
    assert store["t"].compute(made=value).read()["made"].to_pylist() == expected


@pytest.fixture(scope="module")
def floats(tmp_path_factory):
    odd = [0.0, 1.0, -1.0, 0.1, 0.3, -0.3, 1e300, 5e-324, math.inf, -math.inf, math.nan, 7.5, -2.0]
    pairs = [(a, b) for a in odd for b in odd]
    with Store.open(tmp_path_factory.mktemp("floats") / "s") as store:
        yield store.create_table("t", {"x": [a for a, _ in pairs], "y": [b for _, b in pairs]})


def test_floats_are_divided_as_in_python(floats):
    answer = floats.compute(q=col("x") // col("y"), r=col("x") % col("y"), p=col("x") ** col("y")).read()
    for row in answer.to_pylist():
        x, y = row["x"], row["y"]
        expected = (None, None) if y == 0 else divmod(x, y)
        assert all(alike(*pair) for pair in zip((row["q"], row["r"]), expected, strict=True)), row
        assert (row["p"] is None) == (x == 0 and y < 0)


def alike(left: float | None, right: float | None) -> bool:
    return left == right or (
        left is not None and right is not None and math.isnan(left) and math.isnan(right)
    )


@settings(max_examples=examples(15))
@given(
    st.decimals(-(10**17), 10**17, places=4, allow_nan=False, allow_infinity=False),
    st.decimals(-(10**9), 10**9, places=2, allow_nan=False, allow_infinity=False),
)
def test_decimals_are_divided_exactly(store, left, right):
    answer = (
        store["t"].limit(1).compute(x=col("b") * 0 + left).compute(q=col("x") // right, r=col("x") % right)
    )
    row = answer.read().to_pylist()[0]
    if right == 0:
        assert (row["q"], row["r"]) == (None, None)
    else:
        whole = Fraction(left) // Fraction(right)
        assert (row["q"], Fraction(row["r"])) == (whole, Fraction(left) - whole * Fraction(right))
