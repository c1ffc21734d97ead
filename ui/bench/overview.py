"""The first page of results: all plots, the verdict, and the matrix of rivals and operations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QSlider,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.registry import entry_named
from lamella.core.bench.results import matrix
from lamella.core.bench.results.figures import NO_BREAK, shown_rows
from lamella.core.bench.results.matrix import Cell, Matrix
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import BenchmarkResults, Display
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.multiples import USUAL_LINE, Multiples, Pager
from lamella.ui.bench.series import Look, Panel, Series, draw_marker
from lamella.ui.style.sheet import Palette

ROW_HEIGHT = 24
MOST_ROWS, MOST_SHARE = 4, 0.2
"""The most rivals visible at once, and their maximum share of the height; the others are scrolled to."""

LONGEST_RATIO = "▼ 1,250 ×"
MARKER_SIDE = 14
SLIDER_WIDTH = 150
CLEAR, LARGE = 2.0, 10.0
"""From these factors on, a cell has the second and the third strength of its colour."""


class SizeSlider(QWidget):
    """Chooses the size of the matrix. It follows the largest size until the user moves it."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sizes: tuple[int, ...] = ()
        self.slider, self.label = QSlider(Qt.Orientation.Horizontal), QLabel()
        self.slider.setAccessibleName("Number of rows")
        self.slider.setPageStep(1)
        self.slider.setFixedWidth(SLIDER_WIDTH)
        self._follows = True
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.slider)
        layout.addWidget(self.label)
        self.slider.valueChanged.connect(self._take)
        self._say()

    @property
    def rows(self) -> int:
        """The chosen size; 0 if nothing was measured."""
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
        """Follow the largest size again, since another workload is shown."""
        self._follows = True

    def _take(self, place: int) -> None:
        self._follows = place == len(self.sizes) - 1
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        self.label.setText(shown_rows(self.rows) if self.sizes else "")
        for widget in (self.slider, self.label):
            widget.setVisible(len(self.sizes) > 1)


Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class MatrixModel(QAbstractTableModel):
    """Rivals down, operations across. Of hundreds of cells, only the visible ones are written."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.matrix = Matrix(0, "", (), (), {})
        self._room = 0
        self.restyle()

    def show_matrix(self, table: Matrix) -> None:
        before, self.matrix = self.matrix, table
        if (before.rivals, before.columns) != (table.rivals, table.columns):
            self.beginResetModel()
            self.endResetModel()
        elif any(table.cells[place] is not cell for place, cell in before.cells.items()):
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def restyle(self, room: int = 0) -> None:
        """Apply the current theme; cells are `room` pixels wide."""
        look = theme.current()
        self._room = room or self._room
        self._bold, self._caption = look.tabular_font(bold=True), look.font(theme.TextSize.CAPTION)
        self._metrics = QFontMetrics(self._bold)
        self._markers: dict[str, QIcon] = {}

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.matrix.rivals)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.matrix.columns)

    def cell(self, row: int, column: int) -> Cell:
        return self.matrix.cells[self.matrix.rivals[row], self.matrix.columns[column]]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.cell(index.row(), index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            fits = self._metrics.horizontalAdvance(cell.text) + theme.S <= self._room
            return cell.text if fits else cell.short_text
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return cell.sentence(self.matrix.title)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role == Qt.ItemDataRole.FontRole and cell.outcome in (matrix.AHEAD, matrix.BEHIND):
            return self._bold
        background, text = cell_colors(cell, theme.current().colors)
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(text)
        return QColor(background) if role == Qt.ItemDataRole.BackgroundRole and background else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        across = orientation is Qt.Orientation.Horizontal
        return self._operation(section, role) if across else self._rival(self.matrix.rivals[section], role)

    def _operation(self, section: int, role: int) -> Any:
        column = self.matrix.columns[section]
        if role == Qt.ItemDataRole.FontRole:
            return self._caption
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        return column.about if role == Qt.ItemDataRole.ToolTipRole else None

    def _rival(self, rival: str, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.matrix.short_title(rival)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{self.matrix.title} against {entry_named(rival).title}"
        if role == Qt.ItemDataRole.DecorationRole:
            if rival not in self._markers:
                self._markers[rival] = _marker(rival)
            return self._markers[rival]
        return None


class MatrixTable(QTableView):
    """As high as its rows, up to four; the others are scrolled to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Lamella against each rival")
        theme.variant(self, "matrix")
        self.cells = MatrixModel(self)
        self.room = 0
        self.setModel(self.cells)
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
        self.cells.modelReset.connect(self._fit)
        theme.current().changed.connect(self._restyle)
        self._fit()

    def show_matrix(self, table: Matrix) -> None:
        self.cells.show_matrix(table)

    def set_room(self, height: int) -> None:
        """Set the height of which the table gets a share."""
        if height != self.room:
            self.room = height
            self._fit()

    def cell_texts(self) -> list[list[str]]:
        """The texts as they are shown, a list for each rival."""
        model = self.cells
        columns = range(model.columnCount())
        return [[model.index(row, at).data() for at in columns] for row in range(model.rowCount())]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def _restyle(self) -> None:
        self.cells.restyle()
        self._fit()

    def _fit(self) -> None:
        line = round(ROW_HEIGHT * max(1.0, theme.current().line_height() / USUAL_LINE))
        self.verticalHeader().setDefaultSectionSize(line)
        rows, count = self.cells.rowCount(), self.cells.columnCount()
        least, across = self._least_width(), self.verticalHeader().sizeHint().width() + 2
        header = self.horizontalHeader().sizeHint().height() if count else 0
        affordable = int((MOST_SHARE * self.room - header) / line)
        visible_rows = min(MOST_ROWS, rows, max(1, affordable))
        if visible_rows < rows:
            across += self.verticalScrollBar().sizeHint().width()
        bar = self.horizontalScrollBar().sizeHint().height() if count * least + across > self.width() else 0
        self.setFixedHeight(header + visible_rows * line + bar + (2 if visible_rows else 0))
        self.setVisible(visible_rows > 0)
        width = max(least, (self.width() - across) // max(1, count))
        self.cells.restyle(width)
        for place in range(count):
            self.setColumnWidth(place, width)

    def _least_width(self) -> int:
        metrics = QFontMetrics(theme.current().tabular_font(bold=True))
        return metrics.horizontalAdvance(LONGEST_RATIO) + theme.XS

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())


