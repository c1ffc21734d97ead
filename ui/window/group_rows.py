"""What a tab shows beside its groups: their totals, and groups that are expanded under subtotals."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pyarrow as pa
from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtGui import QGuiApplication

from lamella.core.arrow.nested_values import python_value
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Step
from lamella.ui.grid.model import PAGE_ROWS, PageTexts, Request, read_pages
from lamella.ui.grid.texts import screen_texts
from lamella.ui.grid.tree import OpenGroups, TreeRows, all_open, none_open
from lamella.ui.steps.step_line import StepLine
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.copy_formats import BY_ID, Cells
from lamella.ui.window.loader import Tab, TabContent


def without_totals_row(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps that decide which rows there are, and in which order."""
    return tuple(replace(step, totals=False) if isinstance(step, Group) else step for step in steps)


NOT_OF_GROUPS = "no totals: a later step changes the groups"
OF_A_SUBTOTAL = (
    "Only groups by all keys can be filtered. Choose one of those, or the value of a key; Enter shows the "
    "rows of a group, to filter them."
)
OF_ROWS_INSIDE = (
    "This column belongs to rows inside groups. Enter shows the rows of one group, to sort and filter them."
)
OPEN_HINT = "Enter shows the rows of a group"


class GroupedTab(Tab, Protocol):
    steps: StepLine
    changed: SignalInstance

    def apply(self, line: Line, session: int = 0) -> None: ...


