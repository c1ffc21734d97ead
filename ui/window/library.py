"""What can be opened: the stores with their tables, and files in place. Opened off the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core.dataset import Dataset
from core.datasets import open_dataset
from core.jobs import Job
from core.store.catalog import NAME as CATALOG
from core.store.store import Store
from core.store.table import Table
from core.transfer import import_dataset
from ui.tasks import Tasks
from ui.widgets.sidebar import StoreEntry

Key = tuple[str, ...]
Listing = list[StoreEntry]


class Library(QObject):
    """`opened` has a dataset and its key: (path,) for files, (store folder, table) for tables."""

    opened = Signal(object, tuple)
    failed = Signal(Exception)
    stores_changed = Signal(list)

    def __init__(self, stores: Sequence[Store], tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stores = list(stores)
        self._tasks = tasks

    @property
    def home(self) -> Store:
        """Where imports go unless somebody says otherwise."""
        return self.stores[0]

    def refresh(self) -> None:
        """Read the names of the tables again."""
        stores = list(self.stores)

        def work(job: Job) -> Listing:
            return [StoreEntry(store.path, store.name, tuple(store.tables)) for store in stores]

        self._tasks.read(work, self.stores_changed.emit, self.failed.emit, owner=self, quiet=True)

    def open_path(self, path: Path) -> None:
        """A file, folder or glob in place; a folder that is a store as one."""
        if (path / CATALOG).exists():
            self._read(lambda job: Store.open(path), self.add_store, f"Opening {path.name}")
        else:
            self._read(lambda job: open_dataset(path), lambda d: self.opened.emit(d, (str(path),)),
                       f"Opening {path.name}")  # fmt: skip

    def open_table(self, key: Key) -> None:
        store = next(store for store in self.stores if str(store.path) == key[0])
        self._read(lambda job: store[key[1]], lambda table: self.opened.emit(table, key), f"Opening {key[1]}")

    def open_key(self, key: Key) -> None:
        self.open_table(key) if len(key) > 1 else self.open_path(Path(key[0]))

    def import_dataset(self, dataset: Dataset, done: Callable[[Table], None]) -> None:
        """Copy a file that is open in place into `home`, then open the table."""
        store = self.home

        def imported(table: Table) -> None:
            self.refresh()
            self.opened.emit(table, table_key(table))
            done(table)

        self._tasks.write(
            lambda job: import_dataset(dataset, store, None, job), imported, self.failed.emit,
            owner=self, text=f"Importing {dataset.name}",
        )  # fmt: skip

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def _read(self, work: Callable[[Job], object], done: Callable[[object], None], text: str) -> None:
        self._tasks.read(work, done, self.failed.emit, owner=self, text=text)

    def add_store(self, store: Store) -> None:
        """List a store; one that is listed already is closed again."""
        if store.path in [known.path for known in self.stores]:
            store.close()
        else:
            self.stores.append(store)
        self.refresh()


def table_key(table: Table) -> Key:
    return (str(table.store.path), table.name)
