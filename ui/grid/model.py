"""The table model: names, types and texts of a window of rows. Never reads; see ui.grid.pages."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from lamella.ui.grid.cells import is_right_aligned
from lamella.ui.grid.pages import Pages, PageTexts, Rows
from lamella.ui.tasks import Tasks

WINDOW_ROWS = 1_000_000  # Qt adds row heights up in an int: 2³¹ ÷ height is where its views break
Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class GridModel(QAbstractTableModel):
    """Model row r is row `start + r` of what is shown; at most `window` rows at once."""

    def __init__(self, tasks: Tasks, parent: QObject | None = None, window: int = WINDOW_ROWS) -> None:
        super().__init__(parent)
        self.pages = Pages(tasks, self)
        self.window = window
        self.start = 0
        self.num_rows = 0
        self.schema = pa.schema([])
        self.names: list[str] = []
        self.right: list[bool] = []
        self._rows = 0

    @property
    def is_windowed(self) -> bool:
        return self.num_rows > self.window

    def show(self, rows: Rows, ready: PageTexts | None = None) -> bool:
        """Show other rows; True when the columns are others, too."""
        names = list(rows.schema.names)
        others = names != self.names
        if others:
            self.beginResetModel()
        self.schema, self.names = rows.schema, names
        self.right = [is_right_aligned(field.type) for field in rows.schema]
        self.pages.show(rows, names, ready)
        if others:
            self.num_rows, self._rows, self.start = rows.num_rows, min(rows.num_rows, self.window), 0
            self.endResetModel()
        else:
            self._resize(rows.num_rows)
        return others

    def grow(self, rows: Rows) -> None:
        """The same rows, more of them."""
        self.pages.grow(rows)
        self._resize(rows.num_rows)

    def move_window(self, start: int) -> int:
        """Let model row 0 be row `start`, as far as there are rows; answers by how much it moved."""
        start = max(0, min(start, self.num_rows - self._rows))
        moved, self.start = start - self.start, start
        return moved

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.names)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """For accessibility and tests; the view draws from the pages directly."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) and index.isValid():
            try:
                text = self.pages.text(self.start + index.row(), index.column())
            except KeyError:
                return "…"
            return "NULL" if text is None else text
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is Qt.Orientation.Vertical:
            return f"{self.start + section + 1:,}" if role == Qt.ItemDataRole.DisplayRole else None
        if not 0 <= section < len(self.names):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.names[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{self.names[section]}\n{self.schema.field(section).type}"
        return None

    def _resize(self, num_rows: int) -> None:
        shown = min(num_rows, self.window)
        if shown > self._rows:
            self.beginInsertRows(NO_PARENT, self._rows, shown - 1)
            self.num_rows, self._rows = num_rows, shown
            self.endInsertRows()
        elif shown < self._rows:
            self.beginRemoveRows(NO_PARENT, shown, self._rows - 1)
            self.num_rows, self._rows = num_rows, shown
            self.endRemoveRows()
        self.num_rows = num_rows
        self.start = max(0, min(self.start, num_rows - shown))
