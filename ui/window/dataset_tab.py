"""One open dataset: its line of steps, the grid, messages, and what it says when rows cannot be read."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from lamella.core.arrow.nested_values import python_value
from lamella.core.datasets.base import Dataset, problems_of
from lamella.core.datasets.preview import unit_of
from lamella.core.datasets.text.bad_lines import is_ragged
from lamella.core.errors import DamagedFile
from lamella.core.filters import fits
from lamella.core.filters.expr import And, Filter, Predicate, all_of, columns_read
from lamella.core.query.cards import know_count
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import all_rows
from lamella.core.query.line import Line, LineVisits, fitting_line, split_steps
from lamella.core.query.steps import Step, Where
from lamella.core.query.view import View
from lamella.core.scan.snapshot import FileSegment, SortKey
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui.dialogs.bad_lines import show_problems
from lamella.ui.editing.edit_target import Standing
from lamella.ui.filters.live_count import LiveCount
from lamella.ui.grid.model import PAGE_ROWS, NoRows, Rows
from lamella.ui.grid.pane import GridPane
from lamella.ui.grid.tree import TreeRows
from lamella.ui.steps.step_line import StepLine
from lamella.ui.steps.where_editor import WhereEditor, with_condition
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.message_bar import Choice, MessageBar
from lamella.ui.window.block_editing import BlockEditing
from lamella.ui.window.cell_editing import CellEditing
from lamella.ui.window.charting import Charting
from lamella.ui.window.column_filters import ColumnFilters
from lamella.ui.window.column_formats import ColumnFormats
from lamella.ui.window.column_layout import HIDDEN_BY_DEFAULT, ColumnLayout, layout_of, show_layout
from lamella.ui.window.column_rules import ColumnRulesForms
from lamella.ui.window.commits import Commits
from lamella.ui.window.comparing import Comparing
from lamella.ui.window.conversions import Conversions
from lamella.ui.window.copying import Copying
from lamella.ui.window.drag_source import DragSource
from lamella.ui.window.failures import PAD, Failures, Reopening
from lamella.ui.window.file_filling import FileFilling
from lamella.ui.window.file_watch import FileWatch, icon_of, name_of_key
from lamella.ui.window.finding import Finding
from lamella.ui.window.group_rows import OF_A_SUBTOTAL, OF_ROWS_INSIDE, GroupRows, without_totals_row
from lamella.ui.window.line_actions import LineActions
from lamella.ui.window.loader import Loader, TabContent, TableCells, status_text
from lamella.ui.window.nested_values import NestedValues
from lamella.ui.window.profiling import Profiling
from lamella.ui.window.remote_rows import RemoteRows
from lamella.ui.window.review import Review
from lamella.ui.window.selection_figures import SelectionFigures
from lamella.ui.window.tab_relations import TabRelations
from lamella.ui.window.tab_state import TabState
from lamella.ui.window.versions import Versions

if TYPE_CHECKING:
    from lamella.ui.inspector.inspector import Inspector
    from lamella.ui.inspector.table_page import PageSubject


LATER_FREED_ROWS, FREE_AFTER_MS = 1_000_000, 100
"""A view with more rows takes longer to free than a frame may take: a worker frees it, once the new
rows are painted."""
LOST_COLUMNS = "Conditions and sort keys of columns that no longer exist were removed"


class DatasetTab(QWidget):
    """A tab that shows a dataset.

    `changed` is emitted when what actions or the status bar depend on may have changed;
    `differently_requested` when the file should be read in another way. `saved_views` is the file that holds
    the views of files.
    """

    changed = Signal()
    differently_requested = Signal()
    state_changed = Signal()
    workspace_kind, statement = "dataset", ""  # `statement` is the SQL whose result the dataset is
    statement_store: Store | None = None

    def __init__(
        self, dataset: Dataset, key: tuple[str, ...], tasks: Tasks, commits: Commits, saved_views: Path,
        line: Line | None = None, parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self.dataset, self.key, self.tasks, self.commits = dataset, key, tasks, commits
        self.content: TabContent | None = None
        self.line, self.standing = line or Line(), Standing(self)
        self.pane = GridPane(tasks, self)
        self.grid = self.pane.grid
        self.messages = MessageBar(self)
        self.messages.float_over(self.pane, self.grid.horizontalScrollBar())
        self.steps = StepLine(self.name, icon_of(key), dataset, tasks, self)
        self.visits = LineVisits(self.line)
        self.counts = LiveCount(tasks, self)
        self.loader = Loader(dataset, self.name, tasks, self._place, self)
        self.cells, self.relations = TableCells(self), TabRelations(self)
        self.loader.formats = self.grid.grid_model.pages.formats
        self.line_actions = LineActions(self, saved_views)
        self.review = self.edits = Review(self)
        self.editing, self.blocks, self.copying = CellEditing(self), BlockEditing(self), Copying(self)
        self.dragging = DragSource(self)
        self.failures, self.reopening = Failures(self), Reopening(self)
        self.column_filters, self.column_formats = ColumnFilters(self), ColumnFormats(self)
        self.nested_values, self.column_layout = NestedValues(self), ColumnLayout(self)
        self.column_rules, self.conversions = ColumnRulesForms(self), Conversions(self)
        self.file_watch, self.figures = FileWatch(self), SelectionFigures(self)
        self.groups, self.versions = GroupRows(self), Versions(self)
        self._then: list[Callable[[], object]] = []
        self._last_steps: tuple[Step, ...] = ()
        self._remarks: tuple[str, ...] = ()
        self.filling, self.remote_rows = FileFilling(self), RemoteRows(self)
        self._beside = QHBoxLayout()
        self._lay_out()
        exports = saved_views.with_name("exports.json")
        self.charting = Charting(self, self._beside, exports)
        self.profiling = Profiling(self, self._beside, exports)
        self.comparing = Comparing(self, self._beside, exports)
        self.finding = Finding(self, self._beside)
        self._connect()
        self.charting.x_chosen.connect(self.conversions.suggest_dates)
        self.saved_state = TabState(self)
        self.reload(from_top=True)

    def state(self) -> dict[str, Any]:
        return self.saved_state.to_json()

    @property
    def table(self) -> Table | None:
        """The dataset if it can be edited."""
        return self.dataset if isinstance(self.dataset, Table) else None

    @property
    def name(self) -> str:
        return name_of_key(self.key)

    @property
    def status(self) -> str:
        if self.comparing.is_shown:
            return self.comparing.status
        if self.charting.is_shown and not self.loader.running:
            return self.charting.status
        return status_text(self.content, self.loader.running) + self.groups.hint

    # --------------------------------------------------------- state and actions

    @property
    def where(self) -> Filter | None:
        """The filter that the rows meet, after the last computed step."""
        return split_steps(self.line.active)[1].where

    @property
    def sort(self) -> tuple[SortKey, ...]:
        return self.line.sort

    @property
    def editable(self) -> Table | None:
        """The table if its own rows are shown, filtered and sorted or not. Computed rows count until those of
        the new line are on screen."""
        lines = (self.line, self.line if self.content is None else self.content.line)
        return None if any(split_steps(line.active)[0] for line in lines) else self.table

    def reload(self, from_top: bool = False) -> None:
        """Run the line again, because the line or the rows have changed."""
        self.filling.stop_growing()
        self.loader.load(self.line, from_top)

    def follow_commit(self, text: str) -> None:
        """Show the rows after a commit of another window or program, which `text` describes."""
        self.reload()
        self.comparing.repeat()
        self.messages.say(text)

    @cached_property
    def inspector(self) -> Inspector:
        """The inspector, made on first use."""
        from lamella.ui.inspector.inspector import Inspector

        inspector = Inspector(self.grid, lambda: self.view, self.relations, self.tasks, self)
        inspector.filter_requested.connect(self.add_filter)
        inspector.cell_requested.connect(self.filter_by_cell)
        inspector.rules_requested.connect(self.column_rules.ask)
        inspector.opened.connect(self.state_changed)
        inspector.closed.connect(self.grid.setFocus)
        inspector.closed.connect(self.changed)
        self.loader.loaded.connect(lambda _: inspector.follow())
        self.relations.attach(inspector)
        self.versions.attach(inspector)
        inspector.history_page.import_requested.connect(self.steps.import_requested)
        inspector.about = self._subject
        inspector.compared = lambda: self.comparing.row
        self.comparing.row_changed.connect(inspector.follow)
        inspector.table_page.column_chosen.connect(self._go_to_named)
        inspector.table_page.indexes_requested.connect(self.finding.show_indexes)
        self._beside.addWidget(inspector)
        return inspector

    def _subject(self) -> PageSubject | None:
        """What the inspector shows of the table or file."""
        from lamella.ui.inspector.table_page import subject_of

        return None if self.content is None else subject_of(self.name, self.dataset, self.content.lines)

    def _go_to_named(self, name: str) -> None:
        if name in self.grid.grid_model.names:
            self.grid.go_to_column(self.grid.grid_model.names.index(name))

    @property
    def is_inspector_open(self) -> bool:
        return "inspector" in vars(self) and not self.inspector.isHidden()

    def toggle_inspector(self) -> None:
        if self.is_inspector_open:
            self.inspector.close_page()
        else:
            self.inspector.show_page(self.inspector.page)

    def filter_by_cell(self, name: str, operator: str = "eq", on_null: str = "is_null") -> None:
        """Add a condition with the value of a column in the current row, read in full."""
        current, view, rows = self.grid.selection.current, self.view, self.rows
        if current is None or view is None or rows is None:
            return
        if isinstance(rows, TreeRows) and not rows.can_be_filtered(current[0], 1, name)[0]:
            self.messages.say(OF_A_SUBTOTAL)
            return

        def add(value: object) -> None:
            if value is not None and not fits(operator, view.schema.field(name).type):
                self.messages.say(f"Column '{name}': values of this type cannot be compared yet")
                return
            self.add_filter(
                Predicate(name, on_null) if value is None else Predicate(name, operator, (value,))
            )

        self.tasks.read(
            lambda job: python_value(rows.page(current[0], 1, [name]).column(0)[0]), add, owner=self
        )

    def apply(self, line: Line, session: int = 0) -> None:
        """Show another line. Edits of one `session` other than 0 count as one step back."""
        self.visits.visit(line, session)
        self._show_line(line)

    def _show_line(self, line: Line) -> None:
        self.line = line
        self.steps.show_line(line)
        self.reload(from_top=True)
        self.changed.emit()

    def go_back(self) -> None:
        """Go back to the previous line."""
        if self.visits.can_go_back:
            self._show_line(self.visits.back())

    def go_forward(self) -> None:
        if self.visits.can_go_forward:
            self._show_line(self.visits.forward())

    def set_filter(self, where: Filter | None) -> None:
        """Replace the filters that are shown."""
        self.steps.close_editor()
        line = self.line
        while (place := line.last_of(Where)) is not None:
            line = line.remove(place)
        if where is not None:
            line = line.insert(line.place_of_new(Where), Where, Where(where))
        if line != self.line:
            self.apply(line)

    def add_filter(self, condition: Filter) -> None:
        """Add a condition that rows have to meet."""
        self.steps.close_editor()
        place = self.line.last_of(Where)
        if place is None:
            new = self.line.place_of_new(Where)
            self.apply(self.line.insert(new, Where, Where(condition)))
        else:
            step, draft = self.line.steps[place].step, self.line.steps[place].draft
            assert step is None or isinstance(step, Where)
            self.apply(self.line.edit(place, *with_condition(step, draft, condition)))

    def filter_by_card(self, condition: Filter, instead: Sequence[Filter]) -> None:
        """Add a condition and remove those in `instead` from the last filter."""
        where = self.where
        parts = where.children if isinstance(where, And) else () if where is None else (where,)
        if any(part in parts for part in instead):
            parts_kept = [part for part in parts if part not in instead]
            self.set_filter(all_of([*parts_kept, condition]) if parts_kept else condition)
        else:
            self.add_filter(condition)

    def open_group(self, row: int) -> None:
        """Show the rows of the group in a row."""
        self.groups.show_rows_of(row)

    def add_step(self, step: Step) -> None:
        """Insert a step where steps of its kind belong."""
        self.steps.close_editor()
        self.apply(self.line.insert(self.line.place_of_new(type(step)), type(step), step))

    def set_sort(self, keys: Sequence[SortKey]) -> None:
        self.steps.close_editor()
        self.apply(self.line.with_sort(keys))

    def toggle_sort(self, column: int, add: bool) -> None:
        """Sort ascending, then descending, then not at all; `add` keeps the other keys."""
        name = self.grid.grid_model.names[column]
        if self.view is not None and name not in self.view.schema.names:
            self.messages.say(OF_ROWS_INSIDE)
            return
        now = next((key for key in self.sort if key.column == name), None)
        following = SortKey(name) if now is None else (SortKey(name, True) if not now.descending else None)
        if not add:
            self.set_sort([following] if following else [])
        elif now is None:
            self.set_sort([*self.sort, SortKey(name)])
        else:
            keys = [following if key is now else key for key in self.sort]
            self.set_sort([key for key in keys if key is not None])

    def show_rows(self) -> None:
        """Show the grid where a chart, the profiles or a comparison is."""
        for view in (self.comparing, self.profiling, self.charting):
            if view.is_shown:
                view.hide()

    def follow(self, origin: DatasetTab, row: int, column: str) -> None:
        """Show what `origin` shows of the same rows, and go to a cell of it."""
        layout = layout_of(origin.grid)  # it may be closed before the rows arrive

        def go() -> None:
            names = self.grid.grid_model.names
            show_layout(self.grid, layout)
            if column in names:
                self.grid.go_to(row, self.grid.place(names.index(column)))

        self.apply(origin.line)
        self.when_shown(go)

    def show_dataset(self, dataset: Dataset) -> None:
        """Show the file's new contents with the same filter, sort and position, as far as its columns
        allow."""
        self.filling.begin_anew()
        self.counts.stop()
        self.grid.grid_model.pages.cancel()
        self.counts.set_rows(dataset.snapshot())
        self.dataset = self.loader.dataset = self.steps.source = dataset
        self._remarks = ()
        line = fitting_line(self.line, set(dataset.schema.names))
        lost = line != self.line
        if lost:
            self.visits.visit(line)
        self.line = line
        self.reload()
        self.when_shown(lambda: self.messages.say(LOST_COLUMNS) if lost else self._say_news())

    def _say_news(self) -> None:
        """Say that edits were saved, or the remarks on the file; drop messages about earlier rows."""
        news = self.review.take_news()
        if news:
            self.messages.say(news, kind="message-success")
            return
        self.messages.clear()
        if self.content is not None and self.content.complete:
            self._remarks = ()
            self._say_remarks()

    def when_shown(self, then: Callable[[], object]) -> None:
        """Call `then` once the requested rows are on screen; at once if they are."""
        if self.loader.running:
            self._then.append(then)
        else:
            then()

    def insert_bar(self, bar: QWidget) -> None:
        """Insert a bar between the steps and the rows."""
        self._column.insertWidget(1, bar)

    def stop(self) -> None:
        """Stop everything that still runs for this tab."""
        self.column_layout.save()
        self.loader.cancel()
        parts = (self.file_watch, self.filling, self.counts, self.groups, self.grid.cards)
        for part in (*parts, self.charting, self.profiling, self.finding, self.comparing):
            part.stop()
        self.grid.grid_model.pages.cancel()

    # ------------------------------------------------------------------ messages

    def _show_content(self, content: TabContent) -> None:
        before, self.content = [self.content], content
        rows = without_totals_row(content.line.active)
        from_top, self._last_steps = before[0] is not None and rows != self._last_steps, rows
        self.steps.show_line(self.line, content.lines.runnable)
        self._count_conditions(content)
        self.grid.grid_model.pages.usual_formats = content.usual_formats
        self.grid.show_rows(content.rows, content.ready, HIDDEN_BY_DEFAULT, content.columns)
        self.grid.grid_model.descriptions = content.descriptions
        self.groups.follow(content)
        self._mark_rows()
        self.grid.column_header.set_sort(content.sort)
        query = content.view.query
        if query.where is not None and query.limit is None and not query.offset and content.kept_rows is None:
            know_count(content.view.snapshot, query.where, content.view.num_rows)
        computed = content.view if isinstance(content.view, ComputedView) else None
        all_of_them, where = all_rows(content.view)
        self.grid.cards.set_rows(all_of_them, where, computed)
        columns = () if where is None else columns_read(where)
        self.grid.column_header.set_filtered(frozenset(columns))
        if from_top:
            self.grid.scroll_to_row(0)
        self.pane.set_busy("")
        self.pane.set_nothing(self.why_empty(content))
        self.failures.over()
        if content.complete:
            self._say_remarks()
        self.filling.begin(content)
        self.changed.emit()
        if before[0] is not None and before[0].view.num_rows > LATER_FREED_ROWS:
            QTimer.singleShot(FREE_AFTER_MS, self, lambda: self._free(before))
        waiting, self._then = self._then, []
        for then in waiting:
            then()

    def _free(self, views: list[TabContent | None]) -> None:
        self.tasks.read(lambda job: views.clear(), quiet=True, text="Freeing rows")

    def _say_remarks(self) -> None:
        """Say what of the file cannot be shown as it is, once it has been read to its end."""
        remarks = self.dataset.remarks
        if remarks and remarks != self._remarks:
            self.messages.say(". ".join(remarks) + ".", *self._ways_on(), stays=True)
        self._remarks = remarks

    def _ways_on(self) -> list[Choice]:
        """What the user can do about unreadable lines, or about a version that is not the newest."""
        problems = problems_of(self.dataset)
        if not problems:
            return self.reopening.ways_to_versions()
        show = ("Show bad lines", self._show_bad_lines)
        pad = [(PAD, self.reopening.fill_up)] if any(map(is_ragged, problems)) else []
        return [show, *pad, ("Read differently…", self.differently_requested.emit)]

    def _show_bad_lines(self) -> None:
        """Show the bad lines, and keep the other choices visible."""
        show_problems(self.name, problems_of(self.dataset), self.window(), unit_of(self.dataset))
        self._remarks = ()
        self._say_remarks()

    def _mark_rows(self) -> None:
        """Mark rows that no longer belong where they are, and rows that unsaved edits delete."""
        if self.content is None:
            return
        go, out_of_place = self.review.deleted_rows, self.content.out_of_place
        reasons: Mapping[int, str] = out_of_place
        if go:
            reasons = ChainMap(go, out_of_place)  # type: ignore[arg-type] # they are only read
        self.grid.mark_rows(reasons, go)

    def reads(self, path: Path) -> bool:
        """Whether the rows that are shown come from this file."""
        segments = () if self.content is None else self.content.view.snapshot.segments
        return any(isinstance(segment, FileSegment) and segment.path == path for segment in segments)

    def _count_conditions(self, content: TabContent) -> None:
        """Count conditions before a computed step on the dataset's rows, and conditions after it on its
        result."""
        place = self.steps.place
        behind = place is not None and place >= self.line.tail
        if not content.lines.is_computed or behind:
            self.counts.set_rows(content.view.snapshot, content.where, content.view.num_rows)
        else:
            first = next((n for n, step in enumerate(self.line.steps) if step.kind is not Where), 0)
            self.counts.set_rows(content.lines.source if place is not None and place <= first else None)

    def _take_editor(self, editor: object) -> None:
        """Count the conditions of a filter while it is edited."""
        if isinstance(editor, WhereEditor):
            editor.wants_counts.connect(self.counts.restart)
            if self.content is not None:
                self._count_conditions(self.content)
            self.counts.edit(editor)
        else:
            self.counts.edit(None)
        self.changed.emit()

    def _show_failure(self, error: Exception) -> None:
        """Show the error. The rows stay, unless they may be wrong."""
        if isinstance(error, DamagedFile) and self.content is not None:
            self.grid.show_rows(NoRows(self.content.view.schema), {}, HIDDEN_BY_DEFAULT)
            self.counts.set_rows(None)
            self.grid.cards.set_rows(None, None)
            self.grid.totals.set_hidden()
            self.content = None
        self.failures.show(error)

    def why_empty(self, content: TabContent) -> str:
        if content.view.num_rows:
            return ""
        if content.where is not None and content.total_rows:
            return f"None of {content.total_rows:,} rows meets the filter"
        return "No rows" if content.complete else "Reading the first rows…"

    def _show_progress(self) -> None:
        self.pane.set_busy("Sorting…" if self.sort else "Reading…")
        self.grid.cards.wait_for_rows()
        self.changed.emit()

    def _revert_line(self) -> None:
        self.pane.set_busy("")
        line = self.line
        if self.content is not None:
            self.line = self.content.line
            self.steps.show_line(self.line, self.content.lines.runnable)
        choice = ("Try again", lambda: self._show_line(line))
        self.messages.say("Stopped. The rows shown are the earlier ones.", choice)
        self.changed.emit()

    # ------------------------------------------------------------------ set-up

    def _lay_out(self) -> None:
        layout = self._column = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.steps)
        self.versions.put_banner(layout)
        self._beside.setSpacing(0)
        self._beside.addWidget(self.pane, 1)
        layout.addLayout(self._beside, 1)
        layout.addWidget(self.remote_rows.bar)
        layout.addWidget(self.review.strip)  # below: the first edit does not move the grid
        self.setFocusProxy(self.grid)

    def _connect(self) -> None:
        self.loader.loaded.connect(self._show_content)
        self.loader.loaded.connect(self.finding.follow)
        self.groups.rows_changed.connect(self.finding.follow)
        self.loader.failed.connect(self._show_failure)
        for ended in (self.loader.failed, self.loader.stopped):
            ended.connect(lambda *_: self.grid.cards.go_on())
        self.loader.started.connect(self._show_progress)
        self.loader.stopped.connect(self._revert_line)
        self.grid.grid_model.pages.failed.connect(self.failures.show)
        self.grid.column_header.sort_requested.connect(self.toggle_sort)
        self.grid.selection.changed.connect(self.changed)
        for part in (self.figures, self.relations):
            part.changed.connect(self.changed)
        self.steps.changed.connect(self.apply)
        self.steps.editing.connect(self._take_editor)
        self.grid.cards.filter_requested.connect(self.filter_by_card)
        self.counts.failed.connect(self.failures.show)
        self.review.changed.connect(self._mark_rows)
        self.review.changed.connect(self.changed)
        self.editing.fill_requested.connect(self.blocks.fill)

    def _place(self) -> tuple[int, int, Sequence[str]]:
        rows, columns = self.grid.visible_rows(), self.grid.visible_columns()
        names = [self.grid.grid_model.names[column] for column in columns]
        if not rows:
            return 0, 0, names
        return rows[0] // PAGE_ROWS, rows[-1] // PAGE_ROWS, names

    @property
    def view(self) -> View | ComputedView | None:
        return None if self.content is None else self.content.view

    @property
    def rows(self) -> Rows | None:
        """What the grid shows, by the numbers that rows have there: the view, or its groups as a tree."""
        return None if self.content is None else self.content.rows
