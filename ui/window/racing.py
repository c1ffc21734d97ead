"""Ways into the benchmark from the rest of the window: with the open table, with a file, with a kept
benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from lamella.core.errors import LamellaError
from lamella.ui.window.dataset_tab import DatasetTab

if TYPE_CHECKING:
    from lamella.core.bench.engine.choice import Choice
    from lamella.core.bench.workloads.user_table_source import Source
    from lamella.ui.bench.race_own_file import RaceOwnFile
    from lamella.ui.bench.race_this_table import RaceThisTable
    from lamella.ui.bench.results_browser import ResultsBrowser
    from lamella.ui.main_window import MainWindow

BUSY = "A benchmark is running. Another can begin when it is over."


def race_table(window: MainWindow, tab: DatasetTab) -> RaceThisTable | None:
    """Ask what is to be measured of the rows and columns that the tab shows; None while a benchmark runs."""
    from lamella.ui.bench.race_this_table import RaceThisTable

    if window.race is not None and window.race.running:
        tab.messages.say(BUSY, ("Show it", window.show_race))
        return None
    dialog = RaceThisTable(
        tab.dataset, source_of(tab), tab.tasks, shown_columns(tab), tab.where, window.kept.costs, window
    )
    dialog.race_asked.connect(lambda choice: race(window, choice))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def ask_race_file(window: MainWindow) -> None:
    path, _ = QFileDialog.getOpenFileName(window, "Run a benchmark of your own", "", "Python files (*.py)")
    if path:
        race_file(window, Path(path))


def race_file(window: MainWindow, path: Path) -> RaceOwnFile | None:
    """Ask how the benchmark in a Python file is to be run; what is wrong with the file is told."""
    from lamella.core.bench.workloads.user_script import load_file
    from lamella.ui.bench.race_own_file import RaceOwnFile

    try:
        workload = load_file(path)
    except LamellaError as error:
        window.show_error(error)
        return None
    dialog = RaceOwnFile(workload, window.tasks, window.kept.costs, window)
    dialog.race_asked.connect(lambda choice: race(window, choice))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def show_kept(window: MainWindow) -> ResultsBrowser:
    from lamella.ui.bench.results_browser import ResultsBrowser

    browser = ResultsBrowser(window.kept, window.tasks, window)
    browser.race_asked.connect(lambda choice: race(window, choice))
    browser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    browser.show()
    return browser


def race(window: MainWindow, choice: Choice) -> None:
    """In the benchmark's tab; nothing is begun while another benchmark runs, which is told there."""
    window.show_race()
    assert window.race is not None
    window.race.race(choice)


def source_of(tab: DatasetTab) -> Source:
    """What opens the same rows again."""
    from lamella.core.bench.workloads.user_table_source import Source

    if tab.table is not None:
        return Source(str(tab.table.store.path), tab.table.name)
    return Source(tab.key[0], ragged=tab.reopening.ragged)


def shown_columns(tab: DatasetTab) -> list[str]:
    header, names = tab.grid.horizontalHeader(), tab.grid.grid_model.names
    return [name for place, name in enumerate(names) if not header.isSectionHidden(place)]
