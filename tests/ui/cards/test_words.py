"""Ranges and shares are short on a card, and in full in its tooltip."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from lamella.core.filters.kinds import Kind
from lamella.core.query.axis import Scale
from lamella.core.query.cards import Bars, ColumnCard, Figures, TopValue
from lamella.ui.cards.words import (
    bar_text,
    captions_of,
    missing_share,
    number_text,
    percent,
    ranges,
    short_number,
    span_text,
    summary_of,
    texts_of,
    value_text,
)


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 10, "0%"), (0, 0, "0%"), (1, 3, "33%"), (24, 1000, "2.4%"), (1, 10**6, "<0.1%"), (10, 10, "100%"),
     (10**6 - 1, 10**6, ">99.9%"), (995, 1000, "99.5%"), (995, 10_000, "10%"), (99, 1000, "9.9%")],
)  # fmt: skip
def test_percent(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


def test_missing_share_is_of_nulls_or_else_of_nan() -> None:
    assert missing_share(Figures(1000, 24, 3)) == "2.4% null"
    assert missing_share(Figures(5, 5)) == "all null"
    assert missing_share(Figures(100, 0, 3)) == "3.0% NaN"
    assert missing_share(Figures(100)) == missing_share(Figures(0)) == ""


MOMENT = dt.datetime(2013, 1, 1, 5)


@pytest.mark.parametrize(
    ("low", "high", "longest"),
    [
        (61, 1014, "61 – 1,014"),
        (-43, 1301, "−43 – 1,301"),
        (2013, 2013, "2013"),
        (3.91, 9.62, "3.9 – 9.6"),
        (0.029, 0.145, "0.03 – 0.14"),
        (1e-300, 1e300, "1e-300 – 1e+300".replace("-", "−", 1)),
        (-math.inf, math.inf, "−∞ – ∞"),
        (Decimal("-1.25"), Decimal("3.50"), "−1.2 – 3.5"),
        (MOMENT, MOMENT.replace(month=12), "Jan – Dec 2013"),
        (MOMENT, MOMENT.replace(year=2024), "2013 – 2024"),
        (MOMENT, MOMENT.replace(year=2014, month=3), "Jan 2013 – Mar 2014"),
        (MOMENT, MOMENT.replace(day=17), "1 – 17 Jan 2013"),
        (MOMENT, MOMENT.replace(hour=17, minute=30), "1 Jan 2013 05:00 – 17:30"),
        (dt.date(2013, 1, 20), dt.date(2013, 2, 3), "20 Jan – 3 Feb 2013"),
        (dt.date(2013, 1, 20), dt.date(2013, 1, 20), "20 Jan 2013"),
        (dt.time(5), dt.time(23, 59), "05:00 – 23:59"),
        (dt.timedelta(seconds=-5), dt.timedelta(days=9), "−5 s – 9 d"),
        ("-0933-10-27T00:00:00", "5138-11-16T09:46:40", "-0933-10-2 – 5138-11-16"),
    ],
)
def test_ranges(low: object, high: object, longest: str) -> None:
    kind = Kind.FLOAT if isinstance(low, int | float | Decimal) else Kind.TIMESTAMP
    texts = ranges(low, high, kind)
    assert texts[0] == longest
    assert list(map(len, texts)) == sorted(map(len, texts), reverse=True)


def test_large_numbers_have_a_short_form() -> None:
    assert ranges(0, 12_345_678, Kind.INTEGER) == ("0 – 12,345,678", "0 – 12.3M")
    assert (short_number(-2_500), short_number(10**18), number_text(1.5)) == ("−2.5k", "1e+18", "1.5")
    assert span_text(dt.timedelta(milliseconds=1.5)) == "1.5 ms"


def test_a_short_form_never_makes_a_range_look_like_one_value() -> None:
    assert ranges(59.961, 60.039, Kind.FLOAT) == ("59.961 – 60.039", "59.96 – 60.04")
    assert ranges(100_049, 100_051, Kind.INTEGER) == ("100,049 – 100,051",)
    assert ranges(60.0, 60.0, Kind.FLOAT)[-1] == "60"


def test_values_are_one_line() -> None:
    assert value_text("a\n b\tc", pa.string()) == "a b c"
    assert (value_text("", pa.string()), value_text("  ", pa.string())) == ("empty", "spaces")
    assert len(value_text("x" * 5000, pa.string())) == 60
    assert value_text(b"\xff", pa.binary()) == "0xff"
    assert value_text([UUID(int=1)], pa.list_(pa.uuid())) == f'["{UUID(int=1)}"]'
    assert value_text({"a": [1]}, pa.struct([("a", pa.list_(pa.int64()))])) == '{"a": [1]}'


def of_texts(met: Figures | None) -> ColumnCard:
    top = (TopValue("AA", 3, None if met is None else 1),)
    return ColumnCard("<b>", pa.string(), Figures(10, 0, 0, 16), met, top, None, is_sample=True)


def test_captions_count_values() -> None:
    assert captions_of(of_texts(None)) == ("16 values", "16")
    assert captions_of(of_texts(Figures(4, 0, 0, 2)))[0] == "2 of 16 values"
    flags = ColumnCard("f", pa.bool_(), Figures(10, 0, 0, 2), None, (TopValue(True, 7, None),), None)
    assert captions_of(flags) == ("70% true",)


def test_a_card_of_a_sample_says_so() -> None:
    assert texts_of(of_texts(None)).captions == ("16 values, sample", "16, sample", "sample")
    nulls = ColumnCard("n", pa.string(), Figures(10, 10, 0, 0), None, (), None, is_sample=True)
    assert texts_of(nulls).captions == ("sample",)
    assert texts_of(replace(nulls, is_sample=False)).captions == ("",)


@pytest.mark.parametrize(
    ("name", "caption", "bar"),
    [("dep_time", "1 – 2400", "1200 – 2399"), ("distance", "1 – 2,400", "1,200 – 2,399")],
)
def test_a_card_has_separators_where_the_cells_have_them(name: str, caption: str, bar: str) -> None:
    figures = Figures(10, 0, 0, 5, min=1, max=2400)
    card = ColumnCard(name, pa.int64(), figures, None, (), Scale(0, 100, 1, True))
    assert captions_of(card)[0] == caption
    assert bar_text(card, Bars((1200, 2400), (1, 2, 3), None), 1, 1) == bar
    assert caption.replace(" – ", " to ") in summary_of(card)


def test_the_summary_says_what_is_counted() -> None:
    lines = summary_of(of_texts(Figures(4, 1, 0, 2, min="AA", max="UA"))).splitlines()
    assert lines == [
        "<b> · string",
        "Filtered: 4 rows · 1 null (25%) · 2 different values · AA to UA",
        "All rows: 10 rows · 16 different values",
        "From a sample of 10 rows. Exact figures follow.",
    ]


def test_bars_are_named_by_their_values() -> None:
    bars = Bars((10, 20), (1, 2, 3), None)
    card = ColumnCard("n", pa.int64(), Figures(6), None, (), None)
    named = [bar_text(card, bars, *places) for places in ((0, 0), (1, 1), (2, 2), (0, 2), (0, 1))]
    assert named == ["below 10", "10 – 19", "20 and above", "all values", "below 20"]
    floats = ColumnCard("x", pa.float64(), Figures(6), None, (), None)
    assert bar_text(floats, Bars((0.1, 0.2), (1, 2, 3), None), 1, 1) == "0.1 to below 0.2"
