"""Keeping open tabs up to date with their store: when it moves, when its disk disappears and returns, and
when another program commits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.store.commit import Commit
from lamella.core.store.paths import CATALOG, NO_FILE, FileIdentity, file_identity, is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui.tasks import Handle
from lamella.ui.window.file_watch import is_file

if TYPE_CHECKING:
    from lamella.ui.tasks import Tasks
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.library import Library
    from lamella.ui.window.memory import Memory
    from lamella.ui.window.tab_set import TabSet

LOOK_EVERY_MS = 2_500
Tables = dict[str, Table]


def tabs_of(tabs: TabSet, path: Path) -> list[DatasetTab]:
    """The tabs that show tables of a store."""
    return [tab for tab in tabs.dataset_tabs if not is_file(tab.key) and tab.key[0] == str(path)]


def read_tables(store: Store, names: list[str]) -> Tables:
    """The tables that still exist, with their rows already known, so that tabs show them without delay.
    Blocks."""
    tables = {name: store[name] for name in names if name in store}
    for table in tables.values():
        table.snapshot()
    return tables


def follow(tabs: TabSet, old: Store, new: Store, tables: Tables) -> None:
    """Let the tabs of one store show the tables of another, with the same steps and scroll position. `tables`
    are the new store's, by name; the tab of a table that no longer exists stays as it is."""
    for tab in tabs_of(tabs, old.path):
        table = tables.get(tab.key[1])
        if table is None:
            continue
        tab.key = (str(new.path), table.name)
        tab.setProperty("tip", " / ".join(tab.key))
        tab.visits.change_lines(lambda line: _line_after_move(line, old, tables))
        tab.line = _line_after_move(tab.line, old, tables)
        tab.show_dataset(table)
    for tab in tabs.dataset_tabs:
        if any(_is_of(source, old) for source in tab.line.sources.values()):
            tab.visits.change_lines(lambda line: _line_after_move(line, old, tables))
            tab.line = _line_after_move(tab.line, old, tables)
            tab.reload()


def _is_of(source: object, store: Store) -> bool:
    return isinstance(source, Table) and source.store is store


def _line_after_move(line: Line, old: Store, tables: Tables) -> Line:
    """The line with the new store's tables in place of the old ones that its joins name."""
    sources = {
        name: tables.get(name, source) if _is_of(source, old) else source
        for name, source in line.sources.items()
    }
    return line.with_sources(sources)


def joined_names(tabs: TabSet, store: Store) -> list[str]:
    """The names of a store's tables that are shown or joined in a tab."""
    open_names = [tab.key[1] for tab in tabs_of(tabs, store.path)]
    joined = [
        name
        for tab in tabs.dataset_tabs
        for name, source in tab.line.sources.items()
        if _is_of(source, store)
    ]
    return list(dict.fromkeys([*open_names, *joined]))


def move_records(memory: Memory, old: Path, new: Path, tables: list[str]) -> None:
    """Move what is remembered about a store to its new path."""
    keys = [("relations",), ("store",)]
    for (kind,) in keys:
        if saved := memory.layout((kind, str(old))):
            memory.save_layout((kind, str(new)), saved)
    for name in tables:
        if saved := memory.layout((str(old), name)):
            memory.save_layout((str(new), name), saved)


@dataclass(frozen=True)
class StoreState:
    """The identity of the catalog's file, and the newest versions of its tables; None if they cannot be
    read."""

    identity: FileIdentity
    versions: dict[str, int] | None

    @classmethod
    def of(cls, store: Store) -> StoreState:
        """Read the state of a store. Blocks."""
        identity, versions = file_identity(store.path / CATALOG), None
        if identity != NO_FILE:
            with suppress(LamellaError):  # closed meanwhile, or damaged: reading its rows says so
                versions = store.versions
        return cls(identity, versions)


class StoreWatch(QObject):
    """Checks regularly whether the stores are still where they were opened, and for commits of other
    programs.

    `lost` carries a store whose disk disappeared, or whose folder was moved or replaced; `reopened` carries
    it again once it is back, and the store that was opened in its place. A store that is being moved from
    here is not checked meanwhile: see `pause`. `committed` carries a store, a table, and its last known
    version before another program committed. Tables that were added or removed are listed again.
    """

    lost = Signal(object)
    reopened = Signal(object, object)
    committed = Signal(object, str, int)

    def __init__(self, library: Library, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._library, self._tasks = library, tasks
        self._identities: dict[Store, FileIdentity] = {}
        self._versions: dict[Store, dict[str, int]] = {}
        self.missing: set[Store] = set()
        self._paused_stores: set[Store] = set()
        self._looking: Handle | None = None
        self.timer = QTimer(self, interval=LOOK_EVERY_MS)
        self.timer.timeout.connect(self.look)
        library.stores_changed.connect(lambda _: self.look())
        self.timer.start()

    def pause(self, store: Store) -> None:
        self._paused_stores.add(store)

    def forget(self, store: Store) -> None:
        """Stop checking a store that was closed or moved."""
        self._identities.pop(store, None)
        self._versions.pop(store, None)
        self.missing.discard(store)
        self._paused_stores.discard(store)

    def expect(self, store: Store, commit: Commit) -> None:
        """Expect a commit of this program, which its windows follow on their own."""
        if commit.table in self._versions.get(store, {}):
            self._versions[store][commit.table] = commit.version
        if self._looking is not None:
            self._looking.cancel()  # it may have read an older state

    @property
    def is_looking(self) -> bool:
        return self._looking is not None and self._looking.running

    def look(self) -> None:
        """Check the stores off the GUI thread: a missing disk may take long to report an error."""
        if self.is_looking:
            return
        stores = [store for store in self._library.stores if store not in self._paused_stores]

        def work(job: Job) -> dict[Store, StoreState]:
            return {store: StoreState.of(store) for store in stores}

        self._looking = self._tasks.read(work, self._compare, lambda error: None, owner=self, quiet=True)

    def _compare(self, states: dict[Store, StoreState]) -> None:
        for store, state in states.items():
            if store not in self._library.stores or store in self._paused_stores:
                continue
            now = state.identity
            identity = self._identities.setdefault(store, now)
            is_there = now == identity and now != NO_FILE
            if store in self.missing:
                if now != NO_FILE:
                    self._open_again(store)
            elif not is_there:
                self.missing.add(store)
                self.lost.emit(store)
            elif state.versions is not None and not self._tasks.writing:  # else its own commit comes first
                self._compare_versions(store, state.versions)

    def _compare_versions(self, store: Store, versions: dict[str, int]) -> None:
        old_versions = self._versions.get(store, versions)
        self._versions[store] = versions
        listed = next((entry.tables for entry in self._library.listing if entry.path == store.path), None)
        if listed is not None and versions.keys() != set(listed):
            self._library.refresh()
        for name, version in versions.items():
            if version != old_versions.get(name, version):
                self.committed.emit(store, name, old_versions[name])

    def _open_again(self, store: Store) -> None:
        self.pause(store)

        def work(job: Job) -> Store | None:
            if not is_store(store.path):
                return None
            store.close()
            return Store.open(store.path, read_only=store.read_only)

        def finish(opened: Store | None) -> None:
            self._paused_stores.discard(store)
            if opened is not None:
                self.forget(store)
                self.reopened.emit(store, opened)

        def fail(error: Exception) -> None:
            self._paused_stores.discard(store)
            if not isinstance(error, LamellaError):
                self._tasks.failed.emit(error)

        self._tasks.read(work, finish, fail, discard=_close, owner=self, quiet=True)


def _close(store: Store | None) -> None:
    if store is not None:
        store.close()
