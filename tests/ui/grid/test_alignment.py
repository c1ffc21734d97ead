"""Numbers stand with their points below each other, whatever their digits."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from tests.ui.grid.fake_rows import TableRows

NUMBERS = [1.0, 2.5, 10.25, 1234.125, 1e-300, float("nan"), None]
SECOND = dt.datetime(2020, 1, 1, 0, 0, 7)
TIMES = [SECOND, SECOND.replace(microsecond=500_000), SECOND.replace(microsecond=123_456), None]


@pytest.fixture
def painter(grid, settle):
    times = (TIMES * 2)[: len(NUMBERS)]
    grid.show_rows(TableRows(pa.table({"number": NUMBERS, "time": pa.array(times, pa.timestamp("us"))})))
    settle(grid)
    grid.fit_columns()
    return grid._painter


def place_of_point(painter, text: str, width: int) -> int:
    pages = painter._grid.grid_model.pages
    shown, room = painter.lined_up(text, pages.fraction(0), pages.fraction_digits[0], width)
    return room - painter.metrics.horizontalAdvance(shown.removeprefix(shown.partition(".")[0]))


def test_points_of_floats_stand_below_each_other(painter) -> None:
    places = {place_of_point(painter, text, 200) for text in ("1", "2.5", "10.25", "1234.125")}
    assert max(places) - min(places) <= 1


def test_a_number_that_would_be_cut_ends_at_the_edge(painter) -> None:
    width = painter.metrics.horizontalAdvance("1234") + 2
    assert painter.lined_up("1234", painter._grid.grid_model.pages.fraction(0), 3, width) == ("1234", width)


def test_times_show_as_many_digits_as_the_longest(painter) -> None:
    pages = painter._grid.grid_model.pages
    shown = [painter.lined_up(pages.text(row, 1), pages.fraction(1), 6, 200)[0] for row in range(3)]
    assert [len(text) for text in shown] == [26, 26, 26]
    assert shown[1].endswith("00:00:07.500000")


def test_fitted_columns_have_room_for_points_in_line(painter) -> None:
    grid = painter._grid
    for column in (0, 1):
        width = grid.columnWidth(column) - 16
        for row in range(4):
            text = grid.grid_model.pages.text(row, column)
            if text is not None:
                assert painter.wanted_width(column, text) <= width
