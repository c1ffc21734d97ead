"""A tab that searches all tables of the open stores, and all open files, for a text or for words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import quantity
from lamella.core.query.cell_search import TextPattern
from lamella.ui import theme
from lamella.ui.find.bar import CUT, LONGEST, option_button, segment_button
from lamella.ui.find.result_list import Result, ResultList
from lamella.ui.find.table_search import Key, ListSources, Source, TableResults, search_source
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.field_buttons import add_clear_button

PAUSE_MS = 300
HINT = "Type a text to find it in every column of all tables and open files."
AGAIN = "Press Enter to search again."
NO_SOURCES = "There is nothing to search: open a store or a file first."
NOTHING = "Nothing found in {tables}."


class SearchEverywhere(QWidget):
    """The tab. `chosen` carries the result to show; `status_changed` is emitted when `status` may have
    changed."""

    workspace_kind = "search"

    chosen = Signal(Result)
    status_changed = Signal()
    state_changed = Signal()

    def __init__(
        self, sources: Callable[[], ListSources], tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        """`sources` is called for each search."""
        super().__init__(parent)
        self._sources, self._tasks = sources, tasks
        self._handle: Handle | None = None
        under_way = self._under_way = list[Handle]()
        self.destroyed.connect(lambda: _cancel(under_way))
        self._search_sources: Sequence[Source] = ()
        self.tables: dict[Key, TableResults] = {}
        """The results so far by table, in the order of the search."""
        self.status = ""
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self.search)
        self._make()
        self._lay_out()
        self._say(HINT)

    @property
    def running(self) -> bool:
        return self._pause.isActive() or self._handle is not None

    @property
    def pattern(self) -> TextPattern:
        flags = self.case.isChecked(), self.whole.isChecked(), self.regex.isChecked()
        if self.words.isChecked():
            flags = (False, False, False)
        return TextPattern(self.field.text(), *flags)

    def state(self) -> dict[str, Any]:
        return {
            "text": self.field.text(),
            **{name: option.isChecked() for name, option in self._options.items()},
        }

    def show_state(self, state: Mapping[str, Any]) -> None:
        """Show what `state` returned, without searching."""
        self.field.setText(str(state.get("text", "")))
        for name, option in self._options.items():
            option.setChecked(state.get(name) is True)
        self._drop()
        if self.field.text():
            self._say(AGAIN)

    @property
    def _options(self) -> dict[str, QAbstractButton]:
        return {"words": self.words, "case": self.case, "whole": self.whole, "regex": self.regex}

    def begin(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def search(self) -> None:
        """Search everything that is open now; an earlier search is dropped."""
        self._drop()
        self.tables = {}
        pattern, words = self.pattern, self.words.isChecked()
        problem = pattern.problem if pattern.text else ""
        theme.variant(self.field, "invalid" if problem else "")
        if not pattern.text or problem:
            self._show()
            self._say(problem or HINT, "danger" if problem else "muted")
            return
        tables, list_sources, tables_to_search = self.tables, self._sources(), list[Source]()
        self._search_sources = tables_to_search

        def work(job: Job) -> None:
            sources = list_sources(job)
            tables_to_search.extend(sources)
            for place, source in enumerate(sources):
                job.report(place, len(sources), source.title)

                def publish(results: TableResults, place: int = place, source: Source = source) -> None:
                    tables[source.key] = results
                    job.report(place, len(sources), source.title)

                publish(search_source(source, pattern, words, job, publish))

        self._handle = self._tasks.read(
            work,
            lambda _: self._finish(tables),
            partial(self._fail, tables),
            on_progress=partial(self._show_progress, tables),
            on_cancel=lambda: self._show_stop(tables),
            owner=self,
            text=f"Finding '{visible(pattern.text[:40])}' everywhere",
        )
        self._handle.progress_widget = self
        self._under_way[:] = [self._handle]
        self.stop.show()
        self._show()

    def stop_search(self) -> None:
        """Stop the search and keep the results so far."""
        if self._handle is not None:
            self._handle.cancel()

    # ------------------------------------------------------------------ showing

    def _show_progress(self, tables: dict[Key, TableResults], progress: Progress) -> None:
        if tables is self.tables:
            self._show()
            self._say(f"{self._count_text()} so far · looking in {visible(progress.text)}…")

    def _finish(self, tables: dict[Key, TableResults]) -> None:
        if tables is self.tables:
            self._end()
            count = len(self._search_sources)
            if not count:
                self._say(NO_SOURCES)
                return
            looked = f"{quantity(count, 'table')} and files" if count != 1 else "one table"
            some = any(table.count for table in tables.values())
            self._say(f"{self._count_text()} in {looked}" if some else NOTHING.format(tables=looked))

    def _show_stop(self, tables: dict[Key, TableResults]) -> None:
        if tables is self.tables:
            self._end()
            searched = sum(table.complete for table in tables.values())
            self._say(
                f"Stopped: {self._count_text()} in {searched:,} of {len(self._search_sources):,} tables"
                " and files"
            )

    def _fail(self, tables: dict[Key, TableResults], error: Exception) -> None:
        if tables is self.tables:
            self._end()
            self._say(f"{self._count_text()} until the search failed", "danger")
        self._tasks.failed.emit(error)

    def _end(self) -> None:
        self._handle = None
        self.stop.hide()
        self._show()

    def _count_text(self) -> str:
        count = sum(table.count for table in list(self.tables.values()))
        return f"{count:,} found"

    def _show(self) -> None:
        """Show the tables with hits or errors."""
        results: list[Result] = []
        for table in list(self.tables.values()):
            if table.count or table.problem:
                results += [table.heading, *table.results]
        self.list.show_results(results)

    def _say(self, text: str, look: str = "muted") -> None:
        theme.variant(self.news, look)
        self.news.setText(text)
        self.status = text
        self.status_changed.emit()

    def _drop(self) -> None:
        self._pause.stop()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()
        self.stop.hide()

    def _restart(self) -> None:
        self._drop()
        self._pause.start()
        self.state_changed.emit()

    def _change_mode(self) -> None:
        for option in (self.case, self.whole, self.regex):
            option.setVisible(not self.words.isChecked())
        self._restart()
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            self.search() if self._pause.isActive() or not self._search_sources else self.list.step(1)
        elif key == Qt.Key.Key_Down and self.field.hasFocus():
            self.list.setFocus()
        else:
            super().keyPressEvent(event)

    # ------------------------------------------------------------------ set-up

    def _make(self) -> None:
        self.text, self.words = segment_button("Text"), segment_button("Words")
        self.text.setToolTip("Any text in any column; reads all rows")
        self.words.setToolTip("Words by full-text indexes; tables without one are searched for the text")
        self._modes = QButtonGroup(self)
        for mode in (self.text, self.words):
            self._modes.addButton(mode)
        self.text.setChecked(True)
        self.field = QLineEdit(maxLength=LONGEST)
        add_clear_button(self.field)
        self.field.setPlaceholderText("Find in all tables and open files")
        self.field.setAccessibleName("Find everywhere")
        self.case = option_button("Aa", "Match case")
        self.whole = option_button("'ab'", "Whole cell: matches only if the text is the whole cell")
        self.regex = option_button(".*", "Regular expression, in RE2's syntax")
        self.stop = IconButton("stop", "Stop searching (Ctrl+.)")
        self.stop.hide()
        self.news = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.list = ResultList()
        self.list.chosen.connect(self.chosen)
        self.field.textChanged.connect(lambda _: self._restart())
        self.field.inputRejected.connect(lambda: self._say(CUT, "danger"))
        for option in (self.case, self.whole, self.regex):
            option.toggled.connect(lambda _: self._restart())
        self._modes.buttonToggled.connect(lambda _, on: self._change_mode() if on else None)
        self.stop.clicked.connect(self.stop_search)
        self.setFocusProxy(self.field)

    def _lay_out(self) -> None:
        bar = QFrame()
        theme.variant(bar, "bar")
        row = QHBoxLayout(bar)
        row.setContentsMargins(theme.S, theme.XS + 2, theme.S, theme.XS + 2)
        row.setSpacing(theme.XS)
        modes = QHBoxLayout()
        modes.setSpacing(0)
        modes.addWidget(self.text)
        modes.addWidget(self.words)
        row.addLayout(modes)
        row.addSpacing(theme.XS)
        row.addWidget(self.field, 1)
        for widget in (self.case, self.whole, self.regex, self.stop):
            row.addWidget(widget)
        news = QHBoxLayout()
        news.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        news.addWidget(self.news, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(bar)
        layout.addLayout(news)
        layout.addWidget(self.list, 1)


def _cancel(handles: Sequence[Handle]) -> None:
    for handle in handles:
        handle.cancel()
