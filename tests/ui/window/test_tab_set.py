from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from lamella.ui import theme
from lamella.ui.window.tab_set import TabSet
from tests.ui.test_theme import contrast

NUM_TABS = 12
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def many_tabs(qtbot):
    tabs = TabSet()
    tabs.set_empty_page(QWidget())
    qtbot.addWidget(tabs)
    tabs.resize(500, 200)
    tabs.show()
    for number in range(NUM_TABS):
        tabs.add(QWidget(), f"another file {number}.parquet", "file", "")
    yield tabs
    theme.current().set_mode("system")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_arrows_of_tabs_that_overflow_are_seen(many_tabs, mode) -> None:
    theme.current().set_mode(mode)
    arrows = [arrow for arrow in many_tabs.tabs.tabBar().findChildren(QToolButton) if arrow.isVisible()]
    assert len(arrows) == 2
    for arrow in arrows:
        assert arrow.width() >= 24
        if arrow.isEnabled():
            image = arrow.grab().toImage()
            inside = [image.pixelColor(x, y) for x in range(4, image.width() - 4) for y in range(8, 28)]
            ground = QColor(theme.current().colors.surface).name()
            assert max(contrast(pixel.name(), ground) for pixel in inside) > 4.5


def test_tabs_that_overflow_are_listed(many_tabs, qtbot) -> None:
    assert many_tabs.list_button.isVisible()
    many_tabs.list_button.click()
    menu = many_tabs.findChild(QMenu)
    names = [f"another file {number}.parquet" for number in range(NUM_TABS)]
    assert [action.text() for action in menu.actions()] == names
    assert menu.defaultAction().text() == names[-1]
    menu.actions()[3].trigger()
    assert many_tabs.title == names[3]
    bar = many_tabs.tabs.tabBar()
    assert bar.rect().contains(bar.tabRect(3))


def test_the_list_goes_when_all_tabs_have_room(many_tabs) -> None:
    for _ in range(NUM_TABS - 2):
        many_tabs.close_at(0)
    assert not many_tabs.list_button.isVisible()
    many_tabs.resize(120, 200)
    assert many_tabs.list_button.isVisible()


def test_a_middle_click_closes_the_tab_under_it(many_tabs, qtbot) -> None:
    bar = many_tabs.tabs.tabBar()
    many_tabs.show_tab(many_tabs.widgets[0])
    current = many_tabs.current
    qtbot.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(1).center())
    left = [widget.property("title") for widget in many_tabs.widgets]
    assert len(left) == NUM_TABS - 1 and "another file 1.parquet" not in left
    assert many_tabs.current is current
    many_tabs.may_close = lambda widget: False
    qtbot.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(1).center())
    assert len(many_tabs.widgets) == NUM_TABS - 1


def test_keys_go_from_tab_to_tab_and_round(window, file_tab, qtbot) -> None:
    widgets = [QWidget(), QWidget()]
    for widget in widgets:
        window.tabs.add(widget, "another", "file", "")
    window.tabs.show_tab(file_tab)
    back = (Qt.Key.Key_Backtab, CONTROL | SHIFT)
    qtbot.keyClick(file_tab.grid, Qt.Key.Key_Tab, CONTROL)
    assert window.tabs.current is widgets[0]
    qtbot.keyClick(window, *back)
    assert window.tabs.current is file_tab and file_tab.isAncestorOf(window.focusWidget())
    qtbot.keyClick(file_tab.grid, *back)
    assert window.tabs.current is widgets[1]
    qtbot.keyClick(window, Qt.Key.Key_Tab, CONTROL)
    assert window.tabs.current is file_tab


def test_crosses_of_tabs_grow_with_the_text(many_tabs) -> None:
    many_tabs.resize(5000, 200)
    bar = many_tabs.tabs.tabBar()
    cross = bar.tabButton(0, bar.ButtonPosition.RightSide)
    small = cross.width()
    theme.current().set_text_scale(1.5)
    try:
        many_tabs.grab()
        assert cross.width() >= small + 8
        assert bar.tabRect(0).contains(cross.geometry())
        assert abs(cross.geometry().center().y() - bar.tabRect(0).center().y()) <= 2
    finally:
        theme.current().set_text_scale(1.0)
    assert cross.width() == small
