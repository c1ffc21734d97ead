"""The plot of a race: log–log, live lines solid, published ones dashed, spread as error bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from core.bench.ratios import shown_rows
from ui import theme
from ui.bench.axes import DecadeAxis, rows_label
from ui.bench.legend import Legend
from ui.bench.plot_lines import DrawnLine, Frame, Spot, band, dagger, grid
from ui.bench.series import Series, SeriesPoint

BAND_HEIGHT = 0.55
"""Of the strip for values below the clock's resolution, in decades."""

RIGHT_ROOM = 0.45
"""Beside the last point, in decades: half of "1,000,000" needs it."""

HOVER_PIXELS = 14
BEAM = 0.01
"""Of an error bar's ends, as a share of the plot's width."""


class RacePlot(QWidget):
    """Shows the series it is given; all positions are log10 of rows and of the value.

    New points on the same lines are moved into place; another set of lines is drawn anew.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plot of the race")
        self.setMinimumSize(320, 220)
        self.spots: list[Spot] = []
        self._series: list[Series] = []
        self._title = ""
        self._shown: Callable[[float], str] = str
        self._exact: Callable[[float], str] = str
        self._lines: dict[str, DrawnLine] = {}
        self._drawn: object = None
        self._bottom, self._left = DecadeAxis("bottom", rows_label), DecadeAxis("left", str)
        self.legend = Legend()
        self.canvas = pg.PlotWidget(axisItems={"bottom": self._bottom, "left": self._left})
        self._build()

    def show_series(
        self,
        series: Sequence[Series],
        title: str,
        shown: Callable[[float], str],
        exact: Callable[[float], str],
    ) -> None:
        """Draw lines; `shown` labels the axis' powers of ten, `exact` the value under the pointer."""
        self._series = [one for one in series if one.points]
        self._title, self._shown, self._exact = title, shown, exact
        self._draw()

    def describe(self, spot: Spot) -> str:
        """What hovering over a point says."""
        point = spot.point
        lines = [f"{spot.series.label}, {shown_rows(point.rows)}", self._value(point)]
        lines += [point.remark, spot.series.note, f"Source: {spot.series.source}"]
        return "\n".join(filter(None, lines))

    def nearest(self, position: QPointF) -> Spot | None:
        """The spot within reach of a position of the scene, live ones before published ones."""
        box = self.canvas.getViewBox()
        within: list[tuple[bool, float, Spot]] = []
        for spot in self.spots:
            place = box.mapViewToScene(QPointF(spot.x, spot.y)) - position
            away = math.hypot(place.x(), place.y())
            if away <= HOVER_PIXELS:
                within.append((spot.series.published, away, spot))
        return min(within, key=lambda one: one[:2])[2] if within else None

    def _value(self, point: SeriesPoint) -> str:
        if point.value is None:
            return "Below the clock's resolution: printed as 0"
        counted = f"{point.samples} samples" if point.samples > 1 else "one sample"
        spread = f", {self._exact(point.low)} to {self._exact(point.high)}" if point.high > point.low else ""
        return f"{self._exact(point.value)} ({counted}{spread})"

    def _hover(self, position: QPointF) -> None:
        spot = self.nearest(position)
        if spot is None:
            QToolTip.hideText()
            return
        at = self.canvas.mapToGlobal(self.canvas.mapFromScene(position))
        QToolTip.showText(at, self.describe(spot), self.canvas)

    # ----------------------------------------------------------------- drawing

    def _draw(self) -> None:
        floor = self._floor()
        self.spots = list(self._place(floor))
        frame = self._frame(floor)
        drawn = (frame, self._title, [one.label for one in self._series])
        if drawn != self._drawn:
            self._draw_anew(floor, frame)
            self._drawn = drawn
        beam = BEAM * (frame[1] - frame[0])
        for series in self._series:
            self._lines[series.label].set_spots([s for s in self.spots if s.series is series], beam)

    def _draw_anew(self, floor: float, frame: Frame) -> None:
        left, right, low, high = frame
        self.canvas.clear()
        self._dress(floor)
        decades = range(math.ceil(floor), math.floor(high) + 1)
        self.canvas.addItem(grid(range(math.floor(right) + 1), decades, frame))
        for item in [*self._band(floor, frame), *map(dagger, (s for s in self.spots if s.point.remark))]:
            self.canvas.addItem(item)
        heights = range(len(self._series), 0, -1)  # the first line lies above all others
        self._lines = {
            one.label: DrawnLine(self.canvas, one, height)
            for one, height in zip(self._series, heights, strict=True)
        }
        self.legend.show_series(self._series)
        self.canvas.setRange(xRange=(left, right), yRange=(low, high), padding=0)

    def _recolor(self) -> None:
        self._drawn = None
        self._draw()

    def _band(self, floor: float, frame: Frame) -> list[pg.GraphicsObject]:
        if not self._has_unknown():
            return []
        return band(floor - BAND_HEIGHT, floor, frame[1] - 0.03)

    def _dress(self, floor: float) -> None:
        look = theme.current()
        self.canvas.setBackground(look.color("surface"))
        for axis in (self._bottom, self._left):
            axis.setPen(pg.mkPen(look.color("border_strong")))
            axis.setTextPen(look.color("muted"))
            axis.setStyle(tickFont=look.font(theme.TextSize.CAPTION))
        self._left.show_as(self._shown, floor)
        self._left.setWidth(_axis_width())
        style = {"color": look.colors.muted, "font-size": f"{look.font().pointSizeF():.1f}pt"}
        self._bottom.setLabel("Rows", **style)
        self._left.setLabel(self._title, **style)

    # ---------------------------------------------------------------- positions

    def _floor(self) -> float:
        """The power of ten below every value."""
        values = [p.low for s in self._series for p in s.points if p.value is not None and p.low > 0]
        return math.floor(math.log10(min(values))) if values else -6.0

    def _place(self, floor: float) -> Iterator[Spot]:
        for series in self._series:
            for point in series.points:
                y = floor - BAND_HEIGHT / 2 if point.value is None else math.log10(point.value)
                yield Spot(series, point, math.log10(point.rows), y)

    def _frame(self, floor: float) -> Frame:
        """Whole decades, and what stands below the clock's resolution."""
        highs = [p.high for s in self._series for p in s.points if p.high > 0]
        top = math.ceil(math.log10(max(highs)) + 0.05) if highs else 2.0
        last = max((spot.x for spot in self.spots), default=6.0)
        low = floor - (BAND_HEIGHT if self._has_unknown() else 0.08)
        return -0.25, last + RIGHT_ROOM, low, max(top, floor + 1.0) + 0.25

    def _has_unknown(self) -> bool:
        return any(spot.point.value is None for spot in self.spots)

    def _build(self) -> None:
        self.canvas.setMenuEnabled(False)
        self.canvas.hideButtons()
        self.canvas.getViewBox().setMouseEnabled(x=False, y=False)
        self.canvas.scene().sigMouseMoved.connect(self._hover)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.legend)
        layout.addWidget(self.canvas, 1)
        theme.current().changed.connect(self._recolor)


def _axis_width() -> int:
    """Room for the widest label and the title beside it, whatever the text size."""
    metrics = QFontMetrics(theme.current().font())
    return metrics.horizontalAdvance("1,000 ms") + metrics.height() + theme.S
