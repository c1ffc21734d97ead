"""Cells that stay with their row while the view around them changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakSet

from PySide6.QtCore import QObject, Signal

from lamella.core.jobs import Job
from lamella.core.query.view import View
from lamella.ui.window.finding import id_at, row_of
from lamella.ui.window.loader import Loaded

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab


class TableCell:
    """A cell of the row that was `row` of `view`. `row` is where it is in the view shown now;
    None when that view lacks it."""

    def __init__(self, view: View, row: int, name: str) -> None:
        self._view, self._first_row = view, row
        self.name = name
        self.row: int | None = row

    @cached_property
    def row_id(self) -> int:
        """Blocks the first time."""
        found = id_at(self._view, self._first_row)
        assert found is not None
        return found


class TableCells(QObject):
    """Makes cells of what a tab shows. `moved` after those in use were looked for in another view."""

    moved = Signal()

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._cells: WeakSet[TableCell] = WeakSet()
        tab.loader.loaded.connect(self._loaded)

    def cell(self, row: int, name: str) -> TableCell:
        """Of the view that is shown."""
        assert self._tab.view is not None
        made = TableCell(self._tab.view, row, name)
        self._cells.add(made)
        return made

    def _loaded(self, loaded: Loaded) -> None:
        cells, view = list(self._cells), loaded.view
        if not cells:
            return

        def look(job: Job) -> list[int | None]:
            return [row_of(view, cell.row_id, cell.row, job) for cell in cells]

        def found(rows: Sequence[int | None]) -> None:
            if view is self._tab.view:
                for cell, row in zip(cells, rows, strict=True):
                    cell.row = row
                self.moved.emit()

        self._tab.tasks.read(look, found, owner=self, quiet=True, text="Finding the edited rows")
