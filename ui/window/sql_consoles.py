"""The SQL consoles of a window: opening and naming them, what they may read, and their requests to the
window."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from lamella.core.errors import UnknownTable
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.line import Line, query_of_line
from lamella.core.query.source import Source
from lamella.core.store.table import Table
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.failures import sentence
from lamella.ui.window.file_watch import is_file, key_of, version_of
from lamella.ui.window.open_files import open_files
from lamella.ui.window.tab_set import is_console
from lamella.ui.window.table_columns import ask_table_of_rows
from lamella.ui.window.window import Window

if TYPE_CHECKING:
    from lamella.ui.sql.console import SqlConsole
    from lamella.ui.sql.open_names import OpenData

log = logging.getLogger(__name__)
ICON = "sql"
ABOUT = "SQL over what is open"


class SqlConsoles(QObject):
    """The consoles of one window. `attach` connects a result's grid with the window's menus and actions."""

    def __init__(self, window: Window, attach: Callable[[DatasetTab], object], parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._attach = window, attach
        self._num_consoles = 0

    @property
    def consoles(self) -> list[SqlConsole]:
        consoles: list[Any] = [widget for widget in self._window.tabs.widgets if is_console(widget)]
        return consoles

    @property
    def current(self) -> SqlConsole | None:
        current: Any = self._window.tabs.current
        console: SqlConsole | None = current if is_console(current) else None
        return console

    @property
    def front_store(self) -> Path | None:
        """The folder of the store of the console in front, if any."""
        current = self.current
        store = None if current is None else current.names.current
        return None if store is None else store.store.path

    def show(self) -> None:
        """Show the console opened last; if a console is in front, or none is open, open a new one."""
        consoles, tabs = self.consoles, self._window.tabs
        pending = [tab for tab in tabs.pending_tabs if tab.workspace_kind == ICON]
        if self.current is None and pending and not consoles:
            tabs.show_tab(pending[-1])
            pending[-1].retry()
        elif self.current is not None or not consoles:
            self.open()
        else:
            tabs.show_tab(consoles[-1])
            consoles[-1].setFocus()

    def open(self, state: Mapping[str, Any] | None = None) -> SqlConsole:
        """Open a console with the text of a `state`, or with a statement on the current tab's rows."""
        tab = None if state is not None or self.current is not None else self._window.tabs.dataset_tab
        page = self._window.diagrams.current or self._window.store_actions.current_page
        console = self.make(state)
        if tab is not None:
            self._begin_with(console, tab)
        elif state is None and page is not None:
            console.restore({"store": str(page.store.path)})
        self._window.tabs.add(console, console.title, ICON, ABOUT)
        console.setFocus()
        return console

    def make(self, state: Mapping[str, Any] | None = None) -> SqlConsole:
        """Make a console with the text of a `state`; it is not shown yet."""
        from lamella.ui.sql.console import SqlConsole

        window = self._window
        console = SqlConsole(
            self.open_data, window.tasks, window.commits, window.memory.saved_views, self._attach,
            window.tabs.pages,
        )  # fmt: skip
        self._num_consoles += 1
        console.title = "SQL" if self._num_consoles == 1 else f"SQL {self._num_consoles}"
        if state is not None:
            console.restore(state)
        console.changed.connect(window.update_state)
        console.title_changed.connect(partial(self._rename, console))
        console.table_requested.connect(partial(ask_table_of_rows, window))
        console.steps_requested.connect(partial(self._show_steps, console))
        console.tables_changed.connect(lambda _: window.library.refresh())
        return console

    def _rename(self, console: SqlConsole, title: str) -> None:
        self._window.tabs.rename(console, title, ABOUT)
        self._window.update_state()

    def open_for_steps(self, tab: DatasetTab) -> None:
        """Open a console with what a tab shows as SQL."""
        line, dataset, window = tab.line, tab.dataset, self._window

        def write(job: Job) -> str:
            from lamella.core.query.pipeline_sql import to_sql

            query = query_of_line(line, dataset, line.active)
            return to_sql(query.pipeline, query.sources, job)

        def show(text: str) -> None:
            from lamella.ui.sql.open_names import as_word

            console = self.open({**self._names_of(tab), "text": text, "title": f"SQL {tab.name}"})
            own = self.open_data().name_of(tab.key) if is_file(tab.key) else ""
            if own and own != as_word(dataset.name):
                console.results.messages.say(
                    f"'{dataset.name}' is another table or file here: write {own} for the rows of {tab.name}",
                    stays=True,
                )

        window.tasks.read(
            write, show, lambda error: tab.messages.say(sentence(error), kind="message-danger"), owner=self,
            quiet=True,
        )  # fmt: skip

    def save(self, otherwise: Callable[[], object]) -> None:
        """Save the text of the current console as a snippet; without a console, call `otherwise`."""
        if self.current is not None:
            self.current.ask_snippet()
        else:
            otherwise()

    def follow_changes(self) -> None:
        """Stores, tables or files have changed."""
        for console in self.consoles:
            console.show_stores()

    def reopen(self, key: tuple[str, ...]) -> bool:
        """One that was closed; False for the key of another tab."""
        if key[0] != ICON:
            return False
        self.open(json.loads(key[1]))
        return True

    def open_data(self) -> OpenData:
        """What consoles may read."""
        from lamella.ui.sql.open_names import OpenData, OpenStore

        window = self._window
        tables: dict[str, list[str]] = {}
        listed = [entry.key for entry in window.sidebar.entries("table")]
        open_keys = [tab.key for tab in window.tabs.dataset_tabs if tab.table is not None]
        for store, table in dict.fromkeys([*listed, *open_keys]):
            tables.setdefault(store, []).append(table)
        stores = tuple(
            OpenStore(store, store.name, tuple(tables.get(str(store.path), ())))
            for store in window.library.stores
        )
        return OpenData(stores, open_files(window))

    def _begin_with(self, console: SqlConsole, tab: DatasetTab) -> None:
        """Its rows, selected, so that what is typed or pasted replaces them."""
        from lamella.core.query.sql.completion import Words

        console.restore(self._names_of(tab))
        name = self.open_data().name_of(tab.key, console.names.store) if is_file(tab.key) else tab.key[1]
        version = version_of(tab.key)
        at = "" if version is None else f" at (version => {version})"
        text = f"select *\nfrom {Words(reserved_words=RESERVED_WORDS).quote(name)}{at}\nlimit 100"
        console.restore({"text": text})
        console.editor.select(0, len(text))

    def _names_of(self, tab: DatasetTab) -> dict[str, str]:
        """The store of a table, so that its name needs no prefix."""
        return {"store": tab.key[0]} if tab.table is not None else {}

    def _show_steps(self, console: SqlConsole, text: str) -> None:
        """In the tab of the first dataset that the statement names."""
        datasets, window = console.names.datasets(), self._window

        def find(name: str) -> Source:
            alike = {dataset_name.casefold(): dataset_name for dataset_name in datasets}
            dataset_name = name if name in datasets else alike.get(name.casefold())
            elsewhere = [each for each in datasets if each.casefold().endswith(f".{name}".casefold())]
            if dataset_name is None and len(elsewhere) == 1:  # a step cannot name the store
                dataset_name = elsewhere[0]
            if dataset_name is None:
                raise UnknownTable(name, "what is open", list(datasets))
            return datasets[dataset_name]()

        def read(job: Job) -> Query:
            from lamella.core.query.sql_reader import from_text

            return from_text(text, find)

        def show(query: Query) -> None:
            first = query.sources[query.name]
            sources = {name: source for name, source in query.sources.items() if name != query.name}
            line = Line.of(query.pipeline.steps, sources)
            key = self._key_of(first)
            if key is None:
                console.results.messages.say(f"{query.name} is no longer open", kind="message-danger")
            else:
                window.opening.open_key(key, lambda tab: show_rows(tab, line))

        def show_rows(tab: DatasetTab, line: Line) -> None:
            if tab.charting.is_shown:  # of columns that the answer need not have
                tab.charting.hide()
            tab.apply(line)

        window.tasks.read(
            read, show,
            lambda error: console.results.messages.say(
                f"The statement cannot be shown as steps: {sentence(error)}", kind="message-danger"
            ),
            owner=console, quiet=True,
        )  # fmt: skip

    def _key_of(self, source: Source) -> tuple[str, ...] | None:
        key = key_of(source)
        is_open = key is not None and (isinstance(source, Table) or self._window.tabs.with_key(tuple(key)))
        return tuple(key) if key is not None and is_open else None


RESERVED_WORDS = frozenset(
    [
        "all", "and", "as", "case", "desc", "from", "group", "in", "limit", "not", "null", "on", "or",
        "order", "select", "table", "to", "union", "user", "using", "when", "where", "with",
    ]
)  # fmt: skip
"""The words among DuckDB's that files and tables are likely to be called by."""
