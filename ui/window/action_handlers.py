"""What each action does, by its id in the action table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from PySide6.QtCore import QPoint

from lamella.core.arrow.nested_values import python_values
from lamella.core.arrow.types import ID
from lamella.core.filters import fits
from lamella.core.filters.expr import Filter, Or, Predicate
from lamella.core.jobs import Job
from lamella.core.query import agg
from lamella.core.query.expressions import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group, Join, Select, Sort, Step
from lamella.core.scan.snapshot import SortKey
from lamella.ui.dialogs.about import AboutDialog
from lamella.ui.dialogs.go_to_row import GoToRow
from lamella.ui.editing.edit_target import ROWS_ARE_COMPUTED
from lamella.ui.grid.tree import TreeRows
from lamella.ui.help.pages import SHORTCUTS
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window import table_columns
from lamella.ui.window.action_state import current_column
from lamella.ui.window.benchmarking import (
    ask_benchmark_file,
    benchmark_table,
    show_saved_runs,
)
from lamella.ui.window.commits import row_ids
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.destinations import column_finder, palette
from lamella.ui.window.engine_comparison import compare_with_local
from lamella.ui.window.group_rows import OF_A_SUBTOTAL
from lamella.ui.window.searches import search_handlers
from lamella.ui.window.window import Window
from lamella.ui.window.window_settings import show_settings

if TYPE_CHECKING:
    from lamella.ui.editing.change_dialog import ChangeDialog, SelectedRows


def ask_change(tab: DatasetTab, window: Window, kind: str = "update") -> ChangeDialog | None:
    """Open the Change dialog with the form of a kind of act, by its id; None when the tab's rows cannot be
    changed."""
    from lamella.ui.editing.change_dialog import ChangeContext, ChangeDialog

    if tab.editable is None:
        tab.messages.say(ROWS_ARE_COMPUTED)
    if tab.editable is None or tab.view is None or tab.table is None:
        return None
    column = current_column(tab)
    blocks = tab.grid.selection.blocks
    names = dict.fromkeys(name for block in blocks for name in tab.grid.names_in(block) if name != ID)
    context = ChangeContext(
        "" if column is None or column == ID else column,
        tab.where,
        selected_rows(tab),
        list(names) if 1 < len(names) <= MOST_SELECTED_COLUMNS else (),
        [e.key[1] for e in window.sidebar.entries("table") if e.key[0] == tab.key[0] and e.key != tab.key],
    )
    dialog = ChangeDialog(tab.table, tab.name, tab.view.snapshot, tab.tasks, context, widget_of(window))
    dialog.committed.connect(lambda commit: tab.commits.committed.emit(tab.table, commit))
    dialog.finished.connect(dialog.deleteLater)
    if kind != "update":
        dialog.choose_kind(kind)
    dialog.open()
    return dialog


MOST_SELECTED_COLUMNS = 20
"""More columns than this are a selection of whole rows, not columns chosen by hand."""


def _change_column(window: Window, kind: str) -> TabWork:
    """The Change dialog with the form of a kind of act."""
    return table_columns.on_column(window, lambda tab, _name: ask_change(tab, window, kind))


def selected_rows(tab: DatasetTab) -> SelectedRows | None:
    """The rows of the selection if it covers more than the current cell."""
    from lamella.ui.editing.change_dialog import SelectedRows

    view, blocks = tab.view, list(tab.grid.selection.blocks)
    count = sum(block.num_rows for block in blocks)
    if view is None or count < 2:
        return None

    def ids(job: Job) -> list[int]:
        return list(dict.fromkeys(row_id for block in blocks for row_id in row_ids(view, block)))

    return SelectedRows(count, ids)


Handler = Callable[[], object]
TabWork = Callable[[DatasetTab], object]


OnTab = Callable[[TabWork], Handler]
"""Makes the handler of an action that works on the current tab."""


def handlers(window: Window) -> dict[str, Handler]:
    """Return the handlers of a window that is fully built."""
    on: OnTab = partial(_on_tab, window)
    return {
        **_file_handlers(window),
        **_edit_handlers(window, on),
        **_step_handlers(window, on),
        **_column_handlers(window, on),
        **_window_handlers(window, on),
        **search_handlers(window, on),
    }


def _file_handlers(window: Window) -> dict[str, Handler]:
    return {
        "open": window.opening.ask_files,
        "open_folder": window.opening.ask_folder,
        "open_server": window.servers.ask_address,
        "connections": window.servers.ask_connections,
        "compare_with_local": partial(compare_with_local, window),
        "open_sample": lambda: window.sample_requested.emit(None),
        "import": window.opening.import_current,
        "paste_table": window.opening.import_clipboard,
        "close_tab": lambda: window.tabs.close_at(window.tabs.tabs.currentIndex()),
        "reopen_tab": window.reopen_tab,
        "next_tab": lambda: window.tabs.step(1),
        "previous_tab": lambda: window.tabs.step(-1),
        "new_window": lambda: window.window_requested.emit(None, None),
        "move_tab": window.move_tab,
        "close_window": window.close,
        "quit": window.quit,
        **_store_handlers(window),
    }


def _store_handlers(window: Window) -> dict[str, Handler]:
    """The handlers for the current tab's store, or for the store that imports go to."""
    stores = window.store_actions

    def act(name: str) -> Handler:
        return lambda: stores.act(stores.of(), name)

    return {
        "store_page": stores.show_page,
        "new_store": stores.ask_new,
        "open_store": stores.ask_open,
        "verify_store": act("verify"),
        "backup_store": act("backup"),
        "restore_backup": stores.restore,
        "compact_store": act("compact"),
        "vacuum_store": act("vacuum"),
        "rename_store": act("rename"),
        "move_store": act("move"),
    }


