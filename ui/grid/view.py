"""The grid: a table view over a window of rows, with its keys and its mouse."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import pyarrow as pa
from PySide6.QtCore import QEvent, QItemSelectionModel, QPoint, QRect, QSignalBlocker, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.cards.strip import CardStrip
from lamella.ui.filters.filter_row import FilterRow
from lamella.ui.formats.formats import Format, form_of
from lamella.ui.grid.columns import GridColumns
from lamella.ui.grid.header import ColumnHeader, Layout, RowHeader
from lamella.ui.grid.input import Key, Mouse, opens_value, press
from lamella.ui.grid.model import PAGE_ROWS, GridModel, Index, PageTexts, Rows
from lamella.ui.grid.painter import NULL, PADDING, WIDEST_FIT, CellPainter, Mark
from lamella.ui.grid.scrolling import WindowScrolling
from lamella.ui.grid.selection import CellRange, Selection
from lamella.ui.grid.texts import ROUNDED_MARK
from lamella.ui.grid.totals_row import TotalsRow
from lamella.ui.grid.value_popup import is_expandable
from lamella.ui.tasks import Tasks

MOST_LAYOUTS = 16


ROUNDED_TIP = "Rounded on screen; copying and editing take every digit"


class GridView(WindowScrolling):
    """The grid of rows.

    `edit_requested` carries the text that typing began with, or None to edit the current value;
    `value_requested` asks to open the nested value of the current cell; `drag_requested` is emitted when the
    selection is dragged by its border.
    """

    edit_requested = Signal(object)
    value_requested = Signal()
    menu_requested = Signal(QPoint)
    row_menu_requested = Signal(QPoint)
    open_requested = Signal(int, bool)
    """Emitted with a row, and whether its group is to be expanded or collapsed."""
    drag_requested = Signal()
    formats_changed = Signal()
    scrolled = Signal()
    painted = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None, model: GridModel | None = None) -> None:
        super().__init__(parent)
        self.grid_model = model or GridModel(tasks, self)
        self.selection = Selection(self)
        self.marks: Mapping[tuple[int, int], Mark] = {}
        self.row_marks: Mapping[int, str] = {}
        self.has_groups = False
        self._last_top = 0
        self._fit_next = self._changing = self._is_stale = False
        self._fit_from = 0
        self._widen_next: int | None = None
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._painter: CellPainter | None = None
        self._mouse = Mouse(self)
        self._set_up()
        self.cards = CardStrip(self, tasks)
        self.filter_row = FilterRow(self)
        self.setModel(self.grid_model)
        self._painter = CellPainter(self)
        self.totals = TotalsRow(self, self._painter)
        self._connect()

    def _set_up(self) -> None:
        self.setHorizontalHeader(ColumnHeader(self.grid_model, self))
        self.pinning = self.column_header.pinning
        self.setVerticalHeader(RowHeader(self.grid_model, self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        theme.variant(self, "grid")
        self.setCornerButtonEnabled(False)
        self.setAccessibleName("Rows")
        self.setTabKeyNavigation(False)
        # The painter covers all of it, so Qt can shift what stays on screen and repaint only the rest.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)

    def _connect(self) -> None:
        theme.current().changed.connect(self._restyle)
        self.selection.changed.connect(self._follow_selection)
        self.grid_model.pages.arrived.connect(self._follow_pages)
        self.row_header.rows_requested.connect(self.select_rows)
        self.row_header.menu_requested.connect(self._open_row_menu)
        self.column_header.column_requested.connect(self._select_columns)
        self.scrolled.connect(self.cards.follow)
        self.scrolled.connect(self.filter_row.follow)
        self.scrolled.connect(self.totals.follow)
        self.totals.shown_or_hidden.connect(self._make_room)
        for signal in (self.column_header.sectionResized, self.column_header.sectionMoved):
            signal.connect(self._follow_columns)
        self.pinning.changed.connect(self._follow_columns)
        self.pinning.changed.connect(self.column_header.viewport().update)

    @property
    def column_header(self) -> ColumnHeader:
        header = self.horizontalHeader()
        assert isinstance(header, ColumnHeader)
        return header

    @property
    def row_header(self) -> RowHeader:
        header = self.verticalHeader()
        assert isinstance(header, RowHeader)
        return header

    # -------------------------------------------------------------- showing

    def show_rows(
        self, rows: Rows, ready: PageTexts | None = None, hidden: Sequence[str] = (),
        columns: GridColumns | None = None,
    ) -> None:  # fmt: skip
        """Show other rows. Columns of the same names and types keep their widths, order and scroll position,
        also when they return later. Columns whose types have changed are fitted again."""
        self._changing = True
        before = tuple(self.grid_model.names)
        layout = Layout(self.column_header.saveState(), self.pinning.count)
        pinned = [before[column] for column in self.pinning.columns]
        self._fit_from = 0
        if self.grid_model.show(rows, ready, columns):
            self._keep_layout(before, layout)
            self.marks = {}
            self._begin_columns(hidden, pinned)
        elif len(self.grid_model.names) > len(before):
            self._fit_next, self._fit_from = True, len(before)
        elif self.grid_model.pages.has_new_types:
            self._fit_next = True
        self._changing = False
        self.selection.clamp(self.grid_model.num_rows, self.grid_model.columnCount())
        self._follow_rows()

    def mark_rows(self, reasons: Mapping[int, str], deleted: Container[int] = ()) -> None:
        """Mark rows that no longer belong where they are, `deleted` as such; the tooltip gives the reason."""
        self.row_marks = reasons
        self.row_header.displaced_rows, self.row_header.deleted_rows = reasons, deleted
        self.row_header.viewport().update()
        self.viewport().update()

    def grow(self, rows: Rows) -> None:
        self.grid_model.grow(rows)
        self._follow_rows()

    def _keep_layout(self, names: tuple[str, ...], layout: Layout) -> None:
        self._layouts.pop(names, None)
        if names:
            self._layouts[names] = layout
        while len(self._layouts) > MOST_LAYOUTS:
            del self._layouts[next(iter(self._layouts))]

    def _begin_columns(self, hidden: Sequence[str], pinned: Sequence[str]) -> None:
        """Lay out columns as when they were last shown; otherwise, keep those in `pinned` pinned."""
        self.selection.clear()
        names, header = self.grid_model.names, self.column_header
        layout = self._layouts.get(tuple(names))
        self.pinning.begin(0)
        self._fit_next = layout is None or not header.restoreState(layout.state)
        if layout is not None and not self._fit_next:
            self.pinning.begin(layout.num_pinned)
        else:
            header.put_in_order(hidden)
            for name in pinned:
                if name in names:
                    self.pinning.pin(names.index(name))
        self.scrollToTop()
        self.horizontalScrollBar().setValue(0)

    def _follow_rows(self) -> None:
        self.row_header.fit()
        self.updateGeometries()
        self.want()
        if self._fit_next and self.grid_model.pages.is_settled:
            self._fit_first()
        self.viewport().update()
        self.scrolled.emit()

    def _follow_pages(self, first: int, last: int) -> None:
        if self._fit_next:
            self._fit_first()
        if self._widen_next is not None and self.grid_model.pages.is_settled:
            self._widen()
        rows = self.visible_rows()
        if rows and first <= rows[-1] and last >= rows[0]:
            self.viewport().update()

    def want(self) -> None:
        """Request what is on screen and has not been read."""
        rows, columns = self.visible_rows(), self.visible_columns()
        if rows and columns and not self._changing:
            downwards, self._last_top = rows[0] >= self._last_top, rows[0]
            self.grid_model.pages.want(rows[0], rows[-1], columns, downwards)

    # ------------------------------------------------------------ selection

    def select_rows(self, row: int, extend: bool) -> None:
        if not self.grid_model.has_cells:
            return
        last = self.grid_model.columnCount() - 1
        top = self.selection.blocks[-1].top if extend and self.selection.blocks else row
        block = CellRange.between((top, 0), (row, last))
        self.selection.select_block(block, (row, self.first_place()))
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def _open_row_menu(self, row: int, point: QPoint) -> None:
        """Open the menu of the selected rows, or of this row if it is not selected."""
        if not any(block.top <= row <= block.bottom for block in self.selection.blocks):
            self.select_rows(row, extend=False)
        self.row_menu_requested.emit(point)

    def select_all(self) -> None:
        if self.grid_model.has_cells:
            last = (self.grid_model.num_rows - 1, self.grid_model.columnCount() - 1)
            self.selection.select_block(
                CellRange.between((0, 0), last), self.selection.current or (0, self.first_place())
            )

    @property
    def current_name(self) -> str | None:
        """The name of the current cell's column, which may be an empty string; None without a current
        cell."""
        current, names = self.selection.current, self.grid_model.names
        return names[self.column_at(current[1])] if current is not None and names else None

    def select_column(self, place: int) -> None:
        if self.grid_model.num_rows:
            top = self.selection.current[0] if self.selection.current else 0
            block = CellRange(0, place, self.grid_model.num_rows - 1, place)
            self.selection.select_block(block, (top, place))

    def _select_columns(self, column: int, extend: bool) -> None:
        """Select a column, or all from the current cell's up to it."""
        place, current = self.place(column), self.selection.current
        if extend and current is not None:
            block = CellRange.between((0, current[1]), (self.grid_model.num_rows - 1, place))
            self.selection.select_block(block, current)
        else:
            self.select_column(place)
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def go_to(self, row: int, place: int | None = None, extend: bool = False) -> None:
        """Make a cell the current one and show it."""
        if not self.grid_model.has_cells:
            return
        current = self.selection.current
        row = min(max(row, 0), self.grid_model.num_rows - 1)
        place = place if place is not None else (current[1] if current else self.first_place())
        if extend:
            self.selection.extend(row, place)
        else:
            self.selection.select(row, place)
        self.show_cell(row, place)

    def go_to_column(self, column: int) -> None:
        """Move the current cell to a column and show it, even if it was hidden."""
        if self.isColumnHidden(column):
            self.hide_columns({self.grid_model.names[column]: False})
        place = self.place(column)
        if self.grid_model.num_rows:
            self.go_to(self.selection.current[0] if self.selection.current else self.top_row(), place)
        else:
            self.show_column(place)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    # -------------------------------------------------------------- formats

    @property
    def formats(self) -> dict[str, Format]:
        """The formats chosen for columns, by name, including columns that are not shown at the moment."""
        return self.grid_model.pages.formats

    @property
    def all_formats(self) -> Mapping[str, Format]:
        """The chosen formats, and the default ones of the other columns."""
        return self.grid_model.pages.all_formats

    def set_format(self, name: str, form: Format | None) -> None:
        """Show a column in a format; None for its default."""
        if form == self.formats.get(name):
            return
        names, usual = self.grid_model.names, None
        if name in names:
            type_ = self.grid_model.schema.types[names.index(name)]
            usual = form_of(self.grid_model.pages.usual_formats, name, type_)
        if form is None or form == (usual or Format()):
            self.formats.pop(name, None)
        else:
            self.formats[name] = form
        if name in self.grid_model.names:
            column = self.grid_model.names.index(name)
            self.grid_model.pages.reformat(column)
            self._widen_next = column
            self.want()
            self.viewport().update()
        self.formats_changed.emit()

    def _widen(self) -> None:
        """Widen a column that is too narrow for its new format."""
        column, self._widen_next = self._widen_next, None
        if column is not None and self.column_header.sectionSize(column) < self.sizeHintForColumn(column):
            self.fit_column(column)

    # -------------------------------------------------------------- scrolling

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        edge = self.pinning.width if dx else 0
        if edge:
            self.column_header.setOffset(self.horizontalScrollBar().value())
            self.column_header.viewport().update()
            self.viewport().scroll(dx, 0, self.viewport().rect().adjusted(edge, 0, 0, 0))
            dx = 0
        if dx or dy:
            super().scrollContentsBy(dx, dy)
        self.after_scroll()

    def after_scroll(self) -> None:
        if self._painter is not None and not self._moving:
            self.bring_window(self.top_row())
            self.want()
            self.scrolled.emit()

    # --------------------------------------------------------------- columns

    def pin_column(self, column: int, pinned: bool = True) -> None:
        """Pin a column at the left, or unpin it. The current cell moves with it."""
        current = self.selection.current
        name = self.current_name
        self.pinning.pin(column) if pinned else self.pinning.unpin(column)
        self.follow_column(current, name)

    def follow_column(self, cell: tuple[int, int] | None, name: str | None) -> None:
        """Make the cell of this row and column the current one, wherever the column is by now."""
        if cell is not None and name is not None and name in self.grid_model.names:
            self.go_to(cell[0], self.place(self.grid_model.names.index(name)))

    def unpin_columns(self) -> None:
        current, name = self.selection.current, self.current_name
        self.pinning.unpin_all()
        self.follow_column(current, name)

    def hide_columns(self, hidden: Mapping[str, bool]) -> None:
        """Hide some columns, by name, and show others."""
        header = self.column_header
        header.setUpdatesEnabled(False)  # otherwise Qt sums up all columns again for each one
        with QSignalBlocker(header):
            for column, name in enumerate(self.grid_model.names):
                if name in hidden and header.isSectionHidden(column) != hidden[name]:
                    header.setSectionHidden(column, hidden[name])
        header.setUpdatesEnabled(True)
        self._follow_layout()

    def order_columns(self, names: Sequence[str]) -> None:
        """Put these columns first, in this order."""
        header, columns = self.column_header, {name: n for n, name in enumerate(self.grid_model.names)}
        with QSignalBlocker(header):
            for place, name in enumerate(names):
                header.moveSection(header.visualIndex(columns[name]), place)
        self._follow_layout()

    def _follow_layout(self) -> None:
        self.updateGeometries()
        self._follow_columns()
        self.column_header.layout_changed.emit()

    def fit_column(self, column: int) -> None:
        """Make a column as wide as its name and its cells on screen."""
        self.horizontalHeader().resizeSection(column, self.sizeHintForColumn(column))

    def sizeHintForColumn(self, column: int) -> int:
        """Called by Qt when an edge of the header is double-clicked."""
        assert self._painter is not None
        pages, widest = self.grid_model.pages, 0
        for row in self.visible_rows():
            try:
                text = pages.shown_text(row, column)
            except KeyError:
                continue
            widest = max(widest, self._painter.wanted_width(column, NULL if text is None else text))
        widest = min(widest + 2 * PADDING + theme.XS, WIDEST_FIT)
        return max(widest, self.column_header.wanted_width(column))

    def fit_columns(self) -> None:
        for column in self.visible_columns():
            self.fit_column(column)

    def _fit_first(self) -> None:
        """Fit the columns once rows at the current position have been read; others may arrive first."""
        page = self.top_row() // PAGE_ROWS
        read = [c for c in self.visible_columns() if self.grid_model.pages.column(page, c) is not None]
        self._fit_next = not read
        for column in [c for c in read if c >= self._fit_from]:
            chosen_width = self.column_header.widths.get(self.grid_model.names[column])
            fitted = max(self.sizeHintForColumn(column), self.cards.least_width)
            width = fitted if chosen_width is None else theme.current().px(chosen_width)
            self.horizontalHeader().resizeSection(column, width)
        if not self.grid_model.num_rows:
            self.column_header.fit_names()
        self.want()

    def _follow_columns(self) -> None:
        self.want()
        self.cards.follow_columns()
        self.filter_row.follow_columns()
        self.totals.follow()
        self.viewport().update()

    def _make_room(self) -> None:
        """Reserve room for the totals, or release it."""
        self.updateGeometries()
        self.want()
        self.viewport().update()
        self.scrolled.emit()

    # ---------------------------------------------------------------- events

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._painter is not None:
            painter = QPainter(self.viewport())
            self._painter.paint(painter, event.rect())
            painter.end()
            self.painted.emit()

    def updateGeometries(self) -> None:
        """Let Qt treat the cards and the filter row as part of the header."""
        if self._painter is None:
            super().updateGeometries()
            return
        if theme.current().is_changing:
            self._is_stale = True
            return
        if self._is_stale and not self.isVisible():  # it is laid out when its tab is shown
            return
        self._is_stale = False
        header, cards, fields = self.column_header, self.cards.wanted_height, self.filter_row.wanted_height
        below = header.room_below = cards + fields
        self.room_at_bottom = 0 if self.totals.isHidden() else self.row_height + 1
        value = self.verticalScrollBar().value()
        super().updateGeometries()
        self.totals.extend_scrolling(value)
        place = self.viewport().geometry()
        top = place.top() - header.own_height - below
        header.setGeometry(place.left(), top, place.width(), header.own_height)
        self.cards.setGeometry(place.left(), place.top() - below, place.width(), cards)
        self.filter_row.setGeometry(place.left(), place.top() - fields, place.width(), fields)
        self.totals.follow()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self.updateGeometries()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._painter is not None:
            self._keep_current_column(event.oldSize().width())
            self.cards.follow_columns()
            self.filter_row.follow_columns()
            self.want()
            self.scrolled.emit()

    def _keep_current_column(self, width: int) -> None:
        """Keep the current column visible if it was at this earlier width: a panel opened beside the grid
        covers nothing. Scroll bars have another width for a moment while the look changes."""
        if self.selection.current is None or theme.current().is_changing:
            return
        place = self.selection.current[1]
        if self.pinning.width <= self.x_of(self.column_at(place)) < width:
            self.show_column(place)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._mouse.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._mouse.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.is_arrow(event.position().toPoint()):
            self._mouse.press(event)
        elif event.button() is Qt.MouseButton.LeftButton and self.selection.current is not None:
            self.value_requested.emit() if self.is_nested else self.edit_requested.emit(None)

    @property
    def is_nested(self) -> bool:
        """Whether the current cell has a nested value, which can be opened."""
        current = self.selection.current
        column = -1 if current is None else self.column_at(current[1])
        return column >= 0 and is_expandable(self.grid_model.schema.field(column).type)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        alt = event.modifiers() == Qt.KeyboardModifier.AltModifier
        place = self.selection.current[1] if self.selection.current else self.first_place()
        if alt and event.key() == Key.Key_Up and self.filter_row.is_shown:
            self.filter_row.focus_column(place)
        elif alt and event.key() == Key.Key_Up and self.cards.is_shown:
            self.cards.focus_card(place)
        elif self.is_nested and opens_value(event):
            self.value_requested.emit()
        elif not press(self, event):
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        point = event.pos()
        rect = self.cell_rect(self.selection.current)
        if event.reason() is QContextMenuEvent.Reason.Keyboard and rect is not None:
            point = rect.center()
        self.menu_requested.emit(self.viewport().mapToGlobal(point))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.selection.current is None and self.grid_model.has_cells:
            self.selection.select(self.top_row(), self.first_place())
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            self._show_tip(event)
            return True
        return super().viewportEvent(event)

    def _show_tip(self, event: QHelpEvent) -> None:
        """Show the problem of a cell, or its text if it is cut off."""
        cell = self.cell_at(event.pos())
        rect = self.cell_rect(cell)
        text = ""
        if cell is not None and rect is not None and rect.contains(event.pos()):
            text = self._tip(cell[0], self.column_at(cell[1]), rect.width())
        QToolTip.showText(event.globalPos(), text, self.viewport(), rect or QRect())

    def _tip(self, row: int, column: int, width: int) -> str:
        mark = self.marks.get((row, column))
        if mark is not None and mark.error:
            return mark.error
        if row in self.row_marks:
            return self.row_marks[row]
        pages = self.grid_model.pages
        try:
            text, display = pages.text(row, column) or "", pages.shown_text(row, column) or ""
        except KeyError:
            return ""
        if text.startswith(ROUNDED_MARK) and self.grid_model.right[column]:
            return f"{text}\n{ROUNDED_TIP}"
        assert self._painter is not None
        cut = self._painter.metrics.horizontalAdvance(display) > width - 2 * PADDING
        return text if cut or display != text else ""

    def _follow_selection(self) -> None:
        """Tell Qt, and through it screen readers, which cell is the current one."""
        current = self.selection.current
        if current is not None:
            index = self.grid_model.index(current[0] - self.grid_model.start, self.column_at(current[1]))
            if index.isValid() and index != self.currentIndex():
                self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        self.viewport().update()

    def visualRect(self, index: Index) -> QRect:
        """The visible rectangle of a cell, for screen readers: Qt does not know about pinned columns."""
        if not index.isValid():
            return QRect()
        return self.cell_rect((self.grid_model.start + index.row(), self.place(index.column()))) or QRect()

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Do not scroll: `show_cell` does."""

    def _restyle(self) -> None:
        assert self._painter is not None
        self._painter.restyle()
        if self._is_stale:
            self.updateGeometries()
        self.viewport().update()

    def field(self, column: int) -> pa.Field:
        return self.grid_model.schema.field(column)
