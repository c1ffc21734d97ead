"""Noticing when the file of a tab changes on disk, and offering to read it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer
from PySide6.QtWidgets import QApplication

from lamella.core.datasets.base import Dataset, paths_of
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.errors import BadQuery, LamellaError, StoreProblem
from lamella.core.jobs import Job
from lamella.core.query.source import Source
from lamella.core.remote.addresses import is_address
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.remote.spark_connect import listed_name, server_table
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.file_readings import FileReading
from lamella.ui.window.loader import Tab

LOOK_AFTER_MS = 700  # a program that writes a file does so in several steps
MOST_FILES = 64
WATCHER = "file watcher"
RELOAD = "Reload"


Key = tuple[str, ...]
"""The key of a tab: (path,) for a file, (path, "", table) for one of its tables, (folder, table) for a
store's table, and (folder, table, version) for an earlier version of that."""


def file_key(path: Path | str, table: str | None = None) -> Key:
    return (str(path),) if table is None else (str(path), "", table)


def is_file(key: Key) -> bool:
    return len(key) == 1 or key[1] == ""


def icon_of(key: Key) -> str:
    """The icon of a tab."""
    return "file" if is_file(key) and server_table(path_or_address(key[0])) is None else "table"


def folder_of(key: Key) -> Path:
    """The folder proposed for files written from a tab: that of its file, otherwise the home folder."""
    return Path(key[0]).parent if len(key) == 1 and not is_address(key[0]) else Path.home()


def table_of_file(key: Key) -> str | None:
    """The table or sheet that a tab shows, if its file holds several."""
    return key[2] if is_file(key) and len(key) > 1 else None


def name_of_key(key: Key) -> str:
    """The title of a tab: what the table or file was called when it was opened."""
    if not is_file(key):
        return key[1] + (f" · version {key[2]}" if len(key) > 2 else "")
    table = table_of_file(key)
    return listed_name(path_or_address(key[0])) + (f" · {table}" if table else "")


def entry_key(key: Key) -> Key:
    """The key of the sidebar entry for a tab: a file has one entry for all its tables, a table one for all
    its versions."""
    return key[:1] if is_file(key) else key[:2]


def version_of(key: Key) -> int | None:
    """The earlier version of a table that a tab shows, if any."""
    return int(key[2]) if not is_file(key) and len(key) > 2 and key[2].isdecimal() else None


_keys: WeakKeyDictionary[Dataset, Key] = WeakKeyDictionary()
"""The keys of open files, and the last known keys of tables."""


def open_file(key: Key, reading: FileReading, job: Job) -> Dataset:
    """Open what a tab of this key shows. Raises `FileProblem` and `Cancelled`."""
    dataset = reading.open(key[0], table_of_file(key), job)
    _keys[dataset] = key
    return dataset


def key_of(source: Source) -> list[str] | None:
    """The address at which a dataset can be opened again; None if it has none."""
    if isinstance(source, Table):
        with suppress(StoreProblem):  # its store is being moved, or its disk is missing: keep the last key
            _keys[source] = (str(source.store.path), source.name)
    key = _keys.get(source) if isinstance(source, Table | Dataset) else None
    return None if key is None else list(key)


def known_key_of(source: Source) -> list[str] | None:
    """The last result of `key_of`, without reading the catalog; a table may have been renamed since."""
    key = _keys.get(source) if isinstance(source, Table) else None
    return key_of(source) if key is None else list(key)


Opener = Callable[[Any, Job], Source]


def opener(stores: Mapping[str, Any], reading_of: Callable[[Key], FileReading]) -> Opener:
    """Opens addresses from `key_of`: tables of these stores by their folders, and files. The function that
    is returned blocks and raises `LamellaError`."""

    def open_source(address: Any, job: Job) -> Source:
        if not isinstance(address, list) or not address or not all(isinstance(part, str) for part in address):
            raise BadQuery(f"{address!r} is not the address of a dataset")
        key: Key = tuple(address)
        if is_file(key):
            return open_file(key, reading_of(key), job)
        store = stores.get(key[0])
        if store is None:
            raise StoreProblem(
                f"{key[1]} cannot be opened", f"Its store {key[0]} is not open", "Open that folder first"
            )
        version = version_of(key)
        source: Source = store[key[1]] if version is None else store[key[1]].as_of(version)
        return source

    return open_source


def _watcher() -> QFileSystemWatcher:
    """The one watcher for all tabs: operating systems limit their number per program."""
    app = QApplication.instance()
    assert app is not None
    watcher = app.findChild(QFileSystemWatcher, WATCHER)
    if isinstance(watcher, QFileSystemWatcher):
        return watcher
    new_watcher = QFileSystemWatcher(app)
    new_watcher.setObjectName(WATCHER)
    return new_watcher


