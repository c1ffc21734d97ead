"""Tabs are restored at the next start with their steps, layout and position, or a reason is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from lamella import col
from lamella.core.errors import FileProblem
from lamella.core.query import agg
from lamella.core.query.line import Line, LineStep
from lamella.core.query.steps import Group, Join, Pipeline, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui.filters.tree import from_filter, to_json
from lamella.ui.formats.formats import Format
from lamella.ui.main_window import MainWindow
from lamella.ui.window.column_layout import layout_of


def titles(window: MainWindow) -> list[str]:
    return [widget.property("title") for widget in window.tabs.widgets]


def pending(**state: object) -> dict[str, Any]:
    """The state of a window with one tab."""
    tab = {"kind": "dataset", "title": "t", "icon": "file", "tip": "", "state": state}
    return {"tabs": [tab], "current": 0}


def test_steps_looks_cell_and_place_come_back(qtbot, window, settled, file_tab, go_to, restart, opened_tab):
    tab = file_tab
    draft = to_json(from_filter(col("delay") > 60))
    steps = (
        LineStep(Where, Where(col("delay") > 60), draft=draft),
        LineStep(Sort, Sort((SortKey("delay", True),)), on=False),
    )
    tab.apply(Line(steps))
    settled()
    tab.grid.set_format("delay", Format(prefix="about "))
    tab.grid.setColumnHidden(1, True)
    go_to(tab, 90, "note")
    tab.grid.scroll_to_row(80)
    tab.inspector.show_page("column")
    window.commands["filter_row"].trigger()
    layout = layout_of(tab.grid)
    again = opened_tab(restart(window))
    qtbot.waitUntil(lambda: again.grid.top_row() == 80)
    assert again.line.steps == steps and again.line.steps[0].draft == draft
    assert again.view.num_rows == tab.view.num_rows
    assert layout_of(again.grid) == layout
    assert again.grid.selection.current[0] == 90 and again.grid.current_name == "note"
    assert again.is_inspector_open and again.inspector.page == "column"
    assert again.grid.filter_row.is_shown and not again.visits.can_go_back


@pytest.mark.parametrize("page", ["column", "table", "history"])
def test_the_inspector_comes_back_at_its_page_and_stays_closed(
    qtbot, window, settled, table_tab, restart, opened_tab, page
):
    window.workspace.save()  # what follows changes nothing else that is saved
    settled()
    window.commands["inspector"].trigger()
    buttons = table_tab.inspector.findChildren(QToolButton)
    qtbot.mouseClick(
        next(button for button in buttons if button.text() == page.title()), Qt.MouseButton.LeftButton
    )
    again = restart(window)
    tab = opened_tab(again)
    assert tab.is_inspector_open and tab.inspector.page == page
    again.workspace.save()
    opened_tab(again)
    again.commands["inspector"].trigger()
    again.close()
    third = opened_tab(restart.begin(again.workspace.entry.state))
    assert not third.is_inspector_open


def test_the_width_of_the_sidebar_comes_back(window, restart):
    width = window.sidebar.width() + 60
    splitter = window.sidebar.parentWidget()
    splitter.setSizes([width, splitter.width() - width])
    assert restart(window).sidebar.width() == width


@pytest.mark.slow
def test_chart_comes_back(qtbot, window, settled, file_tab, go_to, restart, opened_tab):
    go_to(file_tab, 0, "carrier")
    window.commands["chart"].trigger()
    qtbot.waitUntil(lambda: file_tab.charting.view.data is not None)
    spec = file_tab.charting.view.spec
    again = opened_tab(restart(window))
    qtbot.waitUntil(lambda: again.charting.is_shown and again.charting.view.data is not None)
    assert again.charting.view.spec == spec


@pytest.mark.slow
def test_table_comes_back_joined_and_grouped(window, store, table_tab, settled, restart, opened_tab):
    carriers = pa.table({"carrier": ["AA", "UA"], "name": ["American", "United"]})
    airlines = store.create_table("airlines", carriers)
    join = Join(Pipeline("airlines", ()), ("carrier",), ("carrier",), "inner", "_other")
    by_name = Group(("name",), (("n", agg.count()),))
    table_tab.apply(Line.of([join, by_name], {"airlines": airlines}))
    settled()
    again = opened_tab(restart(window))
    assert again.table is not None and again.line.active == (join, by_name)
    assert sorted(again.view.page(0, 2).column("name").to_pylist()) == ["American", "United"]


@pytest.mark.slow
def test_table_of_a_spark_server_comes_back(window, file, spark_address, settled, restart, opened_tab):
    window.opening.open_key((f"{spark_address}/parquet:{file}",))
    tab = settled()
    tab.add_filter(col("carrier") == "AA")
    settled()
    rows, key = tab.view.num_rows, tab.key
    again = restart(window)
    open_tab = opened_tab(again)
    assert open_tab.key == key and open_tab.dataset.address == key[0]
    assert open_tab.view.num_rows == rows and open_tab.line == tab.line
    assert [entry.key for entry in again.sidebar.entries("file")] == [key]
    assert [str(path) for path in again.memory.recent] == [key[0]]
    assert not again.sidebar.entries("recent"), "what is open is listed once"


@pytest.mark.slow
def test_file_that_changed_is_shown_as_it_is_now_and_says_so(
    qtbot, window, settled, file_tab, file, restart, opened_tab
):
    file_tab.set_filter(col("delay") > 60)
    settled()
    qtbot.waitUntil(lambda: file_tab.saved_state.stamp is not None)
    window.close()
    pq.write_table(pa.table({"other": [1, 2]}), file)
    again = opened_tab(restart(window))
    qtbot.waitUntil(lambda: "has changed" in again.messages.label.text())
    assert again.view.num_rows == 2 and not again.line.steps


def test_changes_are_saved_while_the_window_is_open(qtbot, window, memory, file_tab, go_to):
    def saved() -> dict[str, Any]:
        return memory.entries[-1].state

    qtbot.waitUntil(lambda: len(saved().get("tabs", [])) == 1)
    go_to(file_tab, 7, "note")
    qtbot.waitUntil(lambda: saved()["tabs"][0]["state"].get("cell") == [7, "note"])
    file_tab.set_filter(col("delay") > 60)
    qtbot.waitUntil(lambda: "line" in saved()["tabs"][0]["state"])
    assert saved()["tabs"][0]["state"]["line"]["steps"][0]["kind"] == "where"
    window.commands["close_tab"].trigger()
    qtbot.waitUntil(lambda: saved()["tabs"] == [])


@pytest.mark.slow
def test_an_earlier_version_comes_back_as_it_was(qtbot, window, table_tab, table, restart, opened_tab):
    table.update([{"_id": 0, "note": "new"}])
    table_tab.versions.open_requested.emit(1)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not table_tab)
    opened_tab(window).set_filter(col("note") == "row 0")
    again = opened_tab(restart(window))
    assert again.versions.pinned_version == 1 and again.versions.banner.label.text() == "Version 1, read-only"
    qtbot.waitUntil(lambda: again.view.num_rows == 1)


@pytest.mark.slow
def test_diagram_and_page_of_a_store_come_back(qtbot, window, table_tab, restart):
    window.commands["store_page"].trigger()
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None and not window.diagrams.current.is_busy)
    again = restart(window)
    qtbot.waitUntil(lambda: again.diagrams.current is not None and not again.diagrams.current.is_busy)
    again.commands["previous_tab"].trigger()
    qtbot.waitUntil(lambda: again.store_actions.current_page is not None)
    page = again.store_actions.current_page
    qtbot.waitUntil(lambda: page.sizes is not None and not page.is_busy)
    assert titles(again)[1:] == ["My tables", "My tables relations"]
    assert "1 tab open" in page.facts.text()


def test_search_everywhere_comes_back_and_searches_when_asked(qtbot, window, table_tab, restart):
    search = window.searches.show()
    search.words.setChecked(True)
    search.text.setChecked(True)
    search.case.setChecked(True)
    QTest.keyClicks(search.field, "1")
    qtbot.waitUntil(lambda: not search.running)
    status = search.status
    again = restart(window)
    qtbot.waitUntil(lambda: again.searches.current is not None)
    search = again.searches.current
    assert (search.field.text(), search.case.isChecked(), search.running) == ("1", True, False)
    assert again.searches.show() is search, "there is one such tab in a window"
    again.activateWindow()
    qtbot.waitUntil(search.field.hasFocus)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not search.running)
    assert search.status == status and search.tables


@pytest.mark.slow
def test_closed_tab_is_reopened_with_its_steps(qtbot, window, settled, file_tab, go_to):
    file_tab.set_filter(col("delay") > 60)
    settled()
    go_to(file_tab, 7, "note")
    window.commands["close_tab"].trigger()
    assert window.tabs.tabs.count() == 0
    window.commands["reopen_tab"].trigger()
    tab = settled()
    assert tab.where == (col("delay") > 60)
    qtbot.waitUntil(lambda: tab.grid.selection.current is not None and tab.grid.current_name == "note")
    window.commands["close_tab"].trigger()
    window.open_paths([Path(file_tab.key[0])])
    open_tab = settled()
    window.commands["reopen_tab"].trigger()
    assert settled() is open_tab and window.tabs.tabs.count() == 1, "what is open again is shown"


@pytest.mark.slow
def test_benchmark_comes_back_with_its_choices(qtbot, window, restart):
    window.show_benchmark()
    controls = window.benchmark.controls
    controls.workload_choice.choose("needle")
    controls.repeats.setValue(7)
    controls.size_choice.choose((1000, 4321))
    controls.systems.choose({"sqlite"})
    controls.conditions.fresh.setChecked(True)
    controls.conditions.limit.setValue(60)
    window.benchmark.view.display.show_view("size")
    state = window.benchmark.state()
    again = restart(window)
    qtbot.waitUntil(lambda: again.benchmark is not None and again.tabs.current is again.benchmark)
    assert [workload.id for workload in again.benchmark.controls.workloads] == ["needle"]
    assert again.benchmark.controls.systems.selection == ("sqlite",)
    assert again.benchmark.view.display.view.id == "size" and again.benchmark.state() == state


@pytest.mark.slow
def test_benchmark_comes_back_with_the_run_that_it_showed(qtbot, window, restart):
    window.show_benchmark()
    panel = window.benchmark
    panel.controls.workload_choice.choose("small")
    panel.controls.size_choice.choose((1,))
    panel.controls.repeats.setValue(1)
    panel.controls.systems.choose({"sqlite"})
    with qtbot.waitSignal(panel.run_saving.saved) as saved:
        panel.bar.start.click()
    panel.view.display.show_view("statistics")
    measured = len(panel.results.records)
    state = panel.state()
    again = restart(window)
    qtbot.waitUntil(lambda: again.benchmark is not None and again.benchmark.benchmarks.last is not None)
    back = again.benchmark
    assert len(back.results.records) == measured > 0 and back.state() == state
    assert back.status.startswith(f"Run {saved.args[0]}, of 20") and back.bar.more_button.isVisibleTo(
        back.bar
    )
    with qtbot.waitSignal(back.run_saving.saved) as saved:
        back.add_repeats(1)  # one that was opened is measured on
    again.saved_runs.delete([saved.args[0]])
    third = restart(again)
    qtbot.waitUntil(lambda: third.benchmark is not None and "cannot be" in third.benchmark.news.label.text())
    assert third.benchmark.controls.workloads[0].id == "small" and third.benchmark.results.empty


@pytest.mark.slow
def test_window_from_a_screen_that_is_gone_is_moved_to_one_that_is_there(window, restart):
    window.setGeometry(QRect(QPoint(9_000, 9_000), window.size()))
    again = restart(window)
    assert again.screen().availableGeometry().intersects(again.geometry())


@pytest.mark.parametrize(
    "state",
    [
        {"tabs": 3, "current": "x", "geometry": 1, "splitter": ["a"], "stores": {}},
        {"tabs": [1, {"kind": "nothing", "state": {}}, {"kind": "dataset"}], "geometry": "?"},
        {"tabs": [{"kind": ["dataset"], "state": {}}], "current": 99, "splitter": [1]},
    ],
)
def test_what_is_no_state_of_a_window_is_left_out(restart, state):
    again = restart.begin(state)
    assert again.tabs.tabs.count() == 0 and again.isVisible()


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"key": "flights"},
        {"key": ["{file}"], "line": 3, "layout": [], "cell": "x", "top": "y", "reading": 1},
        {"key": ["{file}"], "line": {"steps": [{"kind": "w"}]}, "cell": [1], "left": -4, "reading": {"x": 1}},
        {"key": ["{file}"], "line": {"steps": [{"kind": "where", "draft": 1}]}, "filter_row": True},
        {"key": ["{file}"], "cell": [10**9, "delay"], "top": 10**9, "inspector": "nowhere", "stamp": "x"},
        {"key": ["{file}"], "find": {"text": 3, "columns": [4, "gone"], "open": True}},
    ],
)
def test_tab_is_shown_as_far_as_its_state_can_be_read(qtbot, file, restart, state):
    if "{file}" in state.get("key", ()):
        state = {**state, "key": [str(file)]}
    again = restart.begin(pending(**state))
    tab = again.tabs.current

    def settled() -> bool:
        open_tab = again.tabs.dataset_tab
        return tab.problem is not None if open_tab is None else open_tab.content is not None

    qtbot.waitUntil(settled)
    assert (again.tabs.dataset_tab is not None) == (state.get("key") == [str(file)])


def test_what_cannot_be_saved_is_said_and_the_window_goes_on(qtbot, window, file_tab, monkeypatch):
    def refuse(state: object, number: int) -> None:
        raise FileProblem("workspace", "cannot be written", "No space left")

    monkeypatch.setattr(window.workspace.entry, "save", refuse)
    with qtbot.waitSignal(window.workspace.failed) as failure:
        window.workspace.save_soon()
    assert "No space left" in str(failure.args[0])
    monkeypatch.undo()


@pytest.mark.slow
def test_nothing_is_saved_while_it_is_turned_off(qtbot, window, memory, file_tab):
    qtbot.waitUntil(lambda: bool(memory.entries[-1].state))
    window.workspace.turn(False)
    assert memory.entries[-1].is_forgotten
    window.workspace.save_soon()
    assert not window.workspace.is_on
    window.workspace.turn(True)
    qtbot.waitUntil(lambda: len(memory.entries) == 2 and bool(memory.entries[-1].state))


def test_the_grid_in_front_has_the_keyboard_after_a_restart(window, file_tab, restart, opened_tab):
    again = restart(window)
    assert opened_tab(again).grid is again.focusWidget()


def test_the_console_in_front_has_the_keyboard_after_a_restart(qtbot, window, console, restart):
    again = restart(window)
    qtbot.waitUntil(lambda: again.consoles.current is not None)
    assert again.focusWidget() is again.consoles.current.editor


def test_opening_in_a_restored_tab_does_not_take_the_keyboard_from_elsewhere(
    window, file_tab, restart, opened_tab
):
    again = restart(window)
    again.sidebar.setFocus()
    opened_tab(again)
    assert again.sidebar.isAncestorOf(again.focusWidget())
