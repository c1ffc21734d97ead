"""Pictures of plots: what is drawn is as wide in relation to the picture as it is on the screen."""

from __future__ import annotations

import re

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from lamella.ui.widgets.plotting import DOTS_PER_POINT, HATCHES, cosmetic_pen, hatched, pixels_of, svg_of


def dark_dots(picture: QImage) -> int:
    """The dark dots in the middle row."""
    middle = picture.height() // 2
    return sum(picture.pixelColor(x, middle).lightness() < 128 for x in range(picture.width()))


@pytest.mark.parametrize("width", [1, 4])
def test_lines_of_a_picture_are_as_wide_as_on_the_screen(qtbot, width):
    plot = pg.PlotWidget(background="w")
    qtbot.addWidget(plot)
    plot.resize(300, 200)
    plot.hideAxis("left")
    plot.hideAxis("bottom")
    plot.addItem(pg.PlotCurveItem([1, 1], [0, 1], pen=cosmetic_pen(QColor("black"), width)))
    with qtbot.waitExposed(plot):
        plot.show()
    picture = pixels_of(
        plot.size(), lambda painter: plot.render(painter, QRectF(plot.rect()), plot.viewport().rect())
    )
    assert dark_dots(plot.grab().toImage()) == width
    assert dark_dots(picture) == DOTS_PER_POINT * width


def in_units_of_data(painter: QPainter) -> None:
    """An outline, an ellipse, lines, a text and hatches, in units of 50 × 20 pixels."""
    painter.translate(20, 180)
    painter.scale(50, -20)
    painter.setPen(cosmetic_pen(QColor("black"), 2))
    painter.drawRect(QRectF(0, 0, 1, 8))
    painter.drawEllipse(QRectF(1.5, 0, 1, 8))
    painter.drawPolyline([QPointF(3, 0), QPointF(4, 8), QPointF(5, 0)])
    painter.drawText(QPointF(0.5, 4), "n")
    painter.setBrush(QBrush(QColor("white"), Qt.BrushStyle.BDiagPattern))
    painter.drawRect(QRectF(3, 0, 0.5, 2))


def test_a_drawing_is_the_same_in_programs_that_scale_lines_with_the_plot(qapp):
    size = QSize(300, 200)
    drawing = svg_of("Shapes", size, in_units_of_data)
    assert "vector-effect" not in drawing
    hatched = re.search('<g fill="url[^>]*>', drawing)
    assert hatched is not None and "transform" not in hatched[0]
    expected, picture = (QImage(size, QImage.Format.Format_RGB32) for _ in range(2))
    for image in (expected, picture):
        image.fill(QColor("white"))
    painter = QPainter(expected)
    in_units_of_data(painter)
    painter.end()
    painter = QPainter(picture)
    QSvgRenderer(drawing.encode()).render(painter)
    painter.end()
    for image in (expected, picture):
        image.setDevicePixelRatio(1)
    assert dark_dots(expected) == pytest.approx(dark_dots(picture), abs=4) and dark_dots(picture) > 10


@pytest.mark.parametrize("style", HATCHES)
def test_hatches_of_a_picture_are_as_coarse_as_on_the_screen(qapp, style):
    size = QSize(40, 40)

    def paint(painter: QPainter) -> None:
        painter.fillRect(QRectF(0, 0, 40, 40), QColor("white"))
        painter.fillRect(QRectF(0, 0, 40, 40), hatched(painter, QBrush(QColor("black"), style)))

    screen = QImage(size, QImage.Format.Format_RGB32)
    with QPainter(screen) as painter:
        paint(painter)
    assert pixels_of(size, paint) == screen.scaled(size * DOTS_PER_POINT)