class GroupRows(QObject):
    """The groups of one tab. Which totals and subtotals to show is part of its group step. `rows_changed` is
    emitted after groups were expanded or collapsed."""

    rows_changed = Signal()

    def __init__(self, tab: GroupedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._handle: Handle | None = None
        self._opening: Handle | None = None
        self._totals: pa.Table | None = None
        tab.grid.open_requested.connect(self.set_open)

    def stop(self) -> None:
        """Cancel what is still running."""
        for handle in (self._handle, self._opening):
            if handle is not None:
                handle.cancel()
        self._handle = self._opening = self._totals = None

    @property
    def step(self) -> Group | None:
        """The group step whose groups are shown, if any."""
        place = self._tab.line.grouping
        step = None if place is None else self._tab.line.steps[place].step
        return step if isinstance(step, Group) else None

    @property
    def has_levels(self) -> bool:
        """Whether the groups can be expanded in place."""
        return self.step is not None and bool(self.step.keys)

    @property
    def hint(self) -> str:
        """What the status bar says about groups."""
        content = self._tab.content
        if self.step is None or content is None:
            last = next((step for step in reversed(self._tab.line.active) if isinstance(step, Group)), None)
            return f" · {NOT_OF_GROUPS}" if last is not None and (last.totals or last.subtotals) else ""
        problem = content.lines.tree_problem
        behind = (
            content.where is not None or content.view.query.limit is not None or self.step.having is not None
        )
        of_all = content.tree is not None and behind
        parts = [problem or "", "subtotals cover all rows" if of_all else "", OPEN_HINT]
        return "".join(f" · {part}" for part in parts if part)

    def show_rows_of(self, row: int) -> None:
        """Show the rows of the group in a row, by a filter in place of the group step."""
        tab, rows, step, line = self._tab, self._tab.rows, self.step, self._tab.line
        if rows is None or step is None:
            return
        names = list(rows.keys_of(row) if isinstance(rows, TreeRows) else step.keys)

        def values(job: Job) -> dict[str, object]:
            page = rows.page(row, 1, names)
            return {name: python_value(page.column(name)[0]) for name in names}

        def show(keys: dict[str, object]) -> None:
            if line is tab.line:
                tab.steps.close_editor()
                tab.apply(line.inside_group(keys))

        tab.tasks.read(values, show, tab.failures.show, owner=self, quiet=True)

    def toggle_totals(self) -> None:
        if self.step is not None:
            self._edit(replace(self.step, totals=not self.step.totals))

    def toggle_subtotals(self) -> None:
        if self.step is not None and self.has_levels:
            self._edit(replace(self.step, subtotals=not self.step.subtotals))

    def _edit(self, step: Group) -> None:
        tab = self._tab
        tab.steps.close_editor()
        place = tab.line.grouping
        if place is not None:
            tab.apply(tab.line.edit(place, step, tab.line.steps[place].draft))

    # --------------------------------------------------------------------- the tree

    def set_open(self, row: int, is_open: bool) -> None:
        """Expand or collapse the group of a row."""
        tree, now = self._tab.grid.grid_model.tree, self._tab.loader.open_groups
        if tree is not None and row < tree.num_rows:
            coming = now[1] if now is not None and now[0] is tree.levels else tree.open_groups
            self._open(tree, tree.with_group(row, is_open, coming))

    def open_all(self) -> None:
        tree = self._tab.grid.grid_model.tree
        if tree is not None:
            self._open(tree, all_open(tree.levels))

    def close_all(self) -> None:
        tree = self._tab.grid.grid_model.tree
        if tree is not None:
            self._open(tree, none_open(tree.levels))

    def _open(self, tree: TreeRows, opened: OpenGroups) -> None:
        """Compute the tree's rows off the GUI thread, and show them together with the cells on screen."""
        tab, grid = self._tab, self._tab.grid
        tab.loader.open_groups = (tree.levels, opened)
        if self._opening is not None:
            self._opening.cancel()
        current = grid.selection.current
        visible_columns, rows = grid.visible_columns(), grid.visible_rows() or range(1)
        formats = dict(grid.all_formats)

        def work(job: Job) -> tuple[TreeRows, PageTexts, int]:
            opened_tree = tree.with_open(opened, job)
            names = opened_tree.schema.names
            columns = tuple(column for column in visible_columns if column < len(names))
            first, last = rows[0] // PAGE_ROWS, min(rows[-1], opened_tree.num_rows - 1) // PAGE_ROWS
            request = Request(min(first, last), last, columns)
            ready = (
                read_pages(opened_tree, request, names, job, formats)
                if columns and opened_tree.num_rows
                else {}
            )
            return opened_tree, ready, opened_tree.row_of(tree, current[0]) if current is not None else 0

        def fail(error: Exception) -> None:
            tab.loader.open_groups = (tree.levels, tree.open_groups)
            tab.messages.say(str(error), kind="message-danger")
            if not isinstance(error, LamellaError):
                tab.failures.show(error)

        self._opening = tab.tasks.read(
            work, self._show, fail, owner=self, quiet=True, text=f"Reading {tab.name}"
        )

    def _show(self, answer: tuple[TreeRows, PageTexts, int]) -> None:
        tree, ready, row = answer
        tab, grid = self._tab, self._tab.grid
        if tab.content is None or tab.content.tree is None or tab.content.lines.levels is not tree.levels:
            return
        tab.content = replace(tab.content, tree=tree, ready=ready)
        current = grid.selection.current
        grid.show_rows(tree, ready)
        if current is not None and current[0] != row:
            grid.go_to(row, current[1])
        elif current is not None:
            grid.selection.select(*current)
        self.rows_changed.emit()
        tab.changed.emit()

    # ------------------------------------------------------------------- the totals

    @property
    def has_totals(self) -> bool:
        """Whether the totals have been read and can be copied."""
        return self._totals is not None

    def copy_totals(self) -> None:
        """Copy the totals in full with their column names, in the order of the grid."""
        totals, header, names = (
            self._totals,
            self._tab.grid.horizontalHeader(),
            self._tab.grid.grid_model.names,
        )
        if totals is None:
            return
        places = map(header.logicalIndex, range(header.count()))
        columns = [
            names[place]
            for place in places
            if names[place] in totals.column_names and not header.isSectionHidden(place)
        ]
        row = totals.select(columns)
        text = BY_ID["tsv_names"].write(Cells(self._tab.name, row.schema, iter([row])))
        QGuiApplication.clipboard().setText("\n".join(text))
        self._tab.messages.say("Copied the totals")

    def follow(self, content: TabContent) -> None:
        """Read the totals of the groups that the grid now shows."""
        self.stop()
        tab, grid = self._tab, self._tab.grid
        grid.has_groups = self.step is not None
        opened = tab.loader.open_groups
        if content.tree is None:
            tab.loader.open_groups = None
        elif opened is None or opened[0] is not content.tree.levels:
            tab.loader.open_groups = (content.tree.levels, content.tree.open_groups)
        elif opened[1] is not content.tree.open_groups:
            self._open(content.tree, opened[1])  # others were expanded while these rows were read
        if not content.lines.shows_totals:
            grid.totals.set_hidden()
            return
        grid.totals.set_waiting()
        steps = content.lines.runnable.steps

        def read(job: Job) -> tuple[pa.Table, dict[str, str | None]]:
            totals = tab.loader.answers.totals(content.line, tab.dataset, steps, job)
            return totals, {name: screen_texts(totals.column(name))[0] for name in totals.column_names}

        def show(answer: tuple[pa.Table, dict[str, str | None]]) -> None:
            self._totals, texts = answer
            grid.totals.set_texts(texts)
            tab.changed.emit()

        self._handle = tab.tasks.read(
            read,
            show,
            self._fail,
            on_cancel=lambda: self._show_stop(steps),
            owner=self,
            text=f"Adding up {tab.name}",
        )

    def _show_stop(self, steps: tuple[Step, ...]) -> None:
        """The Stop button was pressed, or other rows replaced these."""
        content = self._tab.content
        if content is not None and content.lines.runnable.steps is steps and self._handle is not None:
            self._tab.grid.totals.set_problem("stopped")

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, LamellaError):
            self._tab.failures.show(error)
        self._tab.grid.totals.set_problem(str(error))
