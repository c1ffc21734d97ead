"""The toolbar: the menus behind a button, and the field that opens the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolBar
from pytestqt.qtbot import QtBot

from lamella.core.query.line import Line
from lamella.core.query.steps import Limit
from lamella.ui import theme
from lamella.ui.actions import ACTIONS, LABELLED_ACTIONS, MENUS
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab

pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)


def names_in(menu: QMenu) -> Iterator[str]:
    for action in menu.actions():
        if action.menu() is None:
            yield action.objectName()
        else:
            yield from names_in(action.menu())


def test_the_menus_stand_behind_a_button_with_every_action(window: MainWindow) -> None:
    menu = window.action_bar.menu_button.menu()
    assert [action.text() for action in menu.actions()] == list(MENUS)
    assert {entry.id for entry in ACTIONS if entry.menu} <= set(names_in(menu))


@pytest.mark.slow
def test_another_theme_moves_nothing(qtbot: QtBot, window: MainWindow) -> None:
    bar = window.findChild(QToolBar)
    before = bar.height()
    theme.current().set_mode("dark")
    qtbot.waitUntil(lambda: bar.height() == bar.sizeHint().height())
    assert bar.height() == before


def test_alt_alone_shows_the_menu_bar_and_hides_it(qtbot: QtBot, window: MainWindow) -> None:
    assert not window.menuBar().isVisible()
    for visible in (True, False):
        qtbot.keyPress(window, Qt.Key.Key_Alt)
        qtbot.keyRelease(window, Qt.Key.Key_Alt)
        assert window.menuBar().isVisible() is visible
    qtbot.keyPress(window, Qt.Key.Key_Alt)
    qtbot.keyPress(window, Qt.Key.Key_Left)
    qtbot.keyRelease(window, Qt.Key.Key_Alt)
    assert not window.menuBar().isVisible()


def test_alt_with_another_key_or_a_click_leaves_the_menu_bar_hidden(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    file_tab.apply(Line.of([Limit(10)], {}))
    settled()

    def go_back() -> None:
        QTest.keyClick(file_tab.grid, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)

    def click() -> None:
        QTest.mouseClick(file_tab.grid.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.AltModifier)

    for act in (go_back, click):
        qtbot.keyPress(file_tab.grid, Qt.Key.Key_Alt)
        act()
        qtbot.keyRelease(file_tab.grid, Qt.Key.Key_Alt)
        assert not window.menuBar().isVisible()
    assert not file_tab.line.steps, "the shortcut was used"


def test_the_search_field_opens_the_palette(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.mouseClick(window.action_bar.search, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: any(palette.isVisible() for palette in window.findChildren(CommandPalette)))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("width", [1280, 1000, 800])
def test_every_button_is_in_sight(window: MainWindow, width: int, scale: float) -> None:
    theme.current().set_text_scale(scale)
    window.resize(width, 700)
    QApplication.processEvents()
    bar = window.action_bar
    for button in (bar.menu_button, bar.search, *bar.buttons.values()):
        assert button.isVisible() and bar.rect().contains(button.geometry())
    if (width, scale) == (1280, 1.0):
        assert "Ctrl" in bar.search.text()


@pytest.mark.slow
def test_names_give_way_one_after_the_other_and_come_back(window: MainWindow) -> None:
    bar, beside = window.action_bar, Qt.ToolButtonStyle.ToolButtonTextBesideIcon

    def named(width: int) -> list[str]:
        window.resize(width, 700)
        QApplication.processEvents()
        return [name for name, button in bar.buttons.items() if button.toolButtonStyle() is beside]

    wide, middle, narrow = named(2_000), named(1_000), named(800)
    assert set(wide) == set(LABELLED_ACTIONS) and set(narrow) <= set(middle) < set(wide)
    assert set(middle) == set(LABELLED_ACTIONS[: len(middle)]), "the last ones go first"
    assert named(2_000) == wide
