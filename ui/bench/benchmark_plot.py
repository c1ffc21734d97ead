"""The plot of one operation: lines over rows, with axes, spread and failures, or bars; beside it, the
legend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QStackedWidget, QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.bench.bar_chart import NOTHING, BarChart, Bars
from lamella.ui.bench.legend import Legend
from lamella.ui.bench.quantities import COUNT, TIME, Quantity, Scale, Units, even_label, power_of_ten
from lamella.ui.bench.series import CROSS_SIZE, DAGGER, Look, Series, SeriesPoint, cross_pen, hover_text

LABEL_PIXELS = {"bottom": 56, "left": 16}
"""Pixels that a label takes along its axis."""

BETWEEN = [math.log10(step) for step in range(2, 10)]


class DecadeAxis(pg.AxisItem):
    """An axis with a tick at each power of ten, labelled if there is room, and at 2 … 9 between; positions
    are log10.

    `floor` is the end of the values: below it the axis shows nothing.
    """

    def __init__(self, orientation: str, units: Units) -> None:
        super().__init__(orientation)
        self._units, self.floor = units, -math.inf
        self._step = 1

    def show_as(self, units: Units, floor: float = -math.inf) -> None:
        self._units, self.floor = units, floor
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        self._step = math.ceil(LABEL_PIXELS[self.orientation] * (maxVal - minVal) / max(1.0, size))
        low = max(minVal, self.floor) - 1e-9
        decades = range(math.ceil(low), math.floor(maxVal + 1e-9) + 1)
        between = [decade + part for decade in range(math.floor(low), math.ceil(maxVal)) for part in BETWEEN]
        return [(1.0, [float(d) for d in decades]), (0.1, [v for v in between if low <= v <= maxVal])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if spacing < 1:
            return [""] * len(values)
        powers = [round(value) for value in values]
        return [power_of_ten(power, self._units) if power % self._step == 0 else "" for power in powers]


class EvenAxis(pg.AxisItem):
    """An axis with even steps, all ticks in the unit of the largest."""

    def __init__(self, orientation: str, units: Units) -> None:
        super().__init__(orientation)
        self._units = units

    def show_as(self, units: Units, floor: float = 0.0) -> None:
        self._units = units
        self.picture = None
        self.update()

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        largest = max(values, default=0.0)
        return [even_label(value, largest, spacing, self._units) if value >= 0 else "" for value in values]


Bounds = tuple[float, float, float, float]
"""Left, right, low and high, in the plot's own coordinates."""


@dataclass(frozen=True)
class Spot:
    """One drawn point, in the plot's own coordinates."""

    series: Series
    point: SeriesPoint
    x: float
    y: float


class DrawnLine:
    """A line of the plot; new points do not need a new line."""

    def __init__(self, canvas: pg.PlotWidget, series: Series, log: bool) -> None:
        self._canvas, self._log = canvas, log
        self._places: list[tuple[float, float, float, float, float]] = []
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
        """Set the height of the line; higher lines are drawn on top."""
        for item in (self._bars, self._line):
            item.setZValue(height)

    def set_spots(self, spots: Sequence[Spot], beam: float) -> None:
        """Set the points. `beam` is the width of an error bar's ends, in the plot's own coordinates."""
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
    """The strip for values below the clock's resolution, with its label."""

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


