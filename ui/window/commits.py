"""Changes to a table, one after the other off the GUI thread, and finding their rows in a view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import shiboken6
from PySide6.QtCore import QObject, Signal

from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, sentence_case
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.expressions import col
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.editing.edit_target import ids_of
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.tasks import Tasks

Change = Callable[[Table, Job], Commit]


class Commits(QObject):
    """`committed` carries the table and its commit; every tab that shows the table then reloads."""

    committed = Signal(Table, Commit)
    failed = Signal(Table, Exception)
    stopped = Signal(Table)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks

    def run(
        self,
        table: Table,
        change: Change,
        text: str,
        on_result: Callable[[Commit], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
        on_cancel: Callable[[], object] | None = None,
        asker: QObject | None = None,
    ) -> None:
        """Queue a change. While `asker` lives, `on_result`, `on_error` and `on_cancel` are called; otherwise
        failures and stops go to the signals."""

        def is_asker_alive() -> bool:
            return asker is None or shiboken6.isValid(asker)

        def finish(commit: Commit) -> None:
            if on_result is not None and is_asker_alive():
                on_result(commit)
            self.committed.emit(table, commit)

        def fail(error: Exception) -> None:
            on_error(error) if on_error is not None and is_asker_alive() else self.failed.emit(table, error)

        def stop() -> None:
            on_cancel() if on_cancel is not None and is_asker_alive() else self.stopped.emit(table)

        self._tasks.write(lambda job: change(table, job), finish, fail, on_cancel=stop, owner=self, text=text)

    def undo(self, table: Table, name: str) -> None:
        self.run(table, lambda t, job: t.history.undo(), f"Undoing in {name}")

    def redo(self, table: Table, name: str) -> None:
        self.run(table, lambda t, job: t.history.redo(), f"Redoing in {name}")


NOTHING_CHANGED = "Nothing changed: the cells already have this value"
BACK_AND_FORTH = {"undo": "Undone", "redo": "Redone"}


def is_version(commit: Commit) -> bool:
    """Whether the commit made a version; a change of nothing makes none, and has no time."""
    return commit.time is not None


def commit_text(commit: Commit) -> str:
    """What a commit did, for the message bar."""
    if not is_version(commit):
        return NOTHING_CHANGED
    if commit.kind in BACK_AND_FORTH:
        return f"{BACK_AND_FORTH[commit.kind]}: {_about(commit)}"
    counts = ((commit.inserted, "added"), (commit.updated, "changed"), (commit.deleted, "deleted"))
    parts = [f"{quantity(n, 'row')} {word}" for n, word in counts if n]
    message = sentence_case(commit.message)
    return f"{message}: {', '.join(parts)}" if parts else message


def _about(commit: Commit) -> str:
    """The change that was undone or redone: "insert of 2 rows", "set delay in 1 row"."""
    change = commit.message.removeprefix(f"{commit.kind} ")
    rows = commit.inserted + commit.updated + commit.deleted
    return f"{change} {'in' if commit.updated else 'of'} {quantity(rows, 'row')}" if rows else change


STEP = 1_000_000


def id_at(view: View | ComputedView, row: int) -> int | None:
    """The id of a row; None past the end of the view."""
    ids = ids_of(view, row, 1)
    return int(ids[0]) if len(ids) else None


def row_ids(rows: Rows, block: CellRange) -> list[int]:
    ids: list[int] = rows.page(block.top, block.num_rows, [ID]).column(0).to_pylist()
    return ids


def row_of(view: View | ComputedView, row_id: int, near: int | None, job: Job) -> int | None:
    """The row of the view with this id, checked at `near` first; None when the view lacks it."""
    if near is not None and near < view.num_rows and id_at(view, near) == row_id:
        return near
    if view.snapshot.ids is None:
        return _row_at(view, row_id, job)
    view_of_row = View(view.snapshot, ScanQuery(where=col(ID) == row_id), job)
    return _row_at(view, int(view_of_row.positions(0, 1)[0]), job) if view_of_row.num_rows else None


def _row_at(view: View | ComputedView, position: int, job: Job) -> int | None:
    """The row at a position; positions ascend unless the view is sorted."""
    if view.query.sort:
        return _first_row(view, position, job)
    row = bisect_left(range(view.num_rows), position, key=lambda r: int(view.positions(r, 1)[0]))
    return row if row < view.num_rows and int(view.positions(row, 1)[0]) == position else None


def _first_row(view: View | ComputedView, position: int, job: Job) -> int | None:
    for start in range(0, view.num_rows, STEP):
        job.check()
        hits = np.flatnonzero(view.positions(start, STEP) == position)
        if len(hits):
            return start + int(hits[0])
    return None
