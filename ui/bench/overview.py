"""The first page of results: every plot, the verdict, and the matrix of rivals and operations."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QSlider,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.registry import entry_named
from lamella.core.bench.results import matrix
from lamella.core.bench.results.figures import shown_rows
from lamella.core.bench.results.matrix import Cell, Matrix, matrix_of
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import BenchmarkResults, Display
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.multiples import Multiples, Pager, Panel
from lamella.ui.bench.series import Look, Series, draw_marker
from lamella.ui.style.sheet import Palette

ROW_HEIGHT = 24
MOST_ROWS = 4
"""Rivals that are seen at once; the others are scrolled to."""

LONGEST_RATIO = "▼ 1,250 ×"
MARKER_SIDE = 14
SLIDER_WIDTH = 150
CLEAR, LARGE = 2.0, 10.0
"""From so many times on, a cell has the second and the third strength of its colour."""


class SizeSlider(QWidget):
    """The size that the matrix is of. It follows the largest one until somebody moves it."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sizes: tuple[int, ...] = ()
        self.slider, self.label = QSlider(Qt.Orientation.Horizontal), QLabel()
        self.slider.setAccessibleName("Number of rows")
        self.slider.setPageStep(1)
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.slider.setFixedWidth(SLIDER_WIDTH)
        self._follows = True
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.slider)
        layout.addWidget(self.label)
        self.slider.valueChanged.connect(self._take)

    @property
    def rows(self) -> int:
        """0 where nothing was measured."""
        return self.sizes[self.slider.value()] if self.sizes else 0

    def show_sizes(self, sizes: Sequence[int]) -> None:
        if tuple(sizes) == self.sizes:
            return
        before = self.rows
        self.sizes = tuple(sizes)
        self._follows = self._follows or before not in self.sizes
        place = len(self.sizes) - 1 if self._follows else self.sizes.index(before)
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, len(self.sizes) - 1))
        self.slider.setValue(max(0, place))
        self.slider.blockSignals(False)
        self._say()

    def follow(self) -> None:
        """As at first: another workload is shown."""
        self._follows = True

    def _take(self, place: int) -> None:
        self._follows = place == len(self.sizes) - 1
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        self.label.setText(shown_rows(self.rows) if self.sizes else "")
        for widget in (self.slider, self.label):
            widget.setVisible(len(self.sizes) > 1)


