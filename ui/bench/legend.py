"""The legend, beside a plot or above several: a click switches a line off and on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from lamella.core.bench.results.figures import short_titles
from lamella.ui import theme
from lamella.ui.bench.series import Look, Series, draw_marker
from lamella.ui.widgets.controls import FlowLayout

SAMPLE_WIDTH, SHORT_SAMPLE_WIDTH = 32, 12
"""Pixels of a line sample; the short ones are used if the legend would need several lines otherwise."""

WIDEST = 250
FADED_OPACITY = 0.35


class Legend(QScrollArea):
    """The measured lines first, then published ones. Lines that were switched off stay off."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Lines of the plot")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.hidden_names: set[str] = set()
        self.entries: dict[str, LegendEntry] = {}
        self._limit = WIDEST
        theme.current().changed.connect(self._fit)
        holder = QWidget()
        self._list = QVBoxLayout(holder)
        self._list.setContentsMargins(0, theme.S, 0, theme.S)
        self._list.setSpacing(0)
        self._list.addStretch(1)
        self.setWidget(holder)

    def show_series(self, series: Sequence[Series]) -> None:
        ordered = sorted(series, key=lambda line: line.is_published)
        labels = [line.label for line in ordered]
        if labels == list(self.entries):
            return
        self._clear()
        names = self._names(labels)
        for place, line in enumerate(ordered):
            entry = LegendEntry(line, names[place], is_on=line.label not in self.hidden_names)
            entry.toggled.connect(lambda is_on, label=line.label: self._switch(label, is_on))
            entry.alone_requested.connect(lambda label=line.label: self.show_alone(label))
            self.entries[line.label] = entry
            self._add(place, entry)
        self._fit()
        self.setVisible(bool(labels))

    def _names(self, labels: Sequence[str]) -> list[str]:
        return list(labels)

    def limit(self, width: int) -> None:
        """Limit the width; longer names are cut off, but not in tooltips."""
        self._limit = width
        self._fit()

    def _fit(self) -> None:
        widths = [entry.sizeHint().width() for entry in self.entries.values()]
        self.setFixedWidth(min(self._limit, max(widths, default=0) + theme.M))

    def show_alone(self, label: str) -> None:
        """Show only this line; if it is the only one shown, show all again."""
        rivals = {name for name in self.entries if name != label}
        self.hidden_names = set() if self.hidden_names >= rivals else rivals
        for name, entry in self.entries.items():
            entry.blockSignals(True)
            entry.setChecked(name not in self.hidden_names)
            entry.blockSignals(False)
        self.changed.emit()

    def _add(self, place: int, entry: LegendEntry) -> None:
        self._list.insertWidget(place, entry)

    def _remove(self, entry: LegendEntry) -> None:
        self._list.removeWidget(entry)

    def set_hidden_names(self, hidden: set[str]) -> None:
        """Switch off exactly these lines."""
        self.hidden_names = set(hidden)
        for name, entry in self.entries.items():
            entry.blockSignals(True)
            entry.setChecked(name not in self.hidden_names)
            entry.blockSignals(False)

    def _switch(self, label: str, is_on: bool) -> None:
        self.hidden_names = self.hidden_names - {label} if is_on else self.hidden_names | {label}
        self.changed.emit()

    def _clear(self) -> None:
        for entry in self.entries.values():
            self._remove(entry)
            entry.hide()
            entry.deleteLater()
        self.entries = {}


MOST_LINES = 3


class LegendLine(Legend):
    """The legend above several plots: as many entries per line as there is room for, in three lines at most;
    names are cut off where more would be needed, but not in tooltips."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._flow = FlowLayout(theme.XS)
        holder = QWidget()
        holder.setLayout(self._flow)
        self.setWidget(holder)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _names(self, labels: Sequence[str]) -> list[str]:
        return short_titles(labels)

    def _add(self, place: int, entry: LegendEntry) -> None:
        entry.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._flow.addWidget(entry)

    def _remove(self, entry: LegendEntry) -> None:
        self._flow.removeWidget(entry)

    def _fit(self) -> None:
        line = max((entry.sizeHint().height() for entry in self.entries.values()), default=0)
        width = max(1, self.viewport().width())
        abreast = math.ceil(len(self.entries) / MOST_LINES)
        share = (width - theme.XS * (abreast - 1)) // max(1, abreast)
        height = 0
        for sample, most, lines in (
            (SAMPLE_WIDTH, WIDEST, 1),
            (SHORT_SAMPLE_WIDTH, WIDEST, MOST_LINES),
            (SHORT_SAMPLE_WIDTH, max(SHORT_SAMPLE_WIDTH, min(WIDEST, share)), MOST_LINES),
        ):
            for entry in self.entries.values():
                entry.sample_width = sample
                entry.setFixedWidth(min(most, entry.sizeHint().width()))
            height = self._flow.heightForWidth(width)
            if height <= lines * (line + theme.XS):
                break
        self.setFixedHeight(height)


class LegendEntry(QAbstractButton):
    """A line sample with its marker and name; faded and struck out while the line is off."""

    alone_requested = Signal()

    def __init__(self, series: Series, name: str, is_on: bool) -> None:
        super().__init__(checkable=True, checked=is_on, text=name)
        self._series = series
        self.sample_width = SAMPLE_WIDTH
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(f"{series.label}: click to hide or show it, double-click to show it alone")
        theme.current().changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._font())
        return QSize(
            self.sample_width + theme.S + metrics.horizontalAdvance(self.text()) + theme.S,
            metrics.height() + theme.S,
        )

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.alone_requested.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, look = theme.current(), Look.of(self._series)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("hover"))
            painter.drawRoundedRect(self.rect(), theme.XS, theme.XS)
        painter.setOpacity(1.0 if self.isChecked() else FADED_OPACITY)
        font = self._font()
        font.setStrikeOut(not self.isChecked())
        painter.setFont(font)
        painter.setPen(colors.color("text"))
        words = self.rect().adjusted(self.sample_width + theme.S, 0, 0, 0)
        text = QFontMetrics(font).elidedText(self.text(), Qt.TextElideMode.ElideRight, words.width())
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)
        self._draw_sample(painter, look)
        painter.end()

    def _draw_sample(self, painter: QPainter, look: Look) -> None:
        middle = QPointF(self.sample_width / 2 + 2, self.height() / 2)
        painter.setPen(look.line)
        painter.drawLine(QPointF(4, middle.y()), QPointF(self.sample_width, middle.y()))
        painter.translate(middle)
        draw_marker(painter, look)

    def _font(self) -> QFont:
        return theme.current().font(theme.TextSize.CAPTION)
