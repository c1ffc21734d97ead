"""The diagrams of relations that are open in a window, one per store, and the tabs opened from them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import shiboken6
from PySide6.QtCore import QObject

from lamella.core.errors import StoreProblem
from lamella.core.query.line import Line
from lamella.ui.widgets.hosts import widget_of

if TYPE_CHECKING:
    from lamella.core.store.store import Store
    from lamella.core.store.table import Table
    from lamella.ui.relations.relations_tab import RelationsTab
    from lamella.ui.tasks import Tasks
    from lamella.ui.window.commits import Commits
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.library import Library
    from lamella.ui.window.memory import Memory
    from lamella.ui.window.opening import Opening
    from lamella.ui.window.tab_set import TabSet


class FrontStore(Protocol):
    def of(self, path: Path | None = None) -> Store | None:
        """The store of a folder; by default that of the tab in front, or the one that imports go to."""


class DiagramWindow(Protocol):
    """The window, as far as diagrams need it."""

    tabs: TabSet
    tasks: Tasks
    commits: Commits
    opening: Opening
    library: Library
    memory: Memory

    @property
    def store_actions(self) -> FrontStore: ...

    def show_error(self, error: Exception) -> None: ...

    def update_state(self) -> None: ...


class Diagrams(QObject):
    def __init__(self, window: DiagramWindow) -> None:
        super().__init__(widget_of(window))
        self._window = window
        self._open: list[RelationsTab] = []
        window.commits.committed.connect(self._note_commit)

    def of(self, path: Path) -> RelationsTab | None:
        """The diagram of a store, if it is open."""
        return next((tab for tab in self.open if tab.store.path == path), None)

    @property
    def open(self) -> list[RelationsTab]:
        widgets = self._window.tabs.widgets
        self._open = [tab for tab in self._open if shiboken6.isValid(tab)]
        return [tab for tab in self._open if tab in widgets]

    @property
    def current(self) -> RelationsTab | None:
        """The diagram that is in front, if any."""
        return next((tab for tab in self.open if tab is self._window.tabs.current), None)

    def show(self, path: Path | None = None) -> None:
        """Show the diagram of a store by its folder; by default that of the tab in front, or the one that
        imports go to."""
        self._window.library.when_ready(partial(self._show, path))

    def _show(self, path: Path | None) -> None:
        window = self._window
        store = window.store_actions.of(path)
        if store is None:
            window.show_error(StoreProblem("No store is open", fix="Open one, or import a file"))
            return
        open_diagram = self.of(store.path)
        if open_diagram is not None:
            window.tabs.show_tab(open_diagram)
            return
        pending = window.tabs.pending_of("relations", store.path)
        if pending is not None:
            window.tabs.show_tab(pending)
            pending.retry()
            return
        diagram = self.make(store)
        window.tabs.add(diagram, f"{store.name} relations", "relation", f"Relations of {store.path}")

    def make(self, store: Store) -> RelationsTab:
        """Make the diagram of a store; it is not shown yet."""
        from lamella.ui.relations.relations_tab import RelationsTab

        window = self._window
        tab = RelationsTab(store, window.tasks, window.memory)
        tab.table_requested.connect(lambda name: window.opening.open_key((str(tab.store.path), name)))
        tab.rows_requested.connect(partial(self._show_rows, tab))
        tab.status_changed.connect(window.update_state)
        tab.changed.connect(self._tell_tabs)
        self._open.append(tab)
        return tab

    def _show_rows(self, diagram: RelationsTab, table: str, line: Line) -> None:
        def show(tab: DatasetTab) -> None:
            tab.steps.close_editor()
            tab.apply(line)

        self._window.opening.open_key((str(diagram.store.path), table), show)

    def _tell_tabs(self) -> None:
        """Let tabs of tables read again which relations lead from them."""
        for tab in self._window.tabs.dataset_tabs:
            tab.relations.read()

    def _note_commit(self, table: Table, _commit: object) -> None:
        """Tell the diagram that rows or columns of a table may have changed."""
        for diagram in self.open:
            if diagram.store is table.store:
                diagram.note_change(table.name)
