"""Pictures of plots: what is drawn is as wide in relation to the picture as it is on the screen."""

from __future__ import annotations

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage

from lamella.ui.widgets.plotting import DOTS_PER_POINT, cosmetic_pen, pixels_of


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
