"""The comparison of a tab: its rows against another dataset, or two of its versions, in place of the grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.comparison import ComparedRows, Comparison, compare, read_differences
from lamella.core.query.comparison.difference_table import difference_schema, difference_tables
from lamella.core.query.comparison.rows import DIFFERENT
from lamella.core.query.source import Source
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.grid.pane import GridPane
from lamella.ui.grid.view import GridView
from lamella.ui.steps.editors import OtherSource
from lamella.ui.steps.step_line import StepLine
from lamella.ui.widgets.controls import ElidedButton
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.charting import Charting
from lamella.ui.window.copying import Copying
from lamella.ui.window.file_watch import folder_of, source_files
from lamella.ui.window.line_actions import LineActions
from lamella.ui.window.loader import Tab

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export
    from lamella.ui.comparison.apply_dialog import ApplyDialog
    from lamella.ui.comparison.dialog import Choices, CompareDialog, OtherSide
    from lamella.ui.comparison.view import ComparisonView

LEAST_CHIP_WIDTH, CHIP_WIDTH = 40, 340
"""The most pixels for the name of the other side; longer names would widen the window."""

NOT_A_TABLE = "only to a table: import the file first"
SWAP_HINT = "swap the sides back first"


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison. `make` computes it on a worker. `follows` says whether a side is the newest version of
    the tab's table, which commits change. `other_side` and `choices` are what the user chose; None for
    versions. `other_sources` has what `make` opened as the other side."""

    chip: str
    make: Callable[[Job], Comparison]
    follows: bool
    other_side: OtherSide | None = None
    choices: Choices | None = None
    is_swapped: bool = False
    versions: tuple[int, int | None] | None = None
    other_sources: list[Source] = field(default_factory=list, compare=False)


class ComparedTab(Tab, Protocol):
    pane: GridPane
    steps: StepLine
    copying: Copying
    line_actions: LineActions
    charting: Charting
    changed: Any

    def window(self) -> QWidget: ...


