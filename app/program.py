"""The running program: its window, and what the window is given."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

import resources
from app import __version__, limits, paths, sample, settings_file
from app.memory import Memory
from app.settings import Settings
from app.state import State
from core import Store
from core.errors import FileProblem, LamellaError
from core.jobs import Job
from core.store.catalog import NAME as CATALOG
from ui import theme
from ui.main_window import MainWindow
from ui.tasks import Tasks

log = logging.getLogger(__name__)


def application() -> QApplication:
    """The one QApplication, made when there is none."""
    made = QApplication.instance() or QApplication(["lamella"])
    assert isinstance(made, QApplication)
    made.setApplicationName("lamella")
    made.setApplicationDisplayName(paths.NAME)
    made.setApplicationVersion(__version__)
    made.setDesktopFileName("lamella")
    made.setWindowIcon(QIcon(str(resources.path("icons", "lamella.svg"))))
    return made


class Program:
    """Needs an `application()`. Raises LamellaError when there is no store to work with.

    Closing `window` ends it.
    """

    def __init__(self) -> None:
        settings, problems = settings_file.load(settings_file.settings_path())
        limits.apply(settings)
        look = theme.current()
        look.set_text_scale(settings["text_scale"])
        look.set_mode(settings["theme"])
        stores, unusable = open_stores(settings)
        self.tasks = Tasks()
        self.memory = Memory(settings, State(), self._trouble)
        self.window = MainWindow(stores, self.tasks, self.memory)
        self.tasks.failed.connect(_log_bug)
        self._tell_when_shown([*problems, *unusable])

    def open(self, files: Sequence[Path], with_sample: bool) -> None:
        """Each file in a tab; the sample's first table after it was imported, which is once."""
        self.window.open_paths(files)
        if with_sample:
            self.tasks.write(_filled_sample, self._show_sample, text="Importing the sample tables")

    def _show_sample(self, store: Store) -> None:
        key = (str(store.path), sample.FIRST_SHOWN)
        self.window.library.add_store(store)
        self.window.opening.open_key(key)

    def _tell_when_shown(self, problems: Sequence[LamellaError]) -> None:
        for problem in problems:
            log.warning("%s", problem)
            self.window.show_error(problem)

    def _trouble(self, problem: FileProblem) -> None:
        log.warning("%s", problem)
        self.window.show_error(problem)


def open_stores(settings: Settings) -> tuple[list[Store], list[LamellaError]]:
    """The store that imports go to, then others in the user's data folder; and what is wrong with any."""
    problems: list[LamellaError] = []
    chosen = settings["default_store"]
    first = _usable(Path(chosen), problems) if chosen else None
    stores = [first or Store.open(paths.default_store())]
    for catalog in sorted(paths.data_folder().glob(f"*/{CATALOG}")):
        if catalog.parent != stores[0].path and (other := _usable(catalog.parent, problems)):
            stores.append(other)
    return stores, problems


def _usable(path: Path, problems: list[LamellaError]) -> Store | None:
    try:
        return Store.open(path)
    except LamellaError as problem:
        problems.append(problem)
        return None


def _filled_sample(job: Job) -> Store:
    store = Store.open(paths.sample_store())
    sample.fill(store, job)
    return store


def _log_bug(error: Exception) -> None:
    if not isinstance(error, LamellaError):
        log.error("Unexpected error", exc_info=error)
