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
from core.errors import LamellaError
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
    """Needs an `application()`. Closing `window` ends it; so does having no store to work with, and
    `problem` says why. The stores are opened while the window is shown already.
    """

    def __init__(self) -> None:
        settings, problems = settings_file.load(settings_file.settings_path())
        limits.apply(settings)
        look = theme.current()
        look.set_text_scale(settings["text_scale"])
        look.set_mode(settings["theme"])
        self.problem: LamellaError | None = None
        self.tasks = Tasks()
        self.memory = Memory(settings, State(), self._trouble)
        self.window = MainWindow(self.tasks, self.memory)
        self.tasks.failed.connect(_log_bug)
        self.tasks.read(
            lambda job: open_stores(settings, job),
            lambda found: self._show_stores(found[0], [*problems, *found[1]]),
            self._end_without_stores,
            quiet=True,
        )

    def open(self, files: Sequence[Path], with_sample: bool) -> None:
        """Each file in a tab; the sample's first table after it was imported, which is once."""
        self.window.open_paths(files)
        if with_sample:
            self.window.library.when_ready(self._import_sample)

    def _import_sample(self) -> None:
        self.tasks.write(_filled_sample, self._show_sample, text="Importing the sample tables")

    def _show_sample(self, store: Store) -> None:
        key = (str(store.path), sample.FIRST_SHOWN)
        self.window.library.add_store(store)
        self.window.opening.open_key(key)

    def _show_stores(self, stores: Sequence[Store], problems: Sequence[LamellaError]) -> None:
        self.window.library.add_stores(stores)
        for problem in problems:
            self._trouble(problem)

    def _end_without_stores(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.problem = error
            self.window.close()
        else:
            self.tasks.failed.emit(error)

    def _trouble(self, problem: LamellaError) -> None:
        log.warning("%s", problem)
        self.window.show_error(problem)


def open_stores(settings: Settings, job: Job) -> tuple[list[Store], list[LamellaError]]:
    """The store that imports go to, then others in the user's data folder; and what is wrong with any.

    Blocks. Raises LamellaError when not even "My tables" can be opened.
    """
    problems: list[LamellaError] = []
    chosen = settings["default_store"]
    first = _usable(Path(chosen), problems) if chosen else None
    stores = [first or Store.open(paths.default_store())]
    for catalog in sorted(paths.data_folder().glob(f"*/{CATALOG}")):
        if job.cancelled:
            break
        if catalog.parent != stores[0].path and (other := _usable(catalog.parent, problems)):
            stores.append(other)
    if job.cancelled:
        _close(stores)
    return stores, problems


def _close(stores: Sequence[Store]) -> None:
    for store in stores:
        store.close()


def _usable(path: Path, problems: list[LamellaError]) -> Store | None:
    try:
        return Store.open(path)
    except LamellaError as problem:
        problems.append(problem)
        return None


def _filled_sample(job: Job) -> Store:
    store = Store.open(paths.sample_store())
    try:
        sample.fill(store, job)
    except BaseException:
        store.close()
        raise
    return store


def _log_bug(error: Exception) -> None:
    if not isinstance(error, LamellaError):
        log.error("Unexpected error", exc_info=error)