def _edit_handlers(window: Window, on: OnTab) -> dict[str, Handler]:
    return {
        "undo": lambda: _undo(window),
        "redo": lambda: _redo(window),
        "edit_cell": on(lambda tab: tab.editing.begin()),
        "set_null": on(lambda tab: tab.blocks.clear()),
        "fill_cells": on(lambda tab: tab.blocks.fill_with_current()),
        "fill_down": on(lambda tab: tab.blocks.fill_down()),
        "insert_rows": on(lambda tab: tab.blocks.insert_rows()),
        "duplicate_rows": on(lambda tab: tab.blocks.duplicate_rows()),
        "delete_rows": on(lambda tab: tab.blocks.delete_rows()),
        "change": window.change,
        "add_column": on(table_columns.on_column(window, table_columns.ask_new)),
        "rename_column": on(table_columns.on_column(window, table_columns.ask_name)),
        "describe_column": on(table_columns.on_column(window, table_columns.ask_description)),
        "cast_column": on(_change_column(window, "cast")),
        "split_column": on(_change_column(window, "split")),
        "merge_columns": on(_change_column(window, "merge")),
        "drop_duplicates": on(_change_column(window, "drop_duplicates")),
        "move_left": on(table_columns.on_column(window, partial(table_columns.move, by=-1))),
        "move_right": on(table_columns.on_column(window, partial(table_columns.move, by=1))),
        "keep_order": on(table_columns.on_column(window, table_columns.keep_order)),
        "drop_column": on(table_columns.on_column(window, table_columns.drop)),
        "new_table": lambda: table_columns.ask_table(window),
        "make_table": on(partial(table_columns.ask_table_of_rows, window)),
        "copy": on(lambda tab: tab.comparing.front_copying.copy()),
        "copy_headers": on(lambda tab: tab.comparing.front_copying.copy(headers=True)),
        "copy_as": on(lambda tab: tab.comparing.front_copying.ask_format()),
        "review_edits": on(lambda tab: tab.review.toggle()),
        "paste": on(lambda tab: tab.blocks.paste()),
    }


