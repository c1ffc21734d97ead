"""The marks in a panel of a chart: bars, lines, areas, points, densities, boxes and cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPen, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from lamella.core.query.charts import ChartData
from lamella.core.query.charts.dimensions import NULL, OTHERS, Dimension, Place
from lamella.core.query.charts.spec import AREA, BAR, BOX, HEAT_MAP, HISTOGRAM, LINE
from lamella.ui import theme
from lamella.ui.charts.lines import area_between, line_items, line_pairs
from lamella.ui.charts.ramps import Cells, ramp_of
from lamella.ui.charts.words import figure_text, figures_are_durations, short_text
from lamella.ui.widgets.plotting import HATCHES, MARKERS, cosmetic_pen, hatched

Row = Mapping[str, Any]
LINE_WIDTH, OUTLINE_WIDTH = 2.0, 1.2
MARKER_SIZE, POINT_SIZE = 8, 6
LEAST_POINT, MOST_POINT = 4, 28
"""Diameters in pixels of points whose size is given by a column."""
HOLLOW = 3
"""How much narrower the inside of a hollow marker is."""
DOTTED = Qt.PenStyle.DotLine
"""The line to or around what is incomplete."""
MOST_MARKED = 120
"""A line with more points than this has no markers."""
BAND_ALPHA, AREA_ALPHA, OVERLAP_ALPHA = 36, 110, 64
"""That of areas that overlap is divided among them: else their mixture would hide the lines."""
CUT = 2.0
"""How many times as high as the other bars the bar of the remaining values may be."""
GAP = 0.08
"""The gap between bars, as a share of a place's width."""
LEAST_SEPARATED = 6
"""The minimum width, in pixels, of a bar that a line of one pixel separates from the next."""
DASHES = (
    Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)  # fmt: skip


@dataclass(frozen=True)
class Display:
    """How a chart is drawn, which does not change its figures."""

    band: bool = True
    markers: bool = True
    labels: bool = True
    zero: bool = False
    map: bool = True
    """Whether degrees of longitude and latitude have their true proportions."""


@dataclass(frozen=True)
class SeriesLook:
    """How the rows of one colour are drawn: with a colour, a marker, a dash and a hatch."""

    key: int
    name: str
    color: QColor
    marker: str
    dash: Qt.PenStyle
    hatch: Qt.BrushStyle

    @property
    def pen(self) -> QPen:
        return cosmetic_pen(self.color, LINE_WIDTH, self.dash)

    @property
    def brush(self) -> QBrush:
        return QBrush(self.color, self.hatch)

    @property
    def faded_brush(self) -> QBrush:
        """For what is incomplete."""
        shade = QColor(self.color)
        shade.setAlpha(AREA_ALPHA)
        return QBrush(shade, self.hatch)


def looks_of(dimension: Dimension | None) -> list[SeriesLook]:
    """The looks of the colours, in their order."""
    palette = theme.current().colors
    if dimension is None:
        accent = QColor(palette.card_met)
        return [SeriesLook(0, "", accent, MARKERS[0], DASHES[0], HATCHES[0])]
    looks = []
    for number, place in enumerate(dimension.places):
        color = {OTHERS: palette.muted, NULL: palette.faint}.get(
            place.key, palette.plot[number % len(palette.plot)]
        )
        looks.append(
            SeriesLook(
                place.key, short_text(dimension, place), QColor(color), MARKERS[number % len(MARKERS)],
                DASHES[number % len(DASHES)], HATCHES[number % len(HATCHES)],
            )
        )  # fmt: skip
    return looks


@dataclass
class Mark:
    """The position of a figure, in the panel's own coordinates, and its row in the answer."""

    row: Row
    area: QRectF | None = None
    point: QPointF | None = None


