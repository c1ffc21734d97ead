"""Text typed into a cell becomes the column's own type, or is refused with the reason."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lamella.core.errors import BadData
from lamella.core.filters.cells import parse_cell

NEW_YORK = pa.timestamp("us", "America/New_York")


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("60", pa.int16(), 60),
        (" -5 ", pa.int64(), -5),
        ("1e3", pa.int64(), 1000),
        ("18446744073709551615", pa.uint64(), 2**64 - 1),
        ("0.1", pa.float64(), 0.1),
        ("-inf", pa.float64(), -math.inf),
        ("12.5", pa.decimal128(6, 2), Decimal("12.50")),
        (" AA ", pa.string(), " AA "),
        ("", pa.string(), ""),
        ("AA", pa.dictionary(pa.int8(), pa.string()), "AA"),
        ("yes", pa.bool_(), True),
        ("2013-01-31", pa.date32(), dt.date(2013, 1, 31)),
        ("2013-01-31 17:30", pa.timestamp("s"), dt.datetime(2013, 1, 31, 17, 30)),
        ("17:30:05.25", pa.time64("us"), dt.time(17, 30, 5, 250_000)),
        pytest.param("00ff", pa.binary(), b"\x00\xff", id="bytes"),
        ('["a", null]', pa.list_(pa.string()), ["a", None]),
        ('{"x": 1}', pa.struct([("x", pa.int64())]), {"x": 1}),
        ('{"x": "0x00ff"}', pa.struct([("x", pa.binary())]), {"x": b"\x00\xff"}),
        ('{"x": 1.10}', pa.struct([("x", pa.decimal128(3, 2))]), {"x": Decimal("1.10")}),
        ('{"k": 1}', pa.map_(pa.string(), pa.int64()), [("k", 1)]),
        ("∞", pa.float64(), math.inf),
        ("-1 day, 23:00:00", pa.duration("s"), np.timedelta64(-3600, "s")),
        ("-1 days +23:00:00", pa.duration("s"), np.timedelta64(-3600, "s")),
    ],
)
def test_typed_text_becomes_a_value_the_column_holds(text: str, type_: pa.DataType, value: object) -> None:
    actual = parse_cell(text, type_)
    assert actual == value
    assert type(actual) is type(value)
    assert pa.array([actual], type=type_)[0].as_py() == value


def test_a_moment_without_a_zone_is_in_the_columns() -> None:
    moment = parse_cell("2013-01-31 05:00", NEW_YORK)
    assert moment == dt.datetime(2013, 1, 31, 10, tzinfo=dt.UTC)


def test_nanoseconds_are_kept() -> None:
    type_ = pa.timestamp("ns")
    moment = parse_cell("2013-01-31 05:00:00.000000007", type_)
    assert pa.array([moment], type=type_).cast(pa.int64())[0].as_py() % 1000 == 7


@pytest.mark.parametrize(
    ("text", "type_", "reason"),
    [
        ("300", pa.int8(), "from -128 to 127"),
        ("60.5", pa.int64(), "whole numbers"),
        ("soon", pa.int64(), "'soon' is not a number"),
        ("", pa.int64(), "Nothing is written"),
        ("1e400", pa.float64(), "too large"),
        ("1.005", pa.decimal128(6, 2), "2 places"),
        ("123456", pa.decimal128(6, 2), "at most 6 digits"),
        ("nan", pa.int64(), "NaN"),
        ("maybe", pa.bool_(), "neither true nor false"),
        ("2013-02-30", pa.date32(), "Day is out of range"),
        ("2013-01-31 17:30", pa.date32(), "without a time"),
        ("2013-01-31 17:30:05.5", pa.timestamp("s"), "finer than seconds"),
        ("2013-01-31 17:30+01:00", pa.timestamp("us"), "no time zone"),
        ("xyz", pa.binary(), "hexadecimal"),
        ("[1, 'a']", pa.list_(pa.string()), "Expecting value"),
        ("1", pa.duration("s"), "a span of time"),
        ("1.5 s", pa.duration("s"), "finer than seconds"),
        ("1 fortnight", pa.duration("s"), "not a unit of time"),
        ("300000000 d", pa.duration("ns"), "so long a span"),
        ("6ba7b810", pa.uuid(), "32 hexadecimal digits"),
        ('{"x": 1, "z": 2}', pa.struct([("x", pa.int64())]), "There is no field 'z': the fields are x"),
        ('{"x": 1, "x": 2}', pa.struct([("x", pa.int64())]), "'x' is given twice"),
        ('{"x": 1.5}', pa.struct([("x", pa.int64())]), "whole numbers"),
        ('{"x": "soon"}', pa.struct([("x", pa.date32())]), "Write a date"),
        ("[[1]]", pa.map_(pa.string(), pa.int64()), "Write a map as pairs"),
        ("[" * 100_000, pa.list_(pa.int64()), "nested too deep"),
        ("[5]", pa.list_(pa.string()), "5 is not text"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(text: str, type_: pa.DataType, reason: str) -> None:
    with pytest.raises(BadData, match=reason):
        parse_cell(text, type_)
