"""Editing single cells of a tab: typed, committed, shown as unsaved until they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QObject, Qt, Signal

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.cell_editor import CellEditor
from lamella.ui.editing.pasted_block import typed_array
from lamella.ui.grid import view as keys
from lamella.ui.grid.painter import Mark
from lamella.ui.grid.texts import CUT, is_whole, whole_texts
from lamella.ui.window.block_editing import COMPUTED, ID_STAYS
from lamella.ui.window.loader import Tab, TableCell


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

    def __init__(self, tab: Tab) -> None:
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
            ids = from_values([edit.cell.row_id], pa.int64())
            values = typed_array([edit.value], edit.type)
            changed = pa.Table.from_arrays([ids, values], names=[ID, edit.cell.name])
            return table.update(changed, message=f"set {edit.cell.name}", job=job)

        self._tab.commits.run(
            table,
            change,
            f"Changing {self._tab.name}",
            lambda commit: self._note_stored(edit, commit),
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

    def _note_stored(self, edit: Edit, commit: Commit) -> None:
        edit.stored = True
        if self._tab.shown is not None and edit.cell.row is not None:
            row = edit.cell.row
            self._tab.loader.keep(self._tab.shown, commit, [(range(row, row + 1), (edit.cell.name,))])

    def _failed(self, edit: Edit, error: Exception) -> None:
        edit.error = message(error)
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


NARROWEST = 96


class CellEditing(QObject):
    """`import_requested` when the dataset cannot be edited in place: row, column name and what was typed.
    `fill_requested` has what was typed for all selected cells, None for null."""

    import_requested = Signal(object, str, object)
    fill_requested = Signal(object)

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab)
        self._tab, self._edits = tab, Edits(tab)
        self._editor: CellEditor | None = None
        self._cell: TableCell | None = None
        self._edits.again.connect(self._again)
        tab.cells.moved.connect(self._follow_row)
        tab.grid.edit_requested.connect(self.begin)
        tab.grid.scrolled.connect(self.follow)
        tab.grid.column_header.sectionResized.connect(self.follow)

    @property
    def editor(self) -> CellEditor | None:
        return self._editor

    def begin(self, typed: str | None = None) -> None:
        """Edit the current cell: what is there, or beginning with `typed`."""
        grid, current = self._tab.grid, self._tab.grid.selection.current
        if current is None or self._tab.view is None or self._editor is not None:
            return
        row, column = current[0], grid.column_at(current[1])
        name = grid.grid_model.names[column]
        if self._tab.line.grouping is not None:
            self._tab.open_group(row)
        elif self._tab.table is None:
            self.import_requested.emit(row, name, typed)
        elif self._tab.editable is None:
            self._tab.messages.say(COMPUTED)
        elif name == ID:
            self._tab.messages.say(ID_STAYS)
        elif typed is not None:
            self._open(self._tab.cells.cell(row, name), self._screen_text(row, column), typed)
        else:
            self._open_with_value(row, column)

    def dismiss(self) -> None:
        """Leave the cell as it was."""
        cell = self._close()
        if cell is not None:
            self._edits.forget_failed(cell)

    def _open_with_value(self, row: int, column: int) -> None:
        """With the text on screen when it is whole, otherwise with the one that is read now."""
        view, name = self._tab.view, self._tab.grid.grid_model.names[column]
        assert view is not None
        cell, edit = self._tab.cells.cell(row, name), self._edits.at(row, name)
        if edit is not None:
            self._open(cell, None if edit.error else edit.text, edit.text if edit.error else None)
            return
        text = self._screen_text(row, column)
        if text is None or is_whole(text):
            self._open(cell, text, None)
            return
        self._tab.tasks.read(
            lambda job: whole_texts(view.page(row, 1, [name]).column(0))[0],
            lambda whole: self._open(cell, whole, None),
            owner=self._tab,
        )

    def _screen_text(self, row: int, column: int) -> str | None:
        try:
            return self._tab.grid.grid_model.pages.text(row, column)
        except KeyError:
            return CUT

    def _open(self, cell: TableCell, text: str | None, typed: str | None) -> None:
        grid = self._tab.grid
        if self._editor is not None or cell.row is None or cell.name not in grid.grid_model.names:
            return
        column = grid.grid_model.names.index(cell.name)
        grid.show_cell(cell.row, grid.place(column))
        field = grid.field(column)
        self._cell = cell
        self._editor = CellEditor(field.type, text, typed, grid.viewport())
        self._editor.setFont(theme.current().tabular_font())
        right = grid.grid_model.right[column]
        self._editor.setAlignment(Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
        self._editor.setAccessibleName(f"{field.name}, row {cell.row + 1:,}")
        self._editor.done.connect(self._entered)
        self._editor.left.connect(self._leave)
        self._editor.filled.connect(self._fill)
        self.follow()
        self._editor.show()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def follow(self) -> None:
        """Keep the field over its cell while the grid scrolls."""
        place = self._place()
        rect = self._editor and self._tab.grid.cell_rect(place)
        if rect:
            rect.setWidth(max(rect.width(), NARROWEST))
            self._editor.setGeometry(rect.adjusted(-1, -1, 0, 0))

    def _place(self) -> tuple[int, int] | None:
        """Row and place of the cell in edit; None when it is not among those shown."""
        cell, names = self._cell, self._tab.grid.grid_model.names
        if cell is None or cell.row is None or cell.name not in names:
            return None
        return cell.row, self._tab.grid.place(names.index(cell.name))

    def _follow_row(self) -> None:
        """The rows around the field may have changed; it stays with its own."""
        if self._editor is None:
            return
        place = self._place()
        if place is None:
            self._lose_row(self._editor.text())
        elif place != self._tab.grid.selection.current:
            self._tab.grid.go_to(*place)
        self.follow()

    def _lose_row(self, text: str) -> None:
        cell = self._close()
        name = cell.name if cell is not None else ""
        self._tab.messages.say(
            f"The row you were editing is no longer shown, so “{text}” was not stored in {name}", stays=True
        )

    def _entered(self, value: Any, step: tuple[int, int]) -> None:
        editor, cell = self._editor, self._close()
        if editor is not None and cell is not None:
            self._edits.commit(Edit(cell, None if value is None else editor.text(), value, editor.type))
        self._move(step)

    def _fill(self, text: str | None) -> None:
        self._close()
        self.fill_requested.emit(text)

    def _leave(self, step: tuple[int, int]) -> None:
        self.dismiss()
        self._move(step)

    def _close(self) -> TableCell | None:
        """The cell that was in edit."""
        (editor, self._editor), (cell, self._cell) = (self._editor, None), (self._cell, None)
        if editor is not None:
            editor.hide()
            editor.deleteLater()
            self._tab.grid.setFocus(Qt.FocusReason.OtherFocusReason)
        return cell

    def _move(self, step: tuple[int, int]) -> None:
        grid = self._tab.grid
        if step != (0, 0) and grid.selection.current is not None:
            grid.go_to(*keys.step(grid, *grid.selection.current, *step))

    def _again(self, edit: Edit) -> None:
        grid = self._tab.grid
        if edit.cell.row is not None and edit.cell.name in grid.grid_model.names:
            grid.go_to(edit.cell.row, grid.place(grid.grid_model.names.index(edit.cell.name)))
            self.begin()