class Comparing(QObject):
    """Shows the comparison of a tab. No comparison code is loaded before the first comparison. `row_changed`
    is emitted when `row` may be another one."""

    row_changed = Signal()

    def __init__(self, tab: ComparedTab, place: QHBoxLayout, exports: Path) -> None:
        """`place` is the layout that holds the grid; `exports` is the file that remembers export options."""
        super().__init__(widget_of(tab))
        self._tab, self._place, self._exports = tab, place, exports
        self.view: ComparisonView | None = None
        self.copying: Copying | None = None
        self.request: ComparisonRequest | None = None
        self.chip = ElidedButton(LEAST_CHIP_WIDTH, CHIP_WIDTH, tab.steps.bar)
        self.chip.hide()
        theme.variant(self.chip, "chip")
        self.chip.setAccessibleName("Close the comparison")
        tab.steps.bar.insert_chip(self.chip)
        self.chip.clicked.connect(self.hide)
        tab.commits.committed.connect(self._follow_commit)
        tab.steps.changed.connect(lambda *_: self.hide())
        theme.current().changed.connect(self._restyle)
        self._restyle()

    @property
    def is_shown(self) -> bool:
        return self.view is not None and not self.view.isHidden()

    @property
    def row(self) -> tuple[ComparedRows, int | None] | None:
        """The compared rows and the place of the current one; None if no comparison is shown."""
        view = self.view
        if view is None or view.isHidden() or view.rows is None:
            return None
        current = view.grid.selection.current
        return view.rows, None if current is None else current[0]

    @property
    def status(self) -> str:
        return "" if self.view is None else self.view.status

    @property
    def front_copying(self) -> Copying:
        """Copying for the rows on screen: the compared rows, or the tab's own."""
        return self.copying if self.is_shown and self.copying is not None else self._tab.copying

    def export_front(self) -> None:
        self.export() if self.is_shown else self._tab.line_actions.ask_export()

    def toggle_chart(self) -> None:
        self.hide()
        self._tab.charting.toggle()

    def draw_column(self, name: str) -> None:
        """Show a chart of a column in place of an earlier one."""
        self.hide()
        self._tab.charting.draw([name])

    # ------------------------------------------------------------------------------ sides

    def compare_versions(self, before: int, after: int | None = None) -> None:
        """Compare two versions of the table; without `after`, compare with the newest, also after new
        commits."""
        table = self._tab.table
        if table is None:
            return
        chip = f"version {before} against now" if after is None else f"version {after} against {before}"

        def make(job: Job) -> Comparison:
            comparison = table.history.compare(before, after, job)
            return (
                replace(comparison, names=(comparison.names[0], f"{comparison.names[1]}, now"))
                if after is None
                else comparison
            )

        self._show(ComparisonRequest(chip, make, after is None, versions=(before, after)))

    def compare_with(self, side: OtherSide, choices: Choices, swapped: bool = False) -> None:
        """Compare the tab's dataset, without its steps, with another dataset."""
        dataset, name = self._tab.dataset, self._tab.name
        others: list[Source] = []

        def make(job: Job) -> Comparison:
            others[:] = [side.open(job)]
            sides: list[tuple[Source, str]] = [(dataset, name), (others[0], side.title)]
            if swapped:
                sides.reverse()
            (before, earlier_name), (after, two) = sides
            comparison = compare(
                before, after, choices.key, tolerance=choices.tolerance,
                ignore_case=choices.ignore_case, ignore_space=choices.ignore_space, job=job,
            )  # fmt: skip
            return replace(comparison, names=(earlier_name, two))

        chip = f"{side.title} against {name}" if not swapped else f"{name} against {side.title}"
        follows = self._tab.table is not None
        self._show(ComparisonRequest(chip, make, follows, side, choices, swapped, other_sources=others))

    def ask(self, sources: Mapping[str, OtherSource]) -> CompareDialog:
        """Ask what to compare with; `sources` are the open datasets, including the tab's own."""
        from lamella.ui.comparison.dialog import CompareDialog, sides_of

        tab, now = self._tab, self.request
        sides = sides_of({name: source for name, source in sources.items() if name != tab.name})
        if now is not None and now.other_side is not None and now.other_side not in sides:
            sides.insert(0, now.other_side)
        choices = None if now is None or now.other_side is None else now.choices
        dialog = CompareDialog(tab.name, tab.dataset, sides, tab.tasks, choices, tab.window())
        dialog.folder = folder_of(tab.key) if tab.table is None else None
        if now is not None and now.other_side is not None:
            dialog.choose(now.other_side.title)
        dialog.compare_requested.connect(self.compare_with)
        dialog.open()
        return dialog

    def swap(self) -> None:
        """Swap the two sides."""
        now = self.request
        if now is None:
            return
        if now.versions is not None:
            before, after = now.versions
            newest = self._tab.table.version if after is None and self._tab.table is not None else after
            self.compare_versions(newest if newest is not None else before, before)
        elif now.other_side is not None and now.choices is not None:
            self.compare_with(now.other_side, now.choices, not now.is_swapped)

    # ------------------------------------------------------------------- showing

    def hide(self) -> None:
        if self.view is None or self.view.isHidden():
            return
        self.view.stop()
        self.view.hide()
        self.request = None
        self._tab.pane.show()
        self._tab.messages.float_over(self._tab.pane, self._tab.grid.horizontalScrollBar())
        self._tab.grid.setFocus()
        self._update_chip()

    def stop(self) -> None:
        if self.view is not None:
            self.view.stop()

    def go_on(self, backwards: bool = False) -> None:
        """Go to the next row that differs, or to the previous one."""
        if self.view is not None and self.is_shown:
            self.view.go_on(backwards)

    def _show(self, compared: ComparisonRequest) -> None:
        view = self._ensure_view()
        self.request = compared
        self._tab.charting.hide()
        self._tab.pane.hide()
        view.show()
        self._tab.messages.float_over(view)
        self._name_chip(visible(compared.chip))
        view.apply_action.setVisible(compared.other_side is not None)
        view.show_apply_problem(
            NOT_A_TABLE if self._tab.table is None else SWAP_HINT if compared.is_swapped else ""
        )
        view.options_action.setVisible(compared.other_side is not None)
        view.compare(compared.make)
        view.setFocus()
        self._update_chip()

    def repeat(self) -> None:
        """Compare again if one side is the newest version."""
        now = self.request
        if now is not None and now.follows and self.is_shown:
            assert self.view is not None
            self.view.compare(now.make)

    def _follow_commit(self, table: Table, commit: Commit) -> None:
        if table is self._tab.table and commit.time:
            self.repeat()

    def _fail(self, error: Exception) -> None:
        if self.view is not None and self.view.comparison is None:
            self.hide()
        self._tab.failures.show(error)

    def _update_chip(self) -> None:
        self.chip.setVisible(self.is_shown)
        self._tab.changed.emit()
        self.row_changed.emit()

    # ----------------------------------------------------------------------- export and apply

    def export(self) -> None:
        """Export the rows that differ."""
        from lamella.ui.dialogs.export_dialog import ExportDialog
        from lamella.ui.dialogs.export_options import ExportChoices

        view, tab = self.view, self._tab
        if view is None or view.comparison is None or self.request is None:
            return
        choices = ExportChoices(self._exports)
        rows = [export_rows(view.comparison)]
        name = f"{Path(tab.name).stem} differences"
        sources = source_files(tab, self.request.other_sources)
        dialog = ExportDialog(name, rows, folder_of(tab.key), choices, tab.tasks, tab.window(), sources)
        dialog.exported.connect(self._report_export)
        dialog.show()

    def _report_export(self, export: Export) -> None:
        text = f"Exported {export.rows:,} differences to {visible(export.path.name)}"
        self._tab.messages.say(text, kind="message-success")

    def ask_apply(self) -> ApplyDialog | None:
        """Ask which differences to apply to the table."""
        from lamella.ui.comparison.apply_dialog import ApplyDialog

        view, tab = self.view, self._tab
        table = tab.table
        if view is None or view.comparison is None or table is None:
            return None
        comparison = view.comparison
        dialog = ApplyDialog(comparison, tab.name, tab.window())
        dialog.apply_requested.connect(lambda kinds: self._apply(table, comparison, kinds))
        dialog.open()
        return dialog

    def _apply(self, table: Table, comparison: Comparison, kinds: Any) -> None:
        from lamella.core.store.applying import apply_comparison

        self._tab.commits.run(
            table,
            lambda t, job: apply_comparison(comparison, t, kinds, job=job),
            f"Applying differences to {self._tab.name}",
            asker=self,
        )

    # ------------------------------------------------------------------- set-up

    def _ensure_view(self) -> ComparisonView:
        if self.view is None:
            from lamella.ui.comparison.view import ComparisonView

            view = self.view = ComparisonView(self._tab.tasks)
            view.hide()
            self._place.insertWidget(1, view, 1)
            view.closed.connect(self.hide)
            view.changed.connect(self._tab.changed)
            view.changed.connect(self.row_changed)
            view.grid.selection.changed.connect(self.row_changed)
            view.failed.connect(self._fail)
            view.read_failed.connect(self._tab.failures.show)
            view.export_requested.connect(self.export)
            view.apply_requested.connect(self.ask_apply)
            view.swap_requested.connect(self.swap)
            view.options_requested.connect(lambda: self.ask(self._tab.steps.other_sources()))
            self.copying = Copying(_CopiedRows(self._tab, view))
        return self.view

    def _name_chip(self, text: str) -> None:
        self.chip.say(text)
        self.chip.setToolTip(f"{text}: rows are compared. Click to show the table")

    def _restyle(self) -> None:
        self.chip.setIcon(theme.current().icon("compare"))
        self.chip.setIconSize(theme.current().icon_size())


