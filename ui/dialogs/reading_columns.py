"""The columns of a file as it is read: names, types and first values; and its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from lamella.core.arrow.types import type_named, type_text
from lamella.core.datasets.preview import SHOWN_VALUES, TYPES, ColumnPreview
from lamella.core.errors import visible
from lamella.core.store.importing import table_columns
from lamella.ui import theme
from lamella.ui.grid.columns import has_sign, icon_name, is_right_aligned
from lamella.ui.grid.texts import screen_texts, with_minus
from lamella.ui.widgets.controls import ICON_GAP
from lamella.ui.widgets.items import cell_of
from lamella.ui.widgets.list_menu import ListMenu

MOST_COLUMNS = 200
"""At most this many columns can be renamed and typed; the others are imported as they are."""
STORED_NAME, NAME, TYPE, VALUES = 0, 1, 2, 3
NOTE = VALUES + SHOWN_VALUES
ROW_HEIGHT, LONGEST = 36, 60
WIDTHS = {STORED_NAME: 130, NAME: 120, TYPE: 140, **dict.fromkeys(range(VALUES, NOTE), 110)}


class ReadingColumns(QTableWidget):
    """`type_chosen` carries the column, by its name in the file, and the name of a type, None for the
    detected one."""

    type_chosen = Signal(str, object)
    changed = Signal()

    def __init__(self, choosing: bool, parent: QWidget | None = None) -> None:
        super().__init__(0, NOTE + 1, parent)
        self._choosing = choosing
        self._columns: tuple[ColumnPreview, ...] = ()
        self._detected_options: dict[str, str] = {}
        self._edits: list[QLineEdit] = []
        self._boxes: list[QComboBox] = []
        self.setHorizontalHeaderLabels(["In the file", "Column", "Type", "First values", "", "", "Notes"])
        self.setAccessibleName("Columns")
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(theme.current().px(ROW_HEIGHT))
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for place, width in WIDTHS.items():
            self.setColumnWidth(place, theme.current().px(width))
        header.setSectionResizeMode(NOTE, QHeaderView.ResizeMode.Stretch)
        self.setMinimumHeight(theme.current().px(4 * ROW_HEIGHT))
        self.itemChanged.connect(self._take_item)
        theme.current().changed.connect(self._retint)

    def show_columns(self, columns: Sequence[ColumnPreview], types: Mapping[str, str], typed: bool) -> None:
        """`types` are the chosen ones; `typed` says whether types can be chosen."""
        same = [column.key for column in columns] == [column.key for column in self._columns]
        self._columns = tuple(columns)
        for column in columns:
            if column.key not in types:
                self._detected_options[column.key] = type_text(column.kind)
        self.blockSignals(True)
        if not same:
            self._rebuild(typed)
        for row, column in enumerate(self._columns[:MOST_COLUMNS]):
            self._fill(row, column)
        self.blockSignals(False)
        self._retint()
        self.changed.emit()

    def _rebuild(self, typed: bool) -> None:
        self._edits, self._boxes = [], []
        listed_columns = self._columns[:MOST_COLUMNS]
        more = len(self._columns) - len(listed_columns)
        self.setRowCount(len(listed_columns) + (more > 0))
        names = table_columns([column.name for column in self._columns])
        for row, column in enumerate(listed_columns):
            for place in range(NOTE + 1):
                self.setItem(row, place, QTableWidgetItem())
            stored = cell_of(self, row, STORED_NAME)
            stored.setText(visible(column.key))
            if self._choosing:
                stored.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
                stored.setCheckState(Qt.CheckState.Checked)
            edit = QLineEdit(names[row] if self._choosing else column.name)
            edit.setAccessibleName(f"Name of column {column.key}")
            edit.setCursorPosition(0)
            edit.textChanged.connect(self.changed)
            self._edits.append(edit)
            self.setCellWidget(row, NAME, _with_room(edit))
            if typed:
                self._boxes.append(self._type_box(column))
                self.setCellWidget(row, TYPE, _with_room(self._boxes[row]))
        if more > 0:
            self.setItem(
                len(listed_columns), STORED_NAME, QTableWidgetItem(f"and {more:,} more, as they are")
            )
            self.setSpan(len(listed_columns), STORED_NAME, 1, NOTE + 1)

    def _type_box(self, column: ColumnPreview) -> QComboBox:
        box = QComboBox(accessibleName=f"Type of column {column.key}")
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.installEventFilter(self)
        box.activated.connect(lambda place: self._choose(column.key, box.itemText(place)))
        return box

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the wheel scroll the columns rather than change a type under the mouse."""
        if event.type() == event.Type.Wheel and isinstance(watched, QComboBox):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _choose(self, key: str, name: str) -> None:
        self.type_chosen.emit(key, None if name == self._detected_options.get(key) else name)

    def _fill(self, row: int, column: ColumnPreview) -> None:
        box = self._boxes[row] if self._boxes else None
        now = type_text(column.kind)
        if box is not None:
            detected = self._detected_options.get(column.key)
            names = dict.fromkeys([*([detected] if detected else []), now, *map(_shown_type, TYPES)])
            box.clear()
            box.addItems(list(names))
            box.setCurrentText(now)
        else:
            cell_of(self, row, TYPE).setText(now)
        for place in range(SHOWN_VALUES):
            item = cell_of(self, row, VALUES + place)
            has_text = place < len(column.texts)
            text = column.texts[place] if has_text else ""
            item.setText("NULL" if text is None else visible(text[:LONGEST]))
            item.setData(Qt.ItemDataRole.UserRole, text is None)
        note = cell_of(self, row, NOTE)
        note.setText(column.remark)
        note.setToolTip(column.note or column.remark)

    def _retint(self) -> None:
        self.blockSignals(True)
        self._tint()
        self.blockSignals(False)

    def _tint(self) -> None:
        look = theme.current()
        for row, column in enumerate(self._columns[:MOST_COLUMNS]):
            back = look.color("warning_soft" if column.misfits else "surface")
            for place in range(NOTE + 1):
                item = cell_of(self, row, place)
                null = item.data(Qt.ItemDataRole.UserRole)
                item.setBackground(back)
                item.setForeground(look.color("faint" if null else "text"))
            cell_of(self, row, NOTE).setForeground(look.color("warning" if column.misfits else "muted"))
            box = self._boxes[row] if self._boxes else None
            if box is not None:
                for place in range(box.count()):
                    box.setItemIcon(place, look.icon(icon_name(type_named(box.itemText(place)))))
            else:
                cell_of(self, row, TYPE).setIcon(look.icon(icon_name(column.kind)))

    def _take_item(self, item: QTableWidgetItem) -> None:
        if self._choosing and item.column() == STORED_NAME:
            if item.row() < len(self._edits):
                self._edits[item.row()].setEnabled(item.checkState() is Qt.CheckState.Checked)
            self.changed.emit()

    @property
    def new_names(self) -> dict[str, str]:
        """The columns to import, by their names in the reading, with their new names."""
        names = {}
        unique_names = table_columns([column.name for column in self._columns])
        for row, column in enumerate(self._columns):
            if row >= MOST_COLUMNS:
                names[column.name] = unique_names[row]
            elif not self._choosing or cell_of(self, row, STORED_NAME).checkState() is Qt.CheckState.Checked:
                names[column.name] = self.name_edit(row).text().strip()
        return names

    @property
    def ready(self) -> bool:
        """Whether each column to import has a unique name."""
        names = [name.casefold() for name in self.new_names.values()]
        return bool(names) and all(names) and len(set(names)) == len(names)

    def name_edit(self, row: int) -> QLineEdit:
        return self._edits[row]

    def type_box(self, row: int) -> QComboBox:
        return self._boxes[row]