def cell_colors(cell: Cell, palette: Palette) -> tuple[str, str]:
    """Background and text colours; without a figure there is no background."""
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


NAMES_SHARE = 0.16
"""The names' share of the width."""
LONGEST_UPRIGHT = 190
"""The maximum length of an upright title, in pixels."""


def matrix_height(table: Matrix, width: float) -> int:
    """The height that `paint_matrix` needs; 0 if there is nothing to paint."""
    line = theme.current().line_height() + theme.XS
    return _header_height(table, width) + line * len(table.rivals) + theme.XS if table.columns else 0


def _header_height(table: Matrix, width: float) -> int:
    """The height of the titles, which are wrapped, or upright if a word is wider than its column."""
    metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION))
    if _has_upright_titles(table, width):
        longest = max(metrics.horizontalAdvance(column.title) for column in table.columns)
        return min(longest, theme.current().px(LONGEST_UPRIGHT)) + theme.S
    box = QRect(0, 0, _title_width(table, width), 1000)
    wrap = int(Qt.TextFlag.TextWordWrap)
    heights = (metrics.boundingRect(box, wrap, column.title).height() for column in table.columns)
    return max(heights, default=0) + theme.S


def _title_width(table: Matrix, width: float) -> int:
    return int((1 - NAMES_SHARE) * width / max(1, len(table.columns))) - 4


def _has_upright_titles(table: Matrix, width: float) -> bool:
    metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION))
    words = (word for column in table.columns for word in column.title.split())
    return any(metrics.horizontalAdvance(word) > _title_width(table, width) for word in words)


def _paint_title(painter: QPainter, title: str, box: QRectF, upright: bool) -> None:
    painter.setFont(theme.current().font(theme.TextSize.CAPTION))
    painter.setPen(theme.current().color("muted"))
    if not upright:
        wrapped = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.drawText(box, wrapped, title)
        return
    length = box.height() - theme.S
    text = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, round(length))
    painter.save()
    painter.translate(box.center().x(), box.bottom() - theme.XS)
    painter.rotate(-90)
    line = QRectF(0, -box.width() / 2, length, box.width())
    painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter), text)
    painter.restore()


