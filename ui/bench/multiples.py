"""Small multiples: every operation's plot side by side, on shared axes.

A plot is painted into a picture of its own, and again only when its lines, its place or the theme change:
what stands still costs nothing while a benchmark runs.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
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

from lamella.core.bench.results.figures import shown_rows
from lamella.ui import theme
from lamella.ui.bench.quantities import COUNT, Quantity, Units, power_of_ten, unit_of
from lamella.ui.bench.series import PUBLISHED, Look, Series, SeriesPoint, draw_marker, point_text
from lamella.ui.theme import TextSize
from lamella.ui.widgets.controls import IconButton

LEAST_WIDTH, LEAST_HEIGHT = 220, 150
"""Of a plot with its title and axes, in pixels at the usual text size."""

USUAL_LINE = 17
"""Pixels of a line of text at the usual size."""

BEST_SHAPE = 1.25
"""Width by height of a plot, where there is a choice."""

REACH = 12
"""How far from a point the pointer may be, in pixels."""

EMPTY_DECADES = (-3.0, 1.0)
MARGIN = 0.12
"""Beside the first and the last size, in decades; as a share of the range on even axes."""


@dataclass(frozen=True)
class Panel:
    """One plot. `id` is the operation's, `about` its line beside the title."""

    id: str
    title: str
    about: str
    quantity: Quantity
    series: tuple[Series, ...]

    def without(self, hidden: Container[str]) -> Panel:
        """`hidden` has labels of a legend, in which all published lines are one."""
        shown = (one for one in self.series if (PUBLISHED if one.published else one.label) not in hidden)
        return replace(self, series=tuple(shown))

    @property
    def points(self) -> Iterable[SeriesPoint]:
        return (point for series in self.series for point in series.points)


@dataclass(frozen=True)
class Frame:
    """What a plot's axes span, in the plot's own coordinates: log10 of values, or values."""

    left: float
    right: float
    low: float
    high: float
    log: bool

    def at(self, point: SeriesPoint, value: float | None, box: QRectF) -> QPointF:
        """Where a point stands. What nobody could tell from nothing stands on the lower edge."""
        x = math.log10(point.rows) if self.log else float(point.rows)
        y = self.low if not value or value <= 0 else math.log10(value) if self.log else value
        return QPointF(
            box.left() + (x - self.left) / (self.right - self.left) * box.width(),
            box.bottom() - (max(self.low, y) - self.low) / (self.high - self.low) * box.height(),
        )

    def x_of(self, rows: int, box: QRectF) -> float:
        x = math.log10(rows) if self.log else float(rows)
        return box.left() + (x - self.left) / (self.right - self.left) * box.width()


class Frames:
    """The axes of all plots: one of rows, and one of values for each unit. They only grow while the same
    benchmark is drawn, and by powers of ten, so that nothing that was drawn moves with each sample."""

    def __init__(self) -> None:
        self.sizes: tuple[int, ...] = ()
        self._decades: dict[Units, tuple[int, int]] = {}

    def clear(self) -> None:
        self._decades = {}

    def frame(self, panel: Panel, panels: Sequence[Panel], log: bool) -> Frame:
        alike = [one for one in panels if one.quantity.units == panel.quantity.units]
        rows = [*self.sizes, *(point.rows for one in panels for point in one.points)] or [1, 1000]
        if not log:
            live = [p for one in alike for s in one.series if not s.published for p in s.points]
            top = max((p.high for p in live or [p for one in alike for p in one.points]), default=1.0) or 1.0
            span = float(max(rows))
            return Frame(-MARGIN * span / 2, span * (1 + MARGIN), 0.0, 1.08 * top, log)
        low, high = self._grown(panel.quantity.units, alike)
        first, last = math.log10(min(rows)), math.log10(max(rows))
        room = max(MARGIN * (last - first), 0.3)
        return Frame(first - room, last + room, low - 0.05, high + 0.05, log)

    def _grown(self, units: Units, panels: Sequence[Panel]) -> tuple[float, float]:
        values = [v for one in panels for p in one.points for v in (p.low, p.value, p.high) if v and v > 0]
        before = self._decades.get(units)
        if not values:
            return before or EMPTY_DECADES
        low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
        high = max(high, low + 1)
        if before is not None:
            low, high = min(low, before[0]), max(high, before[1])
        self._decades[units] = (low, high)
        return low, high


@dataclass(frozen=True)
class Cell:
    """Where one plot is: all of it, and the box between its axes."""

    panel: Panel
    whole: QRect
    box: QRectF
    labelled: bool
    """Whether it has the labels of the values' axis, which plots to its right share."""


