"""Changes of single cells on their way: marked in the grid until they are stored, or with what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from PySide6.QtCore import QObject, Signal

from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import sentences
from lamella.ui.grid.painter import Mark
from lamella.ui.window.table_cells import TableCell

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab


@dataclass(eq=False)
class Edit:
    """`text` is what was typed, None for null."""

    cell: TableCell
    text: str | None
    value: Any
    type: pa.DataType
    error: str = ""
    stored: bool = False


class Edits(QObject):
    """`again` when somebody wants to mend what could not be stored."""

    again = Signal(Edit)

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._edits: list[Edit] = []
        tab.loader.loaded.connect(self._drop_stored)
        tab.cells.moved.connect(self._show)

    def at(self, row: int, name: str) -> Edit | None:
        """The newest one of this cell that is not stored and shown yet."""
        edits = reversed(self._edits)
        return next((edit for edit in edits if (edit.cell.row, edit.cell.name) == (row, name)), None)

    def commit(self, edit: Edit) -> None:
        """Queue it, in the row it was typed into wherever that row is by then."""
        table = self._tab.table
        assert table is not None
        self.forget_failed(edit.cell)
        edit.error = ""
        self._edits.append(edit)
        self._show()

        def change(table: Table, job: Job) -> Commit:
            changed = pa.table({ID: [edit.cell.row_id], edit.cell.name: pa.array([edit.value], edit.type)})
            return table.update(changed, message=f"set {edit.cell.name}", job=job)

        self._tab.commits.run(
            table,
            change,
            f"Changing {self._tab.name}",
            lambda _: self._stored(edit),
            lambda error: self._failed(edit, error),
            lambda: self._stopped(edit),
            asker=self,
        )

    def forget_failed(self, cell: TableCell) -> None:
        """Let go of what could not be stored in this cell."""
        here = (cell.row, cell.name)
        self._edits = [
            edit for edit in self._edits if not edit.error or (edit.cell.row, edit.cell.name) != here
        ]
        self._show()

    def _stored(self, edit: Edit) -> None:
        edit.stored = True

    def _failed(self, edit: Edit, error: Exception) -> None:
        edit.error = " ".join(sentences(error)).strip()
        self._show()
        choice = ("Edit again", lambda: self.again.emit(edit))
        self._tab.messages.say(edit.error, choice, kind="message-danger")

    def _stopped(self, edit: Edit) -> None:
        self._edits.remove(edit)
        self._show()
        said = "NULL" if edit.text is None else f"“{edit.text}”"
        self._tab.messages.say(
            f"Stopped: {said} was not stored in {edit.cell.name}", ("Store it", lambda: self.commit(edit))
        )

    def _drop_stored(self) -> None:
        """The rows that come now have them."""
        self._edits = [edit for edit in self._edits if not edit.stored]
        self._show()

    def _show(self) -> None:
        grid = self._tab.grid
        grid.marks.clear()
        for edit in self._edits:
            if edit.cell.row is not None and edit.cell.name in grid.grid_model.names:
                place = (edit.cell.row, grid.grid_model.names.index(edit.cell.name))
                grid.marks[place] = Mark(edit.text, edit.error)
        grid.viewport().update()
