"""The differences between two datasets or versions: counts, the rows with marks, and a summary by column."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, sentence_case
from lamella.core.query.comparison import ComparedRows, Comparison, RowChange
from lamella.core.query.comparison.rows import DIFFERENT
from lamella.ui import theme
from lamella.ui.comparison.summary import ComparisonSummary
from lamella.ui.grid.comparison_grid import INKS, SIGNS, WORDS, ComparedModel, ComparisonGrid
from lamella.ui.grid.pane import GridPane
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FlowLayout, IconButton

Make = Callable[[Job], Comparison]
ALL_COLUMNS, DIFFERENT_COLUMNS = "All columns", "Columns that differ"
APPLY = "Apply the differences…"
HIDES_EQUAL = True
"""The data of the entry "Columns that differ", in place of a column's name."""
LARGEST_WHOLE = 1_000
SUMMARY_SHARE = 0.35


class ComparisonView(QWidget):
    """The view of a comparison. `failed` carries why two sides could not be compared, `read_failed` why rows
    could not be read. `export_requested`, `apply_requested`, `options_requested` and `closed` ask the owner
    to act."""

    closed = Signal()
    changed = Signal()
    failed = Signal(Exception)
    read_failed = Signal(Exception)
    export_requested = Signal()
    apply_requested = Signal()
    options_requested = Signal()
    swap_requested = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.comparison: Comparison | None = None
        self.rows: ComparedRows | None = None
        self._handle: Handle | None = None
        self._kinds_shown: tuple[Comparison, list[RowChange] | None] | None = None
        """The kinds of differences of which all rows are shown; None while the rows of one column are
        shown."""
        self._looking: Handle | None = None
        """The search for the cell of a row that differs."""
        self.grid = ComparisonGrid(tasks)
        self.pane = GridPane(tasks, self, self.grid)
        self.summary = ComparisonSummary()
        self.kinds = {kind: QToolButton(checkable=True, checked=True) for kind in DIFFERENT}
        self.columns = QComboBox(accessibleName="Column that differs")
        self.only = QCheckBox("Only these rows")
        self.place = QLabel()
        self.previous = IconButton("chevron-up", "Previous difference (Shift+F7)")
        self.next = IconButton("chevron-down", "Next difference (F7)")
        self.by_column = QToolButton(text="By column", checkable=True)
        self.more_button = QToolButton(text="⋯", accessibleName="More about the comparison")
        self.close_button = IconButton("close", "Close the comparison")
        self.notes = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._lay_out()
        self._connect()
        self._restyle()

    # ------------------------------------------------------------------- comparing

    @property
    def running(self) -> bool:
        return self._handle is not None

    @property
    def is_settled(self) -> bool:
        """Whether everything requested is on screen."""
        return not self.running and self.rows is not None and self.grid.grid_model.pages.is_settled

    @property
    def status(self) -> str:
        """A text for the status bar, such as `3,535 rows in version 7 · 10 rows differ · 6 ms`."""
        comparison = self.comparison
        if comparison is None:
            return "comparing…" if self.running else ""
        rows, differ = comparison.after.num_rows, comparison.num_rows
        words = (
            "no rows differ"
            if not differ
            else f"{differ:,} {'row differs' if differ == 1 else 'rows differ'}"
        )
        seconds = (
            f"{comparison.seconds * 1000:.0f} ms" if comparison.seconds < 1 else f"{comparison.seconds:.1f} s"
        )
        after = visible(comparison.titles[1])
        return f"{quantity(rows, 'row')} in {after} · {words} · {seconds}"

    def compare(self, make: Make) -> None:
        """Show the comparison that `make` computes on a worker."""
        self.stop()
        self.pane.set_busy("Comparing…")
        self._handle = self._tasks.read(
            make, self._show, self._fail, on_cancel=self._show_stop, owner=self, text="Comparing"
        )
        self.changed.emit()

    def stop(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()
        if self._looking is not None:
            self._looking.cancel()
        self.grid.grid_model.pages.cancel()

    @property
    def column(self) -> str | None:
        """The column to whose differences the rows are limited, if any."""
        column = self.columns.currentData()
        return column if isinstance(column, str) else None

    def _show(self, comparison: Comparison) -> None:
        self._handle = None
        self.pane.set_busy("")
        self.comparison = comparison
        counts = (len(comparison.added), len(comparison.removed), len(comparison.changed))
        for kind, count in zip((RowChange.ADDED, RowChange.REMOVED, RowChange.CHANGED), counts, strict=True):
            button = self.kinds[kind]
            button.setText(f"{SIGNS[kind]} {count:,} {WORDS[kind]}")
            button.setEnabled(count > 0)
            with QSignalBlocker(button):
                button.setChecked(True)
        with QSignalBlocker(self.only):
            self.only.setChecked(comparison.num_rows > 0 and comparison.after.num_rows > LARGEST_WHOLE)
        self._list_columns(comparison)
        notes = [*comparison.schema.sentences(), *comparison.notes]
        self.notes.setText(visible(". ".join(sentence_case(text) for text in notes)))
        self.notes.setVisible(bool(notes))
        self.summary.show_comparison(comparison)
        self._show_rows()

    def _list_columns(self, comparison: Comparison) -> None:
        with QSignalBlocker(self.columns):
            self.columns.clear()
            self.columns.addItem(ALL_COLUMNS, None)
            different = sorted((c for c in comparison.columns if c.rows), key=lambda column: -column.rows)
            if different:
                self.columns.addItem(f"{DIFFERENT_COLUMNS} ({len(different):,})", HIDES_EQUAL)
            for column in different[:LARGEST_WHOLE]:
                self.columns.addItem(f"{visible(column.name)}  ±{column.rows:,}", column.name)
        self.columns.setEnabled(self.columns.count() > 1)

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.pane.set_busy("")
        self.failed.emit(error)
        self.changed.emit()

    def _show_stop(self) -> None:
        self._handle = None
        self.pane.set_busy("")
        if self.comparison is None:
            self.closed.emit()
        self.changed.emit()

    # ------------------------------------------------------------------- rows

    def _show_rows(self, _: object = None) -> None:
        """Show the rows for the current choices; if a column must be searched, they are computed on a
        worker."""
        comparison = self.comparison
        if comparison is None:
            return
        before, self._kinds_shown = self._kinds_shown, None
        column = self.column
        checked_kinds = [kind for kind, button in self.kinds.items() if button.isChecked()]
        partial_kinds = len(checked_kinds) < len(self.kinds)
        kinds = checked_kinds if self.only.isChecked() or partial_kinds or column is not None else None
        if column is None:
            self._kinds_shown = (comparison, kinds)
            if before is not None and before[0] is comparison and before[1] == kinds:
                self._hide_columns(comparison)
            else:
                self._take_rows(ComparedRows(comparison, kinds))
            return
        self._handle = self._tasks.read(
            lambda job: ComparedRows(comparison, [RowChange.CHANGED], column, job),
            self._take_rows, self._fail, on_cancel=self._show_stop, owner=self, text=f"Comparing {column}",
        )  # fmt: skip

    def _take_rows(self, rows: ComparedRows) -> None:
        self._handle = None
        self.rows = rows
        self.grid.show_compared(rows)
        comparison = rows.comparison
        self._hide_columns(comparison)
        nothing = "" if rows.num_rows else "No rows differ" if not comparison.num_rows else "No such rows"
        self.pane.set_nothing(nothing)
        first = rows.next_difference(-1)
        if first is not None:
            names = self.grid.grid_model.names
            column = self.column
            self.grid.go_to(first, self.grid.place(names.index(column)) if column in names else None)
            self._find_cell(first)
        self._follow()
        self.changed.emit()

    def _hide_columns(self, comparison: Comparison) -> None:
        """Hide equal columns if that is chosen; key columns stay."""
        hides = self.columns.currentData() is HIDES_EQUAL
        stay = {*comparison.key, *(column.name for column in comparison.columns if column.rows)}
        self.grid.hide_columns({name: hides and name not in stay for name in self.grid.grid_model.names})

    def _find_cell(self, row: int) -> None:
        """Go to the first cell of a row that differs, unless the current cell does."""
        if self._looking is not None:
            self._looking.cancel()
        rows, model = self.rows, self.grid.grid_model
        if rows is None or not isinstance(model, ComparedModel) or model.kind(row) is not RowChange.CHANGED:
            return
        different = {column.name for column in rows.comparison.columns if column.rows}
        names = [name for name in model.names if name in different][:LARGEST_WHOLE]

        def go(differing: list[str]) -> None:
            current = self.grid.selection.current
            is_there = current is not None and current[0] == row and self.rows is rows
            if differing and is_there and self.grid.current_name not in differing:
                self.grid.go_to(row, self.grid.place(model.names.index(differing[0])))

        self._looking = self._tasks.read(
            lambda job: list(rows.cells_before(row, 1, names)),
            go,
            self.read_failed.emit,
            owner=self,
            quiet=True,
        )

    def show_column(self, name: str) -> None:
        """Show only the rows in which a column differs."""
        place = self.columns.findData(name)
        if place >= 0:
            self.columns.setCurrentIndex(place)
            self.grid.setFocus()

    def go_on(self, backwards: bool = False) -> None:
        """Go to the next row that differs, or to the previous one."""
        if self.rows is None:
            return
        current = self.grid.selection.current
        row = current[0] if current is not None else -1
        to = self.rows.previous_difference(row) if backwards else self.rows.next_difference(row)
        if to is not None:
            self.grid.go_to(to)
            self.grid.setFocus()
            self._find_cell(to)

    def _follow(self) -> None:
        """Show the current row's position among those that differ."""
        rows, current = self.rows, self.grid.selection.current
        if rows is None or not len(rows.differences):
            self.place.clear()
            self.previous.setEnabled(False)
            self.next.setEnabled(False)
            return
        row = -1 if current is None else current[0]
        self.place.setText(f"{rows.difference_at(row):,} of {len(rows.differences):,}")
        self.previous.setEnabled(rows.previous_difference(row) is not None)
        self.next.setEnabled(rows.next_difference(row) is not None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    # ------------------------------------------------------------------- set-up

    def _lay_out(self) -> None:
        strip = QFrame()
        theme.variant(strip, "difference")
        around = QHBoxLayout(strip)
        around.setContentsMargins(theme.M, theme.XS, theme.S, theme.XS)
        choices = QWidget()
        line = FlowLayout(theme.S, choices)
        around.addWidget(choices, 1)
        around.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        for kind, button in self.kinds.items():
            button.setProperty("count", True)
            theme.variant(button, INKS[kind])
            button.setToolTip(f"Show rows that were {WORDS[kind]}")
            line.addWidget(button)
        self.columns.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.columns.setMinimumContentsLength(11)
        self.columns.setToolTip("Rows in which one column differs")
        self.place.setAccessibleName("Which difference")
        theme.variant(self.place, "caption")
        self.by_column.setToolTip("Rows that differ in each column, with examples")
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more_button.setMenu(self._menu())
        steps = QWidget()
        beside = QHBoxLayout(steps)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(0)
        widget: QWidget
        for widget in (self.place, self.previous, self.next, self.by_column, self.more_button):
            beside.addWidget(widget)
        for widget in (self.columns, self.only, steps):
            line.addWidget(widget)
        self.notes.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        self.notes.setAccessibleName("Notes on the comparison")
        self.notes.hide()
        theme.variant(self.notes, "caption")
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(self.pane)
        self.splitter.addWidget(self.summary)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setStretchFactor(0, 1)
        self.summary.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(strip)
        layout.addWidget(self.notes)
        layout.addWidget(self.splitter, 1)
        self.setFocusProxy(self.grid)

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        self.export_action = menu.addAction("Export the differences…", self.export_requested.emit)
        self.apply_action = menu.addAction(APPLY, self.apply_requested.emit)
        menu.addSeparator()
        self.options_action = menu.addAction("Change options…", self.options_requested.emit)
        self.swap_action = menu.addAction("Swap sides", self.swap_requested.emit)
        return menu

    def show_apply_problem(self, problem: str) -> None:
        """Say in the menu why the differences cannot be applied; an empty text if they can."""
        self.apply_action.setEnabled(not problem)
        self.apply_action.setText(f"{APPLY} ({problem})" if problem else APPLY)

    def _connect(self) -> None:
        for button in self.kinds.values():
            button.toggled.connect(self._show_rows)
        self.only.toggled.connect(self._show_rows)
        self.columns.currentIndexChanged.connect(self._show_rows)
        self.previous.clicked.connect(lambda: self.go_on(backwards=True))
        self.next.clicked.connect(lambda: self.go_on(backwards=False))
        self.by_column.toggled.connect(self._show_summary)
        self.summary.column_chosen.connect(self.show_column)
        self.close_button.clicked.connect(self.closed)
        self.grid.selection.changed.connect(self._follow)
        self.grid.selection.changed.connect(self.changed)
        self.grid.grid_model.pages.failed.connect(self.read_failed)
        theme.current().changed.connect(self._restyle)

    def _show_summary(self, is_visible: bool) -> None:
        self.summary.setVisible(is_visible)
        if is_visible:
            height = self.splitter.height()
            below = round(SUMMARY_SHARE * height)
            self.splitter.setSizes([height - below, below])

    def _restyle(self) -> None:
        self.place.setFont(theme.current().tabular_font("caption"))
