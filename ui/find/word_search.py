"""Searching a table for words, the best rows first: a panel beside the grid, used by the find bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.core.arrow.types import ID
from lamella.core.errors import BadSearch, LamellaError, visible
from lamella.core.filters.expr import Filter
from lamella.core.index.fulltext.snippets import Highlight
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.line import split_steps
from lamella.core.store.search import SNIPPET
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.filters.word_index import FULLTEXT
from lamella.ui.find.bar import FindBar
from lamella.ui.find.result_list import AFTER, BEFORE, SNIPPET_LENGTH, Result, ResultList, one_line
from lamella.ui.tasks import Handle
from lamella.ui.window.commits import row_of
from lamella.ui.window.loader import Tab

MOST_RESULTS = 200
PAUSE_MS = 200
PANEL_WIDTH = 320
OF_FILES = "A search by words needs a full-text index, which only tables of a store can have."
OF_STEPS = "Words are found in a table's own rows, not in computed ones. Switch off the steps that compute."
NO_INDEX = "A search by words needs a full-text index, and this table has none yet."
HINT = 'Type words. "Two words" next to each other, +must, -not, begin*, near~, column:word.'
EXCLUDED_ROW_TEXT = "The filter excludes this row."
MARKS = Highlight(before=BEFORE, after=AFTER, length=SNIPPET_LENGTH)


@dataclass(frozen=True)
class WordHits:
    """The best hits; `rows` is the number of all rows that match."""

    results: Sequence[Result]
    rows: int


def search_words(
    table: Table, text: str, where: Filter | None, job: Job, most: int = MOST_RESULTS
) -> WordHits:
    """The best rows with snippets and scores, and the number of rows. Blocks. Raises `BadSearch`."""
    rows = table.search(text, columns=[], where=where, limit=None, job=job).num_rows
    best = table.search(text, columns=[], where=where, limit=most, highlight=MARKS, job=job)
    names = [name for name in best.column_names if name.startswith(SNIPPET)]
    results = []
    for place, row in enumerate(best.to_pylist()):
        snippets = [(name.removeprefix(SNIPPET), row[name]) for name in names if row[name]]
        column = max(snippets, key=lambda snippet_: snippet_[1].count(BEFORE), default=("", ""))[0]
        place_text = " ".join([f"{place + 1:,}.", ", ".join(visible(name) for name, _ in snippets)])
        snippet = one_line(" · ".join(text for _, text in snippets))
        score = f"score {row['_score']:.2f}"
        results.append(Result(place_text, snippet, column, place, row[ID], detail=score))
    return WordHits(results, rows)


class WordTab(Tab, Protocol):
    @property
    def where(self) -> Filter | None: ...

    def window(self) -> QWidget: ...


class WordSearchPanel(QFrame):
    """The panel. `index_requested` asks to build an index, `import_requested` to import the file into a
    table, which an index needs."""

    index_requested = Signal()
    import_requested = Signal()

    def __init__(self, tab: WordTab, bar: FindBar) -> None:
        super().__init__()
        theme.variant(self, "panel")
        self._tab, self._bar = tab, bar
        self._handle: Handle | None = None
        self._goes = False
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self.search)
        self.list = ResultList()
        self.offer = QLabel(wordWrap=True)
        self.act = QPushButton()
        theme.variant(self.offer, "muted")
        self.act.clicked.connect(self._act)
        self.list.chosen.connect(self._show_row)
        row = QHBoxLayout()
        row.addWidget(self.act)
        row.addStretch(1)
        self._above = QWidget()
        above = QVBoxLayout(self._above)
        above.setContentsMargins(theme.M, theme.M, theme.M, theme.M)
        above.addWidget(self.offer)
        above.addLayout(row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._above)
        layout.addWidget(self.list, 1)
        theme.current().changed.connect(self._resize)
        self._resize()

    @property
    def running(self) -> bool:
        return self._pause.isActive() or self._handle is not None

    def search_soon(self) -> None:
        """Search for the words in the bar, after a pause."""
        self._goes = True
        self.stop()
        self._pause.start()

    def stop(self) -> None:
        self._pause.stop()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()

    def step(self, direction: int) -> None:
        self.list.step(direction)

    def search(self) -> None:
        """Search again in the rows that are shown now."""
        self.stop()
        table, text, where = self._tab.table, self._bar.field.text(), self._tab.where
        if table is None:
            self._offer(OF_FILES, "Import…")
            return
        if split_steps(self._tab.line.active)[0]:
            self._offer(OF_STEPS)
            return
        if not text.strip():
            self._offer(HINT)
            self._tab.tasks.read(_has_index(table), self._say_index, owner=self, quiet=True)
            return
        self._bar.say("Searching…")
        self._handle = self._tab.tasks.read(
            lambda job: search_words(table, text, where, job),
            self._show,
            self._fail,
            on_cancel=lambda: self._bar.say("Stopped"),
            owner=self,
            text=f"Searching {self._tab.name} for words",
        )

    # ------------------------------------------------------------------ showing

    def _show(self, hits: WordHits) -> None:
        self._handle = None
        count = len(hits.results)
        self._bar.set_found(count > 0)
        rows = quantity(hits.rows, "row")
        self._bar.say(f"The best {count:,} of {rows}" if count < hits.rows else rows)
        self._above.setVisible(not count)
        self.act.hide()
        self.offer.setText("" if count else "No row contains these words.")
        self.list.show_results(hits.results)
        if self._goes and count:
            self.list.setCurrentIndex(self.list.results.index(0))
            self._show_row(hits.results[0])
        self._goes = False

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.list.show_results([])
        self._bar.set_found(False)
        if isinstance(error, BadSearch) and "no full-text index" in error.what:
            self._bar.say("")
            self._offer(NO_INDEX, "New index…")
        elif isinstance(error, LamellaError):
            self._bar.say(error.what.rpartition("\n")[0] or error.what, "danger")
            self._offer(message(error))
        else:
            self._tab.failures.show(error)

    def _say_index(self, exists: bool) -> None:
        if not exists and self._tab.table is not None and not self._bar.field.text().strip():
            self._offer(NO_INDEX, "New index…")

    def _offer(self, text: str, act: str = "") -> None:
        self.list.show_results([])
        self._bar.set_found(False)
        self.offer.setText(text)
        self._above.show()
        self.act.setText(act)
        self.act.setVisible(bool(act))

    def _act(self) -> None:
        (self.import_requested if self._tab.table is None else self.index_requested).emit()

    def _show_row(self, result: Result) -> None:
        """Go to a result's row in the grid."""
        tab, view, row_id = self._tab, self._tab.view, result.row_id
        if view is None or row_id is None:
            return

        def go(row: int | None) -> None:
            if tab.view is not view:
                return
            if row is None:
                tab.messages.say(EXCLUDED_ROW_TEXT)
                return
            names = tab.grid.grid_model.names
            at = names.index(result.column) if result.column in names else -1
            visible_column = at >= 0 and not tab.grid.isColumnHidden(at)
            tab.grid.go_to(row, tab.grid.place(at) if visible_column else None)

        tab.tasks.read(
            lambda job: row_of(view, row_id, None, job), go, tab.failures.show, owner=self, quiet=True,
            text=f"Finding the row in {visible(tab.name)}",
        )  # fmt: skip

    def _resize(self) -> None:
        self.setFixedWidth(theme.current().px(PANEL_WIDTH))


def _has_index(table: Table) -> Callable[[Job], bool]:
    return lambda job: any(index.kind == FULLTEXT for index in table.indexes)
