"""The tree on the left: stores with their tables, files open in place, and files opened lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from lamella.ui import theme

ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Entry:
    """One leaf: a table of a store, an open file or a recent one. `key` says which."""

    kind: str  # "table", "view", "file" or "recent"
    key: tuple[str, ...]
    text: str
    tip: str = ""


@dataclass(frozen=True)
class StoreEntry:
    path: Path
    name: str
    tables: tuple[str, ...]
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of those of each table."""


def _delete(item: QTreeWidgetItem) -> None:
    """An item that was taken out is nobody's: without this it would stay until the program ends."""
    for inner in item.takeChildren():
        _delete(inner)
    shiboken6.delete(item)


class Sidebar(QTreeWidget):
    """`opened` when an entry is activated by double click or Enter, a single click for what is open;
    `problem_opened` in the same way when no store takes imports."""

    opened = Signal(Entry)
    problem_opened = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHeaderHidden(True)
        self.setIndentation(theme.L)
        self.setRootIsDecorated(True)
        self.setAccessibleName("Stores and files")
        self.setObjectName("sidebar")
        self.itemClicked.connect(self._open)
        self._stores = self._section("STORES")
        self._files = self._section("FILES")
        self._recent = self._section("RECENT")
        self._problem: QTreeWidgetItem | None = None
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def show_stores(self, stores: Sequence[StoreEntry]) -> None:
        items = self._store_items()
        open_before = {item.text(0): item.isExpanded() for item in items}
        for item in items:
            self._stores.removeChild(item)
            _delete(item)
        for store in stores:
            item = QTreeWidgetItem(self._stores, [store.name])
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
            item.setExpanded(open_before.get(store.name, True))
        self._stores.setExpanded(True)
        self._restyle()

    def show_problem(self, why: str) -> None:
        """Where the store for imports would stand: there is none."""
        self._problem = QTreeWidgetItem(["No store for imports"])
        self._problem.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        self._problem.setToolTip(0, why)
        self._stores.insertChild(0, self._problem)
        self._stores.setExpanded(True)
        self._restyle()

    def show_files(self, paths: Sequence[Path]) -> None:
        self._fill(self._files, [Entry("file", (str(p),), p.name or str(p), str(p)) for p in paths])

    def show_recent(self, paths: Sequence[Path]) -> None:
        self._fill(self._recent, [Entry("recent", (str(p),), p.name or str(p), str(p)) for p in paths])

    def mark(self, key: tuple[str, ...] | None) -> None:
        """Select the entry of what the current tab shows."""
        for item in self._leaves():
            entry = item.data(0, ROLE)
            if entry.key == key and entry.kind != "recent":
                self.setCurrentItem(item)
                return
        self.clearSelection()

    def entries(self, kind: str) -> list[Entry]:
        return [item.data(0, ROLE) for item in self._leaves() if item.data(0, ROLE).kind == kind]

    @property
    def num_stores(self) -> int:
        return len(self._store_items())

    def _store_items(self) -> list[QTreeWidgetItem]:
        children = [self._stores.child(i) for i in range(self._stores.childCount())]
        return [item for item in children if item is not self._problem]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self._open(item)
        else:
            super().keyPressEvent(event)

    def _section(self, title: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem(self, [title])
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setExpanded(True)
        return item

    def _fill(self, section: QTreeWidgetItem, entries: list[Entry]) -> None:
        if entries == [section.child(i).data(0, ROLE) for i in range(section.childCount())]:
            section.setHidden(not entries)
            return
        for item in section.takeChildren():
            _delete(item)
        for entry in entries:
            self._leaf(section, entry)
        section.setHidden(not entries)
        section.setExpanded(True)
        self._restyle()

    def _leaf(self, parent: QTreeWidgetItem, entry: Entry) -> QTreeWidgetItem:
        item = QTreeWidgetItem(parent, [entry.text])
        item.setData(0, ROLE, entry)
        item.setToolTip(0, entry.tip)
        return item

    def _leaves(self) -> list[QTreeWidgetItem]:
        found, todo = [], [self.topLevelItem(i) for i in range(self.topLevelItemCount())]
        while todo:
            item = todo.pop(0)
            todo = [item.child(i) for i in range(item.childCount())] + todo
            if isinstance(item.data(0, ROLE), Entry):
                found.append(item)
        return found

    def _open(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        entry = item.data(0, ROLE)
        if isinstance(entry, Entry):
            self.opened.emit(entry)
        elif item is self._problem:
            self.problem_opened.emit()

    def _restyle(self) -> None:
        look = theme.current()
        for section in (self._stores, self._files, self._recent):
            section.setFont(0, look.font("caption", bold=True))
            section.setForeground(0, look.color("muted"))
        for item in self._store_items():
            item.setIcon(0, look.icon("database"))
            if item.childCount() and not isinstance(item.child(0).data(0, ROLE), Entry):
                item.child(0).setForeground(0, look.color("faint"))
        if self._problem is not None:
            self._problem.setIcon(0, look.icon("warning", "danger"))
            self._problem.setForeground(0, look.color("danger"))
        for item in self._leaves():
            kind = item.data(0, ROLE).kind
            item.setIcon(
                0,
                look.icon(
                    {"table": "table", "view": "bookmark"}.get(kind, "file"),
                    "faint" if kind == "recent" else "muted",
                ),
            )
