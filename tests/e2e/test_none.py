"""Qt's bindings count references to None correctly: a release that loses some would crash."""

from __future__ import annotations

import sys

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage, QPainter

CALLS = 1_000


def test_painting_takes_no_references_to_none():
    image = QImage(10, 10, QImage.Format.Format_ARGB32)
    painter, area, color = QPainter(image), QRect(0, 0, 5, 5), QColor("red")
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        painter.fillRect(area, color)
    lost = before - sys.getrefcount(None)
    painter.end()
    assert lost < CALLS // 2
