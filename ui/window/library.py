"""The datasets that a window can open: stores with their tables, and files in place."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.tables import SeveralTables
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, LamellaError, ReadOnlyStore, StoreProblem
from lamella.core.jobs import Job
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.spark_connect import is_server_address
from lamella.core.scan.file_checks import checks
from lamella.core.store.importing import import_dataset
from lamella.core.store.paths import CATALOG, is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.sidebar import StoreEntry
from lamella.ui.window.commits import Commits
from lamella.ui.window.failures import OPEN_ANYWAY, PAD
from lamella.ui.window.file_readings import FileReading, FileReadings
from lamella.ui.window.file_watch import (
    Key,
    Opener,
    file_key,
    is_file,
    open_file,
    opener,
    table_of_file,
    version_of,
)

T = TypeVar("T")
Listing = list[StoreEntry]
log = logging.getLogger(__name__)


def _entry_of(store: Store) -> StoreEntry:
    """The sidebar's entry of a store. Reads the catalog."""
    tables = tuple(store.tables)
    views = {table: tuple(sorted(store.views.of(table))) for table in tables} if store.views else {}
    return StoreEntry(store.path, store.name, tables, views)


def open_store(path: Path) -> Store:
    """Open a store, or read-only where nothing can be written; none is created. Blocks."""
    if not is_store(path):
        raise StoreProblem(
            f"Store {path.name} is no longer at {path}",
            "Its disk was removed, or its folder moved or deleted",
            "Bring it back and try again, or open it where it is now",
        )
    try:
        return Store.open(path)
    except ReadOnlyStore:
        return Store.open(path, read_only=True)


MOST_TABLES = 200


def _rows_of(stores: Sequence[Store], job: Job) -> dict[Key, int]:
    """The row counts of the first tables of each store. A table that cannot be read has none: opening it says
    why."""
    rows: dict[Key, int] = {}
    for store in stores:
        for name in islice(store.tables, MOST_TABLES):
            job.check()
            try:
                rows[str(store.path), name] = store[name].num_rows
            except LamellaError as error:
                log.warning("The rows of table %r of %s were not counted: %s", name, store.path, error)
    return rows


