from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.filters.cells import parse_cell
from lamella.core.transfer.text_columns import TextStyle, texts_of
from lamella.ui.grid.texts import (
    LONGEST,
    ROUNDED_MARK,
    fraction_digits,
    is_whole,
    screen_texts,
    whole_texts,
    with_fraction_digits,
)

STRUCT = pa.struct({"a": pa.string(), "b": pa.binary()})


@pytest.mark.parametrize(
    ("values", "type_", "texts"),
    [
        ([1, -20, None], pa.int32(), ["1", "-20", None]),
        ([60.0, 0.1, 1e300, None], pa.float64(), ["60", "0.1", "1e+300", None]),
        ([0.1], pa.float32(), ["0.1"]),
        ([10.357019999999999, 1234567.891234], pa.float64(), ["≈10.35702", "1234567.891234"]),
        ([9.26450451204958, 0.5], pa.float64(), ["9.26450451204958", "0.5"]),
        ([9.26450451204958, 12.106072887148109], pa.float64(), ["≈9.264504512", "≈12.10607289"]),
        ([float("nan"), float("inf"), float("-inf")], pa.float64(), ["NaN", "∞", "-∞"]),
        ([True, False, None], pa.bool_(), ["true", "false", None]),
        (["", "a", None], pa.string(), ["", "a", None]),
        ([dt.date(2013, 1, 31)], pa.date32(), ["2013-01-31"]),
        ([dt.datetime(2013, 1, 31, 17, 30)], pa.timestamp("us"), ["2013-01-31 17:30:00"]),
        ([dt.datetime(2013, 1, 31, 17, 30, 1, 500_000)], pa.timestamp("us"), ["2013-01-31 17:30:01.5"]),
        (
            [dt.datetime(2024, 10, 5, 8), dt.datetime(2020, 1, 1, 9)],
            pa.timestamp("us"),
            ["2024-10-05 08:00:00", "2020-01-01 09:00:00"],
        ),
        ([dt.datetime(1800, 10, 10, 10, 10, 10, 10)], pa.timestamp("us"), ["1800-10-10 10:10:10.00001"]),
        ([dt.datetime(2000, 10, 20)], pa.timestamp("ns", "UTC"), ["2000-10-20 00:00:00Z"]),
        ([dt.datetime(1970, 10, 20)], pa.timestamp("ms"), ["1970-10-20 00:00:00"]),
        ([0, 10], pa.timestamp("s", "UTC"), ["1970-01-01 00:00:00Z", "1970-01-01 00:00:10Z"]),
        ([Decimal("1.20")], pa.decimal128(5, 2), ["1.20"]),
        ([b"\x00\xff", b"", None], pa.binary(), ["2 B · 0x00ff", "0 B", None]),
        ([[1, None]], pa.list_(pa.int8()), ["[1, null]"]),
        (
            [{"a": "ü", "b": b"\x01"}],
            pa.struct({"a": pa.string(), "b": pa.binary()}),
            ['{"a": "ü", "b": "0x01"}'],
        ),
    ],
)
def test_values_are_written_so_that_people_can_read_them(values, type_, texts) -> None:
    assert screen_texts(pa.chunked_array([pa.array(values, type_)])) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345678901.25, "12345678901.25"),
        (0.1 + 0.2, "≈0.3"),
        (-1 / 3, "≈-0.3333333333"),
        (12345678901.255737, "≈12345678901.26"),
        (1e300 / 3, "≈3.333333333e+299"),
        (123456789012345.0, "123456789012345"),
        (12345678901234567.0, "≈1.23456789e+16"),
        (1.5e-300, "1.5e-300"),
        (0.000123456789012345, "0.000123456789012345"),
        (-0.0, "-0"),
    ],
)
def test_a_float_is_rounded_on_screen_with_a_mark_only(value, text) -> None:
    assert screen_texts(pa.array([value])) == [text]


@given(st.floats(-1e300, 1e300))
def test_a_float_on_screen_without_a_mark_is_the_whole_number(value) -> None:
    (text,) = screen_texts(pa.array([value], pa.float64()))
    assert text.startswith(ROUNDED_MARK) or float(text) == value
    assert float(text.removeprefix(ROUNDED_MARK)) == pytest.approx(value, rel=1e-9)


def test_dictionary_values_are_written_like_what_they_stand_for() -> None:
    assert screen_texts(pa.array(["a", None, "a"]).dictionary_encode()) == ["a", None, "a"]


def test_long_text_is_cut_on_screen_and_whole_when_copied() -> None:
    text = "x" * 1000
    values = pa.array([text])
    assert screen_texts(values) == ["x" * (LONGEST - 1) + "…"]
    assert whole_texts(values) == [text]


