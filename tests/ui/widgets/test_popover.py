"""Small forms that open over the window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from lamella.ui.widgets.popover import Popover, close_popups, first_field


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
