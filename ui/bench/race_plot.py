"""The plot of a race: log–log, live lines solid, published ones dashed, spread as error bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetrics
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from core.bench.ratios import shown_rows
from ui import theme
from ui.bench.axes import DecadeAxis, rows_label
from ui.bench.series import Series, SeriesPoint

BAND_HEIGHT = 0.55
"""Of the strip for values below the clock's resolution, in decades."""

HOVER_PIXELS = 14
DAGGER = "†"
LIVE_WIDTH, PUBLISHED_WIDTH = 2.2, 1.5
LIVE_SIZE, PUBLISHED_SIZE = 10, 8


@dataclass(frozen=True)
class Spot:
    """One drawn point, where it stands in the plot's own coordinates."""

    series: Series
    point: SeriesPoint
    x: float
    y: float


class RacePlot(QWidget):
    """Shows the series it is given; all positions are log10 of rows and of the value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plot of the race")
        self.setMinimumSize(320, 220)
        self._series: list[Series] = []
        self._shown: Callable[[float], str] = str
        self._exact: Callable[[float], str] = str
        self._title = ""
        self.spots: list[Spot] = []
        self._bottom, self._left = DecadeAxis("bottom", rows_label), DecadeAxis("left", str)
        self.canvas = pg.PlotWidget(axisItems={"bottom": self._bottom, "left": self._left})
        self.canvas.setMenuEnabled(False)
        self.canvas.hideButtons()
        self.canvas.getViewBox().setMouseEnabled(x=False, y=False)
        self.canvas.scene().sigMouseMoved.connect(self._hover)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        theme.current().changed.connect(self._draw)

    def show_series(
        self,
        series: Sequence[Series],
        title: str,
        shown: Callable[[float], str],
        exact: Callable[[float], str],
    ) -> None:
        """Draw lines; `shown` labels the axis' powers of ten, `exact` the value under the pointer."""
        self._series, self._title, self._shown, self._exact = list(series), title, shown, exact
        self._draw()

    def describe(self, spot: Spot) -> str:
        """What hovering over a point says."""
        point = spot.point
        lines = [f"{spot.series.label}, {shown_rows(point.rows)}", self._value(point)]
        lines += [point.remark, spot.series.note, f"Source: {spot.series.source}"]
        return "\n".join(filter(None, lines))

    def nearest(self, position: QPointF) -> Spot | None:
        """The spot within reach of a position of the scene, live ones before published ones."""
        if not self.spots:
            return None
        box = self.canvas.getViewBox()
        places = [box.mapViewToScene(QPointF(spot.x, spot.y)) for spot in self.spots]
        away = [math.hypot(place.x() - position.x(), place.y() - position.y()) for place in places]
        best = min(
            range(len(away)), key=lambda i: (away[i] > HOVER_PIXELS, self.spots[i].series.published, away[i])
        )
        return self.spots[best] if away[best] <= HOVER_PIXELS else None

    def _value(self, point: SeriesPoint) -> str:
        if point.value is None:
            return "Below the clock's resolution: printed as 0"
        counted = f"{point.samples} samples" if point.samples > 1 else "one sample"
        spread = ""
        if point.high > point.low:
            spread = f", {self._exact(point.low)} to {self._exact(point.high)}"
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
        self.canvas.clear()
        self._dress(floor)
        if any(spot.point.value is None for spot in self.spots):
            self._draw_band(floor)
        self._draw_remarks()
        # What is drawn last lies on top: our own lines, the first of them above all.
        drawn = {
            series.label: self._draw_series(series) for series in reversed(self._series) if series.points
        }
        self._draw_legend({series.label: drawn[series.label] for series in self._series if series.points})
        self._frame(floor)

    def _floor(self) -> float:
        """The power of ten below every value."""
        values = [p.low for s in self._series for p in s.points if p.value is not None and p.low > 0]
        return math.floor(math.log10(min(values))) if values else -6.0

    def _place(self, floor: float) -> Iterator[Spot]:
        for series in self._series:
            for point in series.points:
                y = floor - BAND_HEIGHT / 2 if point.value is None else math.log10(point.value)
                yield Spot(series, point, math.log10(point.rows), y)

    def _draw_series(self, series: Series) -> pg.PlotDataItem:
        spots = [spot for spot in self.spots if spot.series is series]
        color = QColor(series.color(theme.current().colors))
        x, y = np.array([spot.x for spot in spots]), np.array([spot.y for spot in spots])
        fill = theme.current().color("surface") if series.published else color
        if not series.published:
            self._draw_spread(spots, color)
        return self.canvas.plot(
            x,
            y,
            pen=self._pen(series, color),
            symbol=series.marker,
            symbolSize=PUBLISHED_SIZE if series.published else LIVE_SIZE,
            symbolPen=pg.mkPen(color, width=1.4),
            symbolBrush=pg.mkBrush(fill),
            antialias=True,
        )

    def _pen(self, series: Series, color: QColor) -> object:
        if series.published:
            return pg.mkPen(color, width=PUBLISHED_WIDTH, style=Qt.PenStyle.DashLine)
        return pg.mkPen(color, width=LIVE_WIDTH)

    def _draw_spread(self, spots: Sequence[Spot], color: QColor) -> None:
        drawn = [
            spot for spot in spots if spot.point.value is not None and spot.point.high > spot.point.low > 0
        ]
        if not drawn:
            return
        y = np.array([spot.y for spot in drawn])
        bars = pg.ErrorBarItem(
            x=np.array([spot.x for spot in drawn]),
            y=y,
            top=np.log10([spot.point.high for spot in drawn]) - y,
            bottom=y - np.log10([spot.point.low for spot in drawn]),
            beam=0.06,
            pen=pg.mkPen(color, width=1.4),
        )
        self.canvas.addItem(bars)

    def _draw_band(self, floor: float) -> None:
        colors = theme.current()
        band = pg.LinearRegionItem(
            (floor - BAND_HEIGHT, floor),
            orientation="horizontal",
            movable=False,
            brush=pg.mkBrush(colors.color("sunken")),
            pen=pg.mkPen(colors.color("border_strong"), style=Qt.PenStyle.DotLine),
        )
        band.setZValue(-10)
        self.canvas.addItem(band)
        label = pg.TextItem("below clock resolution", color=colors.color("muted"), anchor=(1, 0.5))
        label.setFont(colors.font(theme.TextSize.CAPTION))
        label.setPos(self._last_x() + 0.22, floor - BAND_HEIGHT / 2)
        self.canvas.addItem(label)

    def _draw_remarks(self) -> None:
        """A dagger at each point that hovering says more about."""
        colors = theme.current()
        for spot in self.spots:
            if spot.point.remark:
                dagger = pg.TextItem(DAGGER, color=spot.series.color(colors.colors), anchor=(0.5, 1.1))
                dagger.setFont(colors.font(theme.TextSize.CAPTION))
                dagger.setPos(spot.x, spot.y)
                self.canvas.addItem(dagger)

    def _draw_legend(self, drawn: dict[str, pg.PlotDataItem]) -> None:
        colors = theme.current()
        plot = self.canvas.getPlotItem()
        if plot.legend is not None:
            plot.legend.scene().removeItem(plot.legend)
            plot.legend = None
        legend = plot.addLegend(
            offset=(12, 8),
            brush=pg.mkBrush(colors.color("surface")),
            pen=pg.mkPen(colors.color("border")),
            labelTextColor=colors.color("text"),
            labelTextSize=f"{colors.font(theme.TextSize.CAPTION).pointSizeF():.0f}pt",
        )
        for label, line in drawn.items():
            legend.addItem(line, label)
        legend.setVisible(bool(drawn))

    def _dress(self, floor: float) -> None:
        colors = theme.current()
        self.canvas.setBackground(colors.color("surface"))
        self.canvas.showGrid(x=True, y=True, alpha=0.12)
        for axis in (self._bottom, self._left):
            axis.setPen(pg.mkPen(colors.color("border_strong")))
            axis.setTextPen(colors.color("muted"))
            axis.setStyle(tickFont=colors.font(theme.TextSize.CAPTION))
        self._left.show_as(self._shown, floor)
        self._left.setWidth(self._axis_width())
        style = {"color": colors.colors.muted, "font-size": f"{colors.font().pointSizeF():.1f}pt"}
        self._bottom.setLabel("Rows", **style)
        self._left.setLabel(self._title, **style)

    def _axis_width(self) -> int:
        """Room for the widest label and the title beside it, whatever the text size."""
        metrics = QFontMetrics(theme.current().font())
        return metrics.horizontalAdvance("1,000 ms") + metrics.height() + theme.S

    def _frame(self, floor: float) -> None:
        """Whole decades, with room for what stands below the clock's resolution and for the legend."""
        highs = [p.high for s in self._series for p in s.points if p.high > 0]
        top = math.log10(max(highs)) if highs else 2.0
        below = BAND_HEIGHT if any(spot.point.value is None for spot in self.spots) else 0.1
        self.canvas.setXRange(-0.25, self._last_x() + 0.25, padding=0)
        self.canvas.setYRange(floor - below, top + 0.35, padding=0)

    def _last_x(self) -> float:
        return max((spot.x for spot in self.spots), default=6.0)
