"""Tabs of a restored window that were not looked at yet: opened when they are shown, or a reason is given."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from lamella import Store, col
from lamella.core.errors import FileProblem
from lamella.core.query.line import Line
from lamella.core.query.line_json import line_to_json
from lamella.core.query.steps import Join, Pipeline, Sql
from lamella.ui.main_window import MainWindow
from lamella.ui.window import library, restored_tabs
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.pending_tab import WAITS, PendingTab
from tests.ui.window.test_workspace import pending, titles


def messages(tab: PendingTab) -> list[str]:
    return [label.text() for label in tab.body.labels if label.text()]


def buttons(tab: PendingTab) -> dict[str, QPushButton]:
    return {button.text(): button for button in tab.body.buttons}


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
    texts = [text.replace("\u200b", "") for text in messages(tab)]
    assert texts == [f"{file.name} is not there", str(file), "Check the path"]
    assert list(buttons(tab)) == ["Try again", "Close this tab"]
    file.write_bytes(content)
    qtbot.mouseClick(buttons(tab)["Try again"], Qt.MouseButton.LeftButton)
    assert opened_tab(again).key == (str(file),)


def test_stores_are_listed_in_their_order_whichever_opens_first(qtbot, restart, tmp_path: Path, monkeypatch):
    paths = [tmp_path / name for name in ("c", "a", "b")]
    for path in paths:
        Store.open(path).close()
    last_opened = threading.Event()

    def open_in_turn(path: Path) -> Store:
        if path != paths[-1]:
            last_opened.wait()
        else:
            last_opened.set()
        return Store.open(path)

    monkeypatch.setattr(library, "open_store", open_in_turn)
    again = restart.begin({"stores": list(map(str, paths))})
    qtbot.waitUntil(lambda: len(again.library.listing) == 4)
    assert [entry.path for entry in again.library.listing][1:] == paths


def test_store_that_is_gone_is_not_created_anew(qtbot, restart, opened_tab, tmp_path: Path):
    home, away = tmp_path / "usb" / "shop", tmp_path / "shop"
    with Store.open(home) as shop:
        shop.create_table("goods", {"n": [1, 2, 3]})
    home.rename(away)
    again = restart.begin({**pending(key=[str(home), "goods"]), "stores": [str(home)]})
    tab = again.tabs.current
    qtbot.waitUntil(lambda: tab.problem is not None)
    assert f"Store shop is no longer at {home}" in messages(tab)[0].replace("\u200b", "")
    qtbot.waitUntil(lambda: not again.tasks.running)
    assert not home.exists() and not [store for store in again.library.stores if store.path == home]
    away.rename(home)
    qtbot.mouseClick(buttons(tab)["Try again"], Qt.MouseButton.LeftButton)
    assert opened_tab(again).key == (str(home), "goods")


def test_pending_and_closed_tabs_follow_a_store_that_is_renamed(qtbot, restart, opened_tab, tmp_path: Path):
    old, new = tmp_path / "shop", tmp_path / "market"
    with Store.open(old) as shop:
        for name in ("goods", "kinds"):
            shop.create_table(name, {"n": [1, 2, 3]})
    sources = {"k": [str(old), "kinds"]}
    join = line_to_json(Line.of([Join(Pipeline("k"), ("n",), ("n",), "left", "_k")]), lambda source: None)
    goods = {"key": [str(old), "goods"], "line": {**join, "sources": sources}}
    state = {**pending(**goods), "stores": [str(old)], "current": 2}
    page = {"kind": "store", "title": "shop", "state": {"store": str(old)}}
    state["tabs"] = [*state["tabs"], page, {"kind": "settings", "title": "Settings", "state": {}}]
    again = restart.begin(state)
    qtbot.waitUntil(lambda: any(store.path == old for store in again.library.stores))
    again.tabs.closed_tabs = [(str(old), "kinds")]
    waiting, page = again.tabs.pending_tabs
    dialog = again.store_actions.act(again.store_actions.of(old), "rename")
    dialog.name.setText("market")
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    dialog.accept_button.click()
    qtbot.waitUntil(lambda: any(store.path == new for store in again.library.stores))
    assert waiting.key == (str(new), "goods") and again.tabs.closed_tabs == [(str(new), "kinds")]
    assert titles(again) == ["t", "market", "Settings"] and page.saved_state == {"store": str(new)}
    dialog.reject()
    again.tabs.show_tab(waiting)
    tab = opened_tab(again)
    assert tab.key == (str(new), "goods") and tab.view.num_rows == 3 and tab.line.sources["k"].num_rows == 3
    assert not old.exists()
    again.store_actions.close(again.store_actions.of(new))
    assert titles(again) == ["Settings"]


@pytest.mark.slow
def test_tab_of_a_file_that_is_gone_is_closed_by_its_button(qtbot, window, file_tab, file, restart):
    window.close()
    file.unlink()
    again = restart(window)
    tab = again.tabs.current
    qtbot.waitUntil(lambda: tab.problem is not None)
    qtbot.mouseClick(buttons(tab)["Close this tab"], Qt.MouseButton.LeftButton)
    assert again.tabs.tabs.count() == 0 and again.tabs.currentWidget() is again.start


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
    qtbot.waitUntil(lambda: waiting.body is not None and "Opening other.parquet" in messages(waiting))
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
def test_two_hundred_tabs_come_back_without_being_opened(file, restart):
    state = pending(key=[str(file)])
    state["tabs"] = [{**state["tabs"][0], "state": {"key": [f"{n}.csv"]}} for n in range(200)]
    state["tabs"][7]["state"] = {"key": [str(file)]}
    state["current"] = 7
    again = restart.begin(state)
    assert len(again.tabs.pending_tabs) >= 199
    assert not any(tab.is_opening for tab in again.tabs.pending_tabs if tab.key != (str(file),))


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
    other = tab.steps.editor.other_box
    place = other.findText("carriers.parquet")
    other.setCurrentIndex(place)
    other.activated.emit(place)
    qtbot.waitUntil(lambda: tab.view is not None and "name" in tab.view.schema.names)
    assert window.tabs.pending_tabs, "its tab is still opened when it is looked at"


def test_files_of_tabs_not_looked_at_yet_can_be_compared(qtbot, beside_pending):
    _, tab = beside_pending
    dialog = tab.comparing.ask(tab.steps.other_sources())
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
    place = editor.other_box.findText("carriers.parquet")
    editor.other_box.setCurrentIndex(place)
    editor.other_box.activated.emit(place)
    qtbot.waitUntil(lambda: "carriers.parquet" in editor.reason.text().replace("\u200b", ""))


def test_a_tab_waits_for_the_file_of_the_command_line_without_a_question(
    qtbot, window, file_tab, second_file, restart, opened_tab
):
    again = restart(window, opens_current=False)
    again.open_paths([second_file])
    (waiting,) = again.tabs.pending_tabs
    assert again.tabs.current is waiting and not messages(waiting) and not buttons(waiting)
    assert opened_tab(again).name == "other.parquet" and not waiting.is_opening
    bar = again.tabs.tabs.tabBar()
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(0).center())
    assert opened_tab(again).name == "flights.parquet"


def test_a_tab_opens_if_the_file_of_the_command_line_does_not(
    window, file_tab, tmp_path, restart, opened_tab
):
    again = restart(window, opens_current=False)
    again.open_paths([tmp_path / "nothing.parquet"])
    assert opened_tab(again).name == "flights.parquet" and not again.tabs.pending_tabs


def test_a_tab_that_waits_for_long_says_so_and_opens_at_a_click(
    qtbot, window, file_tab, file, restart, opened_tab
):
    again = restart(window, opens_current=False)
    go_on = threading.Event()
    again.tasks.read(lambda job: go_on.wait(60), text="Opening")
    (waiting,) = again.tabs.pending_tabs
    qtbot.waitUntil(lambda: messages(waiting) == ["flights.parquet", WAITS])
    assert list(buttons(waiting)) == ["Open now", "Close this tab"]
    bar = again.tabs.tabs.tabBar()
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(0).center())
    qtbot.waitUntil(lambda: not again.tabs.pending_tabs)
    go_on.set()
    assert opened_tab(again).key == (str(file),)
