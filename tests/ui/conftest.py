"""Fixtures for every test of the window."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from lamella.core.index.sorted_index import SortedKind
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.tasks import Tasks

PAUSES = {
    "bench.caption": ("WAIT_MILLISECONDS",),
    "bench.results_view": ("REDRAW_MILLISECONDS",),
    "cards.strip": ("WAIT_MS",),
    "dialogs.export_dialog": ("PAUSE_MS",),
    "dialogs.file_import": ("PLAN_AFTER_MS",),
    "dialogs.reading_form": ("PAUSE_MS", "COUNT_AFTER_MS"),
    "editing.change_dialog": ("PAUSE_MS",),
    "editing.replace_dialog": ("PAUSE_MS",),
    "filters.filter_row": ("DEBOUNCE_MS",),
    "filters.value_picker": ("SEARCH_MS",),
    "find.everywhere": ("PAUSE_MS",),
    "find.word_search": ("PAUSE_MS",),
    "inspector.column_page": ("SEARCH_MS",),
    "inspector.inspector": ("FOLLOW_MS",),
    "profiles.view": ("SORT_AFTER_MS",),
    "relations.checks": ("SHOW_EVERY_MS",),
    "relations.form": ("TRY_AFTER_MS",),
    "sql.console": ("FOLLOW_MS",),
    "sql.problem_messages": ("CHECK_MS",),
    "steps.filter_texts": ("READ_MS",),
    "steps.step_line": ("DEBOUNCE_MS",),
    "stores.store_dialogs": ("LOOK_AFTER_MS", "SLOW_AFTER_MS"),
    "window.column_layout": ("AFTER_MS",),
    "window.file_filling": ("GROW_EVERY_MS",),
    "window.file_watch": ("LOOK_AFTER_MS",),
    "window.finding": ("PAUSE_MS",),
    "window.selection_figures": ("WAIT_MS",),
    "window.workspace": ("SAVE_AFTER_MS",),
}
"""The constants that say how long a window waits until nobody types, drags or writes any more, by the module
below `ui`."""
SHORT_PAUSE_MS = 20


@cache
def pauses() -> list[tuple[ModuleType, str]]:
    return [
        (importlib.import_module(f"lamella.ui.{module}"), name)
        for module, names in PAUSES.items()
        for name in names
    ]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses of windows, in which tests would spend much of their time."""
    for module, name in pauses():
        monkeypatch.setattr(module, name, SHORT_PAUSE_MS)


@pytest.fixture
def answer_dialog(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Answer each further dialog for files with a path, instead of opening it."""

    def answer(path: Path) -> None:
        def choose(dialog: FileDialog) -> None:
            dialog.fileSelected.emit(str(path))
            dialog.deleteLater()

        monkeypatch.setattr(FileDialog, "open", choose)

    return answer


@pytest.fixture
def tasks(qapp: QApplication) -> Iterator[Tasks]:
    queue = Tasks()
    yield queue
    queue.shutdown()


@pytest.fixture(scope="session", autouse=True)
def cleared_clipboard(qapp: QApplication) -> Iterator[None]:
    """The offscreen platform would free what was copied after Python has ended, which crashes PySide."""
    yield
    QGuiApplication.clipboard().clear()


@pytest.fixture
def slow_build() -> Iterator[tuple[threading.Event, threading.Event]]:
    """An index that is built only once it may be; the build has begun when `begun` is set."""
    begun, may_go_on, make = threading.Event(), threading.Event(), SortedKind.make

    def wait(self, place, index, snapshot, job) -> None:
        begun.set()
        with job.interrupted_by(may_go_on.set):
            may_go_on.wait()
        make(self, place, index, snapshot, job)

    with patch.object(SortedKind, "make", wait):
        yield begun, may_go_on
        may_go_on.set()
