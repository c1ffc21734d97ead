"""The running program: its windows, and the stores, settings and memory that they get."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QMessageBox, QWidget

from lamella import resources
from lamella.app import add_window_to_benchmark, paths, preloading
from lamella.app import settings as settings_file
from lamella.app.commands.table_reference import split_reference
from lamella.app.launch import raise_window
from lamella.app.memory import Memory, State
from lamella.app.windows import Windows
from lamella.app.workspace_files import WindowEntry
from lamella.core import libraries
from lamella.core.errors import FileProblem, LamellaError, StoreProblem, UnknownName
from lamella.core.jobs import Job
from lamella.core.settings import Settings
from lamella.core.store.importing import import_file
from lamella.core.store.paths import CATALOG, is_store
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.main_window import MainWindow
from lamella.ui.slices import Slices
from lamella.ui.tasks import Tasks
from lamella.ui.window.file_watch import file_key
from lamella.ui.window.opening import TabWork

FIRST_SAMPLE = "flights"
RELATIONS: dict[str, tuple[list[str], list[str]]] = {
    "carrier": (["flights.carrier"], ["airlines.carrier"]),
    "plane": (["flights.tailnum"], ["planes.tailnum"]),
    "origin": (["flights.origin"], ["airports.faa"]),
    "destination": (["flights.dest"], ["airports.faa"]),
    "weather": (["flights.origin", "flights.time_hour"], ["weather.origin", "weather.time_hour"]),
    "station": (["weather.origin"], ["airports.faa"]),
}
"""The relations of the sample: by name, the columns that point, and those that they point at."""

MOST_BROKEN_STARTS = 2
BROKEN_STARTS = "Lamella ended unexpectedly twice while restoring the last session"
BROKEN_STARTS_WHY = "It can start empty. Data saved in files and tables is not lost."

WINDOW_PAINTED = "The window is painted; %d modules are loaded"
FIRST_ROWS_PAINTED = "The first rows of %s are painted; %d modules are loaded"
LIBRARIES_LOADED = "The libraries that the window does not need are loaded"

VIEWS_AFTER_MS = 1_000
"""Counted from the first paint, so that the first rows do not wait for these imports."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamedTable:
    """What one word of the command line stands for: a file or folder, or a table of a store or file."""

    path: Path
    table: str | None = None
    is_of_store: bool = False


def named_table(file: Path) -> NamedTable:
    """Look up on the disk what `STORE:TABLE` stands for, which takes as long as the disk takes to answer."""
    place, table = split_reference(str(file))
    path = Path(place).absolute()
    return NamedTable(file) if table is None else NamedTable(path, table, is_store(path))


def fill(store: Store, job: Job) -> None:
    """Import the sample tables that `store` lacks; after an interruption the next call continues. Blocks."""
    for table in resources.SAMPLE_TABLES:
        if table not in store:
            import_file(resources.sample(table), store, table, job)
    if not store.relations:
        _relate(store)


def _relate(store: Store) -> None:
    """Declare the relations. Missing columns are skipped, since the user may have changed the tables."""
    for name, (source, target) in RELATIONS.items():
        try:
            store.relations.declare(source, target, name)
        except UnknownName as gone:
            log.info("sample: %s is not declared: %s", name, gone)


class FirstPaint(QObject):
    """Emits `done` once, after the first paint of a window."""

    done = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self, self.done.emit)  # the children paint after the window
        return False


