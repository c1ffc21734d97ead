"""The sidebar on the left: a search field, stores with their tables, open files, and recent ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import shiboken6
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QSplitter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible, visible_name
from lamella.core.phrases import quantity
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.spark_connect import listed_name, server_table
from lamella.ui import theme
from lamella.ui.widgets.field_buttons import add_clear_button, add_search_icon
from lamella.ui.widgets.items import children_of

ROLE = Qt.ItemDataRole.UserRole
ROWS_ROLE = Qt.ItemDataRole.UserRole + 1
LEAST_LETTERS = 12
"""How many letters of a long name must fit beside its row count."""
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Entry:
    """A store, or a leaf: a table or view of it, an open file or a recent one. `key` identifies it."""

    kind: str  # "store", "table", "view", "file" or "recent"
    key: tuple[str, ...]
    text: str
    tip: str = ""


@dataclass(frozen=True)
class StoreEntry:
    path: Path
    name: str
    tables: tuple[str, ...]
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of the views of each table."""


def _distinct_names(stores: Sequence[StoreEntry]) -> list[str]:
    """The names of stores; those that several have are followed by the folders in which the stores are."""
    names = Counter(store.name for store in stores)
    folders = Counter((store.name, store.path.parent.name) for store in stores)

    def name(store: StoreEntry) -> str:
        if names[store.name] == 1:
            return store.name
        folder = store.path.parent
        return f"{store.name} · {folder.name if folders[store.name, folder.name] == 1 else folder}"

    return [name(store) for store in stores]


def _fits(item: QTreeWidgetItem, words: Sequence[str]) -> bool:
    name = item.text(0).casefold()
    return all(word in name for word in words)


def _delete(item: QTreeWidgetItem) -> None:
    """Delete an item that was taken out of the tree: it has no owner, and would stay until the program
    ends."""
    for inner in item.takeChildren():
        _delete(inner)
    shiboken6.delete(item)


class ItemPainter(QStyledItemDelegate):
    """Paints entries. Expanded entries keep the icon of collapsed ones, because Qt's other icon means
    selected. The row count of a table is at the right if its name leaves room."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.state &= ~QStyle.StateFlag.State_Open
        rows = self.rows_beside(option, index)
        if rows:
            room = option.rect.width() - option.decorationSize.width() - self._width(rows) - 4 * theme.S
            option.text = option.fontMetrics.elidedText(option.text, Qt.TextElideMode.ElideRight, room)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        rows = self.rows_beside(option, index)
        if rows:
            painter.save()
            painter.setFont(theme.current().tabular_font("caption"))
            painter.setPen(theme.current().color("muted"))
            area = option.rect.adjusted(0, 0, -theme.S, 0)
            painter.drawText(area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, rows)
            painter.restore()

    def rows_beside(self, option: QStyleOptionViewItem, index: Index) -> str:
        """The row count to show; empty if a short name, or the first letters of a long one, would not fit."""
        rows = _rows_text(index)
        if not rows:
            return ""
        letters = LEAST_LETTERS * option.fontMetrics.averageCharWidth()
        name = min(letters, option.fontMetrics.horizontalAdvance(str(index.data())))
        icon = theme.current().icon_size().width()
        return rows if icon + name + self._width(rows) + 4 * theme.S <= option.rect.width() else ""

    @staticmethod
    def _width(rows: str) -> int:
        return QFontMetrics(theme.current().tabular_font("caption")).horizontalAdvance(rows)


def _rows_text(index: Index) -> str:
    rows = index.data(ROWS_ROLE)
    return "" if rows is None else f"{rows:,}"


class Tree(QTreeWidget):
    """The tree of entries. `chosen` is emitted on a click or Enter, `menu_requested` on a right click or the
    menu key, `dragged` when an entry is dragged."""

    chosen = Signal(QTreeWidgetItem)
    dragged = Signal(QTreeWidgetItem)
    menu_requested = Signal(QTreeWidgetItem, QPoint)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setHeaderHidden(True)
        self.setIndentation(theme.L)
        self.setRootIsDecorated(True)
        self.setAccessibleName("Stores and files")
        self.setObjectName("sidebar")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # names are cut to fit
        self.setItemDelegate(ItemPainter(self))
        self.itemClicked.connect(lambda item, _: self.chosen.emit(item))
        self.setDragDropMode(QTreeWidget.DragDropMode.DragOnly)

    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        item = self.currentItem()
        if item is not None:
            self.dragged.emit(item)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self.chosen.emit(item)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is not None:
            point = self.visualItemRect(item).center() if by_key else event.pos()
            self.menu_requested.emit(item, self.viewport().mapToGlobal(point))


class SidebarSplitter(QSplitter):
    """Has the sidebar at its left, which becomes wider and narrower with the text."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._text_scale = theme.current().text_scale
        self._usual_width: float | None = None  # at the usual text size; None until the text changes
        self.splitterMoved.connect(self._forget_width)
        theme.current().changed.connect(self._rescale)

    def _forget_width(self) -> None:
        self._usual_width = None

    def _rescale(self) -> None:
        before, self._text_scale = self._text_scale, theme.current().text_scale
        if before != self._text_scale:
            width, rest = self.sizes()
            if not self._usual_width:  # a narrow window gives less than is wanted, which must not remain
                self._usual_width = width / before
            new_width = round(self._usual_width * self._text_scale)
            self.setSizes([new_width, width + rest - new_width])


