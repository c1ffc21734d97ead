"""Reviewing edits: edits in a tab are staged, marked and counted, and saved as one commit or into the
file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from PySide6.QtCore import QObject, Signal

from lamella.core.datasets.formats import COMPRESSED_SUFFIXES
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.datasets.text.dataset import text_name
from lamella.core.errors import LamellaError
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.file_dialog import FileDialog, ask_new_file
from lamella.ui.editing.edit_target import ids_of
from lamella.ui.editing.review_dialog import (
    MOST_LISTED_ROWS,
    ConflictDialog,
    ReviewDialog,
    ReviewStrip,
    summary,
)
from lamella.ui.editing.staged_edits import (
    CellTexts,
    Check,
    Difference,
    EditSize,
    StagedEdit,
    cell_texts,
    check,
    difference,
    stage_edit,
    without,
)
from lamella.ui.grid.painter import Mark
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.message_bar import Choice
from lamella.ui.window.kept_rows import EditedCells, runs_of
from lamella.ui.window.loader import Tab, TabContent

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export
    from lamella.core.transfer.saving import SavedEdits

MOST_CELLS = 100_000
"""A larger edit is not staged, but committed at once."""
Parts = Callable[[Job], tuple[Sequence[pa.Table], pa.Table | None, np.ndarray | None]]
GOES = "This row is deleted when the edits are saved."
BEING_SAVED = "The edits are being saved"
NOT_SAVED, SAVING_NOW, SAVED = "not saved yet", "being saved…", "saved; reading the file again…"
SAVING = "The file is being saved: edit it again in a moment"
READ_AGAIN = "The file was read again in the meantime, so nothing was edited. Try again"
OF_FILE = (
    "Edits of a file stay in memory until Ctrl+S saves them into it. Filters and sorts use the saved values; "
    "new rows are shown once they are saved."
)
NOTHING = Difference({}, np.empty(0, np.int64), np.empty(0, np.int64), ())


class SavedFile(Protocol):
    """Opens the file of a tab again."""

    def reload_saved_file(self) -> None: ...

    def reopen(self) -> None: ...


class ReviewedTab(Tab, Protocol):
    reopening: SavedFile


class Conflict(LamellaError):
    """Someone else changed the same cells in the meantime."""

    def __init__(self, met: Check) -> None:
        super().__init__("Someone else changed cells that are edited here")
        self.check = met


@dataclass(frozen=True)
class Placement:
    """A difference, and where its cells are in a view: marks by row and column, and row numbers by `_id`."""

    changes: Difference = NOTHING
    marks: dict[tuple[int, str], Mark] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    edited_cells: Sequence[EditedCells] = ()
    view: View | ComputedView | None = None


class Review(QObject):
    """The staged edits of one tab. `changed` is emitted when edits are added or removed.

    While `on`, no edit in the tab is committed: for a table if the user turned review on, for a file always.
    """

    changed = Signal()

    def __init__(self, tab: ReviewedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._edits: list[StagedEdit] = []
        self._undone: list[StagedEdit] = []
        self._placement = Placement()
        self._placed_edits: list[StagedEdit] = []
        self._undo_next = 0
        """How many edits to undo once all have been collected."""
        self._collecting: list[EditSize] = []
        """The edits that are still being collected, one after the other."""
        self._saving: list[StagedEdit] | None = None
        """The edits being saved. A file's stay on show until its rows are read again, though they are saved
        by then."""
        self._save_next = False
        self._after: Callable[[], object] | None = None
        """Called once everything is saved."""
        self._news = ""
        self._own_version = 0
        """The last version that was saved here; used by the writing thread."""
        self._on = False
        self.strip = ReviewStrip(self.show, self.discard, self.ask_copy, self.save)
        self.dialog: ReviewDialog | ConflictDialog | FileDialog | None = None
        tab.loader.loaded.connect(self._follow_rows)
        tab.loader.failed.connect(self.stop_waiting)

    @property
    def on(self) -> bool:
        target = self._tab.standing.target
        return self._on or (target is not None and target.is_file)

    @property
    def count(self) -> int:
        return self._placement.changes.count

    @property
    def changes(self) -> Difference:
        return self._placement.changes

    @property
    def is_saving(self) -> bool:
        """Whether edits are being saved; for a file, until its rows have been read again."""
        return self._saving is not None

    @property
    def holds_edits(self) -> bool:
        """Whether there are edits that would not fit other rows."""
        return bool(self._edits or self._collecting)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    @property
    def undoable(self) -> bool:
        return bool(self._edits or self._collecting)

    @property
    def is_unsaved(self) -> bool:
        """Whether there are edits, or some are still being collected."""
        return (self.count > 0 or not self._is_settled) and not self._is_waiting

    @property
    def _is_settled(self) -> bool:
        return not self._collecting and self._placed_edits == self._edits

    @property
    def marks(self) -> dict[tuple[int, str], Mark]:
        """The marks of edited cells, by row and column name."""
        return self._placement.marks

    def value(self, row: int, name: str) -> pa.Array | None:
        """The new value of a cell; None if it is not edited."""
        column = self._placement.changes.columns.get(name)
        if column is None or (row, name) not in self.marks:
            return None
        row_id = next(i for i, where in self._placement.rows.items() if where == row)
        return column.at(np.flatnonzero(column.ids == row_id)).after

    @property
    def deleted_rows(self) -> dict[int, str]:
        """Rows of the view that saving deletes, with the text that says so."""
        rows = self._placement.rows
        return {rows[i]: GOES for i in self._placement.changes.deleted_ids.tolist() if i in rows}

    def toggle(self) -> None:
        """Start collecting edits, or stop once they are saved or discarded."""
        if self._on and (self._edits or self._collecting):
            self._tab.messages.say("Save the edits, or discard them, to end the review")
        elif self._tab.editable is None and not self._on:
            self._tab.messages.say("Only the rows of the table itself can be edited")
        else:
            self._on, self._undone = not self._on, []
        self._tell()

    @property
    def summary(self) -> str:
        """Such as `3 cells changed, 1 row deleted, 9,000 cells being changed`."""
        placed = summary(self._placement.changes) if self.count else ""
        sizes = [edit.size for edit in self._edits if edit not in self._placed_edits] + self._collecting
        return ", ".join(filter(None, [placed, sum(sizes, EditSize()).text])) or "the last edits"

    def stage(self, make: Parts, size: EditSize) -> None:
        """Stage an edit; `make` returns cells, new rows and deleted ids as `Table.edit` takes them."""
        target, view = self._tab.standing.target, self._tab.view
        assert target is not None and view is not None
        if target.is_file and self.is_saving:
            self._tab.messages.say(SAVING)
            return
        snapshot = view.snapshot

        def work(job: Job) -> StagedEdit:
            cells, rows, deleted = make(job)
            version = max(target.version(snapshot), self._own_version)
            edit = stage_edit(target, snapshot, version, cells, deleted, rows)
            if edit.num_cells > MOST_CELLS:
                raise LamellaError(
                    f"{edit.num_cells:,} cells are too many to {'collect' if target.is_file else 'review'}",
                    fix=f"Edit at most {MOST_CELLS:,} at a time, or "
                    + ("import the file" if target.is_file else "end the review"),
                )
            return edit

        def take(edit: StagedEdit) -> None:
            now = self._tab.view
            if target.is_file and now is not None and now.snapshot is not snapshot:
                self._fail_collecting(None)  # the rows have other numbers now
                self._tab.messages.say(READ_AGAIN)
                return
            self._edits, self._undone = [*self._edits, edit], []
            self._end_collecting()
            self._place()
            if edit.rows is not None:
                count = quantity(edit.rows.num_rows, "new row")
                self._tab.messages.say(f"{count}: shown once the edits are saved (Ctrl+S)")

        self._collecting.append(size)
        self._tell()
        on_error, on_cancel = self._fail_collecting, partial(self._fail_collecting, None)
        self._tab.tasks.write(
            work, take, on_error, on_cancel=on_cancel, owner=self, quiet=True, text="Collecting"
        )

    def _end_collecting(self) -> None:
        del self._collecting[0]
        if self._undo_next and not self._collecting:
            taken_back = self._edits[-self._undo_next :]
            self._edits = self._edits[: -self._undo_next]
            self._undone += taken_back[::-1]
            self._undo_next = 0

    def _fail_collecting(self, error: Exception | None) -> None:
        self._undo_next = max(0, self._undo_next - 1)
        self._end_collecting()
        self._save_next, self._after = False, None
        if error is not None:
            self._tab.failures.show(error)
        self._tell()

    def undo(self) -> bool:
        """Undo the last edit; False if there is none."""
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return True
        if self._collecting:
            self._undo_next += 1
            return True
        if not self._edits:
            return False
        self._undone = [*self._undone, self._edits[-1]]
        self._edits = self._edits[:-1]
        self._place()
        return True

    def redo(self) -> bool:
        """Redo the last undone edit; False if there is none."""
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return True
        if not self._undone:
            return False
        if not self._collecting:
            self._edits, self._undone = [*self._edits, self._undone[-1]], self._undone[:-1]
            self._place()
        return True

    def discard(self) -> None:
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return
        self._forget()

    def _forget(self) -> None:
        self._edits, self._undone = [], []
        self._show([], Placement())

    def show(self) -> None:
        """Show the difference, before and after."""
        changes = self._placement.changes
        self._tab.tasks.read(
            lambda job: cell_texts(changes, MOST_LISTED_ROWS),
            partial(self._list, changes),
            self._tab.failures.show,
            owner=self,
            quiet=True,
        )

    def _list(self, changes: Difference, cells: Sequence[CellTexts]) -> None:
        if changes is not self._placement.changes or self.dialog is not None:
            return
        in_file = self._tab.table is None
        dialog = ReviewDialog(changes, cells, self._tab.name, self._tab.grid.window(), in_file)
        dialog.save_requested.connect(self.save)
        dialog.discard_requested.connect(self.discard)
        self._open(dialog)

    def save(self, then: Callable[[], object] | None = None) -> None:
        """Save all edits, including those still being collected, as one commit or into the file. Where
        someone else changed the same cells, the conflicts are shown first. `then` is called once the edits
        are saved."""
        if self._saving is not None:
            return
        self._after = then
        self._save_next = not self._is_settled
        if self._save_next:
            return
        if not self.count:
            self._go_on()
            return
        self._saving = self._edits
        if self._tab.table is None:
            self._save_file(self._placement.changes)
        else:
            self._save(self._placement.changes, None)
        self._tell()

    def _go_on(self) -> bool:
        """Call what was waiting for the edits to be saved."""
        after, self._after = self._after, None
        if after is not None:
            after()
        return after is not None

    def _save_file(self, changes: Difference) -> None:
        dataset, name = self._tab.dataset, self._tab.name

        def write(job: Job) -> SavedEdits:
            from lamella.core.transfer.saving import save_edits

            return save_edits(dataset, changes.cells, changes.new_rows, changes.deleted_ids, job)

        def report_stop() -> None:
            self._end_saving("Stopped: the file is unchanged, and the edits are not saved")

        self._tab.tasks.write(
            write,
            self._follow_file_save,
            self._show_file_failure,
            on_cancel=report_stop,
            owner=self,
            text=f"Saving {name}",
        )

    def _follow_file_save(self, saved: SavedEdits) -> None:
        """Keep the edits on show until the rows have been read again."""
        self._news = ". ".join([f"Saved in {self._tab.name}: {self.summary}", *saved.remarks])
        self._edits = self._placed_edits = self._saving = []
        self._undone = []
        if self._after is not None:
            self.stop_waiting()
            self._go_on()
        else:
            self._tell()
            self._tab.reopening.reload_saved_file()

    def take_news(self) -> str:
        """What was saved, to say it when the rows are shown; empty from the second call on."""
        news, self._news = self._news, ""
        return news

    @property
    def _is_waiting(self) -> bool:
        """Whether a file was saved and its rows are still to be read."""
        return self._saving is not None and not self._saving

    def stop_waiting(self) -> None:
        """Drop the saved edits: the saved rows are shown, or cannot be read."""
        if self._is_waiting:
            self._saving = None
            self._forget()

    def _show_file_failure(self, error: Exception) -> None:
        self._end_saving()
        if not isinstance(error, LamellaError):
            self._tab.failures.show(error)
            return
        choices: list[Choice] = [("Save a copy…", self.ask_copy)]
        if is_changed_on_disk(error):
            choices.insert(0, ("Discard the edits and reload", self.discard_and_reload))
        self._tab.messages.say(message(error), *choices, kind="message-danger")

    def discard_and_reload(self) -> None:
        """Discard the edits and read the file as it is on disk."""
        if self._saving is not None:
            self._tab.messages.say(BEING_SAVED)
            return
        self._forget()
        self._tab.reopening.reopen()

    def ask_copy(self) -> None:
        """Write the rows with their edits to another file, in the format of its name's suffix."""
        path = Path(self._tab.key[0])
        suffix = next((s for s in path.suffixes[::-1] if s[1:].casefold() not in COMPRESSED_SUFFIXES), ".csv")
        name = path.with_name(f"{text_name(path)} (edited){suffix}")
        self._note(ask_new_file(self._tab.grid.window(), "Save a copy with the edits", self.save_copy, name))

    def save_copy(self, path: Path) -> None:
        """Write a copy; in the file itself the edits stay unsaved."""
        dataset, changes = self._tab.dataset, self._placement.changes
        if os.path.realpath(path) == os.path.realpath(self._tab.key[0]):
            self.save()
            return

        def write(job: Job) -> Export:
            from lamella.core.transfer.file_edits import file_edits
            from lamella.core.transfer.saving import export_edited

            snapshot = dataset.snapshot()
            edits = file_edits(snapshot, changes.cells, changes.new_rows, changes.deleted_ids)
            return export_edited(dataset, edits, path, job, overwrite=True)

        def report(copy: Export) -> None:
            self._tab.messages.say(f"{copy.path.name} has {quantity(copy.rows, 'row')}, with the edits")

        def show_failure(error: Exception) -> None:
            if isinstance(error, LamellaError):
                self._tab.messages.say(message(error), kind="message-danger")
            else:
                self._tab.failures.show(error)

        self._tab.tasks.write(write, report, show_failure, owner=self, text=f"Writing {path.name}")

    def _save(self, changes: Difference, version: int | None) -> None:
        """Save the edits. `version` is the version whose conflicts the user has resolved."""
        table = self._tab.table
        assert table is not None

        def change(table: Table, job: Job) -> Commit:
            met = check(table, changes, job)
            if met.conflicts and met.version != version:
                raise Conflict(met)
            commit = without(changes, (), met.missing_ids).commit(table, met.version, job)
            self._own_version = commit.version
            return commit

        self._tab.commits.run(
            table,
            change,
            f"Saving {self._tab.name}",
            self._follow_save,
            lambda error: self._show_save_failure(error, changes),
            lambda: self._end_saving("Stopped; the edits are not saved"),
            asker=self,
        )

    def _follow_save(self, commit: Commit) -> None:
        content, placed, saved = self._tab.content, self._placement, self._saving or []
        if content is not None and content.view is placed.view:
            gone = [range(row, row + 1) for row in self.deleted_rows]
            self._tab.loader.keep(content, commit, placed.edited_cells, gone)
        self._saving = None
        self._edits = [edit for edit in self._edits if edit not in saved]
        self._undone = []
        if self._edits:
            self._place()
        else:
            self._show([], Placement())
        self._go_on()

    def _end_saving(self, why: str = "", kind: str = "message") -> None:
        self._saving = self._after = None
        if why:
            self._tab.messages.say(why, kind=kind)
        self._tell()

    def _show_save_failure(self, error: Exception, changes: Difference) -> None:
        if not isinstance(error, Conflict):
            self._end_saving(message(error), "message-danger")
            return
        met = error.check
        dialog = ConflictDialog(met.conflicts, self._tab.name, self._tab.grid.window())
        dialog.chosen.connect(
            lambda theirs: self._save(without(changes, theirs, met.missing_ids), met.version)
        )
        dialog.rejected.connect(self._end_saving)
        self._open(dialog)

    def _open(self, dialog: ReviewDialog | ConflictDialog) -> None:
        self._note(dialog)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _note(self, dialog: ReviewDialog | ConflictDialog | FileDialog) -> None:
        self.dialog = dialog
        dialog.finished.connect(lambda _: setattr(self, "dialog", None) if self.dialog is dialog else None)

    def _follow_rows(self, content: TabContent) -> None:
        self.stop_waiting()
        if self._edits:
            self._place(content.view)

    def _place(self, view: View | ComputedView | None = None) -> None:
        """Locate the edits in a view, by default the one that is shown."""
        edits, view, name = self._edits, view or self._tab.view, self._tab.name
        if view is not None:
            work = partial(place, name, edits, view)
            show = partial(self._show_of, edits, view)
            self._tab.tasks.read(work, show, self._show_place_failure, owner=self, quiet=True)

    def _show_of(self, edits: list[StagedEdit], view: View | ComputedView, placed: Placement) -> None:
        if edits is self._edits and view is self._tab.view:
            self._show(edits, placed)

    def _show_place_failure(self, error: Exception) -> None:
        self._save_next, self._after = False, None
        self._tab.failures.show(error)

    def _show(self, edits: list[StagedEdit], placed: Placement) -> None:
        self._placed_edits, self._placement = edits, placed
        self._tell()
        if self._save_next and self._is_settled:
            self.save(self._after)

    def _tell(self) -> None:
        count, in_file, strip = self.count, self._tab.table is None, self.strip
        strip.setVisible(self._on or (in_file and count > 0))
        text = f"{'Edits of the file' if in_file else 'Review edits'}: {summary(self._placement.changes)}"
        strip.label.setText(text + (f", {self._state}" if count else ""))
        strip.label.setToolTip(OF_FILE if in_file else "")
        strip.copy.setVisible(in_file)
        strip.save.setText(f"Save {count:,}" if count else "Save")
        strip.save.setToolTip("Save into the file (Ctrl+S)" if in_file else "Save as one commit (Ctrl+S)")
        for button in (strip.save, strip.discard, strip.show_all, strip.copy):
            button.setEnabled(count > 0 and self._saving is None)
        self.changed.emit()

    @property
    def _state(self) -> str:
        if self._saving is None:
            return NOT_SAVED
        return SAVED if self._is_waiting else SAVING_NOW


