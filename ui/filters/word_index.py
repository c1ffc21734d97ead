"""Full-text indexes for the filter builder: which columns have one, and the offer to build another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum

import shiboken6
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from lamella.core.errors import visible
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job, Progress
from lamella.core.query.source import Source
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import breakable

log = logging.getLogger(__name__)
FULLTEXT = "fulltext"
MB = 1_000_000


class WordSearch(Enum):
    """Whether, and how, a column can be searched by words."""

    READY = "it has an index"
    NO_INDEX = "an index can be built"
    NO_TABLE = "an index needs a table of a store"
    NEVER = "it holds no text of its own"


class WordIndexes(QObject):
    """The full-text indexes of the filtered dataset. `changed` is emitted when they are known, and after one
    was built."""

    changed = Signal()

    def __init__(self, source: Source, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.source, self._tasks = source, tasks
        self._ready: frozenset[str] | None = None
        self._texts = frozenset[str]()
        if isinstance(source, Table):
            self._look(source)

    def search(self, column: str) -> WordSearch:
        """Whether a column can be searched; also `NEVER` until that is known."""
        source = self.source
        if not isinstance(source, Table):
            names = source.schema.names
            is_text = column in names and kind_of(source.schema.field(column).type) is Kind.TEXT
            return WordSearch.NO_TABLE if is_text else WordSearch.NEVER
        if self._ready is None or column not in self._texts:
            return WordSearch.NEVER
        return WordSearch.READY if column in self._ready else WordSearch.NO_INDEX

    def build(
        self,
        column: str,
        on_result: Callable[[], None],
        on_error: Callable[[Exception], None],
        on_cancel: Callable[[], None],
        on_progress: Callable[[Progress], None],
    ) -> Handle:
        """Build an index in the background; it continues if the form is closed, and the Stop button ends
        it."""
        table = self.source
        assert isinstance(table, Table)

        def work(job: Job) -> None:
            table.indexes.create(column, kind=FULLTEXT, job=job)

        def finish(_: None) -> None:
            if shiboken6.isValid(self):
                self._ready = (self._ready or frozenset()) | {column}
                self.changed.emit()
                on_result()

        def when_open(then: Callable[..., None]) -> Callable[..., None]:
            return lambda *arguments: then(*arguments) if shiboken6.isValid(self) else None

        return self._tasks.read(
            work, finish, when_open(on_error), on_cancel=when_open(on_cancel),
            on_progress=when_open(on_progress), text=f"Building the full-text index of {visible(column)}",
        )  # fmt: skip

    def estimate(self, column: str, on_result: Callable[[str], None]) -> None:
        """Estimate the size and build time of an index, as text; empty if they are unknown."""
        table = self.source
        assert isinstance(table, Table)

        def work(job: Job) -> str:
            from lamella.core.index.fulltext.conditions import expected_cost

            cost = expected_cost(table.snapshot(), [column], job)
            return f"about {rough_size(cost.num_bytes)}, built in about {rough_time(cost.seconds)}"

        def fail(error: Exception) -> None:
            log.warning("The cost of an index of %s could not be estimated: %s", column, error)
            on_result("")

        self._tasks.read(work, on_result, fail, owner=self, quiet=True)

    def _look(self, table: Table) -> None:
        def work(job: Job) -> tuple[frozenset[str], frozenset[str]]:
            schema = table.snapshot().schema
            texts = frozenset(field.name for field in schema if kind_of(field.type) is Kind.TEXT)
            indexes = [index for index in table.indexes if index.kind == FULLTEXT]
            return texts, frozenset(name for index in indexes for name in index.columns)

        def show(names: tuple[frozenset[str], frozenset[str]]) -> None:
            self._texts, self._ready = names
            self.changed.emit()

        self._tasks.read(work, show, self._tasks.failed.emit, owner=self, quiet=True)


def rough_size(num_bytes: int) -> str:
    if num_bytes >= 1000 * MB:
        return f"{num_bytes / (1000 * MB):.1f} GB"
    return f"{num_bytes / MB:.0f} MB" if num_bytes >= MB else "1 MB"


def rough_time(seconds: float) -> str:
    if seconds >= 90:
        return f"{seconds / 60:.0f} minutes"
    return f"{max(1, round(seconds))} s"


class WordIndexOffer(QFrame):
    """Says what is missing to search a column by words, with a button that provides it. `built` carries the
    column once it has an index; `import_requested` is emitted if it needs a table first."""

    built = Signal(str)
    import_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._indexes: WordIndexes | None = None
        self._column, self._cost, self._problem = "", "", ""
        self._handle: Handle | None = None
        self.says = QLabel()
        self.says.setWordWrap(True)
        theme.variant(self.says, "caption")
        self.act, self.cancel = QPushButton("Build the index"), QPushButton("Cancel")
        theme.variant(self.cancel, "ghost")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.says, 1)
        layout.addWidget(self.act)
        layout.addWidget(self.cancel)
        self.act.clicked.connect(self._act)
        self.cancel.clicked.connect(self._cancel)
        self.hide()

    @property
    def is_building(self) -> bool:
        return self._handle is not None

    def begin(self, indexes: WordIndexes, column: str) -> None:
        """Offer what a column lacks, unless the index of another one is being built."""
        if self.is_building:
            self.show()
            return
        self._indexes, self._column, self._cost, self._problem = indexes, column, "", ""
        if indexes.search(column) is WordSearch.NO_INDEX:
            indexes.estimate(column, lambda cost: self._know(column, cost))
        self._say()
        self.show()

    def _know(self, column: str, cost: str) -> None:
        """Show the cost, unless another column is offered by now, or none."""
        if not shiboken6.isValid(self) or column != self._column:
            return
        self._cost = cost
        if not self.is_building:
            self._say()

    def _say(self) -> None:
        problem = self._problem
        assert self._indexes is not None
        theme.variant(self.says, "danger" if problem else "caption")
        self.act.setEnabled(True)
        if self._indexes.search(self._column) is WordSearch.NO_TABLE:
            self.says.setText(
                "A search by words needs a full-text index, which only tables of a store can have."
            )
            self.act.setText("Import…")
            return
        cost = f": {self._cost}" if self._cost else ""
        offer = f"A search by words needs a full-text index of '{visible(self._column)}'{cost}."
        self.says.setText(breakable(problem or offer))
        self.act.setText("Try again" if problem else "Build the index")

    def _act(self) -> None:
        indexes = self._indexes
        assert indexes is not None
        if indexes.search(self._column) is WordSearch.NO_TABLE:
            self.import_requested.emit()
            return
        self._problem = ""
        self.act.setEnabled(False)
        self.says.setText(f"Building the full-text index of '{visible(self._column)}'…")
        self._handle = indexes.build(self._column, self._finish, self._fail, self._handle_stop, self._show)
        self._handle.progress_widget = self

    def _show(self, progress: Progress) -> None:
        if progress.total:
            self.says.setText(
                f"Building the full-text index of '{visible(self._column)}': "
                f"{progress.done:,} of {progress.total:,} files"
            )

    def _finish(self) -> None:
        self._handle = None
        if shiboken6.isValid(self):
            self.hide()
            self.built.emit(self._column)

    def _fail(self, error: Exception) -> None:
        self._handle = None
        if shiboken6.isValid(self):
            self._problem = message(error)
            self._say()

    def _handle_stop(self) -> None:
        self._handle = None
        if shiboken6.isValid(self):
            self._say()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        else:
            self.hide()
