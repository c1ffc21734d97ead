"""A nested value, opened below its cell as a tree whose items are created when first expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal, SignalInstance
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QTreeWidgetItemIterator,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.nested_values import Place, is_list
from lamella.core.arrow.types import type_text
from lamella.core.errors import visible
from lamella.core.filters.cell_texts import CUT
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.grid.painter import NULL
from lamella.ui.grid.texts import BREAK, screen_texts
from lamella.ui.widgets.controls import FlowLayout
from lamella.ui.widgets.hosts import parent_of
from lamella.ui.widgets.items import children_of, top_items

AT_ONCE = 200
"""How many items of a list, or fields of a struct, are listed at a time."""

PREVIEW_ITEMS = 4
LONG_TEXT = 4000
LEAST_ROWS = 7
NARROWEST, WIDEST, TALLEST = 420, 620, 420
FIELD, VALUE = 0, 1
ROLE = int(Qt.ItemDataRole.UserRole)


def is_expandable(type_: pa.DataType) -> bool:
    """Whether values of the type can be opened."""
    return pa.types.is_struct(type_) or is_list(type_) or pa.types.is_map(type_)


@dataclass(frozen=True)
class Node:
    """A value inside a nested one: `value` contains only it. `place` is its path; None inside a map, which no
    path can enter."""

    name: str
    value: pa.Array
    place: Place | None

    @property
    def is_null(self) -> bool:
        return bool(self.value.null_count == 1)

    @property
    def is_nested(self) -> bool:
        return is_expandable(self.value.type)

    @property
    def num_children(self) -> int:
        if self.is_null or not self.is_nested:
            return 0
        if pa.types.is_struct(self.value.type):
            return int(self.value.type.num_fields)
        return len(self.value[0].values)

    def children(self, first: int, count: int) -> Iterator[Node]:
        """`count` children from index `first` on."""
        kind = self.value.type
        places = range(first, min(first + count, self.num_children))
        if not places:
            return
        if pa.types.is_struct(kind):
            for n in places:
                inside = None if self.place is None else self.place.inside(kind.field(n))
                yield Node(kind.field(n).name, self.value.field(n), inside)
            return
        items = self.value[0].values
        for n in places:
            item = items.slice(n, 1)
            if pa.types.is_map(kind):
                key, value = item.flatten()
                yield Node(short_text(key), value, None)
            else:
                yield Node(str(n), item, None if self.place is None else self.place.item(n))


def short_text(value: pa.Array, deep: bool = True) -> str:
    """The value in one line, however large it is."""
    node = Node("", value, None)
    if node.is_null:
        return NULL
    if not node.is_nested:
        return screen_texts(_beginning(value))[0] or ""
    count, is_struct = node.num_children, pa.types.is_struct(value.type)
    if not deep:
        return (f"{{{CUT}}}" if is_struct else f"[{CUT}]") if count else ("{}" if is_struct else "[]")
    parts = [
        short_text(child.value, deep=False) if is_list(value.type)
        else f"{child.name}: {short_text(child.value, deep=False)}"
        for child in node.children(0, PREVIEW_ITEMS)
    ]  # fmt: skip
    inside = ", ".join(parts) + (f", {CUT}" if count > PREVIEW_ITEMS else "")
    if is_struct:
        return f"{{{inside}}}"
    return f"{quantity(count, 'item')} · [{inside}]" if count else "[]"


def _beginning(value: pa.Array) -> pa.Array:
    """The beginning of a long text, slightly more than is shown of it."""
    kind = value.type
    if (
        not pa.types.is_string(kind)
        and not pa.types.is_large_string(kind)
        and not pa.types.is_string_view(kind)
    ):
        return value
    whole = memoryview(value[0].as_buffer())
    if len(whole) <= LONG_TEXT:
        return value
    return pa.array([bytes(whole[:LONG_TEXT]).decode(errors="replace")])


class ValueTree(QTreeWidget):
    """The tree of a nested value; its first item is the whole value, expanded."""

    def __init__(self, root: Node, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(f"Value of {root.name}")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(theme.L)
        self.setUniformRowHeights(True)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.header().setSectionResizeMode(FIELD, QHeaderView.ResizeMode.ResizeToContents)
        self.header().setStretchLastSection(True)
        self.itemExpanded.connect(self._fill)
        self.itemActivated.connect(self._activate)
        theme.current().changed.connect(self._recolor)
        first = self._item(root)
        self.addTopLevelItem(first)
        first.setExpanded(True)
        self.setCurrentItem(first.child(0) or first)

    @property
    def node(self) -> Node | None:
        """The node of the current item; None for the item that lists more."""
        item = self.currentItem()
        node = None if item is None else item.data(FIELD, ROLE)
        return node if isinstance(node, Node) else None

    def _item(self, node: Node) -> QTreeWidgetItem:
        look = theme.current()
        text = visible(short_text(node.value))
        item = QTreeWidgetItem([visible(node.name.replace("\n", BREAK)) or "(no name)", text])
        item.setData(FIELD, ROLE, node)
        item.setFont(VALUE, look.tabular_font())
        self._color(item)
        item.setToolTip(FIELD, f"{visible(node.name)}: {type_text(node.value.type)}")
        item.setToolTip(VALUE, text)
        if node.num_children:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
        return item

    def _color(self, item: QTreeWidgetItem) -> None:
        look, node = theme.current(), item.data(FIELD, ROLE)
        item.setForeground(FIELD, look.color("muted"))
        if not isinstance(node, Node):
            item.setForeground(VALUE, look.color("accent"))
        elif node.is_null or node.is_nested:
            item.setForeground(VALUE, look.color("faint"))

    def _recolor(self) -> None:
        items = QTreeWidgetItemIterator(self)
        while (item := items.value()) is not None:
            self._color(item)
            items += 1

    def _fill(self, item: QTreeWidgetItem) -> None:
        if item.childCount() == 0:
            self._add_children(item, 0)

    def _add_children(self, item: QTreeWidgetItem, first: int) -> None:
        node = item.data(FIELD, ROLE)
        item.addChildren([self._item(child) for child in node.children(first, AT_ONCE)])
        rest = node.num_children - first - AT_ONCE
        if rest > 0:
            more = QTreeWidgetItem([CUT, f"{rest:,} more"])
            more.setData(FIELD, ROLE, first + AT_ONCE)
            self._color(more)
            item.addChild(more)

    def _activate(self, item: QTreeWidgetItem) -> None:
        """On Enter or a double click, list more items, or expand or collapse the value."""
        first, parent = item.data(FIELD, ROLE), item.parent()
        if isinstance(first, int) and parent is not None:
            place = parent.indexOfChild(item)
            parent.removeChild(item)
            self._add_children(parent, first)
            self.setCurrentItem(children_of(parent)[place])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and item is not None and isinstance(item.data(FIELD, ROLE), Node):
            item.setExpanded(not item.isExpanded())
        elif alt or event.matches(QKeySequence.StandardKey.Copy):
            event.ignore()
        else:
            super().keyPressEvent(event)


class ValuePopup(QFrame):
    """The popup of a nested value. `copy_requested`, `filter_requested` and `column_requested` carry the
    node. Escape, Alt+Up and a click outside close it."""

    copy_requested = Signal(object)
    filter_requested = Signal(object)
    column_requested = Signal(object)
    edit_requested = Signal()
    closed = Signal()

    def __init__(self, root: Node, owner: QWidget) -> None:
        super().__init__(owner, Qt.WindowType.Popup)
        theme.variant(self, "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.tree = ValueTree(root)
        self.path = QLabel()
        self.path.setTextFormat(Qt.TextFormat.PlainText)
        theme.variant(self.path, "caption")
        self.copy = self._button("Copy", "Copy the value in full (Ctrl+C)")
        self.copy_path = self._button("Copy path", "Copy the path of the value (Ctrl+Shift+C)")
        self.filter = self._button("Filter", "Only rows with this value here")
        self.column = self._button("Add column", "Show this field of every row as a column")
        self.edit = self._button("Edit", "Edit the whole value as JSON (F2)")
        buttons = FlowLayout(theme.XS)
        for button in (self.copy, self.copy_path, self.filter, self.column, self.edit):
            buttons.addWidget(button)
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.S, theme.S, theme.S, theme.S)
        layout.setSpacing(theme.XS)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self.path)
        layout.addLayout(buttons)
        self.tree.currentItemChanged.connect(self._follow)
        self.copy.clicked.connect(lambda: self._ask(self.copy_requested))
        self.copy_path.clicked.connect(self._copy_path)
        self.filter.clicked.connect(lambda: self._ask(self.filter_requested))
        self.column.clicked.connect(lambda: self._ask(self.column_requested))
        self.edit.clicked.connect(self._edit)
        self._follow()

    def open_at(self, cell: QRect) -> None:
        """Open below a cell of the screen, or above it if there is more room."""
        screen = (parent_of(self).screen() or QGuiApplication.primaryScreen()).availableGeometry()
        px = theme.current().px
        width = min(max(px(NARROWEST), cell.width()), px(WIDEST), screen.width())
        above, below = cell.top() - screen.top(), screen.bottom() - cell.bottom()
        rows = max(LEAST_ROWS, top_items(self.tree)[0].childCount() + 4)
        full_height = rows * self.tree.sizeHintForRow(0) + self._layout.minimumSize().height()
        height = min(full_height, px(TALLEST), max(above, below))
        self.resize(width, height)
        left = min(cell.left(), screen.right() - width)
        top = cell.bottom() + 1 if below >= min(height, above) else cell.top() - height
        self.move(QPoint(max(left, screen.left()), top))
        self.show()
        self.tree.setFocus(Qt.FocusReason.PopupFocusReason)

    def event(self, event: QEvent) -> bool:
        """Keep Ctrl+C from the window, where it copies cells of the grid."""
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        alt_up = event.key() == Qt.Key.Key_Up and event.modifiers() & Qt.KeyboardModifier.AltModifier
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.key() == Qt.Key.Key_Escape or alt_up:
            self.close()
        elif event.key() == Qt.Key.Key_F2 and not self.edit.isHidden():
            self._edit()
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.copy.click()
        elif event.key() == Qt.Key.Key_C and control:
            self.copy_path.click()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        return button

    def _follow(self) -> None:
        """Enable what can be done with the current item."""
        node = self.tree.node
        place = None if node is None else node.place
        self.path.setText("" if place is None else visible(place.name))
        self.copy.setEnabled(node is not None)
        self.copy_path.setEnabled(place is not None)
        is_single = node is not None and (node.is_null or not node.is_nested)
        self.filter.setEnabled(place is not None and is_single)
        is_field = place is not None and bool(place.path) and place.outer_list is None
        self.column.setEnabled(is_field)

    def _edit(self) -> None:
        self.close()
        self.edit_requested.emit()

    def _copy_path(self) -> None:
        node = self.tree.node
        if node is not None and node.place is not None:
            QGuiApplication.clipboard().setText(node.place.name)

    def _ask(self, signal: SignalInstance) -> None:
        node = self.tree.node
        if node is not None:
            signal.emit(node)
            if signal is not self.copy_requested:
                self.close()
