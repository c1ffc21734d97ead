"""Values as a format writes them. Without Qt."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import agg, col
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.query.steps import (
    Buckets,
    Compute,
    Group,
    Limit,
    Pivot,
    Sort,
    Step,
    Unwind,
    Where,
)
from lamella.core.scan.snapshot import SortKey
from lamella.ui.formats.formats import (
    BY_ID,
    CHOICES,
    FORMATS,
    LARGEST_PLAIN,
    SEPARATORS,
    Format,
    figure_formats,
    fitting,
    form_of,
    format_texts,
    kinds_for,
)
from lamella.ui.formats.shading import Rule, Shading
from lamella.ui.grid.texts import ROUNDED_MARK

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.floats(-1e15, 1e15)


def shown(value: Any, kind: str, type_: pa.DataType | None = None, **options: Any) -> str | None:
    return format_texts(pa.array([value], type_), Format(kind, **options))[0]


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (1234567.891, {"separators": "comma", "digits": 2}, "1,234,567.89"),
        (1234567.891, {"separators": "point", "digits": 2}, "1.234.567,89"),
        (1234567.891, {"separators": "space_comma", "digits": 1}, "1\u202f234\u202f567,9"),
        (1234567.891, {"separators": "apostrophe"}, "1’234’567.891"),
        (1234567.891, {}, "1234567.891"),
        (0.1 + 0.2, {"digits": 2}, "0.30"),
        (2.675, {"digits": 2}, "2.68"),
        (-2.5, {"digits": 0}, "-3"),
        (5.0, {"digits": 2}, "5.00"),
        (0.0, {"digits": 2}, "0.00"),
        (-0.004, {"digits": 2}, ROUNDED_MARK + "0.00"),
        (1234.5, {"significant": 3, "separators": "comma"}, "1,230"),
        (0.00123456, {"significant": 3}, "0.00123"),
        (99_999.0, {"significant": 3}, "100000"),
        (5.0, {"significant": 3}, "5"),
        (-1234.5, {"prefix": "€", "digits": 0}, "-€1235"),
        (12.0, {"suffix": " km"}, "12 km"),
        (1e25, {"digits": 2}, "1.00e+25"),
        (1.5e-20, {}, "1.5e-20"),
        (math.nan, {"digits": 2}, "NaN"),
        (-math.inf, {"digits": 2, "prefix": "€"}, "-∞"),
        (None, {"digits": 2}, None),
    ],
)
def test_numbers(value, options, text) -> None:
    assert shown(value, "number", pa.float64(), **options) == text


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (pa.int64(), 2**63 - 1),
        (pa.uint64(), 2**64 - 1),
        (pa.decimal128(38, 10), Decimal("12345678901234567890.0123456789")),
    ],
)
def test_large_whole_and_decimal_numbers_keep_every_digit(type_, value) -> None:
    text = shown(value, "number", type_, separators="comma")
    assert Decimal(text.replace(",", "")) == value


def test_a_float_of_four_bytes_is_not_widened() -> None:
    assert shown(0.1, "number", pa.float32()) == "0.1"


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, "12.3 %"), (1.5, "150.0 %"), (-0.0005, "-0.1 %"), (12.3456, "1,234.6 %")]
)
def test_percent(value, text) -> None:
    assert shown(value, "percent", digits=1, separators="comma") == text


@pytest.mark.parametrize(
    ("value", "sizes", "text"),
    [
        (0, "binary", "0 B"),
        (1023, "binary", "1023 B"),
        (1024, "binary", "1.0 KiB"),
        (1024**2 - 1, "binary", "1.0 MiB"),
        (-5 * 2**40, "binary", "-5.0 TiB"),
        (999_999, "decimal", "1.0 MB"),
        (2**63 - 1, "decimal", "9.2 EB"),
    ],
)
def test_bytes(value, sizes, text) -> None:
    assert shown(value, "bytes", sizes=sizes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.678, "1.23e+4"), (9.999e99, "1.00e+100"), (0.0, "0.00e+0"), (-0.00012, "-1.20e-4")],
)
def test_scientific(value, text) -> None:
    assert shown(value, "scientific", digits=2) == text


@pytest.mark.parametrize(
    ("seconds", "span", "text"),
    [
        (93_784, "clock", "26:03:04"),
        (93_784, "days", "1 d 02:03:04"),
        (93_784, "words", "1 d 2 h 3 min 4 s"),
        (-5, "clock", "-0:00:05"),
        (0, "words", "0 s"),
        (7200, "words", "2 h"),
    ],
)
def test_spans_of_numbers_and_of_durations(seconds, span, text) -> None:
    assert shown(seconds, "number_span", span=span) == text
    assert shown(seconds * 10**6, "span", pa.duration("us"), span=span) == text
    assert shown(seconds / 60, "number_span", unit="min", span=span, digits=0) == text


def test_fractions_of_a_second() -> None:
    assert shown(1_500, "span", pa.duration("ms")) == "0:00:01.5"
    assert shown(59_999, "span", pa.duration("ms"), digits=0) == "0:01:00"
    assert shown(61_000, "span", pa.duration("ms"), digits=2) == "0:01:01.00"


MOMENT = dt.datetime(2013, 12, 31, 14, 5, 9, 250_000)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "2013-12-31 14:05:09.25"),
        ({"date": "day_slash", "time": "minutes"}, "31/12/2013 14:05"),
        ({"date": "day_point", "time": "seconds"}, "31.12.2013 14:05:09"),
        ({"date": "day_name", "time": "none"}, "31 Dec 2013"),
        ({"date": "name_day", "time": "none"}, "Dec 31, 2013"),
        ({"date": "month", "time": "none"}, "Dec 2013"),
    ],
)
def test_moments(options, text) -> None:
    assert shown(MOMENT, "moment", pa.timestamp("us"), **options) == text


def test_zones() -> None:
    winter, summer = MOMENT, MOMENT.replace(month=7)
    in_utc = pa.timestamp("us", "UTC")
    options = {"zone": "America/New_York", "time": "minutes"}
    assert shown(winter, "moment", in_utc, **options) == "2013-12-31 09:05-05:00"
    assert shown(summer, "moment", in_utc, **options) == "2013-07-31 10:05-04:00"
    assert shown(winter, "moment", in_utc, zone="Nowhere/Town") == "2013-12-31 14:05:09.25Z"
    assert shown(winter, "moment", pa.timestamp("us"), zone="UTC") == "2013-12-31 14:05:09.25"


def test_days_and_times_of_day() -> None:
    assert shown(dt.date(2024, 2, 29), "date", date="day_name") == "29 Feb 2024"
    assert shown(dt.time(1, 2, 3), "clock", time="minutes") == "01:02"


def test_a_day_before_christ_or_far_away_is_written_all_the_same() -> None:
    days = pa.array([-1_000_000, 10_000_000], pa.date32())
    assert all(re.search(r"\d{4,}$", text) for text in format_texts(days, Format("date", date="day_name")))


@given(PLAIN, st.integers(0, 20))
def test_fixed_digits_are_read_back_to_the_nearest(value, digits) -> None:
    text = shown(value, "number", digits=digits)
    assert abs(Decimal(text.lstrip(ROUNDED_MARK)) - Decimal(repr(value))) <= Decimal(5).scaleb(-digits - 1)
    assert len(text.partition(".")[2]) == digits


@given(FLOATS, st.sampled_from(sorted(SEPARATORS)))
def test_all_digits_are_read_back_equal(value, separators) -> None:
    text = shown(value, "number", separators=separators)
    thousands, point = SEPARATORS[separators]
    plain = text.replace(thousands, "") if thousands else text
    assert float(plain.replace(point, ".")) == value


@given(FLOATS)
def test_scientific_is_read_back_equal(value) -> None:
    assert float(shown(value, "scientific")) == value


@given(FLOATS.filter(lambda value: abs(value) < LARGEST_PLAIN), st.integers(1, 17))
def test_significant_digits_are_as_near_as_they_can_be(value, count) -> None:
    exact = Decimal(repr(value))
    number = Decimal(shown(value, "number", significant=count))
    assert abs(number - exact) <= Decimal(5).scaleb(exact.adjusted() - count) if value else number == 0
    assert len(number.normalize().as_tuple().digits) <= count


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["clock", "days", "words"]))
def test_spans_are_read_back_equal(seconds, span) -> None:
    text = shown(seconds, "number_span", span=span)
    matches = re.findall(r"(\d+)( d| h| min| s)?", text)
    per = {" d": 86_400, " h": 3600, " min": 60, " s": 1}
    clock = [int(number) for number, unit in matches if not unit]
    total = sum(int(number) * per[unit] for number, unit in matches if unit)
    total += sum(part * 60**power for power, part in enumerate(reversed(clock)))
    assert (-total if text.startswith("-") else total) == seconds


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["binary", "decimal"]))
def test_bytes_are_never_shown_as_a_thousand_of_their_unit(value, sizes) -> None:
    text = shown(value, "bytes", sizes=sizes)
    assert abs(float(text.split()[0])) < (1024 if sizes == "binary" else 1000)


TYPES = {
    "number": pa.array([1, None, 3], pa.int8()),
    "float": pa.array([math.nan, None, -1e300]),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-0.05")]),
    "date": pa.array([dt.date(2020, 1, 1), None, None]),
    "moment": pa.array([MOMENT, None, MOMENT], pa.timestamp("ns", "UTC")),
    "time": pa.array([dt.time(1), None, None], pa.time64("ns")),
    "span": pa.array([1, None, -1], pa.duration("ns")),
    "words": pa.array(["a", None, "c\nd"]),
    "dictionary": pa.array([1.5, None, 2.5]).dictionary_encode(),
    "nested": pa.array([{"a": 1}, None, {"a": 2}]),
    "bytes": pa.array([b"a", None, b""]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("values", TYPES.values(), ids=TYPES)
def test_every_kind_that_is_offered_can_write_values_of_the_type(values) -> None:
    for known in kinds_for(values.type):
        for choice in [
            {},
            *({name: value} for name in known.options if name in CHOICES for value in CHOICES[name]),
        ]:
            texts = format_texts(pa.chunked_array([values]), Format(known.id, **choice))
            assert len(texts) == 3 and (texts[1] is None) and all(t is None or "\n" not in t for t in texts)
            assert [text is None for text in texts] == [text is None for text in texts.values]


def test_the_table_names_options_that_a_format_has() -> None:
    for known in FORMATS:
        assert BY_ID[known.id] is known and known.write is not None
        assert all(hasattr(Format(), option) for option in known.options)


def test_a_format_fits_as_far_as_it_says_something_of_a_type() -> None:
    form = Format("number", digits=2, align="left", shading=Shading("bars"))
    assert fitting(form, pa.float64()) is form
    assert fitting(form, pa.string()) == Format(align="left")
    assert fitting(Format("number", digits=2), pa.string()) is None
    assert fitting(None, pa.float64()) is None


SHADINGS = st.one_of(
    st.none(),
    st.builds(Shading, st.sampled_from(["scale", "bars"]), st.none() | PLAIN, st.none() | PLAIN),
    st.builds(lambda c: Shading("center", None, None, c), PLAIN),
    st.builds(lambda v: Shading("rules", rules=(Rule("<", v), Rule("≥", v, "blue"))), PLAIN),
)


@given(
    st.sampled_from(sorted(BY_ID)),
    st.sampled_from(sorted(SEPARATORS)),
    st.none() | st.integers(0, 20),
    st.sampled_from(["", "€", " km"]),
    SHADINGS,
)
def test_a_format_is_kept_as_json(kind, separators, digits, suffix, shading) -> None:
    form = Format(kind, separators, digits, suffix=suffix, shading=shading)
    assert Format.from_json(json.loads(json.dumps(form.to_json()))) == form


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        {"kind": "other"},
        {"kind": 3},
        {"colour": "red"},
        {"digits": -1},
        {"digits": 1000},
        {"digits": True},
        {"separators": ["comma"]},
        {"prefix": "x" * 100},
        {"suffix": "\n"},
        {"shading": {"kind": "rainbow"}},
        {"shading": {"kind": "scale", "low": "nan"}},
        {"shading": {"kind": "rules", "rules": [["<", 1, "pink"]]}},
        {"shading": {"kind": "rules", "rules": [["<", 1, "red"]] * 100}},
        {"shading": []},
    ],
)
def test_what_is_no_format_is_refused(obj) -> None:
    with pytest.raises(ValueError, match=r"."):
        Format.from_json(obj)


def test_formats_need_no_qt() -> None:
    code = "import sys, lamella.ui.formats.formats; sys.exit('PySide6' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("name", "has_separators"),
    [
        ("distance", True), ("n", True), ("", True), ("seats", True), ("number of rows", True),
        ("year", False), ("yearBuilt", False), ("_id", False), ("userID", False), ("zip_code", False),
        ("dep_time", False), ("order no", False), ("Postcode", False),
    ],
)  # fmt: skip
def test_whole_numbers_have_separators_unless_they_are_no_amounts(name: str, has_separators: bool) -> None:
    form = form_of({}, name, pa.int32())
    values = pa.chunked_array([[1234567, None, -2013, 7]], pa.int32())
    assert (form is not None) == has_separators
    if form is not None:
        assert list(format_texts(values, form)) == ["1,234,567", None, "-2,013", "7"]
        assert list(format_texts(values, form)) == list(BY_ID["number"].write(values, form))
    assert form_of({}, name, pa.float64()) is None and form_of({}, name, pa.string()) is None
    assert form_of({name: Format()}, name, pa.int32()) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (4.0, "4"), (12.5, "12.5"), (12.639070412, "12.639"), (-12.6396, "-12.640"),
        (0.1 + 0.2, "0.300"), (0.0659123, "0.0659"), (-0.000123456, "-0.000123"), (1.234e-7, "1.234e-7"),
        (1203442.75, "1,203,442.75"), (1e15, "1.000e+15"), (123456789.123456, "123,456,789.123"),
        (float("nan"), "NaN"), (float("-inf"), "-∞"), (None, None),
    ],
)  # fmt: skip
def test_rounded_numbers(value: float | None, text: str | None) -> None:
    texts = format_texts(pa.chunked_array([[value]], pa.float64()), Format("rounded"))
    assert list(texts) == [text]
    assert texts.values == whole_texts(pa.array([value], pa.float64()))


def figures(*steps: Step, **types: pa.DataType) -> set[str]:
    schema = pa.schema({"k": pa.string(), "a": pa.float64(), "b": pa.float64(), "n": pa.int64()} | types)
    return set(figure_formats(steps, schema))


def test_figures_that_are_computed_have_a_format() -> None:
    group = Group(("k",), (("a", agg.avg("x")), ("b", agg.min("x")), ("n", agg.count())))
    assert figures() == figures(Where(col("a") > 1)) == set()
    assert figures(group) == figures(Buckets("x", 3, group.aggregates)) == {"a"}
    behind = (Where(col("a") > 1), Sort((SortKey("a"),)), Limit(3))
    assert figures(group, *behind) == figures(group, Compute((("c", col("a") * 2),))) == {"a"}
    assert figures(group, Compute((("a", col("b") * 2),))) == set()
    assert figures(group, Unwind("k")) == set()
    assert figures(group, Group(("a",), (("b", agg.sum("n")),))) == {"b"}
    assert figures(group, a=pa.duration("s")) == set()


def test_figures_of_a_pivot_have_a_format() -> None:
    assert figures(Pivot(("k",), "x", (("mean", agg.avg("y")),))) == {"a", "b"}
    assert figures(Pivot(("k", "a"), "x", (("mean", agg.avg("y")),))) == {"b"}
    assert figures(Pivot(("k",), "x", (("mean", agg.avg("y")), ("least", agg.min("y"))))) == set()
