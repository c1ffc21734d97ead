"""The current row as a form: each field in full, nested values as a tree, and the rows it is related to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.relations import Link
from lamella.ui import theme
from lamella.ui.grid.model import Rows
from lamella.ui.grid.texts import whole_texts
from lamella.ui.inspector.related_rows import MOST_LINKS, RelatedTree, content_height

MOST_ITEMS = 500
"""Of a list, and of a struct's fields, that are listed."""

FIELD, VALUE = 0, 1
ANY_HEIGHT = 16_777_215  # Qt's QWIDGETSIZE_MAX


@dataclass(frozen=True)
class FieldValue:
    """`text` is the whole value, None for null; `children` are those of a nested one."""

    name: str
    kind: str
    text: str | None
    children: tuple[FieldValue, ...] = ()


def read_row(rows: Rows, row: int, names: list[str], job: Job) -> list[FieldValue]:
    """Blocks."""
    page = rows.page(row, 1, names)
    found = []
    for name, column in zip(names, page.columns, strict=True):
        job.check()
        found.append(field_value(name, column))
    return found


def field_value(name: str, value: pa.ChunkedArray | pa.Array) -> FieldValue:
    """Of the one value that is there."""
    kind = value.type
    (text,) = whole_texts(value)
    children = () if text is None else tuple(_children(value.combine_chunks() if isinstance(
        value, pa.ChunkedArray) else value))  # fmt: skip
    return FieldValue(name, str(kind), text, children)


def _children(value: pa.Array) -> Iterable[FieldValue]:
    kind = value.type
    if isinstance(value, pa.ChunkedArray):
        value = value.chunk(0)
    if pa.types.is_struct(kind):
        for place in range(min(kind.num_fields, MOST_ITEMS)):
            yield field_value(kind.field(place).name, value.flatten()[place])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        items = value.flatten()
        for place in range(min(len(items), MOST_ITEMS)):
            yield field_value(str(place), items.slice(place, 1))


class RowPage(QWidget):
    """`filter_requested` has a column's name and wants rows with its value here; `back_requested` the row
    that led to this one."""

    filter_requested = Signal(str)
    back_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel()
        theme.variant(self.title, "title")
        self.find = QLineEdit(placeholderText="Find a field", accessibleName="Find a field")
        self.find.setClearButtonEnabled(True)
        self.tree, self.related = RowTree(), RelatedTree()
        self.back, self.heading = QPushButton(), QLabel("Related rows")
        theme.variant(self.back, "ghost")
        theme.variant(self.heading, "heading")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        layout.setSpacing(theme.S)
        layout.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (self.title, self.find):
            layout.addWidget(widget)
        layout.addWidget(self.tree, 3)
        layout.addWidget(self.heading)
        layout.addWidget(self.related, 2)
        layout.addStretch(0)
        self.show_links((), "")
        self.show_way_back("")
        self.back.clicked.connect(self.back_requested)
        self.find.textChanged.connect(self._show_matches)
        self.tree.itemDoubleClicked.connect(self._take)
        self.tree.itemExpanded.connect(self._fit)
        self.tree.itemCollapsed.connect(self._fit)
        theme.current().changed.connect(self._fit)

    def show_row(self, number: int, fields: list[FieldValue]) -> None:
        """`number` is that of the row in the view, from 0."""
        self.title.setText(f"Row {number + 1:,}")
        self.tree.show_fields(fields)
        self._show_matches()

    def show_links(self, links: Sequence[Link], problem: str) -> None:
        """The ways that lead from the table of the row, or why they are not known."""
        beyond = f" ({MOST_LINKS} of {len(links)} relations)" if len(links) > MOST_LINKS else ""
        self.heading.setText(visible(problem) if problem else f"Related rows{beyond}")
        self.heading.setWordWrap(bool(problem))
        self.heading.setVisible(bool(links or problem))
        self.related.setVisible(bool(links))
        self.related.show_links(links[:MOST_LINKS])
        self._fit()

    def show_way_back(self, where: str) -> None:
        """To the row that led here; empty where none did."""
        look = theme.current()
        self.back.setIcon(look.icon("arrow-left"))
        self.back.setText(visible(f"Back to {where}"))
        self.back.setToolTip("Back to the row you came from (Alt+Left)")
        self.back.setVisible(bool(where))

    def show_nothing(self) -> None:
        self.title.setText("No row is current")
        self.tree.clear()
        self.show_links((), "")

    def _take(self, item: QTreeWidgetItem) -> None:
        if item.parent() is None:
            self.filter_requested.emit(item.data(FIELD, Qt.ItemDataRole.UserRole).name)

    def _show_matches(self) -> None:
        wanted = self.find.text().strip().casefold()
        for place in range(self.tree.topLevelItemCount()):
            item = self.tree.topLevelItem(place)
            field = item.data(FIELD, Qt.ItemDataRole.UserRole)
            item.setHidden(wanted not in f"{field.name} {field.text or ''}".casefold())
        self._fit()

    def _fit(self) -> None:
        """Few fields leave the room to the related rows."""
        self.tree.setMaximumHeight(ANY_HEIGHT if self.related.isHidden() else content_height(self.tree))


