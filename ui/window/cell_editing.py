"""Editing single cells of a tab: typed, committed, and shown as unsaved until they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt, Signal

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.types import ID
from lamella.core.filters.cell_texts import CUT, whole_texts
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.builder import query_of
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.source import SnapshotSource
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.editing.cell_editor import (
    DAYS,
    LONGEST_EDITED_LINE,
    LONGEST_EDITED_TEXT,
    CellArea,
    CellCheck,
    CellEditor,
    Reason,
    is_editable,
    needs_area,
)
from lamella.ui.editing.pasted_block import typed_array
from lamella.ui.editing.staged_edits import EditSize
from lamella.ui.filters.value_picker import ValueRequest, read_counts
from lamella.ui.grid import input as keys
from lamella.ui.grid.painter import Mark
from lamella.ui.grid.texts import is_whole
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.block_editing import ID_STAYS
from lamella.ui.window.loader import Tab, TableCell


@dataclass(eq=False)
class Edit:
    """An edit of one cell. `text` is what was typed, None for null."""

    cell: TableCell
    text: str | None
    value: Any
    type: pa.DataType
    error: str = ""
    is_stored: bool = False


class Edits(QObject):
    """The edits of a tab that are not stored yet. `again` asks to edit again what could not be stored."""

    again = Signal(Edit)

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._edits: list[Edit] = []
        tab.loader.loaded.connect(self._drop_stored_edits)
        tab.cells.moved.connect(self._show)
        tab.review.changed.connect(self._show)

    def at(self, row: int, name: str) -> Edit | None:
        """The newest edit of this cell that is not yet stored and shown."""
        edits = reversed(self._edits)
        return next((edit for edit in edits if (edit.cell.row, edit.cell.name) == (row, name)), None)

    def commit(self, edit: Edit) -> None:
        """Queue an edit. It goes to the row it was typed into, wherever that row is by then."""
        table = self._tab.table
        if table is None and self._tab.standing.target is None:
            value_text = "NULL" if edit.text is None else f"'{edit.text}'"
            why = (
                "the file has become read-only"
                if self._tab.standing.wants_copy
                else self._tab.standing.not_now
            )
            self._tab.messages.say(f"{value_text} was not stored in {edit.cell.name}: {why}")
            return
        self.drop_failed_edits(edit.cell)
        edit.error = ""

        def cells() -> pa.Table:
            ids = from_values([edit.cell.row_id], pa.int64())
            values = typed_array([edit.value], edit.type)
            return pa.Table.from_arrays([ids, values], names=[ID, edit.cell.name])

        if self._tab.review.on:
            self._tab.review.stage(lambda job: ([cells()], None, None), EditSize(1))
            return
        assert table is not None
        self._edits.append(edit)
        self._show()

        def change(table: Table, job: Job) -> Commit:
            return table.update(cells(), message=f"set {edit.cell.name}", job=job)

        self._tab.commits.run(
            table,
            change,
            f"Changing {self._tab.name}",
            lambda commit: self._follow_commit(edit, commit),
            lambda error: self._show_failure(edit, error),
            lambda: self._offer_retry(edit),
            asker=self,
        )

    @property
    def failed_edits(self) -> list[Edit]:
        """The edits that could not be stored; their cells show what was typed."""
        return [edit for edit in self._edits if edit.error]

    def retry(self) -> None:
        """Try once more to store what could not be stored."""
        for edit in self.failed_edits:
            self.commit(edit)

    def drop_failed_edits(self, cell: TableCell) -> None:
        """Drop the edits of this cell that could not be stored."""
        place = (cell.row, cell.name)
        self._edits = [
            edit for edit in self._edits if not edit.error or (edit.cell.row, edit.cell.name) != place
        ]
        self._show()

    def _follow_commit(self, edit: Edit, commit: Commit) -> None:
        edit.is_stored = True
        content, row = self._tab.content, edit.cell.row
        if content is not None and content.numbering is edit.cell.numbering and row is not None:
            self._tab.loader.keep(content, commit, [(range(row, row + 1), (edit.cell.name,))])

    def _show_failure(self, edit: Edit, error: Exception) -> None:
        edit.error = message(error)
        self._show()
        choice = ("Edit again", lambda: self.again.emit(edit))
        self._tab.messages.say(edit.error, choice, kind="message-danger")

    def _offer_retry(self, edit: Edit) -> None:
        self._edits.remove(edit)
        self._show()
        value_text = "NULL" if edit.text is None else f"'{edit.text}'"
        self._tab.messages.say(
            f"Stopped: {value_text} was not stored in {edit.cell.name}",
            ("Store it", lambda: self.commit(edit)),
        )

    def _drop_stored_edits(self) -> None:
        """Drop the stored edits: the rows that are now loaded contain them."""
        self._edits = [edit for edit in self._edits if not edit.is_stored]
        self._show()

    def _show(self) -> None:
        grid, staged = self._tab.grid, self._tab.review.marks
        own: dict[tuple[int, int], Mark] = {}
        for edit in self._edits:
            if edit.cell.row is not None and edit.cell.name in grid.grid_model.names:
                place = (edit.cell.row, grid.grid_model.names.index(edit.cell.name))
                own[place] = Mark(edit.text, edit.error)
        grid.marks = AllMarks(own, staged, grid.grid_model.names) if staged else own
        grid.viewport().update()


class AllMarks(Mapping[tuple[int, int], Mark]):
    """Marks by row and column of a grid: those of edits, which are few, and those of staged edits, by row and
    name. There may be very many of these, so none is touched until it is needed."""

    def __init__(
        self,
        edit_marks: Mapping[tuple[int, int], Mark],
        staged_marks: Mapping[tuple[int, str], Mark],
        names: Sequence[str],
    ) -> None:
        self._edit_marks, self._staged_marks, self._names = edit_marks, staged_marks, names
        self._columns = {name: column for column, name in enumerate(names)}

    def __getitem__(self, cell: tuple[int, int]) -> Mark:
        mark = self._edit_marks.get(cell)
        return self._staged_marks[cell[0], self._names[cell[1]]] if mark is None else mark

    def __iter__(self) -> Iterator[tuple[int, int]]:
        yield from self._edit_marks
        for row, name in self._staged_marks:
            if name in self._columns and (row, self._columns[name]) not in self._edit_marks:
                yield row, self._columns[name]

    def __len__(self) -> int:
        """The count includes marks in columns that the grid lacks."""
        both = sum((row, self._names[column]) in self._staged_marks for row, column in self._edit_marks)
        return len(self._edit_marks) + len(self._staged_marks) - both


NARROWEST = 96
AREA_LINES, AREA_LETTERS = 7, 40
FEW_VALUES = 50
"""At most this many different texts of a column are offered while typing."""
Editor = CellEditor | CellArea | CellCheck


def too_long(text: str, name: str) -> str:
    return (
        f"The text in {name} has {len(text):,} characters: up to {LONGEST_EDITED_TEXT:,} are edited in a "
        f"cell, {LONGEST_EDITED_LINE:,} in one line. Replace (Ctrl+H) changes parts of longer ones"
    )


def few_values(view: View | ComputedView, name: str, job: Job) -> list[str]:
    """The different texts of a column, sorted; empty if there are more than `FEW_VALUES`. Blocks."""
    rows = query_of(SnapshotSource(view.snapshot))
    counts = read_counts(ValueRequest(rows, name, {name: view.schema.field(name).type}), "", job)
    texts = [count.value for count in counts.values]
    return sorted(text for text in texts if text) if len(texts) <= FEW_VALUES else []


class CellEditing(QObject):
    """Opens, follows and closes the editor of the current cell.

    `import_requested` is emitted when the dataset cannot be edited in place, with row, column name and what
    was typed; `fill_requested` with what was typed for all selected cells, None for null.
    """

    import_requested = Signal(object, str, object)
    fill_requested = Signal(object)

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab, self.edits = tab, Edits(tab)
        self._editor: Editor | None = None
        self._reason: Reason | None = None
        self._offers: dict[str, list[str]] = {}
        self._offering: Handle | None = None
        self._cell: TableCell | None = None
        self.edits.again.connect(self._again)
        tab.cells.moved.connect(self._follow_row)
        tab.grid.edit_requested.connect(self.begin)
        tab.grid.scrolled.connect(self.follow)
        tab.grid.column_header.sectionResized.connect(self.follow)

    @property
    def editor(self) -> Editor | None:
        return self._editor

    def begin(self, typed: str | None = None) -> None:
        """Edit the current cell, starting with its value or with `typed`. Beginning again while a text is
        being edited switches to the multi-line editor."""
        grid, current = self._tab.grid, self._tab.grid.selection.current
        if self._editor is not None:
            self._enlarge("")
            return
        if current is None or self._tab.view is None:
            return
        row, column = current[0], grid.column_at(current[1])
        name = grid.grid_model.names[column]
        if self._tab.line.grouping is not None:
            self._tab.open_group(row)
        elif self._tab.standing.target is None and self._tab.standing.wants_copy:
            self.import_requested.emit(row, name, typed)
        elif self._tab.standing.target is None:
            self._tab.messages.say(self._tab.standing.not_now)
        elif name == ID:
            self._tab.messages.say(ID_STAYS)
        elif typed == " " and kind_of(grid.field(column).type) is Kind.BOOLEAN:
            self._switch(row, column)
        elif typed is not None:
            self._open(self._tab.cells.cell(row, name), self._screen_text(row, column), typed)
        else:
            self._open_with_value(row, column)

    def settle(self) -> bool:
        """Commit what is being typed; return False where it is not valid, and keep the editor open."""
        return self._editor is None or self._editor.finish()

    def dismiss(self) -> None:
        """Close the editor and leave the cell unchanged."""
        cell = self._close()
        if cell is not None:
            self.edits.drop_failed_edits(cell)

    def _open_with_value(self, row: int, column: int) -> None:
        """Open with the text on screen if it is complete, otherwise with the one read now."""
        view, name = self._tab.view, self._tab.grid.grid_model.names[column]
        assert view is not None
        cell, edit = self._tab.cells.cell(row, name), self.edits.at(row, name)
        mark = self._tab.review.marks.get((row, name))
        if edit is None and mark is not None:
            self._open(cell, mark.text, None)
            return
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
            self._tab.failures.show,
            owner=self,
        )

    def _screen_text(self, row: int, column: int) -> str | None:
        try:
            return self._tab.grid.grid_model.pages.text(row, column)
        except KeyError:
            return CUT

    def _switch(self, row: int, column: int) -> None:
        """Change true to false, and false or null to true."""
        cell = self._tab.cells.cell(row, self._tab.grid.grid_model.names[column])
        edit = self.edits.at(row, cell.name)
        mark = self._tab.review.marks.get((row, cell.name))
        change = edit or mark
        text = self._screen_text(row, column) if change is None else change.text
        if text != CUT:
            on = text != "true"
            self.edits.commit(Edit(cell, "true" if on else "false", on, self._tab.grid.field(column).type))

    def _open(self, cell: TableCell, text: str | None, typed: str | None, in_area: bool = False) -> None:
        grid = self._tab.grid
        if self._editor is not None or cell.row is None or cell.name not in grid.grid_model.names:
            return
        if text is not None and typed is None and not is_editable(text):
            self._tab.messages.say(too_long(text, cell.name))
            return
        column = grid.grid_model.names.index(cell.name)
        grid.show_cell(cell.row, grid.place(column))
        field = grid.field(column)
        self._cell = cell
        self._editor = editor = self._make(field, text, typed, in_area)
        self._reason = Reason(grid.viewport())
        editor.setFont(theme.current().tabular_font())
        if isinstance(editor, CellEditor):
            right = grid.grid_model.right[column]
            editor.setAlignment(Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
            editor.enlarged.connect(self._enlarge)
            self._offer(field)
        editor.setAccessibleName(f"{field.name}, row {cell.row + 1:,}")
        editor.done.connect(self._take_value)
        editor.left.connect(self._leave)
        editor.filled.connect(self._fill)
        editor.reason_changed.connect(self._say)
        self.follow()
        editor.show()
        editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _make(self, field: pa.Field, text: str | None, typed: str | None, in_area: bool) -> Editor:
        """The editor for a value of this type. Typing starts in one line, except for JSON."""
        grid, kind = self._tab.grid, kind_of(field.type)
        if kind is Kind.BOOLEAN and typed is None:
            return CellCheck(field.type, text, grid.viewport())
        if in_area or needs_area(field.type, text if typed is None else None):
            return CellArea(field.type, text, typed, grid.viewport())
        return CellEditor(field.type, text, typed, grid.viewport())

    def _enlarge(self, more: str) -> None:
        """Continue in the multi-line editor, with `more` inserted at the cursor."""
        editor = self._editor
        if not isinstance(editor, CellEditor) or kind_of(editor.type) is not Kind.TEXT:
            return
        place, before, text = editor.cursorPosition(), editor.before, editor.text()
        if editor.hasSelectedText() and more:
            place = len(text)
        cell = self._close()
        if cell is not None:
            typed = text[:place] + more + text[place:]
            self._open(cell, before, None if typed == (before or "") else typed, in_area=True)

    def _say(self, reason: str) -> None:
        if self._reason is not None and self._editor is not None:
            self._reason.say(reason, self._editor.geometry())

    def _offer(self, field: pa.Field) -> None:
        """Offer the values of a text column if they are few, or the two of a boolean column."""
        view, name, editor = self._tab.view, field.name, self._editor
        assert isinstance(editor, CellEditor)
        if kind_of(field.type) is Kind.BOOLEAN:
            editor.offer(["true", "false"])
        elif name in self._offers:
            editor.offer(self._offers[name])
        elif kind_of(field.type) is Kind.TEXT and view is not None:

            def offer(texts: list[str]) -> None:
                self._offers[name] = texts
                if self._editor is editor:
                    editor.offer(texts)

            self._offering = self._tab.tasks.read(
                lambda job: few_values(view, name, job),
                offer,
                self._tab.failures.show,
                owner=self,
                quiet=True,
                text="Reading the values",
            )

    def follow(self) -> None:
        """Keep the editor over its cell while the grid scrolls."""
        editor, place = self._editor, self._place()
        if editor is not None and (rect := self._tab.grid.cell_rect(place)):
            rect.setWidth(max(rect.width(), NARROWEST, self._wanted_width()))
            if isinstance(editor, CellArea):
                rect = self._area(rect)
            editor.setGeometry(rect.adjusted(-1, -1, 0, 0))
            if self._reason is not None:
                self._reason.place(editor.geometry())

    def _wanted_width(self) -> int:
        """The width of a date with its calendar button; 0 for other types."""
        editor = self._editor
        if not isinstance(editor, CellEditor) or kind_of(editor.type) not in DAYS:
            return 0
        return editor.fontMetrics().horizontalAdvance(editor.text() or "2013-01-31") + 3 * editor.height()

    def _area(self, cell: QRect) -> QRect:
        """The multi-line editor's rectangle: larger than its cell, and inside the grid."""
        look, around = theme.current(), self._tab.grid.viewport().rect()
        width = max(cell.width(), AREA_LETTERS * look.line_height() // 2)
        size = QSize(min(width, around.width()), min(AREA_LINES * look.line_height(), around.height()))
        left = max(0, min(cell.left(), around.right() - size.width()))
        top = max(0, min(cell.top(), around.bottom() - size.height()))
        return QRect(QPoint(left, top), size)

    def _place(self) -> tuple[int, int] | None:
        """Row and column position of the cell being edited; None when it is not shown."""
        cell, names = self._cell, self._tab.grid.grid_model.names
        if cell is None or cell.row is None or cell.name not in names:
            return None
        return cell.row, self._tab.grid.place(names.index(cell.name))

    def _follow_row(self) -> None:
        """Keep the editor with its own row when the rows around it change."""
        if self._editor is None:
            return
        place = self._place()
        if place is None:
            self._lose_row(self._editor.new_text())
        elif place != self._tab.grid.selection.current:
            self._tab.grid.go_to(*place)
        self.follow()

    def _lose_row(self, text: str) -> None:
        cell = self._close()
        name = cell.name if cell is not None else ""
        self._tab.messages.say(
            f"The row you were editing is no longer shown, so '{text}' was not stored in {name}", stays=True
        )

    def _take_value(self, value: Any, step: tuple[int, int]) -> None:
        editor, cell = self._editor, self._close()
        if editor is not None and cell is not None:
            self.edits.commit(Edit(cell, None if value is None else editor.new_text(), value, editor.type))
        self._move(step)

    def _fill(self, text: str | None) -> None:
        self._close()
        self.fill_requested.emit(text)

    def _leave(self, step: tuple[int, int]) -> None:
        editor, cell = self._editor, self._cell
        self.dismiss()
        self._move(step)
        if editor is not None and cell is not None and editor.refusal:
            before, typed = editor.before, editor.new_text()
            self._tab.messages.say(
                f"'{typed}' was not stored in {cell.name}: {editor.refusal}",
                ("Edit again", lambda: self._open(cell, before, typed)),
                kind="message-danger",
            )

    def _close(self) -> TableCell | None:
        """Close the editor and return the cell that was being edited."""
        (editor, self._editor), (cell, self._cell) = (self._editor, None), (self._cell, None)
        if self._offering is not None:
            self._offering.cancel()
            self._offering = None
        if editor is not None:
            editor.hide()
            editor.deleteLater()
            if self._reason is not None:
                self._reason.hide()
                self._reason.deleteLater()
                self._reason = None
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
