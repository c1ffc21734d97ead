"""Buttons inside line edits: where they are, how large, and that the text stays clear of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from lamella.ui import theme
from lamella.ui.widgets.field_buttons import FieldButton, add_clear_button, add_search_icon


@pytest.fixture
def field(qtbot: QtBot) -> Iterator[QLineEdit]:
    edit = QLineEdit()
    qtbot.addWidget(edit)
    edit.resize(300, 40)
    edit.show()
    yield edit
    theme.current().set_text_scale(1.0)


def test_buttons_grow_with_the_text_and_stay_inside_the_field(field: QLineEdit) -> None:
    outer, inner = FieldButton(field, "chevron-down", "Open"), FieldButton(field, "columns", "Switch")
    first = FieldButton(field, "search", "Search", leading=True)
    for scale in (1.0, 1.5, 1.0):
        theme.current().set_text_scale(scale)
        field.resize(field.width() + 20, field.sizeHint().height())
        assert outer.iconSize() == theme.current().icon_size()
        assert outer.width() > outer.iconSize().width() <= outer.height()
        assert all(field.rect().contains(button.geometry()) for button in (outer, inner, first))
        assert first.x() < inner.x() < inner.geometry().right() < outer.x()


def test_the_text_stays_clear_of_the_buttons(field: QLineEdit) -> None:
    field.setTextMargins(0, 0, 3, 0)
    button = FieldButton(field, "chevron-down", "Open")
    first = FieldButton(field, "search", "Search", leading=True)
    margins = field.textMargins()
    assert margins.left() > first.geometry().right()
    assert field.width() - margins.right() < button.x()
    button.hide()
    assert field.textMargins().right() == 3


def test_the_cross_empties_the_field_as_its_user_would(field: QLineEdit, qtbot: QtBot) -> None:
    cross = add_clear_button(field)
    assert cross.isHidden()
    field.setText("delay")
    assert not cross.isHidden()
    with qtbot.waitSignal(field.textEdited):
        qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert field.text() == "" and cross.isHidden()


def test_a_search_icon_leaves_clicks_to_the_field(field: QLineEdit) -> None:
    add_search_icon(field)
    icon = field.findChild(FieldButton)
    assert icon is not None and field.childAt(icon.geometry().center()) is None
