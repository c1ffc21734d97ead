"""The files of an import with the tables they become, and below each its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QWidget

from lamella.core.arrow.types import type_text
from lamella.core.datasets.base import Dataset
from lamella.core.store.importing import free_table_name, table_columns
from lamella.ui import theme
from lamella.ui.grid.columns import icon_name
from lamella.ui.widgets.items import children_of, top_items

MOST_COLUMNS = 500
ROW_HEIGHT = 36


@dataclass(frozen=True)
class Source:
    """A dataset and the name of the table it becomes."""

    dataset: Dataset
    table: str


class ImportSources(QTreeWidget):
    names_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._datasets: list[Dataset] = []
        self._edits: list[QLineEdit] = []
        self.setHeaderLabels(["File", "Becomes table"])
        self.setAccessibleName("What to import")
        self.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        self.setMinimumHeight(240)
        header = self.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        theme.current().changed.connect(self._retint)

    @property
    def ready(self) -> bool:
        """Whether every file has a unique table name."""
        names = [edit.text().strip().casefold() for edit in self._edits]
        return bool(names) and all(names) and len(set(names)) == len(names)

    def show_datasets(self, labels: Sequence[str], datasets: Sequence[Dataset]) -> None:
        """Show datasets; `labels` name their origins."""
        self.clear()
        self._datasets, self._edits = list(datasets), []
        for label, dataset in zip(labels, datasets, strict=True):
            item = QTreeWidgetItem(self, [label])
            item.setSizeHint(1, QSize(0, theme.current().px(ROW_HEIGHT)))
            self._edits.append(self._name_edit(item, dataset))
            for name, field in zip(
                table_columns(dataset.schema.names), list(dataset.schema)[:MOST_COLUMNS], strict=False
            ):
                _column_item(item, name, field.type)
            beyond = len(dataset.schema) - MOST_COLUMNS
            if beyond > 0:
                QTreeWidgetItem(item, [f"and {beyond:,} more columns"])
            item.setExpanded(len(datasets) == 1)
        self._retint()

    def suggest_names(self, used_names: Sequence[str]) -> None:
        """Suggest an unused name for each file for which the user has not typed one."""
        used = list(used_names)
        for dataset, edit in zip(self._datasets, self._edits, strict=True):
            if not edit.isModified():
                edit.setText(free_table_name(dataset.name, used))
            used.append(edit.text().strip())

    def selection(self) -> list[Source]:
        return [Source(d, edit.text().strip()) for d, edit in zip(self._datasets, self._edits, strict=True)]

    def name_edit(self, place: int) -> QLineEdit:
        return self._edits[place]

    def _name_edit(self, item: QTreeWidgetItem, dataset: Dataset) -> QLineEdit:
        edit = QLineEdit(dataset.name)
        edit.setAccessibleName(f"Table name for {dataset.name}")
        edit.textChanged.connect(self.names_changed)
        holder = QWidget()  # a field itself would be stretched to the height of its row
        layout = QHBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(edit)
        self.setItemWidget(item, 1, holder)
        return edit

    def _retint(self) -> None:
        look = theme.current()
        for item in top_items(self):
            item.setIcon(0, look.icon("file"))
            for child in children_of(item):
                icon = child.data(0, Qt.ItemDataRole.UserRole)
                if icon:
                    child.setIcon(0, look.icon(icon))
                child.setForeground(1, look.color("muted"))


def _column_item(item: QTreeWidgetItem, name: str, kind: pa.DataType) -> None:
    child = QTreeWidgetItem(item, [name, type_text(kind)])
    child.setData(0, Qt.ItemDataRole.UserRole, icon_name(kind))
