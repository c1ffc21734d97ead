"""A cast gives the whole value in the other type, or ends the query."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.arrow.types import type_named
from lamella.core.errors import BadQuery

D = Decimal


def cast(tmp_path, value, kind):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"a": value if isinstance(value, pa.Array) else [value]}))
        return table.compute(made=col("a").cast(kind)).read()["made"]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("12345678901234567.5", "int64"),
        ("1.5", "int64"),
        ("1e-1", "int64"),
        ("12345678901234567891e-1", "int64"),
        ("0.10000000000000000001", "decimal128(20, 2)"),
        ("1234567890123456789.015", "decimal128(38, 2)"),
        ("2024-01-01 12:34:56", "date32"),
        ("2024-01-01 00:00:00.0000001", "date32"),
        ("2024-01-01 00:00:00+02:00", "date32"),
        ("2024-01-01 12:34:56.1234567", "timestamp[us]"),
        ("2024-01-01 12:34:56.5", "timestamp[s]"),
        ("2024-01-01 12:34:56+02:00", "timestamp[us]"),
        ("12:34:56.5", "time32[s]"),
        (dt.datetime(2024, 1, 1, 0, 0, 1, 500000), "timestamp[s]"),
        (dt.datetime(2024, 1, 1, 0, 0, 1, 500), "timestamp[ms]"),
        (dt.time(1, 2, 3, 1), "time32[ms]"),
        (pa.array([1], pa.timestamp("ns")), "timestamp[us]"),
        (pa.array([1], pa.timestamp("ns")), "date32"),
        (0.1, "float32"),
        (2**53 + 1, "float64"),
        (2**63 - 1, "float64"),
        (2**63 - 1, "float32"),
        (2, "bool"),
    ],
    ids=str,
)
def test_a_value_that_is_not_held_exactly_ends_the_query(tmp_path, value, kind):
    with pytest.raises(BadQuery, match="cannot hold a value of a: "):
        cast(tmp_path, value, kind)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (" 12345678901234567.000", "int64", 12345678901234567),
        ("1e3", "int64", 1000),
        ("-0.50", "decimal128(20, 1)", D("-0.5")),
        ("99999999999999999999999999999999999999", "decimal128(38, 0)", D("9" * 38)),
        ("2024-01-01 00:00:00.000", "date32", dt.date(2024, 1, 1)),
        ("2024-01-01T12:34:56.120000Z", "timestamp[ms]", dt.datetime(2024, 1, 1, 12, 34, 56, 120000)),
        ("12:34:56.000", "time32[s]", dt.time(12, 34, 56)),
        (dt.datetime(2024, 1, 1, 0, 0, 1), "timestamp[s]", dt.datetime(2024, 1, 1, 0, 0, 1)),
        (0.5, "float32", 0.5),
        (0.5, pa.float32(), 0.5),
        (2**53, "float64", 2.0**53),
    ],
    ids=str,
)
def test_a_value_that_is_held_comes_in_the_type_that_was_asked_for(tmp_path, value, kind, expected):
    actual = cast(tmp_path, value, kind)
    assert actual.to_pylist() == [expected]
    assert actual.type == type_named(kind)