class MatrixTable(QTableWidget):
    """Rivals down, operations across; only cells that say something else than before are written again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Lamella against each rival")
        theme.variant(self, "matrix")
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.matrix = Matrix(0, "", (), (), {})
        self._words: dict[tuple[int, int], tuple[object, ...]] = {}
        theme.current().changed.connect(self._write_anew)
        self._fit()

    def show_matrix(self, shown: Matrix) -> None:
        before, self.matrix = self.matrix, shown
        if (before.rivals, before.columns) != (shown.rivals, shown.columns):
            self._write_anew()
        else:
            self._write()

    def cell_texts(self) -> list[list[str]]:
        """As they are shown, a list for each rival."""
        return [
            [self.item(row, column).text() for column in range(self.columnCount())]
            for row in range(self.rowCount())
        ]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def _write_anew(self) -> None:
        shown, look = self.matrix, theme.current()
        self._words = {}
        self.clear()
        self.setRowCount(len(shown.rivals))
        self.setColumnCount(len(shown.columns))
        for place, column in enumerate(shown.columns):
            heading = QTableWidgetItem(column.title)
            heading.setToolTip(column.about)
            heading.setFont(look.font(theme.TextSize.CAPTION))
            self.setHorizontalHeaderItem(place, heading)
        for place, rival in enumerate(shown.rivals):
            heading = QTableWidgetItem(_marker(rival), shown.short_title(rival))
            heading.setToolTip(f"{shown.title} against {entry_named(rival).title}")
            self.setVerticalHeaderItem(place, heading)
        self._write()
        self._fit()

    def _write(self) -> None:
        for row, rival in enumerate(self.matrix.rivals):
            for place, column in enumerate(self.matrix.columns):
                self._put(row, place, self.matrix.cells[rival, column])

    def _put(self, row: int, place: int, cell: Cell) -> None:
        tip = cell.sentence(self.matrix.title)
        shown = cell.text if self._words_fit(cell.text) else cell.short_text
        words = (shown, tip, cell.outcome)
        if self._words.get((row, place)) == words:
            return
        self._words[row, place] = words
        look = theme.current()
        item = QTableWidgetItem(shown)
        item.setToolTip(tip)
        item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
        background, text = cell_colors(cell, look.colors)
        item.setForeground(QColor(text))
        if background:
            item.setBackground(QColor(background))
        if cell.outcome in (matrix.AHEAD, matrix.BEHIND):
            item.setFont(look.tabular_font(bold=True))
        self.setItem(row, place, item)

    def _fit(self) -> None:
        line = round(ROW_HEIGHT * max(1.0, theme.current().line_height() / 17))
        self.verticalHeader().setDefaultSectionSize(line)
        rows = min(MOST_ROWS, self.rowCount())
        header = self.horizontalHeader().sizeHint().height() if self.columnCount() else 0
        needed = self.columnCount() * self._least_width() + self.verticalHeader().sizeHint().width()
        bar = self.horizontalScrollBar().sizeHint().height() if needed > self.width() else 0
        self.setFixedHeight(header + rows * line + bar + (2 if rows else 0))
        self.setVisible(rows > 0)
        self._fit_columns()

    def _fit_columns(self) -> None:
        count = self.columnCount()
        if count:
            room = self.width() - self.verticalHeader().sizeHint().width() - 2
            for place in range(count):
                self.setColumnWidth(place, max(self._least_width(), room // count))
            self._write()

    def _least_width(self) -> int:
        metrics = QFontMetrics(theme.current().tabular_font(bold=True))
        return metrics.horizontalAdvance(LONGEST_RATIO) + theme.M

    def _words_fit(self, text: str) -> bool:
        metrics = QFontMetrics(theme.current().tabular_font(bold=True))
        return metrics.horizontalAdvance(text) + theme.S <= self.columnWidth(0)

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())


def cell_colors(cell: Cell, palette: Palette) -> tuple[str, str]:
    """Background and text; no background where there is no figure."""
    if cell.outcome == matrix.FAILED:
        return palette.danger_soft, palette.danger
    if cell.outcome == matrix.ABSENT:
        return "", palette.muted
    if cell.outcome in (matrix.LEVEL, matrix.UNSURE):
        return palette.sunken, palette.muted
    strength = (cell.times >= CLEAR) + (cell.times >= LARGE)
    if cell.outcome == matrix.AHEAD:
        return palette.ahead[strength], palette.on_ahead
    return palette.behind[strength], palette.on_behind


def _marker(system: str) -> QIcon:
    side = MARKER_SIDE
    picture = QPixmap(side * 2, side * 2)
    picture.setDevicePixelRatio(2)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(QPointF(side / 2, side / 2))
    draw_marker(painter, Look.of(Series(system, "", False, "", "", ())))
    painter.end()
    return QIcon(picture)


class Overview(QWidget):
    """`enlarge_requested` has the id of the plot that was clicked, `figures_requested` wants all figures."""

    enlarge_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.multiples, self.verdict, self.sizes_slider = Multiples(), Caption(), SizeSlider()
        self.pager = Pager(self.multiples)
        self.matrix, self.source = MatrixTable(), Caption()
        self._results: BenchmarkResults | None = None
        self._display = Display("")
        self._low = False
        self._build()

    def show_results(
        self, results: BenchmarkResults, display: Display, panels: Sequence[Panel], log: bool, source: str
    ) -> None:
        """`panels` are the plots, without what the legend has off; `source` is of the published lines."""
        if self._results is not results:
            self.sizes_slider.follow()
            self.multiples.frames.clear()
        self._results, self._display = results, display
        self.multiples.frames.sizes = results.sizes
        self.multiples.show_panels(panels, log)
        self.source.tell(source)
        self.set_low(self._low)
        self.sizes_slider.show_sizes(results.tally.rows)
        self._draw_matrix()

    def set_low(self, low: bool) -> None:
        """Where the view is low the plots need the room; the legend says who published what as well."""
        self._low = low
        self.verdict.set_short(low)
        self.source.setVisible(not low and bool(self.source.full_text))

    def _draw_matrix(self) -> None:
        results = self._results
        if results is None:
            return
        self.multiples.mark(self.sizes_slider.rows, results.rows_under_way)
        shown = matrix_of(
            results.workload,
            results.tally,
            self.sizes_slider.rows,
            self._display.statistic,
            self._display.samples,
            results.failures,
            results.unsupported,
        )
        self.matrix.show_matrix(shown)
        self.verdict.tell(shown.verdict or _nothing(results))

    def _build(self) -> None:
        theme.variant(self.verdict, "verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.source.set_short(True)
        below = QWidget()
        below.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        line = QHBoxLayout(below)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.M)
        line.addWidget(self.verdict, 1)
        line.addWidget(self.pager)
        line.addWidget(self.sizes_slider)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addWidget(self.multiples, 1)
        layout.addWidget(below)
        layout.addWidget(self.matrix)
        layout.addWidget(self.source)
        self.sizes_slider.changed.connect(self._draw_matrix)
        self.multiples.enlarge_requested.connect(self.enlarge_requested)


def _nothing(results: BenchmarkResults) -> str:
    if results.failures:
        return "Nothing was measured: every attempt failed. “Sentences” says why."
    return "Press Start to measure on this machine. Dashed lines are figures that others published."
