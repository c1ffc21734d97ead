"""Changes to a table: one after the other off the GUI thread, then told, shown, and ready to be undone."""

from __future__ import annotations

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QObject, Signal

from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.tasks import Tasks

Change = Callable[[Table, Job], Commit]


class Commits(QObject):
    """`committed` has the table and what happened to it; every tab that shows the table reads it again."""

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
        done: Callable[[Commit], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        stopped: Callable[[], None] | None = None,
        asker: QObject | None = None,
    ) -> None:
        """Queue a change. With `failed` and `stopped`, those are the caller's to show while `asker` lives."""

        def asked() -> bool:
            return asker is None or shiboken6.isValid(asker)

        def finish(commit: Commit) -> None:
            if done is not None:
                done(commit)
            self.committed.emit(table, commit)

        def fail(error: Exception) -> None:
            failed(error) if failed is not None and asked() else self.failed.emit(table, error)

        def stop() -> None:
            stopped() if stopped is not None and asked() else self.stopped.emit(table)

        self._tasks.write(lambda job: change(table, job), finish, fail, stopped=stop, owner=self, text=text)

    def undo(self, table: Table, name: str) -> None:
        self.run(table, lambda t, job: t.undo(), f"Undoing in {name}")

    def redo(self, table: Table, name: str) -> None:
        self.run(table, lambda t, job: t.redo(), f"Redoing in {name}")


BACK_AND_FORTH = {"undo": "Undone", "redo": "Redone"}


def told(commit: Commit) -> str:
    """What a commit did, for the message bar."""
    if commit.kind in BACK_AND_FORTH:
        return f"{BACK_AND_FORTH[commit.kind]}: {_about(commit)}"
    counts = ((commit.inserted, "added"), (commit.updated, "changed"), (commit.deleted, "deleted"))
    parts = [f"{_rows(n)} {word}" for n, word in counts if n]
    message = commit.message[:1].upper() + commit.message[1:]
    return f"{message}: {', '.join(parts)}" if parts else message


def _about(commit: Commit) -> str:
    """The change that was taken back or brought back: "insert of 2 rows", "set delay in 1 row"."""
    change = commit.message.removeprefix(f"{commit.kind} ")
    rows = commit.inserted + commit.updated + commit.deleted
    return f"{change} {'in' if commit.updated else 'of'} {_rows(rows)}" if rows else change


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"
