"""Tabs that follow their store: it moves, its disk is gone and back, and another program commits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from lamella import Store, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Join, Pipeline, Where
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.stores.sizes_tree import NAME
from lamella.ui.stores.store_dialogs import MoveDialog
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.fake_memory import FakeMemory
from tests.ui.window.store_orders import ROWS, carry_out, create_orders

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)


@pytest.fixture
def orders(store: Store) -> None:
    create_orders(store)


@pytest.fixture
def tab(window: MainWindow, store: Store, orders: None, settled: Callable[[], DatasetTab]) -> DatasetTab:
    """A tab of orders, filtered and joined."""
    window.opening.open_key((str(store.path), "orders"))
    joined_tab = settled()
    join = Join(Pipeline("kinds"), ("n",), ("n",), "left", "_kinds")
    joined_tab.apply(Line.of([Where(col("n") < 100), join], {"kinds": store["kinds"]}))
    return settled()


def test_tabs_follow_a_store_that_gets_another_name(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab, memory: FakeMemory,
    settled: Callable[[], DatasetTab],
) -> None:  # fmt: skip
    old, rows = store.path, tab.view.num_rows  # type: ignore[union-attr]
    tab.grid.go_to(42, 1)
    window.diagrams.show(old)
    qtbot.waitUntil(lambda: window.diagrams.current is not None and not window.diagrams.current.is_busy)
    window.tabs.show_tab(tab)
    dialog = window.store_actions.act(store, "rename")
    assert isinstance(dialog, MoveDialog)
    qtbot.keyClicks(dialog.focusWidget(), "a/b")  # the name is selected
    assert dialog.name.text() == "a/b"
    assert "The name of a folder cannot contain '/'" in dialog.reason.text()
    dialog.name.setText("Shop")
    qtbot.waitUntil(lambda: "a single step" in dialog.about.text())
    assert f"Moved to {old.with_name('Shop')}" in carry_out(qtbot, dialog)
    assert window.library.home.path == old.with_name("Shop") and not old.exists()
    assert memory.default_store == str(old.with_name("Shop"))
    assert settled() is tab and tab.key == (str(old.with_name("Shop")), "orders")
    qtbot.waitUntil(lambda: tab.content is not None and tab.view.num_rows == rows)  # type: ignore[union-attr]
    assert [type(step).__name__ for step in tab.line.active] == ["Where", "Join"]
    assert tab.grid.selection.current == (42, 1)
    table = tab.table
    assert table is not None and table.store is window.library.home
    diagram = window.diagrams.of(old.with_name("Shop"))
    assert diagram is not None
    qtbot.waitUntil(lambda: not diagram.is_busy)
    window.commits.run(table, lambda t, job: t.update([{"_id": 0, "n": -5}]), "Changing")
    qtbot.waitUntil(lambda: window.library.home["orders"].get(0)["n"] == -5)
    settled()
    qtbot.waitUntil(lambda: not diagram.is_busy)


def test_a_move_that_fails_leaves_tabs_where_they_are(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    dialog = window.store_actions.act(store, "move")
    assert isinstance(dialog, MoveDialog)
    dialog.folder.field.setText(str(store.path.parent / "file" / "deep"))
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    (store.path.parent / "file").write_text("in the way")
    qtbot.mouseClick(dialog.accept_button, LEFT)
    qtbot.waitUntil(lambda: "file is not a folder" in dialog.reason.text())
    assert dialog.accept_button.hasFocus(), "the button that was pressed has the keyboard again"
    dialog.reject()
    qtbot.waitUntil(lambda: window.library.home is not store)
    assert window.library.home.path == store.path
    assert settled().view.num_rows == 99  # type: ignore[union-attr]
    assert window.library.home["orders"].num_rows == ROWS


def test_unsaved_edits_keep_a_store_from_being_moved(
    qtbot: QtBot, window: MainWindow, store: Store, orders: None, settled: Callable[[], DatasetTab]
) -> None:
    window.opening.open_key((str(store.path), "kinds"))
    tab = settled()
    window.commands["review_edits"].trigger()
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("name")))
    tab.editing.begin("three")
    tab.editing.settle()
    qtbot.waitUntil(lambda: bool(tab.review.is_unsaved))
    assert window.store_actions.act(store, "move") is None
    assert tab.messages.label.text() == "Save or discard these edits before the store is moved"


def test_a_medium_that_vanishes_is_said_and_tabs_go_on_when_it_is_back(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    watch = window.store_actions.watch
    tab.apply(Line.of([Where(col("n") < 100)]))  # joined rows are not edited
    settled()
    watch.look()
    away = store.path.with_name("away")
    qtbot.waitUntil(lambda: not watch.is_looking)
    store.path.rename(away)
    watch.look()
    qtbot.waitUntil(lambda: "is no longer at" in tab.messages.label.text())
    assert store in watch.missing and tab.view is not None and tab.view.num_rows == 99
    tab.grid.go_to(0, tab.grid.place(tab.grid.grid_model.names.index("text")))
    tab.editing.begin("typed meanwhile")
    tab.editing.settle()
    qtbot.waitUntil(lambda: bool(tab.editing.edits.failed_edits))
    tab.reload()
    qtbot.waitUntil(lambda: not tab.loader.running)
    assert "is no longer at" in tab.messages.label.text(), "and not that one of its files is missing"
    whole = window.library.home["orders"].read
    window.tasks.read(lambda job: whole(), text="Reading")
    tab.grid.go_to(1, tab.grid.place(tab.grid.grid_model.names.index("text")))
    tab.grid.setFocus()
    qtbot.keyClick(tab.grid, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: not window.tasks.running)
    assert not window.findChildren(ErrorDialog), "the bar says it already"
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    item = window.sidebar.tree.topLevelItem(0).child(0)
    assert "its disk was removed" in item.toolTip(0)
    away.rename(store.path)
    qtbot.mouseClick(tab.messages.buttons[0], LEFT)
    qtbot.waitUntil(lambda: window.library.home is not store)
    assert settled().view.num_rows == 99  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: tab.messages.label.text() == "My tables is back. 1 edit was not stored")
    qtbot.mouseClick(tab.messages.buttons[0], LEFT)
    qtbot.waitUntil(lambda: window.library.home["orders"].count(col("text") == "typed meanwhile") == 1)
    assert not tab.editing.edits.failed_edits
    assert tab.table is not None and tab.table.store is window.library.home
    assert window.library.home["kinds"].get(0)["name"] == "one"
    qtbot.waitUntil(lambda: window.sidebar.tree.topLevelItem(0).child(0).toolTip(0) == str(store.path))


def _look(qtbot: QtBot, window: MainWindow) -> None:
    """Let the window check whether its stores still exist, and wait for the result."""
    watch = window.store_actions.watch
    qtbot.waitUntil(lambda: not watch.is_looking)
    watch.look()
    qtbot.waitUntil(lambda: not watch.is_looking)


def _listed(window: MainWindow) -> list[str]:
    return [entry.key[1] for entry in window.sidebar.entries("table")]


def _rows_in_sidebar(window: MainWindow, name: str) -> str:
    described = Qt.ItemDataRole.AccessibleDescriptionRole
    (item,) = window.sidebar.tree.findItems(name, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive)
    return str(item.data(0, described))


def test_what_another_program_commits_is_shown_within_seconds(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    _look(qtbot, window)
    qtbot.waitUntil(lambda: "orders" in _listed(window))
    with Store.open(store.path) as second_store:
        second_store["orders"].delete(where=col("n") == 5)
        _look(qtbot, window)
        qtbot.waitUntil(lambda: tab.messages.label.text() == "In another program: Delete: 1 row deleted")
        assert settled().view.num_rows == 98  # type: ignore[union-attr]
        qtbot.waitUntil(lambda: _rows_in_sidebar(window, "orders") == f"{ROWS - 1:,} rows")

        second_store["orders"].update_where(col("n") == 2, {"$set": {"text": "two"}})
        second_store["orders"].insert([{"n": 3, "text": "three"}])
        second_store.create_table("new", {"n": [1]})
        _look(qtbot, window)
        qtbot.waitUntil(lambda: tab.messages.label.text() == "In another program: 2 changes")
        assert settled().view.num_rows == 99  # type: ignore[union-attr]
        qtbot.waitUntil(lambda: "new" in _listed(window))
        second_store.drop_table("new")
        _look(qtbot, window)
        qtbot.waitUntil(lambda: "new" not in _listed(window))


def test_a_comparison_with_now_is_repeated_when_another_program_commits(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab
) -> None:
    _look(qtbot, window)
    tab.comparing.compare_versions(tab.table.version, None)  # type: ignore[union-attr]
    view = tab.comparing.view
    assert view is not None
    qtbot.waitUntil(lambda: view.is_settled and view.comparison is not None)
    assert view.comparison.counts_text == "no row differs"  # type: ignore[union-attr]
    with Store.open(store.path) as second_store:
        second_store["orders"].delete(where=col("n") == 5)
    _look(qtbot, window)
    qtbot.waitUntil(lambda: view.is_settled and view.comparison.counts_text == "1 removed")  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_commit_of_the_window_is_not_taken_for_one_of_another_program(
    qtbot: QtBot, window: MainWindow, store: Store, tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    _look(qtbot, window)
    table = tab.table
    assert table is not None
    window.commits.run(table, lambda table, job: table.delete(where=col("n") == 5), "Deleting")
    qtbot.waitUntil(lambda: "1 row deleted" in tab.messages.label.text())
    settled()
    _look(qtbot, window)
    settled()
    assert "another program" not in tab.messages.label.text()


def test_the_page_follows_commits_while_it_is_in_front_and_when_it_comes_back(
    qtbot: QtBot, window: MainWindow, store: Store, orders: None
) -> None:
    window.commands["store_page"].trigger()
    qtbot.waitUntil(lambda: window.store_actions.current_page is not None)
    page = window.store_actions.current_page
    assert page is not None

    def versions() -> str:
        return str(page.tree.topLevelItem(0).child(1).text(NAME)) if page.sizes is not None else ""

    qtbot.waitUntil(lambda: not page.is_busy and versions() == "Versions · 3")
    _look(qtbot, window)
    with Store.open(store.path) as second_store:
        second_store["orders"].delete(where=col("n") == 5)
    _look(qtbot, window)
    qtbot.waitUntil(lambda: versions() == "Versions · 4")
    window.opening.open_key((str(store.path), "kinds"))
    qtbot.waitUntil(lambda: not page.isVisible())
    store["orders"].delete(where=col("n") == 6)
    window.tabs.show_tab(page)
    qtbot.waitUntil(lambda: versions() == "Versions · 5")
