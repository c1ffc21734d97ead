"""The search in everything that is open, as a tab of a window, and going from a result to its row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject

from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError, StoreProblem
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.source import whole_snapshot
from lamella.core.store.store import Store
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.commits import row_of
from lamella.ui.window.open_files import OpenFile, open_files

if TYPE_CHECKING:
    from lamella.ui.find.everywhere import SearchEverywhere
    from lamella.ui.find.result_list import Result
    from lamella.ui.find.table_search import ListSources, Source
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.window import Window

TITLE = "Find everywhere"
MISSING_ROW_TEXT = "The row is no longer in {name}"
STEPS_OFF = "The steps were removed to show the row"


class Searches(QObject):
    """The search tab of a window, which keeps its state while other tabs are shown."""

    def __init__(self, window: Window) -> None:
        super().__init__(widget_of(window))
        self._window = window
        self._tab: SearchEverywhere | None = None

    @property
    def tab(self) -> SearchEverywhere | None:
        """The search tab; None if it is not open."""
        tab = self._tab
        is_open = tab is not None and shiboken6.isValid(tab) and tab in self._window.tabs.widgets
        return tab if is_open else None

    @property
    def current(self) -> SearchEverywhere | None:
        """The search tab, if it is in front."""
        return self.tab if self.tab is not None and self.tab is self._window.tabs.current else None

    def show(self) -> SearchEverywhere:
        window = self._window
        for pending in window.tabs.pending_tabs:
            if pending.workspace_kind == "search":
                pending.open()
        tab = self.tab
        if tab is None:
            tab = self.make()
            window.tabs.add(tab, TITLE, "search", "Find a text in all tables and open files")
        else:
            window.tabs.show_tab(tab)
        tab.begin()
        return tab

    def make(self) -> SearchEverywhere:
        """Make the search tab; it is not shown yet."""
        from lamella.ui.find.everywhere import SearchEverywhere

        tab = self._tab = SearchEverywhere(self._sources, self._window.tasks)
        tab.chosen.connect(self._go)
        tab.status_changed.connect(self._window.update_state)
        return tab

    def _sources(self) -> ListSources:
        """Lists what to search: open files first, then the tables of the open stores."""
        from lamella.ui.find.table_search import Source

        window = self._window
        files = [
            Source(file.key, file.title, str(Path(file.key[0]).parent), partial(_whole, file))
            for file in open_files(window)
        ]
        stores = list(window.library.stores)
        return lambda job: [*files, *(table for store in stores for table in _tables(store))]

    # ------------------------------------------------------------ going to a result

    def _go(self, result: Result) -> None:
        self._window.opening.open_key(result.key, partial(self._arrive, result))

    def _arrive(self, result: Result, tab: DatasetTab) -> None:
        """Go to the row; if the tab's steps exclude it, remove them."""
        view, row_id = tab.view, result.row_id
        if view is None:
            return
        if row_id is None:
            if tab.line.active:
                tab.apply(Line())
                tab.messages.say(STEPS_OFF, ("Back", tab.go_back))
            tab.when_shown(partial(self._show_cell, tab, result, result.row))
            return
        if tab.editable is None:
            self._without_steps(result, tab)
            return

        def look(job: Job) -> int | None:
            return row_of(view, row_id, result.row, job)

        def go(row: int | None) -> None:
            if tab.view is not view:
                return
            if row is not None:
                self._show_cell(tab, result, row)
            elif tab.line.active:
                self._without_steps(result, tab)
            else:
                tab.messages.say(MISSING_ROW_TEXT.format(name=tab.name))

        tab.tasks.read(look, go, tab.failures.show, owner=tab, text="Finding the row")

    def _without_steps(self, result: Result, tab: DatasetTab) -> None:
        tab.steps.close_editor()
        tab.apply(Line())
        tab.when_shown(partial(self._arrive, result, tab))
        tab.messages.say(STEPS_OFF, ("Back", tab.go_back))

    def _show_cell(self, tab: DatasetTab, result: Result, row: int) -> None:
        """Go to the cell, showing its column if it was hidden. The find bar continues from there."""
        names = tab.grid.grid_model.names
        tab.show_rows()
        tab.grid.setFocus()
        tab.grid.go_to(row, tab.grid.first_place())
        if result.column in names:
            tab.grid.go_to_column(names.index(result.column))
        if self.tab is not None and not self.tab.words.isChecked():
            tab.finding.look_for(self.tab.pattern)


def search_handlers(
    window: Window, on: Callable[[Callable[[DatasetTab], object]], Callable[[], object]]
) -> dict[str, Callable[[], object]]:
    """The handlers of the search actions, by their ids; `on` makes a handler of a function of the current
    tab."""
    return {
        "find": on(lambda tab: tab.finding.open()),
        "find_next": on(lambda tab: tab.finding.step(1)),
        "find_previous": on(lambda tab: tab.finding.step(-1)),
        "find_everywhere": window.searches.show,
        "replace": on(lambda tab: tab.finding.replace()),
        "indexes": on(lambda tab: tab.finding.show_indexes()),
    }


def _whole(file: OpenFile, job: Job) -> Dataset:
    """The dataset, read to its end if it is a file that is still being read."""
    dataset = file.open(job)
    whole_snapshot(dataset, job)
    return dataset


def _tables(store: Store) -> list[Source]:
    """The tables of a store. If it cannot be read, one source that raises why. Blocks."""
    from lamella.ui.find.table_search import Source

    path = str(store.path)
    try:
        return [Source((path, name), name, store.name, partial(_table, store, name)) for name in store.tables]
    except LamellaError as error:
        return [Source((path,), store.name, path, partial(_refuse, error))]


def _refuse(error: LamellaError, job: Job) -> Dataset:
    raise error


def _table(store: Store, name: str, job: Job) -> Dataset:
    if name not in store.tables:
        raise StoreProblem(f"{name} was dropped or renamed")
    return store[name]
