"""The dialogs of unsaved edits, before and after, and of conflicts with someone else's commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.editing.staged_edits import DELETED_TEXT, CellTexts, Difference
from lamella.ui.widgets.items import cell_of

MOST_LISTED_ROWS = 500
LONGEST_TEXT = 200
NULL = "NULL"
WIDTHS_BY_ROWS = 100
LINES = 34
MINE = "Take mine"
Act = Callable[[], object]


def summary(changes: Difference) -> str:
    """Such as `3 cells changed, 1 row deleted, 2 new rows`."""
    parts = [
        f"{quantity(changes.num_cells, 'cell')} changed" if changes.num_cells else "",
        f"{quantity(len(changes.deleted_ids), 'row')} deleted" if len(changes.deleted_ids) else "",
        quantity(changes.num_new, "new row") if changes.num_new else "",
    ]
    return ", ".join(part for part in parts if part) or "no edits"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str | None]], name: str) -> QTableWidget:
    table = QTableWidget(len(rows), len(headers))
    table.setAccessibleName(name)
    table.setHorizontalHeaderLabels(list(headers))
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    table.horizontalHeader().setDefaultAlignment(left)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.S)
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            item = QTableWidgetItem(NULL if text is None else visible(text[:LONGEST_TEXT]))
            if text is None:
                item.setForeground(theme.current().color("muted"))
            table.setItem(row, column, item)
    table.horizontalHeader().setResizeContentsPrecision(WIDTHS_BY_ROWS)
    table.resizeColumnsToContents()
    for column in range(2, len(headers)):
        table.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    return table


class ReviewStrip(QFrame):
    """The number of edits, with buttons to show, discard or save them."""

    def __init__(self, show: Act, discard: Act, copy: Act, save: Act) -> None:
        super().__init__()
        self.setObjectName("review")
        theme.variant(self, "strip")
        self.label = QLabel()
        self.show_all, self.discard = QPushButton("Show…"), QPushButton("Discard")
        self.copy, self.save = QPushButton("Save a copy…"), QPushButton("Save")
        theme.variant(self.save, "primary")
        self.copy.setToolTip("Write all rows, with these edits, to another file")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        layout.addWidget(self.label, 1)
        acts = {self.show_all: show, self.discard: discard, self.copy: copy, self.save: save}
        for button, act in acts.items():
            layout.addWidget(button)
            button.clicked.connect(lambda _checked=False, act=act: act())
        self.hide()


class ReviewDialog(QDialog):
    """Lists the edits. `save_requested` and `discard_requested` close it."""

    save_requested = Signal()
    discard_requested = Signal()

    def __init__(
        self,
        changes: Difference,
        cells: Sequence[CellTexts],
        name: str,
        parent: QWidget | None = None,
        in_file: bool = False,
    ) -> None:
        """`cells` are the first ones. `in_file`: the edits belong to a file, whose rows have numbers."""
        super().__init__(parent)
        first = int(in_file)
        self.setWindowTitle(f"Unsaved edits of {visible(name)}")
        rows: list[tuple[str | None, ...]] = [
            (str(cell.row_id + first), cell.name, cell.before, cell.after) for cell in cells
        ]
        rows += [
            (str(i + first), "", "the row", DELETED_TEXT)
            for i in changes.deleted_ids[:MOST_LISTED_ROWS].tolist()
        ]
        headers = ("Row" if in_file else ID, "Column", "Before", "After")
        self.table = _table(headers, rows, "Edits before and after")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        label = "Save to the file" if in_file else "Save as one commit"
        save = buttons.addButton(label, QDialogButtonBox.ButtonRole.AcceptRole)
        discard = buttons.addButton("Discard all", QDialogButtonBox.ButtonRole.DestructiveRole)
        theme.variant(save, "primary")
        theme.variant(discard, "danger")
        for button, request in ((save, self.save_requested), (discard, self.discard_requested)):
            button.clicked.connect(self.accept)
            button.clicked.connect(request)
        buttons.rejected.connect(self.reject)
        _lay_out(self, f"{summary(changes).capitalize()}.", self.table, buttons)
        save.setDefault(True)  # only a button inside a dialog can be its default


class ConflictDialog(QDialog):
    """Row by row: the old value, theirs and mine. `chosen` carries the cells that keep their value."""

    chosen = Signal(object)

    def __init__(self, conflicts: Sequence[CellTexts], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Someone else changed {visible(name)}")
        self._conflicts = conflicts
        rows = [(str(c.row_id), c.name, c.before, c.theirs, c.after, "") for c in conflicts]
        headers = (ID, "Column", "Before", "Theirs", "Mine", MINE)
        self.table = _table(headers, rows, "Cells changed on both sides")
        for row, conflict in enumerate(conflicts):
            item = cell_of(self.table, row, len(headers) - 1)
            can = conflict.theirs != DELETED_TEXT
            checkable = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable
            item.setFlags(checkable if can else Qt.ItemFlag.NoItemFlags)
            if can:
                item.setCheckState(Qt.CheckState.Unchecked)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        save = buttons.addButton("Save with these choices", QDialogButtonBox.ButtonRole.AcceptRole)
        theme.variant(save, "primary")
        save.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.accepted.connect(lambda: self.chosen.emit(self._theirs()))
        both = f"{quantity(len(conflicts), 'cell')} changed in a commit made in the meantime. "
        _lay_out(
            self,
            both + "Nothing has been saved; their value stays unless you tick yours.",
            self.table,
            buttons,
        )
        save.setDefault(True)

    def take_mine(self, row: int) -> None:
        cell_of(self.table, row, self.table.columnCount() - 1).setCheckState(Qt.CheckState.Checked)

    def _theirs(self) -> list[tuple[int, str]]:
        last = self.table.columnCount() - 1
        states = [cell_of(self.table, row, last).checkState() for row in range(len(self._conflicts))]
        pairs = zip(self._conflicts, states, strict=True)
        return [(c.row_id, c.name) for c, state in pairs if state is not Qt.CheckState.Checked]


def _lay_out(dialog: QDialog, text: str, table: QTableWidget, buttons: QDialogButtonBox) -> None:
    label = QLabel(text)
    label.setWordWrap(True)
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
    layout.setSpacing(theme.M)
    layout.addWidget(label)
    layout.addWidget(table, 1)
    layout.addWidget(buttons)
    line = theme.current().line_height()
    dialog.resize(LINES * line, LINES * line * 2 // 3)
