"""Editing single cells of a tab: type, commit, see it pending, then there; or what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from PySide6.QtCore import QObject, Qt, Signal

from core.jobs import Job
from core.schema import ID
from core.store.commit import Commit
from core.store.table import Table
from ui import theme
from ui.dialogs.error_dialog import sentences
from ui.editing.cell_editor import CellEditor
from ui.grid import keys
from ui.grid.cells import BREAK, CUT, TAB, is_shortened, whole_texts
from ui.grid.pages import Rows
from ui.grid.painter import Mark

if TYPE_CHECKING:
    from ui.window.dataset_tab import DatasetTab

NARROWEST = 96
MOST_ROWS = 100_000  # set to null at once; more is an update with a filter
Cell = tuple[int, int]  # row of the view, column of its schema


class CellEditing(QObject):
    """`import_asked` when the dataset cannot be edited in place: row, column name and what was typed."""

    import_asked = Signal(object, str, object)

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab, self._commits = tab, tab.commits
        self._editor: CellEditor | None = None
        self._cell: Cell = (0, 0)
        self._done: set[Cell] = set()
        tab.grid.edit_asked.connect(self.begin)
        tab.loader.loaded.connect(self._forget_done)
        tab.grid.grid_model.modelReset.connect(self.dismiss)
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
        if self._tab.table is None:
            self.import_asked.emit(row, name, typed)
        elif name == ID:
            self._tab.messages.say(f"{ID} is given by the store and never changes")
        elif typed is not None:
            self._open(row, column, self._screen_text(row, column), typed)
        else:
            self._open_with_value(row, column)

    def dismiss(self) -> None:
        """Leave the cell as it was."""
        if self._editor is not None:
            self._tab.grid.marks.pop(self._cell, None)
            self._close()
            self._tab.grid.viewport().update()

    def set_null(self) -> None:
        """Set every selected cell to NULL, in one commit."""
        table, view, grid = self._tab.table, self._tab.view, self._tab.grid
        if table is None or view is None:
            return
        blocks = [(b.top, b.bottom, self._names(b.left, b.right)) for b in grid.selection.blocks]
        rows = sum(bottom - top + 1 for top, bottom, _ in blocks)
        if rows > MOST_ROWS:
            self._tab.messages.say(f"{rows:,} rows are many cells to pick: use Set values with a filter")
            return

        def change(table: Table, job: Job) -> Commit:
            return table.update(_nulls(view, blocks), message="set to NULL", job=job)

        self._commits.run(table, change, f"Changing {table.name}")

    def _names(self, left: int, right: int) -> list[str]:
        grid = self._tab.grid
        columns = (grid.column_at(place) for place in range(left, right + 1))
        names = [grid.grid_model.names[c] for c in columns if not grid.isColumnHidden(c)]
        return [name for name in names if name != ID]

    def _open_with_value(self, row: int, column: int) -> None:
        """With the text on screen when it is whole, otherwise with the one that is read now."""
        grid = self._tab.grid
        mark = grid.marks.get((row, column))
        if mark is not None:
            self._open(row, column, None if mark.error else mark.text, mark.text if mark.error else None)
            return
        text = self._screen_text(row, column)
        whole = not is_shortened(grid.field(column).type) and not set(text or "") & set(CUT + BREAK + TAB)
        if text is None or whole:
            self._open(row, column, text, None)
            return
        view, name = self._tab.view, grid.grid_model.names[column]
        assert view is not None
        self._tab.tasks.read(
            lambda job: whole_texts(view.page(row, 1, [name]).column(0))[0],
            lambda whole: self._open(row, column, whole, None),
            owner=self._tab,
        )

    def _screen_text(self, row: int, column: int) -> str | None:
        try:
            return self._tab.grid.grid_model.pages.text(row, column)
        except KeyError:
            return CUT

    def _open(self, row: int, column: int, text: str | None, typed: str | None) -> None:
        grid = self._tab.grid
        grid.show_cell(row, grid.place(column))
        field = grid.field(column)
        self._cell = (row, column)
        self._editor = CellEditor(field.type, text, typed, grid.viewport())
        self._editor.setFont(theme.current().tabular_font())
        right = grid.grid_model.right[column]
        self._editor.setAlignment(Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
        self._editor.setAccessibleName(f"{field.name}, row {row + 1:,}")
        self._editor.done.connect(self._entered)
        self._editor.left.connect(self._left)
        self.follow()
        self._editor.show()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def follow(self) -> None:
        """Keep the field over its cell while the grid scrolls."""
        grid = self._tab.grid
        rect = self._editor and grid.cell_rect((self._cell[0], grid.place(self._cell[1])))
        if rect:
            rect.setWidth(max(rect.width(), NARROWEST))
            self._editor.setGeometry(rect.adjusted(-1, -1, 0, 0))

    def _entered(self, value: Any, step: tuple[int, int]) -> None:
        text = self._editor.text() if self._editor is not None else ""
        self._close()
        self._commit(*self._cell, value, text)
        self._move(step)

    def _left(self, step: tuple[int, int]) -> None:
        self.dismiss()
        self._move(step)

    def _close(self) -> None:
        editor, self._editor = self._editor, None
        if editor is not None:
            editor.hide()
            editor.deleteLater()
            self._tab.grid.setFocus(Qt.FocusReason.OtherFocusReason)

    def _move(self, step: tuple[int, int]) -> None:
        grid = self._tab.grid
        if step != (0, 0) and grid.selection.current is not None:
            grid.go_to(*keys.step(grid, *grid.selection.current, *step))

    def _commit(self, row: int, column: int, value: Any, text: str) -> None:
        table, view, grid = self._tab.table, self._tab.view, self._tab.grid
        assert table is not None and view is not None
        name, type_, cell = grid.grid_model.names[column], grid.field(column).type, (row, column)
        grid.marks[cell] = Mark(None if value is None else text)
        grid.viewport().update()

        def change(table: Table, job: Job) -> Commit:
            row_id = view.page(row, 1, [ID]).column(0)[0].as_py()
            changed = pa.table({ID: [row_id], name: pa.array([value], type_)})
            return table.update(changed, message=f"set {name}", job=job)

        def failed(error: Exception) -> None:
            grid.marks[cell] = Mark(text, " ".join(sentences(error)).strip())
            grid.viewport().update()
            self._tab.messages.say(
                " ".join(sentences(error)).strip(),
                ("Edit again", lambda: self._again(cell)),
                kind="message-danger",
            )

        self._commits.run(table, change, f"Changing {table.name}", lambda _: self._done.add(cell), failed)

    def _again(self, cell: Cell) -> None:
        grid = self._tab.grid
        grid.go_to(cell[0], grid.place(cell[1]))
        self.begin()

    def _forget_done(self) -> None:
        for cell in self._done:
            self._tab.grid.marks.pop(cell, None)
        self._done.clear()


def _nulls(view: Rows, blocks: list[tuple[int, int, list[str]]]) -> list[dict[str, Any]]:
    """One dict for each row, though several blocks may lie in it."""
    found: dict[int, dict[str, Any]] = {}
    for top, bottom, names in blocks:
        for row_id in view.page(top, bottom - top + 1, [ID]).column(0).to_pylist():
            found.setdefault(row_id, {ID: row_id}).update(dict.fromkeys(names))
    return list(found.values())