class Sidebar(QWidget):
    """The sidebar. `opened` is emitted when an entry is clicked or Enter is pressed on it, `problem_opened`
    likewise for the entry that says that there is no store for imports, `menu_requested` with an entry and
    the position of its menu, and `dragged` with the entry that is dragged."""

    opened = Signal(Entry)
    dragged = Signal(Entry)
    problem_opened = Signal()
    menu_requested = Signal(Entry, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QLineEdit(self, placeholderText="Find")
        self.field.setAccessibleName("Find a table, view or file")
        add_search_icon(self.field)
        add_clear_button(self.field)
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._filter)
        self._nothing = QLabel(self, wordWrap=True)
        theme.variant(self._nothing, "muted")
        self._nothing.hide()
        self.tree = Tree(self)
        self.tree.chosen.connect(self._open)
        self.tree.menu_requested.connect(self._request_menu)
        self.tree.dragged.connect(self._drag)
        top = QVBoxLayout()
        top.setContentsMargins(theme.S, theme.S, theme.S, 0)
        top.addWidget(self.field)
        top.addWidget(self._nothing)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.tree, 1)
        self._stores = self._section("STORES")
        self._files = self._section("FILES")
        self._recent = self._section("RECENT")
        self._file_views: dict[str, tuple[str, ...]] = {}
        self._rows: dict[tuple[str, ...], int] = {}
        self._collapsed_stores: list[str] | None = None  # stores that were collapsed before the search
        self._missing: dict[str, str] = {}
        self._problem: QTreeWidgetItem | None = None
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def show_stores(self, stores: Sequence[StoreEntry]) -> None:
        items = self._store_items()
        open_before = {item.data(0, ROLE).key[0]: item.isExpanded() for item in items}
        for item in items:
            self._stores.removeChild(item)
            _delete(item)
        for store, name in zip(stores, _distinct_names(stores), strict=True):
            item = QTreeWidgetItem(self._stores, [visible_name(name)])
            item.setData(0, ROLE, Entry("store", (str(store.path),), store.name, str(store.path)))
            item.setToolTip(0, str(store.path))
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            for table in store.tables:
                key = (str(store.path), table)
                leaf = self._leaf(item, Entry("table", key, table, f"{table} in {store.path}"))
                for view in store.views.get(table, ()):
                    self._leaf(leaf, Entry("view", (*key, view), view, f"A view of {table}"))
                leaf.setExpanded(True)
            if not store.tables:
                hint = QTreeWidgetItem(item, ["No tables yet"])
                hint.setFlags(Qt.ItemFlag.NoItemFlags)
            item.setExpanded(open_before.get(str(store.path), True))
        self._stores.setExpanded(True)
        self._restyle()
        self._narrow()

    def mark_missing(self, path: Path, why: str) -> None:
        """Mark a store that is not at its place; an empty `why` means that it is back."""
        if why:
            self._missing[str(path)] = why
        else:
            self._missing.pop(str(path), None)
        self._restyle()

    def show_rows(self, rows: Mapping[tuple[str, ...], int]) -> None:
        """Show the row counts of some tables; those of others stay as they are."""
        self._rows.update(rows)
        for item in self._leaves(self._stores):
            self._say_rows(item, item.data(0, ROLE))

    def _say_rows(self, item: QTreeWidgetItem, entry: Entry) -> None:
        rows = self._rows.get(entry.key) if entry.kind == "table" else None
        if rows is not None:
            counted = quantity(rows, "row")
            item.setData(0, ROWS_ROLE, rows)
            item.setData(0, Qt.ItemDataRole.AccessibleDescriptionRole, counted)
            item.setToolTip(0, f"{visible_name(entry.tip)} · {counted}")

    def show_problem(self, why: str) -> None:
        """Show an entry instead of the store for imports, because there is none."""
        if self._problem is None:
            self._problem = QTreeWidgetItem(["No store for imports"])
            self._problem.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            self._stores.insertChild(0, self._problem)
        self._problem.setToolTip(0, why)
        self._stores.setExpanded(True)
        self._restyle()

    def show_files(self, paths: Sequence[Path], views: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """Show the open files. `views` has the names of the views of each path; without it, known ones
        stay."""
        self._file_views = dict(views) if views is not None else self._file_views
        entries = []
        for path in paths:
            entries.append(Entry("file", (str(path),), listed_name(path), str(path)))
            for view in self._file_views.get(str(path), ()):
                entries.append(Entry("view", (str(path), view), view, f"A view of {path.name}"))
        self._fill(self._files, entries)

    def show_recent(self, paths: Sequence[Path]) -> None:
        self._fill(self._recent, [Entry("recent", (str(p),), listed_name(p), str(p)) for p in paths])

    def mark(self, key: tuple[str, ...] | None) -> None:
        """Select the entry of the current tab's data."""
        for item in self._leaves():
            entry = item.data(0, ROLE)
            if entry.key == key and entry.kind in ("table", "file"):
                self.tree.setCurrentItem(item)
                return
        self.tree.clearSelection()

    def entries(self, kind: str) -> list[Entry]:
        return [item.data(0, ROLE) for item in self._leaves() if item.data(0, ROLE).kind == kind]

    @property
    def num_stores(self) -> int:
        return len(self._store_items())

    def _store_items(self) -> list[QTreeWidgetItem]:
        return [item for item in children_of(self._stores) if item is not self._problem]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle keys of the search field: Enter opens the first match, Down goes to it, Escape ends the
        search."""
        if not isinstance(event, QKeyEvent) or event.type() is not QEvent.Type.KeyPress:
            return False
        key = event.key()
        if key == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.text().strip():
            self._with_first_match(self._open)
        elif key == Qt.Key.Key_Down:
            self._with_first_match(self.tree.setCurrentItem)
            self.tree.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            return False
        return True

    def _with_first_match(self, then: Callable[[QTreeWidgetItem], object]) -> None:
        words = self._words
        for item in self._leaves():
            if not item.isHidden() and _fits(item, words):
                then(item)
                return

    @property
    def _words(self) -> list[str]:
        return self.field.text().casefold().split()

    def _filter(self) -> None:
        """Show the entries that have all words in their own name or in one above or below them."""
        if self._words and self._collapsed_stores is None:
            self._collapsed_stores = [item.text(0) for item in self._store_items() if not item.isExpanded()]
        elif not self._words and self._collapsed_stores is not None:
            for item in self._store_items():
                item.setExpanded(item.text(0) not in self._collapsed_stores)
            self._collapsed_stores = None
        self._narrow()

    def _narrow(self) -> None:
        words = self._words
        sections = (self._stores, self._files, self._recent)
        matches = [self._narrow_to(words, section) for section in sections]
        self._nothing.setText(f"Nothing matches '{visible(self.field.text().strip())}'")
        self._nothing.setVisible(bool(words) and not any(matches))

    def _narrow_to(self, words: Sequence[str], item: QTreeWidgetItem, above: bool = False) -> bool:
        """Show or hide an entry, and return whether it is shown. `above`: whether its parent matches."""
        is_section = item.parent() is None
        fits = above or (not is_section and _fits(item, words))
        inside = [self._narrow_to(words, child, fits) for child in children_of(item)]
        is_listed = fits or any(inside)
        item.setHidden(not is_listed and (bool(words) or item is not self._stores))
        if words and any(inside):
            item.setExpanded(True)
        return is_listed

    def _section(self, title: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem(self.tree, [title])
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setExpanded(True)
        return item

    def _fill(self, section: QTreeWidgetItem, entries: list[Entry]) -> None:
        """Fill a section. Views are placed under the entry before them."""
        if entries == [item.data(0, ROLE) for item in self._leaves(section)]:
            self._narrow()
            return
        for item in section.takeChildren():
            _delete(item)
        above = section
        for entry in entries:
            leaf = self._leaf(above if entry.kind == "view" else section, entry)
            if entry.kind != "view":
                above = leaf
                leaf.setExpanded(True)
        section.setExpanded(True)
        self._restyle()
        self._narrow()

    def _leaf(self, parent: QTreeWidgetItem, entry: Entry) -> QTreeWidgetItem:
        item = QTreeWidgetItem(parent, [visible_name(entry.text)])
        item.setData(0, ROLE, entry)
        item.setToolTip(0, visible_name(entry.tip))
        self._say_rows(item, entry)
        return item

    def _leaves(self, section: QTreeWidgetItem | None = None) -> list[QTreeWidgetItem]:
        sections = [section] if section is not None else [self._stores, self._files, self._recent]
        leaves, todo = [], sections
        while todo:
            item = todo.pop(0)
            todo = [*children_of(item), *todo]
            entry = item.data(0, ROLE)
            if isinstance(entry, Entry) and entry.kind != "store":
                leaves.append(item)
        return leaves

    def _request_menu(self, item: QTreeWidgetItem, point: QPoint) -> None:
        entry = item.data(0, ROLE)
        if isinstance(entry, Entry):
            self.menu_requested.emit(entry, point)

    def _drag(self, item: QTreeWidgetItem) -> None:
        entry = item.data(0, ROLE)
        if isinstance(entry, Entry) and entry.kind != "store":
            self.dragged.emit(entry)

    def _open(self, item: QTreeWidgetItem) -> None:
        entry = item.data(0, ROLE)
        if isinstance(entry, Entry) and entry.kind != "store":
            self.opened.emit(entry)
        elif item is self._problem:
            self.problem_opened.emit()

    def _restyle(self) -> None:
        look = theme.current()
        for section in (self._stores, self._files, self._recent):
            section.setFont(0, look.font("caption", bold=True))
            section.setForeground(0, look.color("muted"))
        for item in self._store_items():
            path = item.data(0, ROLE).key[0]
            why = self._missing.get(path, "")
            item.setIcon(0, look.icon("warning", "danger") if why else look.icon("database"))
            item.setToolTip(0, why or path)
            item.setData(0, Qt.ItemDataRole.AccessibleDescriptionRole, why)
            for child in children_of(item)[:1]:
                if not isinstance(child.data(0, ROLE), Entry):
                    child.setForeground(0, look.color("faint"))
        if self._problem is not None:
            self._problem.setIcon(0, look.icon("warning", "danger"))
            self._problem.setForeground(0, look.color("danger"))
        for item in self._leaves():
            entry = item.data(0, ROLE)
            icon = {"table": "table", "view": "bookmark"}.get(entry.kind, "file")
            if icon == "file" and server_table(path_or_address(entry.key[0])) is not None:
                icon = "table"
            item.setIcon(0, look.icon(icon, "faint" if entry.kind == "recent" else "muted"))
