"""Times over runs: evenly spaced along the bottom, powers of ten up the side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from lamella.core.bench.results.figures import shown_seconds
from lamella.ui import theme
from lamella.ui.bench.axes import SECONDS, DecadeAxis
from lamella.ui.bench.plot_lines import DrawnLine, Spot
from lamella.ui.bench.series import Series

REACH = 14
LABEL_PIXELS = 100
BEAM = 0.01
SIDES = 0.8
"""Left and right of the runs, so that their labels are not cut."""

ROOM = 0.15
"""Above and below, in decades."""


class TrendPlot(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Times over the saved runs")
        self.spots: list[Spot] = []
        self._series: Sequence[Series] = ()
        self._moments: Sequence[datetime] = ()
        self._bottom, self._left = pg.AxisItem("bottom"), DecadeAxis("left", SECONDS)
        self.canvas = pg.PlotWidget(axisItems={"bottom": self._bottom, "left": self._left})
        self.canvas.setMenuEnabled(False)
        self.canvas.hideButtons()
        self.canvas.getViewBox().setMouseEnabled(x=False, y=False)
        self.canvas.scene().sigMouseMoved.connect(self._hover)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        theme.current().changed.connect(self._draw)

    def show_series(self, series: Sequence[Series], moments: Sequence[datetime]) -> None:
        """The `rows` of a point are its place in `moments`."""
        self._series, self._moments = series, moments
        self._draw()

    def describe(self, spot: Spot) -> str:
        """What hovering over a point says."""
        point = spot.point
        spread = (
            f", {shown_seconds(point.low)} to {shown_seconds(point.high)}" if point.high > point.low else ""
        )
        counted = f"median of {point.samples}{spread}" if point.samples > 1 else "one sample"
        value = shown_seconds(point.value or 0.0)
        return f"{spot.series.title}, {self._moments[point.rows]:%Y-%m-%d %H:%M}\n{value} ({counted})"

    def nearest(self, position: QPointF) -> Spot | None:
        box = self.canvas.getViewBox()
        places = [(box.mapViewToScene(QPointF(spot.x, spot.y)) - position, spot) for spot in self.spots]
        near = [(math.hypot(away.x(), away.y()), spot) for away, spot in places]
        away, spot = min(near, key=lambda one: one[0], default=(math.inf, None))
        return spot if away <= REACH else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._label()

    def _hover(self, position: QPointF) -> None:
        spot = self.nearest(position)
        if spot is None:
            QToolTip.hideText()
            return
        at = self.canvas.mapToGlobal(self.canvas.mapFromScene(position))
        QToolTip.showText(at, self.describe(spot), self.canvas)

    def _draw(self) -> None:
        self.canvas.clear()
        self._dress()
        self.spots = []
        heights = range(len(self._series), 0, -1)
        for series, height in zip(self._series, heights, strict=True):
            spots = [Spot(series, p, p.rows, math.log10(p.value)) for p in series.points if p.value]
            line = DrawnLine(self.canvas, series, log=True)
            line.set_height(height)
            line.set_spots(spots, BEAM * len(self._moments))
            self.spots += spots
        values = [end for spot in self.spots for end in (spot.point.low, spot.point.high) if end > 0]
        low, high = (math.log10(min(values)), math.log10(max(values))) if values else (-3.0, 0.0)
        self.canvas.setRange(
            xRange=(-SIDES, len(self._moments) - 1 + SIDES), yRange=(low - ROOM, high + ROOM), padding=0
        )
        self._label()

    def _label(self) -> None:
        """As many moments as there is room for, the last among them."""
        count = len(self._moments)
        every = max(1, math.ceil(count * LABEL_PIXELS / max(1, self.width())))
        shown = [(place, f"{self._moments[place]:%m-%d %H:%M}") for place in range(count - 1, -1, -every)]
        self._bottom.setTicks([shown, [(place, "") for place in range(count)]])

    def _dress(self) -> None:
        look = theme.current()
        self.canvas.setBackground(look.color("surface"))
        self.canvas.showGrid(y=True, alpha=0.15)
        for axis in (self._bottom, self._left):
            axis.setPen(pg.mkPen(look.color("border_strong")))
            axis.setTextPen(look.color("muted"))
            axis.setStyle(tickFont=look.font(theme.TextSize.CAPTION), hideOverlappingLabels=False)
