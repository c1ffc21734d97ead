"""The headers: columns with type, name, and marks for sort and filter; rows with their numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetrics,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QHeaderView, QToolTip, QWidget

from lamella.core.errors import visible
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.grid.columns import icon_name
from lamella.ui.grid.model import GridModel
from lamella.ui.grid.pinning import HeaderMouse, Pinning

ICON = 14
ARROW = 12
NARROWEST, USUAL_WIDTH = 40, 130
MOST_FITTED_NAMES = 500
"""The most columns whose names are measured at once."""
WIDEST_NAME = 360
"""Pixels of a name that a column makes room for."""
QUIET = ("info", "relation")
"""Marks that describe a column, rather than what is applied to it."""


@dataclass(frozen=True)
class Layout:
    """The layout of the columns: widths, order and hidden ones in Qt's own format, and the number of pinned
    ones."""

    state: QByteArray
    num_pinned: int


class ColumnHeader(QHeaderView):
    """A click sorts, a drag moves, a double click on an edge fits the width.

    `sort_requested` carries the column, and whether its key is added to the existing ones; `column_requested`
    carries the column selected by Ctrl+click, and whether the selection extends to it.
    """

    sort_requested = Signal(int, bool)
    column_requested = Signal(int, bool)
    menu_requested = Signal(int, QPoint)
    layout_changed = Signal()
    """Emitted when several columns were moved or hidden at once."""
    room_below = 0
    """Pixels that the grid reserves between the header and the rows."""

    def __init__(self, model: GridModel, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._grid_model = model
        self._sort: dict[str, tuple[bool, int]] = {}
        self._filtered_columns: frozenset[str] = frozenset()
        self.keys: frozenset[str] = frozenset()
        """Columns that lead to rows of other tables."""
        self.pinning = Pinning(self)
        self._mouse = HeaderMouse(self, self.pinning)
        self.setSectionsClickable(True)
        self.setSectionsMovable(True)
        self.setHighlightSections(False)
        self.setMinimumSectionSize(theme.current().px(NARROWEST))
        self.setDefaultSectionSize(theme.current().px(USUAL_WIDTH))
        self.setAccessibleName("Columns")
        self.sectionClicked.connect(self._follow_click)
        self.widths: dict[str, int] = {}
        """Widths set by hand, by column name, at the normal text size."""
        self._is_dragged = False
        self.sectionResized.connect(self._take_width)
        self.sectionHandleDoubleClicked.connect(self._forget_width)
        self._text_scale = theme.current().text_scale
        theme.current().changed.connect(self._restyle)

    def set_sort(self, keys: Sequence[SortKey]) -> None:
        self._sort = {key.column: (key.descending, place + 1) for place, key in enumerate(keys)}
        self._make_room(self._sort)

    def put_in_order(self, hidden: Sequence[str]) -> None:
        """Show all columns in the model's order, except the hidden ones."""
        if self.sectionsMoved():
            for column in range(self.count()):
                self.moveSection(self.visualIndex(column), column)
        if self.sectionsHidden():
            for column in range(self.count()):
                self.showSection(column)
        names = self._grid_model.names
        for name in set(hidden) & set(names):
            self.hideSection(names.index(name))

    def names_in_order(self) -> list[str]:
        """The names of all columns in their order; fast if none was moved."""
        names = self._grid_model.names
        if not self.sectionsMoved():
            return list(names)
        return [names[self.logicalIndex(place)] for place in range(self.count())]

    def hidden_names(self) -> list[str]:
        if not self.sectionsHidden():
            return []
        return [name for column, name in enumerate(self._grid_model.names) if self.isSectionHidden(column)]

    def set_width(self, name: str, width: int) -> None:
        """Set a width at the normal text size; a column that does not exist yet gets it when it appears."""
        self.widths[name] = width
        if name in self._grid_model.names:
            column = self._grid_model.names.index(name)
            if not self.isSectionHidden(column):
                self.resizeSection(column, theme.current().px(width))

    def _take_width(self, column: int, _old: int, new: int) -> None:
        if self._is_dragged and new and column < len(self._grid_model.names):
            self.widths[self._grid_model.names[column]] = round(new / theme.current().text_scale)

    def _forget_width(self, column: int) -> None:
        if column < len(self._grid_model.names):
            self.widths.pop(self._grid_model.names[column], None)

    @property
    def sort_marks(self) -> dict[str, tuple[bool, int]]:
        """By column name: whether the key is descending, and its index among the keys."""
        return self._sort

    def _restyle(self) -> None:
        """Scale the columns with the text."""
        before, self._text_scale = self._text_scale, theme.current().text_scale
        factor = self._text_scale / before
        if factor != 1:
            widths = [self.sectionSize(column) for column in range(self.count())]
            usual = self.defaultSectionSize()
            self.setMinimumSectionSize(theme.current().px(NARROWEST))
            self.setDefaultSectionSize(theme.current().px(USUAL_WIDTH))
            for column, width in enumerate(widths):
                if width not in (0, usual):
                    self.resizeSection(column, round(width * factor))
        self.viewport().update()

    @property
    def filtered_columns(self) -> frozenset[str]:
        return self._filtered_columns

    def set_filtered(self, columns: frozenset[str]) -> None:
        self._filtered_columns = columns
        self._make_room(columns)

    def set_keys(self, columns: frozenset[str]) -> None:
        """Mark the columns that lead to rows of other tables."""
        if columns != self.keys:
            self.keys = columns
            self._make_room(columns)

    @property
    def sort(self) -> tuple[SortKey, ...]:
        """The marked sort keys, first to last."""
        keys = sorted(self._sort.items(), key=lambda item: item[1][1])
        return tuple(SortKey(name, descending) for name, (descending, _) in keys)

    def _make_room(self, columns: Iterable[str]) -> None:
        """Widen columns whose name a mark would cut off."""
        for name in columns:
            if name in self._grid_model.names:
                column = self._grid_model.names.index(name)
                width = self.wanted_width(column)
                if self.sectionSize(column) < width and not self.isSectionHidden(column):
                    self.resizeSection(column, width)
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(0, self.own_height + self.room_below)

    @property
    def own_height(self) -> int:
        return theme.current().line_height() + 18

    def sectionSizeFromContents(self, logicalIndex: int) -> QSize:
        return QSize(self.wanted_width(logicalIndex), self.own_height)

    def fit_names(self) -> None:
        """Make room for the names of the first columns, where there are no cells that they could fit."""
        for column in range(min(self.count(), MOST_FITTED_NAMES)):
            self.resizeSection(column, max(self.sectionSize(column), self.wanted_width(column)))

    def wanted_width(self, column: int) -> int:
        """The width that name and marks need; a very long name is cut."""
        name = self._grid_model.names[column]
        text = min(self.fontMetrics().horizontalAdvance(visible(name)), WIDEST_NAME)
        return self._left_of_name + text + self._width_of_marks(name) + theme.S + theme.XS

    def shown_name(self, column: int) -> str:
        """The name as drawn, shortened where the column is narrow."""
        name = self._grid_model.names[column]
        room = self.sectionSize(column) - self._left_of_name - self._width_of_marks(name) - theme.S
        return self.fontMetrics().elidedText(visible(name), Qt.TextElideMode.ElideRight, room)

    @property
    def _icon(self) -> int:
        return theme.current().px(ICON)

    @property
    def _arrow(self) -> int:
        return theme.current().px(ARROW)

    @property
    def _left_of_name(self) -> int:
        return theme.S + self._icon + theme.XS + 2

    def _marks(self, name: str) -> list[str]:
        """The marks from right to left: sort arrow, filter funnel, and the signs of a key and of a note."""
        marks = []
        if name in self._sort:
            marks.append("sort-desc" if self._sort[name][0] else "sort-asc")
        if name in self._filtered_columns:
            marks.append("filter")
        if name in self.keys:
            marks.append("relation")
        if name in self._grid_model.notes:
            marks.append("info")
        return marks

    def _rank(self, name: str) -> str:
        """The number of a sort key if there are several."""
        return str(self._sort[name][1]) if name in self._sort and len(self._sort) > 1 else ""

    def _rank_width(self, name: str) -> int:
        rank = self._rank(name)
        return QFontMetrics(theme.current().font("caption")).horizontalAdvance(rank) + 2 if rank else 0

    def _width_of_marks(self, name: str) -> int:
        return len(self._marks(name)) * (self._arrow + theme.XS) + self._rank_width(name)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        column = self.column_at(event.pos().x())
        if column >= 0:
            self.menu_requested.emit(column, event.globalPos())

    def column_at(self, x: int) -> int:
        """The schema index of the column at `x` as seen; -1 if there is none."""
        return self.logicalIndex(self.pinning.place_at(x))

    # ------------------------------------------------------ with pinned columns

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_dragged = event.button() is Qt.MouseButton.LeftButton
        self._mouse.press(event) if self.pinning.places else super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse.move(event) if self.pinning.places else super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._is_dragged = False
        if not self.pinning.places:
            super().mouseReleaseEvent(event)
        elif (column := self._mouse.release(event)) >= 0:
            self.sectionClicked.emit(column)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if not self.pinning.places:
            super().mouseDoubleClickEvent(event)
        elif (column := self._mouse.handle_at(event.position().toPoint().x())) >= 0:
            self.sectionHandleDoubleClicked.emit(column)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            column = self.column_at(event.pos().x())
            tip = self._grid_model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
            QToolTip.showText(event.globalPos(), str(tip or ""), self)
            return True
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        places = self.pinning.places
        if not places:
            return
        painter, width, height = QPainter(self.viewport()), self.pinning.width, self.height()
        painter.setClipRect(QRect(0, 0, width, height))
        for column in self.pinning.columns[:places]:
            if not self.isSectionHidden(column):
                self.paintSection(
                    painter, QRect(self.pinning.x_of(column), 0, self.sectionSize(column), height), column
                )
        self.pinning.paint_edge(painter, 0, height)
        painter.setClipping(False)
        self._mouse.paint(painter)
        painter.end()

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        look, name = theme.current(), self._grid_model.names[logicalIndex]
        painter.fillRect(rect, look.color("window"))
        painter.setPen(look.color("border"))
        painter.drawLine(rect.topRight(), rect.bottomRight())
        if not self.room_below:
            painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        inner = rect.adjusted(theme.S, 0, -theme.S, 0)
        icon = icon_name(self._grid_model.schema.field(logicalIndex).type)
        look.icon(icon, "faint").paint(
            painter, QRect(inner.left(), _middle(inner, self._icon), self._icon, self._icon)
        )
        self._paint_marks(painter, QRect(inner), name)
        inner.setLeft(rect.left() + self._left_of_name)
        painter.setPen(
            look.color("accent" if name in self._sort or name in self._filtered_columns else "text")
        )
        painter.setFont(look.font())
        text = self.shown_name(logicalIndex)
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _paint_marks(self, painter: QPainter, inner: QRect, name: str) -> None:
        look = theme.current()
        for mark in self._marks(name):
            square = QRect(
                inner.right() - self._arrow + 1, _middle(inner, self._arrow), self._arrow, self._arrow
            )
            look.icon(mark, "muted" if mark in QUIET else "accent").paint(painter, square)
            inner.setRight(inner.right() - self._arrow - theme.XS)
            if mark.startswith("sort") and self._rank(name):
                painter.setFont(look.font("caption"))
                painter.setPen(look.color("accent"))
                sides = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
                painter.drawText(inner, sides, self._rank(name))
                inner.setRight(inner.right() - self._rank_width(name))

    def _follow_click(self, column: int) -> None:
        modifiers = QApplication.keyboardModifiers()
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            self.column_requested.emit(column, shift)
        else:
            self.sort_requested.emit(column, shift)


