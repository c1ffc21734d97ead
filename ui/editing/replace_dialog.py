"""Find and replace: matches are counted and shown first, and then changed in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import VersionConflict, visible
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.rows import snapshot_version
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.cell_editor import MOST_LETTERS
from lamella.ui.editing.replace_plan import Replacements, ReplacePlan, find_replacements, problem_of
from lamella.ui.editing.staged_edits import Difference
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import CONTROL_HEIGHT, EmptyNote, FieldForm
from lamella.ui.widgets.items import cell_of
from lamella.ui.widgets.list_menu import ListMenu

PAUSE_MS = 250
LONGEST_SHOWN, LONGEST_TIP = 120, 2_000
CUT, CONTEXT_LENGTH = "…", 16
"""How many characters of what stays the same are shown before a change."""
AFTER = 3
"""The preview's column with the new text."""
NOTHING = "Nothing changes: there is no match, or the new text is the same."
MOST_NAMED_COLUMNS = 3
TABLE_CHANGED = (
    "Someone else changed the table: nothing was replaced. Close and reopen this dialog to count again."
)
HINT = "Type the text to find to see what would change."


@dataclass(frozen=True)
class Scope:
    """Rows to search, by their numbers in a view."""

    text: str
    view: View | ComputedView
    rows: Sequence[range]


RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ReplaceDialog(QDialog):
    """Offers `scopes` of rows and groups of text columns, the first of each chosen. `committed` carries the
    commit and what changed, and closes the dialog. Cancelling while it runs changes nothing."""

    committed = Signal(Commit, object, object)

    def __init__(
        self,
        table: Table | None,
        name: str,
        scopes: Sequence[Scope],
        columns: Sequence[tuple[str, Sequence[str]]],
        tasks: Tasks,
        parent: QWidget | None = None,
        stage: Callable[[Sequence[pa.Table]], object] | None = None,
        staged_edits: Difference | None = None,
    ) -> None:
        """With `stage`, changes are passed to it instead of being committed; `staged_edits` are those of
        before."""
        super().__init__(parent)
        self._stage, self._staged_edits = stage, staged_edits
        self._table, self._name, self._tasks = table, name, tasks
        self._scopes, self._columns = scopes, list(columns)
        self._reading: Handle | None = None
        self._writing: Handle | None = None
        self._proposal: tuple[ReplacePlan, Replacements] | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._read)
        self.setWindowTitle(f"Replace in {visible(name)}")
        self._make()
        self._connect()
        self._lay_out()
        self._plan_again()

    def reject(self) -> None:
        """Stop the change if one is running, otherwise close."""
        if self._writing is not None:
            self.cancel.setEnabled(False)
            self._writing.cancel()
            return
        self._stop_reading()
        super().reject()

    def begin(self, text: str, case: bool, whole: bool, regex: bool, columns: Sequence[str] | None) -> None:
        """Start with a pattern and its columns; the keyboard is in the field of the new text."""
        self.pattern.setText(text)
        for box, on in ((self.case, case), (self.whole, whole), (self.regex, regex)):
            box.setChecked(on)
        texts = max((names for _, names in self._columns), key=len)
        searched = [name for name in texts if columns is None or name in columns]
        if searched:
            self._choose_columns(searched)
        self.with_.setFocus()

    def _choose_columns(self, names: Sequence[str]) -> None:
        column_sets = [set(group) for _, group in self._columns]
        if set(names) not in column_sets:
            column_sets.append(set(names))
            self._columns.append((f"The {len(names):,} searched text columns", names))
            self.columns.addItem(self._columns[-1][0])
        self.columns.setCurrentIndex(column_sets.index(set(names)))

    def _make(self) -> None:
        self.pattern, self.with_ = QLineEdit(), QLineEdit()
        self.pattern.setAccessibleName("Find")
        self.with_.setAccessibleName("Replace with")
        self.with_.setPlaceholderText("Leave empty to delete matches")
        self.regex = QCheckBox("Regular expression")
        self.regex.setToolTip(r"In RE2's syntax; \1 in the new text is the first group")
        self.whole, self.case = QCheckBox("Whole cell"), QCheckBox("Match case")
        self.case.setChecked(True)
        self.columns = QComboBox()
        self.columns.setAccessibleName("Columns")
        self.columns.addItems([text for text, _ in self._columns])
        self.rows = QButtonGroup(self)
        for place, scope in enumerate(self._scopes):
            button = QRadioButton(scope.text.replace("&", "&&"))
            button.setChecked(place == 0)
            self.rows.addButton(button, place)
        self._make_preview()
        self.news = QLabel()
        self.news.setWordWrap(True)
        self._progress = QProgressBar(textVisible=False)
        self._progress.hide()
        self.cancel, self.replace = QPushButton("Cancel"), QPushButton("Replace")
        theme.variant(self.replace, "primary")
        self.replace.setDefault(True)

    def _make_preview(self) -> None:
        self._preview = QTableWidget(0, 4)
        self._preview.setAccessibleName("The first cells before and after")
        row_header = QTableWidgetItem("Row")
        row_header.setTextAlignment(RIGHT)
        self._preview.setHorizontalHeaderItem(0, row_header)
        for place, text in enumerate(("Column", "Before", "After"), 1):
            self._preview.setHorizontalHeaderItem(place, QTableWidgetItem(text))
        self._preview.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._preview.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self._preview.setTabKeyNavigation(False)
        self._preview.verticalHeader().hide()
        self._preview.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.S)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        self._preview.horizontalHeader().setDefaultAlignment(left)
        ListMenu(self._preview)
        EmptyNote(self._preview, "The first cells that change are shown here")
        self._preview.setColumnWidth(0, theme.current().px(72))
        self._preview.setColumnWidth(1, theme.current().px(120))
        for column in (2, 3):
            stretch = QHeaderView.ResizeMode.Stretch
            self._preview.horizontalHeader().setSectionResizeMode(column, stretch)

    def _connect(self) -> None:
        theme.current().changed.connect(self._restyle)
        self.cancel.clicked.connect(self.reject)
        self.replace.clicked.connect(self._write)
        for field in (self.pattern, self.with_):
            field.setMaxLength(MOST_LETTERS)
            field.textChanged.connect(self._plan_again)
        for box in (self.regex, self.whole, self.case):
            box.toggled.connect(self._plan_again)
        self.columns.currentIndexChanged.connect(self._plan_again)
        self.rows.idToggled.connect(lambda _place, on: self._plan_again() if on else None)

    def _lay_out(self) -> None:
        options, rows = QHBoxLayout(), QVBoxLayout()
        for box in (self.regex, self.case, self.whole):
            options.addWidget(box)
        options.addStretch(1)
        options.setSpacing(theme.L)
        rows.setSpacing(theme.XS)
        label_height = max(CONTROL_HEIGHT, theme.current().line_height() + theme.M)
        first = self.rows.buttons()[0].sizeHint().height()
        rows.setContentsMargins(0, (label_height - first) // 2, 0, 0)
        for button in self.rows.buttons():
            rows.addWidget(button)
        form = FieldForm()
        form.setHorizontalSpacing(theme.L)
        form.setVerticalSpacing(theme.M)
        form.addRow("Find", self.pattern)
        form.addRow("Replace with", self.with_)
        form.addRow("", options)
        form.addRow("Columns", self.columns)
        form.addRow("Rows", rows)
        buttons = QHBoxLayout()
        buttons.addWidget(self._progress, 1)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.replace)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        layout.addLayout(form)
        layout.addWidget(self._preview, 1)
        layout.addWidget(self.news)
        layout.addLayout(buttons)
        line = theme.current().line_height()
        self.resize(40 * line, 34 * line)
        self.pattern.setFocus()

    def _operand(self) -> dict[str, Any]:
        flags = {"regex": self.regex, "whole": self.whole, "case": self.case}
        texts = {"find": self.pattern.text(), "with": self.with_.text()}
        return texts | {name: box.isChecked() for name, box in flags.items()}

    def _plan(self) -> ReplacePlan:
        scope = self._scopes[self.rows.checkedId()]
        names = self._columns[self.columns.currentIndex()][1]
        return ReplacePlan(scope.view, scope.rows, names, self._operand(), self._staged_edits)

    def _plan_again(self) -> None:
        self._stop_reading()
        self._proposal = None
        self.replace.setEnabled(False)
        self.replace.setText("Replace")
        operand = self._operand() if self.pattern.text() else None
        problem, invalid_pattern = "", False
        if operand is not None:
            problem = problem_of(operand)
            invalid_pattern = bool(problem) and bool(problem_of({**operand, "with": ""}))
        theme.variant(self.pattern, "invalid" if invalid_pattern else "")
        theme.variant(self.with_, "invalid" if problem and not invalid_pattern else "")
        if problem or not self.pattern.text():
            self._preview.setRowCount(0)
            problem_text = f"{problem[:1].upper()}{problem[1:]}" or HINT
            self._say(problem_text, "danger" if problem else "muted")
            return
        self._say("Counting…")
        self._pause.start()

    def _read(self) -> None:
        plan = self._plan()
        self._reading = self._tasks.read(
            partial(find_replacements, plan),
            partial(self._show, plan),
            self._fail,
            on_progress=lambda progress: self._say(f"Counting… {progress.text}"),
            owner=self,
            quiet=True,
        )

    def _restyle(self) -> None:
        for row in range(self._preview.rowCount()):
            cell_of(self._preview, row, AFTER).setForeground(theme.current().color("accent"))

    def _stop_reading(self) -> None:
        self._pause.stop()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _show(self, plan: ReplacePlan, replacements: Replacements) -> None:
        self._reading = None
        self._proposal = (plan, replacements) if replacements.num_cells else None
        self._preview.setRowCount(len(replacements.first))
        for place, cell in enumerate(replacements.first):
            texts = (f"{cell.row + 1:,}", cell.name, *from_change(cell.before, cell.after))
            for column, text in enumerate(texts):
                item = QTableWidgetItem(visible(text[:LONGEST_SHOWN]))
                if column == 0:
                    item.setTextAlignment(RIGHT)
                elif text.startswith(CUT):
                    whole = cell.before if column < AFTER else cell.after
                    item.setToolTip(visible(whole[:LONGEST_TIP]))
                self._preview.setItem(place, column, item)
        self._restyle()
        rows = len(replacements.rows)
        cells = quantity(replacements.num_cells, "cell")
        self.replace.setEnabled(bool(replacements.num_cells))
        self.replace.setText(f"Change {cells}" if replacements.num_cells else "Replace")
        cut = replacements.num_cells > len(replacements.first)
        first = f" The first {len(replacements.first)} are shown above." if cut else ""
        self._say(f"{cells} in {quantity(rows, 'row')} will change.{first}" if rows else NOTHING)

    def _write(self) -> None:
        if self._proposal is None:
            return
        plan, replacements = self._proposal
        table = self._table
        if self._stage is not None or table is None:
            assert self._stage is not None
            self._stage(replacements.cells)
            self.accept()
            return
        few = len(replacements.columns) <= MOST_NAMED_COLUMNS
        columns = replacements.columns
        column_text = ", ".join(columns) if few else quantity(len(columns), "column")
        message = f"replace in {column_text}"
        version = snapshot_version(plan.view.snapshot)

        def work(job: Job) -> Commit:
            return table.edit(replacements.cells, message=message, job=job, expected_version=version)

        self._lock(True)
        self._writing = self._tasks.write(
            work,
            lambda commit: self._finish(commit, plan, replacements),
            self._fail,
            on_progress=self._show_progress,
            on_cancel=self._handle_stop,
            owner=self,
            text=f"Replacing in {self._name}",
        )
        self._writing.progress_widget = self

    def _finish(self, commit: Commit, plan: ReplacePlan, replacements: Replacements) -> None:
        self._writing = None
        self.committed.emit(commit, plan, replacements)
        self.accept()

    def _fail(self, error: Exception) -> None:
        self._reading = self._writing = None
        self._lock(False)
        self._say(TABLE_CHANGED if isinstance(error, VersionConflict) else message(error), "danger")

    def _handle_stop(self) -> None:
        self._writing = None
        self._lock(False)
        self._say("Stopped; nothing was changed.")

    def _show_progress(self, progress: Progress) -> None:
        fraction = progress.fraction
        self._progress.setRange(0, 0 if fraction is None else 1000)
        self._progress.setValue(int((fraction or 0) * 1000))

    def _lock(self, locked: bool) -> None:
        fields = (self.pattern, self.with_, self.regex, self.whole, self.case, self.columns)
        for widget in (*fields, *self.rows.buttons()):
            widget.setEnabled(not locked)
        self.replace.setEnabled(self._proposal is not None and not locked)
        self.cancel.setEnabled(True)
        self.cancel.setText("Stop" if locked else "Cancel")
        self._progress.setRange(0, 0)
        self._progress.setVisible(locked)

    def _say(self, text: str, look: str = "muted") -> None:
        theme.variant(self.news, look)
        self.news.setText(text)


def from_change(before: str, after: str) -> tuple[str, str]:
    """Both texts from shortly before the place where they differ, which may be far into them."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((place for place, (old, new) in pairs if old != new), min(len(before), len(after)))
    if same <= CONTEXT_LENGTH + len(CUT):
        return before, after
    start = same - CONTEXT_LENGTH
    return f"{CUT}{before[start:]}", f"{CUT}{after[start:]}"
