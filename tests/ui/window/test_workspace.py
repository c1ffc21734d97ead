"""Tabs are restored at the next start with their steps, layout and position, or a reason is given."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QToolButton, QVBoxLayout, QWidget

from lamella import Store, col
from lamella.core.errors import FileProblem
from lamella.core.query import agg
from lamella.core.query.line import Line, LineStep
from lamella.core.query.steps import Group, Join, Pipeline, Sort, Sql, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui.filters.tree import from_filter, to_json
from lamella.ui.formats.formats import Format
from lamella.ui.main_window import MainWindow
from lamella.ui.tasks import Tasks
from lamella.ui.window import restored_tabs
from lamella.ui.window.column_layout import layout_of
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.pending_tab import PendingTab
from tests.ui.fake_memory import FakeEntry, FakeMemory


@pytest.fixture
def restart(qtbot, memory: FakeMemory, tmp_path: Path) -> Iterator[Callable[..., MainWindow]]:
    """Close a window, and start again with its saved workspace."""
    windows: list[tuple[MainWindow, Tasks]] = []

    def start(window: MainWindow, opens_current: bool = True) -> MainWindow:
        window.close()
        return begin(memory.entries[-1].state, opens_current)

    def begin(state: dict[str, Any], opens_current: bool = True) -> MainWindow:
        tasks = Tasks()
        again = MainWindow(tasks, memory, FakeEntry(state))
        windows.append((again, tasks))
        again.workspace.restore(opens_current)
        again.resize(1000, 700)
        again.show()
        again.library.add_store(Store.open(tmp_path / "My tables"))
        return again

    start.begin = begin
    yield start
    for window, tasks in windows:
        tasks.shutdown()
        window.close()
        window.deleteLater()
    QApplication.processEvents()


@pytest.fixture
def opened_tab(qtbot) -> Callable[[MainWindow], DatasetTab]:
    def wait(window: MainWindow) -> DatasetTab:
        def ready() -> bool:
            tab = window.tabs.dataset_tab
            return tab is not None and tab.content is not None and not window.tasks.running

        qtbot.waitUntil(ready, timeout=15_000)
        return window.tabs.dataset_tab

    return wait


def titles(window: MainWindow) -> list[str]:
    return [widget.property("title") for widget in window.tabs.widgets]


def said(tab: PendingTab) -> list[str]:
    return [label.text() for label in tab.body.labels if label.text()]


def buttons(tab: PendingTab) -> dict[str, QPushButton]:
    return {button.text(): button for button in tab.body.buttons}


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
def test_only_the_tab_in_front_is_opened_until_others_are_looked_at(
    qtbot, window, settled, file_tab, file, second_file, restart, opened_tab
):
    window.open_paths([second_file])
    settled()
    window.tabs.show_tab(file_tab)
    again = restart(window)
    assert titles(again) == ["flights.parquet", "other.parquet"]
    assert opened_tab(again).key == (str(file),)
    (waiting,) = again.tabs.pending_tabs
    assert waiting.key == (str(second_file),) and not waiting.is_opening
    again.commands["next_tab"].trigger()
    qtbot.waitUntil(lambda: not again.tabs.pending_tabs)
    assert opened_tab(again).key == (str(second_file),) and titles(again) == [
        "flights.parquet",
        "other.parquet",
    ]


def test_file_that_is_gone_says_so_and_opens_once_it_is_back(
    qtbot, window, file_tab, file, restart, opened_tab
):
    content = file.read_bytes()
    window.close()
    file.unlink()
    again = restart(window)
    tab = again.tabs.current
    qtbot.waitUntil(lambda: isinstance(tab, PendingTab) and tab.problem is not None)
    texts = [text.replace("\u200b", "") for text in said(tab)]
    assert texts == [f"{file.name} is not there", str(file), "Check the path"]
    assert list(buttons(tab)) == ["Try again", "Close this tab"]
    file.write_bytes(content)
    qtbot.mouseClick(buttons(tab)["Try again"], Qt.MouseButton.LeftButton)
    assert opened_tab(again).key == (str(file),)


@pytest.mark.slow
def test_tab_of_a_file_that_is_gone_is_closed_by_its_button(qtbot, window, file_tab, file, restart):
    window.close()
    file.unlink()
    again = restart(window)
    tab = again.tabs.current
    qtbot.waitUntil(lambda: tab.problem is not None)
    qtbot.mouseClick(buttons(tab)["Close this tab"], Qt.MouseButton.LeftButton)
    assert again.tabs.tabs.count() == 0 and again.tabs.currentWidget() is again.start


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


@pytest.fixture
def second_file(tmp_path: Path, rows: pa.Table) -> Path:
    path = tmp_path / "other.parquet"
    pq.write_table(rows, path)
    return path


@pytest.mark.slow
def test_slow_file_holds_no_other_tab(qtbot, file, second_file, monkeypatch, restart):
    goes_on, open_file = threading.Event(), restored_tabs.open_file

    def open_slowly(key, reading, job):
        if key[0] == str(second_file):
            goes_on.wait(20)
        return open_file(key, reading, job)

    monkeypatch.setattr(restored_tabs, "open_file", open_slowly)
    state = pending(key=[str(second_file)])
    state["tabs"].append({**state["tabs"][0], "state": {"key": [str(file)]}})
    state["tabs"][0]["title"] = "other.parquet"
    again = restart.begin(state)
    waiting = again.tabs.current
    qtbot.waitUntil(lambda: waiting.body is not None and "Opening other.parquet" in said(waiting))
    again.tabs.show_tab(again.tabs.widgets[1])
    qtbot.waitUntil(lambda: again.tabs.dataset_tab is not None and again.tabs.dataset_tab.content is not None)
    assert again.tabs.dataset_tab.name == "flights.parquet"
    goes_on.set()
    qtbot.waitUntil(lambda: not again.tabs.pending_tabs)
    assert [tab.key for tab in again.tabs.dataset_tabs] == [(str(second_file),), (str(file),)]


def test_file_of_the_command_line_is_shown_beside_what_was_open(
    qtbot, window, file_tab, second_file, restart, opened_tab
):
    again = restart(window, opens_current=False)
    again.open_paths([second_file])
    assert opened_tab(again).name == "other.parquet"
    assert titles(again) == ["flights.parquet", "other.parquet"]
    assert isinstance(again.tabs.widgets[0], PendingTab) and not again.tabs.widgets[0].is_opening


@pytest.mark.slow
def test_opening_what_is_not_opened_yet_opens_its_tab_as_it_was(
    window, settled, file_tab, file, second_file, restart, opened_tab
):
    file_tab.set_filter(col("delay") > 60)
    settled()
    window.open_paths([second_file])
    settled()
    again = restart(window)
    opened_tab(again)
    again.open_paths([file])
    assert again.tabs.current.key == (str(file),)
    assert opened_tab(again).where == (col("delay") > 60)
    assert len(again.tabs.widgets) == 2


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
def test_tab_that_nobody_looked_at_is_saved_as_it_was(
    window, settled, file_tab, second_file, restart, opened_tab
):
    file_tab.set_filter(col("delay") > 60)
    settled()
    window.open_paths([second_file])
    settled()
    again = restart(window)
    opened_tab(again)
    again.close()
    state = again.workspace.entry.state["tabs"][0]["state"]
    third = restart.begin(again.workspace.entry.state)
    assert state["line"]["steps"][0]["kind"] == "where"
    third.tabs.show_tab(third.tabs.widgets[0])
    assert opened_tab(third).where == (col("delay") > 60)


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
def test_two_hundred_tabs_come_back_without_being_opened(file, restart):
    state = pending(key=[str(file)])
    state["tabs"] = [{**state["tabs"][0], "state": {"key": [f"{n}.csv"]}} for n in range(200)]
    state["tabs"][7]["state"] = {"key": [str(file)]}
    state["current"] = 7
    again = restart.begin(state)
    assert len(again.tabs.pending_tabs) >= 199
    assert not any(tab.is_opening for tab in again.tabs.pending_tabs if tab.key != (str(file),))


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


def test_the_keyboard_stays_in_a_tab_that_is_opened_again(qtbot):
    window = QWidget()
    place = PendingTab("dataset", "orders", {}, lambda tab: None)
    layout = QVBoxLayout(window)
    for widget in (QLineEdit(), place, QLineEdit()):
        layout.addWidget(widget)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitActive(window)
    place.setFocus()
    place.open()
    place.fail(FileProblem("orders.csv", "was not found"))
    assert window.focusWidget() is buttons(place)["Try again"]
    QTest.keyClick(buttons(place)["Try again"], Qt.Key.Key_Space)
    assert place.is_opening and place.has_keyboard


@pytest.fixture
def beside_pending(window, file, file_tab, settled, restart, opened_tab) -> tuple[MainWindow, DatasetTab]:
    """A window after a restart, in which the tab of the file carriers.parquet was not looked at yet."""
    carriers = file.with_name("carriers.parquet")
    pq.write_table(pa.table({"carrier": ["AA", "UA"], "name": ["American", "United"]}), carriers)
    window.open_paths([carriers])
    settled()
    window.tabs.show_tab(file_tab)
    again = restart(window)
    tab = opened_tab(again)
    assert [pending.property("title") for pending in again.tabs.pending_tabs] == ["carriers.parquet"]
    return again, tab


def test_files_of_tabs_not_looked_at_yet_can_be_joined(qtbot, beside_pending):
    window, tab = beside_pending
    window.commands["join"].trigger()
    other = tab.steps.editor.other
    place = other.findText("carriers.parquet")
    other.setCurrentIndex(place)
    other.activated.emit(place)
    qtbot.waitUntil(lambda: tab.view is not None and "name" in tab.view.schema.names)
    assert window.tabs.pending_tabs, "its tab is still opened when it is looked at"


def test_files_of_tabs_not_looked_at_yet_can_be_compared(qtbot, beside_pending):
    _, tab = beside_pending
    dialog = tab.comparing.ask(tab.steps.others())
    dialog.choose("carriers.parquet")
    qtbot.waitUntil(lambda: dialog.is_settled)
    assert [dialog.key.item(row).text() for row in range(dialog.key.count())] == ["carrier"]
    dialog.reject()


def test_files_of_tabs_not_looked_at_yet_can_be_named_in_a_step_of_sql(qtbot, beside_pending):
    _, tab = beside_pending
    tab.steps.add(Sql)
    tab.steps.editor.text.setPlainText('SELECT name FROM "carriers.parquet" JOIN flights USING (carrier)')
    qtbot.waitUntil(lambda: tab.view is not None and tab.view.schema.names == ["name"], timeout=15_000)


def test_a_file_of_a_tab_not_looked_at_yet_that_is_gone_says_so_where_it_is_chosen(
    qtbot, file, beside_pending
):
    window, tab = beside_pending
    file.with_name("carriers.parquet").unlink()
    window.commands["join"].trigger()
    editor = tab.steps.editor
    place = editor.other.findText("carriers.parquet")
    editor.other.setCurrentIndex(place)
    editor.other.activated.emit(place)
    qtbot.waitUntil(lambda: "carriers.parquet" in editor.reason.text().replace("\u200b", ""))
