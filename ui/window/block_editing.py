"""Editing the selected cells and rows of a tab: pasting, filling, clearing, inserting and deleting.

Each edit is one commit, made column by column off the GUI thread, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from PySide6.QtCore import QMimeData, QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox

from lamella.core.arrow.arrays import combine_chunks
from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.view import View
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.editing.edit_target import EditTarget, ids_of
from lamella.ui.editing.paste_dialog import PasteDialog, Questions
from lamella.ui.editing.pasted_block import (
    CELLS_FORMAT,
    Area,
    Block,
    Paste,
    Values,
    area_of,
    read_block,
    read_paste,
)
from lamella.ui.editing.replace_dialog import ReplaceDialog, Scope
from lamella.ui.editing.replace_plan import Replacements, ReplacePlan
from lamella.ui.editing.staged_edits import Difference, EditSize, num_cells
from lamella.ui.grid.input import last_place
from lamella.ui.grid.selection import CellRange
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.kept_rows import EditedCells, runs_of
from lamella.ui.window.loader import Tab
from lamella.ui.window.selection_figures import disjoint_parts

ID_STAYS = f"{ID} is given by the store and never changes"
ASK_ABOVE = 1_000
MOST_COLUMN_NAMES = 3
ONE_VALUE = np.zeros(1, bool)
Part = tuple[int, int, tuple[str, ...]]
"""First row, last row, and the names of the columns."""


@dataclass(frozen=True)
class BlockEdit:
    """Rows of `view` to change, to delete and to copy into new rows; `rows` are further new rows."""

    view: View | ComputedView
    pastes: Sequence[Paste] = ()
    deleted_rows: Sequence[range] = ()
    copied_rows: Sequence[range] = ()
    rows: pa.Table | None = None
    add_rows: bool = True
    """Whether cells pasted below the last row become new rows."""

    def commit(self, table: Table, job: Job, message: str) -> Commit:
        """Blocks."""
        return table.edit(*self.parts(job), message, job)

    def parts(
        self, job: Job, staged_edits: Difference | None = None
    ) -> tuple[list[pa.Table], pa.Table | None, np.ndarray | None]:
        """Cells, new rows and deleted ids, as `Table.edit` takes them. Copied rows include the `staged_edits`
        edits. Blocks."""
        cells, new = [], [] if self.rows is None else [self.rows]
        for paste in self.pastes:
            existing = max(0, min(paste.area.height, self.view.num_rows - paste.area.top))
            cells += paste.cells(row_ids(self.view, range(paste.area.top, paste.area.top + existing)))
            more = paste.new_rows(existing) if self.add_rows else None
            new += [] if more is None else [more]
        names = [column.name for column in self.view.snapshot.columns if column.name != ID]
        for span in self.copied_rows:
            job.check()
            rows = self.view.page(span.start, len(span), names)
            new.append(
                rows if staged_edits is None else staged_edits.apply_to(row_ids(self.view, span), rows)
            )
        gone = [row_ids(self.view, span) for span in self.deleted_rows]
        added = pa.concat_tables(new) if new else None
        delete = np.concatenate(gone) if gone else None
        job.check()
        return cells, added, delete

    @property
    def size(self) -> EditSize:
        cells = sum(len(rows) * len(names) for rows, names in self.edited_cells)
        below = sum(max(0, p.area.top + p.area.height - self.view.num_rows) for p in self.pastes)
        new = below * self.add_rows + (0 if self.rows is None else self.rows.num_rows)
        return EditSize(cells, sum(map(len, self.deleted_rows)), new + sum(map(len, self.copied_rows)))

    @property
    def edited_cells(self) -> list[EditedCells]:
        """The existing rows that change, with the columns that change in them."""
        areas = (paste.area for paste in self.pastes)
        last = self.view.num_rows
        return [(range(a.top, min(a.top + a.height, last)), a.names) for a in areas if a.top < last]


def row_ids(view: View | ComputedView, rows: range) -> np.ndarray:
    """Blocks."""
    return ids_of(view, rows.start, len(rows))


def clipboard_block(data: QMimeData) -> str:
    """The text for `read_block`: Lamella's own cells if the clipboard has them, otherwise its plain text."""
    if data.hasFormat(CELLS_FORMAT):
        return bytes(data.data(CELLS_FORMAT).data()).decode()
    return data.text()


