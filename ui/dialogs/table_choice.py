"""The dialog that chooses which tables or sheets of a file to open."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.tables import TableEntry
from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.widgets.items import top_items

MOST_CHECKED_TABLES = 10
"""If a file has more tables, only the first is checked, since each opens a tab."""
NAME, ROWS, COLUMNS = range(3)
MINIMUM_WIDTH, ROW_HEIGHT = 460, 28
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TableChoice(QDialog):
    """`chosen` carries the names of the checked tables, in the order of the file."""

    chosen = Signal(list)

    def __init__(self, file: str, tables: Sequence[TableEntry], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._noun = "sheet" if all("sheet" in table.kind for table in tables) else "table"
        self.setWindowTitle(f"Open {self._noun}s")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLabel(f"{visible(file)} holds {len(tables):,} {self._noun}s")
        theme.variant(self.title, "title")
        self.list = QTreeWidget(rootIsDecorated=False, accessibleName="Tables in the file")
        self.list.setHeaderLabels([self._noun.capitalize(), "Rows", "Columns"])
        for column in (ROWS, COLUMNS):
            self.list.headerItem().setTextAlignment(column, RIGHT)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for table in tables:
            self.list.addTopLevelItem(_item(table))
        self._check_first()
        self.list.itemChanged.connect(self._update)
        self.all_button, cancel, self.open_button = QPushButton(), QPushButton("Cancel"), QPushButton()
        theme.variant(self.open_button, "primary")
        self.open_button.setDefault(True)
        self.all_button.clicked.connect(self._check_all)
        cancel.clicked.connect(self.reject)
        self.open_button.clicked.connect(self._open)
        row = QHBoxLayout(spacing=theme.S)
        row.addWidget(self.all_button)
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(self.open_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addWidget(self.list, 1)
        layout.addLayout(row)
        self.setMinimumWidth(MINIMUM_WIDTH)
        self._update()

    @property
    def checked_names(self) -> list[str]:
        return [
            item.data(NAME, Qt.ItemDataRole.UserRole)
            for item in self._items()
            if item.checkState(NAME) is Qt.CheckState.Checked
        ]

    def _items(self) -> list[QTreeWidgetItem]:
        return top_items(self.list)

    def _check_first(self) -> None:
        checked = [item for item in self._items() if item.checkState(NAME) is Qt.CheckState.Checked]
        for item in checked[1:] if len(checked) > MOST_CHECKED_TABLES else []:
            item.setCheckState(NAME, Qt.CheckState.Unchecked)

    def _check_all(self) -> None:
        state = Qt.CheckState.Unchecked if self._is_all_checked else Qt.CheckState.Checked
        for item in self._items():
            item.setCheckState(NAME, state)

    @property
    def _is_all_checked(self) -> bool:
        return len(self.checked_names) == self.list.topLevelItemCount()

    def _update(self) -> None:
        count = len(self.checked_names)
        self.open_button.setText(f"Open {quantity(count, self._noun)}" if count else "Open")
        self.open_button.setEnabled(bool(count))
        self.all_button.setText("Check none" if self._is_all_checked else "Check all")

    def _open(self) -> None:
        self.chosen.emit(self.checked_names)
        self.accept()


def _item(table: TableEntry) -> QTreeWidgetItem:
    kind = "" if table.kind in ("table", "sheet") else f" ({table.kind})"
    counts = ["" if count is None else f"{count:,}" for count in (table.rows, table.columns)]
    item = QTreeWidgetItem([visible(table.name) + kind, *counts])
    item.setData(NAME, Qt.ItemDataRole.UserRole, table.name)
    state = Qt.CheckState.Checked if table.is_offered else Qt.CheckState.Unchecked
    item.setCheckState(NAME, state)
    item.setSizeHint(NAME, QSize(0, ROW_HEIGHT))
    for column in (ROWS, COLUMNS):
        item.setTextAlignment(column, RIGHT)
    return item
