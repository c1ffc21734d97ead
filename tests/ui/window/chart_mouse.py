"""The mouse over a chart: where its figures are, and drags from place to place."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest


def point_of(view, mark) -> QPoint:
    """The position of a figure on the canvas."""
    canvas = view.canvas
    panel = next(p for p in canvas.panels if mark in p.drawing.marks)
    place = mark.point if mark.area is None else mark.area.center()
    return canvas.mapFromScene(panel.plot.vb.mapViewToScene(QPointF(place)))


def drag(view, start: QPoint, end: QPoint) -> None:
    viewport = view.canvas.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(viewport, QPoint((start.x() + end.x()) // 2, end.y()))
    QTest.mouseMove(viewport, end)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