def _with_room(field: QWidget) -> QWidget:
    """A field with a margin inside its cell."""
    holder = QWidget()
    layout = QHBoxLayout(holder)
    layout.setContentsMargins(0, 2, theme.S, 2)
    layout.addWidget(field)
    return holder


def _shown_type(name: str) -> str:
    return type_text(type_named(name))


class FirstRows(QTableWidget):
    """A table of a few rows, read-only."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: pa.Table | None = None
        self.setAccessibleName(name)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.verticalHeader().setDefaultSectionSize(theme.current().px(24))
        self.setMinimumHeight(theme.current().px(96))
        ListMenu(self)
        theme.current().changed.connect(self._draw)

    def show_rows(self, rows: pa.Table) -> None:
        self._rows = rows.select(range(min(rows.num_columns, MOST_COLUMNS)))
        self._draw()

    def _draw(self) -> None:
        if self._rows is None:
            return
        rows, look = self._rows, theme.current()
        self.setColumnCount(rows.num_columns)
        self.setRowCount(rows.num_rows)
        for place, field in enumerate(rows.schema):
            right = is_right_aligned(field.type)
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            head = QTableWidgetItem(("" if right else ICON_GAP) + visible(field.name))
            head.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            head.setIcon(look.icon(icon_name(field.type)))
            self.setHorizontalHeaderItem(place, head)
            write = with_minus if has_sign(field.type) else str
            for row, text in enumerate(screen_texts(rows.column(place))):
                item = QTableWidgetItem("NULL" if text is None else write(text))
                item.setForeground(look.color("faint" if text is None else "text"))
                item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, place, item)
        self.resizeColumnsToContents()
