"""The dialog for pastes that need a decision: cells that cannot be read, new rows, or surplus columns."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.phrases import quantity, sentence_case
from lamella.ui import theme
from lamella.ui.editing.pasted_block import Paste

MOST_PROBLEMS = 1_000
LONGEST_TEXT = 200
LINES, LEAST_LINES = 40, 8


@dataclass(frozen=True)
class Questions:
    """What to ask. `unread` counts cells of the area; `new_rows` and `spare_columns` what lies outside the
    view."""

    unread: int
    new_rows: int
    spare_columns: int

    def __bool__(self) -> bool:
        return bool(self.unread or self.new_rows or self.spare_columns)


class PasteDialog(QDialog):
    """Nothing is pasted until the dialog is accepted; `chosen` says whether to add new rows. Cells that
    cannot be read or have no column must be left out explicitly."""

    chosen = Signal(bool)

    def __init__(self, paste: Paste, questions: Questions, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Paste into {visible(name)}")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        self.required_boxes: list[QCheckBox] = []
        """The boxes that must be checked before anything is pasted."""
        self.rows: QCheckBox | None = None
        if questions.unread:
            layout.addWidget(self._problems_text(paste, questions))
            layout.addWidget(problem_table(paste), 1)
            self._require(f"Leave these as they are: {quantity(questions.unread, 'cell')}")
        if questions.spare_columns:
            self._require(
                f"Leave out {quantity(questions.spare_columns, 'column')} of the clipboard: "
                f"there are only {len(paste.area.names):,} from here to the right end"
            )
        for box in self.required_boxes:
            layout.addWidget(box)
        if questions.new_rows:
            self.rows = QCheckBox(f"Add {quantity(questions.new_rows, 'new row')} at the end")
            self.rows.setChecked(True)
            layout.addWidget(self.rows)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.paste = buttons.addButton("Paste", QDialogButtonBox.ButtonRole.AcceptRole)
        theme.variant(self.paste, "primary")
        self.paste.setEnabled(not self.required_boxes)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        self.paste.setDefault(True)  # only a button inside a dialog can be its default
        self.accepted.connect(lambda: self.chosen.emit(self.rows is not None and self.rows.isChecked()))
        if questions.unread:
            self.resize(LINES * theme.current().line_height(), LINES * theme.current().line_height() // 2)
        first = [*self.required_boxes, self.rows, self.paste][0]
        if first is not None:
            first.setFocus()

    def _problems_text(self, paste: Paste, questions: Questions) -> QLabel:
        readable = paste.area.num_cells - questions.unread
        what = f"{quantity(questions.unread, 'cell')} cannot be read as values of their columns"
        label = QLabel(f"{what}; {readable:,} can. Nothing has been changed.")
        label.setWordWrap(True)
        return label

    def _require(self, text: str) -> None:
        box = QCheckBox(text)
        box.toggled.connect(self._follow)
        self.required_boxes.append(box)

    def _follow(self) -> None:
        self.paste.setEnabled(all(box.isChecked() for box in self.required_boxes))


def problem_table(paste: Paste) -> QTableWidget:
    """Position, text and reason of each cell that cannot be read; if there are very many, of the first
    ones."""
    problems = paste.problems[:MOST_PROBLEMS]
    table = QTableWidget(len(problems), 4)
    table.setAccessibleName("Cells that cannot be read")
    theme.variant(table, "roomy")
    table.setHorizontalHeaderLabels(["Row", "Column", "Text", "Why"])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    for place, problem in enumerate(problems):
        text = visible(problem.text[:LONGEST_TEXT])
        for column, said in enumerate(
            (f"{problem.row + 1:,}", problem.name, text, sentence_case(problem.reason))
        ):
            table.setItem(place, column, QTableWidgetItem(said))
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    table.horizontalHeader().setDefaultAlignment(left)
    table.setMinimumHeight(LEAST_LINES * theme.current().line_height())
    table.resizeColumnsToContents()
    table.horizontalHeader().setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    return table
