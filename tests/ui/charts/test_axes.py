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
        (3.16, 3.98, 300, {"3.2", "3.4", "3.6", "3.8"}),
        (0.0021, 0.0024, 300, {"0.0021", "0.0022", "0.0023", "0.0024"}),
        (1_210, 1_230, 150, {"1,210", "1,220", "1,230"}),
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


def middle(begin: tuple[int, int, int], end: tuple[int, int, int]) -> float:
    return (seconds(*begin) + seconds(*end)) / 2


@pytest.mark.parametrize(
    ("unit", "end", "size", "texts", "places"),
    [
        ("month", (2025, 4, 1), 900, ["2025", "Feb", "Mar"],
         [middle((2025, 1, 1), (2025, 2, 1)), middle((2025, 2, 1), (2025, 3, 1)),
          middle((2025, 3, 1), (2025, 4, 1))]),
        ("day", (2025, 1, 4), 900, ["1 Jan 2025", "2 Jan", "3 Jan"],
         [middle((2025, 1, day), (2025, 1, day + 1)) for day in (1, 2, 3)]),
        ("week", (2025, 1, 27), 400, ["6 Jan", "13 Jan", "20 Jan"],
         [middle((2025, 1, day), (2025, 1, day + 7)) for day in (6, 13, 20)]),
        ("quarter", (2025, 7, 1), 400, ["2025 Q1", "Q2"],
         [middle((2025, 1, 1), (2025, 4, 1)), middle((2025, 4, 1), (2025, 7, 1))]),
        ("month", (2028, 1, 1), 300, ["2025", "2026", "2027", "2028"],
         [seconds(year, 1, 1) for year in (2025, 2026, 2027, 2028)]),
        ("", (2025, 4, 1), 300, ["2025", "Feb", "Mar", "Apr"],
         [seconds(2025, month, 1) for month in (1, 2, 3, 4)]),
    ],
)  # fmt: skip
def test_labels_that_name_a_unit_are_below_the_middle_of_its_bar(unit, end, size, texts, places):
    ticks = MomentTicks(unit)
    ((spacing, values),) = ticks.values(seconds(2025, 1, 1), seconds(*end), size, "bottom")
    assert (ticks.texts(values, spacing), values) == (texts, places)


def test_times_of_day_are_where_the_bars_of_hours_begin():
    begin = seconds(2025, 1, 1)
    ticks = MomentTicks("hour")
    ((spacing, values),) = ticks.values(begin, begin + 3 * 3_600, 2_000, "bottom")
    assert values == [begin + hour * 3_600 for hour in range(4)]
    assert ticks.texts(values, spacing) == ["1 Jan", "01:00", "02:00", "03:00"]
