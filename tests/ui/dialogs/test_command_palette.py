"""The command palette: what is found, what is said when nothing is, in every look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from lamella.ui import theme
from lamella.ui.dialogs.command_palette import CommandPalette


@pytest.fixture
def palette(qtbot: QtBot) -> Iterator[CommandPalette]:
    action = QAction("Open files…")
    action.setShortcut("Ctrl+O")
    made = CommandPalette([action])
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)  # the test looks at it afterwards
    qtbot.addWidget(made)
    made.open()
    made.action = action
    yield made
    theme.current().set_mode("system")


def test_nothing_found_is_said_and_enter_does_nothing(qtbot: QtBot, palette: CommandPalette) -> None:
    qtbot.keyClicks(palette.field, "zzz")
    (item,) = [palette.list.topLevelItem(n) for n in range(palette.list.topLevelItemCount())]
    assert item.text(0) == "Nothing is called “zzz”"
    with qtbot.assertNotEmitted(palette.action.triggered):
        qtbot.keyClick(palette.field, Qt.Key.Key_Down)
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.field.clear()
    with qtbot.waitSignal(palette.action.triggered):
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_shortcuts_keep_up_with_the_theme(palette: CommandPalette) -> None:
    for mode in ("light", "dark"):
        theme.current().set_mode(mode)
        written = palette.list.topLevelItem(0).foreground(1).color()
        assert written == theme.current().color("muted")
