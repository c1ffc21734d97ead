"""Items of trees, tables and completers, which Qt's types allow to be missing."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QAbstractItemView,
    QCompleter,
    QTableWidget,
    QTableWidgetItem,
    QTreeWidget,
    QTreeWidgetItem,
)


def top_items(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    items = map(tree.topLevelItem, range(tree.topLevelItemCount()))
    return [item for item in items if item is not None]


def children_of(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    children = map(item.child, range(item.childCount()))
    return [child for child in children if child is not None]


def cell_of(table: QTableWidget, row: int, column: int) -> QTableWidgetItem:
    """The item of a cell that has been filled."""
    item = table.item(row, column)
    if item is None:
        raise IndexError(f"the table has no cell in row {row}, column {column}")
    return item


def popup_of(completer: QCompleter) -> QAbstractItemView:
    """The list of proposals, which Qt makes when it is first requested."""
    popup = completer.popup()
    if popup is None:
        raise RuntimeError("the completer has no list")
    return popup
