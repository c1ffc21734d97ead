"""Numbers stand with their points below each other, whatever their digits."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter

from lamella.ui.grid.texts import with_hyphen
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
    fitted, room = painter.align_decimals(text, pages.fraction(0), pages.fraction_digits[0], width)
    return room - painter.metrics.horizontalAdvance(fitted.removeprefix(fitted.partition(".")[0]))


def test_points_of_floats_stand_below_each_other(painter) -> None:
    places = {place_of_point(painter, text, 200) for text in ("1", "2.5", "10.25", "1234.125")}
    assert max(places) - min(places) <= 1


def test_a_number_that_would_be_cut_ends_at_the_edge(painter) -> None:
    width = painter.metrics.horizontalAdvance("1234") + 2
    assert painter.align_decimals("1234", painter._grid.grid_model.pages.fraction(0), 3, width) == (
        "1234",
        width,
    )


def test_times_show_as_many_digits_as_the_longest(painter) -> None:
    pages = painter._grid.grid_model.pages
    texts = [painter.align_decimals(pages.text(row, 1), pages.fraction(1), 6, 200)[0] for row in range(3)]
    assert [len(text) for text in texts] == [26, 26, 26]
    assert texts[1].endswith("00:00:07.500000")


def test_fitted_columns_have_room_for_points_in_line(painter) -> None:
    grid = painter._grid
    for column in (0, 1):
        width = grid.columnWidth(column) - 16
        for row in range(4):
            text = grid.grid_model.pages.text(row, column)
            if text is not None:
                assert painter.wanted_width(column, text) <= width


def test_negative_numbers_are_drawn_with_a_minus_and_texts_as_they_are(grid, settle) -> None:
    rows = {
        "number": [-5, 7],
        "float": [-0.1 - 0.2, 1.5],
        "span": [dt.timedelta(hours=-1), dt.timedelta(1)],
        "text": ["-5", "-"],
    }
    grid.show_rows(TableRows(pa.table(rows)))
    settle(grid)
    pages, painter = grid.grid_model.pages, grid._painter
    shown = [pages.shown_text(0, column) for column in range(4)]
    assert shown == ["-5", "≈-0.3", "-1:00:00", "-5"], "what is copied and searched"
    drawn = [painter.fitted_in_line(column, text, 200)[0] for column, text in enumerate(shown)]
    assert drawn == ["−5", "≈−0.3", "−1:00:00", "-5"]
    assert [with_hyphen(text) for text in drawn] == shown
    assert painter.wanted_width(0, "-5") >= painter.metrics.horizontalAdvance("−5")


def test_cells_on_screen_have_the_minus(grid, settle) -> None:
    grid.show_rows(TableRows(pa.table({"number": [-5], "text": ["-5"]})))
    settle(grid)
    texts = list[str]()

    class Recorder(QPainter):
        def drawText(self, *arguments) -> None:
            texts.extend(argument for argument in arguments if isinstance(argument, str))

    image = QImage(400, 200, QImage.Format.Format_RGB32)
    with Recorder(image) as recorder:
        grid._painter.paint(recorder, QRect(0, 0, 400, 200))
    assert texts == ["−5", "-5"]
