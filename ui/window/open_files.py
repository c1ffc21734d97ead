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
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.spark_connect import listed_name
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.file_readings import FileReading
from lamella.ui.window.file_watch import Key, is_file, name_of_key, open_file, table_of_file
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
            files.append(OpenFile(tab.key, partial(_same, tab.dataset)))
        elif isinstance(tab, PendingTab) and tab.key is not None and is_file(tab.key):
            reading = saved_reading(tab.key, tab.saved, window.library.readings.of(tab.key))
            files.append(OpenFile(tab.key, partial(open_file, tab.key, reading), is_pending=True))
    return tuple(files)


def _same(dataset: Dataset, job: Job) -> Dataset:
    return dataset


def saved_reading(key: Key, state: Mapping[str, Any], reading: FileReading) -> FileReading:
    """How a tab in this state reads its file, otherwise `reading`."""
    saved = state.get(READING)
    if isinstance(saved, Mapping) and {"ragged", "checksums"}.issuperset(saved):
        try:
            return FileReading(options=reading.options, **saved)
        except TypeError:
            log.warning("The saved choices for reading %s are ignored: %s", key[0], saved)
    return reading
