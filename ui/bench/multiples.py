"""Small multiples: the plots of all operations side by side, on shared axes.

Each plot is painted into a picture of its own, and again only when its lines, its position or the theme
change: unchanged plots cost nothing while a benchmark runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QEvent, QLineF, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.bench.quantities import (
    Frame,
    row_ticks,
    value_ticks,
)
from lamella.ui.bench.series import (
    CROSS_SIZE,
    Frames,
    Look,
    Panel,
    Series,
    SeriesPoint,
    cross_at,
    cross_pen,
    draw_marker,
    hover_text,
)
from lamella.ui.theme import TextSize
from lamella.ui.widgets.controls import IconButton

LEAST_WIDTH, LEAST_HEIGHT = 220, 150
"""The minimum size of a plot with title and axes, in pixels at the default text size."""

USUAL_LINE = 17
"""Pixels of a line of text at the default size."""

BEST_SHAPE = 1.25
"""The preferred ratio of a plot's width to its height."""

REACH = 12
"""How far from a point the pointer may be, in pixels."""

MARKER_SCALE = 0.75
PAINT_SECONDS, FIRST_SECONDS = 0.006, 0.025
"""After this time the remaining plots wait for the next turn of the event loop: plots with an earlier
picture, and plots with none."""


@dataclass(frozen=True)
class PlotArea:
    """The position of one plot: its whole area, and the box between its axes."""

    panel: Panel
    whole: QRect
    box: QRectF
    has_labels: bool
    """Whether it has labels on its value axis, which the plots to its right share."""


@dataclass(frozen=True)
class PlotPicture:
    """A painted plot: `place` is the position it was painted for, `key` identifies its content."""

    place: tuple[object, ...]
    key: tuple[object, ...]
    picture: QPixmap


