"""The command palette: what is found, in which order, and what is said when nothing is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from lamella.ui import theme
from lamella.ui.dialogs.command_palette import CommandPalette, Offer, command_offers, matching
from tests.ui.test_theme import contrast


def nothing() -> None:
    """The action of offers that are not chosen."""


@pytest.fixture
def open_palette(qtbot: QtBot):
    def make(offers: list[Offer]) -> CommandPalette:
        widget = CommandPalette(offers)
        widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)  # the test looks at it afterwards
        qtbot.addWidget(widget)
        widget.show()
        return widget

    yield make
    theme.current().set_mode("system")


@pytest.fixture
def action() -> Iterator[QAction]:
    action_ = QAction("Open files…")
    action_.setShortcut("Ctrl+O")
    yield action_


def rows_of(palette: CommandPalette) -> list[str]:
    return [row if isinstance(row, str) else row.name for row in palette.model.rows]


def test_nothing_found_is_said_and_enter_does_nothing(qtbot: QtBot, open_palette, action) -> None:
    palette = open_palette(command_offers([action]))
    qtbot.keyClicks(palette.field, "zzz")
    assert rows_of(palette) == ["Nothing is called 'zzz'"]
    with qtbot.assertNotEmitted(action.triggered):
        qtbot.keyClick(palette.field, Qt.Key.Key_Down)
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.field.clear()
    with qtbot.waitSignal(action.triggered):
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_actions_that_are_not_possible_are_not_offered(action) -> None:
    action.setEnabled(False)
    assert command_offers([action]) == []


def test_the_closest_name_comes_first() -> None:
    names = ["undelayed", "arr_delay", "delay_reason", "delay", "carrier"]
    offers = [Offer(name, nothing) for name in names]
    assert [offer.name for offer in matching(offers, "DELAY")] == [
        "delay", "delay_reason", "arr_delay", "undelayed",
    ]  # fmt: skip
    assert [offer.name for offer in matching(offers, "arr del")] == ["arr_delay"]


def test_groups_are_headed_and_say_how_many_more_they_have(qtbot: QtBot, open_palette) -> None:
    columns = [Offer(f"column {n}", nothing, "Columns") for n in range(1000)]
    palette = open_palette([*columns, Offer("calls", nothing, "Tables"), Offer("other", nothing, "Tables")])
    qtbot.keyClicks(palette.field, "c")
    rows = rows_of(palette)
    assert rows[0] == "Columns" and rows[8:] == ["993 more: keep typing to find them", "Tables", "calls"]
    qtbot.keyClicks(palette.field, "al")
    assert rows_of(palette) == ["Tables", "calls"]


def test_arrows_pass_over_headings_and_go_round(qtbot: QtBot, open_palette) -> None:
    names_run = []
    names = [("a", "One"), ("b", "One"), ("c", "Two")]
    palette = open_palette([Offer(name, lambda n=name: names_run.append(n), group) for name, group in names])
    for _ in range(2):
        qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().data() == "c"
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().data() == "a"
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert names_run == ["c"]


def test_a_click_does_what_was_clicked(qtbot: QtBot, open_palette) -> None:
    names_run = []
    palette = open_palette([Offer(name, lambda n=name: names_run.append(n)) for name in "abc"])
    point = palette.list.visualRect(palette.model.index(1, 0)).center()
    qtbot.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert names_run == ["b"] and not palette.isVisible()


@pytest.mark.slow
def test_icons_of_commands_follow_the_theme(qtbot: QtBot, open_palette, action) -> None:
    look = theme.current()
    look.set_mode("light")
    action.setIcon(look.icon("trash", "text"))
    palette = open_palette(command_offers([action]))
    look.set_mode("dark")
    action.setIcon(look.icon("trash", "text"))
    image = palette.list.viewport().grab(palette.list.visualRect(palette.model.index(0, 0))).toImage()
    drawn = {image.pixelColor(x, y).name() for x in range(8, 24) for y in range(image.height())}
    assert max(contrast(color, look.color("accent_soft").name()) for color in drawn) > 4.5


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_names_and_shortcuts_can_be_read_in_each_theme(qtbot: QtBot, open_palette, action, mode) -> None:
    palette = open_palette(command_offers([action]))
    theme.current().set_mode(mode)
    image = palette.list.viewport().grab(palette.list.visualRect(palette.model.index(0, 0))).toImage()
    ground = theme.current().color("accent_soft").name()
    for half in (range(40, image.width() // 2), range(image.width() // 2, image.width() - 8)):
        drawn = {image.pixelColor(x, y).name() for x in half for y in range(image.height())}
        assert max(contrast(color, ground) for color in drawn) > 4.5
