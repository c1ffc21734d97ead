"""Lines of charts, and the areas between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

MOST_JOINED, DASHED_POINTS = 150, 32
"""The most points of a line that is one path, and those of a part of a longer dashed one."""


class SegmentedLine(pg.PlotCurveItem):
    """A long solid line as separate segments. Qt takes half a second to stroke one path of a thousand jagged
    points, an eighth of that for segments that it scales, and a fiftieth for segments in pixels."""

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        x, y = self.getData()
        transform = p.worldTransform()
        across, down = x * transform.m11() + transform.dx(), y * transform.m22() + transform.dy()
        segments = np.column_stack([across[:-1], down[:-1], across[1:], down[1:]])
        p.save()
        p.setWorldTransform(QTransform())
        p.setRenderHint(QPainter.RenderHint.Antialiasing)
        p.setPen(self.opts["pen"])
        p.drawLines([QLineF(*segment) for segment in segments.tolist()])
        p.restore()


def line_items(x: np.ndarray, y: np.ndarray, pen: QPen) -> Iterator[pg.PlotCurveItem]:
    """A line through these points, which are finite. In segments, dashes would begin anew at each point, so
    long dashed lines are a few paths."""
    if len(x) <= MOST_JOINED:
        yield pg.PlotCurveItem(x, y, pen=pen, antialias=True)
    elif pen.style() == Qt.PenStyle.SolidLine:
        yield SegmentedLine(x, y, pen=pen)
    else:
        for first in range(0, len(x) - 1, DASHED_POINTS):
            part = slice(first, first + DASHED_POINTS + 1)
            yield pg.PlotCurveItem(x[part], y[part], pen=pen, antialias=True)


def area_between(x: np.ndarray, low: np.ndarray, high: np.ndarray, color: QColor) -> QGraphicsPathItem:
    """The area between two lines. pyqtgraph's own item makes two curves of them first."""
    points = zip([*x, *x[::-1]], [*low, *high[::-1]], strict=True)
    path = QPainterPath()
    path.addPolygon(QPolygonF([QPointF(at, value) for at, value in points]))
    path.closeSubpath()
    item = QGraphicsPathItem(path)
    item.setPen(QPen(Qt.PenStyle.NoPen))
    item.setBrush(QBrush(color))
    item.setZValue(-1)
    return item


def line_pairs(points: Sequence[tuple[float, float]], pen: QPen) -> pg.PlotCurveItem:
    """Lines between pairs of points."""
    x, y = [x for x, _ in points], [y for _, y in points]
    return pg.PlotCurveItem(x, y, connect="pairs", pen=pen, antialias=True)