def _step_handlers(window: Window, on: OnTab) -> dict[str, Handler]:
    return {
        "select_all": on(lambda tab: tab.grid.select_all()),
        "select_column": on(_select_column),
        "select_row": on(_select_row),
        "add_step": on(lambda tab: tab.steps.bar.open_menu()),
        "group": on(_group),
        "group_rows": on(_show_rows_of_group),
        "copy_totals": on(lambda tab: tab.groups.copy_totals()),
        "totals_row": on(lambda tab: tab.groups.toggle_totals()),
        "subtotals": on(lambda tab: tab.groups.toggle_subtotals()),
        "open_groups": on(lambda tab: tab.groups.open_all()),
        "close_groups": on(lambda tab: tab.groups.close_all()),
        "columns": on(lambda tab: _edit_last(tab, Select)),
        "join": on(lambda tab: tab.steps.add(Join)),
        "compute": on(lambda tab: tab.steps.add(Compute)),
        "chart": on(lambda tab: tab.comparing.toggle_chart()),
        "chart_column": on(_with_column(lambda tab, name: tab.comparing.draw_column(name))),
        "all_columns": on(lambda tab: tab.profiling.toggle()),
        "row_key": on(lambda tab: tab.remote_rows.ask_key()),
        "sql": window.consoles.show,
        "sql_steps": on(window.consoles.open_for_steps),
        "back": on(window.trail.go_back),
        "follow": on(lambda tab: tab.relations.choose(current_column(tab))),
        "forward": on(lambda tab: tab.go_forward()),
        "clear_steps": on(lambda tab: tab.apply(Line())),
        "filter": on(_toggle_builder),
        "filter_equal": on(partial(_filter_cell, operator="eq", on_null="is_null")),
        "filter_unequal": on(partial(_filter_cell, operator="ne", on_null="not_null")),
        "filter_at_least": on(partial(_filter_cell, operator="gte", on_null="is_null")),
        "filter_at_most": on(partial(_filter_cell, operator="lte", on_null="is_null")),
        "filter_contains": on(partial(_filter_cell, operator="contains", on_null="is_null")),
        "filter_starts": on(partial(_filter_cell, operator="starts_with", on_null="is_null")),
        "filter_between": on(partial(_filter_selection, between=True)),
        "filter_any": on(partial(_filter_selection, between=False)),
        "table_details": on(lambda tab: tab.inspector.show_page("table")),
        "history": on(_show_history),
        "compare": on(lambda tab: tab.comparing.ask(tab.steps.other_sources())),
        "next_difference": on(lambda tab: tab.comparing.go_on()),
        "previous_difference": on(lambda tab: tab.comparing.go_on(backwards=True)),
        "export": on(lambda tab: tab.comparing.export_front()),
        "copy_sql": on(lambda tab: tab.line_actions.copy("sql")),
        "copy_python": on(lambda tab: tab.line_actions.copy("python")),
        "paste_steps": on(lambda tab: tab.line_actions.paste()),
        "save_view": partial(window.consoles.save, on(_save)),
        "inspector": on(lambda tab: tab.toggle_inspector()),
        "filter_values": on(lambda tab: tab.column_filters.choose_values(current_column(tab))),
        "filter_row": on(lambda tab: tab.column_filters.toggle_row()),
        "clear_filter": on(lambda tab: tab.set_filter(None)),
        "sort_ascending": on(partial(_sort, descending=False)),
        "sort_descending": on(partial(_sort, descending=True)),
        "sort_within": on(_sort_within),
        "clear_sort": on(lambda tab: tab.set_sort([])),
    }


def _save(tab: DatasetTab) -> None:
    """Save staged edits, including what is being typed; without any, save the steps as a view."""
    typing = tab.editing.editor is not None
    if not tab.editing.settle():
        return
    if tab.review.is_unsaved:
        tab.review.save()
    elif not typing:
        tab.line_actions.ask_name()


def _with_column(act: Callable[[DatasetTab, str], object]) -> Callable[[DatasetTab], None]:
    """An act on the current column of a tab, if there is one."""

    def run(tab: DatasetTab) -> None:
        name = current_column(tab)
        if name is not None:
            act(tab, name)

    return run


def _open_column_menu(tab: DatasetTab) -> None:
    """Open the menu of the current column below its header."""
    current, header = tab.grid.selection.current, tab.grid.column_header
    if current is not None:
        tab.grid.show_cell(*current)
        column = tab.grid.column_at(current[1])
        below = QPoint(header.pinning.x_of(column), header.height())
        header.menu_requested.emit(column, header.mapToGlobal(below))


def _column_handlers(window: Window, on: OnTab) -> dict[str, Handler]:
    return {
        "hide_column": on(_hide_column),
        "show_columns": on(_show_columns),
        "pin_column": on(_pin_column),
        "reset_layout": on(_reset_layout),
        "unpin_columns": on(_unpin_columns),
        "format_column": on(_with_column(lambda tab, name: tab.column_formats.ask(name))),
        "column_rules": on(lambda tab: tab.column_rules.ask(current_column(tab))),
        "field_columns": on(_with_column(lambda tab, name: tab.nested_values.ask_fields(name))),
        "open_value": on(lambda tab: tab.nested_values.open()),
        "column_menu": on(_open_column_menu),
        "fit_columns": on(lambda tab: tab.grid.fit_columns()),
        "go_to_row": on(partial(_ask_row, window)),
        "go_to_column": on(lambda tab: column_finder(tab, widget_of(window)).show()),
        "read_differently": on(lambda tab: tab.differently_requested.emit()),
        "delta_versions": on(lambda tab: tab.reopening.ask_version()),
        "refresh": on(lambda tab: tab.reopening.refresh()),
    }


