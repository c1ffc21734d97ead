"""Which line is whose, above the plot, where it covers no point."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QWidget

from ui import theme
from ui.bench.plot_lines import Look, draw_marker
from ui.bench.series import Series

COLUMNS = 3
SAMPLE_WIDTH, SAMPLE_HEIGHT = 36, 16


class Legend(QWidget):
    """Our own lines in the first row, published ones in the next."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: list[tuple[str, bool]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme.XL)
        self._grid.setVerticalSpacing(theme.XS)
        self._grid.setColumnStretch(COLUMNS, 1)

    @property
    def labels(self) -> list[str]:
        return [label for label, _ in self._shown]

    def show_series(self, series: Sequence[Series]) -> None:
        shown = [(one.label, one.published) for one in series]
        if shown == self._shown:
            return
        self._shown = shown
        self._clear()
        live = [one for one in series if not one.published]
        published = [one for one in series if one.published]
        self._place(live, 0)
        self._place(published, -(-len(live) // COLUMNS))

    def _place(self, series: Sequence[Series], first_row: int) -> None:
        for place, one in enumerate(series):
            self._grid.addWidget(_entry(one), first_row + place // COLUMNS, place % COLUMNS)

    def _clear(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            entry = item.widget()
            entry.hide()
            entry.deleteLater()


class Sample(QWidget):
    """A piece of the line with its marker; painted anew with the theme's colours."""

    def __init__(self, series: Series) -> None:
        super().__init__()
        self._series = series
        self.setFixedSize(SAMPLE_WIDTH, SAMPLE_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = Look.of(self._series)
        middle = QPointF(self.width() / 2, self.height() / 2)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(look.line)
        painter.drawLine(QPointF(1, middle.y()), QPointF(self.width() - 1, middle.y()))
        painter.translate(middle)
        draw_marker(painter, look)
        painter.end()


def _entry(series: Series) -> QWidget:
    entry, label = QWidget(), QLabel(series.label)
    theme.variant(label, "caption")
    layout = QHBoxLayout(entry)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.S)
    layout.addWidget(Sample(series), 0, Qt.AlignmentFlag.AlignVCenter)
    layout.addWidget(label, 0, Qt.AlignmentFlag.AlignVCenter)
    return entry
