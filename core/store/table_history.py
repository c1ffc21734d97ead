"""What a table was: its versions, and the way back to one."""

from __future__ import annotations

from core.errors import StoreProblem
from core.store.commit import Commit
from core.store.handle import TableHandle
from core.store.history import commit_from_row, content_before, redo_target, undo_target


class TableHistory(TableHandle):
    """Every commit makes a version; undo, redo and restore are commits too."""

    def history(self) -> list[Commit]:
        """Every commit, oldest first."""
        return [commit_from_row(self.name, row) for row in self.store.catalog.commits(self.table_id)]

    def undoable(self) -> Commit | None:
        """The commit that `undo` would take back."""
        return undo_target(self.history())

    def redoable(self) -> Commit | None:
        return redo_target(self.history())

    def undo(self) -> Commit:
        """Take back the last commit that is not taken back yet, as a commit of its own."""

        def target() -> tuple[Commit, Commit]:
            commits = self.history()
            undone = undo_target(commits)
            if undone is None:
                raise StoreProblem(f"{self.name}: there is nothing to undo")
            return content_before(commits, undone), undone

        return self._writer.restore("undo", target, "undo")

    def redo(self) -> Commit:
        """Bring back what the last undo took."""

        def target() -> tuple[Commit, Commit]:
            redone = redo_target(self.history())
            if redone is None:
                raise StoreProblem(f"{self.name}: there is nothing to redo")
            return redone, redone

        return self._writer.restore("redo", target, "redo")