def _window_handlers(window: Window, on: OnTab) -> dict[str, Handler]:
    return {
        "relations": lambda: window.diagrams.show(window.consoles.front_store),
        "stop": window.tasks.cancel_all,
        "sidebar": lambda: window.sidebar.setVisible(window.sidebar.isHidden()),
        "theme_system": lambda: window.appearance.set_mode("system"),
        "theme_light": lambda: window.appearance.set_mode("light"),
        "theme_dark": lambda: window.appearance.set_mode("dark"),
        "text_larger": lambda: window.appearance.step_text(1),
        "text_smaller": lambda: window.appearance.step_text(-1),
        "text_normal": lambda: window.appearance.step_text(0),
        "benchmark": window.show_benchmark,
        "benchmark_table": on(partial(benchmark_table, window)),
        "benchmark_file": lambda: ask_benchmark_file(window),
        "saved_runs": lambda: show_saved_runs(window),
        "palette": lambda: palette(window).show(),
        "settings": lambda: show_settings(window),
        "help": window.help.show,
        "shortcuts": lambda: window.help.show(SHORTCUTS),
        "about": lambda: AboutDialog(widget_of(window)).open(),
    }


def try_out(window: Window, what: str) -> None:
    """Start one of the start page's `TRIES`, by its id."""
    if what == "benchmark":
        window.show_benchmark()
    else:
        window.sample_requested.emit({"late": _find_late_flights, "airlines": _compare_airlines}[what])


def _find_late_flights(tab: DatasetTab) -> None:
    tab.set_filter(col("dep_delay") > 60)


def _compare_airlines(tab: DatasetTab) -> None:
    figures = ("flights", agg.count()), ("mean_delay", agg.mean(col("dep_delay")))
    by_delay = Sort((SortKey("mean_delay", descending=True),))
    tab.apply(Line.of([Group(("carrier",), figures), by_delay]))


def _on_tab(window: Window, work: TabWork) -> Handler:
    def handler() -> None:
        tab = window.tabs.dataset_tab
        if tab is not None:
            work(tab)

    return handler


def _undo(window: Window) -> None:
    """Undo an edit that is not saved yet, otherwise the last commit; in a diagram, its last act."""
    tab, diagram = window.tabs.dataset_tab, window.diagrams.current
    if diagram is not None:
        diagram.undo()
    elif tab is not None and not tab.review.undo() and tab.table is not None:
        window.commits.undo(tab.table, tab.name)


def _redo(window: Window) -> None:
    tab, diagram = window.tabs.dataset_tab, window.diagrams.current
    if diagram is not None:
        diagram.redo()
    elif tab is not None and not tab.review.redo() and tab.table is not None:
        window.commits.redo(tab.table, tab.name)


def _select_column(tab: DatasetTab) -> None:
    if tab.grid.selection.current is not None:
        tab.grid.select_column(tab.grid.selection.current[1])


def _select_row(tab: DatasetTab) -> None:
    if tab.grid.selection.current is not None:
        tab.grid.select_rows(tab.grid.selection.current[0], extend=False)


def _show_rows_of_group(tab: DatasetTab) -> None:
    if tab.grid.selection.current is not None:
        tab.open_group(tab.grid.selection.current[0])


def _show_history(tab: DatasetTab) -> None:
    """Show the history, and give it the keyboard, so that arrows choose a version and F1 is about it."""
    tab.inspector.show_page("history")
    tab.inspector.history_page.list.setFocus()


def _toggle_builder(tab: DatasetTab) -> None:
    if tab.steps.filter_open:
        tab.steps.close_editor()
        tab.grid.setFocus()
    else:
        tab.steps.edit_filter()


def _edit_last(tab: DatasetTab, kind: type[Step]) -> None:
    """Edit the last step of a kind, or add a new one."""
    place = tab.line.last_of(kind)
    tab.steps.add(kind) if place is None else tab.steps.edit(place)


