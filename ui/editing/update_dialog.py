"""Set values: one column of many rows gets one new value, seen beforehand, in one commit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QStringListModel, QTimer, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.filters import Filter, sentence
from lamella.core.jobs import Job, Progress
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.preview_table import PreviewTable
from lamella.ui.editing.update_plan import ID, Preview, SelectedRows, UpdatePlan, preview
from lamella.ui.editing.value_edit import ValueEdit
from lamella.ui.filters.value_fields import ColumnBox

if TYPE_CHECKING:
    from lamella.ui.tasks import Handle, Tasks

PAUSE_MS = 200
LONGEST_SENTENCE = 80
Where = Filter | SelectedRows | None


class UpdateDialog(QDialog):
    """Offers the rows selected, those that meet the filter, and all; the first of these is chosen.

    `committed` carries the commit; the dialog closes with it. Cancelling while it runs changes nothing.
    """

    committed = Signal(Commit)

    def __init__(
        self,
        table: Table,
        name: str,
        snapshot: Snapshot,
        tasks: Tasks,
        column: str = "",
        filter: Filter | None = None,
        selected: SelectedRows | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._table, self._name, self._tasks = table, name, tasks
        self._snapshot = snapshot
        self._reading: Handle | None = None
        self._writing: Handle | None = None
        self._shown = False
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._read_preview)
        self.setWindowTitle(f"Set values in {name}")
        self._wheres = self._offered(filter, selected)
        self._make(column)
        self._lay_out()
        self._choose_column(self._column.text())

    def set_value(self, text: str | None) -> None:
        """Fill in the new value as if it were typed; None for null."""
        self._value.set_text(text)

    def reject(self) -> None:
        """Stops the change while it runs, and closes otherwise."""
        if self._writing is not None:
            self._cancel.setEnabled(False)
            self._writing.cancel()
            return
        self._stop_reading()
        super().reject()

    def _offered(self, filter: Filter | None, selected: SelectedRows | None) -> list[tuple[str, Where]]:
        offers: list[tuple[str, Where]] = []
        if selected is not None and selected.count:
            offers.append((f"The {selected.count:,} selected rows", selected))
        if filter is not None:
            said = sentence(filter)
            cut = said if len(said) <= LONGEST_SENTENCE else said[:LONGEST_SENTENCE] + "…"
            offers.append((f"Rows where {cut}", filter))
        return [*offers, (f"All {self._snapshot.num_rows:,} rows", None)]

    def _make(self, column: str) -> None:
        names = [name for name in self._snapshot.schema.names if name != ID]
        self._rows = QButtonGroup(self)
        for place, (text, _where) in enumerate(self._wheres):
            button = QRadioButton(text.replace("&", "&&"))
            button.setChecked(place == 0)
            self._rows.addButton(button, place)
        self._rows.idToggled.connect(lambda _place, on: self._plan_again() if on else None)
        self._column = ColumnBox(QStringListModel(names, self), column or (names[0] if names else ""))
        self._column.setMinimumWidth(14 * theme.current().line_height())
        self._column.chosen.connect(self._choose_column)
        self._value = ValueEdit()
        self._value.edited.connect(self._plan_again)
        self._preview = PreviewTable()
        self._news = QLabel()
        self._news.setWordWrap(True)
        self._progress = QProgressBar(textVisible=False)
        self._progress.hide()
        self._cancel = QPushButton("Cancel")
        self._cancel.clicked.connect(self.reject)
        self._apply = QPushButton("Change rows")
        theme.variant(self._apply, "primary")
        self._apply.setDefault(True)
        self._apply.setEnabled(False)
        self._apply.clicked.connect(self._write)

    def _lay_out(self) -> None:
        rows = QVBoxLayout()
        rows.setSpacing(theme.XS)
        for button in self._rows.buttons():
            rows.addWidget(button)
        form = QFormLayout()
        form.setHorizontalSpacing(theme.L)
        form.setVerticalSpacing(theme.M)
        form.addRow("Which rows", rows)
        form.addRow("Column", self._column)
        form.addRow("New value", self._value)
        buttons = QHBoxLayout()
        buttons.addWidget(self._progress, 1)
        buttons.addStretch(1)
        buttons.addWidget(self._cancel)
        buttons.addWidget(self._apply)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        layout.addLayout(form)
        layout.addWidget(self._preview, 1)
        layout.addWidget(self._news)
        layout.addLayout(buttons)
        line = theme.current().line_height()
        self.resize(44 * line, 34 * line)
        self._value.setFocus()

    def _choose_column(self, name: str) -> None:
        known = name in self._snapshot.schema.names and name != ID
        theme.variant(self._column, "" if known else "invalid")
        if known:
            self._value.set_type(self._snapshot.schema.field(name).type)
        self._value.setEnabled(known)
        self._plan_again()

    def _plan(self) -> UpdatePlan | None:
        """None while something is missing or wrong; the field says what."""
        if not self._value.isEnabled() or not self._value.ready:
            return None
        where = self._wheres[self._rows.checkedId()][1]
        return UpdatePlan(self._snapshot, where, self._column.text(), self._value.value())

    def _plan_again(self) -> None:
        self._stop_reading()
        self._shown = False
        self._apply.setEnabled(False)
        self._apply.setText("Change rows")
        if self._plan() is None:
            self._preview.clear_rows()
            self._say("Choose a column and a new value to see what changes.")
            return
        self._say("counting…")
        self._pause.start()

    def _read_preview(self) -> None:
        plan = self._plan()
        if plan is not None:
            self._reading = self._tasks.read(
                lambda job: preview(plan, job), partial(self._show, plan), self._fail, owner=self, quiet=True
            )

    def _stop_reading(self) -> None:
        self._pause.stop()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _show(self, plan: UpdatePlan, found: Preview) -> None:
        self._reading = None
        self._preview.show_rows(found.rows, plan.value)
        changing = found.matching if found.changing is None else found.changing
        self._apply.setText(f"Change {changing:,} row" + ("" if changing == 1 else "s"))
        self._shown = changing > 0
        self._apply.setEnabled(self._shown)
        same = found.matching - changing
        alike = f"; {same:,} of {found.matching:,} have the value already" if same else ""
        order = f"The first {found.rows.num_rows}, in the table's own order, are shown above"
        self._say(f"{changing:,} rows will change{alike}. {order}.")

    def _write(self) -> None:
        plan = self._plan()
        if plan is None:
            return
        self._lock(True)
        self._writing = self._tasks.write(
            lambda job: self._commit(plan, job),
            self._finish,
            self._fail,
            progress=self._show_progress,
            stopped=self._stopped,
            owner=self,
            text=f"Setting {plan.column} in {self._name}",
        )
        self._writing.shown_by = self

    def _commit(self, plan: UpdatePlan, job: Job) -> Commit:
        where = plan.where.ids(job) if isinstance(plan.where, SelectedRows) else plan.where
        return self._table.update_where(where, {"$set": {plan.column: plan.value}}, job=job)

    def _finish(self, commit: Commit) -> None:
        self._writing = None
        self.committed.emit(commit)
        self.accept()

    def _fail(self, error: Exception) -> None:
        self._reading = self._writing = None
        self._lock(False)
        self._say(message(error), "danger")

    def _stopped(self) -> None:
        self._writing = None
        self._lock(False)
        self._say("Stopped; nothing was changed.")

    def _show_progress(self, progress: Progress) -> None:
        fraction = progress.fraction
        self._progress.setRange(0, 0 if fraction is None else 1000)
        self._progress.setValue(int((fraction or 0) * 1000))

    def _lock(self, locked: bool) -> None:
        for widget in (self._column, self._value, *self._rows.buttons()):
            widget.setEnabled(not locked)
        self._apply.setEnabled(self._shown and not locked)
        self._cancel.setEnabled(True)
        self._cancel.setText("Stop" if locked else "Cancel")
        self._progress.setRange(0, 0)
        self._progress.setVisible(locked)

    def _say(self, text: str, look: str = "muted") -> None:
        theme.variant(self._news, look)
        self._news.setText(text)
