"""What is drawn in a plot: a series with its spread, the grid, the band below the clock's resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from lamella.ui import theme
from lamella.ui.bench.series import DAGGER, Look, Series, SeriesPoint

Frame = tuple[float, float, float, float]
"""Left, right, low, high, in the plot's own coordinates."""


@dataclass(frozen=True)
class Spot:
    """One drawn point, where it stands in the plot's own coordinates."""

    series: Series
    point: SeriesPoint
    x: float
    y: float


class DrawnLine:
    """A line of the plot that takes new points without being made again."""

    def __init__(self, canvas: pg.PlotWidget, series: Series, log: bool) -> None:
        self._canvas, self._log = canvas, log
        self._places: list[tuple[float, ...]] = []
        look = Look.of(series)
        self._bars = pg.ErrorBarItem(pen=look.outline)
        self._line = pg.PlotDataItem(
            pen=look.line,
            symbol=look.marker,
            symbolSize=look.size,
            symbolPen=look.outline,
            symbolBrush=look.fill,
            antialias=True,
        )
        for item in (self._bars, self._line):
            canvas.addItem(item, ignoreBounds=True)

    def set_height(self, height: int) -> None:
        """What is higher lies above."""
        for item in (self._bars, self._line):
            item.setZValue(height)

    def set_spots(self, spots: Sequence[Spot], beam: float) -> None:
        """`beam` is the width of an error bar's ends, in the plot's own coordinates."""
        places = [(spot.x, spot.y, spot.point.low, spot.point.high, beam) for spot in spots]
        if places == self._places:
            return
        self._places = places
        self._line.setData(np.array([spot.x for spot in spots]), np.array([spot.y for spot in spots]))
        spread = [s for s in spots if s.point.value is not None and s.point.high > s.point.low > 0]
        y = np.array([spot.y for spot in spread])
        self._bars.setVisible(bool(spread))
        self._bars.setData(
            x=np.array([spot.x for spot in spread]),
            y=y,
            top=np.array([self._at(spot.point.high) for spot in spread]) - y,
            bottom=y - np.array([self._at(spot.point.low) for spot in spread]),
            beam=beam,
        )

    def remove(self) -> None:
        for item in (self._bars, self._line):
            self._canvas.removeItem(item)

    def _at(self, value: float) -> float:
        return math.log10(value) if self._log else value


class Band:
    """The strip for values that the clock could not tell from nothing, with its label."""

    def __init__(self, canvas: pg.PlotWidget) -> None:
        colors = theme.current()
        self._strip = pg.LinearRegionItem(
            (0, 1),
            orientation="horizontal",
            movable=False,
            brush=pg.mkBrush(colors.color("sunken")),
            pen=pg.mkPen(colors.color("border_strong"), style=Qt.PenStyle.DotLine),
        )
        self._strip.setZValue(-10)
        self._label = text_item("below clock resolution", colors.color("muted"), (1, 0.5))
        self._items = (self._strip, self._label)
        for item in self._items:
            canvas.addItem(item, ignoreBounds=True)

    def show_between(self, low: float, high: float, right: float) -> None:
        self._strip.setRegion((low, high))
        self._label.setPos(right, (low + high) / 2)

    def set_visible(self, visible: bool) -> None:
        for item in self._items:
            item.setVisible(visible)


def grid_lines(xs: Sequence[float], ys: Sequence[float], frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """The ends of lines at `xs` and `ys` across the frame, as pairs."""
    left, right, low, high = frame
    ends = [((x, low), (x, high)) for x in xs] + [((left, y), (right, y)) for y in ys]
    points = np.array(ends, dtype=float).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def dagger(spot: Spot) -> pg.TextItem:
    """At a point that hovering says more about."""
    item = text_item(DAGGER, QColor(spot.series.color(theme.current().colors)), (0.5, 1.1))
    item.setPos(spot.x, spot.y)
    return item


def text_item(words: str, color: QColor, anchor: tuple[float, float]) -> pg.TextItem:
    item = pg.TextItem(words, color=color, anchor=anchor)
    item.setFont(theme.current().font(theme.TextSize.CAPTION))
    return item
