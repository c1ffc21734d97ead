"""Several windows of one program: changes in one appear in the others, and each can be closed separately."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
import shiboken6
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMessageBox

from lamella import Store, col, resources
from lamella.app import paths
from lamella.app.bootstrap import application
from lamella.app.program import Program
from lamella.app.windows import frame_within
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.window import tab_drag
from lamella.ui.window.dataset_tab import DatasetTab
from tests.e2e.test_start import end


@pytest.fixture
def program(qtbot):
    with Store.open(paths.default_store()) as store:
        store.create_table("t", pa.table({"x": [1, 2, 3]}))
    application()
    both_windows = Program(restores=True)
    both_windows.window.show()
    yield both_windows
    end_all(both_windows)


def end_all(program: Program) -> None:
    windows = list(program.windows.main_windows)
    program.window.quit()
    for window in windows:
        if shiboken6.isValid(window):
            end(window)


def shown(qtbot, window: MainWindow) -> DatasetTab:
    def ready() -> bool:
        tab = window.tabs.dataset_tab
        return (
            tab is not None and tab.view is not None and not tab.loader.running and not window.tasks.running
        )

    qtbot.waitUntil(ready)
    return window.tabs.dataset_tab


def open_table(qtbot, window: MainWindow) -> DatasetTab:
    window.opening.open_key((str(paths.default_store()), "t"))
    return shown(qtbot, window)


@pytest.fixture
def pair(qtbot, program) -> tuple[MainWindow, MainWindow]:
    """Two windows that show the same table."""
    first = program.window
    open_table(qtbot, first)
    first.commands["new_window"].trigger()
    second = next(window for window in program.windows.main_windows if window is not first)
    open_table(qtbot, second)
    return first, second


def values(tab: DatasetTab) -> list[int]:
    return tab.view.page(0, tab.view.num_rows, ["x"]).column(0).to_pylist()


def test_tables_named_on_the_command_line_are_opened(qtbot, program, tmp_path):
    with Store.open(tmp_path / "shop") as store:
        store.create_table("goods", {"id": [1, 2]})
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript("create table a(n); insert into a values (7); create table b(n)")
    goods = (str(tmp_path / "shop"), "goods")
    a_of_file = (str(tmp_path / "shop.db"), "", "a")

    def opened(key: tuple[str, ...]) -> DatasetTab:
        qtbot.waitUntil(lambda: program.window.tabs.find_dataset(key) is not None)
        return shown(qtbot, program.window)

    program.open_from_launch([tmp_path / "shop:goods"])
    assert (opened(goods).key, opened(goods).view.num_rows) == (goods, 2)
    program.open([tmp_path / "shop.db:a"], with_sample=False)
    assert (opened(a_of_file).key, opened(a_of_file).view.num_rows) == (a_of_file, 1)
    program.open_from_launch([tmp_path / "shop:goods"])  # its tab comes to the front
    qtbot.waitUntil(lambda: shown(qtbot, program.window).key == goods)


def test_tables_named_on_the_command_line_are_in_that_order(qtbot, program, tmp_path):
    names = ["c", "a", "d", "b"]
    with Store.open(tmp_path / "shop") as store:
        for name in names:
            store.create_table(name, {"id": [1, 2]})
    program.open_from_launch([tmp_path / f"shop:{name}" for name in names])
    qtbot.waitUntil(lambda: len(program.window.tabs.dataset_tabs) == 4)
    tabs = program.window.tabs
    assert [tabs.tabs.tabText(place) for place in range(4)] == names


def test_commit_in_one_window_is_shown_and_undone_in_the_other(qtbot, pair):
    first, second = pair
    first_tab, second_tab = shown(qtbot, first), shown(qtbot, second)
    second_tab.comparing.compare_versions(1, None)
    compared = second_tab.comparing.view
    first.commits.run(
        first_tab.table, lambda table, job: table.update_where(col("x") == 1, {"$set": {"x": 10}}), "Changing"
    )
    qtbot.waitUntil(lambda: second_tab.view is not None and values(second_tab) == [10, 2, 3])
    assert "In another window" in second_tab.messages.label.text()
    qtbot.waitUntil(lambda: compared.is_settled and compared.comparison.counts_text == "1 changed")
    second_tab.comparing.hide()
    qtbot.waitUntil(second.commands["undo"].isEnabled)
    second.tabs.show_tab(second_tab)
    second.commands["undo"].trigger()
    qtbot.waitUntil(lambda: values(first_tab) == [1, 2, 3] and values(second_tab) == [1, 2, 3])


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (QRect(100, 100, 800, 600), QRect(100, 100, 800, 600)),
        (QRect(32, 32, 1600, 1000), QRect(32, 32, 1568, 968)),
        (QRect(1500, -50, 800, 600), QRect(1000, 0, 600, 600)),
        (QRect(0, 0, 3000, 2000), QRect(0, 0, 1600, 1000)),
    ],
)
def test_a_new_window_is_on_the_screen_with_all_of_its_frame(frame: QRect, expected: QRect):
    assert frame_within(QRect(0, 0, 1600, 1000), frame) == expected


def test_a_new_window_lists_the_stores_in_the_same_order(qtbot, program, monkeypatch, tmp_path):
    first, open_store, others_are_listed = program.window, Store.open, threading.Event()
    for name in ("many", "again", "lab"):
        with Store.open(tmp_path / name) as store:
            store.create_table("t", {"n": [1]})
        with qtbot.waitSignal(first.library.stores_changed):
            first.library.with_store(tmp_path / name, lambda: None, lambda error: None)

    def open_slowly(path, **options):
        if Path(path).name == "many":
            others_are_listed.wait()
        return open_store(path, **options)

    monkeypatch.setattr(Store, "open", open_slowly)
    first.commands["new_window"].trigger()
    second = next(window for window in program.windows.main_windows if window is not first)
    qtbot.waitUntil(lambda: len(second.library.stores) == 3)
    others_are_listed.set()
    qtbot.waitUntil(lambda: len(second.library.stores) == 4)
    assert [store.path for store in second.library.stores] == [store.path for store in first.library.stores]


@pytest.mark.slow
def test_closing_one_window_leaves_the_other_at_work(qtbot, program, pair):
    first, second = pair
    first.close()
    qtbot.waitUntil(lambda: program.windows.main_windows == [second])
    tab = shown(qtbot, second)
    tab.set_filter(col("x") > 1)
    qtbot.waitUntil(lambda: tab.view.num_rows == 2)
    assert program.window is second


def edited_under_review(qtbot, window: MainWindow) -> DatasetTab:
    """Change a cell of the tab in front, which stays unsaved."""
    tab = shown(qtbot, window)
    window.tabs.show_tab(tab)
    window.commands["review_edits"].trigger()
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("x")))
    tab.editing.begin("7")
    tab.editing.settle()
    qtbot.waitUntil(lambda: bool(tab.review.is_unsaved))
    return tab


def test_edits_that_are_saved_while_a_window_closes_are_shown_in_the_other(qtbot, pair, program, monkeypatch):
    first, second = pair
    first_tab = shown(qtbot, first)
    edited_under_review(qtbot, second)
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Save)
    second.close()
    qtbot.waitUntil(lambda: program.windows.main_windows == [first])
    qtbot.waitUntil(lambda: first_tab.view is not None and values(first_tab) == [7, 2, 3])
    assert "In another window" in first_tab.messages.label.text()


def test_tab_moves_to_a_new_window_as_it_is(qtbot, program, tmp_path: Path):
    first = program.window
    first.open_paths([resources.sample("airlines")])
    tab = shown(qtbot, first)
    tab.set_filter(col("carrier") == "AA")
    qtbot.waitUntil(lambda: tab.view.num_rows == 1)
    first.commands["move_tab"].trigger()
    second = next(window for window in program.windows.main_windows if window is not first)
    moved = shown(qtbot, second)
    assert moved.where == (col("carrier") == "AA") and first.tabs.tabs.count() == 0


def pull_out(qtbot, window: MainWindow) -> None:
    """Drag the first tab away from its bar."""
    bar = window.tabs.tabs.tabBar()
    middle = bar.tabRect(0).center()
    qtbot.mousePress(bar, Qt.MouseButton.LeftButton, pos=middle)
    for y in (10, 40, 90):
        away = QPointF(middle + QPoint(0, y))
        global_place = QPointF(bar.mapToGlobal(away.toPoint()))
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        move = QMouseEvent(QEvent.Type.MouseMove, away, global_place, Qt.MouseButton.NoButton, left, none)
        QApplication.sendEvent(bar, move)
    qtbot.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=middle)


@pytest.mark.slow
def test_tab_is_dragged_to_the_other_window_with_its_steps(qtbot, pair, monkeypatch):
    first, second = pair
    second.commands["close_tab"].trigger()
    tab = shown(qtbot, first)
    tab.set_filter(col("x") > 1)
    qtbot.waitUntil(lambda: tab.view.num_rows == 2)
    dropped_on = [first, second]

    def drop(source, data):
        """Do what the window system does during a drag."""
        copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        window = dropped_on.pop(0)
        enter = QDragEnterEvent(QPoint(300, 300), copy, data, left, none)
        QApplication.sendEvent(window, enter)
        event = QDropEvent(QPointF(300, 300), copy, data, left, none)
        QApplication.sendEvent(window, event)
        assert enter.isAccepted() == event.isAccepted() == (window is second)
        assert not window.overlay.isVisible()

    monkeypatch.setattr(tab_drag, "run_drag", drop)
    for _ in range(2):  # nothing happens on its own window
        pull_out(qtbot, first)
    qtbot.waitUntil(lambda: first.tabs.tabs.count() == 0)
    moved = shown(qtbot, second)
    assert moved.where == (col("x") > 1) and not dropped_on


def test_tab_that_is_dropped_outside_every_window_opens_in_one_there(qtbot, program, monkeypatch):
    first = program.window
    first.open_paths([resources.sample("airlines")])
    shown(qtbot, first)
    tab = open_table(qtbot, first)
    tab.set_filter(col("x") > 1)
    qtbot.waitUntil(lambda: tab.view.num_rows == 2)
    first.tabs.tabs.tabBar().moveTab(1, 0)
    void = QPoint(first.frameGeometry().right() + 200, 300)
    places, buttons = [first.geometry().center(), void, void], [Qt.MouseButton.NoButton]
    monkeypatch.setattr(tab_drag, "run_drag", lambda *_: Qt.DropAction.IgnoreAction)
    monkeypatch.setattr(tab_drag.QCursor, "pos", lambda: places[0])
    monkeypatch.setattr(tab_drag.QGuiApplication, "mouseButtons", lambda: buttons[0])
    pull_out(qtbot, first)  # onto its own window
    places.pop(0)
    buttons[0] = Qt.MouseButton.LeftButton
    pull_out(qtbot, first)  # Esc: the button is still down
    qtbot.wait(0)
    assert len(program.windows.main_windows) == 1 and first.tabs.tabs.count() == 2
    buttons[0] = Qt.MouseButton.NoButton
    pull_out(qtbot, first)
    qtbot.waitUntil(lambda: len(program.windows.main_windows) == 2)
    second = program.windows.main_windows[-1]
    moved = shown(qtbot, second)
    assert moved.where == (col("x") > 1) and first.tabs.tabs.count() == 1
    assert second.pos() == void - tab_drag.BELOW_MOUSE
    places[0] = void + QPoint(900, 0)
    pull_out(qtbot, second)  # dragging the only tab moves the window
    qtbot.waitUntil(lambda: second.pos() == places[0] - tab_drag.BELOW_MOUSE)
    assert len(program.windows.main_windows) == 2
    first.quit()
    again = Program(restores=True)
    again.restore()
    again.window.show()
    qtbot.waitUntil(lambda: len(again.windows.main_windows) == 2)
    back = {shown(qtbot, window).name: window for window in again.windows.main_windows}
    assert shown(qtbot, back["t"]).where == (col("x") > 1) and len(back) == 2
    end_all(again)


def test_a_new_window_lists_the_stores_of_the_one_it_was_opened_from(qtbot, program, tmp_path: Path):
    first = program.window
    with Store.open(tmp_path / "shop") as store:
        store.create_table("goods", {"n": [1]})
    first.store_actions.open(tmp_path / "shop")
    qtbot.waitUntil(lambda: len(first.sidebar.entries("table")) == 2)
    first.commands["new_window"].trigger()
    second = next(window for window in program.windows.main_windows if window is not first)
    listed = [entry.key for entry in first.sidebar.entries("table")]
    qtbot.waitUntil(lambda: [entry.key for entry in second.sidebar.entries("table")] == listed)
    second.opening.open_key((str(tmp_path / "shop"), "goods"))
    shown(qtbot, second)
    second.commands["new_table"].trigger()
    dialog = second.findChild(NewTableDialog)
    assert dialog.store.currentText() == "shop", "the store of the table in front"
    dialog.reject()
    second.close()
    assert [store.name for store in first.library.stores] == ["My tables", "shop"]


@pytest.mark.slow
def test_stores_and_tables_of_one_window_are_listed_in_the_other(qtbot, pair, tmp_path: Path):
    first, second = pair
    with Store.open(tmp_path / "shop") as store:
        store.create_table("goods", {"n": [1]})
    first.store_actions.open(tmp_path / "shop")
    listed = [(str(tmp_path / "shop"), "goods"), (str(paths.default_store()), "t")]
    for window in pair:
        qtbot.waitUntil(lambda w=window: sorted(e.key for e in w.sidebar.entries("table")) == sorted(listed))
    new_store = next(store for store in first.library.stores if store.name == "shop")
    new_store.create_table("new", {"n": [2]})
    first.library.refresh()
    qtbot.waitUntil(lambda: any(e.key[1] == "new" for e in second.sidebar.entries("table")))
    second.store_actions.close(next(store for store in second.library.stores if store.name == "shop"))
    qtbot.waitUntil(lambda: not second.tasks.running and len(second.library.stores) == 1)
    second.library.refresh()
    qtbot.waitUntil(lambda: not second.tasks.running)
    assert len(first.library.stores) == 2, "it stays open there"


@pytest.mark.slow
def test_a_store_that_two_windows_have_open_is_renamed_in_both(qtbot, pair):
    first, second = pair
    first_tab, second_tab = shown(qtbot, first), shown(qtbot, second)
    second_tab.set_filter(col("x") > 1)
    qtbot.waitUntil(lambda: second_tab.view.num_rows == 2)
    dialog = first.store_actions.act(first.library.home, "rename")
    dialog.name.setText("Shop")
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(dialog.outcome.isVisible)
    dialog.reject()
    place = paths.default_store().with_name("Shop")
    for window, tab in ((first, first_tab), (second, second_tab)):
        qtbot.waitUntil(lambda t=tab: t.key == (str(place), "t") and t.table.store.path == place)
        assert [store.path for store in window.library.stores] == [place]
    qtbot.waitUntil(lambda: values(first_tab) == [1, 2, 3] and values(second_tab) == [2, 3])
    first.commits.run(first_tab.table, lambda table, job: table.delete(ids=[1]), "Deleting")
    qtbot.waitUntil(lambda: values(second_tab) == [3])


@pytest.mark.parametrize("front", [0, 1])
def test_the_window_in_front_has_the_keyboard_again_after_a_restart(qtbot, program, pair, front):
    pair[front].resize(777, 555)
    pair[front].activateWindow()
    qtbot.waitUntil(pair[front].isActiveWindow)
    pair[front].quit()
    again = Program(restores=True)
    again.restore()
    first = again.window
    first.show()
    qtbot.waitUntil(lambda: len(again.windows.main_windows) == 2)
    qtbot.waitUntil(
        lambda: all(window.isActiveWindow() is (window is first) for window in again.windows.main_windows)
    )
    assert (first.width(), first.height()) == (777, 555)
    for window in again.windows.main_windows:
        shown(qtbot, window)
    assert QApplication.activeWindow() is first and first.isAncestorOf(QApplication.focusWidget())
    end_all(again)


@pytest.mark.parametrize("front", [0, 1])
def test_cancelling_a_quit_keeps_all_windows(qtbot, program, pair, lamella_home, monkeypatch, front):
    second_tab = edited_under_review(qtbot, pair[1])
    buttons, questions = QMessageBox.StandardButton, []

    def answer(button: QMessageBox.StandardButton) -> None:
        questions.clear()
        monkeypatch.setattr(QMessageBox, "question", lambda *words: questions.append(words) or button)

    answer(buttons.Cancel)
    pair[front].quit()
    assert program.windows.main_windows == list(pair) and all(window.isVisible() for window in pair)
    assert second_tab.review.is_unsaved and len(questions) == 1
    answer(buttons.Discard)
    pair[front].quit()
    assert not any(window.isVisible() for window in pair) and len(questions) == 1
    assert len(list((lamella_home / "config" / "workspace").glob("*.json"))) == 2


def test_edits_that_are_saved_at_a_quit_do_not_end_it(qtbot, pair, lamella_home, monkeypatch):
    edited_under_review(qtbot, pair[1])
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Save)
    pair[0].quit()
    qtbot.waitUntil(lambda: not any(shiboken6.isValid(each) and each.isVisible() for each in pair))
    with Store.open(paths.default_store()) as store:
        assert store["t"].read()["x"].to_pylist() == [7, 2, 3]
    assert len(list((lamella_home / "config" / "workspace").glob("*.json"))) == 2


def test_quitting_keeps_all_windows_for_the_next_start_and_closing_one_forgets_it(
    qtbot, program, pair, lamella_home
):
    first, _ = pair
    folder = lamella_home / "config" / "workspace"
    first.commands["new_window"].trigger()
    third = program.windows.main_windows[-1]
    qtbot.waitUntil(lambda: len(list(folder.glob("*.json"))) == 3)
    third.close()
    assert len(list(folder.glob("*.json"))) == 2
    first.quit()
    assert not first.isVisible() and len(list(folder.glob("*.json"))) == 2
    again = Program(restores=True)
    again.restore()
    again.window.show()
    qtbot.waitUntil(lambda: len(again.windows.main_windows) == 2)
    for window in again.windows.main_windows:
        assert values(shown(qtbot, window)) == [1, 2, 3]
    end_all(again)