class MarkerPictures:
    """Each line's marker in the theme's colours, painted once, since there are thousands of points."""

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio
        self._pictures: dict[tuple[str, bool, int], QPixmap] = {}

    def picture(self, series: Series, look: Look) -> QPixmap:
        key = (series.system, series.is_published, series.variant)
        if key not in self._pictures:
            self._pictures[key] = self._paint(look)
        return self._pictures[key]

    def _paint(self, look: Look) -> QPixmap:
        side = math.ceil(look.size * MARKER_SCALE) + 4
        picture = QPixmap(round(side * self.ratio), round(side * self.ratio))
        picture.setDevicePixelRatio(self.ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(side / 2, side / 2)
        painter.scale(MARKER_SCALE, MARKER_SCALE)
        draw_marker(painter, look)
        painter.end()
        return picture


class Multiples(QWidget):
    """Paints as many plots as fit; a `Pager` turns the pages. `enlarge_requested` carries the id of the plot
    that was clicked."""

    enlarge_requested = Signal(str)
    page_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plots of all operations")
        self.setMinimumSize(LEAST_WIDTH, LEAST_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.panels: tuple[Panel, ...] = ()
        self.frames = Frames()
        self.areas: list[PlotArea] = []
        self.page = 0
        self.log = True
        self.rows = 0
        self.rows_under_way = 0
        self._current = 0
        self._hovered_label = ""
        self._pictures: dict[str, PlotPicture] = {}
        self._markers = MarkerPictures(self.devicePixelRatioF())
        self._rest_timer = QTimer(self, interval=0, singleShot=True)
        self._rest_timer.timeout.connect(self.update)
        theme.current().changed.connect(self._restyle)

    def show_panels(self, panels: Sequence[Panel], log: bool) -> None:
        if tuple(panels) == self.panels and log == self.log:
            return
        if [p.id for p in panels] != [p.id for p in self.panels] or log != self.log:
            self._current = 0
        self.panels, self.log = tuple(panels), log
        self.frames.fit(self.panels, log)
        self._lay_out()

    def mark(self, rows: int, rows_under_way: int) -> None:
        """Mark the size of the matrix, and the one being measured; 0 for none."""
        if (rows, rows_under_way) != (self.rows, self.rows_under_way):
            self.rows, self.rows_under_way = rows, rows_under_way
            self.update()

    @property
    def num_pages(self) -> int:
        return max(1, math.ceil(len(self.panels) / max(1, self._capacity())))

    def turn(self, page: int) -> None:
        self.page = max(0, min(page, self.num_pages - 1))
        self._lay_out()

    # -------------------------------------------------------------------- layout

    def sizeHint(self) -> QSize:
        return QSize(800, 420)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _restyle(self) -> None:
        self._pictures = {}
        self._markers = MarkerPictures(self.devicePixelRatioF())
        self._lay_out()

    def _scale(self) -> float:
        return theme.current().line_height() / USUAL_LINE

    def _capacity(self) -> int:
        across = max(1, int(self.width() / (LEAST_WIDTH * self._scale())))
        down = max(1, int(self.height() / (LEAST_HEIGHT * self._scale())))
        return across * down

    def _lay_out(self) -> None:
        self.page = min(self.page, self.num_pages - 1)
        capacity = self._capacity()
        page_panels = self.panels[self.page * capacity : (self.page + 1) * capacity]
        self.areas = self._places(page_panels)
        self.page_changed.emit()
        self.update()

    def _places(self, panels: Sequence[Panel]) -> list[PlotArea]:
        if not panels:
            return []
        across = self._across(len(panels))
        down = math.ceil(len(panels) / across)
        metrics = QFontMetrics(theme.current().font(TextSize.CAPTION))
        labels = metrics.horizontalAdvance("100 ms") + theme.S
        title, bottom = theme.current().line_height() + theme.XS, metrics.height() + theme.XS
        own = [
            place % across == 0 or panels[place - 1].quantity.units != panel.quantity.units
            for place, panel in enumerate(panels)
        ]
        rooms = [labels if any(own[column::across]) else 0 for column in range(across)]
        width = (self.width() - sum(rooms)) / across - theme.S
        lefts = [sum(rooms[:column]) + column * (width + theme.S) for column in range(across)]
        areas, height = [], self.height() / down
        for place, panel in enumerate(panels):
            left, room = lefts[place % across], rooms[place % across]
            top = place // across * height
            whole = QRect(round(left), round(top), round(room + width + theme.S), round(height) - theme.XS)
            box = QRectF(whole.left() + room, whole.top() + title, width, whole.height() - title - bottom)
            areas.append(PlotArea(panel, whole, box, own[place]))
        return areas

    def _across(self, count: int) -> int:
        """The number of plots per row for which they are neither flat nor thin."""
        most = max(1, int(self.width() / (LEAST_WIDTH * self._scale())))
        fits = max(1, int(self.height() / (LEAST_HEIGHT * self._scale())))

        def misfit(across: int) -> float:
            down = math.ceil(count / across)
            shape = (self.width() / across) / max(1.0, self.height() / down)
            empty = across * down - count
            return abs(math.log(shape / BEST_SHAPE)) + 0.2 * empty + (9 if down > fits else 0)

        return min(range(1, min(most, count) + 1), key=misfit)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        began = perf_counter()
        for place, area in enumerate(self.areas):
            frame = self.frames.frame(area.panel)
            picture = self._picture(area, frame, began)
            if picture is not None:
                painter.drawPixmap(area.whole.topLeft(), picture)
                self._paint_marks(painter, area, frame)
            if self.hasFocus() and place == self._current:
                painter.setPen(QPen(theme.current().color("accent"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(area.whole.adjusted(0, 0, -2, -1), theme.XS, theme.XS)
        painter.end()

    def paint(self, painter: QPainter) -> None:
        """Paint everything shown as vector drawings, which stay sharp on paper."""
        for area in self.areas:
            frame = self.frames.frame(area.panel)
            painter.save()
            self._paint_plot(painter, area, frame)
            painter.restore()
            self._paint_marks(painter, area, frame)

    def finish(self) -> None:
        """Paint all plots that are waiting."""
        for area in self.areas:
            self._picture(area, self.frames.frame(area.panel), math.inf)

    def _picture(self, area: PlotArea, frame: Frame, began: float) -> QPixmap | None:
        """The plot's picture. If painting, which started at `began`, has taken too long, return the earlier
        picture for the same position, or None; the next turn of the event loop paints the plot."""
        ratio = self.devicePixelRatioF()
        if self._markers.ratio != ratio:
            self._markers = MarkerPictures(ratio)
        place = (area.whole, area.has_labels, ratio)
        key = (area.panel, frame, area.panel.id == self._hovered_label)
        cached_picture = self._pictures.get(area.panel.id)
        earlier = (
            cached_picture.picture if cached_picture is not None and cached_picture.place == place else None
        )
        if cached_picture is not None and earlier is not None and cached_picture.key == key:
            return earlier
        if perf_counter() - began > (FIRST_SECONDS if earlier is None else PAINT_SECONDS):
            self._rest_timer.start()
            return earlier
        picture = QPixmap(QSize(round(area.whole.width() * ratio), round(area.whole.height() * ratio)))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.translate(-area.whole.topLeft())
        self._paint_plot(painter, area, frame, self._markers)
        painter.end()
        self._pictures[area.panel.id] = PlotPicture(place, key, picture)
        return picture

    def _paint_plot(
        self, painter: QPainter, area: PlotArea, frame: Frame, markers: MarkerPictures | None = None
    ) -> None:
        """Paint a plot; without `markers`, markers are drawn as paths."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look = theme.current()
        painter.fillRect(area.box, look.color("surface"))
        self._paint_title(painter, area)
        self._paint_axes(painter, area, frame)
        painter.setPen(QPen(look.color("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area.box)
        painter.setClipRect(area.box.adjusted(-5, -5, 5, 5))
        for series in sorted(area.panel.series, key=lambda line: not line.is_published):
            _paint_series(painter, series, area.box, frame, markers)
        painter.setPen(cross_pen())
        for _, _, place in _crosses(area, frame):
            painter.drawLines(cross_at(place, CROSS_SIZE * MARKER_SCALE))

    def _paint_title(self, painter: QPainter, area: PlotArea) -> None:
        look = theme.current()
        font = look.font(bold=True)
        left, right = area.box.left(), area.box.right()
        line = QRectF(left, area.whole.top(), right - left, area.box.top() - area.whole.top() - 2)
        title = QFontMetrics(font).elidedText(
            area.panel.title, Qt.TextElideMode.ElideRight, round(line.width())
        )
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(font)
        painter.setPen(look.color("accent" if area.panel.id == self._hovered_label else "text"))
        painter.drawText(line, flags, title)
        small = look.font(TextSize.CAPTION)
        about_area = line.adjusted(QFontMetrics(font).horizontalAdvance(title) + theme.S, 0, 0, 0)
        if about_area.width() > LEAST_WIDTH / 3 and area.panel.about:
            about = QFontMetrics(small).elidedText(
                area.panel.about, Qt.TextElideMode.ElideRight, round(about_area.width())
            )
            painter.setFont(small)
            painter.setPen(look.color("muted"))
            painter.drawText(about_area, flags, about)

    def _paint_axes(self, painter: QPainter, area: PlotArea, frame: Frame) -> None:
        look, box = theme.current(), area.box
        font = look.tabular_font(TextSize.CAPTION)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for value, text in value_ticks(frame, area.panel.quantity.units, box.height(), metrics.height()):
            y = box.bottom() - (value - frame.low) / (frame.high - frame.low) * box.height()
            painter.setPen(QPen(look.color("grid_line"), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            if area.has_labels and text:
                painter.setPen(look.color("muted"))
                line = QRectF(area.whole.left(), y - 10, box.left() - area.whole.left() - theme.XS, 20)
                painter.drawText(line, right, text)
        for value, text in row_ticks(frame, box.width(), metrics):
            x = box.left() + (value - frame.left) / (frame.right - frame.left) * box.width()
            painter.setPen(QPen(look.color("grid_line"), 1))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            painter.setPen(look.color("muted"))
            line = QRectF(x - 60, box.bottom() + 1, 120, metrics.height())
            painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_marks(self, painter: QPainter, area: PlotArea, frame: Frame) -> None:
        look, box = theme.current(), area.box
        if self.rows_under_way:
            x, half = frame.x_of(self.rows_under_way, box), max(8.0, 0.04 * box.width())
            shade = look.color("accent")
            shade.setAlphaF(0.10)
            painter.fillRect(QRectF(x - half, box.top(), 2 * half, box.height()).intersected(box), shade)
        if self.rows:
            x = frame.x_of(self.rows, box)
            painter.setPen(QPen(look.color("accent"), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    # ------------------------------------------------------- pointer and keyboard

    def area_at(self, position: QPointF) -> PlotArea | None:
        return next((area for area in self.areas if QRectF(area.whole).contains(position)), None)

    def nearest(self, position: QPointF) -> tuple[Panel, Series, SeriesPoint] | None:
        """The point or cross within reach; measured ones come before published ones."""
        area = self.area_at(position)
        if area is None:
            return None
        frame = self.frames.frame(area.panel)
        places = [
            (series, point, frame.at(point.rows, point.value, area.box))
            for series in area.panel.series
            for point in series.points
        ]
        within = []
        for number, (series, _, place) in enumerate(places_near := [*_crosses(area, frame), *places]):
            away = math.hypot(place.x() - position.x(), place.y() - position.y())
            if away <= REACH:
                within.append((series.is_published, away, number))
        if not within:
            return None
        series, point, _ = places_near[min(within)[-1]]
        return area.panel, series, point

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            position = QPointF(event.pos())
            place, area = self.nearest(position), self.area_at(position)
            if place is not None:
                panel, series, point = place
                text = hover_text(series, point, panel.quantity, panel.title)
                QToolTip.showText(event.globalPos(), text, self)
            elif area is not None and position.y() < area.box.top():
                QToolTip.showText(event.globalPos(), f"{area.panel.about}\nClick to enlarge", self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        area = self.area_at(event.position())
        hovered = area.panel.id if area else ""
        self.setCursor(Qt.CursorShape.PointingHandCursor if area else Qt.CursorShape.ArrowCursor)
        if hovered != self._hovered_label:
            self._hovered_label = hovered
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered_label = ""
        self.update()
        super().leaveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        area = self.area_at(event.position())
        if area is not None and event.button() is Qt.MouseButton.LeftButton:
            self.enlarge_requested.emit(area.panel.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        if event.key() in steps and self.areas:
            self._step(steps[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.areas:
            self.enlarge_requested.emit(self.areas[self._current].panel.id)
        elif event.key() == Qt.Key.Key_PageDown:
            self.turn(self.page + 1)
        elif event.key() == Qt.Key.Key_PageUp:
            self.turn(self.page - 1)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._current = min(self._current, max(0, len(self.areas) - 1))
        super().focusInEvent(event)

    def _step(self, by: int) -> None:
        place = self._current + by
        if place < 0 and self.page > 0:
            self.turn(self.page - 1)
            place = len(self.areas) - 1
        elif place >= len(self.areas) and self.page + 1 < self.num_pages:
            self.turn(self.page + 1)
            place = 0
        self._current = max(0, min(place, len(self.areas) - 1))
        self.setAccessibleDescription(self.areas[self._current].panel.title)
        self.update()


class Pager(QWidget):
    """Arrows to turn the pages of plots if they do not all fit."""

    def __init__(self, canvas: Multiples, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas, self.place = canvas, QLabel()
        self.back, self.on = (
            IconButton("chevron-left", "Earlier plots"),
            IconButton("chevron-right", "More plots"),
        )
        theme.variant(self.place, "caption")
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.XS)
        for widget in (self.back, self.place, self.on):
            line.addWidget(widget)
        self.canvas.page_changed.connect(self._show_page)
        self.back.clicked.connect(lambda: self.canvas.turn(self.canvas.page - 1))
        self.on.clicked.connect(lambda: self.canvas.turn(self.canvas.page + 1))
        self._show_page()

    def _show_page(self) -> None:
        page, pages = self.canvas.page, self.canvas.num_pages
        self.setVisible(pages > 1)
        self.place.setText(f"{page + 1} of {pages}")
        self.back.setEnabled(page > 0)
        self.on.setEnabled(page + 1 < pages)


def _crosses(area: PlotArea, frame: Frame) -> list[tuple[Series, SeriesPoint, QPointF]]:
    """Crosses on the lower edge; those of several systems at one size are stacked."""
    count: Counter[int] = Counter()
    crosses = []
    for series in area.panel.series:
        for point in series.failures:
            up = (count[point.rows] + 0.5) * CROSS_SIZE
            crosses.append((series, point, QPointF(frame.x_of(point.rows, area.box), area.box.bottom() - up)))
            count[point.rows] += 1
    return crosses


def _paint_series(
    painter: QPainter, series: Series, box: QRectF, frame: Frame, markers: MarkerPictures | None
) -> None:
    look = Look.of(series)
    spots = [frame.at(point.rows, point.value, box) for point in series.points]
    painter.setPen(look.line)
    painter.drawPolyline(QPolygonF(spots))
    bars: list[QLineF] = []
    for point, spot in zip(series.points, spots, strict=True):
        if point.high > point.low > 0:
            x, low, high = spot.x(), frame.y_of(point.low, box), frame.y_of(point.high, box)
            bars.append(QLineF(x, low, x, high))
            bars.extend(QLineF(x - 3, y, x + 3, y) for y in (low, high))
    painter.setPen(look.outline)
    painter.drawLines(bars)
    picture = markers.picture(series, look) if markers else None
    for spot in spots:
        if picture is not None:
            half = picture.deviceIndependentSize().width() / 2
            painter.drawPixmap(QPointF(spot.x() - half, spot.y() - half), picture)
        else:
            painter.save()
            painter.translate(spot)
            painter.scale(MARKER_SCALE, MARKER_SCALE)
            draw_marker(painter, look)
            painter.restore()