class Library(QObject):
    """The open stores and files.

    `opened` carries a dataset and its key. Three signals carry why a file was not opened, and its key:
    `fillable` if filling up its short rows would help, `doubtful` if its checksums differ, and `several` if
    it holds several tables. `damage_found` carries a file that was read before it turned out to be damaged,
    and `counted` the numbers of rows by table key.
    """

    opened = Signal(object, tuple)
    failed = Signal(Exception)
    fillable = Signal(Exception, tuple)
    doubtful = Signal(Exception, tuple)
    several = Signal(Exception, tuple)
    damage_found = Signal(object)
    stores_changed = Signal(list)
    counted = Signal(object)

    def __init__(self, tasks: Tasks, readings: FileReadings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stores: list[Store] = []
        self.readings = readings
        self._tasks = tasks
        self.no_home: LamellaError | None = None
        self._ready = False
        self._ranks: dict[Path, int] = {}
        self._end_listening = checks.listen(self.damage_found.emit)
        self._waiting: list[Callable[[], object]] = []
        self._listing: Handle | None = None
        self.listing: Listing = []
        """The listing as it was last emitted."""

    @property
    def home(self) -> Store:
        """The store that imports go to by default; available once the library is ready."""
        return self.stores[0]

    def when_ready(self, then: Callable[[], object]) -> None:
        """Call `then` once the stores are open; at once if they are."""
        then() if self._ready else self._waiting.append(then)

    def when_home(self, then: Callable[[], object]) -> None:
        """Call `then` once there is a store for imports; if there is none, say why."""
        self.when_ready(lambda: self.failed.emit(self.no_home) if self.no_home else then())

    def refresh(self) -> None:
        """Read the names of the tables again."""
        stores = list(self.stores)

        def work(job: Job) -> Listing:
            return [_entry_of(store) for store in stores]

        def show(listing: Listing) -> None:
            self.listing = listing
            self.stores_changed.emit(listing)
            self._tasks.read(
                lambda job: _rows_of(stores, job), self.counted.emit, self.failed.emit, owner=self, quiet=True
            )

        if self._listing is not None:
            self._listing.cancel()
        self._listing = self._tasks.read(work, show, self.failed.emit, owner=self, quiet=True)

    def count(self, table: Table) -> None:
        """Count the rows of a table that has changed."""
        self._tasks.read(
            lambda job: {table_key(table): table.num_rows}, self.counted.emit, owner=self, quiet=True
        )

    def open_path(self, path: Path) -> None:
        """Open a file, folder or glob in place; a folder that is a store is opened as a store."""
        if path.name == CATALOG and is_store(path.parent):
            path = path.parent
        if is_store(path):
            self._tasks.read(
                lambda job: open_store(path),
                self.add_store,
                self.failed.emit,
                discard=Store.close,
                owner=self,
                text=f"Opening {path.name}",
            )
        else:
            self._open_file(file_key(path))

    def open_with_padding(self, key: Key) -> None:
        """Open a file with its short rows filled up with nulls."""
        self._open_file(key, replace(self.readings.of(key), ragged="pad"))

    def open_without_checksums(self, key: Key) -> None:
        """Open a file without verifying its checksums."""
        self._open_file(key, replace(self.readings.of(key), checksums="ignore"))

    def open_tables_of_file(self, keys: Sequence[Key]) -> None:
        """Open the tables one after the other, so that their tabs are in this order."""
        if keys:
            self._open_file(keys[0], then=lambda: self.open_tables_of_file(keys[1:]))

    def _open_file(
        self, key: Key, new_reading: FileReading | None = None, then: Callable[[], object] = lambda: None
    ) -> None:
        name = table_of_file(key) or path_or_address(key[0]).name
        reading = new_reading or FileReading(options=self.readings.of(key).options)

        def show(dataset: Dataset) -> None:
            self.readings.put(key, reading)
            self.opened.emit(dataset, key)
            then()

        def report_failure(error: Exception) -> None:
            if isinstance(error, RaggedRow) and error.paddable:
                self.fillable.emit(error, key)
            elif isinstance(error, DamagedFile) and error.readable_anyway:
                self.doubtful.emit(error, key)
            elif isinstance(error, SeveralTables):
                self.several.emit(error, key)
            else:
                self.failed.emit(error)
            then()

        def work(job: Job) -> Dataset:
            return open_file(key, reading, job)

        self._tasks.read(work, show, report_failure, owner=self, text=f"Opening {name}")

    def open_table(self, key: Key) -> None:
        store = next((store for store in self.stores if str(store.path) == key[0]), None)
        if store is None:
            problem = StoreProblem(
                f"{key[1]} cannot be opened", f"its store {key[0]} is not open", "Open that folder first"
            )
            self.failed.emit(problem)
        else:
            version = version_of(key)

            def read(job: Job) -> Dataset:
                return store[key[1]] if version is None else store[key[1]].as_of(version)

            self._read(read, lambda rows: self.opened.emit(rows, key), f"Opening {key[1]}")

    def with_store(
        self, path: Path, then: Callable[[], object], on_error: Callable[[Exception], object]
    ) -> None:
        """Call `then` once the store of a folder is listed; it is opened if it is not."""

        def look() -> None:
            if any(store.path == path for store in self.stores):
                then()
            else:
                self._tasks.read(
                    lambda job: open_store(path), add, on_error, discard=Store.close, owner=self, quiet=True
                )

        def add(store: Store) -> None:
            self.add_store(store)
            then()

        self.when_ready(look)

    def opener(self) -> Opener:
        """Opens files, and tables of the stores that are currently listed."""
        return opener({str(store.path): store for store in self.stores}, self.readings.of)

    def open_key(self, key: Key) -> None:
        if not is_file(key):
            self.when_ready(lambda: self.open_table(key))
        elif table_of_file(key) is not None or is_server_address(key[0]):
            self._open_file(key)
        else:
            self.open_path(path_or_address(key[0]))

    def import_dataset(
        self, dataset: Dataset, on_result: Callable[[Key], None], on_cancel: Callable[[], object]
    ) -> None:
        """Copy a file that is open in place into `home`, then open the table."""
        store = self.home

        def work(job: Job) -> tuple[Table, Key]:
            table = import_dataset(dataset, store, None, job)
            return table, table_key(table)

        def show(table_and_key: tuple[Table, Key]) -> None:
            table, key = table_and_key
            self.refresh()
            self.opened.emit(table, key)
            on_result(key)

        self._tasks.write(
            work,
            show,
            self.failed.emit,
            on_cancel=on_cancel,
            owner=self,
            text=f"Importing {dataset.name}",
        )

    def show_imports(self, tables: Sequence[Table]) -> None:
        """List and show tables that were just imported."""
        self.refresh()
        self._read(lambda job: [table_key(table) for table in tables], self._open_keys, "Opening")

    def _open_keys(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self.open_key(key)

    def remove_store(self, store: Store) -> None:
        """Take a store off the list and close it off the GUI thread; pending changes are flushed first."""
        self.stores.remove(store)
        self._tasks.write(lambda job: store.close(), owner=self, text=f"Closing {store.name}")
        self.refresh()

    def replace_store(self, old: Store, new: Store) -> None:
        """Replace a store by the same one, reopened or moved."""
        self.stores[self.stores.index(old)] = new
        if old.path in self._ranks:
            self._ranks[new.path] = self._ranks[old.path]
        self.refresh()

    def close(self) -> None:
        self._end_listening()
        for store in self.stores:
            store.close()

    def _read(self, work: Callable[[Job], T], on_result: Callable[[T], None], text: str) -> None:
        self._tasks.read(work, on_result, self.failed.emit, owner=self, text=text)

    def start(self, stores: Sequence[Store], no_home: LamellaError | None) -> None:
        """List the stores. The first becomes `home`, unless `no_home` says why there is none."""
        self.no_home = no_home
        self._list(stores)
        if no_home is None:
            home = stores[0].path
            self.stores.sort(key=lambda store: store.path != home)
        self._sort()
        self._be_ready()

    def add_store(self, store: Store) -> None:
        """List a store; if it is already listed, the new one is closed."""
        self.add_stores([store])

    def add_stores(self, stores: Sequence[Store]) -> None:
        """List stores. The first store ever listed is `home` until `start` chooses another."""
        self._list(stores)
        self._be_ready()

    def _list(self, stores: Sequence[Store]) -> None:
        for store in stores:
            if store.path in [listed_store.path for listed_store in self.stores]:
                store.close()
            else:
                self.stores.append(store)
        self._sort()

    def keep_order(self, paths: Sequence[Path]) -> None:
        """List these stores in this order after `home`, whichever is opened first; others follow."""
        self._ranks = {path: rank for rank, path in enumerate(paths)}

    def _sort(self) -> None:
        self.stores[1:] = sorted(
            self.stores[1:], key=lambda store: self._ranks.get(store.path, len(self._ranks))
        )

    def _be_ready(self) -> None:
        self.refresh()
        self._ready = True
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()


def table_key(table: Table) -> Key:
    """The key of a table. Blocks: its name is read from the catalog."""
    return (str(table.store.path), table.name)


REST_SECONDS = 20


class IdleFlush(QObject):
    """Flushes pending changes some time after the last commit, in the queue of writes."""

    def __init__(self, tasks: Tasks, commits: Commits, stores: Callable[[], Sequence[Store]]) -> None:
        super().__init__(commits)
        self._tasks, self._stores = tasks, stores
        self.timer = QTimer(self, interval=REST_SECONDS * 1000, singleShot=True)
        self.timer.timeout.connect(self._flush)
        commits.committed.connect(lambda *_: self.timer.start())

    def _flush(self) -> None:
        stores = list(self._stores())

        def work(job: Job) -> None:
            for store in stores:
                store.maintenance.flush_idle(job)

        self._tasks.write(work, owner=self, text="Flushing pending changes", quiet=True)


def ask_fill_up(error: LamellaError, key: Key, library: Library, window: QWidget) -> None:
    """Say why the file was not opened, and offer to open it with its short rows filled up."""
    _ask(error, PAD, lambda: library.open_with_padding(key), window)


def ask_open_anyway(error: LamellaError, key: Key, library: Library, window: QWidget) -> None:
    """Offer to open a file whose checksums differ; not the default choice, since what it shows may be
    wrong."""
    box = _ask(error, OPEN_ANYWAY, lambda: library.open_without_checksums(key), window)
    box.setDefaultButton(QMessageBox.StandardButton.Cancel)


def ask_tables(
    error: SeveralTables, key: Key, open_keys: Callable[[Sequence[Key]], object], window: QWidget
) -> None:
    """Ask which tables of a file to open, each in a tab of its own."""
    from lamella.ui.dialogs.table_choice import TableChoice

    dialog = TableChoice(path_or_address(key[0]).name, error.tables, window)
    dialog.chosen.connect(lambda names: open_keys([file_key(key[0], name) for name in names]))
    dialog.open()


def _ask(error: LamellaError, label: str, then: Callable[[], object], window: QWidget) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.Warning, "Lamella", error.headline, parent=window)
    box.setInformativeText(f"{error.why}. {error.fix}.")
    otherwise = box.addButton(label, QMessageBox.ButtonRole.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(otherwise)
    box.finished.connect(lambda _: box.clickedButton() is otherwise and then())
    box.finished.connect(box.deleteLater)
    box.open()
    return box