class BlockEditing(QObject):
    """`import_requested` is emitted when the dataset cannot be edited in place, with row, column name, and a
    function to call with the tab of the copy."""

    import_requested = Signal(object, str, object)

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.dialog: PasteDialog | None = None

    # ------------------------------------------------------------------ cells

    def paste(self) -> None:
        """Paste the clipboard's cells, from the current cell on or over the selection."""
        blocks, grid = self._tab.grid.selection.blocks, self._tab.grid
        target = self._editable("paste")
        data = QGuiApplication.clipboard().mimeData()
        if target is None or not blocks or data is None:
            return
        text = clipboard_block(data)
        if not text:
            self._tab.messages.say("The clipboard holds no cells")
            return
        ends = [
            (block, grid.names_in(CellRange(block.top, block.left, block.top, last_place(grid))))
            for block in blocks
        ]
        view = self._tab.view
        assert view is not None

        def read(job: Job) -> tuple[Block, list[Paste]]:
            block = read_block(text, job)
            if len(ends) > 1 and (block.height, block.width) != (1, 1):
                return block, []
            areas = [area_of(block, selected, names) for selected, names in ends]
            if any(ID in area.names for area in areas):
                return block, []
            return block, [read_paste(block, area, view.schema, job) for area in areas]

        self._tab.tasks.read(
            read,
            lambda reading: self._take(view, *reading),
            self._tab.failures.show,
            owner=self,
            text="Pasting",
        )

    def fill(self, text: str | None) -> None:
        """Put what was typed, None for null, into every selected cell."""
        if self._editable("fill") is None or (view := self._tab.view) is None:
            return
        block, schema = Block([[text]]), view.schema
        areas = [Area(top, bottom - top + 1, names) for top, bottom, names in self._parts()]

        def read(job: Job) -> list[Paste]:
            return [read_paste(block, area, schema, job) for area in areas]

        self._tab.tasks.read(
            read,
            lambda pastes: self._take(view, block, pastes, "set"),
            self._tab.failures.show,
            owner=self,
            text="Filling",
        )

    def fill_with_current(self) -> None:
        """Put the value of the current cell into every selected cell."""
        grid, view = self._tab.grid, self._tab.view
        if self._editable("fill_with_current") is None or view is None or grid.selection.current is None:
            return
        row, name = grid.selection.current[0], grid.current_name
        assert name is not None
        mark = self._tab.review.marks.get((row, name))
        if mark is not None:
            self.fill(mark.text)
            return

        def read(job: Job) -> str | None:
            return whole_texts(view.page(row, 1, [name]).column(0))[0]

        self._tab.tasks.read(read, self.fill, self._tab.failures.show, owner=self, text="Filling")

    def fill_down(self) -> None:
        """Copy the first selected row of each column into the others; with one row selected, the row above
        into it."""
        target, view = self._editable("fill_down"), self._tab.view
        if target is None or view is None:
            return
        parts = [
            (top - (top == bottom), bottom, names) for top, bottom, names in self._parts() if top or bottom
        ]
        if not parts:
            self._tab.messages.say("There is no row above to fill from")
            return

        value = self._tab.review.value
        edited = {(top, name): value(top, name) for top, _, names in parts for name in names}

        def read(job: Job) -> list[Paste]:
            changes = []
            for top, bottom, names in parts:
                first = view.page(top, 1, list(names))
                columns = {}
                for name in names:
                    own = edited[top, name]
                    values = combine_chunks(first.column(name)) if own is None else own
                    columns[name] = Values(values, ONE_VALUE)
                changes.append(Paste(Area(top + 1, bottom - top, names), 1, columns))
            return changes

        message = f"fill down {_column_summary(parts)}"
        self._tab.tasks.read(
            read,
            lambda pastes: self._commit(BlockEdit(view, pastes), message),
            self._tab.failures.show,
            owner=self,
            text="Filling",
        )

    def clear(self) -> None:
        """Set every selected cell to null."""
        target, view = self._editable("clear"), self._tab.view
        if target is None or view is None:
            return
        parts, types = self._parts(), view.schema
        pastes = [
            Paste(
                Area(top, bottom - top + 1, names),
                1,
                {name: Values(pa.nulls(1, types.field(name).type), ONE_VALUE) for name in names},
            )
            for top, bottom, names in parts
        ]
        if pastes:
            self._commit(BlockEdit(view, pastes), f"set {_column_summary(parts)} to NULL")

    def _take(
        self, view: View | ComputedView, block: Block, pastes: list[Paste], verb: str = "paste into"
    ) -> None:
        """Paste the block, after a question where something would be lost or added."""
        if not pastes:
            several = len(self._tab.grid.selection.blocks) > 1 and (block.height, block.width) != (1, 1)
            size = f"{quantity(block.height, 'row')} and {quantity(block.width, 'column')}"
            why = f"The clipboard has {size}: select one block to paste into" if several else ID_STAYS
            self._tab.messages.say(why)
            return
        first = pastes[0]
        parts = [(p.area.top, p.area.top + p.area.height - 1, p.area.names) for p in pastes]
        message = f"{verb} {_column_summary(parts)}"
        questions = self._questions(view, block, pastes)
        if not questions:
            self._commit(BlockEdit(view, pastes), message, select=first.area if verb != "set" else None)
            return
        problems = tuple(problem for paste in pastes for problem in paste.problems)
        whole = Paste(first.area, first.height, first.columns, problems)
        self.dialog = dialog = PasteDialog(whole, questions, self._tab.name, self._tab.grid.window())
        dialog.chosen.connect(
            lambda add: self._commit(BlockEdit(view, pastes, add_rows=add), message, select=first.area)
        )
        dialog.finished.connect(dialog.deleteLater)
        dialog.finished.connect(lambda _: setattr(self, "dialog", None))
        dialog.open()

    def _questions(self, view: View | ComputedView, block: Block, pastes: Sequence[Paste]) -> Questions:
        unread = 0
        for paste in pastes:
            times = np.bincount(np.arange(paste.area.height) % paste.height, minlength=paste.height)
            unread += sum(int(times[problem.row - paste.area.top]) for problem in paste.problems)
        last = max(paste.area.top + paste.area.height for paste in pastes)
        widest = max(len(paste.area.names) for paste in pastes)
        return Questions(unread, max(0, last - view.num_rows), max(0, block.width - widest))

    def replace(self) -> ReplaceDialog | None:
        """Open the dialog that finds and replaces; None where no text can be replaced."""
        target, view, grid = self._editable("replace", needs_cell=False), self._tab.view, self._tab.grid
        table = self._tab.table
        if target is None or view is None:
            return None
        texts = [f.name for f in view.schema if f.name != ID and kind_of(f.type) is Kind.TEXT]
        if not texts:
            self._tab.messages.say("No column holds text: there is nothing to find and replace")
            return None
        columns = _column_groups(texts, [name for _, _, names in self._parts() for name in names])
        review = self._tab.review

        def stage(cells: Sequence[pa.Table]) -> None:
            review.stage(lambda job: (cells, None, None), EditSize(num_cells(cells)))

        dialog = ReplaceDialog(
            table,
            self._tab.name,
            self._scopes(view),
            columns,
            self._tab.tasks,
            grid.window(),
            stage if review.on else None,
            review.changes if review.on else None,
        )
        if table is not None:
            dialog.committed.connect(partial(self._follow_replacement, table))
        dialog.accepted.connect(grid.setFocus)  # undo is of the change there, and of typing in the find bar
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _scopes(self, view: View | ComputedView) -> list[Scope]:
        spans = self._spans()
        count = sum(map(len, spans))
        scopes = [Scope(f"The {count:,} selected rows", view, spans)] if count > 1 else []
        if view.query.where is not None or view.query.limit is not None:
            scopes.append(Scope(f"The {view.num_rows:,} rows that are shown", view, [range(view.num_rows)]))
            all_rows = View(view.snapshot)
            return [
                *scopes,
                Scope(f"All {quantity(all_rows.num_rows, 'row')}", all_rows, [range(all_rows.num_rows)]),
            ]
        return [*scopes, Scope(f"All {quantity(view.num_rows, 'row')}", view, [range(view.num_rows)])]

    def _follow_replacement(
        self, table: Table, commit: Commit, plan: ReplacePlan, replacements: Replacements
    ) -> None:
        """Keep rows in place where the replaced rows are known; those outside the filter are not."""
        content = self._tab.content
        if content is not None and content.view.snapshot is plan.view.snapshot:
            same = content.view is plan.view
            rows = runs_of(replacements.rows) if same else [range(content.view.num_rows)]
            self._tab.loader.keep(content, commit, [(span, tuple(replacements.columns)) for span in rows])
        self._tab.commits.committed.emit(table, commit)

    # ------------------------------------------------------------------- rows

    def delete_rows(self) -> None:
        """Delete the selected rows, after a question when there are many."""
        target, view, spans = self._editable("delete_rows"), self._tab.view, self._spans()
        if target is None or view is None or not spans:
            return
        count = sum(map(len, spans))
        go_on = partial(self._commit, BlockEdit(view, deleted_rows=spans), "delete")
        if count <= ASK_ABOVE:
            go_on()
        else:
            self._ask(f"Delete {quantity(count, 'row')}?", f"Delete {quantity(count, 'row')}", go_on)

    def insert_rows(self) -> None:
        """Add as many rows as are selected at the end, empty except for the columns' defaults."""
        target, view = self._editable("insert_rows", needs_cell=False), self._tab.view
        if target is None or view is None:
            return
        count = max(1, sum(map(len, self._spans())))

        def add(rows: pa.Table) -> None:
            if rows.num_columns:
                self._commit(BlockEdit(view, rows=rows), "insert", select_new=count)
            else:
                self._tab.messages.say("The table has no columns: add one first")

        def read() -> None:
            self._tab.tasks.read(
                lambda job: target.new_rows(count), add, self._tab.failures.show, owner=self, text="Inserting"
            )

        if count <= ASK_ABOVE:
            read()
        else:
            self._ask(f"As many rows as are selected: {count:,}", f"Insert {quantity(count, 'row')}", read)

    def duplicate_rows(self) -> None:
        """Add copies of the selected rows at the end."""
        target, view, spans = self._editable("duplicate_rows"), self._tab.view, self._spans()
        if target is None or view is None or not spans:
            return
        count = sum(map(len, spans))
        go_on = partial(self._commit, BlockEdit(view, copied_rows=spans), "duplicate", select_new=count)
        if count <= ASK_ABOVE:
            go_on()
        else:
            self._ask(f"Duplicate {quantity(count, 'row')}?", f"Duplicate {quantity(count, 'row')}", go_on)

    def _ask(self, text: str, button: str, go_on: Callable[[], object]) -> None:
        box = QMessageBox(QMessageBox.Icon.Question, self._tab.name, text, parent=self._tab.grid.window())
        box.setInformativeText("Undo brings everything back.")
        yes = box.addButton(button, QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(yes)
        box.finished.connect(lambda _: go_on() if box.clickedButton() is yes else None)
        box.finished.connect(box.deleteLater)
        box.open()

    # ----------------------------------------------------------------- shared

    def _editable(self, again: str, needs_cell: bool = True) -> EditTarget | None:
        """The target of edits if the rows can be edited; otherwise say why not, or request an import. `again`
        is the name of the method to call in the tab of the copy."""
        tab, current = self._tab, self._tab.grid.selection.current
        if tab.view is None or (needs_cell and current is None):
            return None
        target = tab.standing.target
        if target is None and tab.standing.wants_copy:
            row, name = (0, "") if current is None else (current[0], tab.grid.current_name or "")
            block = tab.grid.selection.blocks[-1] if tab.grid.selection.blocks else None
            names = [] if block is None else tab.grid.names_in(block)
            self.import_requested.emit(row, name, partial(_go_on, again, block, names))
            return None
        if target is None:
            tab.messages.say(tab.standing.not_now)
        return target

    def _parts(self) -> list[Part]:
        """The selected cells, each once, without the columns that cannot be edited."""
        grid = self._tab.grid
        blocks = [(b, [name for name in grid.names_in(b) if name != ID]) for b in grid.selection.blocks]
        return disjoint_parts([(block, names) for block, names in blocks if names])

    def _spans(self) -> list[range]:
        """The selected rows, each once, from top to bottom."""
        rows = [(block, ["row"]) for block in self._tab.grid.selection.blocks]
        return [range(top, bottom + 1) for top, bottom, _ in disjoint_parts(rows)] if rows else []

    def _commit(self, edit: BlockEdit, message: str, select: Area | None = None, select_new: int = 0) -> None:
        table, review = self._tab.editable, self._tab.review
        if review.on:
            review.stage(partial(edit.parts, staged_edits=review.changes), edit.size)
            return
        if table is None:
            return

        def keep_rows(commit: Commit) -> None:
            content = self._tab.content
            if content is not None and content.view is edit.view:
                self._tab.loader.keep(content, commit, edit.edited_cells, edit.deleted_rows)
                select_rows = partial(self._select, select, select_new)
                QTimer.singleShot(0, self, partial(self._tab.when_shown, select_rows))

        def change(table: Table, job: Job) -> Commit:
            return edit.commit(table, job, message)

        self._tab.commits.run(table, change, f"Changing {self._tab.name}", keep_rows, asker=self)

    def _select(self, area: Area | None, new: int) -> None:
        """Select what was pasted, or the new rows, once they are shown."""
        grid = self._tab.grid
        model = grid.grid_model
        if new and model.num_rows >= new and grid.selection.current is not None:
            first = model.num_rows - new
            grid.go_to(first)
            place = grid.selection.current[1]
            grid.selection.select_block(CellRange(first, place, model.num_rows - 1, place))
        elif area is not None and area.num_cells > 1:
            places = [grid.place(model.names.index(n)) for n in area.names if n in model.names]
            bottom = min(area.top + area.height, model.num_rows) - 1
            if places and bottom >= area.top:
                block = CellRange(area.top, min(places), bottom, max(places))
                grid.selection.select_block(block)


def _column_groups(texts: Sequence[str], selected: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """The scopes of a search with their labels: the selected text columns, then all, then each one."""
    names = [name for name in texts if name in selected]
    groups: list[tuple[str, Sequence[str]]] = []
    if len(names) > 1:
        groups.append((f"The {len(names):,} selected text columns", names))
    groups += [(visible(name), [name]) for name in names]
    if len(texts) > 1:
        groups.append((f"All {len(texts):,} text columns", texts))
    return [*groups, *((visible(name), [name]) for name in texts if name not in names)]


def _go_on(again: str, block: CellRange | None, names: Sequence[str], tab: Any) -> None:
    """Repeat the edit in the tab of a copy, with the same cells selected."""
    grid_names = tab.grid.grid_model.names
    places = [tab.grid.place(grid_names.index(name)) for name in names if name in grid_names]
    if block is not None and places:
        tab.grid.selection.select_block(CellRange(block.top, min(places), block.bottom, max(places)))
    getattr(tab.blocks, again)()


def _column_summary(parts: Sequence[Part]) -> str:
    """The columns as the history names them."""
    names = list(dict.fromkeys(name for _, _, part in parts for name in part))
    if len(names) > MOST_COLUMN_NAMES:
        return f"{len(names):,} columns"
    return ", ".join(names)