def same_files(before: Dataset, fresh: Dataset) -> bool:
    """Whether both read the same files in the same state."""
    if isinstance(before, CachedDataset) and isinstance(fresh, CachedDataset):
        return before.file.stamps == fresh.file.stamps
    return before.snapshot().token == fresh.snapshot().token


def files_of(dataset: Dataset) -> list[str]:
    """The files whose changes change the content, including a database's log."""
    if isinstance(dataset, CachedDataset):
        return [path for path, size, _ in dataset.file.stamps if size >= 0]
    return [str(path) for path in getattr(dataset, "watched_paths", paths_of(dataset))]


def source_files(tab: Tab, others: Iterable[Source] = ()) -> list[Path]:
    """The files of this machine from which the rows of a tab come, with those of its joins, its statement
    and `others`."""
    own = [Path(tab.key[0])] if is_file(tab.key) else []
    for dataset in (tab.dataset, *tab.line.sources.values(), *others):
        own += getattr(dataset, "source_files", getattr(dataset, "paths", ()))
    return [path for path in own if not isinstance(path, RemotePath) and not is_address(str(path))]


class Reopener(Protocol):
    """Opens the file of a tab again with the options chosen for it."""

    reading: FileReading

    def refresh(self) -> None: ...

    def reopen(self, reading: FileReading | None = None) -> None: ...


class Editing(Protocol):
    @property
    def is_saving(self) -> bool: ...

    @property
    def holds_edits(self) -> bool: ...

    def ask_copy(self) -> None: ...

    def discard_and_reload(self) -> None: ...


class FileTab(Tab, Protocol):
    @property
    def reopening(self) -> Reopener: ...

    @property
    def edits(self) -> Editing: ...


class FileWatch(QObject):
    """Watches the file of one tab. Whether it has changed is checked off the GUI thread; reading it again is
    offered once per change."""

    def __init__(self, tab: FileTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._watcher = _watcher()
        self._paths: set[str] = set()
        self._offered_dataset: object = None
        self._later = QTimer(self, singleShot=True, interval=LOOK_AFTER_MS)
        self._later.timeout.connect(self._look)
        self._watcher.fileChanged.connect(self._look_soon)
        self._watcher.directoryChanged.connect(self._look_soon)
        tab.loader.loaded.connect(self._arm)

    def stop(self) -> None:
        """Stop watching."""
        self._later.stop()
        if self._paths:
            self._watcher.removePaths(sorted(self._paths))
        self._paths = set()

    def _arm(self) -> None:
        """Watch the current files: a file that is replaced is no longer watched."""
        tab = self._tab
        if not is_file(tab.key) or is_address(tab.key[0]):
            return  # servers report no changes: reading a changed file does
        paths = {tab.key[0], *files_of(tab.dataset)[:MOST_FILES]}
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if missing := sorted(paths - watched):
            self._watcher.addPaths(missing)
        self._paths = paths

    def _look_soon(self, path: str) -> None:
        is_pending = self._later.isActive() or self._tab.dataset is self._offered_dataset
        if path in self._paths and not is_pending and not self._tab.edits.is_saving:
            self._later.start()

    def _look(self) -> None:
        tab, before = self._tab, self._tab.dataset
        reading = tab.reopening.reading

        def work(job: Job) -> str:
            try:
                fresh = open_file(tab.key, reading, job)
            except LamellaError as error:
                return message(error)
            return "" if same_files(before, fresh) else f"{tab.name} has changed on disk."

        def offer(news: str) -> None:
            if news and tab.dataset is before and not tab.edits.is_saving:
                self._offer(news)
            self._arm()

        tab.tasks.read(work, offer, owner=self, quiet=True, text=f"Looking at {tab.name}")

    def _offer(self, news: str) -> None:
        tab = self._tab
        if tab.messages.isVisible() and any(button.text() == RELOAD for button in tab.messages.buttons):
            return
        self._offered_dataset = tab.dataset
        if tab.edits.holds_edits:
            self.report_change()
            return
        tab.messages.say(
            f"{news} The rows shown are from before the change.", (RELOAD, tab.reopening.refresh), stays=True
        )

    def report_change(self) -> None:
        """Say that the file is no longer the one that the unsaved edits belong to."""
        edits = self._tab.edits
        self._tab.messages.say(
            f"{self._tab.name} has changed on disk: the edits here can no longer be saved into it.",
            ("Save a copy…", edits.ask_copy),
            ("Discard the edits and reload", edits.discard_and_reload),
            stays=True,
        )
