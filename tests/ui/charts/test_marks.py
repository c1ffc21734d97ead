"""Figures of a chart are painted as marks."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem

from lamella.ui.charts.marks import DASHED_POINTS, MOST_JOINED, Shapes, curve_items
from lamella.ui.widgets.plotting import cosmetic_pen


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(("width", "colors"), [(3, {"#ff0000"}), (20, {"#ff0000", "#ffffff"})])
def test_wide_bars_are_set_off_from_each_other_and_narrow_ones_touch(width: int, colors: set[str]) -> None:
    shapes, outline = Shapes(separated=True), QPen(QColor("white"))
    for number in range(4):
        shapes.add(QRectF(number * width, 0, width, 20), QBrush(QColor("red")), outline)
    image = QImage(4 * width, 20, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        shapes.paint(painter, QStyleOptionGraphicsItem())
    assert {image.pixelColor(x, 10).name() for x in range(image.width())} == colors


def painted(items: list[pg.PlotCurveItem], width: int) -> QImage:
    image = QImage(width, 100, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    with QPainter(image) as painter:
        for item in items:
            item.paint(painter, QStyleOptionGraphicsItem(), None)
    return image


@pytest.mark.usefixtures("qapp")
def test_a_line_of_many_points_is_drawn_in_segments_where_one_path_would_be_drawn() -> None:
    x = np.linspace(5, 595, 2 * MOST_JOINED)
    y = 50 + 40 * np.sin(x / 20)
    pen = cosmetic_pen(QColor("red"), 2)
    items = list(curve_items(x, y, pen))
    path = pg.PlotCurveItem(x, y, pen=pen, antialias=True, segmentedLineMode="off")
    grays = [
        np.array([[image.pixelColor(a, b).green() for a in range(600)] for b in range(100)])
        for image in (painted(items, 600), painted([path], 600))
    ]
    assert [item.opts["segmentedLineMode"] for item in items] == ["on"]
    assert np.abs(grays[0] - grays[1]).max() < 128  # smoothed edges are a little darker where segments meet
    assert np.abs(grays[0] - grays[1]).mean() < 1


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("points", [MOST_JOINED, 10 * MOST_JOINED])
def test_a_dashed_line_has_gaps_however_many_points_it_has(points: int) -> None:
    pen = cosmetic_pen(QColor("red"), 2, Qt.PenStyle.DashLine)
    items = list(curve_items(np.linspace(0, 600, points), np.full(points, 50.0), pen))
    image = painted(items, 600)
    greens = [image.pixelColor(x, 50).green() for x in range(600)]
    assert min(greens) < 50 and max(greens) > 200
    assert all(len(item.getData()[0]) <= max(MOST_JOINED, DASHED_POINTS + 1) for item in items)
