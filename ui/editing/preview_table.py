"""The first rows of a bulk update, before and after."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from lamella.core.arrow.arrays import from_values
from lamella.ui import theme
from lamella.ui.grid.model import is_right_aligned
from lamella.ui.grid.texts import screen_texts

NULL = "null"


class PreviewTable(QTableWidget):
    """Row id, a few columns to know the row by, the value before and after."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._shown: tuple[pa.Table, Any] | None = None
        self.verticalHeader().hide()
        theme.current().changed.connect(self._redraw)
        self.setShowGrid(True)
        theme.variant(self, "preview")
        self.setAccessibleName("The first rows before and after")
        self.horizontalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )

    def show_rows(self, rows: pa.Table, value: Any) -> None:
        """The last column is the one that becomes `value`."""
        self._shown = rows, value
        names = rows.column_names
        self.setColumnCount(len(names) + 1)
        self.setRowCount(rows.num_rows)
        self.setHorizontalHeaderLabels([*names[:-1], f"{names[-1]} before", f"{names[-1]} after"])
        for place, name in enumerate(names):
            texts = screen_texts(rows.column(name))
            for row, text in enumerate(texts):
                self._put(row, place, text, rows.schema.field(name).type, quiet=place < len(names) - 1)
        type_ = rows.schema.types[-1]
        after = screen_texts(from_values([value], type_))[0]
        before = screen_texts(rows.column(names[-1]))
        for row in range(rows.num_rows):
            self._put(row, len(names), after, type_, changed=before[row] != after)
        for place, shown in enumerate([*rows.schema.types, type_]):
            self.horizontalHeaderItem(place).setTextAlignment(_side(shown))
        self.resizeColumnsToContents()
        self.horizontalHeader().setSectionResizeMode(len(names), QHeaderView.ResizeMode.Stretch)

    def clear_rows(self) -> None:
        self._shown = None
        self.setRowCount(0)

    def _redraw(self) -> None:
        if self._shown is not None:
            self.show_rows(*self._shown)

    def _put(
        self,
        row: int,
        place: int,
        text: str | None,
        type_: pa.DataType,
        quiet: bool = False,
        changed: bool = False,
    ) -> None:
        item = QTableWidgetItem(NULL if text is None else text)
        look, font = theme.current(), theme.current().font(bold=changed)
        font.setItalic(text is None)
        item.setFont(font)
        if text is None or quiet:
            item.setForeground(look.color("muted"))
        elif changed:
            item.setForeground(look.color("accent"))
        item.setTextAlignment(_side(type_))
        self.setItem(row, place, item)


def _side(type_: pa.DataType) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if is_right_aligned(type_) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