@dataclass
class PanelMarks:
    """What one panel draws: `items` for pyqtgraph, `marks` that can be found under the mouse, `ends` where
    lines are labelled, and the lowest and highest value. The marks of `cells`, which are many, are created
    when they are first needed."""

    items: list[Any] = field(default_factory=list)
    _marks: list[Mark] = field(default_factory=list)
    cells: tuple[Sequence[Row], np.ndarray] | None = None
    ends: list[tuple[SeriesLook, float, float]] = field(default_factory=list)
    low: float = math.inf
    high: float = -math.inf

    def reach(self, *values: float) -> None:
        for value in values:
            if math.isfinite(value):
                self.low, self.high = min(self.low, value), max(self.high, value)

    @property
    def marks(self) -> list[Mark]:
        if self.cells is not None:
            (rows, edges), self.cells = self.cells, None
            sizes = np.column_stack([edges[:, :2], edges[:, 2:] - edges[:, :2]]).tolist()
            self._marks += [Mark(row, QRectF(*size)) for row, size in zip(rows, sizes, strict=True)]
        return self._marks


class Shapes(pg.GraphicsObject):
    """Rectangles with brushes, and markers of a fixed size in pixels. pyqtgraph's own markers become
    bitmaps in exported drawings."""

    def __init__(self, *, separated: bool = False) -> None:
        """`separated`: outlines part the rectangles from each other; narrow ones go without."""
        super().__init__()
        self._separates = separated
        self.rects: list[tuple[QRectF, QBrush, QPen]] = []
        self._spots: list[tuple[str, QColor, float, np.ndarray, np.ndarray]] = []
        self._bounds = QRectF()

    def add(self, rect: QRectF, brush: QBrush, pen: QPen | None = None) -> None:
        self.rects.append((rect, brush, pen or QPen(Qt.PenStyle.NoPen)))
        self._bounds = self._bounds.united(rect)

    def mark(self, marker: str, color: QColor, size: float, x: np.ndarray, y: np.ndarray) -> None:
        """Draw a marker at each of the points."""
        self._spots.append((marker, color, size, x, y))
        corners = QRectF(QPointF(x.min(), y.min()), QPointF(x.max(), y.max()))
        self._bounds = self._bounds.united(corners) if self._bounds.isValid() else corners

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        transform = p.worldTransform()
        p.save()
        p.setWorldTransform(QTransform())
        for marker, color, size, xs, ys in self._spots:
            p.setBrush(QBrush(color))
            places = (transform.map(QPointF(x, y)) for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
            draw_symbols(p, marker, places, size)
        p.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        for rect, brush, pen in self.rects:
            area = _on_pixels(transform.mapRect(rect))
            p.setPen(Qt.PenStyle.NoPen if self._separates and area.width() < LEAST_SEPARATED else pen)
            if brush.style() not in (Qt.BrushStyle.SolidPattern, Qt.BrushStyle.NoBrush):
                soft = QColor(brush.color())
                soft.setAlpha(70)
                p.fillRect(area, soft)
            p.setBrush(hatched(p, brush))
            p.drawRect(area)
        p.restore()


def _on_pixels(rect: QRectF) -> QRectF:
    """A rectangle aligned to pixels, whose edges have the same width and never vanish."""
    left, top = round(rect.left()), round(rect.top())
    return QRectF(left, top, max(1, round(rect.right()) - left), max(1, round(rect.bottom()) - top))


class EndLabels(pg.GraphicsObject):
    """Labels of lines after their last points, moved apart where they would overlap."""

    def __init__(self, ends: Sequence[tuple[SeriesLook, float, float]], right: float) -> None:
        super().__init__()
        self._ends, self._right = sorted(ends, key=lambda end: -end[2]), right
        ys = [y for _look, _x, y in ends]
        self._bounds = QRectF(right, min(ys), 0, max(max(ys) - min(ys), 1e-9))

    def boundingRect(self) -> QRectF:
        return self._bounds

    @staticmethod
    def width(looks: Sequence[SeriesLook]) -> int:
        """The width of the labels in pixels."""
        metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION, bold=True))
        return max((metrics.horizontalAdvance(look.name) for look in looks), default=0) + theme.XL

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        transform = p.worldTransform()
        p.save()
        p.setWorldTransform(QTransform())
        font = theme.current().font(theme.TextSize.CAPTION, bold=True)
        p.setFont(font)
        height = p.fontMetrics().height()
        places = [transform.map(QPointF(self._right, y)) for _look, _x, y in self._ends]
        corner = self._corner(transform)
        tops = _apart([place.y() - height / 2 for place in places], height, corner.y())
        for (look, _x, _y), place, top in zip(self._ends, places, tops, strict=True):
            p.setPen(QPen(look.color))
            p.setBrush(QBrush(look.color))
            draw_symbol(p, look.marker, QPointF(place.x() + theme.M, top + height / 2), MARKER_SIZE)
            p.setPen(theme.current().color("text"))
            left, room = place.x() + theme.XL - theme.XS, corner.x() - place.x() - theme.XL + theme.XS
            name = p.fontMetrics().elidedText(look.name, Qt.TextElideMode.ElideMiddle, int(min(room, 1e6)))
            p.drawText(QPointF(left, top + p.fontMetrics().ascent()), name)
        p.restore()

    def _corner(self, transform: QTransform) -> QPointF:
        """The lower right corner of the plot."""
        box = self.getViewBox()
        plot: QRectF | None = None if box is None else transform.mapRect(box.viewRect())
        return QPointF(math.inf, math.inf) if plot is None else plot.bottomRight()


