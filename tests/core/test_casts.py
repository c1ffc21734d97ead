"""A cast keeps every value or is refused."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.arrow.types import exact_cast

NOON = dt.datetime(2020, 1, 1, 12)
MIDNIGHT = dt.datetime(2020, 1, 1)
UTC = pa.timestamp("us", "UTC")
LIST = pa.list_(pa.float64())

LOST = [
    (pa.array([1000]), pa.decimal128(5, 2)),
    (pa.array([0.1]), pa.float32()),
    (pa.array([1e300]), pa.float32()),
    (pa.array([1.5]), pa.int64()),
    (pa.array([math.nan]), pa.int64()),
    (pa.array([2**53 + 1]), pa.float64()),
    (pa.array([16777217]), pa.float32()),
    (pa.array([1 << 40]), pa.int32()),
    (pa.array([-1]), pa.uint64()),
    (pa.array([2]), pa.bool_()),
    (pa.array([1.239]), pa.decimal128(5, 2)),
    (pa.array([Decimal("1.239")]), pa.decimal128(5, 2)),
    (pa.array([Decimal("0.10000000000000000001")]), pa.float64()),
    (pa.array([NOON], pa.timestamp("us")), pa.date32()),
    (pa.array([NOON], pa.timestamp("us")), pa.time64("us")),
    (pa.array([NOON.replace(microsecond=123456)], pa.timestamp("us")), pa.timestamp("ms")),
    (pa.array([dt.datetime(1500, 1, 1)], pa.timestamp("us")), pa.timestamp("ns")),
    (pa.array([dt.date(1500, 1, 1)]), pa.timestamp("ns")),
    (pa.array([NOON], UTC), pa.timestamp("us")),
    (pa.array([MIDNIGHT], UTC), pa.date32()),
    (pa.array([NOON], pa.timestamp("us")), pa.timestamp("us", "Europe/Paris")),
    (pa.array([5]), pa.timestamp("us")),
    (pa.array([dt.date(2020, 1, 1)]), pa.int32()),
    (pa.array(["007"]), pa.int64()),
    (pa.array([b"\xff"]), pa.string()),
    (pa.array([[0.1]]), pa.list_(pa.float32())),
    (pa.array([{"x": 0.1}]), pa.struct([("x", pa.float32())])),
]
CASES = [
    (pa.array([0.5, None, math.nan, math.inf]), pa.float32()),
    (pa.array([1.0, None]), pa.int64(), [1, None]),
    (pa.array([1, None, 2**53]), pa.float64(), [1.0, None, 2.0**53]),
    (pa.array([True, None]), pa.int64(), [1, None]),
    (pa.array([Decimal("1.10")]), pa.decimal128(5, 3), [Decimal("1.100")]),
    (pa.array([999, None]), pa.decimal128(5, 2), [Decimal("999.00"), None]),
    (pa.array([MIDNIGHT, None], pa.timestamp("us")), pa.date32(), [dt.date(2020, 1, 1), None]),
    (pa.array([dt.date(2020, 1, 1)]), pa.timestamp("ms"), [MIDNIGHT]),
    (pa.array([MIDNIGHT], pa.timestamp("us")), pa.timestamp("ms")),
    (pa.array(["a", None]), pa.large_string()),
    (pa.array(["a", None]).dictionary_encode(), pa.string()),
    (pa.array(["a", None]).dictionary_encode(), pa.large_string()),
    (pa.array([None, None]), pa.date32()),
    (pa.array([[], None], pa.list_(pa.null())), LIST),
    (pa.array([[0.5, math.nan, None], None, []]), pa.list_(pa.float32())),
    (pa.array([{"x": math.nan}, None, {"x": 0.5}]), pa.struct([("x", pa.float32())])),
    (pa.array([], pa.float64()), pa.int8()),
    (pa.array([2.0**53 + 2]), pa.int64(), [2**53 + 2]),
    (pa.array([{"x": None, "y": [[]]}]), pa.struct([("x", pa.int64()), ("y", pa.list_(LIST))])),
]


@pytest.mark.parametrize(("values", "kind"), LOST)
def test_a_cast_that_would_lose_a_value_is_refused(values: pa.Array, kind: pa.DataType) -> None:
    assert exact_cast(values, kind) is None
    assert exact_cast(pa.chunked_array([values[:0], values]), kind) is None


@pytest.mark.parametrize("case", CASES)
def test_a_cast_that_keeps_every_value_is_made(case: tuple) -> None:
    values, kind, expected = (*case, None)[:3]
    actual = exact_cast(values, kind)
    assert actual is not None and actual.type == kind
    assert str(actual.to_pylist()) == str(values.to_pylist() if expected is None else expected)
    in_chunks = exact_cast(pa.chunked_array([values[:1], values[1:]]), kind)
    assert str(actual.to_pylist()) == str(in_chunks.to_pylist())


def fits(value: float, kind: pa.DataType) -> bool:
    limits = np.iinfo(kind.to_pandas_dtype())
    return math.isfinite(value) and value == int(value) and int(limits.min) <= int(value) <= int(limits.max)


def is_float32(value: float | None) -> bool:
    with np.errstate(over="ignore"):
        return value is None or math.isnan(value) or float(np.float32(value)) == value


@given(
    st.lists(st.none() | st.floats() | st.integers(-100, 100).map(float)),
    st.sampled_from([pa.float32(), pa.int8(), pa.int64(), pa.uint16()]),
)
def test_what_survives_is_what_python_finds_equal(values: list[float | None], kind: pa.DataType) -> None:
    actual = exact_cast(pa.array(values, pa.float64()), kind)
    fitting = pa.types.is_integer(kind) and all(v is None or fits(v, kind) for v in values)
    assert (actual is not None) == (fitting or (kind == pa.float32() and all(map(is_float32, values))))
    if actual is not None:
        assert all(a == b or (a != a and b != b) for a, b in zip(actual.to_pylist(), values, strict=True))