def paint_matrix(painter: QPainter, table: Matrix, width: float) -> None:
    """Paint the whole matrix at the painter's origin, including what the table would scroll to."""
    look, line = theme.current(), theme.current().line_height() + theme.XS
    names, head = NAMES_SHARE * width, _header_height(table, width)
    across = (width - names) / max(1, len(table.columns))
    middle = int(Qt.AlignmentFlag.AlignCenter)
    _paint_name(painter, table.subject, table.title, QRectF(0, 0, names, head), bold=True)
    upright = _has_upright_titles(table, width)
    for place, column in enumerate(table.columns):
        _paint_title(painter, column.title, QRectF(names + place * across + 2, 0, across - 4, head), upright)
    for row, rival in enumerate(table.rivals):
        top = head + line * row
        _paint_name(painter, rival, table.short_title(rival), QRectF(0, top, names, line))
        for place, column in enumerate(table.columns):
            cell = table.cells[rival, column]
            box = QRectF(names + place * across + 1, top + 1, across - 2, line - 2)
            background, text = cell_colors(cell, look.colors)
            if background:
                painter.fillRect(box, QColor(background))
            font = look.tabular_font(bold=cell.outcome in (matrix.AHEAD, matrix.BEHIND))
            fits = QFontMetrics(font).horizontalAdvance(cell.text) + theme.S <= across
            painter.setFont(font if fits else look.tabular_font(theme.TextSize.CAPTION))
            painter.setPen(QColor(text))
            painter.drawText(box, middle, cell.text if fits else cell.short_text)
    painter.setPen(Qt.PenStyle.NoPen)


def _paint_name(painter: QPainter, system: str, title: str, box: QRectF, bold: bool = False) -> None:
    """Paint a system's name with its marker: the matrix is also the legend of the plots."""
    look = theme.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(box.left() + MARKER_SIDE / 2, box.center().y())
    draw_marker(painter, Look.of(Series(system, "", False, "", "", ())))
    painter.restore()
    font = look.font(bold=bold)
    words = box.adjusted(MARKER_SIDE + theme.S, 0, -theme.XS, 0)
    painter.setFont(font)
    painter.setPen(look.color("text"))
    text = QFontMetrics(font).elidedText(title, Qt.TextElideMode.ElideRight, round(words.width()))
    painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter), text)


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
    """The page of all plots. `enlarge_requested` carries the id of the plot that was clicked."""

    enlarge_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.multiples, self.verdict, self.sizes_slider = Multiples(), Caption(), SizeSlider()
        self.pager = Pager(self.multiples)
        self.matrix, self.source = MatrixTable(), Caption()
        self._results: BenchmarkResults | None = None
        self._display = Display("")
        self._choice: tuple[object, ...] = ()
        self._low = False
        self._build()

    def show_results(
        self,
        results: BenchmarkResults,
        display: Display,
        panels: Sequence[Panel],
        hidden: Set[str],
        log: bool,
        source: str,
    ) -> None:
        """`panels` are the plots with all lines, `hidden` the labels switched off in the legend, and `source`
        the source of the published lines."""
        if self._results is not results:
            self.sizes_slider.follow()
        choice = (id(results), replace(display, operation=""), frozenset(hidden))
        if choice != self._choice:
            self._choice = choice
            self.multiples.frames.clear()
        self._results, self._display = results, display
        self.multiples.frames.sizes = results.sizes
        self.multiples.show_panels([panel.without(hidden) for panel in panels], log)
        self.source.tell(source)
        self.set_low(self._low)
        self.sizes_slider.show_sizes(results.tally.rows)
        self._draw_matrix()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.matrix.set_room(event.size().height())

    def set_low(self, low: bool) -> None:
        """In a low view, leave the room to the plots; the legend names the publishers as well."""
        self._low = low
        self.verdict.set_short(low)
        self.source.setVisible(not low and bool(self.source.full_text))

    def _draw_matrix(self) -> None:
        results = self._results
        if results is None:
            return
        self.multiples.mark(self.sizes_slider.rows, results.rows_under_way)
        table = results.matrices.matrix(
            self.sizes_slider.rows,
            self._display.statistic,
            self._display.samples,
            results.failures,
            results.unsupported_steps,
        )
        self.matrix.show_matrix(table)
        self.verdict.tell(table.verdict.replace(" ×", f"{NO_BREAK}×") or _nothing(results))

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
        return "Nothing was measured: every attempt failed. 'Sentences' says why."
    return "Press Start to measure on this machine. Dashed lines are figures that others published."
