"""Python values become an array of the type asked for, each as it was, or are refused."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lamella.core.arrow.arrays import from_values, quick_array

NOON = dt.datetime(2020, 1, 1, 12, 0, 0, 123456)
ZONED = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)

UNFIT = [
    (1.5, pa.int64()),
    ("abc", pa.int64()),
    (Decimal("1.5"), pa.int64()),
    (2**70, pa.int64()),
    (np.float64(1.5), pa.int32()),
    (2**53 + 1, pa.float64()),
    (0.1, pa.float32()),
    (1e300, pa.float32()),
    (NOON, pa.date32()),
    (5, pa.date32()),
    (NOON, pa.timestamp("ms")),
    (1.5, pa.timestamp("us")),
    (ZONED, pa.timestamp("us")),
    (NOON, pa.timestamp("us", "Europe/Paris")),
    (dt.time(1, 2, 3, 4), pa.time32("s")),
    (dt.timedelta(microseconds=1), pa.duration("s")),
    (Decimal("1.239"), pa.decimal128(5, 2)),
    (5, pa.string()),
    (b"a", pa.string()),
    (1, pa.bool_()),
    ([1.5], pa.list_(pa.int64())),
    ({"a": 1, "b": 2}, pa.struct([("a", pa.int64())])),
]
FIT = [
    (np.int8(5), pa.int64()),
    (5, pa.float64()),
    (True, pa.int64()),
    (1.0, pa.int64()),
    (math.inf, pa.float32()),
    (0.5, pa.float32()),
    (NOON, pa.timestamp("us")),
    (NOON.replace(microsecond=123000), pa.timestamp("ms")),
    (ZONED, pa.timestamp("us", "Europe/Paris")),
    (dt.date(2020, 1, 1), pa.date32()),
    (Decimal("1.1"), pa.decimal128(5, 2)),
    (b"a", pa.binary()),
    ([1, None], pa.list_(pa.int64())),
    ({"a": 1, "b": None}, pa.struct([("a", pa.int64()), ("b", pa.string())])),
]


@pytest.mark.parametrize(("value", "kind"), UNFIT)
def test_a_value_that_does_not_fit_is_refused_and_not_cut(value: object, kind: pa.DataType) -> None:
    assert quick_array([value], kind) is None
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)):
        from_values([None, value], kind)


@pytest.mark.parametrize(("value", "kind"), FIT)
def test_a_value_that_fits_is_kept(value: object, kind: pa.DataType) -> None:
    array = from_values([None, value], kind)
    assert array.type == kind
    assert array.to_pylist() == [None, value]


def test_a_struct_may_leave_fields_out() -> None:
    kind = pa.struct([("a", pa.float32()), ("b", pa.list_(pa.int8()))])
    actual = from_values([{"a": math.nan}, {"b": (1, 2)}, {}, {"a": 1.0, "c": None}], kind).to_pylist()
    assert math.isnan(actual[0]["a"])
    assert actual[1:] == [{"a": None, "b": [1, 2]}, {"a": None, "b": None}, {"a": 1.0, "b": None}]


def test_maps_may_be_dicts_or_pairs() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    assert from_values([{"a": 1}, [("b", 2)]], kind).to_pylist() == [[("a", 1)], [("b", 2)]]