class _CopiedRows:
    """The comparison as a source of rows to copy."""

    def __init__(self, tab: ComparedTab, view: ComparisonView) -> None:
        self.grid: GridView = view.grid
        self.dataset, self.tasks = tab.dataset, tab.tasks
        self.messages, self.failures = tab.messages, tab.failures
        self._view = view

    @property
    def rows(self) -> ComparedRows | None:
        return self._view.rows


def export_rows(comparison: Comparison) -> Any:
    """The rows that differ, as the export dialog takes them."""
    from lamella.core.transfer.exporting import Destination
    from lamella.core.transfer.exporting import Export as Written
    from lamella.core.transfer.writer import Rows
    from lamella.ui.dialogs.export_dialog import ExportRows

    plain = pa.schema([field.remove_metadata() for field in difference_schema(comparison)])

    def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Written:
        rows = ComparedRows(comparison, DIFFERENT)
        tables = (table.cast(plain) for table in difference_tables(rows, job))
        destination = Destination.of(path, format, values, overwrite)
        return destination.write(Rows(plain, tables, rows.num_rows, "differences"), job)

    size = f"{quantity(comparison.num_rows, 'row')} × {quantity(len(plain), 'column')}"
    label = f"The rows that differ: {size}"
    return ExportRows(
        label,
        comparison.num_rows,
        lambda count, job: read_differences(comparison, count, job).cast(plain),
        write,
    )