def grid_lines(xs: Sequence[float], ys: Sequence[float], frame: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """The endpoints of lines at `xs` and `ys` across the frame, as pairs."""
    left, right, low, high = frame
    ends = [((x, low), (x, high)) for x in xs] + [((left, y), (right, y)) for y in ys]
    points = np.array(ends, dtype=float).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def dagger(spot: Spot) -> pg.TextItem:
    """Marks a point about which hovering says more."""
    item = text_item(DAGGER, QColor(spot.series.color(theme.current().colors)), (0.5, 1.1))
    item.setPos(spot.x, spot.y)
    return item


def text_item(words: str, color: QColor, anchor: tuple[float, float]) -> pg.TextItem:
    item = pg.TextItem(words, color=color, anchor=anchor)
    item.setFont(theme.current().font(theme.TextSize.CAPTION))
    return item


BAND_HEIGHT = 0.55
"""The height of the strip for values below the clock's resolution, in decades."""

RIGHT_ROOM = 0.6
"""Decades beside the last point: half of "1,000,000" must fit there, even beside a wide legend."""

CROSS_STEP = 0.035
"""The distance between crosses above each other, as a share of the plot's height."""

HOVER_PIXELS = 14
BEAM = 0.01
"""The width of an error bar's ends, as a share of the plot's width."""


class LineCanvas(pg.PlotWidget):
    """Draws lines. Positions are log10 of rows and values, or both as they are; then values below the clock's
    resolution are at 0.

    New points of the same lines are moved into place; only a different set of lines is drawn from scratch.
    """

    def __init__(self, log: bool, small: bool = False, parent: QWidget | None = None) -> None:
        kind = DecadeAxis if log else EvenAxis
        self._bottom, self._left_axis = kind("bottom", COUNT), kind("left", TIME.units)
        super().__init__(
            parent, axisItems={"bottom": self._bottom, "left": self._left_axis}, enableMenu=False
        )
        self.spots: list[Spot] = []
        self._log, self._small = log, small
        self._series: list[Series] = []
        self._quantity = TIME
        self._lines: dict[str, DrawnLine] = {}
        self._daggers: list[pg.TextItem] = []
        self._frame: Bounds | None = None
        self._build()
        self._recolor()

    def show_series(self, series: Sequence[Series], quantity: Quantity) -> None:
        self._series = [line for line in series if line.points or line.failures]
        if quantity is not self._quantity:
            self._quantity, self._frame = quantity, None
        self._draw()

    def describe(self, spot: Spot) -> str:
        """The text for hovering over a point."""
        return hover_text(spot.series, spot.point, self._quantity)

    def nearest(self, position: QPointF) -> Spot | None:
        """The spot within reach of a scene position; measured ones come before published ones."""
        box = self.getViewBox()
        within: list[tuple[bool, float, Spot]] = []
        for spot in self.spots:
            place = box.mapViewToScene(QPointF(spot.x, spot.y)) - position
            away = math.hypot(place.x(), place.y())
            if away <= HOVER_PIXELS:
                within.append((spot.series.is_published, away, spot))
        return min(within, key=lambda candidate: candidate[:2])[2] if within else None

    def _hover(self, position: QPointF) -> None:
        spot = self.nearest(position)
        if spot is None:
            QToolTip.hideText()
            return
        QToolTip.showText(
            self.mapToGlobal(self.mapFromScene(position)),
            hover_text(spot.series, spot.point, self._quantity),
            self,
        )

    # ----------------------------------------------------------------- drawing

    def _draw(self) -> None:
        floor = self._floor()
        self.spots = list(self._place(floor))
        frame = self._frame_of(floor)
        if frame != self._frame:
            self._take_frame(frame, floor)
        self._keep_lines()
        beam = BEAM * (frame[1] - frame[0])
        for series in self._series:
            own = [s for s in self.spots if s.series is series and not s.point.failure]
            self._lines[series.label].set_spots(own, beam)
        failed = [spot for spot in self.spots if spot.point.failure]
        self._crosses.setData([spot.x for spot in failed], [spot.y for spot in failed])
        self._mark_remarks()

    def _take_frame(self, frame: Bounds, floor: float) -> None:
        left, right, low, high = self._frame = frame
        if self._log:
            self._left_axis.show_as(self._quantity.units, floor)
            decades = range(math.ceil(floor), math.floor(high) + 1)
            powers = range(math.ceil(left), math.floor(right) + 1)
            self._grid.setData(*grid_lines(powers, decades, frame))
        else:
            self._left_axis.show_as(self._quantity.units)
        self._band.set_visible(self._has_unknown())
        self._band.show_between(floor - BAND_HEIGHT, floor, right - 0.03)
        self._label_axes()
        self.setRange(xRange=(left, right), yRange=(low, high), padding=0)

    def _keep_lines(self) -> None:
        """Draw the first line on top of all others."""
        labels = [plotted.label for plotted in self._series]
        if list(self._lines) == labels:
            return
        for label in self._lines.keys() - set(labels):
            self._lines.pop(label).remove()
        lines_before = self._lines
        self._lines = {
            plotted.label: lines_before.get(plotted.label) or DrawnLine(self, plotted, self._log)
            for plotted in self._series
        }
        for height, line in enumerate(reversed(self._lines.values())):
            line.set_height(height)

    def _mark_remarks(self) -> None:
        for item in self._daggers:
            self.removeItem(item)
        self._daggers = [dagger(spot) for spot in self.spots if spot.point.remark and not self._small]
        for item in self._daggers:
            self.addItem(item, ignoreBounds=True)

    def _recolor(self) -> None:
        """Apply the theme's current colours."""
        self.clear()
        self._lines, self._daggers, self._frame = {}, [], None
        look = theme.current()
        self.setBackground(look.color("surface"))
        for axis in (self._bottom, self._left_axis):
            axis.setPen(pg.mkPen(look.color("border_strong")))
            axis.setTextPen(look.color("muted"))
            axis.setStyle(tickFont=look.font(theme.TextSize.CAPTION))
        self._grid = pg.PlotCurveItem(connect="pairs", pen=pg.mkPen(look.color("grid_line")))
        self._grid.setZValue(-20)
        self.addItem(self._grid, ignoreBounds=True)
        self._band = Band(self)
        self._crosses = pg.ScatterPlotItem(
            symbol="x", size=CROSS_SIZE, pen=cross_pen(), brush=look.color("danger")
        )
        self._crosses.setZValue(1000)
        self.addItem(self._crosses, ignoreBounds=True)
        self._draw()

    def _label_axes(self) -> None:
        self._left_axis.setWidth(_axis_width(titled=not self._small))
        if not self._small:
            look = theme.current()
            style = {"color": look.colors.muted, "font-size": f"{look.font().pointSizeF():.1f}pt"}
            self._bottom.setLabel("Rows", **style)
            self._left_axis.setLabel(self._quantity.title, **style)

    # ---------------------------------------------------------------- positions

    def _floor(self) -> float:
        """The power of ten below all values; 0 on even axes."""
        if not self._log:
            return 0.0
        values = [p.low for s in self._series for p in s.points if p.value is not None and p.low > 0]
        return math.floor(math.log10(min(values))) if values else -6.0

    def _place(self, floor: float) -> Iterator[Spot]:
        for series in self._series:
            for point in series.points:
                if self._log:
                    y = floor - BAND_HEIGHT / 2 if point.value is None else math.log10(point.value)
                    yield Spot(series, point, math.log10(point.rows), y)
                else:
                    yield Spot(series, point, point.rows, point.value or 0.0)
        yield from self._place_crosses(floor)

    def _place_crosses(self, floor: float) -> Iterator[Spot]:
        """Place crosses on the lower edge; those of several systems at one size are stacked."""
        values = [end for line in self._series for point in line.points for end in (point.value, point.high)]
        top = max((value for value in values if value and value > 0), default=1.0)
        step = CROSS_STEP * (max(1.0, math.log10(top) - floor) if self._log else top)
        count: Counter[int] = Counter()
        for series in self._series:
            for point in series.failures:
                x = math.log10(point.rows) if self._log else float(point.rows)
                yield Spot(series, point, x, floor + (count[point.rows] + 0.5) * step)
                count[point.rows] += 1

    def _frame_of(self, floor: float) -> Bounds:
        highs = [p.high for s in self._series for p in s.points if p.high > 0]
        if not self._log:
            last, top = max((spot.x for spot in self.spots), default=1.0), max(highs, default=1.0)
            return -0.02 * last, 1.06 * last, -0.02 * top, 1.06 * top
        top = math.ceil(math.log10(max(highs)) + 0.05) if highs else 2.0
        last = max((spot.x for spot in self.spots), default=6.0)
        first = math.floor(min((spot.x for spot in self.spots), default=0.0))
        low = floor - (BAND_HEIGHT if self._has_unknown() else 0.08)
        return first - 0.25, last + RIGHT_ROOM, low, max(top, floor + 1.0) + 0.25

    def _has_unknown(self) -> bool:
        return self._log and any(p.value is None for line in self._series for p in line.points)

    def _build(self) -> None:
        self.setMenuEnabled(False)
        self.hideButtons()
        box = self.getViewBox()
        box.setMouseEnabled(x=False, y=False)
        box.disableAutoRange()
        if not self._log:
            self.showGrid(x=True, y=True, alpha=0.12)
            for axis in (self._bottom, self._left_axis):
                axis.enableAutoSIPrefix(False)  # ticks already have units
        self.scene().sigMouseMoved.connect(self._hover)
        theme.current().changed.connect(self._recolor)


def _axis_width(titled: bool) -> int:
    """Room for the widest label and the title beside it, at any text size."""
    metrics = QFontMetrics(theme.current().font())
    return metrics.horizontalAdvance("1,000 ms") + theme.S + (metrics.height() if titled else 0)


INSET_WIDTH, INSET_HEIGHT = 0.4, 0.48
"""The size of the logarithmic inset on even axes, as shares of the plot."""

SMALLEST_INSET = 140
LEAST_HEIGHT = 120
LEGEND_SHARE = 0.38
"""The legend's maximum share of the width."""


class BenchmarkPlot(QWidget):
    """Shows lines or bars, without those switched off in the legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plot of the benchmark")
        self.setMinimumSize(320, LEAST_HEIGHT)
        self.legend, self.bars = Legend(), BarChart()
        self.log = LineCanvas(log=True)
        self._again: Callable[[], None] = lambda: None
        self._stack, self._area = QStackedWidget(), QScrollArea(widgetResizable=True)
        self._nothing = QLabel(NOTHING)
        self._build()

    @cached_property
    def even(self) -> WithInset:
        """The plot on even axes, made on first use: most users only look at the logarithmic one."""
        item = WithInset()
        self._stack.addWidget(item)
        return item

    @property
    def canvas(self) -> LineCanvas:
        """The canvas with the lines that are shown."""
        canvas = self._stack.currentWidget()
        return canvas if isinstance(canvas, LineCanvas) else self.log

    @property
    def picture(self) -> QWidget:
        """The widget to export: all bars, which are labelled, or the lines with their legend."""
        return self.bars if self.shows_bars else self

    @property
    def spots(self) -> list[Spot]:
        return self.canvas.spots

    @property
    def shows_bars(self) -> bool:
        return self._stack.currentWidget() is self._area

    def show_lines(self, series: Sequence[Series], quantity: Quantity, scale: Scale) -> None:
        def draw() -> None:
            lines = [line for line in series if line.label not in self.legend.hidden_names]
            canvas.show_series(lines, quantity)
            if scale is not Scale.LOG:
                self.even.show_inset(lines, quantity, scale is Scale.INSET)

        canvas = self.log if scale is Scale.LOG else self.even
        self._stack.setCurrentWidget(canvas if series else self._nothing)
        self.legend.show_series(series)
        self._draw(draw)

    def show_bars(self, bars: Bars) -> None:
        self._stack.setCurrentWidget(self._area)
        self.legend.show_series(bars.series)
        self._draw(lambda: self.bars.show_bars(bars.without(self.legend.hidden_names)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.legend.limit(round(event.size().width() * LEGEND_SHARE))

    def _draw(self, draw: Callable[[], None]) -> None:
        self._again = draw
        draw()

    def _draw_again(self) -> None:
        self._again()

    def _build(self) -> None:
        self._area.setWidget(self.bars)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self._nothing, "blank")
        for page in (self.log, self._area, self._nothing):
            self._stack.addWidget(page)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.legend)
        self.legend.changed.connect(self._draw_again)


class WithInset(LineCanvas):
    """Lines on even axes, with the same lines on logarithmic axes in the corner where they are lowest."""

    def __init__(self) -> None:
        super().__init__(log=False)
        self.inset = LineCanvas(log=True, small=True, parent=self)
        self.inset.hide()
        self._frame_inset()
        theme.current().changed.connect(self._frame_inset)

    def show_inset(self, series: Sequence[Series], quantity: Quantity, is_visible: bool) -> None:
        self.inset.setVisible(is_visible)
        if is_visible:
            self.inset.show_series(series, quantity)
            self._place_inset()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "inset"):
            self._place_inset()

    def _frame_inset(self) -> None:
        self.inset.setStyleSheet(f"border: 1px solid {theme.current().colors.border_strong};")

    def _place_inset(self) -> None:
        box = self.getViewBox().sceneBoundingRect()
        width = max(SMALLEST_INSET, round(box.width() * INSET_WIDTH))
        height = max(SMALLEST_INSET, round(box.height() * INSET_HEIGHT))
        self.inset.setGeometry(QRect(round(box.left()) + theme.XL, theme.M, width, height))
