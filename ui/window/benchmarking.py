"""What a window can benchmark: the rows of a tab, a benchmark of the user's own, and saved runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu

from lamella.core.errors import LamellaError, visible
from lamella.ui.dialogs.file_dialog import ask_file
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.file_watch import table_of_file
from lamella.ui.window.window import Window

if TYPE_CHECKING:
    from lamella.core.bench.engine.choice import Choice
    from lamella.core.bench.workloads.user_table_source import Source
    from lamella.ui.bench.saved_runs import ResultsBrowser
    from lamella.ui.bench.user_benchmark_dialogs import UserScriptDialog, UserTableDialog

BUSY = "A benchmark is running. You can start another when it ends."


def benchmark_table(window: Window, tab: DatasetTab) -> UserTableDialog | None:
    """Ask how to measure the rows and columns that the tab shows; None while a benchmark runs."""
    from lamella.ui.bench.user_benchmark_dialogs import UserTableDialog

    if window.benchmark is not None and window.benchmark.running:
        tab.messages.say(BUSY, ("Show it", window.show_benchmark))
        return None
    dialog = UserTableDialog(
        tab.dataset,
        source_of(tab),
        tab.tasks,
        shown_columns(tab),
        tab.where,
        window.saved_runs.costs,
        widget_of(window),
    )
    dialog.benchmark_requested.connect(lambda choice: benchmark(window, choice))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def benchmark_open_table(window: Window) -> None:
    """Like `benchmark_table`, for the open table; if several are open, a menu asks which."""
    tabs = [tab for tab in window.tabs.dataset_tabs if tab.view is not None]
    if not tabs:
        assert window.benchmark is not None
        window.benchmark.news.say("No table is open. Open one, then measure it.")
    elif len(tabs) == 1:
        benchmark_table(window, tabs[0])
    else:
        menu = QMenu(widget_of(window))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for tab in tabs:
            name = without_mnemonic(visible(tab.name))
            menu.addAction(name, partial(benchmark_table, window, tab))
        menu.popup(QCursor.pos())


def ask_benchmark_file(window: Window) -> None:
    ask_file(
        widget_of(window),
        "Run a benchmark of your own",
        lambda path: benchmark_file(window, path),
        filters="Python files (*.py)",
    )


def benchmark_file(window: Window, path: Path) -> UserScriptDialog | None:
    """Ask how to run the benchmark in a Python file; problems with the file are reported."""
    from lamella.core.bench.workloads.user_script import load_file
    from lamella.ui.bench.user_benchmark_dialogs import UserScriptDialog

    try:
        workload = load_file(path)
    except LamellaError as error:
        window.show_error(error)
        return None
    dialog = UserScriptDialog(workload, window.tasks, window.saved_runs.costs, widget_of(window))
    dialog.benchmark_requested.connect(lambda choice: benchmark(window, choice))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def show_saved_runs(window: Window) -> ResultsBrowser:
    from lamella.ui.bench.saved_runs import ResultsBrowser

    browser = ResultsBrowser(window.saved_runs, window.tasks, widget_of(window))
    browser.benchmark_requested.connect(lambda choice: benchmark(window, choice))
    browser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    browser.show()
    return browser


def benchmark(window: Window, choice: Choice) -> None:
    """Run in the benchmark's tab. If another benchmark is running, the tab says so and nothing starts."""
    window.show_benchmark()
    assert window.benchmark is not None
    window.benchmark.benchmark(choice)


def source_of(tab: DatasetTab) -> Source:
    """The source that opens the same rows again."""
    from lamella.core.bench.workloads.user_table_source import Source

    if tab.table is not None:
        return Source(tab.key[0], tab.key[1])
    return Source(tab.key[0], table_of_file(tab.key), tab.reopening.reading.ragged)


def shown_columns(tab: DatasetTab) -> list[str]:
    header, names = tab.grid.horizontalHeader(), tab.grid.grid_model.names
    return [name for place, name in enumerate(names) if not header.isSectionHidden(place)]
