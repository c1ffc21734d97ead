"""What the tour does, step by step, in the order in which a new user would."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtWidgets import QApplication, QDialog, QPushButton

from lamella import resources
from lamella.core.filters import col
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.query.query import SortKey
from lamella.core.store.table import Table
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.dialogs.shortcuts import ShortcutsDialog
from lamella.ui.editing.update_dialog import UpdateDialog
from lamella.ui.window.dataset_tab import DatasetTab

if TYPE_CHECKING:
    from lamella.app.tour import Tour

D = TypeVar("D", bound=QDialog)
LATE = (col("dep_delay") > 60) & Predicate("carrier", "in", ("AA", "UA"))
LATE_ROWS = 5_827  # counted with another program
CHANGED_COLUMN, NEW_VALUE = "arr_delay", "60"
DIALOGS = (("palette", CommandPalette, "commands"), ("shortcuts", ShortcutsDialog, "keys"))
RACE_ROWS = (1, 10, 100, 1000)


def start_empty(tour: Tour) -> None:
    tour.wait("the stores are listed", lambda: tour.window.sidebar.num_stores > 0)
    tour.camera.take(tour.window, "start")


def import_the_sample(tour: Tour) -> None:
    tour.program.open([], with_sample=True)
    tour.wait("the flights are shown", lambda: tour.window.tabs.dataset_tab is not None)
    tab = _settled(tour)
    tour.check("Rows of flights", tab.view.num_rows, 336_776)
    tour.camera.take(tour.window, "table")


def open_a_file_in_place(tour: Tour) -> None:
    before = tour.window.tabs.dataset_tab
    tour.window.open_paths([resources.sample("weather")])
    tour.wait("the weather is shown", lambda: tour.window.tabs.dataset_tab is not before)
    tour.check("Rows of weather", _settled(tour).view.num_rows, 26_115)
    tour.camera.take(tour.window, "file")
    tour.window.tabs.show_tab(before)


def filter_the_flights(tour: Tour) -> None:
    tab = _settled(tour)
    tab.filter_bar.set_filter(LATE)
    tab.filter_bar.open_builder()
    tour.wait("the late flights are counted", lambda: tab.where == LATE and not tour.program.tasks.running)
    tour.check("Late flights", _settled(tour).view.num_rows, LATE_ROWS)
    tour.camera.take(tour.window, "filter")
    tab.filter_bar.open_builder(False)


def sort_by_delay(tour: Tour) -> None:
    tab = _settled(tour)
    tab.set_sort([SortKey("dep_delay", descending=True)])
    tour.check("Late flights, sorted", _settled(tour).view.num_rows, LATE_ROWS)
    tour.check("The longest delay", tab.view.page(0, 1, ["dep_delay"]).column(0)[0].as_py(), 1_014)
    tour.camera.take(tour.window, "sorted")


def set_a_value_on_the_matching_rows(tour: Tour) -> None:
    tab = _settled(tour)
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index(CHANGED_COLUMN)))
    tour.window.commands["set_values"].trigger()
    dialog = _dialog(tour, UpdateDialog)
    dialog.set_value(NEW_VALUE)
    apply = _button(dialog, "Change ")
    tour.wait("the change is previewed", apply.isEnabled)
    tour.camera.take(dialog, "set-values")
    apply.click()
    tour.wait("the change is committed", lambda: bool(tab.shown.undo) and not tour.program.tasks.running)
    _settled(tour)
    tour.check("Rows with the new value", _with_new_value(tab.table), LATE_ROWS)
    tour.camera.take(tour.window, "changed")


def undo_it(tour: Tour) -> None:
    tab = _settled(tour)
    tour.window.commands["undo"].trigger()
    tour.wait("the change is undone", lambda: bool(tab.shown.redo) and not tour.program.tasks.running)
    _settled(tour)
    if _with_new_value(tab.table) == LATE_ROWS:
        tour.check("Rows with the new value after the undo", LATE_ROWS, "fewer")
    tour.camera.take(tour.window, "undone")


def race(tour: Tour) -> None:
    tour.window.commands["race"].trigger()
    panel = tour.window.race
    tour.camera.take(tour.window, "race-before")
    panel.controls.size_choice.choose(RACE_ROWS)
    panel.controls.repeats.setValue(2)
    panel.bar.start.click()
    tour.wait("the benchmark is over", lambda: not panel.running)
    tour.check("What failed in the benchmark", panel.results.failures, [])
    tour.check("Systems in the benchmark", {r.backend for r in panel.results.records}, {"lamella", "sqlite"})
    tour.camera.take(tour.window, "race")


def look_at_the_dialogs(tour: Tour) -> None:
    for action, kind, name in DIALOGS:
        tour.window.commands[action].trigger()
        dialog = _dialog(tour, kind)
        tour.camera.take(dialog, name)
        dialog.close()
    tour.window.opening.import_paths([resources.sample("planes"), resources.sample("airports")])
    dialog = _dialog(tour, ImportDialog)
    tour.wait("the files are recognised", dialog.import_button.isEnabled)
    tour.camera.take(dialog, "import")
    dialog.reject()


STEPS: tuple[Callable[[Tour], None], ...] = (
    start_empty,
    import_the_sample,
    open_a_file_in_place,
    filter_the_flights,
    sort_by_delay,
    set_a_value_on_the_matching_rows,
    undo_it,
    race,
    look_at_the_dialogs,
)


def _settled(tour: Tour) -> DatasetTab:
    """The current tab once everything on screen is there."""

    def settled() -> bool:
        tab = tour.window.tabs.dataset_tab
        return (
            tab is not None
            and tab.view is not None
            and not tab.loader.running
            and not tour.program.tasks.running
            and tab.grid.grid_model.pages.settled
        )

    tour.wait("everything is shown", settled)
    tab = tour.window.tabs.dataset_tab
    tour.check(f"The filter shown ({tab.messages.label.text() or 'no message'})", tab.shown.where, tab.where)
    return tab


def _dialog(tour: Tour, kind: type[D]) -> D:
    tour.wait(f"the {kind.__name__} opens", lambda: bool(_open(kind)))
    return _open(kind)[0]


def _open(kind: type[D]) -> list[D]:
    widgets = QApplication.topLevelWidgets()
    return [widget for widget in widgets if isinstance(widget, kind) and widget.isVisible()]


def _button(dialog: QDialog, text: str) -> QPushButton:
    return next(button for button in dialog.findChildren(QPushButton) if button.text().startswith(text))


def _with_new_value(table: Table) -> int:
    changed: Filter = LATE & (col(CHANGED_COLUMN) == int(NEW_VALUE))
    return table.count(changed)
