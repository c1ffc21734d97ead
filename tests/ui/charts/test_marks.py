"""Figures of a chart are painted as marks."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem

from lamella.ui.charts.marks import Shapes


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
