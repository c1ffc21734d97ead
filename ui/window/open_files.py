"""The files in a window's tabs, including those of pending tabs, which are opened when they are needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lamella.core.datasets.base import Dataset
from lamella.core.jobs import Job
from lamella.core.query.source import Source
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.spark_connect import listed_name
from lamella.core.store.store import Store
from lamella.ui.steps.editors import OtherSource
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.file_readings import FileReading
from lamella.ui.window.file_watch import Key, is_file, name_of_key, open_file, table_of_file
from lamella.ui.window.loader import Tab
from lamella.ui.window.pending_tab import PendingTab
from lamella.ui.window.tab_state import READING
from lamella.ui.window.window import Window

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OpenFile:
    """A file of a tab with this key. `open` blocks if its tab is pending, and raises `FileProblem`."""

    key: Key
    open: Callable[[Job], Dataset]
    is_pending: bool = False

    @property
    def title(self) -> str:
        """The title of its tab."""
        return name_of_key(self.key)

    @property
    def name(self) -> str:
        return listed_name(path_or_address(self.key[0]))

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def table(self) -> str:
        """The table or sheet, if the file holds several."""
        return table_of_file(self.key) or ""


def open_files(window: Window) -> tuple[OpenFile, ...]:
    """The files in the order of their tabs."""
    files: list[OpenFile] = []
    for tab in window.tabs.widgets:
        if isinstance(tab, DatasetTab) and is_file(tab.key):
            files.append(OpenFile(tab.key, partial(_dataset_of, tab)))
        elif isinstance(tab, PendingTab) and tab.key is not None and is_file(tab.key):
            reading = saved_reading(tab.key, tab.saved_state, window.library.readings.of(tab.key))
            files.append(OpenFile(tab.key, partial(open_file, tab.key, reading), is_pending=True))
    return tuple(files)


def joinable(window: Window, tab: Tab) -> dict[str, OtherSource]:
    """The datasets that a tab can join with, by name: the tables of its own store first, then those of the
    other open stores, and the files of all tabs, its own first."""
    sources: dict[str, OtherSource] = {}
    stores = {str(store.path): store for store in window.library.stores}
    entries = [entry.key for entry in window.sidebar.entries("table") if entry.key[0] in stores]
    for path, table in sorted(entries, key=lambda key: key[0] != tab.key[0]):
        name = table if path == tab.key[0] or table not in sources else f"{stores[path].name} / {table}"
        sources.setdefault(name, OtherSource(partial(_table, stores[path], table)))
    for file in sorted(open_files(window), key=lambda file: file.key != tab.key):
        name = file.title if file.title not in sources else f"{file.title} ({file.key[0]})"
        sources.setdefault(name, OtherSource(file.open, file.is_pending))
    return sources


def _table(store: Store, name: str, job: Job) -> Source:
    return store[name]


def _dataset_of(tab: DatasetTab, job: Job) -> Dataset:
    return tab.dataset


def saved_reading(key: Key, state: Mapping[str, Any], reading: FileReading) -> FileReading:
    """How a tab in this state reads its file, otherwise `reading`."""
    saved = state.get(READING)
    if isinstance(saved, Mapping) and {"ragged", "checksums"}.issuperset(saved):
        try:
            return FileReading(options=reading.options, **saved)
        except TypeError:
            log.warning("The saved choices for reading %s are ignored: %s", key[0], saved)
    return reading
