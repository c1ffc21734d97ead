"""A bar chart: groups of bars, each with a value or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from lamella.core.bench.results.figures import EQUAL_WITHIN, shown_factor
from lamella.ui import theme
from lamella.ui.bench.quantities import Quantity
from lamella.ui.bench.series import Series, SeriesPoint, place_of
from lamella.ui.theme import TextSize


@dataclass(frozen=True)
class Bar:
    """One bar. `words` are written beside it; with `is_failure` they say why there is no value."""

    series: Series
    point: SeriesPoint | None
    words: str
    tip: str
    is_failure: bool = False

    @property
    def value(self) -> float:
        return (self.point.value or 0.0) if self.point else 0.0


@dataclass(frozen=True)
class BarGroup:
    title: str
    bars: tuple[Bar, ...]

    @property
    def largest(self) -> float:
        return max((bar.point.high for bar in self.bars if bar.point), default=0.0)

    @property
    def smallest(self) -> float:
        ends = (end for bar in self.bars if bar.point for end in (bar.value, bar.point.low))
        return min((end for end in ends if end > 0), default=0.0)


@dataclass(frozen=True)
class Bars:
    """What a bar chart shows. Each group is scaled to its own largest value; with a `reference`, all share
    one scale, with a line at that value."""

    groups: tuple[BarGroup, ...]
    log: bool = False
    reference: float | None = None

    @property
    def series(self) -> list[Series]:
        """The systems with bars, each once, in an order that does not depend on values."""
        series_by_label = {bar.series.label: bar.series for group in self.groups for bar in group.bars}
        return sorted(
            series_by_label.values(), key=lambda line: (line.is_published, place_of(line.system), line.label)
        )

    def without(self, hidden: Container[str]) -> Bars:
        groups = (
            BarGroup(group.title, tuple(bar for bar in group.bars if bar.series.label not in hidden))
            for group in self.groups
        )
        return replace(self, groups=tuple(group for group in groups if group.bars))


def rank(title: str, bars: Iterable[Bar], quantity: Quantity, factors: bool = True) -> BarGroup:
    """A group with the lowest value first and missing ones last; each value as a multiple of the lowest."""
    ordered = sorted(bars, key=lambda bar: (bar.point is None, bar.value))
    own = [bar.value for bar in ordered if bar.value > 0 and not bar.series.is_published]
    lowest = min(own, default=0.0)
    return BarGroup(title, tuple(_with_words(bar, quantity, lowest if factors else 0.0) for bar in ordered))


def _with_words(bar: Bar, quantity: Quantity, lowest: float) -> Bar:
    if bar.point is None:
        return bar
    if bar.point.value is None:
        return replace(bar, words="below clock resolution")
    factor = bar.value / lowest if lowest else 0.0
    times = f"  {shown_factor(factor)} ×" if factor >= EQUAL_WITHIN else ""
    return replace(bar, words=quantity.exact(bar.value) + times)


NOTHING = "Nothing has been measured here yet."
LARGEST_NAME, NAME_SHARE = 220, 0.4
"""The most room for names: in pixels, and as a share of the width."""

LOG_ROOM = 0.3
"""Decades below the smallest value, so that its bar is visible."""


@dataclass(frozen=True)
class BarPlace:
    """The position of one bar: its whole line, and how far its value extends."""

    bar: Bar
    line: QRectF
    group: BarGroup


class BarChart(QWidget):
    """Paints bars, and is as tall as they need: meant for a scroll area."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Bars of the benchmark")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.bars = Bars(())
        self.places: list[BarPlace] = []
        self._titles: list[tuple[QRectF, str]] = []
        theme.current().changed.connect(self._lay_out)

    def show_bars(self, bars: Bars) -> None:
        if bars != self.bars:
            self.bars = bars
            self._lay_out()

    def sizeHint(self) -> QSize:
        return QSize(480, self.minimumHeight())

    def _lay_out(self) -> None:
        line, title = self._line_height(), self._line_height() + theme.S
        top = float(theme.S)
        self.places, self._titles = [], []
        for group in self.bars.groups:
            self._titles.append((QRectF(theme.M, top, 4000, title), group.title))
            top += title
            for bar in group.bars:
                self.places.append(BarPlace(bar, QRectF(0, top, 4000, line), group))
                top += line
            top += theme.M
        self.setMinimumHeight(round(top))
        self.updateGeometry()
        self.update()

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), theme.current().color("surface"))
        if not self.places:
            self._say_nothing(painter)
        visible = QRectF(event.rect())
        for room, title in self._titles:
            if room.intersects(visible):
                self._draw_title(painter, room, title)
        area = self._area()
        for place in self.places:
            if place.line.intersects(visible):
                self._draw_bar(painter, place, area)
        if self.bars.reference is not None and self.places:
            self._draw_reference(painter, area)
        painter.end()

    def _say_nothing(self, painter: QPainter) -> None:
        painter.setPen(theme.current().color("muted"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), NOTHING)

    def _draw_title(self, painter: QPainter, place: QRectF, title: str) -> None:
        painter.setFont(theme.current().font(bold=True))
        painter.setPen(theme.current().color("text"))
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
        painter.drawText(place.adjusted(0, 0, 0, -theme.XS), int(flags), title)

    def _draw_bar(self, painter: QPainter, place: BarPlace, area: QRectF) -> None:
        bar, line = place.bar, place.line
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        font = theme.current().font(TextSize.CAPTION)
        painter.setFont(font)
        painter.setPen(theme.current().color("muted" if bar.series.is_published else "text"))
        name = QRectF(theme.M, line.top(), area.left() - theme.M - theme.S, line.height())
        text = QFontMetrics(font).elidedText(
            bar.series.label, Qt.TextElideMode.ElideRight, round(name.width())
        )
        painter.drawText(name, middle | int(Qt.AlignmentFlag.AlignRight), text)
        end = area.left()
        if bar.point is not None:
            end = self._draw_extent(painter, place, area)
        painter.setPen(theme.current().color(_word_color(bar)))
        words = QRectF(end + theme.S, line.top(), self.width() - end - theme.S - theme.XS, line.height())
        text = QFontMetrics(font).elidedText(
            bar.words, Qt.TextElideMode.ElideRight, max(0, round(words.width()))
        )
        painter.drawText(words, middle | int(Qt.AlignmentFlag.AlignLeft), text)

    def _draw_extent(self, painter: QPainter, place: BarPlace, area: QRectF) -> float:
        """Draw the bar and its spread; return the x at which the words begin."""
        bar, line = place.bar, place.line
        assert bar.point is not None
        color = QColor(bar.series.color(theme.current().colors))
        low, top = self._limits(place.group)
        begin, end = self._origin(low, top, area), self._at(bar.value, low, top, area)
        box = QRectF(min(begin, end), line.top() + 2.5, max(1.5, abs(end - begin)), line.height() - 5)
        style = Qt.PenStyle.DashLine if bar.series.is_published else Qt.PenStyle.SolidLine
        painter.setPen(QPen(color, 1.2, style))
        painter.setBrush(_fill(bar, color))
        painter.drawRect(box)
        if bar.point.high <= bar.point.low:
            return box.right()
        left, right = (self._at(value, low, top, area) for value in (bar.point.low, bar.point.high))
        painter.setPen(QPen(theme.current().color("text"), 1.2))
        painter.drawLine(QPointF(left, line.center().y()), QPointF(right, line.center().y()))
        for x in (left, right):
            painter.drawLine(QPointF(x, line.center().y() - 3), QPointF(x, line.center().y() + 3))
        return max(box.right(), right)

    def _draw_reference(self, painter: QPainter, area: QRectF) -> None:
        low, top = self._limits(self.places[0].group)
        x = self._at(self.bars.reference or 0.0, low, top, area)
        painter.setPen(QPen(theme.current().color("muted"), 1.2, Qt.PenStyle.DashLine))
        for group in {id(place.group): place.group for place in self.places}.values():
            lines = [place.line for place in self.places if place.group is group]
            painter.drawLine(QPointF(x, lines[0].top()), QPointF(x, lines[-1].bottom()))

    # ------------------------------------------------------------------ positions

    def _limits(self, group: BarGroup) -> tuple[float, float]:
        """The values at the left and right ends of the bars; on a logarithmic scale, their log10."""
        reference = self.bars.reference
        groups = (group,) if reference is None else self.bars.groups
        top = max(bar_group.largest for bar_group in groups) or 1.0
        if not self.bars.log:
            return 0.0, top
        smallest = min((bar_group.smallest for bar_group in groups if bar_group.smallest > 0), default=top)
        if reference is None:
            return math.log10(smallest) - LOG_ROOM, math.log10(top)
        return math.log10(min(smallest, reference)), math.log10(max(top, reference))

    def _origin(self, low: float, top: float, area: QRectF) -> float:
        """The x at which bars begin: on a logarithmic scale with a reference, they extend both ways from
        it."""
        if self.bars.log and self.bars.reference is not None:
            return self._at(self.bars.reference, low, top, area)
        return area.left()

    def _at(self, value: float, low: float, top: float, area: QRectF) -> float:
        if self.bars.log:
            value = math.log10(value) if value > 0 else low
        share = (value - low) / (top - low) if top > low else 1.0
        return area.left() + min(1.0, max(0.0, share)) * area.width()

    def _area(self) -> QRectF:
        """The area of the bars, between names and words."""
        metrics = QFontMetrics(theme.current().font(TextSize.CAPTION))
        names = {place.bar.series.label for place in self.places}
        limit = min(LARGEST_NAME, round(NAME_SHARE * self.width()))
        widest = min(limit, max(map(metrics.horizontalAdvance, names), default=0) + theme.XS)
        words = max((metrics.horizontalAdvance(p.bar.words) for p in self.places if p.bar.point), default=0)
        left = theme.M + widest + theme.S
        return QRectF(left, 0, max(40, self.width() - left - words - theme.L), self.height())

    def _line_height(self) -> int:
        return theme.current().line_height(TextSize.CAPTION) + theme.XS

    # ------------------------------------------------------------------- hovering

    def bar_at(self, position: QPointF) -> Bar | None:
        return next((p.bar for p in self.places if p.line.top() <= position.y() < p.line.bottom()), None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            bar = self.bar_at(QPointF(event.pos()))
            if bar is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), bar.tip, self)
            return True
        return super().event(event)


def _fill(bar: Bar, color: QColor) -> QBrush:
    if bar.series.is_published:
        return QBrush(Qt.BrushStyle.NoBrush)
    return QBrush(color, bar.series.hatch)


def _word_color(bar: Bar) -> str:
    if bar.is_failure:
        return "danger"
    return "muted" if bar.series.is_published or bar.point is None else "text"
