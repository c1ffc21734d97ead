"""Review edits: what is edited in a tab is collected, marked and counted, and saved as one commit, or into
the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QPushButton

from lamella.core.datasets.formats import COMPRESSED_SUFFIXES
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.datasets.text.dataset import text_name
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.edit_target import ids_of
from lamella.ui.editing.paste_dialog import counted
from lamella.ui.editing.review_dialog import ConflictDialog, ReviewDialog, summary
from lamella.ui.editing.staged_edits import Check, Difference, StagedEdit, check, difference, staged, without
from lamella.ui.grid.painter import Mark
from lamella.ui.grid.texts import whole_texts
from lamella.ui.window.loader import Loaded, Tab

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export
    from lamella.core.transfer.saving import SavedEdits

MOST_CELLS = 100_000
"""More are an edit of their own, which is committed at once."""
Parts = Callable[[Job], tuple[Sequence[pa.Table], pa.Table | None, np.ndarray | None]]
GOES = "This row is deleted when the edits are saved."
NOT_SAVED, SAVING_NOW, SAVED = "not saved yet", "being saved…", "saved; reading the file again…"
SAVING = "The file is being saved: edit it again in a moment"
READ_AGAIN = "The file was read again meanwhile: nothing was edited. Try again"
OF_FILE = (
    "Edits of a file are in memory until they are saved into it with Ctrl+S. Filters and sorts use what is "
    "saved; new rows are shown once they are saved."
)
NOTHING = Difference({}, np.empty(0, np.int64), ())


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


class ReviewStrip(QFrame):
    """How many edits there are, and what can be done with them."""

    def __init__(self, review: Review) -> None:
        super().__init__()
        self.setObjectName("review")
        theme.variant(self, "message")
        self.label = QLabel()
        self.show_all, self.discard = QPushButton("Show…"), QPushButton("Discard")
        self.copy, self.save = QPushButton("Save a copy…"), QPushButton("Save")
        theme.variant(self.save, "primary")
        self.copy.setToolTip("Write all rows, with these edits, to another file")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        layout.addWidget(self.label, 1)
        acts = {
            self.show_all: review.show,
            self.discard: review.discard,
            self.copy: review.ask_copy,
            self.save: review.save,
        }
        for button, act in acts.items():
            layout.addWidget(button)
            button.clicked.connect(lambda _checked=False, act=act: act())
        self.hide()


class Review(QObject):
    """`changed` when edits came or went. While `on`, nothing that is edited in the tab is committed: of a
    table when somebody wants that, of a file always."""

    changed = Signal()

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._edits: list[StagedEdit] = []
        self._undone: list[StagedEdit] = []
        self._placed = Placed()
        self._on = self._saving = False
        self._after: Callable[[], object] | None = None
        self._told = ""
        self.strip = ReviewStrip(self)
        self.dialog: ReviewDialog | ConflictDialog | QFileDialog | None = None
        tab.loader.loaded.connect(self._loaded)

    @property
    def on(self) -> bool:
        target = self._tab.target
        return self._on or (target is not None and target.is_file)

    @property
    def count(self) -> int:
        return self._placed.changes.count

    @property
    def changes(self) -> Difference:
        return self._placed.changes

    @property
    def is_saving(self) -> bool:
        """Whether the file is being written, or read again after that."""
        return self._saving

    @property
    def holds_edits(self) -> bool:
        """Whether there are edits that other rows would not fit."""
        return bool(self._edits)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

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
        if self._on and self._edits:
            self._tab.messages.say("Save the edits, or discard them, to end the review")
        elif self._tab.editable is None and not self._on:
            self._tab.messages.say("Only a table's own rows can be edited")
        else:
            self._on = not self._on
        self._tell()

    @property
    def summary(self) -> str:
        """`3 cells changed, 1 row deleted`."""
        return summary(self._placed.changes)

    def stage(self, make: Parts) -> None:
        """Collect an edit; `make` gives cells, new rows and deleted ids as `Table.edit` takes them."""
        target, view = self._tab.target, self._tab.view
        if self._saving:
            self._tab.messages.say(SAVING)
            return
        assert target is not None and view is not None
        snapshot = view.snapshot

        def work(job: Job) -> StagedEdit:
            cells, rows, deleted = make(job)
            edit = staged(target, snapshot, cells, deleted, rows)
            if edit.num_cells > MOST_CELLS:
                raise LamellaError(
                    f"{edit.num_cells:,} cells are too many to {'collect' if target.is_file else 'review'}",
                    fix=f"Edit at most {MOST_CELLS:,} at a time, or "
                    + ("import the file" if target.is_file else "end the review"),
                )
            return edit

        def take(edit: StagedEdit) -> None:
            if target.is_file and (now := self._tab.view) is not None and now.snapshot is not snapshot:
                self._tab.messages.say(READ_AGAIN)  # the rows have other numbers now
                return
            self._edits.append(edit)
            self._undone = []
            self._place()
            if edit.rows is not None:
                count = counted(edit.rows.num_rows, "new row")
                self._tab.messages.say(f"{count}: shown once the edits are saved (Ctrl+S)")

        self._tab.tasks.write(work, take, self._tab.failures.show, owner=self, quiet=True, text="Collecting")

    def undo(self) -> bool:
        """Take the last edit back; False where there is none."""
        if not self._edits or self._saving:
            return False
        self._undone.append(self._edits.pop())
        self._place()
        return True

    def redo(self) -> bool:
        """Bring an edit back that was taken back; False where there is none."""
        if not self._undone or self._saving:
            return False
        self._edits.append(self._undone.pop())
        self._place()
        return True

    def discard(self) -> None:
        if not self._saving:
            self._forget()

    def _forget(self) -> None:
        self._edits, self._undone = [], []
        self._show(Placed())

    def show(self) -> None:
        """The difference, before and after."""
        in_file = self._tab.table is None
        dialog = ReviewDialog(self._placed.changes, self._tab.name, self._tab.grid.window(), in_file)
        dialog.save_requested.connect(self.save)
        dialog.discard_requested.connect(self.discard)
        self._open(dialog)

    def save(self, then: Callable[[], object] | None = None) -> None:
        """As one commit; where somebody else changed the same cells, each is shown first. Of a file: into
        it. `then` is done once they are saved."""
        if not self.count or self._saving:
            return
        self._after = then
        if self._tab.table is None:
            self._save_file()
        else:
            self._save(self._placed.changes, None)

    def _save_file(self) -> None:
        dataset, changes, name = self._tab.dataset, self._placed.changes, self._tab.name

        def write(job: Job) -> SavedEdits:
            from lamella.core.transfer.saving import save_edits

            return save_edits(dataset, changes.cells, changes.new_rows, changes.deleted, job)

        self._set_saving(True)
        self._tab.tasks.write(
            write, self._file_saved, self._file_failed, stopped=self._file_stopped, owner=self,
            text=f"Saving {name}",
        )  # fmt: skip

    def _file_saved(self, saved: SavedEdits) -> None:
        """The edits stay on show until the rows are read again."""
        self._told = ". ".join([f"Saved in {self._tab.name}: {self.summary}", *saved.remarks])
        self._edits, self._undone = [], []
        after, self._after = self._after, None
        if after is not None:
            self.stop_waiting()
            after()
        else:
            self._tell()
            self._tab.reopening.read_saved()

    def take_news(self) -> str:
        """What was saved, once: to be said when the rows are there."""
        told, self._told = self._told, ""
        return told

    def stop_waiting(self) -> None:
        """The rows that were saved cannot be shown."""
        if self._saving and not self._edits:
            self._saving = False
            self._forget()

    def _file_failed(self, error: Exception) -> None:
        self._set_saving(False)
        self._after = None
        if not isinstance(error, LamellaError):
            self._tab.failures.show(error)
            return
        choices = [("Save a copy…", self.ask_copy)]
        if is_changed_on_disk(error):
            choices.insert(0, ("Discard the edits and reload", self.discard_and_reload))
        self._tab.messages.say(message(error), *choices, kind="message-danger")

    def _file_stopped(self) -> None:
        self._set_saving(False)
        self._after = None
        self._tab.messages.say("Stopped: the file is as it was, and the edits are not saved")

    def discard_and_reload(self) -> None:
        self._forget()
        self._tab.reopening.reopen()

    def ask_copy(self) -> None:
        """Write the rows with their edits to another file, whose name says the format."""
        path = Path(self._tab.key[0])
        suffix = next((s for s in path.suffixes[::-1] if s[1:].casefold() not in COMPRESSED_SUFFIXES), ".csv")
        dialog = QFileDialog(self._tab.grid.window(), "Save a copy with the edits", str(path.parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(f"{text_name(path)} (edited){suffix}")
        dialog.fileSelected.connect(lambda name: self.save_copy(Path(name)))
        self._open(dialog)

    def save_copy(self, path: Path) -> None:
        """The edits stay unsaved in the file itself."""
        dataset, changes = self._tab.dataset, self._placed.changes
        if os.path.realpath(path) == os.path.realpath(self._tab.key[0]):
            self.save()
            return

        def write(job: Job) -> Export:
            from lamella.core.transfer.file_edits import file_edits
            from lamella.core.transfer.saving import export_edited

            snapshot = dataset.snapshot()
            edits = file_edits(snapshot, changes.cells, changes.new_rows, changes.deleted)
            return export_edited(dataset, edits, path, job, overwrite=True)

        def written(copy: Export) -> None:
            self._tab.messages.say(f"{copy.path.name} has {copy.rows:,} rows, with the edits")

        def failed(error: Exception) -> None:
            if isinstance(error, LamellaError):
                self._tab.messages.say(message(error), kind="message-danger")
            else:
                self._tab.failures.show(error)

        self._tab.tasks.write(write, written, failed, owner=self, text=f"Writing {path.name}")

    def _set_saving(self, saving: bool) -> None:
        self._saving = saving
        self._tell()

    def _save(self, changes: Difference, seen: int | None) -> None:
        """`seen` is the version whose conflicts were decided."""
        table = self._tab.table
        assert table is not None

        def change(table: Table, job: Job) -> Commit:
            met = check(table, changes, job)
            if (met.conflicts or len(met.gone)) and met.version != seen:
                raise Conflict(met)
            return changes.commit(table, met.version, job)

        self._tab.commits.run(
            table,
            change,
            f"Saving {self._tab.name}",
            self._saved,
            lambda error: self._failed(error, changes),
            lambda: self._tab.messages.say("Stopped; the edits are not saved"),
            asker=self,
        )

    def _saved(self, commit: Commit) -> None:
        shown, placed = self._tab.shown, self._placed
        if shown is not None:
            edited = [(range(row, row + 1), (name,)) for row, name in placed.marks]
            gone = [placed.rows[i] for i in placed.changes.deleted.tolist() if i in placed.rows]
            self._tab.loader.keep(shown, commit, edited, [range(row, row + 1) for row in gone])
        self._forget()
        after, self._after = self._after, None
        if after is not None:
            after()

    def _failed(self, error: Exception, changes: Difference) -> None:
        if not isinstance(error, Conflict):
            self._tab.messages.say(message(error), kind="message-danger")
            return
        met = error.met
        dialog = ConflictDialog(met.conflicts, self._tab.name, self._tab.grid.window())
        dialog.chosen.connect(lambda theirs: self._save(without(changes, theirs, met.gone), met.version))
        self._open(dialog)

    def _open(self, dialog: ReviewDialog | ConflictDialog | QFileDialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(dialog.deleteLater)
        dialog.finished.connect(lambda _: setattr(self, "dialog", None) if self.dialog is dialog else None)
        dialog.open()

    def _loaded(self, loaded: Loaded) -> None:
        if self._saving and not self._edits:
            self.stop_waiting()
        if self._edits:
            self._place(loaded.view)

    def _place(self, view: View | None = None) -> None:
        """Find where the edits are in a view, or in the one that is shown."""
        edits, view, name = list(self._edits), view or self._tab.view, self._tab.name
        if view is not None:
            work = partial(place, name, edits, view)
            show = partial(self._show_of, edits, view)
            self._tab.tasks.read(work, show, self._tab.failures.show, owner=self, quiet=True)

    def _show_of(self, edits: list[StagedEdit], view: View, placed: Placed) -> None:
        if edits == self._edits and view is self._tab.view:
            self._show(placed)

    def _show(self, placed: Placed) -> None:
        self._placed = placed
        self._tell()

    def _tell(self) -> None:
        count, in_file, strip = self.count, self._tab.table is None, self.strip
        strip.setVisible(self._on or count > 0)
        said = f"{'Edits of the file' if in_file else 'Review edits'}: {summary(self._placed.changes)}"
        strip.label.setText(said + (f", {self._state()}" if count else ""))
        strip.label.setToolTip(OF_FILE if in_file else "")
        strip.copy.setVisible(in_file)
        strip.save.setText(f"Save {count:,}" if count else "Save")
        strip.save.setToolTip("Save into the file (Ctrl+S)" if in_file else "Save as one commit (Ctrl+S)")
        for button in (strip.save, strip.discard, strip.show_all, strip.copy):
            button.setEnabled(count > 0 and not self._saving)
        self.changed.emit()

    def _state(self) -> str:
        if not self._saving:
            return NOT_SAVED
        return SAVING_NOW if self._edits else SAVED


def place(name: str, edits: Sequence[StagedEdit], view: View, job: Job) -> Placed:
    """Blocks."""
    changes = difference(name, edits)
    if not changes.count:
        return Placed(changes)
    in_order = view.snapshot.ids is None and view.query == ScanQuery()
    ids = ids_of(view, 0, 0 if in_order else view.num_rows)
    order = np.argsort(ids, kind="stable")
    marks: dict[tuple[int, str], Mark] = {}
    rows: dict[int, int] = {}

    def found(wanted: np.ndarray) -> list[int | None]:
        if in_order:  # the number of a row of a file is its place
            return list(wanted.tolist())
        places = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
        numbers = order[places] if len(ids) else np.empty(0, np.int64)
        pairs = zip(numbers.tolist(), wanted.tolist(), strict=True)
        return [row if int(ids[row]) == row_id else None for row, row_id in pairs]

    for column_name, column in changes.columns.items():
        job.check()
        texts = whole_texts(column.after)
        for row_id, row, text in zip(column.ids.tolist(), found(column.ids), texts, strict=True):
            if row is not None:
                marks[row, column_name], rows[row_id] = Mark(text), row
    for row_id, row in zip(changes.deleted.tolist(), found(changes.deleted), strict=True):
        if row is not None:
            rows[row_id] = row
    return Placed(changes, marks, rows)