def place(name: str, edits: Sequence[StagedEdit], view: View | ComputedView, job: Job) -> Placement:
    """Locate edits in a view. Blocks."""
    changes = difference(name, edits)
    if not changes.count:
        return Placement(changes, view=view)
    in_order = view.snapshot.ids is None and view.query == ScanQuery()
    ids = ids_of(view, 0, 0 if in_order else view.num_rows)
    order = np.argsort(ids, kind="stable")
    marks: dict[tuple[int, str], Mark] = {}
    rows: dict[int, int] = {}
    edited: list[EditedCells] = []

    def row_numbers(row_ids: np.ndarray) -> list[int | None]:
        if in_order:  # the number of a row of a file is its position
            return list(row_ids.tolist())
        if not len(ids):
            return [None] * len(row_ids)
        places = np.minimum(np.searchsorted(ids, row_ids, sorter=order), len(ids) - 1)
        pairs = zip(order[places].tolist(), row_ids.tolist(), strict=True)
        return [row if int(ids[row]) == row_id else None for row, row_id in pairs]

    for column_name, column in changes.columns.items():
        job.check()
        texts, places = whole_texts(column.after), row_numbers(column.ids)
        numbers = np.sort(np.array([row for row in places if row is not None], np.int64))
        edited += [(span, (column_name,)) for span in runs_of(numbers)]
        for row_id, row, text in zip(column.ids.tolist(), places, texts, strict=True):
            if row is not None:
                marks[row, column_name], rows[row_id] = Mark(text), row
    for row_id, row in zip(changes.deleted_ids.tolist(), row_numbers(changes.deleted_ids), strict=True):
        if row is not None:
            rows[row_id] = row
    return Placement(changes, marks, rows, edited, view)