def _middle(rect: QRect, height: int) -> int:
    return rect.top() + (rect.height() - height) // 2


OUT_OF_PLACE_SIGN, DELETED_SIGN = "≠", "−"


class RowHeader(QHeaderView):
    """Row numbers, drawn in one go. Pressing and dragging selects whole rows."""

    rows_requested = Signal(object, bool)  # row in the view, whether to extend
    menu_requested = Signal(object, QPoint)

    def __init__(self, model: GridModel, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.grid_model = model
        self.displaced_rows: Container[int] = ()  # rows that no longer belong where they are
        self.deleted_rows: Container[int] = ()  # rows that unsaved edits delete
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setHighlightSections(False)
        self.setAccessibleName("Row numbers")
        self.restyle()
        theme.current().changed.connect(self.restyle)

    def restyle(self) -> None:
        self.setMinimumSectionSize(1)  # a minimum above the current size would resize row after row
        self.setDefaultSectionSize(theme.current().line_height() + 11)
        self.fit()

    def fit(self) -> None:
        """Make the header as wide as the table's last row number, so that a filter does not move the
        columns."""
        metrics = self.fontMetrics()
        digits = f"{max(self.grid_model.total_rows, self.grid_model.num_rows, 1000):,}"
        self.setFixedWidth(metrics.horizontalAdvance(digits.replace(",", "0")) + 2 * theme.S)
        self.viewport().update()

    def sizeHint(self) -> QSize:
        """The fixed width. Qt would measure the numbers of the first and last hundred rows."""
        return QSize(self.minimumWidth(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        look, painter = theme.current(), QPainter(self.viewport())
        area, height = event.rect(), self.defaultSectionSize()
        painter.fillRect(area, look.color("window"))
        painter.setFont(look.tabular_font("caption"))
        width = self.viewport().width()
        lines, numbers = QPen(look.color("border")), QPen(look.color("faint"))
        first = self.logicalIndexAt(max(area.top(), 0))
        row, y = first, self.sectionViewportPosition(first) if first >= 0 else 0
        while 0 <= row < self.count() and y <= area.bottom():
            rect = QRect(0, y, width - theme.S, height)
            position = self.grid_model.start + row
            sign = self.sign_of(position)
            painter.setPen(numbers if sign is None else look.color(sign[1]))
            number = f"{position + 1:,}" if sign is None else sign[0]
            painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, number)
            row, y = row + 1, y + height
        painter.setPen(lines)
        painter.drawLine(width - 1, area.top(), width - 1, area.bottom())

    def sign_of(self, row: int) -> tuple[str, str] | None:
        """The sign shown instead of a row's number, and its colour; None to show the number."""
        if row in self.deleted_rows:
            return DELETED_SIGN, "danger"
        return (OUT_OF_PLACE_SIGN, "warning") if row in self.displaced_rows else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.RightButton:
            self._ask(event, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        section = self.logicalIndexAt(event.pos())
        if section >= 0:
            self.menu_requested.emit(self.grid_model.start + section, event.globalPos())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._ask(event, True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _ask(self, event: QMouseEvent, extend: bool) -> None:
        section = self.logicalIndexAt(event.position().toPoint())
        if section >= 0:
            self.rows_requested.emit(self.grid_model.start + section, extend)
