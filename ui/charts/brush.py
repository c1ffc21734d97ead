"""A brushed range of a chart: its places, the condition that finds their rows, and its drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from lamella.core.filters.expr import Filter, all_of
from lamella.core.query.charts.dimensions import Dimension, Place
from lamella.ui import theme
from lamella.ui.charts.words import brush_text
from lamella.ui.widgets.plotting import cosmetic_pen

VEIL_ALPHA = 165
"""How far marks outside of the brush fade into the surface, of 255."""
EDGE_WIDTH = 2.0


@dataclass(frozen=True)
class ChartSelection:
    """Places of a chart: the condition that finds their rows (None if there is none), its text, and
    the number of the chart's rows in them."""

    condition: Filter | None
    text: str
    rows: int


def select_places(parts: Sequence[tuple[Dimension, Sequence[Place]]], rows: int) -> ChartSelection:
    """The rows that lie in the places of each of the dimensions."""
    conditions = [dimension.filter_of(places) for dimension, places in parts]
    place_conditions = [condition for condition in conditions if condition is not None]
    text = ", ".join(brush_text(dimension, places) for dimension, places in parts)
    if len(place_conditions) < len(conditions) or not place_conditions:
        return ChartSelection(None, text, rows)
    condition = place_conditions[0] if len(place_conditions) == 1 else all_of(place_conditions)
    return ChartSelection(condition, text, rows)


def places_between(dimension: Dimension, low: float, high: float) -> list[Place]:
    """The places that a range of the axis touches; if there are several, the last one is left out when it is
    only touched at its edge."""
    if dimension.form == "moments" and dimension.places:
        inside = [place for place in dimension.places if low <= place.at <= high]
        return inside or list(dimension.range_between(low, high))
    return list(dimension.range_between(low, high))


class Veil(pg.GraphicsObject):
    """Fades everything in a panel outside of the brush, whose edges are lines in the colour of text: it is
    seen by brightness and outline, whatever the colour of the marks."""

    def __init__(self, brush: QRectF | None) -> None:
        """`brush` is in the coordinates of the panel; None for a panel in which nothing is brushed."""
        super().__init__()
        self._brush = brush
        self.setZValue(50)

    def boundingRect(self) -> QRectF:
        return QRectF(self.viewRect())

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()
        super().viewTransformChanged()

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if widget is None:  # a picture or drawing of the chart, not the window
            return
        look, transform = theme.current(), p.worldTransform()
        whole = transform.mapRect(self.boundingRect())
        inside = QRectF() if self._brush is None else transform.mapRect(self._brush).intersected(whole)
        p.save()
        p.setWorldTransform(QTransform())
        shade = look.color("surface")
        shade.setAlpha(VEIL_ALPHA)
        for outside in _around(whole, inside):
            p.fillRect(outside, shade)
        if self._brush is not None:
            p.setPen(cosmetic_pen(look.color("text"), EDGE_WIDTH))
            p.setBrush(Qt.BrushStyle.NoBrush)
            p.drawRect(inside)
        p.restore()


def _around(whole: QRectF, inside: QRectF) -> list[QRectF]:
    """The parts of a rectangle outside of another."""
    if inside.isEmpty():
        return [whole]
    left, right = whole.left(), whole.right()
    return [
        QRectF(left, whole.top(), inside.left() - left, whole.height()),
        QRectF(inside.right(), whole.top(), right - inside.right(), whole.height()),
        QRectF(inside.left(), whole.top(), inside.width(), inside.top() - whole.top()),
        QRectF(inside.left(), inside.bottom(), inside.width(), whole.bottom() - inside.bottom()),
    ]
