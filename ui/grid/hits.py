"""Drawing hits: behind the texts of cells, and as marks beside the scroll bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from lamella.core.filters.cell_texts import CUT
from lamella.core.query.cell_search import Hits, TextPattern
from lamella.core.query.cell_search.hits import Cell
from lamella.ui import theme
from lamella.ui.grid.model import GridModel
from lamella.ui.grid.texts import LONGEST, with_hyphen
from lamella.ui.grid.tree import arrow_room
from lamella.ui.widgets.hosts import parent_of

MOST_SPANS = 4096
UNDERLINE = 2
"""Pixels of the line below a hit: for many eyes, the colour alone is too faint."""
BEFORE_HIT = 3
"""Where only a part of a text fits, up to 1/BEFORE_HIT of the free room is before the hit."""
MARK_HEIGHT, MARK_WIDTH = 2, 4


class CellTexts(Protocol):
    """Draws the texts of cells."""

    metrics: QFontMetrics

    def fitted_in_line(self, column: int, text: str, width: int) -> tuple[str, int]: ...


class ColumnStrip(Protocol):
    """A visible column."""

    column: int
    x: int
    width: int
    flags: int


class RowsOnScreen(Protocol):
    grid_model: GridModel

    @property
    def row_height(self) -> int: ...

    def row_top(self, row: int) -> int: ...


class HitParts(dict[Cell, str]):
    """The parts around hits, of texts that are too long for their cells to have them; `request` is called
    once for each cell whose part is not known."""

    def __init__(self, request: Callable[[Cell], None]) -> None:
        super().__init__()
        self._request = request
        self._requested_cells = set[Cell]()

    def request(self, cell: Cell) -> None:
        if cell not in self._requested_cells:
            self._requested_cells.add(cell)
            self._request(cell)


class HitPainter:
    """Draws the hits among the cells on screen, below their texts."""

    def __init__(self, hits: Hits, pattern: TextPattern, parts: HitParts | None = None) -> None:
        self._hits, self._pattern, self._known_parts = hits, pattern, parts
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._shown_parts: dict[tuple[str, int], str] = {}

    def paint(
        self,
        painter: QPainter,
        cells: CellTexts,
        grid: RowsOnScreen,
        strips: Sequence[ColumnStrip],
        rows: range,
    ) -> None:
        names = grid.grid_model.names
        strips_by_name = {names[strip.column]: strip for strip in strips}
        colors = theme.current().colors
        soft, strong, line = QColor(colors.warning_soft), QColor(colors.behind[2]), QColor(colors.warning)
        for row, name in self._hits.in_rows(rows[0], rows[-1] + 1, strips_by_name):
            strip = strips_by_name[name]
            cell = QRect(strip.x, grid.row_top(row), strip.width - 1, grid.row_height - 1)
            painter.fillRect(cell, soft)
            parts = self._parts(cells, grid, strip, row, cell)
            for part in parts:
                painter.fillRect(part, strong)
            for part in parts or [cell]:
                painter.fillRect(part.adjusted(0, part.height() - UNDERLINE, 0, 0), line)

    def text_of(self, row: int, name: str, text: str) -> str:
        """The text of a cell: as it was read, or the part with its hit, if that is not among the characters
        that are read for every cell."""
        parts = self._known_parts
        if parts is None or len(text) < LONGEST or not text.endswith(CUT):
            return text
        cell = (row, name)
        if cell not in parts and cell in self._hits and not self._spans_in(text):
            parts.request(cell)
        return parts.get(cell, text)

    def _parts(
        self, cells: CellTexts, grid: RowsOnScreen, strip: ColumnStrip, row: int, cell: QRect
    ) -> list[QRect]:
        """The visible rectangles of the hits in a cell; empty while they are not known."""
        try:
            text = grid.grid_model.pages.shown_text(row, strip.column)
        except KeyError:
            return []
        if not text:
            return []
        text = self.text_of(row, grid.grid_model.names[strip.column], text)
        tree = grid.grid_model.tree
        arrow = arrow_room() if tree is not None and strip.column in tree.opening_columns else 0
        inner = cell.adjusted(theme.S + arrow, 2, -theme.S, -2)
        fitted, room = cells.fitted_in_line(strip.column, text, inner.width())
        width = cells.metrics.horizontalAdvance(fitted)
        left = inner.left()
        if strip.flags & int(Qt.AlignmentFlag.AlignRight):
            left += room - width
        elif strip.flags & int(Qt.AlignmentFlag.AlignHCenter):
            left += (room - width) // 2
        parts = []
        plain = with_hyphen(fitted) if grid.grid_model.has_minus[strip.column] else fitted
        for first, stop in self._spans_in(plain):
            start = cells.metrics.horizontalAdvance(fitted[:first])
            end = cells.metrics.horizontalAdvance(fitted[:stop])
            parts.append(QRect(left + start, inner.top(), max(1, end - start), inner.height()) & cell)
        return parts

    def part_with_hit(self, text: str, beginning: str, metrics: QFontMetrics, width: int) -> str:
        """Of a text that is cut off, the part with its first hit: its `beginning`, if the hit is there or
        there is none, or what stands around the hit."""
        key = (text, width)
        part = self._shown_parts.get(key)
        if part is None:
            if len(self._shown_parts) > MOST_SPANS:
                self._shown_parts.clear()
            part = self._shown_parts[key] = self._part_with_hit(text, beginning, metrics, width)
        return part

    def _part_with_hit(self, text: str, beginning: str, metrics: QFontMetrics, width: int) -> str:
        spans = self._spans_in(with_hyphen(text))
        if not spans or spans[0][1] < len(beginning):
            return beginning
        start, stop = spans[0]
        free = max(0, width - metrics.horizontalAdvance(CUT + text[start:stop] + CUT))
        first = start
        while first and metrics.horizontalAdvance(text[first - 1 : start]) <= free // BEFORE_HIT:
            first -= 1
        if (space := text.find(" ", first, start)) >= 0:
            first = space + 1  # half a word could look like a hit of whole words
        return metrics.elidedText(CUT + text[first:], Qt.TextElideMode.ElideRight, width)

    def _spans_in(self, text: str) -> list[tuple[int, int]]:
        spans = self._spans.get(text)
        if spans is None:
            if len(self._spans) > MOST_SPANS:
                self._spans.clear()
            spans = self._spans[text] = self._pattern.spans(text)
        return spans


class HitMarks(QWidget):
    """Marks over the scroll bar for the positions of hits among all rows. The mouse acts on the bar below."""

    def __init__(self, pane: QWidget, *bars: QScrollBar) -> None:
        super().__init__(pane)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Positions of hits")
        self._bars = bars
        self._hits: Hits | None = None
        for bar in bars:
            bar.installEventFilter(self)
        self.hide()

    def show_hits(self, hits: Hits | None) -> None:
        """Show the hits found so far; None for none."""
        self._hits = hits
        self._place()
        self.update()

    @property
    def places(self) -> np.ndarray:
        """The heights with a mark, in pixels from the top."""
        if self._hits is None or not self.height():
            return np.empty(0, np.int64)
        hit_places = np.flatnonzero(self._hits.overview)
        return np.unique(hit_places * self.height() // len(self._hits.overview))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        moves = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide)
        if event.type() in moves:
            self._place()
        return False

    def _place(self) -> None:
        bar = next((scroll_bar for scroll_bar in self._bars if scroll_bar.isVisible()), None)
        if bar is None or self._hits is None or not self._hits.count:
            self.hide()
            return
        corner = bar.mapTo(parent_of(self), bar.rect().topLeft())
        self.setGeometry(corner.x(), corner.y(), bar.width(), bar.height())
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color = QColor(theme.current().colors.warning)
        for place in self.places.tolist():
            painter.fillRect(self.width() - MARK_WIDTH - 1, place, MARK_WIDTH, MARK_HEIGHT, color)
        painter.end()
