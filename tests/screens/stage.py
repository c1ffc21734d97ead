"""Helpers of screens: waiting for quiet, a table with nothing else, dialogs and menus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from lamella.app.tour import Tour, loaded_tab
from lamella.core.query.line import Line
from lamella.ui.window.dataset_tab import DatasetTab

PAUSE_SECONDS = 0.3


def nothing(_: Tour) -> None:
    """Clean up after screens that leave only pop-ups, which are closed anyway."""


@dataclass(frozen=True)
class Screen:
    """`show` brings it up in a window of any size; `leave` puts back what the next one would not expect."""

    name: str
    show: Callable[[Tour], None]
    leave: Callable[[Tour], None] = nothing


# ------------------------------------------------------------------------- waiting


def quiet(tour: Tour, what: str = "nothing is read") -> None:
    """Nothing is read any more, what waits for a pause in typing among it."""
    began = time.monotonic()
    tour.wait(what, lambda: time.monotonic() - began > PAUSE_SECONDS)
    tour.wait(what, lambda: not tour.program.tasks.running and tour.is_idle)


def settled_after_pause(tour: Tour) -> DatasetTab:
    """The current tab once what waits for a pause has been read as well."""
    quiet(tour)
    return loaded_tab(tour)


# ------------------------------------------------------------------- tables and files


def plain(tour: Tour, name: str = "flights") -> DatasetTab:
    """A table of the sample with no step and no panel, in front."""
    if not any(tab.name == "flights" for tab in tour.window.tabs.dataset_tabs):
        tour.program.open([], with_sample=True)
        tour.wait("the flights are shown", lambda: tour.window.tabs.dataset_tab is not None)
    tab = next((tab_ for tab_ in tour.window.tabs.dataset_tabs if tab_.name == name), None)
    if tab is None:
        tour.window.opening.open_key((str(tour.window.library.stores[-1].path), name))
        tour.wait(f"{name} is shown", lambda: tour.window.tabs.title == name)
        tab = tour.window.tabs.dataset_tab
    assert tab is not None
    tour.window.tabs.show_tab(tab)
    tab.charting.hide()
    tab.profiling.hide()
    tab.comparing.hide()
    tab.finding.close()
    tab.inspector.hide()
    tab.steps.close_editor()
    tab.apply(Line())
    tab.grid.go_to(0, 0)
    return loaded_tab(tour)


def opened(tour: Tour, path: Path) -> DatasetTab:
    """The tab of a file, with no step and no panel."""
    tour.window.open_paths([path])
    tour.wait(f"{path.name} is shown", lambda: path.name.startswith(tour.window.tabs.title))
    return plain(tour, loaded_tab(tour).name)


def go_to(tab: DatasetTab, column: str, row: int = 0) -> None:
    tab.grid.go_to(row, tab.grid.place(tab.grid.grid_model.names.index(column)))


def close_tab(tour: Tour) -> None:
    tour.window.commands["close_tab"].trigger()


# ------------------------------------------------------------------- pop-ups and keys


def popups(window: QWidget) -> Iterator[QWidget]:
    """The windows open over the main window, except tooltips."""
    for widget in QApplication.topLevelWidgets():
        if widget is not window and widget.isVisible() and widget.windowType() != Qt.WindowType.ToolTip:
            yield widget


def close_popups(tour: Tour) -> None:
    for popup in list(popups(tour.window)):
        popup.reject() if isinstance(popup, QDialog) else popup.close()
    QApplication.processEvents()


def command(tour: Tour, name: str, column: str = "", table: str = "flights") -> DatasetTab:
    """Trigger an action on a plain table, at one of its columns."""
    tab = plain(tour, table)
    if column:
        go_to(tab, column)
    tour.window.commands[name].trigger()
    quiet(tour)
    return tab


def after(name: str, column: str = "", table: str = "flights") -> Callable[[Tour], None]:
    """A screen that one action brings up."""
    return lambda tour: (command(tour, name, column, table), None)[1]


def type_keys(tour: Tour, widget: QWidget, text: str) -> None:
    widget.setFocus()
    QTest.keyClicks(widget, text)
    quiet(tour)


def context_menu(tour: Tour, widget: QWidget, place: QPoint) -> None:
    """The menu of a right click, left open: its own loop ends once it is seen."""
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, widget.mapToGlobal(place))
    QTimer.singleShot(0, QApplication.processEvents)
    QApplication.postEvent(widget, event)
    tour.wait("the menu opens", lambda: isinstance(QApplication.activePopupWidget(), QMenu))
