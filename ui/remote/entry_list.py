"""The list of files and folders on a server, or of the tables of a database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from lamella.core.errors import visible
from lamella.core.phrases import size_text
from lamella.core.remote.server import Entry
from lamella.core.remote.spark_catalog import CatalogEntry
from lamella.ui import theme

Index = QModelIndex | QPersistentModelIndex
AnyEntry = Entry | CatalogEntry
NAME, SIZE, CHANGED = range(3)
HEADS = ("Name", "Size", "Changed")
SORT_ROLE = Qt.ItemDataRole.UserRole


class EntryModel(QAbstractTableModel):
    """The entries. New ones are added at the end, so that nothing on screen moves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[AnyEntry] = []

    def clear(self) -> None:
        self.beginResetModel()
        self.entries = []
        self.endResetModel()

    def append(self, page: Sequence[AnyEntry]) -> None:
        if page:
            self.beginInsertRows(QModelIndex(), len(self.entries), len(self.entries) + len(page) - 1)
            self.entries += page
            self.endInsertRows()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt has it
        return 0 if parent.isValid() else len(self.entries)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        entry, column = self.entries[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(entry, column)
        if role == SORT_ROLE:
            return _sort_key(entry, column)
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            return theme.current().icon(noun_of(entry), "muted")
        if role == Qt.ItemDataRole.TextAlignmentRole and column == SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole and column == NAME:
            return visible(str(entry.address))
        if role == Qt.ItemDataRole.AccessibleTextRole and column == NAME:
            return f"{noun_of(entry).capitalize()} {visible(name_of(entry))}"
        return None


def name_of(entry: AnyEntry) -> str:
    return entry.name if isinstance(entry, CatalogEntry) else entry.address.name


def noun_of(entry: AnyEntry) -> str:
    """The kind of an entry, which is also the name of its icon."""
    if entry.is_folder:
        return "folder"
    return "table" if isinstance(entry, CatalogEntry) else "file"


def _text(entry: AnyEntry, column: int) -> str:
    if column == NAME:
        return visible(name_of(entry))
    if entry.status is None:
        return ""
    if column == SIZE:
        return size_text(entry.status.size)
    changed = dt.datetime.fromtimestamp(entry.status.modified_ns / 1e9)
    return f"{changed:%Y-%m-%d %H:%M}" if entry.status.modified_ns else ""


def _sort_key(entry: AnyEntry, column: int) -> Any:
    if column == NAME or entry.status is None:
        return name_of(entry).casefold()
    return float(entry.status.size if column == SIZE else entry.status.modified_ns)


class FoldersFirst(QSortFilterProxyModel):
    """Sorts folders before files, in any order, and filters both by name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSortRole(SORT_ROLE)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setFilterKeyColumn(NAME)

    def entry(self, index: Index) -> AnyEntry:
        return self._model.entries[self.mapToSource(index).row()]

    def lessThan(self, left: Index, right: Index) -> bool:
        left_entry, right_entry = self._model.entries[left.row()], self._model.entries[right.row()]
        if left_entry.is_folder != right_entry.is_folder:
            return left_entry.is_folder == (self.sortOrder() is Qt.SortOrder.AscendingOrder)
        return super().lessThan(left, right)

    @property
    def _model(self) -> EntryModel:
        model = self.sourceModel()
        assert isinstance(model, EntryModel)
        return model


class EntryList(QTreeView):
    """The list. Enter works like a double click, Backspace goes up; the browser connects both."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries = EntryModel(self)
        self.sorted_entries = FoldersFirst(self)
        self.sorted_entries.setSourceModel(self.entries)
        self.setModel(self.sorted_entries)
        self.setAccessibleName("Files and folders")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSortingEnabled(True)
        self.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column, letters in ((SIZE, "1,000.0 MB  "), (CHANGED, "2026-12-28 22:22    ")):
            self.setColumnWidth(column, self.fontMetrics().horizontalAdvance(letters) + 2 * theme.S)

    @property
    def selected_entries(self) -> list[AnyEntry]:
        """The selected entries, in their displayed order."""
        rows = sorted(self.selectionModel().selectedRows(NAME), key=QModelIndex.row)
        return [self.sorted_entries.entry(index) for index in rows]

    def show_status(self, is_visible: bool) -> None:
        """Show or hide sizes and times, which files have and tables do not."""
        for column in (SIZE, CHANGED):
            self.setColumnHidden(column, not is_visible)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.doubleClicked.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)
