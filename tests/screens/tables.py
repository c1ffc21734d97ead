"""Screens of a table: its grid, cards and menus, its steps and their forms, its values and changes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from lamella.app.tour import Tour, dialog_of, loaded_tab
from lamella.core.filters.expr import Predicate
from lamella.core.query import agg
from lamella.core.query.expressions import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.editing.change_dialog import ChangeDialog
from lamella.ui.editing.change_forms import UpdateForm
from lamella.ui.filters.value_picker import ValuePicker
from lamella.ui.steps.where_editor import WhereEditor
from tests.screens.stage import (
    Screen,
    after,
    command,
    context_menu,
    go_to,
    plain,
    quiet,
    settled_after_pause,
    type_keys,
)

LATE = (col("dep_delay") > 60) & Predicate("carrier", "in", ("AA", "UA"))
FAR = (col("origin") == "JFK") & Predicate("dest", "in", ("LAX", "SFO", "SEA")) & (col("arr_delay") >= 120)
KINDS = ("limit", "sample", "pivot", "unpivot", "ranges", "sort", "sql")
"""What is typed for a kind of step that has no command of its own."""


def start(tour: Tour) -> None:
    if tour.window.tabs.dataset_tab is None:
        tour.wait("the stores are listed", lambda: tour.window.sidebar.num_stores > 0)


def table(tour: Tour) -> None:
    """Show a filter, a computed column and an order, with the profile of the column beside them."""
    tab = plain(tour)
    speed = Compute((("speed", col("distance") / col("air_time")),))
    tab.apply(Line.of([Where(LATE), speed, Sort((SortKey("dep_delay", True),))]))
    loaded_tab(tour)
    go_to(tab, "dep_delay", 3)
    tab.grid.go_to(7, tab.grid.place(tab.grid.grid_model.names.index("dep_delay")), extend=True)
    tab.inspector.show_page("column")
    settled_after_pause(tour)


def row(tour: Tour) -> None:
    tab = plain(tour)
    tab.grid.go_to(4, 0)
    tab.inspector.show_page("row")
    settled_after_pause(tour)


def filter_form(tour: Tour) -> None:
    tab = plain(tour)
    tab.set_filter(LATE | FAR)
    loaded_tab(tour)
    tab.steps.edit_filter()
    loaded_tab(tour)


def value_picker(tour: Tour) -> None:
    filter_form(tour)
    editor = loaded_tab(tour).steps.editor
    assert isinstance(editor, WhereEditor)
    condition = next(
        row.condition
        for row in editor.builder.findChildren(QWidget)
        if column_and_operator(row) == ("dest", "in")
    )
    editor.builder.choose_values(condition)
    tour.wait("the values are counted", lambda: bool(shown_pickers()) and not tour.program.tasks.running)
    loaded_tab(tour)


def column_and_operator(row: QWidget) -> tuple[str, str]:
    condition = getattr(row, "condition", None)
    return (condition.column, condition.operator) if condition is not None else ("", "")


def shown_pickers() -> list[QWidget]:
    return [
        widget
        for widget in QApplication.allWidgets()
        if isinstance(widget, ValuePicker) and widget.isVisible()
    ]


def filter_row(tour: Tour) -> None:
    tab = plain(tour)
    tour.window.commands["filter_row"].trigger()
    tab.grid.filter_row.focus_column(tab.grid.place(tab.grid.grid_model.names.index("dep_delay")))
    field = tab.grid.filter_row.field_of("dep_delay")
    assert field is not None
    for letter in ">60":
        event = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
        QApplication.sendEvent(field, event)
    tour.wait("the condition is taken", lambda: tab.where is not None)
    loaded_tab(tour)


def hide_filter_row(tour: Tour) -> None:
    tour.window.commands["filter_row"].trigger()


def group(tour: Tour) -> None:
    """Show the form of a grouping step."""
    tab = plain(tour)
    hours = Compute((("hours", col("dep_delay") / 60),))
    figures = (
        ("n", agg.count()),
        ("mean_delay", agg.mean(col("dep_delay"))),
        ("worst", agg.max(col("hours"))),
    )
    by_carrier = [Where(Predicate("dep_delay", "not_null")), hours, Group(("carrier",), figures)]
    tab.apply(Line.of(by_carrier).with_sort([SortKey("n", True)]))
    loaded_tab(tour)
    tab.steps.edit(2)
    loaded_tab(tour)


def subtotals(tour: Tour) -> None:
    """Groups by two keys as a tree, one of them expanded, with totals."""
    tab = plain(tour)
    figures = (("n", agg.count()), ("mean_delay", agg.mean(col("dep_delay"))))
    tab.apply(Line.of([Group(("origin", "carrier"), figures)]))
    loaded_tab(tour)
    tour.window.commands["totals_row"].trigger()
    tour.window.commands["subtotals"].trigger()
    settled_after_pause(tour)


def step_form(kind: str) -> Screen:
    """The form of a step that is added by its name."""

    def show(tour: Tour) -> None:
        command(tour, "add_step")
        field = QApplication.focusWidget()
        assert isinstance(field, QLineEdit)
        type_keys(tour, field, kind)
        QApplication.sendEvent(
            field, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier)
        )
        quiet(tour)

    return Screen(f"step-{kind}", show)


def cell_menu(tour: Tour) -> None:
    tab = plain(tour)
    go_to(tab, "carrier", 3)
    context_menu(tour, tab.grid.viewport(), tab.grid.viewport().rect().center())


def column_menu(tour: Tour) -> None:
    tab = plain(tour)
    header = tab.grid.column_header
    context_menu(tour, header.viewport(), QPoint(header.width() // 3, header.height() // 4))


def main_menu(tour: Tour) -> None:
    plain(tour)
    tour.window.action_bar.menu_button.showMenu()


def cell_editor(tour: Tour) -> None:
    command(tour, "edit_cell", "dep_time")


def add_step(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["add_step"].trigger()


def join(tour: Tour) -> None:
    plain(tour)
    tour.window.commands["join"].trigger()
    loaded_tab(tour)


def change(tour: Tour) -> None:
    tab = plain(tour)
    tab.set_filter(LATE)
    loaded_tab(tour)
    go_to(tab, "arr_delay")
    tour.window.commands["change"].trigger()
    dialog = dialog_of(tour, ChangeDialog)
    assert isinstance(dialog.form, UpdateForm)
    dialog.form.lines[0].choose("compute")
    dialog.set_value("greatest(arr_delay - 15, 0)")
    tour.wait("the change is previewed", dialog.apply.isEnabled)


def commands(tour: Tour) -> None:
    tour.window.commands["palette"].trigger()
    dialog_of(tour, CommandPalette).findChildren(QLineEdit)[0].setText("de")


SCREENS = (
    Screen("start", start),
    Screen("table", table),
    Screen("filter", filter_form),
    Screen("filter-values", value_picker),
    Screen("filter-row", filter_row, hide_filter_row),
    Screen("group", group),
    Screen("group-tree", subtotals),
    Screen("step-add", add_step),
    Screen("step-join", join),
    Screen("step-columns", after("columns")),
    Screen("step-compute", after("compute", "dep_delay")),
    *map(step_form, KINDS),
    Screen("menu-cell", cell_menu),
    Screen("menu-column", column_menu),
    Screen("menu-copy-as", after("copy_as", "carrier")),
    Screen("commands", commands),
    Screen("format", after("format_column", "dep_delay")),
    Screen("go-to-row", after("go_to_row")),
    Screen("change", change),
    Screen("column-rules", after("column_rules", "seats", "planes")),
    Screen("column-add", after("add_column", "seats", "planes")),
    Screen("column-rename", after("rename_column", "seats", "planes")),
    Screen("column-type", after("cast_column", "seats", "planes")),
    Screen("column-split", after("split_column", "model", "planes")),
    Screen("column-merge", after("merge_columns", "model", "planes")),
    Screen("column-describe", after("describe_column", "model", "planes")),
    Screen("duplicates", after("drop_duplicates", "model", "planes")),
    Screen("replace", after("replace", "model", "planes")),
)
