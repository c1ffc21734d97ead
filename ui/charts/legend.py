"""The meaning of a chart's colours, hatches and sizes."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from lamella.ui import theme
from lamella.ui.charts.marks import (
    AREA_ALPHA,
    DOTTED,
    HOLLOW,
    LINE_WIDTH,
    MARKER_SIZE,
    OUTLINE_WIDTH,
    PointSizes,
    SeriesLook,
    draw_symbol,
)
from lamella.ui.charts.words import figure_text, scale_text
from lamella.ui.widgets.controls import FlowLayout
from lamella.ui.widgets.plotting import MARKERS, cosmetic_pen, hatched

SWATCH, TITLE_WIDTH = 14, 240
SHARES = (1, 4, 16)
"""The divisors of the greatest number for the points of a size scale: each point is half as wide as the one
before."""


class SizeScale(QWidget):
    """Points of a few sizes, with the round numbers of a column for which they stand."""

    def __init__(self, sizes: PointSizes, title: str) -> None:
        super().__init__()
        numbers = {round_number(sizes.greatest / share) for share in SHARES}
        self.values = sorted(number for number in numbers if not sizes.are_whole or number.is_integer())
        if sizes.is_one:
            self.values = [sizes.greatest]
        self._texts = [scale_text(value) for value in self.values]
        whole = f"Sizes by {title}: {', '.join(map(figure_text, self.values))}"
        self.setAccessibleName(whole)
        self.setToolTip(whole)
        metrics = QFontMetrics(theme.current().tabular_font(theme.TextSize.CAPTION))
        self._title = metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, theme.current().px(TITLE_WIDTH))
        self._diameters = [math.ceil(size) for size in sizes.pixels(self.values)]
        self._widths = [metrics.horizontalAdvance(text) for text in (self._title, *self._texts)]
        wide = sum(self._widths) + sum(self._diameters)
        gaps = theme.S + len(self.values) * (theme.XS + theme.M)
        self.setFixedSize(wide + gaps, max(metrics.height(), *self._diameters) + 2)

    def paintEvent(self, event: Any) -> None:
        painter, height = QPainter(self), self.height()
        painter.setFont(theme.current().tabular_font(theme.TextSize.CAPTION))
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        color = theme.current().color("muted")
        painter.setPen(color)
        title, *widths = self._widths
        painter.drawText(0, 0, title, height, middle, self._title)
        left = title + theme.S
        for diameter, text, wide in zip(self._diameters, self._texts, widths, strict=True):
            painter.setBrush(color)
            draw_symbol(painter, "o", QPointF(left + diameter / 2, height / 2), diameter)
            left += diameter + theme.XS
            painter.drawText(left, 0, wide, height, middle, text)
            left += wide + theme.M
        painter.end()


def round_number(value: float) -> float:
    """The greatest of 1, 2 or 5 times a power of ten that is not greater than the value; 0 if the value is
    not above 0."""
    if not 0 < value < math.inf:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(digit for digit in (5, 2, 1) if digit * power <= value or digit == 1) * power


class Swatch(QWidget):
    """A sample of one colour of a chart: with the marker for lines and points, and the hatch for bars."""

    def __init__(self, look: SeriesLook, hatched: bool) -> None:
        super().__init__()
        self._look, self._is_hatched = look, hatched
        side = theme.current().px(SWATCH)
        self.setFixedSize(side, side)

    def paintEvent(self, event: Any) -> None:
        painter = QPainter(self)
        box = self.rect().adjusted(1, 1, -2, -2)
        painter.setPen(self._look.color)
        if self._is_hatched:
            painter.setBrush(hatched(painter, self._look.brush))
            painter.drawRect(box)
        else:
            painter.setBrush(self._look.color)
            draw_symbol(painter, self._look.marker, QPointF(self.rect().center()), MARKER_SIZE + 2)
        painter.end()


class PartialSwatch(QWidget):
    """A sample of what is incomplete, in grey: a faded bar, or the hollow marker of a dotted line."""

    def __init__(self, is_bar: bool) -> None:
        super().__init__()
        self._is_bar = is_bar
        side = theme.current().px(SWATCH)
        self.setFixedSize(side if is_bar else 2 * side, side)

    def paintEvent(self, event: Any) -> None:
        painter, color = QPainter(self), theme.current().color("muted")
        painter.setPen(cosmetic_pen(color, OUTLINE_WIDTH if self._is_bar else LINE_WIDTH, DOTTED))
        middle = QPointF(self.rect().center())
        if self._is_bar:
            shade = theme.current().color("muted")
            shade.setAlpha(AREA_ALPHA)
            painter.setBrush(shade)
            painter.drawRect(self.rect().adjusted(1, 1, -2, -2))
        else:
            painter.drawLine(QPointF(0, middle.y()), QPointF(self.width(), middle.y()))
            for shade, size in (
                (color, MARKER_SIZE),
                (theme.current().color("surface"), MARKER_SIZE - HOLLOW),
            ):
                painter.setBrush(shade)
                draw_symbol(painter, MARKERS[0], middle, size)
        painter.end()


class ChartLegend(QWidget):
    """The meaning of each colour, on as many lines as necessary."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._flow = FlowLayout(theme.M, self)

    def show_looks(
        self, looks: list[SeriesLook], hatched: bool, sizes: SizeScale | None = None, partial: str = ""
    ) -> None:
        """Show the name of each look, the scale of sizes, and what incomplete figures are called."""
        while (item := self._flow.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for look in looks:
            self._flow.addWidget(self._entry(look, hatched))
        if partial:
            self._flow.addWidget(self._line(PartialSwatch(hatched), partial))
        if sizes is not None:
            self._flow.addWidget(sizes)
        self._show()

    def show_scale(self, scale: QWidget) -> None:
        """Show a scale in place of colours."""
        self.show_looks([], hatched=False)
        self._flow.addWidget(scale)
        self._show()

    def _show(self) -> None:
        for number in range(self._flow.count()):
            item = self._flow.itemAt(number)
            if item is not None and (entry := item.widget()) is not None:
                entry.show()  # Qt would do so after the chart is painted
        self._flow.invalidate()
        self.setVisible(self._flow.count() > 0)
        self.updateGeometry()

    def _entry(self, look: SeriesLook, hatched: bool) -> QWidget:
        return self._line(Swatch(look, hatched), look.name)

    @staticmethod
    def _line(sample: QWidget, text: str) -> QWidget:
        entry, name = QWidget(), QLabel(text)
        name.setTextFormat(Qt.TextFormat.PlainText)
        theme.variant(name, "caption")
        line = QHBoxLayout(entry)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.XS)
        line.addWidget(sample)
        line.addWidget(name)
        return entry
