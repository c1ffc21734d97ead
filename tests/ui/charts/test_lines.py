"""Lines of charts are painted as paths or as segments."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem

from lamella.ui.charts.lines import DASHED_POINTS, MOST_JOINED, SegmentedLine, line_items
from lamella.ui.widgets.plotting import cosmetic_pen


def painted(items: list[pg.PlotCurveItem], width: int, transform: QTransform | None = None) -> QImage:
    image = QImage(width, 100, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    with QPainter(image) as painter:
        painter.setWorldTransform(transform or QTransform())
        for item in items:
            item.paint(painter, QStyleOptionGraphicsItem(), None)
    return image


@pytest.mark.usefixtures("qapp")
def test_a_line_of_many_points_is_drawn_in_segments_where_one_path_would_be_drawn() -> None:
    x = np.linspace(5, 595, 2 * MOST_JOINED)
    y = 50 + 40 * np.sin(x / 20)
    pen = cosmetic_pen(QColor("red"), 2)
    items = list(line_items(x, y, pen))
    path = pg.PlotCurveItem(x, y, pen=pen, antialias=True, segmentedLineMode="off")
    grays = [
        np.array([[image.pixelColor(a, b).green() for a in range(600)] for b in range(100)])
        for image in (painted(items, 600), painted([path], 600))
    ]
    assert [type(item) for item in items] == [SegmentedLine]
    assert np.abs(grays[0] - grays[1]).max() < 128  # smoothed edges are a little darker where segments meet
    assert np.abs(grays[0] - grays[1]).mean() < 1


@pytest.mark.usefixtures("qapp")
def test_a_line_in_segments_follows_the_scale_of_its_plot() -> None:
    x = np.linspace(5, 595, 2 * MOST_JOINED)
    y = 50 + 40 * np.sin(x / 20)
    pen, scale = cosmetic_pen(QColor("red"), 2), QTransform(1e-3, 0, 0, -5.0, 3, 480)
    plain = painted(list(line_items(x, y, pen)), 600)
    scaled = painted(list(line_items((x - 3) / 1e-3, (y - 480) / -5.0, pen)), 600, scale)
    assert plain == scaled


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("points", [MOST_JOINED, 10 * MOST_JOINED])
def test_a_dashed_line_has_gaps_however_many_points_it_has(points: int) -> None:
    pen = cosmetic_pen(QColor("red"), 2, Qt.PenStyle.DashLine)
    items = list(line_items(np.linspace(0, 600, points), np.full(points, 50.0), pen))
    image = painted(items, 600)
    greens = [image.pixelColor(x, 50).green() for x in range(600)]
    assert min(greens) < 50 and max(greens) > 200
    assert all(len(item.getData()[0]) <= max(MOST_JOINED, DASHED_POINTS + 1) for item in items)