def test_line_breaks_stay_on_one_line_on_screen() -> None:
    assert screen_texts(pa.array(["a\r\nb\tc\nd"])) == ["a↵b⇥c↵d"]


@pytest.mark.parametrize(
    ("text", "display"),
    [
        ("nul\0 bell\a", "nul\\x00 bell\\x07"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202egnp", "\\u202egnp"),
        ("e\u0301", "e\u0301"),
    ],
)
def test_control_characters_are_seen(text, display) -> None:
    assert screen_texts(pa.array([text])) == [display]
    assert whole_texts(pa.array([text])) == [text]
    assert is_whole(display) is (text == display)


def test_times_with_a_zone_are_written_as_iso_has_them() -> None:
    times = pa.array([dt.datetime(2020, 1, 1, 0, 0, 7, 500_000)], pa.timestamp("us", "Asia/Kolkata"))
    assert whole_texts(times) == ["2020-01-01 05:30:07.5+05:30"]
    assert with_fraction_digits("2020-01-01 05:30:07.5+05:30", 3) == "2020-01-01 05:30:07.500+05:30"
    assert parse_cell(whole_texts(times)[0], times.type) == dt.datetime(2020, 1, 1, 0, 0, 7, 500_000, dt.UTC)


def test_text_that_is_not_utf8_is_shown_with_escapes() -> None:
    broken = pa.array([b"ab\xff", b"c", None]).view(pa.string())
    assert whole_texts(broken) == ["ab\\xff", "c", None]
    lists = pa.ListArray.from_arrays([0, 1, 2], broken.slice(0, 2))
    assert whole_texts(lists) == ['"(text that is not UTF-8)"', '["c"]']


def test_times_that_python_has_no_value_for_are_shown_inside_lists() -> None:
    far = pa.array([[9 * 10**18], [0]], pa.list_(pa.timestamp("us")))
    assert whole_texts(far) == ["[9000000000000000000]", '["1970-01-01 00:00:00"]']
    assert whole_texts(pa.array([2**62], pa.duration("s"))) == ["53375995583650 d 7:45:04"]


def test_long_binary_is_cut_on_screen_and_whole_when_copied() -> None:
    values = pa.array([b"\x01" * 100])
    assert screen_texts(values)[0].endswith("…")
    assert whole_texts(values) == ["0x" + "01" * 100]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_a_float_reads_back_as_the_same_number(numbers) -> None:
    assert [float(text) for text in whole_texts(pa.array(numbers, pa.float64()))] == numbers


@pytest.mark.parametrize(
    ("text", "digits", "expected"),
    [
        ("2020-01-01 00:00:07", 3, "2020-01-01 00:00:07.000"),
        ("2020-01-01 00:00:07.5Z", 3, "2020-01-01 00:00:07.500Z"),
        ("2020-01-01 00:00:07+01:00", 1, "2020-01-01 00:00:07.0+01:00"),
        ("00:00:07.25", 2, "00:00:07.25"),
        ("00:00:07", 0, "00:00:07"),
        ("somewhen", 3, "somewhen"),
    ],
)
def test_times_of_a_column_are_filled_with_zeros(text, digits, expected) -> None:
    assert with_fraction_digits(text, digits) == expected


@pytest.mark.parametrize(
    ("text", "digits"),
    [("1.25", 2), ("1", 0), ("≈10.35702", 5), ("1.5e-09", 0), ("NaN", 0), ("10:00:00.5Z", 1)],
)
def test_digits_behind_the_point_are_counted(text, digits) -> None:
    assert fraction_digits(text) == digits


@pytest.mark.parametrize(
    ("count", "type_", "text"),
    [
        (9 * 10**18, pa.timestamp("us"), "287168-08-24 16:00:00"),
        (9 * 10**18, pa.timestamp("us", "Europe/Berlin"), "287168-08-24 16:00:00Z"),
        (-(10**15), pa.timestamp("s"), "-31686769-06-29 22:13:20"),
        (2**31 - 1, pa.date32(), "5881580-07-11"),
        (9 * 10**15, pa.date64(), "287168-08-24"),
    ],
)
def test_far_days_and_moments_are_shown_and_exported_as_they_are(count, type_, text) -> None:
    width = pa.int32() if pa.types.is_date32(type_) else pa.int64()
    values = pa.array([count, 0, None], width).cast(type_)
    day = "1970-01-01"
    assert whole_texts(values)[0] == text and (whole_texts(values)[1] or "").startswith(day)
    assert (texts_of(values)[0].as_py() or "").replace(".000000", "") == text
    assert (texts_of(values, TextStyle(dates="dd.mm.yyyy"))[0].as_py() or "").replace(".000000", "") == text