def _apart(tops: Sequence[float], height: float, floor: float) -> list[float]:
    """The tops of lines of this height, from top to bottom, moved so that none overlap and all are above the
    floor."""
    apart, below = list[float](), -math.inf
    for top in tops:
        apart.append(max(top, below))
        below = apart[-1] + height
    for number in reversed(range(len(apart))):
        apart[number] = min(apart[number], floor - height)
        floor = apart[number]
    return apart


def draw_symbol(p: QPainter, marker: str, at: QPointF, size: float) -> None:
    """Draw one of pyqtgraph's markers, at a size in pixels."""
    draw_symbols(p, marker, [at], size)


def draw_symbols(p: QPainter, marker: str, places: Iterable[QPointF], size: float) -> None:
    """Draw a marker at several places of the painter's coordinates."""
    from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols

    path, around = Symbols[marker], p.worldTransform()
    p.save()
    p.setRenderHint(QPainter.RenderHint.Antialiasing)
    p.setPen(Qt.PenStyle.NoPen)
    for place in places:
        p.setWorldTransform(QTransform(size, 0, 0, size, place.x(), place.y()) * around)
        p.drawPath(path)
    p.restore()


@dataclass(frozen=True)
class PointSizes:
    """The area of a point is proportional to its number, up to the greatest that is finite; infinite ones
    have that size, too. Numbers that are 0, negative or missing have the smallest point. Where all numbers
    are the same, points are as large as without sizes."""

    greatest: float
    are_whole: bool = False
    """Whether the numbers are whole, so that the legend should have no fractions."""
    is_one: bool = False

    @classmethod
    def of(cls, data: ChartData) -> PointSizes:
        numbers = data.table["size"].to_numpy().astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        if not finite.size:
            return cls(0.0)
        greatest = float(finite.max())
        return cls(greatest, bool((finite == np.round(finite)).all()), bool((finite == greatest).all()))

    def pixels(self, numbers: Sequence[float]) -> np.ndarray:
        """The diameters, as whole pixels."""
        values = np.array(numbers, np.float64)
        share = np.nan_to_num(values / self.greatest) if self.greatest > 0 else values == math.inf
        most = POINT_SIZE if self.is_one else MOST_POINT
        diameters: np.ndarray = np.maximum(LEAST_POINT, np.round(most * np.sqrt(np.clip(share, 0, 1))))
        return diameters


# ------------------------------------------------------------------ marks of each type