class RowTree(QTreeWidget):
    """Fields that were open stay open from row to row. Ctrl+C copies the value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Fields of the row")
        theme.variant(self, "panel")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(theme.M)
        self.setWordWrap(False)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.header().setStretchLastSection(True)
        self.header().setSectionResizeMode(FIELD, QHeaderView.ResizeMode.Interactive)
        theme.current().changed.connect(self._restyle)

    def show_fields(self, fields: list[FieldValue]) -> None:
        places = range(self.topLevelItemCount())
        before = {self.topLevelItem(place).text(FIELD) for place in places
                  if self.topLevelItem(place).isExpanded()}  # fmt: skip
        self.clear()
        for field in fields:
            if field.name != ID:
                item = self._item(field)
                self.addTopLevelItem(item)
                item.setExpanded(item.text(FIELD) in before)
        self.resizeColumnToContents(FIELD)
        self.setColumnWidth(FIELD, min(self.columnWidth(FIELD), self.width() // 2))

    def event(self, event: QEvent) -> bool:
        """The window's own Ctrl+C copies cells of the grid."""
        copies = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)
        if event.type() is QEvent.Type.ShortcutOverride and copies:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.matches(QKeySequence.StandardKey.Copy) and item is not None:
            field = item.data(FIELD, Qt.ItemDataRole.UserRole)
            QGuiApplication.clipboard().setText(field.text or "")
        else:
            super().keyPressEvent(event)

    def _item(self, field: FieldValue) -> QTreeWidgetItem:
        look = theme.current()
        shown = "NULL" if field.text is None else visible(field.text.replace("\n", "↵"))
        item = QTreeWidgetItem([visible(field.name), shown[:2000]])
        item.setData(FIELD, Qt.ItemDataRole.UserRole, field)
        item.setForeground(FIELD, look.color("muted"))
        item.setFont(VALUE, look.tabular_font())
        if field.text is None:
            item.setForeground(VALUE, look.color("faint"))
        item.setToolTip(FIELD, f"{visible(field.name)}: {field.kind}")
        item.setToolTip(VALUE, "NULL" if field.text is None else visible(field.text[:4000]))
        for child in field.children:
            item.addChild(self._item(child))
        return item

    def _restyle(self) -> None:
        items = (self.topLevelItem(place) for place in range(self.topLevelItemCount()))
        self.show_fields([item.data(FIELD, Qt.ItemDataRole.UserRole) for item in items])


def names_of(rows: Any) -> list[str]:
    """All columns of a view, without the id."""
    return [name for name in rows.schema.names if name != ID]
