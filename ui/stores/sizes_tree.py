"""The sizes of a store's tables, as bars: expand a table to see its columns and versions."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from lamella.core.errors import visible, visible_name
from lamella.core.phrases import sentence_case, size_text
from lamella.core.store.sizes import StoreSizes, TableSizes
from lamella.ui import theme
from lamella.ui.widgets.items import children_of, top_items

TABLE, SHARES = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
NAME, ROWS, BAR, NOW, HISTORY, INDEXES = range(6)
HEADS = ("Table", "Rows", "", "Now", "Earlier versions", "Indexes")
PARTS = ("card_met", "card", "border_strong")
"""The colours of a bar's parts: current data, earlier versions, and indexes."""
MOST_LINES, NOTHING = 200, "–"
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
NAME_WIDTHS = (220, 420)
"""The minimum and maximum initial width of the column of names."""
BAR_WIDTH = 60
"""The minimum width of the column of bars, where the window has room for it."""
Index = QModelIndex | QPersistentModelIndex


class Bars(QStyledItemDelegate):
    """Paints a bar of up to three parts, relative to the largest line."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        shares = index.sibling(index.row(), NAME).data(SHARES)
        if index.column() != BAR or not shares:
            return
        area = QRectF(option.rect).adjusted(theme.S, 0, -theme.S, 0)
        height = theme.current().px(8)
        area = QRectF(area.left(), area.center().y() - height / 2, area.width(), height)
        left = area.left()
        for share, name in zip(shares, PARTS, strict=False):
            width = share * area.width()
            if width:
                painter.fillRect(
                    QRectF(left, area.top(), max(1.0, width), height), theme.current().color(name)
                )
                left += width


class SizesTree(QTreeWidget):
    """`opened` has the name of a table, on a double click or Enter; `menu_requested` has it with the position
    of the menu."""

    opened = Signal(str)
    menu_requested = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Sizes of the tables")
        self.setColumnCount(len(HEADS))
        self.setHeaderLabels(HEADS)
        self.setItemDelegate(Bars(self))
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        header = self.header()
        header.setStretchLastSection(False)
        for column in range(len(HEADS)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(BAR, QHeaderView.ResizeMode.Stretch)
        for column in (ROWS, NOW, HISTORY, INDEXES):
            self.headerItem().setTextAlignment(column, RIGHT)
        self._sizes: StoreSizes | None = None
        self.itemDoubleClicked.connect(self._open)
        self.itemExpanded.connect(lambda _: self._fit_names())
        theme.current().changed.connect(self._restyle)

    @property
    def current_table(self) -> str:
        """The table of the current line, also if that is one of its columns or versions."""
        item = self.currentItem()
        while item is not None and item.parent() is not None:
            item = item.parent()
        return str(item.data(NAME, TABLE)) if item is not None else ""

    def show_sizes(self, sizes: StoreSizes) -> None:
        """Show the sizes, the largest table first. Expanded tables stay expanded."""
        before, current = self._open_lines(), self.current_table
        self._sizes = sizes
        self.clear()
        largest = max((table.total for table in sizes.tables), default=0) or 1
        for table in sorted(sizes.tables, key=lambda table: (-table.total, table.name)):
            item = self._table(table, largest)
            self.addTopLevelItem(item)
            for place, line in enumerate(_lines_of(item)):
                line.setExpanded((table.name, place) in before)
            if table.name == current:
                self.setCurrentItem(item)
        self._fit_names()
        if self.currentItem() is None and self.topLevelItemCount():
            self.setCurrentIndex(self.model().index(0, NAME))

    def _fit_names(self) -> None:
        """Widen the column to the names that are shown, within limits; make it narrower only where bars and
        sizes would not fit beside it."""
        least, greatest, bar = (theme.current().px(width) for width in (*NAME_WIDTHS, BAR_WIDTH))
        width = max(self.columnWidth(NAME), min(greatest, self.sizeHintForColumn(NAME)))
        figures = sum(
            max(self.sizeHintForColumn(column), self.header().sectionSizeHint(column))
            for column in (ROWS, NOW, HISTORY, INDEXES)
        )
        self.setColumnWidth(NAME, max(least, min(width, self.viewport().width() - figures - bar)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_names()

    def _open_lines(self) -> set[tuple[str, int]]:
        """The expanded lines: the name of the table with 0, or the number of the line below it."""
        return {
            (table.data(NAME, TABLE), place)
            for table in top_items(self)
            for place, line in enumerate(_lines_of(table))
            if line.isExpanded()
        }

    def _table(self, table: TableSizes, largest: int) -> QTreeWidgetItem:
        look = theme.current()
        sizes = (table.bytes, table.history_bytes, table.index_bytes)
        figures = [_shown_size(size) for size in sizes]
        if table.rows and not table.bytes:
            figures[0] = "in the catalog"
        item = self._line([visible_name(table.name), f"{table.rows:,}", "", *figures])
        item.setData(NAME, TABLE, table.name)
        item.setIcon(NAME, look.icon("table"))
        item.setData(NAME, SHARES, [size / largest for size in sizes])
        now, history, indexes = map(size_text, sizes)
        says = f"{size_text(table.total)}: {now} now, {history} earlier versions, {indexes} indexes"
        item.setData(NAME, Qt.ItemDataRole.AccessibleDescriptionRole, says)
        item.setToolTip(BAR, says)
        if table.problem:
            item.setIcon(NAME, look.icon("warning", "danger"))
            item.setToolTip(NAME, visible(table.problem))
            reason = self._line([visible(table.problem)])
            reason.setForeground(NAME, look.color("danger"))
            item.addChild(reason)
            reason.setFirstColumnSpanned(True)
            return item
        item.addChild(self._columns(table))
        item.addChild(self._versions(table))
        return item

    def _columns(self, table: TableSizes) -> QTreeWidgetItem:
        head = self._heading(f"Columns · {len(table.columns):,}")
        largest = max((column.bytes for column in table.columns), default=0) or 1
        for column in sorted(table.columns, key=lambda column: -column.bytes)[:MOST_LINES]:
            line = self._line([visible_name(column.name), "", "", size_text(column.bytes)])
            line.setToolTip(NAME, visible(f"{column.type}, {column.encoding}"))
            line.setData(NAME, SHARES, [column.bytes / largest])
            head.addChild(line)
        return head

    def _versions(self, table: TableSizes) -> QTreeWidgetItem:
        head = self._heading(f"Versions · {len(table.versions):,}")
        largest = max((version.added for version in table.versions), default=0) or 1
        for version in table.versions[::-1][:MOST_LINES]:
            called = f" '{version.name}'" if version.name else ""
            freed = f"its expiry frees {size_text(version.freed)}" if version.freed else ""
            what = sentence_case(version.message)
            text = visible(f"{version.version:,}{called} · {what}")
            line = self._line([text, "", "", _shown_size(version.added), freed])
            line.setToolTip(NAME, text + (f"\n{version.time:%Y-%m-%d %H:%M} UTC" if version.time else ""))
            line.setToolTip(HISTORY, "With all versions before it")
            line.setData(NAME, SHARES, [version.added / largest])
            head.addChild(line)
        return head

    def _heading(self, text: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([text])
        item.setFont(NAME, theme.current().font("caption", bold=True))
        item.setForeground(NAME, theme.current().color("muted"))
        return item

    def _line(self, texts: list[str]) -> QTreeWidgetItem:
        item = QTreeWidgetItem(texts)
        for column in (ROWS, NOW, HISTORY, INDEXES):
            item.setTextAlignment(column, RIGHT)
            item.setFont(column, theme.current().tabular_font())
        return item

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self._open(item)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is not None:
            self.setCurrentItem(item)
            point = self.visualItemRect(item).center() if by_key else event.pos()
            self.menu_requested.emit(self.current_table, self.viewport().mapToGlobal(point))

    def _open(self, item: QTreeWidgetItem) -> None:
        if item.parent() is None:
            self.opened.emit(item.data(NAME, TABLE))
        else:
            item.setExpanded(not item.isExpanded())

    def _restyle(self) -> None:
        if self._sizes is not None:
            self.show_sizes(self._sizes)


def _shown_size(size: int) -> str:
    return size_text(size) if size else NOTHING


def _lines_of(table: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """The line of a table, and those below it."""
    return [table, *children_of(table)]
