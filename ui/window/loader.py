"""Loading the rows of a tab off the GUI thread, cells that stay with their row, and the status text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakSet

from PySide6.QtCore import QObject, Signal

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.edit_problem import edit_problem
from lamella.core.errors import FileProblem
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.phrases import duration_text, quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.group_levels import GroupLevels
from lamella.core.query.line import Line, LineAnswers, LineView, check_line, split_steps
from lamella.core.query.source import ComputedSource
from lamella.core.query.steps import Where
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.editing.edit_target import Standing
from lamella.ui.editing.staged_edits import Difference, EditSize
from lamella.ui.formats.formats import Format, figure_formats
from lamella.ui.grid.columns import GridColumns
from lamella.ui.grid.model import PageTexts, Request, Rows, read_pages
from lamella.ui.grid.painter import Mark
from lamella.ui.grid.tree import FindRows, GroupView, OpenGroups, TreeRows, none_open, open_again
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.window.commits import Commits, id_at, row_of
from lamella.ui.window.kept_rows import EditedCells, KeptRows, RowReasons

VisibleRange = Callable[[], tuple[int, int, Sequence[str]]]  # first page, last page and columns on screen


DESCRIPTION = b"description"
"""The key for a column's description in its metadata."""


@dataclass(frozen=True)
class TabContent:
    """A view ready to be shown; `ready` has the cells on screen."""

    lines: LineView
    ready: PageTexts
    columns: GridColumns
    line: Line
    undo: str = ""
    redo: str = ""
    out_of_place: RowReasons = field(default_factory=RowReasons)
    """Edited rows that a refresh would remove or move, and why; until then they stay."""

    kept_rows: KeptRows | None = None
    """The rows that stay where they are in this view."""
    tree: TreeRows | None = None
    """The groups of the view, if they are shown as a tree."""
    numbering: object = field(default_factory=object)
    """Identifies the numbering of the rows; the same object as in the previous view if all of its rows
    stay."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of the table's columns, by name."""
    edit_problem: FileProblem | None = None
    """Why a file cannot be edited in place."""
    usual_formats: Mapping[str, Format] = field(default_factory=dict)
    """Default formats of columns, by name, where they differ from the type's own."""

    @property
    def rows(self) -> Rows:
        """The rows that the grid shows: the view, or the tree."""
        return self.view if self.tree is None else self.tree

    @property
    def num_matching(self) -> int:
        return self.view.num_rows - len(self.out_of_place.unmatched_rows)

    @property
    def view(self) -> View | ComputedView:
        return self.lines.view

    @property
    def total_rows(self) -> int:
        """The number of rows before the last filter; of remote rows, the number in the whole answer."""
        fetched = self.lines.fetched_rows
        return self.view.snapshot.num_rows if fetched is None else fetched.total

    @property
    def complete(self) -> bool:
        return self.view.snapshot.complete

    @property
    def where(self) -> Filter | None:
        return self.view.query.where

    @property
    def sort(self) -> tuple[SortKey, ...]:
        """The sort keys; remote rows arrive already sorted."""
        return self.view.query.sort if self.lines.fetched_rows is None else self.line.sort