class Multiples(QWidget):
    """Paints as many plots as fit; a `Pager` turns the pages. `enlarge_requested` has the id of
    the plot that was clicked."""

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
        self.cells: list[Cell] = []
        self.page = 0
        self.log = True
        self.rows = 0
        self.rows_under_way = 0
        self._current = 0
        self._hovered = ""
        self._pictures: dict[str, tuple[object, QPixmap]] = {}
        theme.current().changed.connect(self._restyle)

    def show_panels(self, panels: Sequence[Panel], log: bool) -> None:
        if tuple(panels) == self.panels and log == self.log:
            return
        if [p.id for p in panels] != [p.id for p in self.panels] or log != self.log:
            self._current = 0
        self.panels, self.log = tuple(panels), log
        self._lay_out()

    def mark(self, rows: int, rows_under_way: int) -> None:
        """The size that the matrix is of, and the one being measured; 0 for none."""
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
        shown = self.panels[self.page * capacity : (self.page + 1) * capacity]
        self.cells = self._places(shown)
        self.page_changed.emit()
        self.update()

    def _places(self, shown: Sequence[Panel]) -> list[Cell]:
        if not shown:
            return []
        across = self._across(len(shown))
        down = math.ceil(len(shown) / across)
        metrics = QFontMetrics(theme.current().font(TextSize.CAPTION))
        labels = metrics.horizontalAdvance("100 ms") + theme.S
        title, bottom = theme.current().line_height() + theme.XS, metrics.height() + theme.XS
        own = [
            place % across == 0 or shown[place - 1].quantity.units != panel.quantity.units
            for place, panel in enumerate(shown)
        ]
        rooms = [labels if any(own[column::across]) else 0 for column in range(across)]
        width = (self.width() - sum(rooms)) / across - theme.S
        lefts = [sum(rooms[:column]) + column * (width + theme.S) for column in range(across)]
        cells, height = [], self.height() / down
        for place, panel in enumerate(shown):
            left, room = lefts[place % across], rooms[place % across]
            top = place // across * height
            whole = QRect(round(left), round(top), round(room + width + theme.S), round(height) - theme.XS)
            box = QRectF(whole.left() + room, whole.top() + title, width, whole.height() - title - bottom)
            cells.append(Cell(panel, whole, box, own[place]))
        return cells

    def _across(self, count: int) -> int:
        """As many abreast as makes the plots neither flat nor thin."""
        most = max(1, int(self.width() / (LEAST_WIDTH * self._scale())))
        fits = max(1, int(self.height() / (LEAST_HEIGHT * self._scale())))

        def misfit(across: int) -> float:
            down = math.ceil(count / across)
            shape = (self.width() / across) / max(1.0, self.height() / down)
            empty = across * down - count
            return abs(math.log(shape / BEST_SHAPE)) + 0.12 * empty + (9 if down > fits else 0)

        return min(range(1, min(most, count) + 1), key=misfit)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint(painter)
        painter.end()

    def paint(self, painter: QPainter) -> None:
        """All that is shown; on a painter that is no screen's, as drawings that stay sharp."""
        onto_screen = painter.device() is self
        for place, cell in enumerate(self.cells):
            frame = self.frames.frame(cell.panel, self.panels, self.log)
            if onto_screen:
                painter.drawPixmap(cell.whole.topLeft(), self._picture(cell, frame))
            else:
                painter.save()
                self._paint_plot(painter, cell, frame)
                painter.restore()
            self._paint_marks(painter, cell, frame)
            if onto_screen and self.hasFocus() and place == self._current:
                painter.setPen(QPen(theme.current().color("accent"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(cell.whole.adjusted(0, 0, -2, -1), theme.XS, theme.XS)

    def _picture(self, cell: Cell, frame: Frame) -> QPixmap:
        ratio = self.devicePixelRatioF()
        key = (cell.panel, cell.whole, cell.labelled, frame, ratio, cell.panel.id == self._hovered)
        known = self._pictures.get(cell.panel.id)
        if known is not None and known[0] == key:
            return known[1]
        picture = QPixmap(QSize(round(cell.whole.width() * ratio), round(cell.whole.height() * ratio)))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.translate(-cell.whole.topLeft())
        self._paint_plot(painter, cell, frame)
        painter.end()
        self._pictures[cell.panel.id] = (key, picture)
        return picture

    def _paint_plot(self, painter: QPainter, cell: Cell, frame: Frame) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look = theme.current()
        painter.fillRect(cell.box, look.color("surface"))
        self._paint_title(painter, cell)
        self._paint_axes(painter, cell, frame)
        painter.setPen(QPen(look.color("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(cell.box)
        painter.setClipRect(cell.box.adjusted(-5, -5, 5, 5))
        for series in sorted(cell.panel.series, key=lambda one: not one.published):
            self._paint_series(painter, series, cell.box, frame)

    def _paint_title(self, painter: QPainter, cell: Cell) -> None:
        look = theme.current()
        font = look.font(bold=True)
        left, right = cell.box.left(), cell.box.right()
        line = QRectF(left, cell.whole.top(), right - left, cell.box.top() - cell.whole.top() - 2)
        title = QFontMetrics(font).elidedText(
            cell.panel.title, Qt.TextElideMode.ElideRight, round(line.width())
        )
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(font)
        painter.setPen(look.color("accent" if cell.panel.id == self._hovered else "text"))
        painter.drawText(line, flags, title)
        small = look.font(TextSize.CAPTION)
        rest = line.adjusted(QFontMetrics(font).horizontalAdvance(title) + theme.S, 0, 0, 0)
        if rest.width() > LEAST_WIDTH / 3 and cell.panel.about:
            about = QFontMetrics(small).elidedText(
                cell.panel.about, Qt.TextElideMode.ElideRight, round(rest.width())
            )
            painter.setFont(small)
            painter.setPen(look.color("muted"))
            painter.drawText(rest, flags, about)

    def _paint_axes(self, painter: QPainter, cell: Cell, frame: Frame) -> None:
        look, box = theme.current(), cell.box
        font = look.tabular_font(TextSize.CAPTION)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for value, text in _value_ticks(frame, cell.panel.quantity.units, box.height(), metrics.height()):
            y = box.bottom() - (value - frame.low) / (frame.high - frame.low) * box.height()
            painter.setPen(QPen(look.color("grid_line"), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            if cell.labelled and text:
                painter.setPen(look.color("muted"))
                line = QRectF(cell.whole.left(), y - 10, box.left() - cell.whole.left() - theme.XS, 20)
                painter.drawText(line, right, text)
        for value, text in _row_ticks(frame, box.width(), metrics):
            x = box.left() + (value - frame.left) / (frame.right - frame.left) * box.width()
            painter.setPen(QPen(look.color("grid_line"), 1))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            painter.setPen(look.color("muted"))
            line = QRectF(x - 60, box.bottom() + 1, 120, metrics.height())
            painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_series(self, painter: QPainter, series: Series, box: QRectF, frame: Frame) -> None:
        look = Look.of(series)
        spots = [(point, frame.at(point, point.value, box)) for point in series.points]
        painter.setPen(look.line)
        painter.drawPolyline(QPolygonF([spot for _, spot in spots]))
        painter.setPen(look.outline)
        for point, spot in spots:
            if point.high > point.low > 0:
                low, high = (frame.at(point, end, box).y() for end in (point.low, point.high))
                painter.drawLine(QPointF(spot.x(), low), QPointF(spot.x(), high))
                for y in (low, high):
                    painter.drawLine(QPointF(spot.x() - 3, y), QPointF(spot.x() + 3, y))
        for _, spot in spots:
            painter.save()
            painter.translate(spot)
            painter.scale(0.75, 0.75)
            draw_marker(painter, look)
            painter.restore()

    def _paint_marks(self, painter: QPainter, cell: Cell, frame: Frame) -> None:
        look, box = theme.current(), cell.box
        if self.rows_under_way:
            x, half = frame.x_of(self.rows_under_way, box), max(8.0, 0.04 * box.width())
            shade = look.color("accent")
            shade.setAlphaF(0.10)
            painter.fillRect(QRectF(x - half, box.top(), 2 * half, box.height()).intersected(box), shade)
        if self.rows:
            x = frame.x_of(self.rows, box)
            painter.setPen(QPen(look.color("accent"), 1.2, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    # ------------------------------------------------------- pointer and keyboard

    def cell_at(self, position: QPointF) -> Cell | None:
        return next((cell for cell in self.cells if QRectF(cell.whole).contains(position)), None)

    def nearest(self, position: QPointF) -> tuple[Panel, Series, SeriesPoint] | None:
        """The point within reach, measured ones before published ones."""
        cell = self.cell_at(position)
        if cell is None:
            return None
        frame = self.frames.frame(cell.panel, self.panels, self.log)
        within = []
        for place, series in enumerate(cell.panel.series):
            for number, point in enumerate(series.points):
                spot = frame.at(point, point.value, cell.box) - position
                away = math.hypot(spot.x(), spot.y())
                if away <= REACH:
                    within.append((series.published, away, place, number))
        if not within:
            return None
        _, _, place, number = min(within)
        series = cell.panel.series[place]
        return cell.panel, series, series.points[number]

    def describe(self, panel: Panel, series: Series, point: SeriesPoint) -> str:
        """What hovering over a point says: system, size, value, samples, spread and source."""
        lines = [
            f"{series.label}, {shown_rows(point.rows)}",
            f"{panel.title}: {point_text(point, panel.quantity)}",
        ]
        lines += [point.remark, series.note, f"Source: {series.source}"]
        return "\n".join(filter(None, lines))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            position = QPointF(event.pos())
            found, cell = self.nearest(position), self.cell_at(position)
            if found is not None:
                QToolTip.showText(event.globalPos(), self.describe(*found), self)
            elif cell is not None and position.y() < cell.box.top():
                QToolTip.showText(event.globalPos(), f"{cell.panel.about}\nClick to enlarge", self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        hovered = cell.panel.id if cell else ""
        self.setCursor(Qt.CursorShape.PointingHandCursor if cell else Qt.CursorShape.ArrowCursor)
        if hovered != self._hovered:
            self._hovered = hovered
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = ""
        self.update()
        super().leaveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if cell is not None and event.button() is Qt.MouseButton.LeftButton:
            self.enlarge_requested.emit(cell.panel.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        if event.key() in steps and self.cells:
            self._step(steps[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.cells:
            self.enlarge_requested.emit(self.cells[self._current].panel.id)
        elif event.key() == Qt.Key.Key_PageDown:
            self.turn(self.page + 1)
        elif event.key() == Qt.Key.Key_PageUp:
            self.turn(self.page - 1)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._current = min(self._current, max(0, len(self.cells) - 1))
        super().focusInEvent(event)

    def _step(self, by: int) -> None:
        place = self._current + by
        if place < 0 and self.page > 0:
            self.turn(self.page - 1)
            place = len(self.cells) - 1
        elif place >= len(self.cells) and self.page + 1 < self.num_pages:
            self.turn(self.page + 1)
            place = 0
        self._current = max(0, min(place, len(self.cells) - 1))
        self.setAccessibleDescription(self.cells[self._current].panel.title)
        self.update()


class Pager(QWidget):
    """Arrows between the pages of plots, where they do not all fit."""

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


def _value_ticks(frame: Frame, units: Units, height: float, line: int) -> list[tuple[float, str]]:
    """Powers of ten where there is room for their labels, or even steps from 0."""
    if not frame.log:
        return [
            (value, _even_label(value, step, units))
            for value, step in _even_steps(frame.high, height / line / 2)
        ]
    decades = range(math.ceil(frame.low), math.floor(frame.high) + 1)
    every = max(1, math.ceil(1.6 * line * (frame.high - frame.low) / max(1.0, height)))
    return [(float(d), power_of_ten(d, units) if d % every == 0 else "") for d in decades]


def _row_ticks(frame: Frame, width: float, metrics: QFontMetrics) -> list[tuple[float, str]]:
    if not frame.log:
        return [(value, _short_count(value)) for value, _ in _even_steps(frame.right, width / 60)]
    decades = range(math.ceil(frame.left), math.floor(frame.right) + 1)
    room = metrics.horizontalAdvance("100k") + theme.S
    every = max(1, math.ceil(room * (frame.right - frame.left) / max(1.0, width)))
    return [(float(d), _short_count(10.0**d) if d % every == 0 else "") for d in decades]


def _even_steps(top: float, count: float) -> list[tuple[float, float]]:
    """Values and their step: 1, 2 or 5 times a power of ten, at most `count` of them."""
    rough = top / max(2.0, count)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, step) for n in range(int(top / step) + 1)]


def _even_label(value: float, step: float, units: Units) -> str:
    unit, size = unit_of(max(value, step), units)
    digits = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return f"{value / size:,.{digits}f} {unit}".rstrip()


def _short_count(rows: float) -> str:
    """ "1", "100", "10k", "1M", "1G"."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rows >= size:
            return f"{rows / size:,.4g}{unit}"
    return (
        power_of_ten(round(math.log10(rows)), COUNT)
        if rows >= 1 and math.log10(rows) % 1 == 0
        else f"{rows:,.4g}"
    )