def _group(tab: DatasetTab) -> None:
    """Group by the current column at once, and open the form of the step."""
    from lamella.ui.steps.grouping import count_beside

    name = current_column(tab)
    if name is None or name == ID:
        tab.steps.add(Group)
        return
    tab.add_step(Group((name,), count_beside([name])))
    tab.when_shown(lambda: tab.steps.edit(len(tab.line.steps) - 1) if tab.line.steps else None)


def _filter_cell(tab: DatasetTab, operator: str, on_null: str) -> None:
    name = current_column(tab)
    if name is not None:
        tab.filter_by_cell(name, operator, on_null)


MOST_VALUES = 10_000
"""At most this many selected values are listed in a filter."""


def _filter_selection(tab: DatasetTab, between: bool) -> None:
    """Add a condition with the values of the current column in the selected rows."""
    view, rows, name = tab.view, tab.rows, current_column(tab)
    blocks = list(tab.grid.selection.blocks)
    if view is None or rows is None or name is None:
        return
    kind, refusal = (
        view.schema.field(name).type,
        f"Column '{name}': values of this type cannot be compared yet",
    )
    if pa.types.is_nested(kind):
        tab.messages.say(refusal)
        return
    if sum(block.num_rows for block in blocks) > MOST_VALUES:
        tab.messages.say(f"Select at most {MOST_VALUES:,} rows to filter by their values")
        return

    def read(job: Job) -> list[Any]:
        cell_values: list[Any] = []
        for block in blocks:
            page = rows.page(block.top, block.num_rows, [name]).column(0)
            if isinstance(rows, TreeRows):
                page = page.filter(pa.array(rows.can_be_filtered(block.top, block.num_rows, name)))
            cell_values += python_values(page)
        return cell_values

    def add(values: list[Any]) -> None:
        if not values:
            tab.messages.say(OF_A_SUBTOTAL)
            return
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        condition = _condition_of(name, distinct, None in values, between)
        if condition is None or not all(fits(p.operator, kind) for p in _predicates(condition)):
            tab.messages.say(refusal)
        else:
            tab.add_filter(condition)

    tab.tasks.read(read, add, tab.failures.show, owner=tab)


def _with_nan_last(value: Any) -> tuple[bool, Any]:
    """A sort key that puts NaN last, as sorts do."""
    return value != value, value


def _condition_of(name: str, values: list[Any], with_null: bool, between: bool) -> Filter | None:
    null = Predicate(name, "is_null")
    if not values:
        return null
    if between:
        ends = (min(values, key=_with_nan_last), max(values, key=_with_nan_last))
        return Predicate(name, "between", ends)
    listed = Predicate(name, "in", tuple(values)) if len(values) > 1 else Predicate(name, "eq", (values[0],))
    return listed | null if with_null else listed


def _predicates(condition: Filter) -> list[Predicate]:
    children = condition.children if isinstance(condition, Or) else (condition,)
    return [child for child in children if isinstance(child, Predicate)]


def _sort(tab: DatasetTab, descending: bool) -> None:
    name = current_column(tab)
    if name is not None:
        tab.set_sort([SortKey(name, descending)])


def _sort_within(tab: DatasetTab) -> None:
    if tab.grid.selection.current is not None:
        tab.toggle_sort(tab.grid.column_at(tab.grid.selection.current[1]), add=True)


def _hide_column(tab: DatasetTab) -> None:
    current, grid = tab.grid.selection.current, tab.grid
    if current is not None:
        grid.setColumnHidden(grid.column_at(current[1]), True)
        grid.go_to(current[0], grid.next_place(current[1]))
        tab.changed.emit()


def _show_columns(tab: DatasetTab) -> None:
    for column in range(tab.grid.grid_model.columnCount()):
        tab.grid.setColumnHidden(column, False)
    tab.changed.emit()


def _pin_column(tab: DatasetTab) -> None:
    """Pin the current column, or unpin it."""
    current, grid = tab.grid.selection.current, tab.grid
    if current is not None:
        grid.pin_column(grid.column_at(current[1]), current[1] >= grid.pinning.count)
        tab.changed.emit()


def _unpin_columns(tab: DatasetTab) -> None:
    tab.grid.unpin_columns()
    tab.changed.emit()


def _reset_layout(tab: DatasetTab) -> None:
    tab.column_layout.reset()
    tab.changed.emit()


def _ask_row(window: Window, tab: DatasetTab) -> None:
    dialog = GoToRow(tab.grid.grid_model.num_rows, widget_of(window))
    dialog.chosen.connect(tab.grid.go_to)
    dialog.open()
