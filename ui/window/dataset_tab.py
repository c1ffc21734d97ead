"""One open dataset: filter bar, messages and grid; what it reads, and what it says when that fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.options import Checksums, Ragged
from lamella.core.datasets.text.dataset import TextDataset
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, FileProblem, LamellaError
from lamella.core.filters.expr import And, Filter, all_of, columns_read
from lamella.core.jobs import Job, Progress
from lamella.core.query.view import View
from lamella.core.scan.snapshot import FileSegment, SortKey
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import BUG_WHAT, ErrorDialog
from lamella.ui.filters.bar import FilterBar
from lamella.ui.filters.live_count import LiveCount
from lamella.ui.grid.model import PAGE_ROWS, NoRows
from lamella.ui.grid.pane import GridPane
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.message_bar import Choice, MessageBar
from lamella.ui.window.cell_editing import CellEditing
from lamella.ui.window.commits import Commits
from lamella.ui.window.copying import Copying
from lamella.ui.window.loader import Loaded, Loader, TableCells, load, status_text

log = logging.getLogger(__name__)
PAD = "Open with short rows filled up"
OPEN_ANYWAY = "Open anyway"


class Failures(QObject):
    """The failures of one tab, as messages. One stays on show until rows can be read again, or, where the
    file itself is not whole, until the file is opened again."""

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._text = ""

    def show(self, error: Exception) -> None:
        """That rows could not be read; the next ones that can be take the message away."""
        self._text = self._say(error)

    def show_lasting(self, error: Exception) -> None:
        """That the file cannot be read to its end."""
        self._say(error)
        self._text = ""

    def over(self) -> None:
        """Take the message away, unless it tells something else by now."""
        if self._text and self._tab.messages.label.text() == self._text:
            self._tab.messages.clear()
        self._text = ""

    def _say(self, error: Exception) -> str:
        text = sentence(error)
        self._tab.pane.set_busy("")
        self._tab.messages.say(text, *self._ways_out(error), kind="message-danger")
        self._tab.changed.emit()
        return text

    def _ways_out(self, error: Exception) -> list[Choice]:
        tab = self._tab
        if not isinstance(error, LamellaError):
            log.error("Unexpected error in %s", tab.name, exc_info=error)
            details = ("Details", lambda: ErrorDialog(error, tab.window()).open())
            return [("Try again", tab.reload), details]
        if isinstance(error, FileProblem) and tab.table is None:
            pad = [(PAD, lambda: tab.reopening.reopen("pad"))] if can_be_filled_up(error) else []
            if isinstance(error, DamagedFile) and error.readable_anyway:
                pad.append((OPEN_ANYWAY, lambda: tab.reopening.reopen(checksums="ignore")))
            return [*pad, ("Reload", tab.reopening.reopen)]
        return [("Try again", tab.reload)]


def can_be_filled_up(error: Exception) -> bool:
    """Whether the file opens once short rows are filled up."""
    return isinstance(error, RaggedRow) and error.paddable


def sentence(error: Exception) -> str:
    if isinstance(error, LamellaError):
        return str(error)
    return f"{BUG_WHAT}: {type(error).__name__}: {error}. Your data is as it was before."


class Reopening(QObject):
    """Opens the file of one tab again. A table is never opened again: its store knows what changed."""

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self.ragged: Ragged = "refuse"
        self.checksums: Checksums = "verify"
        self._tab = tab

    def refresh(self) -> None:
        """Read the rows again, from the file as it is now."""
        if self._tab.table is not None:
            self._tab.reload()
        else:
            self._open(False, self._tab.reload)

    def follow_file(self) -> None:
        """Open the file again if it changed."""
        if self._tab.table is None:
            self._open(False, lambda: None)

    def reopen(self, ragged: Ragged | None = None, checksums: Checksums | None = None) -> None:
        """Open the file again, changed or not."""
        self.ragged, self.checksums = ragged or self.ragged, checksums or self.checksums
        self._open(True, lambda: None)

    def _open(self, anyway: bool, unchanged: Callable[[], object]) -> None:
        tab, ragged, checksums = self._tab, self.ragged, self.checksums
        before = tab.dataset

        def work(job: Job) -> Dataset | None:
            fresh = open_dataset(tab.key[0], ragged=ragged, checksums=checksums)
            return fresh if anyway or not same_files(before, fresh) else None

        def done(fresh: Dataset | None) -> None:
            if fresh is None:
                unchanged()
            else:
                tab.show_dataset(fresh)

        tab.tasks.read(work, done, tab.failures.show, owner=self, text=f"Opening {tab.name}")


def same_files(before: Dataset, fresh: Dataset) -> bool:
    """Whether both read the same files as they were written at one time."""
    if isinstance(before, TextDataset) and isinstance(fresh, TextDataset):
        return (before.paths, before.source.fingerprint) == (fresh.paths, fresh.source.fingerprint)
    return before.snapshot().token == fresh.snapshot().token


def what_fits(where: Filter | None, names: set[str]) -> Filter | None:
    """The conditions that ask about these columns only."""
    if where is None or all(_holds(names, asked) for asked in columns_of(where)):
        return where
    if isinstance(where, And):
        kept = [part for child in where.children if (part := what_fits(child, names)) is not None]
        return all_of(kept) if kept else None
    return None


def columns_of(where: Filter | None) -> frozenset[str]:
    """The columns that a filter asks about, and fields inside them by their path."""
    return frozenset() if where is None else frozenset(columns_read(where))


def _holds(names: set[str], asked: str) -> bool:
    """Whether a column is called so, or one that may hold a field at such a path."""
    return asked in names or any(asked.startswith(f"{name}.") for name in names)


HIDDEN = ("_id",)
GROW_EVERY_MS = 200


class DatasetTab(QWidget):
    """`changed` when what actions or the status line depend on may be different."""

    changed = Signal()

    def __init__(
        self,
        dataset: Dataset,
        key: tuple[str, ...],
        tasks: Tasks,
        commits: Commits,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.dataset, self.key, self.tasks, self.commits = dataset, key, tasks, commits
        self.shown: Loaded | None = None
        self.where: Filter | None = None
        self.sort: tuple[SortKey, ...] = ()
        self.pane = GridPane(tasks, self)
        self.grid = self.pane.grid
        self.messages = MessageBar(self)
        self.filter_bar = FilterBar(self)
        self.counts = LiveCount(self.filter_bar, tasks, self)
        self.loader = Loader(dataset, self.name, tasks, self._place, self)
        self.cells = TableCells(self)
        self.editing, self.copying = CellEditing(self), Copying(self)
        self.failures, self.reopening = Failures(self), Reopening(self)
        self._then: list[Callable[[], object]] = []
        self._fill_handle: Handle | None = None
        self._to_fill = True
        self._growing = False
        self._grow_timer = QTimer(self, singleShot=True, interval=GROW_EVERY_MS)
        self._lay_out()
        self._connect()
        self.reload(from_top=True)

    @property
    def table(self) -> Table | None:
        """The dataset when it can be edited."""
        return self.dataset if isinstance(self.dataset, Table) else None

    @property
    def name(self) -> str:
        """As the tab is titled: what the table or file was called when it was opened."""
        return self.key[1] if len(self.key) > 1 else Path(self.key[0]).name

    @property
    def status(self) -> str:
        return status_text(self.shown, self.loader.running)

    # ------------------------------------------------------------- what is asked

    def reload(self, from_top: bool = False) -> None:
        """Run the query again, for other conditions or because the rows have changed."""
        self.loader.load(self.where, self.sort, from_top)

    def set_filter(self, where: Filter | None) -> None:
        if where != self.where:
            self.where = where
            self.reload(from_top=True)

    def set_sort(self, keys: Sequence[SortKey]) -> None:
        self.sort = tuple(keys)
        self.grid.column_header.set_sort(self.sort)
        self.reload(from_top=True)

    def toggle_sort(self, column: int, add: bool) -> None:
        """Ascending, descending, off; `add` keeps the other keys."""
        name = self.grid.grid_model.names[column]
        now = next((key for key in self.sort if key.column == name), None)
        following = SortKey(name) if now is None else (SortKey(name, True) if not now.descending else None)
        if not add:
            self.set_sort([following] if following else [])
        elif now is None:
            self.set_sort([*self.sort, SortKey(name)])
        else:
            keys = [following if key is now else key for key in self.sort]
            self.set_sort([key for key in keys if key is not None])

    def follow(self, other: DatasetTab, row: int, column: str) -> None:
        """Show what `other` shows of the same rows, and go to a cell of it."""

        def go() -> None:
            names = self.grid.grid_model.names
            if column in names:
                self.grid.go_to(row, self.grid.place(names.index(column)))

        self.sort = other.sort
        self.grid.column_header.set_sort(self.sort)
        if other.view is not None:
            self.filter_bar.set_schema(other.view.schema)
        self.filter_bar.set_filter(other.where)
        self.where = other.where
        self.reload(from_top=True)
        self.when_shown(go)

    def show_dataset(self, dataset: Dataset) -> None:
        """Show what the file holds now, as far as its columns allow: same filter, sort and place."""
        self._stop_filling()
        self.counts.stop()
        self.grid.grid_model.pages.cancel()
        self.counts.set_rows(dataset.snapshot())
        self.dataset = self.loader.dataset = dataset
        self._to_fill = True
        schema = dataset.schema
        names = set(schema.names)
        where, sort = what_fits(self.where, names), tuple(k for k in self.sort if k.column in names)
        lost = (where, sort) != (self.where, self.sort)
        self.where, self.sort = where, sort
        self.grid.column_header.set_sort(sort)
        self.filter_bar.set_schema(schema)
        self.filter_bar.set_filter(where)
        self.reload()
        self.when_shown(lambda: self._say_lost() if lost else self.messages.clear())

    def _say_lost(self) -> None:
        self.messages.say("Conditions and sort keys of columns that are gone were taken out")

    def when_shown(self, then: Callable[[], object]) -> None:
        """Once the rows asked for are on screen; now when they are."""
        if self.loader.running:
            self._then.append(then)
        else:
            then()

    def stop(self) -> None:
        """Let go of what is still running for this tab."""
        self.loader.cancel()
        self.counts.stop()
        self.grid.grid_model.pages.cancel()
        self._stop_filling()

    # -------------------------------------------------------------- what is told

    def _loaded(self, loaded: Loaded) -> None:
        first, self.shown = self.shown is None, loaded
        from_top = not first and (loaded.where, loaded.sort) != self._query_shown
        self._query_shown = (loaded.where, loaded.sort)
        if first or not loaded.view.schema.equals(self.grid.grid_model.schema):
            self.filter_bar.set_schema(loaded.view.schema)
        self.counts.set_rows(loaded.view.snapshot, loaded.where, loaded.view.num_rows)
        self.grid.show_rows(loaded.view, loaded.ready, HIDDEN)
        self.grid.column_header.set_filtered(columns_of(loaded.where))
        if from_top:
            self.grid.scroll_to_row(0)
        self.pane.set_busy("")
        self.pane.set_nothing(self._why_empty(loaded))
        self.failures.over()
        if self._to_fill:
            self._to_fill = False
            if not loaded.complete:
                self._fill()
        self.changed.emit()
        waiting, self._then = self._then, []
        for then in waiting:
            then()

    def reads(self, path: Path) -> bool:
        """Whether what is shown lies in the file."""
        segments = () if self.shown is None else self.shown.view.snapshot.segments
        return any(isinstance(segment, FileSegment) and segment.path == path for segment in segments)

    def _failed(self, error: Exception) -> None:
        """What is shown stays, but not where it may be wrong."""
        if isinstance(error, DamagedFile) and self.shown is not None:
            self.grid.show_rows(NoRows(self.shown.view.schema), {}, HIDDEN)
            self.counts.set_rows(None)
            self.shown = None
        self.counts.show_none()
        self.failures.show(error)

    def _why_empty(self, loaded: Loaded) -> str:
        if loaded.view.num_rows:
            return ""
        if loaded.where is not None and loaded.total_rows:
            return f"None of {loaded.total_rows:,} rows meets the filter"
        return "No rows" if loaded.complete else "Reading the first rows…"

    def _started(self) -> None:
        self.pane.set_busy("Sorting…" if self.sort else "Reading…")
        self.changed.emit()

    def _stopped(self) -> None:
        self.pane.set_busy("")
        self.counts.show_none()
        self.messages.say("Stopped. The rows are those from before.", ("Try again", self.reload))
        self.changed.emit()

    # ------------------------------------------------------ files that fill up

    def _fill(self) -> None:
        """Let a text file's rows come in; the grid grows meanwhile."""
        self._fill_handle = self.tasks.read(
            self.dataset.fill,
            lambda _: self.reload(),
            self.failures.show_lasting,
            progress=self._filling,
            stopped=self._fill_stopped,
            owner=self,
            text=f"Reading {self.name}",
        )

    def _stop_filling(self) -> None:
        if self._fill_handle is not None:
            self._fill_handle.cancel()

    def _filling(self, progress: Progress) -> None:
        plain = self.where is None and not self.sort
        if plain and not self._growing and not self._grow_timer.isActive() and not self.loader.running:
            self._growing = True
            self.tasks.read(self._longer, self._grown, self._not_longer, owner=self, quiet=True)

    def _longer(self, job: Job) -> Loaded:
        return load(self.dataset, None, (), (0, -1, ()), job)

    def _grown(self, loaded: Loaded) -> None:
        self._growing = False
        self._grow_timer.start()
        same = self.shown is not None and loaded.view.schema.equals(self.shown.view.schema)
        if same and self.where is None and not self.sort and not self.loader.running:
            self.shown = loaded
            self.failures.over()
            self.grid.grow(loaded.view)
            self.pane.set_nothing(self._why_empty(loaded))
            self.changed.emit()

    def _not_longer(self, error: Exception) -> None:
        self._growing = False
        self._grow_timer.start()
        self.failures.show(error)

    def _fill_stopped(self) -> None:
        self.messages.say(
            "Reading was stopped: what is shown is the beginning of the file", ("Go on", self._fill)
        )

    # ------------------------------------------------------------------ set-up

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.filter_bar)
        layout.addWidget(self.messages)
        layout.addWidget(self.pane, 1)
        self.setFocusProxy(self.grid)

    def _connect(self) -> None:
        self._query_shown: tuple[Filter | None, tuple[SortKey, ...]] = (None, ())
        self.loader.loaded.connect(self._loaded)
        self.loader.failed.connect(self._failed)
        self.loader.started.connect(self._started)
        self.loader.stopped.connect(self._stopped)
        self.grid.grid_model.pages.failed.connect(self.failures.show)
        self.grid.column_header.sort_requested.connect(self.toggle_sort)
        self.grid.selection.changed.connect(self.changed)
        self.filter_bar.changed.connect(self.set_filter)
        self.counts.failed.connect(self.failures.show)

    def _place(self) -> tuple[int, int, Sequence[str]]:
        rows, columns = self.grid.visible_rows(), self.grid.visible_columns()
        names = [self.grid.grid_model.names[column] for column in columns]
        if not rows:
            return 0, 0, names
        return rows[0] // PAGE_ROWS, rows[-1] // PAGE_ROWS, names

    @property
    def view(self) -> View | None:
        return None if self.shown is None else self.shown.view
