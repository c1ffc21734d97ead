"""Scrolling over more rows than Qt supports: the positions of cells, and a moving window of rows."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QTableView

from lamella.ui import theme
from lamella.ui.grid.hits import HitPainter
from lamella.ui.grid.model import GridModel
from lamella.ui.grid.pinning import Pinning
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.tree import arrow_room

MARGIN_COLUMNS = 4
OVERLAP = 8


class CellPlaces(QTableView):
    """A table view over a window of rows.

    Rows are numbered in the whole view; a `place` is the position of a column from left to right, hidden or
    not.
    """

    grid_model: GridModel
    pinning: Pinning
    hits: HitPainter | None = None
    """Draws the hits of a search, if there is one."""
    room_at_bottom = 0
    """Pixels covered at the lower edge; the last row can be scrolled above them."""

    @property
    def rows_height(self) -> int:
        """The height of the part of the viewport in which rows are visible."""
        return max(1, self.viewport().height() - self.room_at_bottom)

    @property
    def row_height(self) -> int:
        return self.verticalHeader().defaultSectionSize()

    def rows_between(self, top: int, bottom: int) -> range:
        """The rows that are at least partly between these heights of the viewport."""
        offset, height = self.verticalScrollBar().value(), self.row_height
        first = max(0, (top + offset) // height)
        last = min(self.grid_model.rowCount() - 1, (bottom + offset) // height)
        return range(self.grid_model.start + first, self.grid_model.start + last + 1)

    def visible_rows(self) -> range:
        return self.rows_between(0, self.rows_height - 1)

    def row_top(self, row: int) -> int:
        return (row - self.grid_model.start) * self.row_height - self.verticalScrollBar().value()

    def columns_between(self, left: int, right: int) -> list[int]:
        """The columns (indexes in the schema) between these pixels, from left to right."""
        header, edge = self.horizontalHeader(), self.pinning.width
        if not header.count() or header.length() == 0:
            return []
        places: list[int] = []
        if edge and left < edge:
            places += self._places_between(left, min(right, edge - 1), 0)
        if right >= edge:
            places += self._places_between(max(left, edge), right, header.offset())
        return [header.logicalIndex(place) for place in places]

    def _places_between(self, left: int, right: int, offset: int) -> Iterator[int]:
        """The positions of columns between these pixels at a scroll offset. Hidden columns cost nothing,
        however many there are."""
        header = self.horizontalHeader()
        off = offset - header.offset()
        x, end = max(0, left) + off, min(right, header.length() - offset - 1) + off
        while x <= end and (place := header.visualIndexAt(x)) >= 0:
            yield place
            column = header.logicalIndex(place)
            x = header.sectionViewportPosition(column) + header.sectionSize(column)

    def visible_columns(self) -> list[int]:
        """The columns on screen, and a few on either side."""
        header, pinned = self.horizontalHeader(), self.pinning.places
        on_screen = self.columns_between(0, self.viewport().width() - 1)
        if not on_screen:
            return []
        places_visible = [header.visualIndex(column) for column in on_screen]
        scrolled = [place for place in places_visible if place >= pinned]
        places = {place for place in places_visible if place < pinned}
        if scrolled:
            first, last = scrolled[0], scrolled[-1]
            places.update(scrolled)
            places.update(range(max(0, first - MARGIN_COLUMNS), first))
            places.update(range(last + 1, min(header.count(), last + 1 + MARGIN_COLUMNS)))
        return sorted(c for c in map(header.logicalIndex, places) if not header.isSectionHidden(c))

    def x_of(self, column: int) -> int:
        """The left edge of a column in the viewport. Scrolling columns may be covered by pinned ones."""
        return self.pinning.x_of(column)

    def zones(self, area: QRect) -> list[tuple[QRect, bool]]:
        """The parts of an area: (rectangle, False) for the scrolling columns, (rectangle, True) for the
        pinned ones."""
        edge = self.pinning.width
        if not edge:
            return [(area, False)]
        parts = (QRect(area), False), (QRect(area), True)
        parts[0][0].setLeft(max(area.left(), edge))
        parts[1][0].setRight(min(area.right(), edge - 1))
        return [(part, pinned) for part, pinned in parts if not part.isEmpty()]

    def place(self, column: int) -> int:
        return self.horizontalHeader().visualIndex(column)

    def column_at(self, place: int) -> int:
        return self.horizontalHeader().logicalIndex(place)

    def cell_rect(self, cell: tuple[int, int] | None) -> QRect | None:
        """The rectangle of a cell given by row and place; None outside the window of rows."""
        if cell is None or not 0 <= cell[0] - self.grid_model.start < self.grid_model.rowCount():
            return None
        header, column = self.horizontalHeader(), self.column_at(cell[1])
        if column < 0 or header.isSectionHidden(column):
            return None
        return QRect(self.x_of(column), self.row_top(cell[0]), header.sectionSize(column), self.row_height)

    def block_rect(self, block: CellRange, rows: range, pinned: bool = False) -> QRect:
        """The part of a block in these rows, and in either the scrolling or the pinned columns. If the block
        continues in the others, the rectangle extends slightly over the edge between them."""
        places = self.pinning.places
        left, right = (block.left, min(block.right, places - 1)) if pinned else (
            max(block.left, places), block.right)  # fmt: skip
        if left > right:
            return QRect()
        top, bottom = max(block.top, rows[0]), min(block.bottom, rows[-1])
        first, last = self.column_at(left), self.column_at(right)
        start, end = self.x_of(first), self.x_of(last) + self.horizontalHeader().sectionSize(last)
        start -= OVERLAP if left > block.left else 0
        end += OVERLAP if right < block.right else 0
        return QRect(start, self.row_top(top), end - start, (bottom - top + 1) * self.row_height)

    def cell_at(self, point: QPoint) -> tuple[int, int] | None:
        """Row and place of the cell at a point of the viewport; the nearest one if the point is outside."""
        if not self.grid_model.rowCount() or not self.horizontalHeader().length():
            return None
        header = self.horizontalHeader()
        x = min(max(point.x(), 0), min(self.viewport().width(), header.length() - header.offset()) - 1)
        rows = self.rows_between(point.y(), point.y())
        rows_visible = self.visible_rows()
        row = rows[0] if rows else (rows_visible[0] if point.y() < 0 else rows_visible[-1])
        return row, self.pinning.place_at(x)

    def is_arrow(self, point: QPoint) -> bool:
        """Whether a point of the viewport is on the arrow of a group that can be expanded."""
        tree, cell = self.grid_model.tree, self.cell_at(point)
        rect = self.cell_rect(cell)
        if tree is None or cell is None or rect is None or tree.is_open(cell[0]) is None:
            return False
        rect.setWidth(theme.S + arrow_room())
        return self.column_at(cell[1]) == tree.key_columns[tree.level(cell[0])] and rect.contains(point)

    def names_in(self, block: CellRange) -> list[str]:
        """The visible columns of a block, from left to right."""
        columns = (self.column_at(place) for place in range(block.left, block.right + 1))
        return [self.grid_model.names[c] for c in columns if not self.isColumnHidden(c)]

    def first_place(self) -> int:
        header = self.horizontalHeader()
        places_visible = (
            p for p in range(header.count()) if not header.isSectionHidden(header.logicalIndex(p))
        )
        return next(places_visible, 0)

    def next_place(self, place: int) -> int:
        """The nearest visible column, to the right if there is one."""
        header = self.horizontalHeader()
        places = [*range(place, header.count()), *range(place, -1, -1)]
        return next((p for p in places if not header.isSectionHidden(header.logicalIndex(p))), place)

    def show_column(self, place: int) -> None:
        """Scroll sideways as little as necessary."""
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        if place < self.pinning.places:
            return
        column, edge = self.column_at(place), self.pinning.width
        x, width = self.x_of(column), header.sectionSize(column)
        if x < edge or width > self.viewport().width() - edge:
            bar.setValue(bar.value() + x - edge)
        elif x + width > self.viewport().width():
            bar.setValue(bar.value() + x + width - self.viewport().width())


class WindowScrolling(CellPlaces):
    """Moves the window of rows when a row outside it is needed; nothing on screen jumps."""

    _moving = False  # while the window moves, the bar's value means nothing

    def show_cell(self, row: int, place: int) -> None:
        """Scroll as little as necessary; if the cell is far away, scroll it to the middle."""
        rows = self.visible_rows()
        if rows and not rows[0] <= row <= rows[-1]:
            near = rows[0] - len(rows) <= row <= rows[-1] + len(rows)
            if not near:
                self.scroll_to_row(row - len(rows) // 2)
        self.bring_window(row)
        top, height = self.row_top(row), self.row_height
        bar = self.verticalScrollBar()
        if top < 0:
            bar.setValue(bar.value() + top)
        elif top + height > self.rows_height:
            bar.setValue(bar.value() + top + height - self.rows_height)
        self.show_column(place)

    def top_row(self) -> int:
        """The first row on screen."""
        rows = self.visible_rows()
        return rows[0] if rows else 0

    def scroll_to_row(self, row: int) -> None:
        """Scroll a row to the top, as far as there are rows below it."""
        row = min(max(row, 0), max(0, self.grid_model.num_rows - 1))
        self.bring_window(row)
        self._moving = True
        self.verticalScrollBar().setValue((row - self.grid_model.start) * self.row_height)
        self._moving = False
        self.after_scroll()

    def bring_window(self, row: int) -> None:
        """Move the window of rows if `row` is outside it or close to its edge."""
        model = self.grid_model
        if not model.is_windowed:
            return
        edge, inside = model.window // 8, row - model.start
        near_top = inside < edge and model.start > 0
        near_bottom = inside > model.window - edge and model.start + model.window < model.num_rows
        if near_top or near_bottom:
            bar = self.verticalScrollBar()
            moved = model.move_window(row - model.window // 2)
            self._moving = True
            bar.setValue(min(max(bar.value() - moved * self.row_height, 0), bar.maximum()))
            self._moving = False
            self.verticalHeader().viewport().update()
            self.viewport().update()

    def after_scroll(self) -> None:
        """Called after every move; requests what is needed to show the rows."""
        raise NotImplementedError
