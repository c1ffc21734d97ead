"""Review edits: what is edited in a tab is collected, marked and counted, and saved as one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.review_dialog import MOST_LISTED, ConflictDialog, ReviewDialog, summary
from lamella.ui.editing.staged_edits import (
    CellTexts,
    Check,
    Difference,
    StagedEdit,
    cell_texts,
    check,
    difference,
    staged,
    without,
)
from lamella.ui.grid.painter import Mark
from lamella.ui.grid.texts import whole_texts
from lamella.ui.window.kept_rows import EditedCells, runs_of
from lamella.ui.window.loader import Loaded, Tab

MOST_CELLS = 100_000
"""More are an edit of their own, which is committed at once."""
Parts = Callable[[Job], tuple[Sequence[pa.Table], pa.Table | None, np.ndarray | None]]
GOES = "This row is deleted when the edits are saved."
BEING_SAVED = "The edits are being saved"
NOTHING = Difference({}, np.empty(0, np.int64), np.empty(0, np.int64), ())


class Conflict(LamellaError):
    """Somebody else changed cells in between."""

    def __init__(self, met: Check) -> None:
        super().__init__("Somebody else changed cells that are edited here")
        self.met = met


@dataclass(frozen=True)
class Placed:
    """A difference, and where its cells are in a view: marks by row and column, and the rows by `_id`."""

    changes: Difference = NOTHING
    marks: dict[tuple[int, str], Mark] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    edited: Sequence[EditedCells] = ()
    view: View | None = None


class ReviewStrip(QFrame):
    """How many edits there are, and what can be done with them."""

    def __init__(self, review: Review) -> None:
        super().__init__()
        self.setObjectName("review")
        theme.variant(self, "message")
        self.label = QLabel()
        self.show_all, self.discard = QPushButton("Show…"), QPushButton("Discard")
        self.save = QPushButton("Save")
        self.save.setToolTip("Save as one commit (Ctrl+S)")
        theme.variant(self.save, "primary")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        layout.addWidget(self.label, 1)
        acts = {self.show_all: review.show, self.discard: review.discard, self.save: review.save}
        for button, act in acts.items():
            layout.addWidget(button)
            button.clicked.connect(act)
        self.hide()


class Review(QObject):
    """`changed` when edits came or went. While `on`, nothing that is edited in the tab is committed."""

    changed = Signal()

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._edits: list[StagedEdit] = []
        self._placed = Placed()
        self._placed_edits: list[StagedEdit] = []
        self._undo_next = 0
        """How many edits to take back once all are here."""
        self._collecting = 0
        """Edits that are on their way here."""
        self._saving: list[StagedEdit] | None = None
        self._save_next = False
        self._own_version = 0
        """The last one that was saved here; known to the thread that writes."""
        self._on = False
        self.strip = ReviewStrip(self)
        self.dialog: ReviewDialog | ConflictDialog | None = None
        tab.loader.loaded.connect(self._loaded)

    @property
    def on(self) -> bool:
        return self._on

    @property
    def count(self) -> int:
        return self._placed.changes.count

    @property
    def undoable(self) -> bool:
        return bool(self._edits or self._collecting)

    @property
    def unsaved(self) -> bool:
        """Whether there are edits, or some may be on their way."""
        return self.count > 0 or not self._settled

    @property
    def _settled(self) -> bool:
        return not self._collecting and self._placed_edits == self._edits

    @property
    def marks(self) -> dict[tuple[int, str], Mark]:
        """Of cells that are edited, by row and the name of the column."""
        return self._placed.marks

    def value(self, row: int, name: str) -> pa.Array | None:
        """What a cell becomes; None for one that is not edited."""
        column = self._placed.changes.columns.get(name)
        if column is None or (row, name) not in self.marks:
            return None
        row_id = next(i for i, where in self._placed.rows.items() if where == row)
        return column.at(np.flatnonzero(column.ids == row_id)).after

    @property
    def deleted_rows(self) -> dict[int, str]:
        """Rows of the view that saving deletes, with the words for it."""
        rows = self._placed.rows
        return {rows[i]: GOES for i in self._placed.changes.deleted.tolist() if i in rows}

    def toggle(self) -> None:
        """Begin to collect edits, or end it once they are saved or discarded."""
        if self._on and (self._edits or self._collecting):
            self._tab.messages.say("Save the edits, or discard them, to end the review")
        elif self._tab.editable is None and not self._on:
            self._tab.messages.say("Only a table's own rows can be edited")
        else:
            self._on = not self._on
        self._tell()

    @property
    def summary(self) -> str:
        """`3 cells changed, 1 row deleted`."""
        return summary(self._placed.changes) if self.count else "the last edits"

    def stage(self, make: Parts) -> None:
        """Collect an edit; `make` gives cells, new rows and deleted ids as `Table.edit` takes them."""
        table, view = self._tab.table, self._tab.view
        assert table is not None and view is not None
        version = int(view.snapshot.token[1])  # type: ignore[call-overload]

        def work(job: Job) -> StagedEdit:
            cells, rows, deleted = make(job)
            edit = staged(table, max(version, self._own_version), cells, deleted, rows)
            if edit.num_cells > MOST_CELLS:
                raise LamellaError(
                    f"{edit.num_cells:,} cells are too many to review",
                    fix=f"Edit at most {MOST_CELLS:,} at a time, or end the review",
                )
            return edit

        def take(edit: StagedEdit) -> None:
            self._edits = [*self._edits, edit]
            self._collected()
            self._place()

        self._collecting += 1
        self._tell()
        failed, stopped = self._not_collected, partial(self._not_collected, None)
        self._tab.tasks.write(work, take, failed, stopped=stopped, owner=self, quiet=True, text="Collecting")

    def _collected(self) -> None:
        self._collecting -= 1
        if self._undo_next and not self._collecting:
            self._edits = self._edits[: -self._undo_next]
            self._undo_next = 0

    def _not_collected(self, error: Exception | None) -> None:
        self._undo_next = max(0, self._undo_next - 1)
        self._collected()
        self._save_next = False
        if error is not None:
            self._tab.failures.show(error)
        self._tell()

    def undo(self) -> bool:
        """Take the last edit back; False where there is none."""
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return True
        if self._collecting:
            self._undo_next += 1
            return True
        if not self._edits:
            return False
        self._edits = self._edits[:-1]
        self._place()
        return True

    def discard(self) -> None:
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return
        self._edits = []
        self._show([], Placed())

    def show(self) -> None:
        """The difference, before and after."""
        changes = self._placed.changes
        self._tab.tasks.read(
            lambda job: cell_texts(changes, MOST_LISTED),
            partial(self._list, changes),
            self._tab.failures.show,
            owner=self,
            quiet=True,
        )

    def _list(self, changes: Difference, cells: Sequence[CellTexts]) -> None:
        if changes is not self._placed.changes or self.dialog is not None:
            return
        dialog = ReviewDialog(changes, cells, self._tab.name, self._tab.grid.window())
        dialog.save_requested.connect(self.save)
        dialog.discard_requested.connect(self.discard)
        self._open(dialog)

    def save(self) -> None:
        """As one commit, with the edits that are still on their way; where somebody else changed the same
        cells, each is shown first."""
        if self._saving is not None:
            return
        self._save_next = not self._settled
        if not self._save_next and self.count:
            self._saving = self._edits
            self._save(self._placed.changes, None)
            self._tell()

    def _save(self, changes: Difference, seen: int | None) -> None:
        """`seen` is the version whose conflicts were decided."""
        table = self._tab.table
        assert table is not None

        def change(table: Table, job: Job) -> Commit:
            met = check(table, changes, job)
            if met.conflicts and met.version != seen:
                raise Conflict(met)
            commit = without(changes, (), met.gone).commit(table, met.version, job)
            self._own_version = commit.version
            return commit

        self._tab.commits.run(
            table,
            change,
            f"Saving {self._tab.name}",
            self._saved,
            lambda error: self._failed(error, changes),
            lambda: self._not_saved("Stopped; the edits are not saved"),
            asker=self,
        )

    def _saved(self, commit: Commit) -> None:
        shown, placed, saved = self._tab.shown, self._placed, self._saving or []
        if shown is not None and shown.view is placed.view:
            gone = [range(row, row + 1) for row in self.deleted_rows]
            self._tab.loader.keep(shown, commit, placed.edited, gone)
        self._saving = None
        self._edits = [edit for edit in self._edits if edit not in saved]
        if self._edits:
            self._place()
        else:
            self._show([], Placed())

    def _not_saved(self, why: str = "", kind: str = "message") -> None:
        self._saving = None
        if why:
            self._tab.messages.say(why, kind=kind)
        self._tell()

    def _failed(self, error: Exception, changes: Difference) -> None:
        if not isinstance(error, Conflict):
            self._not_saved(message(error), "message-danger")
            return
        met = error.met
        dialog = ConflictDialog(met.conflicts, self._tab.name, self._tab.grid.window())
        dialog.chosen.connect(lambda theirs: self._save(without(changes, theirs, met.gone), met.version))
        dialog.rejected.connect(self._not_saved)
        self._open(dialog)

    def _open(self, dialog: ReviewDialog | ConflictDialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(dialog.deleteLater)
        dialog.finished.connect(lambda _: setattr(self, "dialog", None) if self.dialog is dialog else None)
        dialog.open()

    def _loaded(self, loaded: Loaded) -> None:
        if self._edits:
            self._place(loaded.view)

    def _place(self, view: View | None = None) -> None:
        """Find where the edits are in a view, or in the one that is shown."""
        edits, view, name = self._edits, view or self._tab.view, self._tab.name
        if view is not None:
            work = partial(place, name, edits, view)
            show = partial(self._show_of, edits, view)
            self._tab.tasks.read(work, show, self._not_placed, owner=self, quiet=True)

    def _show_of(self, edits: list[StagedEdit], view: View, placed: Placed) -> None:
        if edits is self._edits and view is self._tab.view:
            self._show(edits, placed)

    def _not_placed(self, error: Exception) -> None:
        self._save_next = False
        self._tab.failures.show(error)

    def _show(self, edits: list[StagedEdit], placed: Placed) -> None:
        self._placed_edits, self._placed = edits, placed
        self._tell()
        if self._save_next and self._settled:
            self.save()

    def _tell(self) -> None:
        count = self.count
        self.strip.setVisible(self._on)
        said = f"Review edits: {summary(self._placed.changes)}"
        self.strip.label.setText(said + (", not saved yet" if count else ""))
        self.strip.save.setText(f"Save {count:,}" if count else "Save")
        for button in (self.strip.save, self.strip.discard, self.strip.show_all):
            button.setEnabled(count > 0 and self._saving is None)
        self.changed.emit()


def place(name: str, edits: Sequence[StagedEdit], view: View, job: Job) -> Placed:
    """Blocks."""
    changes = difference(name, edits)
    if not changes.count:
        return Placed(changes, view=view)
    ids = to_numpy(view.page(0, view.num_rows, [ID]).column(0))
    order = np.argsort(ids, kind="stable")
    marks: dict[tuple[int, str], Mark] = {}
    rows: dict[int, int] = {}
    edited: list[EditedCells] = []

    def found(wanted: np.ndarray) -> list[int | None]:
        if not len(ids):
            return [None] * len(wanted)
        places = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
        pairs = zip(order[places].tolist(), wanted.tolist(), strict=True)
        return [row if int(ids[row]) == row_id else None for row, row_id in pairs]

    for column_name, column in changes.columns.items():
        job.check()
        texts, places = whole_texts(column.after), found(column.ids)
        numbers = np.sort(np.array([row for row in places if row is not None], np.int64))
        edited += [(span, (column_name,)) for span in runs_of(numbers)]
        for row_id, row, text in zip(column.ids.tolist(), places, texts, strict=True):
            if row is not None:
                marks[row, column_name], rows[row_id] = Mark(text), row
    for row_id, row in zip(changes.deleted.tolist(), found(changes.deleted), strict=True):
        if row is not None:
            rows[row_id] = row
    return Placed(changes, marks, rows, edited, view)
