"""The menus of tables, views and files in the sidebar, and the views of files listed there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu, QMessageBox

from lamella import col, open_dataset
from lamella.core.store.views import FileViews
from lamella.ui.bench.user_benchmark_dialogs import UserTableDialog
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.widgets.sidebar import ROWS_ROLE


@pytest.fixture
def menu_of(window, qtbot) -> Callable[[str, str], QMenu]:
    """The menu of a right click on an entry, given the entry's text and section."""

    def open_menu(text: str, under: str) -> QMenu:
        tree = window.sidebar.tree
        for item in tree.findItems(text, Qt.MatchFlag.MatchRecursive):
            top = item
            while top.parent() is not None:
                top = top.parent()
            if top.text(0) == under:
                point = tree.visualItemRect(item).center()
                QApplication.sendEvent(
                    tree.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, QPoint())
                )
                return next(menu for menu in window.findChildren(QMenu) if menu.isVisible())
        raise AssertionError(f"{text} is not listed")

    return open_menu


def choose(menu: QMenu, text: str) -> None:
    next(action for action in menu.actions() if action.text() == text).trigger()
    menu.close()


@pytest.mark.slow
def test_a_table_is_listed_with_its_rows_after_each_change(window, table_tab, go_to, qtbot) -> None:
    def listed() -> list[int | None]:
        leaves = window.sidebar.tree.findItems(table_tab.name, Qt.MatchFlag.MatchRecursive)
        return [leaf.data(0, ROWS_ROLE) for leaf in leaves]

    window.library.refresh()
    qtbot.waitUntil(lambda: listed() == [1000])
    go_to(table_tab, 3, "delay")
    window.commands["delete_rows"].trigger()
    qtbot.waitUntil(lambda: listed() == [999])


@pytest.fixture
def file_view(file: Path, memory) -> None:
    FileViews(memory.saved_views).save("late", open_dataset(file).where("delay > 400"), [file])


def views(window) -> list[str]:
    return [entry.text for entry in window.sidebar.entries("view")]


def test_views_of_a_file_are_listed_under_it_and_open_in_its_tab(
    window, file_view, file_tab, settled, qtbot, menu_of
) -> None:
    qtbot.waitUntil(lambda: views(window) == ["late"])
    choose(menu_of("late", "FILES"), "Open")
    qtbot.waitUntil(lambda: bool(file_tab.line.steps))
    assert settled().view.num_rows < 1000
    window.tabs.close_at(0)
    assert views(window) == []


@pytest.mark.slow
def test_a_view_that_is_saved_for_a_file_is_listed_at_once(window, file_tab, settled, qtbot) -> None:
    file_tab.set_filter(col("delay") > 400)
    settled()
    file_tab.line_actions.save("very late")
    qtbot.waitUntil(lambda: views(window) == ["very late"])


def rename(window, text: str) -> None:
    dialog = window.findChild(QInputDialog)
    dialog.setTextValue(text)
    dialog.accept()


def press(window, text: str) -> None:
    box = next(box for box in window.findChildren(QMessageBox) if box.isVisible())
    next(button for button in box.buttons() if button.text() == text).click()


def test_a_view_of_a_file_is_renamed_and_deleted(window, file_view, file_tab, qtbot, menu_of) -> None:
    qtbot.waitUntil(lambda: views(window) == ["late"])
    choose(menu_of("late", "FILES"), "Rename…")
    rename(window, "very late")
    qtbot.waitUntil(lambda: views(window) == ["very late"])
    choose(menu_of("very late", "FILES"), "Delete…")
    press(window, "Delete")
    qtbot.waitUntil(lambda: views(window) == [])


def test_a_view_of_a_table_is_renamed_and_deleted(window, table, table_tab, qtbot, menu_of) -> None:
    saved = table.store.views
    saved.save("late", table.where("delay > 400"))
    saved.save("early", table.where("delay < 0"))
    window.library.refresh()
    qtbot.waitUntil(lambda: views(window) == ["early", "late"])
    choose(menu_of("late", "STORES"), "Rename…")
    rename(window, "very late")
    qtbot.waitUntil(lambda: views(window) == ["early", "very late"])
    choose(menu_of("early", "STORES"), "Delete…")
    press(window, "Cancel")
    choose(menu_of("very late", "STORES"), "Delete…")
    press(window, "Delete")
    qtbot.waitUntil(lambda: views(window) == ["early"])
    assert list(saved) == ["early"]


@pytest.mark.slow
def test_a_name_that_is_taken_is_refused(window, table, table_tab, qtbot, menu_of) -> None:
    for name in ("late", "early"):
        table.store.views.save(name, table.where("delay > 400"))
    window.library.refresh()
    qtbot.waitUntil(lambda: len(views(window)) == 2)
    choose(menu_of("late", "STORES"), "Rename…")
    rename(window, "early")
    qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is not None)
    assert "early" in window.findChild(ErrorDialog).details
    assert sorted(table.store.views) == ["early", "late"]


def test_a_recent_file_is_taken_off_the_list(window, file, memory, qtbot, menu_of) -> None:
    memory.remember(file)
    window.show_files()
    choose(menu_of(file.name, "RECENT"), "Copy path")
    assert QGuiApplication.clipboard().text() == str(file)
    choose(menu_of(file.name, "RECENT"), "Remove from the list")
    assert memory.recent == [] and window.sidebar.entries("recent") == []


def test_a_file_is_shown_in_its_folder(window, file, memory, monkeypatch, menu_of) -> None:
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    memory.remember(file)
    window.show_files()
    choose(menu_of(file.name, "RECENT"), "Show in folder")
    assert opened == [str(file.parent)]


def test_an_open_file_is_closed_from_its_menu(window, file_tab, file, menu_of) -> None:
    choose(menu_of(file.name, "FILES"), "Close")
    assert window.tabs.dataset_tabs == []


def test_a_table_is_measured_and_its_name_copied(window, table, qtbot, menu_of) -> None:
    window.library.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.entries("table")))
    choose(menu_of("flights", "STORES"), "Copy name")
    assert QGuiApplication.clipboard().text() == "flights"
    choose(menu_of("flights", "STORES"), "Benchmark this table…")
    qtbot.waitUntil(lambda: window.findChild(UserTableDialog) is not None)


def test_views_that_cannot_be_read_are_said_once(window, memory, file, tmp_path, settled, qtbot) -> None:
    memory.saved_views.write_text("[")
    window.open_paths([file])
    qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is not None)
    assert "saved views cannot be read" in window.findChild(ErrorDialog).details
    window.findChild(ErrorDialog).close()
    second_file = tmp_path / "other.csv"
    second_file.write_text("a\n1\n")
    window.open_paths([second_file])
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)
    settled()
    assert not [dialog for dialog in window.findChildren(ErrorDialog) if dialog.isVisible()]
