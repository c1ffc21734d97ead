"""The Change dialog: rows, an operation, a preview with exact counts, and then one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.filters import Filter, sentence
from lamella.core.jobs import Job, Progress
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.acts import KINDS, Act, Kind, Merge, Split, Update
from lamella.core.store.commit import Commit
from lamella.core.store.effects import SAMPLE_ROWS, Effect
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.work_dialog import PreviewDialog, fit_into_window
from lamella.ui.editing.change_forms import ActForm, UpdateForm, form_label, forms
from lamella.ui.editing.change_preview import PreviewTable, button_text, effect_text, refusal

if TYPE_CHECKING:
    from lamella.ui.tasks import Tasks

PAUSE_MS = 150
QUICK = (Update, Split, Merge)
"""Acts whose first rows can be previewed long before all rows are counted."""
HINT = "Fill in the form to see what changes."
WIDTH, HEIGHT = 710, 560


@dataclass(frozen=True)
class SelectedRows:
    """Rows selected by hand; `ids` may read, so call it off the GUI thread."""

    count: int
    ids: Callable[[Job], Iterable[int]]


RowChoice = Filter | SelectedRows | None


@dataclass(frozen=True)
class ChangeContext:
    """What the tab shows: the filter, the selected rows and columns, the column of the current cell, and the
    other tables of the store."""

    column: str = ""
    filter: Filter | None = None
    rows: SelectedRows | None = None
    columns: Sequence[str] = ()
    tables: Sequence[str] = ()


class ChangeDialog(PreviewDialog):
    """Offers the selected rows, those that meet the filter, and all rows; the first of these is chosen.

    `committed` carries the commit and closes the dialog. Cancelling while it runs changes nothing.
    """

    committed = Signal(Commit)

    def __init__(
        self,
        table: Table,
        name: str,
        snapshot: Snapshot,
        tasks: Tasks,
        context: ChangeContext = ChangeContext(),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(tasks, PAUSE_MS, parent)
        self._table, self._name, self._snapshot = table, name, snapshot
        self._effect: tuple[Act, Effect] | None = None
        self._ids: dict[int, list[int]] = {}
        types = {c.name: c.type for c in snapshot.columns if c.name != ID}
        first = context.column or next(iter(types), "")
        self._forms = forms(table, types, first, context.columns, context.tables, tasks)
        self.form: ActForm | None = None
        self.setWindowTitle(f"Change {visible(name)}")
        self._row_choices = self._list_row_choices(context.filter, context.rows)
        self._make()
        self._lay_out()
        self._choose_kind()

    # ---------------------------------------------------------------- choices

    def choose_kind(self, kind: str) -> ActForm:
        """Show the form of a kind of act, by its id."""
        self.kind_box.setCurrentIndex([change_kind.id for change_kind in KINDS].index(kind))
        assert self.form is not None
        return self.form

    def set_value(self, text: str) -> None:
        """Fill in the new value of the first column as if it were typed."""
        if isinstance(self.form, UpdateForm):
            self.form.lines[0].field.set_text(text)

    @property
    def kind(self) -> Kind:
        return KINDS[self.kind_box.currentIndex()]

    # ------------------------------------------------------------------ looks

    def _list_row_choices(
        self, filter: Filter | None, selected: SelectedRows | None
    ) -> list[tuple[str, str, RowChoice]]:
        offers: list[tuple[str, str, RowChoice]] = []
        if selected is not None and selected.count:
            offers.append((f"Selection · {selected.count:,}", "The selected rows", selected))
        if filter is not None:
            offers.append(("Filter", f"Rows where {sentence(filter)}", filter))
        return [*offers, (f"All · {self._snapshot.num_rows:,}", "Every row of the table", None)]

    def _make(self) -> None:
        self.title = QLabel(f"Change {visible(self._name)}")
        theme.variant(self.title, "title")
        self.rows = QButtonGroup(self)
        for place, (text, tip, _) in enumerate(self._row_choices):
            button = QToolButton(text=text, toolTip=tip, checkable=True, checked=place == 0)
            button.setAccessibleName(tip)
            theme.variant(button, "segment")
            self.rows.addButton(button, place)
        self.rows.idToggled.connect(lambda _place, on: self._plan_again() if on else None)
        self.kind_box = QComboBox(accessibleName="What to do")
        self.kind_box.addItems([kind.label for kind in KINDS])
        self.kind_box.currentIndexChanged.connect(self._choose_kind)
        self.preview = PreviewTable()
        self.news = QLabel()
        self.news.setWordWrap(True)
        self.note = QLabel("One commit. Undo restores everything.")
        theme.variant(self.note, "muted")
        self.apply = QPushButton(self.kind.verb)
        theme.variant(self.apply, "primary")
        self.apply.setDefault(True)
        self.apply.setEnabled(False)
        self.apply.clicked.connect(self._write)

    def _lay_out(self) -> None:
        segments = QHBoxLayout()
        segments.setSpacing(0)
        for button in self.rows.buttons():
            segments.addWidget(button)
        segments.addStretch(1)
        self.rows_row = QWidget()
        segments.setContentsMargins(0, 0, 0, 0)
        self.rows_row.setLayout(segments)
        what = QHBoxLayout()
        what.addWidget(self.kind_box)
        what.addStretch(1)
        self._choices = QFormLayout(horizontalSpacing=theme.L, verticalSpacing=theme.S)
        self._choices.addRow(form_label("What"), what)
        self._choices.addRow(form_label("Rows"), self.rows_row)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.note)
        buttons.addWidget(self.progress, 1)
        buttons.addWidget(self.status)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.apply)
        self._form_place = QVBoxLayout()
        layout = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        fields = QVBoxLayout()
        fields.setSpacing(theme.S)
        fields.addLayout(self._choices)
        fields.addLayout(self._form_place)
        layout.addLayout(fields)
        layout.addWidget(self.preview, 1)
        layout.addWidget(self.news)
        layout.addLayout(buttons)
        fit_into_window(self, QSize(theme.current().px(WIDTH), theme.current().px(HEIGHT)))

    def _choose_kind(self) -> None:
        if self.form is not None:
            self._form_place.removeWidget(self.form)
            self.form.hide()
            self.form.deleteLater()
        kind = self.kind
        self.form = self._forms[kind.id]()
        self.form.changed.connect(self._plan_again)
        self._form_place.addWidget(self.form)
        self._choices.setRowVisible(self.rows_row, kind.some_rows)
        self.form.focus_first()
        self._plan_again()

    # ---------------------------------------------------------------- preview

    def _row_choice(self) -> RowChoice:
        return self._row_choices[self.rows.checkedId()][2] if self.kind.some_rows else None

    def _chosen_rows(self, job: Job) -> Any:
        """The filter or ids of the rows; call it on a worker."""
        choice, place = self._row_choice(), self.rows.checkedId()
        if not isinstance(choice, SelectedRows):
            return choice
        if place not in self._ids:
            self._ids[place] = list(choice.ids(job))
        return self._ids[place]

    def _plan_again(self) -> None:
        self._stop_reading()
        self._effect = None
        self.apply.setEnabled(False)
        self.apply.setText(self.kind.verb)
        if self.form is None or self.form.act() is None:
            self.preview.clear_rows()
            self._say(HINT)
            return
        self._say("Counting…")
        self._pause.start()

    def _read_preview(self) -> None:
        act = self.form.act() if self.form is not None else None
        if act is None:
            return
        if not isinstance(act, QUICK):
            self._read_all(act)
            return
        self._reading = self._tasks.read(
            lambda job: act.effect(self._table, self._chosen_rows(job), job, SAMPLE_ROWS),
            partial(self._show_first, act),
            self._fail,
            owner=self,
            quiet=True,
        )

    def _show_first(self, act: Act, effect: Effect) -> None:
        self._show_rows(act, effect)
        self._read_all(act)

    def _read_all(self, act: Act) -> None:
        self._reading = self._tasks.read(
            lambda job: act.effect(self._table, self._chosen_rows(job), job),
            partial(self._show, act),
            self._fail,
            on_progress=self._show_counting,
            owner=self,
            quiet=True,
        )

    def _show_counting(self, progress: Progress) -> None:
        if progress.total:
            self._say(f"Counting… {progress.done:,} of {progress.total:,} rows")

    def _show(self, act: Act, effect: Effect) -> None:
        self._reading = None
        if len(effect.preview.kinds):
            self._show_rows(act, effect)
        why_not = refusal(act, effect)
        self._effect = None if why_not else (act, effect)
        changes = effect.total > 0 or self.kind.id in ("rename", "cast", "split", "merge")
        self.apply.setText(button_text(self.kind, act, effect))
        self.apply.setEnabled(changes and not why_not)
        rows_button = self.rows.checkedButton()
        if (
            rows_button is not None
            and self._row_choice() is not None
            and not isinstance(self._row_choice(), SelectedRows)
        ):
            rows_button.setText(f"Filter · {effect.matching:,}")
        remark = self.form.remark if self.form is not None else ""
        text = " ".join(filter(None, (why_not or effect_text(act, effect), remark)))
        self._say(text, "danger" if why_not else "muted")

    def _show_rows(self, act: Act, effect: Effect) -> None:
        self.preview.show_preview(effect.preview, plain_after=self.kind.id == "rename")

    # ----------------------------------------------------------------- commit

    def _write(self) -> None:
        if self._effect is None:
            return
        act = self._effect[0]
        self._run(
            self._tasks.write,
            lambda job: act.apply(self._table, self._chosen_rows(job), job=job),
            self._finish,
            f"Changing {self._name}",
        )

    def _finish(self, commit: Commit) -> None:
        self.committed.emit(commit)
        self.accept()

    def _fail(self, error: Exception) -> None:
        self._reading = None
        self._say(message(error), "danger")

    def _handle_stop(self) -> None:
        self._say("Stopped; nothing was changed.")

    def _lock(self, locked: bool) -> None:
        for widget in (self.form, self.kind_box, *self.rows.buttons()):
            if widget is not None:
                widget.setEnabled(not locked)
        self.apply.setEnabled(self._effect is not None and not locked)
        self.note.setVisible(not locked)

    def _say(self, text: str, look: str = "muted") -> None:
        theme.variant(self.news, look)
        self.news.setText(text)