class Loader(QObject):
    """Loads the rows of a tab. `loaded` carries new or changed rows; after `failed`, the shown rows stay."""

    started = Signal()
    loaded = Signal(TabContent)
    failed = Signal(Exception)
    stopped = Signal()

    def __init__(
        self, dataset: Dataset, name: str, tasks: Tasks, place: VisibleRange, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.dataset, self._name = dataset, name
        self.answers = LineAnswers()
        self._tasks, self._place = tasks, place
        self._handle: Handle | None = None
        self.kept_rows: KeptRows | None = None
        self.open_groups: tuple[GroupLevels, OpenGroups] | None = None
        """The expanded groups, as long as the same groups are shown."""
        self.formats: Mapping[str, Format] = {}
        """The formats of the grid's columns, by name."""

    @property
    def running(self) -> bool:
        return self._handle is not None

    def load(self, line: Line, from_top: bool) -> None:
        """Read the rows of a line; an earlier read that is still running is dropped."""
        self.cancel()
        first, last, names = self._place()
        if from_top:
            first, last = 0, last - first

        rows_before, opened, formats = self.kept_rows, self.open_groups, dict(self.formats)

        def work(job: Job) -> TabContent:
            place = (first, last, names)
            return load(self.dataset, line, place, job, self.answers, rows_before, opened, formats)

        self._handle = self._tasks.read(
            work, self._finish, self._fail, on_cancel=self._stop, owner=self, text=f"Reading {self._name}"
        )
        self.started.emit()

    def cancel(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()

    def keep(
        self,
        content: TabContent,
        commit: Commit,
        edited: Iterable[EditedCells] = (),
        deleted: Iterable[range] = (),
    ) -> None:
        """Keep the shown rows where they are after a commit that edited or deleted some and added new ones,
        which come last. Rows with computed columns are read anew."""
        view = content.view
        if isinstance(view, ComputedView):
            return
        if self.kept_rows is None or self.kept_rows.view is not view:
            self.kept_rows = KeptRows(view, content.where, content.sort, numbering=content.numbering)
        self.kept_rows = self.kept_rows.with_commit(commit, edited, deleted)

    def _finish(self, content: TabContent) -> None:
        self._handle = None
        self.kept_rows = content.kept_rows
        self.loaded.emit(content)

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.failed.emit(error)

    def _stop(self) -> None:
        """The Stop button was pressed. A read that has replaced this one goes on."""
        if self._handle is not None and not self._handle.running:
            self._handle = None
            self.stopped.emit()


def load(
    dataset: Dataset,
    line: Line,
    place: tuple[int, int, Sequence[str]],
    job: Job,
    answers: LineAnswers,
    rows_before: KeptRows | None = None,
    opened: tuple[GroupLevels, OpenGroups] | None = None,
    formats: Mapping[str, Format] | None = None,
) -> TabContent:
    """Run the line, unless the rows of `rows_before` stay, and read the cells on screen. `opened` are the
    groups that were expanded before. Blocks."""
    same_rows = _kept_view(dataset, line, rows_before, job) if rows_before else None
    lines, stay, reasons = same_rows or (answers.view(line, dataset, job), None, RowReasons())
    job.check()
    undo, redo = undo_redo_texts(dataset)
    tree = _tree_of(lines, opened, lambda values, job: _rows_inside(dataset, line, values, answers, job), job)
    figures = dataset.figures if isinstance(dataset, ComputedSource) else ()
    usual = figure_formats(lines.runnable.steps, lines.view.schema, figures)
    rows = lines.view if tree is None else tree
    ready, columns = _first_pages(rows, place, job, {**usual, **(formats or {})}), GridColumns.of(rows.schema)
    numbering, noted = object() if stay is None else stay.numbering, descriptions_of(dataset)
    problem = None if isinstance(dataset, Table) else edit_problem(dataset)
    return TabContent(
        lines, ready, columns, line, undo, redo, reasons, stay, tree, numbering, noted, problem, usual
    )


def descriptions_of(dataset: Dataset) -> dict[str, str]:
    """The descriptions of a table's columns, by name."""
    fields = dataset.schema if isinstance(dataset, Table) else ()
    return {
        column.name: column.metadata[DESCRIPTION].decode(errors="replace")
        for column in fields
        if column.metadata and DESCRIPTION in column.metadata
    }


def _rows_inside(
    dataset: Dataset, line: Line, values: Mapping[str, Any], answers: LineAnswers, job: Job
) -> GroupView:
    """The rows of a group, by the values of its keys."""
    return answers.view(line.inside_group(values), dataset, job).view


def _tree_of(
    lines: LineView, opened: tuple[GroupLevels, OpenGroups] | None, find: FindRows, job: Job
) -> TreeRows | None:
    levels = lines.levels
    if levels is None or not isinstance(lines.view, View):
        return None
    if opened is None:
        now = none_open(levels)
    else:
        now = opened[1] if opened[0] is levels else open_again(*opened, levels)
    return TreeRows(levels, levels.arrange(lines.view, job), lines.view.schema, now, find, job=job)


def _kept_view(
    dataset: Dataset, line: Line, rows: KeptRows, job: Job
) -> tuple[LineView, KeptRows, RowReasons] | None:
    """The same rows of the table itself, and why some would move on a refresh."""
    steps, scan = split_steps(line.active)
    before = rows.view.query
    if steps or (scan.columns, scan.limit, scan.offset) != (before.columns, before.limit, before.offset):
        return None
    started, snapshot = time.perf_counter(), dataset.snapshot()
    view = rows.view_of(snapshot, scan.where, scan.sort, job)
    if view is None:
        return None
    stay, reasons = view
    checked = check_line(line, dataset, snapshot.schema, job)
    return LineView(stay.view, checked, False, snapshot, time.perf_counter() - started), stay, reasons


def undo_redo_texts(dataset: Dataset) -> tuple[str, str]:
    """What undo and redo would take back and bring back in a table."""
    if not isinstance(dataset, Table):
        return "", ""
    undo, redo = dataset.history.undoable(), dataset.history.redoable()
    return (undo.message if undo else ""), (redo.message if redo else "")


def _first_pages(
    rows: Rows,
    place: tuple[int, int, Sequence[str]],
    job: Job,
    formats: Mapping[str, Format],
) -> PageTexts:
    first, last, column_names = place
    names = rows.schema.names
    columns = tuple(i for i, name in enumerate(names) if name in set(column_names)) or tuple(
        range(min(len(names), 16))
    )
    if rows.num_rows == 0 or not columns:
        return {}
    return read_pages(rows, Request(first, last, columns), names, job, formats)


class TableCell:
    """A cell of the row that was `row` of `view`. `row` is its number in `numbering`, which is that of the
    current view once the row has been looked up there; None if that view lacks it."""

    def __init__(self, view: View | ComputedView, row: int, name: str, numbering: object) -> None:
        self._view, self._first_row = view, row
        self.name = name
        self.numbering = numbering
        self.row: int | None = row

    def is_in(self, view: View | ComputedView) -> bool:
        """Whether its row may be among those of the view: the rows of a rewritten file have other numbers."""
        snapshot = view.snapshot
        return snapshot.ids is not None or snapshot is self._view.snapshot

    @cached_property
    def row_id(self) -> int:
        """The row's id. Blocks the first time."""
        row_id = id_at(self._view, self._first_row)
        assert row_id is not None
        return row_id


class FailureMessages(Protocol):
    def show(self, error: Exception) -> None: ...


class Staging(Protocol):
    """Collects edits while it is on."""

    @property
    def on(self) -> bool: ...

    @property
    def marks(self) -> Mapping[tuple[int, str], Mark]: ...

    changed: Any

    @property
    def changes(self) -> Difference: ...

    def stage(self, make: Callable[[Job], Any], size: EditSize) -> None: ...

    def value(self, row: int, name: str) -> Any: ...


class Tab(Protocol):
    """A tab of rows, as far as its parts need to know it."""

    key: tuple[str, ...]
    dataset: Dataset
    line: Line
    standing: Standing
    content: TabContent | None
    grid: GridView
    messages: MessageBar
    tasks: Tasks
    commits: Commits
    loader: Loader
    cells: TableCells

    @property
    def name(self) -> str: ...

    @property
    def table(self) -> Table | None: ...

    @property
    def editable(self) -> Table | None: ...

    @property
    def view(self) -> View | ComputedView | None: ...

    @property
    def rows(self) -> Rows | None: ...

    @property
    def failures(self) -> FailureMessages: ...

    @property
    def review(self) -> Staging: ...

    def open_group(self, row: int) -> None: ...

    def when_shown(self, then: Callable[[], object]) -> None: ...


class TableCells(QObject):
    """Makes cells of the shown rows. `moved` is emitted after cells in use were looked up in another view."""

    moved = Signal()

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._cells: WeakSet[TableCell] = WeakSet()
        tab.loader.loaded.connect(self._locate)

    def cell(self, row: int, name: str) -> TableCell:
        """A cell of the view that is shown."""
        assert self._tab.content is not None
        cell = TableCell(self._tab.content.view, row, name, self._tab.content.numbering)
        self._cells.add(cell)
        return cell

    def _locate(self, content: TabContent) -> None:
        cells, view = list(self._cells), content.view
        if not cells:
            return

        def look(job: Job) -> list[int | None]:
            return [row_of(view, c.row_id, c.row, job) if c.is_in(view) else None for c in cells]

        def move(rows: Sequence[int | None]) -> None:
            if view is self._tab.view:
                for cell, row in zip(cells, rows, strict=True):
                    cell.numbering, cell.row = content.numbering, row
                self.moved.emit()

        self._tab.tasks.read(look, move, owner=self, quiet=True, text="Finding the edited rows")


def status_text(content: TabContent | None, counting: bool) -> str:
    """`26,581 of 336,776 rows · 12 ms · 2 of 4 row groups read`, or the index used; "counting…"
    until the count is known."""
    if content is None:
        return "counting…" if counting else ""
    if counting:
        return f"counting… of {quantity(content.total_rows, 'row')}{_so_far(content)}"
    parts = [_rows(content)]
    explain, fetched = content.view.explain, content.lines.fetched_rows
    if content.line.active or fetched is not None:
        parts.append(duration_text(content.lines.seconds))
    if fetched is not None:
        return " · ".join([*parts, fetched.engine])
    if explain.index is not None:
        parts.append(explain.index)
    elif explain.row_groups_total:
        parts.append(f"{explain.row_groups_read:,} of {explain.row_groups_total:,} row groups read")
    return " · ".join(parts)


def _so_far(content: TabContent) -> str:
    return "" if content.complete else " so far"


def _rows(content: TabContent) -> str:
    so_far = _so_far(content)
    count, fetched = content.num_matching, content.lines.fetched_rows
    if fetched is not None:
        noun = "groups" if content.line.grouping is not None else "rows"
        return f"{count:,} {noun}" if fetched.is_whole else f"the first {count:,} of {fetched.total:,} {noun}"
    if content.where is not None:
        return f"{count:,} of {content.total_rows:,} {'rows' if content.tree is None else 'groups'}{so_far}"
    if content.tree is not None:
        return _groups(content)
    if content.lines.is_computed:
        source = content.lines.source.num_rows
        if content.line.grouping is not None:
            return _groups(content)
        if count <= source:
            return f"{count:,} of {source:,} rows"
        return f"{quantity(count, 'row')} from {source:,}"
    return f"{quantity(count, 'row')}{so_far}"


def _groups(content: TabContent) -> str:
    """Describe groups. How many rows meet a filter before the group step is not counted just for this."""
    count, source = content.num_matching, content.lines.source.num_rows
    before = content.line.steps[: content.line.grouping]
    filtered = any(step.is_active and isinstance(step.step, Where) for step in before)
    rows = "the rows that meet the filter" if filtered else quantity(source, "row")
    return f"{quantity(count, 'group')} of {rows}"
