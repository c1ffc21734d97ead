"""Small forms that open over the window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from lamella.ui import theme
from lamella.ui.widgets.popover import OPENS, ChoiceButton, ColumnsChoice, Popover, close_popups, first_field


def form_of(*widgets: QWidget) -> QWidget:
    form = QWidget()
    layout = QVBoxLayout(form)
    for widget in widgets:
        layout.addWidget(widget)
    return form


def test_the_keyboard_begins_at_the_first_field_and_not_at_a_label(qtbot: QtBot) -> None:
    owner, field, group = QPushButton("open"), QLineEdit(), form_of(QLabel("inside"))
    hidden, off = QLineEdit(), QLineEdit()
    hidden.hide()
    off.setEnabled(False)
    qtbot.addWidget(owner)
    owner.show()
    popover = Popover(form_of(QLabel("Name"), group, hidden, off, field), owner)
    popover.open_below(owner)
    assert popover.focusWidget() is field and QApplication.activePopupWidget() is popover
    close_popups(owner)
    assert not popover.isVisible()


@pytest.mark.parametrize("policy", [Qt.FocusPolicy.NoFocus, Qt.FocusPolicy.ClickFocus])
def test_a_form_without_fields_has_the_keyboard_itself(qtbot: QtBot, policy: Qt.FocusPolicy) -> None:
    clicked = QPushButton("only by the mouse")
    clicked.setFocusPolicy(policy)
    form = form_of(QLabel("nothing to type"), clicked)
    qtbot.addWidget(form)
    assert first_field(form) is form


def test_columns_are_checked_by_keyboard_and_mouse_and_stay_in_order(qtbot: QtBot) -> None:
    choice, changes = ColumnsChoice("Key", ["id", "na\x1bme", "day"]), []
    qtbot.addWidget(choice)
    choice.changed.connect(lambda: changes.append(choice.names))
    choice.show()
    choice.popover.open_below(choice)
    view = choice.popover.focusWidget()
    assert view is choice.list
    choice.list.setCurrentIndex(choice.list.model().index(2, 0))
    QTest.keyClick(view, Qt.Key.Key_Space)
    box = choice.list.visualRect(choice.list.model().index(1, 0)).topLeft()
    qtbot.mouseClick(choice.list.viewport(), Qt.MouseButton.LeftButton, pos=box + QPoint(10, 10))
    assert changes == [["day"], ["na\x1bme", "day"]]
    name = box + QPoint(choice.list.viewport().width() - 10, 10)
    for _ in range(2):  # anywhere in the row
        qtbot.mouseClick(choice.list.viewport(), Qt.MouseButton.LeftButton, pos=name)
    assert changes[2:] == [["day"], ["na\x1bme", "day"]]
    assert choice.toolTip() == "na␛me, day"
    choice.list.setCurrentIndex(choice.list.model().index(1, 0))
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert choice.names == ["day"]


def test_a_long_list_of_columns_is_searched_by_keys(qtbot: QtBot) -> None:
    short, long = (ColumnsChoice("Key", [f"c{number}" for number in range(count)]) for count in (12, 40))
    for choice in (short, long):
        qtbot.addWidget(choice)
        choice.show()
        choice.popover.open_below(choice)
    assert not short.search.isVisible() and long.popover.focusWidget() is long.search
    QTest.keyClicks(long.search, "C3")
    shown = [row for row in range(40) if not long.list.isRowHidden(row)]
    assert shown == [3, *range(30, 40)]
    QTest.keyClick(long.search, Qt.Key.Key_Down)
    QTest.keyClick(long.popover.focusWidget(), Qt.Key.Key_Space)
    assert long.names == ["c3"]
    long.search.clear()
    assert not any(map(long.list.isRowHidden, range(40))) and long.names == ["c3"]


@pytest.mark.slow
def test_choosing_many_columns_emits_one_change(qtbot: QtBot) -> None:
    names = [f"c{number}" for number in range(10_000)]
    choice, changes = ColumnsChoice("Key", names), []
    qtbot.addWidget(choice)
    choice.changed.connect(lambda: changes.append(len(choice.names)))
    choice.choose(names[::-2])
    choice.choose(names[1::2])
    assert changes == [5_000] and choice.names == names[1::2]


def test_a_form_stays_inside_the_window_of_its_button(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.setGeometry(20, 20, 500, 300)
    button, form = QPushButton("Save…", window), QWidget()
    button.setGeometry(440, 10, 50, 24)
    QVBoxLayout(form).addWidget(QLineEdit())
    window.show()
    popover = Popover(form, button)
    popover.open_below(button)
    assert window.geometry().left() <= popover.x() and popover.geometry().right() < window.geometry().right()
    window.resize(popover.width() - 50, 300)
    button.move(0, 10)
    popover.open_below(button)
    assert popover.x() == button.mapToGlobal(button.rect().topLeft()).x(), "no window is too narrow for it"


def test_a_choice_of_two_short_words_is_never_cut(qtbot) -> None:
    button = ChoiceButton("Look in", QWidget())
    qtbot.addWidget(button)
    button.show()
    button.say("All columns")
    button.resize(button.minimumSizeHint())
    assert button.text() == f"All columns{OPENS}"


def test_a_choice_takes_the_room_that_is_empty_beside_it(qtbot) -> None:
    theme.current()  # has the style sheet
    button = ChoiceButton("Workload", QWidget())
    qtbot.addWidget(button)
    button.show()
    button.say("Small benchmark")
    text = button.fontMetrics().horizontalAdvance(f"Small benchmark{OPENS}")
    frame = 2 * (1 + theme.S)  # border and padding of the style sheet
    assert text + frame <= button.sizeHint().width() <= text + frame + 2 * theme.XS
    button.resize(button.sizeHint())
    assert button.text() == f"Small benchmark{OPENS}"
    assert button.toolTip() == "Workload"
    button.resize(button.minimumSizeHint())
    assert button.text() != f"Small benchmark{OPENS}" and button.toolTip() == "Workload: Small benchmark"