class Marks:
    """Draws the rows of one panel."""

    def __init__(self, data: ChartData, display: Display, looks: Sequence[SeriesLook]) -> None:
        self._data, self._display, self._looks = data, display, looks
        self._log = data.spec.log_y and not data.shows_points and data.spec.kind != HEAT_MAP
        self._ramp = ramp_of(data)
        self._are_durations = figures_are_durations(data.spec, data.types)

    def of_rows(self, rows: Sequence[Row]) -> PanelMarks:
        panel = PanelMarks()
        draw: dict[str, Callable[[PanelMarks, Sequence[Row]], None]] = {
            HISTOGRAM: self._bars, BAR: self._bars, LINE: self._lines, AREA: self._areas, BOX: self._boxes,
            HEAT_MAP: self._cells,
        }  # fmt: skip
        if self._data.shows_points:
            self._points(panel, rows)
        else:
            draw.get(self._data.spec.kind, self._cells)(panel, rows)
        return panel

    @property
    def stacks(self) -> bool:
        """Whether figures of several colours are stacked."""
        adds = self._data.spec.kind == HISTOGRAM or self._data.spec.aggregate in ("count", "sum")
        return (
            adds and not self._log and all(v is None or v >= 0 for v in self._data.table["value"].to_pylist())
        )

    def at(self, value: float | None) -> float:
        """The position of a figure on the axis; NaN if it has none."""
        if value is None:
            return math.nan
        if self._log:
            return math.log10(value) if value > 0 else math.nan
        return float(value)

    def _by_color(self, rows: Sequence[Row]) -> Iterator[tuple[SeriesLook, list[Row]]]:
        for look in self._looks:
            own = [row for row in rows if "color" not in row or row["color"] == look.key]
            if own:
                yield look, own

    def _x(self, row: Row) -> Place:
        dimension = self._data.x
        return _WHOLE if dimension is None else dimension.place(row["x"])

    def _base(self) -> float:
        """The value at which bars begin: 0, or below the least value on a logarithmic axis."""
        if not self._log:
            return 0.0
        positive = [v for v in self._data.table["value"].to_pylist() if v is not None and v > 0]
        return math.floor(math.log10(min(positive)) - 0.05) if positive else 0.0

    def _bars(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        single = self._data.color is None
        shapes, base, stacks = Shapes(separated=single), self._base(), self.stacks
        whiskers = list[tuple[float, float]]()
        colors = [look.key for look in self._looks]
        tops: dict[int, float] = {}
        panel.reach(base)
        for look, own in self._by_color(rows):
            pen = cosmetic_pen(look.color, OUTLINE_WIDTH)
            for row in own:
                place, height = self._x(row), self.at(row["value"])
                if not math.isfinite(height):
                    continue
                gap = (place.right - place.left) * (0.0 if self._data.spec.kind == HISTOGRAM else GAP)
                left, width = place.left + gap, place.right - place.left - 2 * gap
                begin = base
                if len(colors) > 1 and not stacks:
                    width /= len(colors)
                    left += width * colors.index(look.key)
                elif stacks:
                    begin = tops.get(place.key, base)
                    tops[place.key] = height = begin + height
                area = QRectF(QPointF(left, begin), QPointF(left + width, height)).normalized()
                outline = QPen(theme.current().color("surface")) if single else pen
                outline.setCosmetic(True)
                if row.get("x") in self._data.partial:
                    shapes.add(area, look.faded_brush, cosmetic_pen(look.color, OUTLINE_WIDTH, DOTTED))
                else:
                    shapes.add(area, look.brush, outline)
                panel.marks.append(Mark(row, area))
                panel.reach(height, begin)
                if self._display.band and not stacks and row.get("low") is not None:
                    low, high = self.at(row["low"]), self.at(row["high"])
                    if math.isfinite(low) and high > low:
                        whiskers += [(area.center().x(), low), (area.center().x(), high)]
                        panel.reach(low, high)
        self._cut_others(panel)
        panel.items.append(shapes)
        if whiskers:
            panel.items.append(
                line_pairs(whiskers, cosmetic_pen(theme.current().color("text"), OUTLINE_WIDTH))
            )

    def _cut_others(self, panel: PanelMarks) -> None:
        """Cut the bar of the remaining values, which are often more than all that is shown, and label it with
        its height."""
        if self._data.x is None or not self._data.x.others or self._log:
            return
        ends = [(mark.row["x"] == OTHERS, mark.area) for mark in panel.marks if mark.area is not None]
        high = max((area.bottom() for is_upper, area in ends if not is_upper), default=0.0)
        top, area = max(
            ((area.bottom(), area) for is_upper, area in ends if is_upper),
            default=(0.0, None),
            key=lambda e: e[0],
        )
        if area is None or high <= 0 or top <= CUT * high:
            return
        panel.high = high * 1.12
        label = pg.TextItem(
            f"▲ {figure_text(top, self._are_durations)}", color=theme.current().color("text"), anchor=(1, 0)
        )
        label.setFont(theme.current().font(theme.TextSize.CAPTION))
        label.setPos(area.left(), panel.high)
        panel.items.append(label)

    def _lines(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        if self._display.zero and not self._log:
            panel.reach(0.0)
        for look, own in self._by_color(rows):
            spots = [(self._x(row).at, self.at(row["value"]), row) for row in own]
            spots = sorted((spot for spot in spots if math.isfinite(spot[1])), key=lambda spot: spot[0])
            if not spots:
                continue
            x, y = np.array([s[0] for s in spots]), np.array([s[1] for s in spots])
            self._band(panel, look, [row for _, _, row in spots], x)
            panel.items += self._line(look, x, y, [row["x"] in self._data.partial for _, _, row in spots])
            panel.marks.extend([Mark(row, None, QPointF(a, b)) for a, b, row in spots])
            panel.reach(float(y.min()), float(y.max()))
            panel.ends.append((look, float(x[-1]), float(y[-1])))

    def _line(self, look: SeriesLook, x: np.ndarray, y: np.ndarray, partial: Sequence[bool]) -> list[Any]:
        """A line with its markers; at an end that is incomplete, it is dotted, and the marker is hollow."""
        first, last = int(partial[0]), len(x) - int(partial[-1])
        line: list[Any] = list(line_items(x[first:last], y[first:last], look.pen)) if first < last else []
        dotted = cosmetic_pen(look.color, LINE_WIDTH, DOTTED)
        if partial[0] and len(x) > 1:
            line += line_items(x[:2], y[:2], dotted)
        if partial[-1] and len(x) > 1 and not (partial[0] and len(x) == 2):
            line += line_items(x[-2:], y[-2:], dotted)
        spots, ends = Shapes(), np.array(partial)
        if (self._display.markers and len(x) <= MOST_MARKED) or len(x) == 1:
            spots.mark(look.marker, look.color, MARKER_SIZE, x, y)
        elif ends.any():
            spots.mark(look.marker, look.color, MARKER_SIZE, x[ends], y[ends])
        else:
            return line
        if ends.any():
            hollow = theme.current().color("surface")
            spots.mark(look.marker, hollow, MARKER_SIZE - HOLLOW, x[ends], y[ends])
        return [*line, spots]

    def _band(self, panel: PanelMarks, look: SeriesLook, rows: Sequence[Row], x: np.ndarray) -> None:
        if not self._display.band or "low" not in rows[0]:
            return
        lows = [self.at(row["value"] if row["low"] is None else row["low"]) for row in rows]
        highs = [self.at(row["value"] if row["high"] is None else row["high"]) for row in rows]
        values = [self.at(row["value"]) for row in rows]
        low = np.array([a if math.isfinite(a) else v for a, v in zip(lows, values, strict=True)])
        high = np.array([a if math.isfinite(a) else v for a, v in zip(highs, values, strict=True)])
        shade = QColor(look.color)
        shade.setAlpha(BAND_ALPHA)
        panel.items.insert(0, area_between(x, low, high, shade))
        panel.reach(float(low.min()), float(high.max()))

    def _areas(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        stacks, base = self.stacks, self._base()
        places = sorted({self._x(row).key: self._x(row) for row in rows}.values(), key=lambda place: place.at)
        x = np.array([place.at for place in places])
        number = {place.key: n for n, place in enumerate(places)}
        below = np.full(len(places), base)
        panel.reach(base)
        for look, own in self._by_color(rows):
            y = np.full(len(places), math.nan)
            for row in own:
                y[number[self._x(row).key]] = self.at(row["value"])
            finite = np.isfinite(y)
            if stacks:  # without rows there is nothing to add
                y, finite = np.where(finite, y, 0.0), np.full(len(places), True)
            if not finite.any():
                continue
            top, bottom = (below + y if stacks else y)[finite], below[finite]
            shade = QColor(look.color)
            overlap = not stacks and len(self._looks) > 1
            shade.setAlpha(OVERLAP_ALPHA // len(self._looks) if overlap else AREA_ALPHA)
            panel.items.append(area_between(x[finite], bottom, top, shade))
            keys = (place.key for place, is_there in zip(places, finite, strict=True) if is_there)
            panel.items += self._line(look, x[finite], top, [key in self._data.partial for key in keys])
            spots = dict(zip(np.flatnonzero(finite).tolist(), top.tolist(), strict=True))
            placed = ((row, number[self._x(row).key]) for row in own)
            panel.marks.extend([Mark(row, None, QPointF(x[n], spots[n])) for row, n in placed if n in spots])
            panel.reach(float(top.min()), float(top.max()))
            middle = float((top[-1] + bottom[-1]) / 2) if stacks else float(top[-1])
            panel.ends.append((look, float(x[finite][-1]), middle))
            below = top if stacks else below

    def _points(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        for look, own in self._by_color(rows):
            x, y = np.array([row["at_x"] for row in own]), np.array([row["at_y"] for row in own])
            fill = QColor(look.color)
            fill.setAlpha(150)
            spots = Shapes()
            for size, among in self._sizes(own):
                spots.mark(look.marker, fill, size, x[among], y[among])
            panel.items.append(spots)
            panel.marks.extend([Mark(row, None, QPointF(a, b)) for a, b, row in zip(x, y, own, strict=True)])
            panel.reach(float(y.min()), float(y.max()))

    def _sizes(self, rows: Sequence[Row]) -> Iterator[tuple[float, Any]]:
        """Diameters in pixels, and the rows that have them, the largest first."""
        if "size" not in self._data.table.column_names:
            yield POINT_SIZE, slice(None)
            return
        sizes = PointSizes.of(self._data).pixels([row["size"] or 0.0 for row in rows])
        for size in sorted(set(sizes.tolist()), reverse=True):
            yield size, sizes == size

    def _boxes(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        shapes, look = Shapes(), self._looks[0]
        fill = QColor(look.color)
        fill.setAlpha(70)
        pen, thick = cosmetic_pen(look.color, OUTLINE_WIDTH), cosmetic_pen(look.color, 2.4)
        thin, bold = list[tuple[float, float]](), list[tuple[float, float]]()
        for row in rows:
            place = self._x(row)
            q1, middle, q3 = (self.at(row[name]) for name in ("q1", "value", "q3"))
            low, high = self.at(row["low"]), self.at(row["high"])
            if not all(map(math.isfinite, (q1, middle, q3))):
                continue
            low, high = (low if math.isfinite(low) else q1), (high if math.isfinite(high) else q3)
            room = (place.right - place.left) * 0.2
            left, right, center = place.left + room, place.right - room, (place.left + place.right) / 2
            area = QRectF(QPointF(left, q1), QPointF(right, q3)).normalized()
            shapes.add(area, QBrush(fill), pen)
            cap = (right - left) / 4
            whiskers = [
                (center, low), (center, q1), (center, q3), (center, high),
                (center - cap, low), (center + cap, low), (center - cap, high), (center + cap, high),
            ]  # fmt: skip
            thin += whiskers
            bold += [(left, middle), (right, middle)]
            whole = QRectF(QPointF(place.left, low), QPointF(place.right, high)).normalized()
            panel.marks.append(Mark(row, whole))
            panel.reach(low, high)
        panel.items += [shapes, line_pairs(thin, pen), line_pairs(bold, thick)]

    def _cells(self, panel: PanelMarks, rows: Sequence[Row]) -> None:
        """Draw the cells of a heat map, or the densities of a scatter plot."""
        across, down = self._data.x, self._data.y
        assert across is not None and down is not None
        drawn = [row for row in rows if row["value"] is not None]
        if not drawn:
            return
        columns = {place.key: (place.left, place.right) for place in across.places}
        lines = {place.key: (place.left, place.right) for place in down.places}
        horizontal = np.array([columns[row["x"]] for row in drawn], np.float64)
        vertical = np.array([lines[row["y"]] for row in drawn], np.float64)
        edges = np.column_stack([horizontal[:, 0], vertical[:, 0], horizontal[:, 1], vertical[:, 1]])
        values = [row["value"] for row in drawn]
        figures = values if self._data.spec.kind == HEAT_MAP else ()
        panel.items.append(Cells(edges, self._ramp.colors(values), figures, self._are_durations))
        panel.cells = drawn, edges


_WHOLE = Place(0, None, None, 0.0, -0.5, 0.5)