class Program:
    """The program, which ends when its windows are closed. Needs `lamella.app.bootstrap.application`. Stores
    are opened after the window is shown; without a store to import into, files can still be viewed.
    """

    def __init__(self, restores: bool = False, setting_texts: Sequence[str] = ()) -> None:
        """`restores`: whether the workspace is saved, and restored by `restore`. `setting_texts` are the
        settings of the command line for this run."""
        settings, unread = settings_file.load(settings_file.settings_path())
        problems: list[LamellaError] = [*unread, *settings_file.take_environment(settings, os.environ)]
        settings_file.take_command_line(settings, setting_texts)
        settings_file.apply_limits(settings)
        settings_file.apply_servers(settings)
        look = theme.current()
        look.set_text_scale(settings["text_scale"])
        look.set_mode(settings["theme"])
        self.tasks = Tasks()
        self._slices = Slices()
        self.memory = Memory(settings, State(), self._trouble)
        self.settings, self._broken_starts = settings, 0
        self.entries = list[WindowEntry]()
        QGuiApplication.setWindowIcon(QIcon(str(resources.path("icons", "lamella.svg"))))
        if restores and self.memory.restores_workspace:
            self.entries, unreadable = self.memory.windows.claim()
            problems += unreadable
        self._restores = restores
        self.windows = Windows(self._make_window)
        self.windows.adopt(self._make_window(self.entries[0] if self.entries else None, self.tasks))
        FirstPaint(self.window).done.connect(self._preload)
        self.window.tabs.current_changed.connect(self._watch_first_tab)
        self.memory.check_writable()
        for problem in problems:
            self._trouble(problem)

    @property
    def window(self) -> MainWindow:
        """The window in front, or the only one."""
        return self.windows.active

    def _make_window(self, entry: WindowEntry | None = None, tasks: Tasks | None = None) -> MainWindow:
        """Create a window and open its stores in the background."""
        tasks = tasks or Tasks()
        window = MainWindow(tasks, self.memory, entry)
        window.workspace.failed.connect(self.memory.report)
        if not (self._restores and self.memory.restores_workspace):
            window.workspace.turn(False)
        window.sample_requested.connect(partial(self._open_sample, window))
        window.before_benchmark = add_window_to_benchmark
        tasks.failed.connect(_log_bug)
        tasks.read(
            lambda job: open_stores(self.settings, job),
            partial(self._show_stores, window),
            discard=lambda opened: _close(opened.stores),
            quiet=True,
        )
        return window

    def restore(self, opens_current: bool = True) -> None:
        """Restore the last workspace, before the window is shown; with `opens_current`, also open the tab in
        front. After two starts that failed while restoring, ask first."""
        if not self.entries:
            return
        self._broken_starts = self.memory.windows.begin_start()
        if self._broken_starts >= MOST_BROKEN_STARTS:
            FirstPaint(self.window).done.connect(self._ask_to_restore)
        else:
            self._restore(opens_current)

    def _restore(self, opens_current: bool = True) -> None:
        workspace = self.window.workspace
        workspace.settled.connect(self.memory.windows.end_start)
        workspace.restore(opens_current)
        if len(self.entries) > 1:
            FirstPaint(self.window).done.connect(self._restore_other_windows)

    def _restore_other_windows(self) -> None:
        """Restore the other windows, once the first one is on screen."""
        first = self.window
        for entry in self.entries[1:]:
            if not entry.state.get("tabs"):
                entry.forget()
                continue
            window = self._make_window(entry)
            self.windows.adopt(window)
            window.workspace.restore()
            window.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
            window.show()
            window.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, False)
        first.raise_()
        first.activateWindow()

    def _ask_to_restore(self) -> QMessageBox:
        box = QMessageBox(QMessageBox.Icon.Warning, paths.NAME, BROKEN_STARTS, parent=self.window)
        box.setInformativeText(BROKEN_STARTS_WHY)
        empty = box.addButton("Start empty", QMessageBox.ButtonRole.AcceptRole)
        box.addButton("Open it again", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(empty)
        start = {True: self._start_empty, False: self._restore}
        box.finished.connect(lambda _: start[box.clickedButton() is empty]())
        box.finished.connect(box.deleteLater)
        box.open()
        return box

    def _start_empty(self) -> None:
        """Start with an empty window, and set the files of the last workspace aside."""
        self.memory.windows.end_start()
        try:
            for entry in self.entries:
                log.warning("The last workspace is set aside as %s", entry.set_aside())
        except FileProblem as problem:
            self._trouble(problem)
        self.window.workspace.entry = self.memory.add_window()
        self.window.workspace.save_soon()

    def open(self, files: Sequence[Path], with_sample: bool) -> None:
        """Open each file in a tab; with `with_sample`, open the sample, imported first if necessary."""
        self._open_named(files)
        if with_sample:
            self.open_sample()

    def open_sample(self, then: TabWork | None = None) -> None:
        """Open the first table of the sample, and call `then` with its tab."""
        self._open_sample(self.window, then)

    def _open_sample(self, window: MainWindow, then: TabWork | None) -> None:
        window.library.when_ready(partial(self._import_sample, window, then))

    def open_from_launch(self, files: Sequence[Path]) -> None:
        """Open the files of another launch as if they were dropped, and bring the window to the front."""
        raise_window(self.window)
        self._open_named(files)

    def _open_named(self, files: Sequence[Path]) -> None:
        """Open files, and the tables of `STORE:TABLE` and `FILE:TABLE`; only for those is the disk asked what
        a name stands for."""
        if not any(":" in str(file) for file in files):
            self.window.open_paths(files)
            return

        def read(job: Job) -> list[NamedTable]:
            return [named_table(file) for file in files]

        self.tasks.read(read, self._open_tables, owner=self.window, quiet=True, may_be_endless=True)

    def _open_tables(self, tables: Sequence[NamedTable]) -> None:
        opening = self.window.opening
        for each in tables:
            if each.table is None:
                opening.open_paths([each.path])
            elif each.is_of_store:
                opening.open_table_of_store(each.path, each.table)
            else:
                opening.open_key(file_key(each.path, each.table))

    def _preload(self) -> None:
        """Load the libraries and views that the first paint did not need, so that their first use is fast."""
        log.info(WINDOW_PAINTED, len(sys.modules))
        self.tasks.read(lambda job: libraries.load(), lambda _: log.info(LIBRARIES_LOADED), quiet=True)
        QTimer.singleShot(VIEWS_AFTER_MS, self.window, self._preload_views)

    def _preload_views(self) -> None:
        self.tasks.read(preloading.load_qt_free_modules, self._preload_qt_modules, quiet=True)

    def _preload_qt_modules(self, _: None) -> None:
        self._slices.start(preloading.load_qt_modules())

    def _watch_first_tab(self) -> None:
        tab = self.window.tabs.dataset_tab
        if tab is None:
            return
        self.window.tabs.current_changed.disconnect(self._watch_first_tab)

        def look() -> None:
            if tab.view is not None and tab.view.num_rows and tab.grid.grid_model.pages.is_settled:
                tab.grid.painted.disconnect(look)
                log.info(FIRST_ROWS_PAINTED, tab.dataset.name, len(sys.modules))

        tab.grid.painted.connect(look)

    def _import_sample(self, window: MainWindow, then: TabWork | None) -> None:
        show = partial(self._show_sample, window, then)
        window.tasks.write(_filled_sample, show, discard=Store.close, text="Importing the sample tables")

    def _show_sample(self, window: MainWindow, then: TabWork | None, store: Store) -> None:
        key = (str(store.path), FIRST_SAMPLE)
        window.library.add_store(store)
        window.opening.open_key(key, then)

    def _show_stores(self, window: MainWindow, opened: OpenStores) -> None:
        window.library.start(opened.stores, opened.no_home)
        for problem in opened.problems:
            self._trouble(problem)

    def _trouble(self, problem: LamellaError) -> None:
        log.warning("%s", problem)
        self.window.show_error(problem)


@dataclass(frozen=True)
class OpenStores:
    """The store that imports go to, then the others in the user's data folder; and the problems with any.

    `no_home`, one of `problems`, says why there is no store to import into.
    """

    stores: list[Store]
    problems: list[LamellaError]
    no_home: LamellaError | None = None


def open_stores(settings: Settings, job: Job) -> OpenStores:
    """Open the stores. Blocks. "My tables" replaces a store chosen in the settings that cannot be opened."""
    problems: list[LamellaError] = []
    default_store = settings["default_store"]
    home = _usable(Path(default_store), problems) if default_store else None
    home, no_home = (home, None) if home else _my_tables(problems)
    stores = [home] if home else []
    try:
        folder, tried = paths.data_folder(), home.path if home else paths.default_store()
    except FileProblem:  # already reported, unless imports go elsewhere
        return OpenStores(stores, problems, no_home)
    for catalog in sorted(folder.glob(f"*/{CATALOG}")):
        if job.cancelled:
            break
        if catalog.parent != tried and (store := _usable(catalog.parent, problems)):
            stores.append(store)
    if job.cancelled:
        _close(stores)
    return OpenStores(stores, problems, no_home)


def _my_tables(problems: list[LamellaError]) -> tuple[Store | None, LamellaError | None]:
    path = Path(paths.DEFAULT_STORE)
    try:
        path = paths.default_store()
        return Store.open(path), None
    except LamellaError as problem:
        own_problem = StoreProblem(problem.what, problem.why, _way_out(problem.fix))
        own_problem.__cause__ = problem
    except OSError as error:
        own_problem = StoreProblem(f"{path}: the store cannot be opened", str(error), _way_out(""))
        own_problem.__cause__ = error
    problems.append(own_problem)
    return None, own_problem


def _way_out(fix: str) -> str:
    advice = "choose another folder with the setting 'default_store'; until then nothing can be imported"
    return f"{fix}, or {advice}" if fix else advice.capitalize()


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
        fill(store, job)
    except BaseException:
        store.close()
        raise
    return store


def _log_bug(error: Exception) -> None:
    if not isinstance(error, LamellaError):
        log.error("Unexpected error", exc_info=error)
