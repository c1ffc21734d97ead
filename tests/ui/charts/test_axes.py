"""Ticks along the axes of a chart."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest

from lamella.core.query.charts.dimensions import NULL, OTHERS, Dimension, Place
from lamella.ui import theme
from lamella.ui.charts.axes import ChartAxis, LogTicks, MomentTicks, NameTicks, even_decimals


@pytest.mark.parametrize(
    ("low", "high", "pixels", "names"),
    [
        (1, 4, 600, {"1", "2", "3", "4"}),
        (1, 4, 150, {"1", "2"}),
        (3, 90, 600, {"5", "10", "20", "50"}),
        (10, 10_000, 600, {"10", "100", "1,000", "10,000"}),
    ],
)
def test_a_log_axis_names_what_it_has_room_for(low, high, pixels, names):
    ticks = LogTicks()
    levels = ticks.values(math.log10(low), math.log10(high), pixels, "bottom")
    texts = [text for spacing, values in levels for text in ticks.texts(values, spacing)]
    assert {text for text in texts if text} == names


@pytest.mark.parametrize("pixels", [300, 410, 690])
def test_turned_labels_do_not_overlap(qapp, pixels):
    places = tuple(Place(n, f"N{n}JB", f"N{n}JB", n, n - 0.5, n + 0.5) for n in range(300, 330))
    ticks = NameTicks(Dimension("tailnum", pa.string(), "values", places))
    ticks.fit(pixels, "bottom")
    [(_, at)] = ticks.values(299.5, 329.5, pixels, "bottom")
    between_lines = (at[1] - at[0]) * pixels / len(places) / math.sqrt(2)
    assert ticks.turned and between_lines >= 0.95 * theme.current().line_height("caption")


@pytest.mark.parametrize(
    ("texts", "even"),
    [
        (["0", "−1", "−0.5", "1,000"], ["0.0", "−1.0", "−0.5", "1,000.0"]),
        (["0", "0.25", "0.5"], ["0.00", "0.25", "0.50"]),
        (["0", "5", "10"], ["0", "5", "10"]),
        (["0", "1.5M", "2M"], ["0", "1.5M", "2M"]),
        ([], []),
    ],
)
def test_labels_of_an_axis_have_the_same_number_of_decimals(texts, even):
    assert even_decimals(texts) == even


@pytest.mark.parametrize("nulls", [0, 1])
def test_the_bar_of_all_other_values_keeps_its_label(qapp, nulls):
    names = ["others", "NULL"][: 1 + nulls]
    keys = [*range(20), *(OTHERS, NULL)[: 1 + nulls]]
    places = tuple(
        Place(key, f"N3{at}JB" if key >= 0 else names[at - 20], None, at, at - 0.5, at + 0.5)
        for at, key in enumerate(keys)
    )
    ticks = NameTicks(Dimension("tailnum", pa.string(), "values", places, others=9))
    for pixels in range(80, 500, 20):
        ticks.fit(pixels, "bottom")
        [(_, shown)] = ticks.values(-0.5, len(keys) - 0.5, pixels, "bottom")
        assert 20 in shown


def test_the_texts_of_all_levels_of_ticks_are_alike(qapp):
    axis = ChartAxis("left")
    levels = axis.tickValues(0, 1_050_000, 700)
    texts = [text for spacing, values in levels for text in axis.tickStrings(values, 1.0, spacing)]
    assert {"1M", "900k", "800k"} <= set(texts) and not any("," in text for text in texts)


def seconds(year: int, month: int, day: int) -> float:
    return dt.datetime(year, month, day, tzinfo=dt.UTC).timestamp()


def test_ticks_of_weeks_are_mondays_and_say_the_year_where_it_begins():
    ticks = MomentTicks()
    for size, days, count in ((1500.0, 7, 15), (700.0, 14, 7)):
        ((spacing, values),) = ticks.values(seconds(2025, 11, 27), seconds(2026, 3, 12), size, "bottom")
        moments = [dt.datetime.fromtimestamp(value, dt.UTC) for value in values]
        assert spacing == days * 86_400 and len(moments) == count
        assert all(moment.weekday() == 0 and moment.hour == 0 for moment in moments)
        assert [text for text in ticks.texts(values, spacing) if " 20" in text] == ["5 Jan 2026"]
