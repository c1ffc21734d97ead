"""The line of chips: how much of their texts is shown, and the menu of steps beside it."""

from __future__ import annotations

import pytest

from lamella.core.query.steps import Limit, Sort
from lamella.ui import theme
from lamella.ui.steps.chips import LEAST_WIDTH, ChipState, StepMenu, StepsBar

LONG, SHORT = "dep_delay, arr_delay, carrier and the names of very many more columns, descending", "10 rows"


@pytest.fixture
def bar(qtbot) -> StepsBar:
    made = StepsBar("flights", "table")
    qtbot.addWidget(made)
    made.show_steps([ChipState(Sort, LONG), ChipState(Limit, SHORT)])
    made.resize(1400, made.height())
    made.show()
    qtbot.waitExposed(made)
    return made


def test_a_text_is_whole_while_there_is_room(bar: StepsBar) -> None:
    assert [chip.width() for chip in bar.chips] == [chip.sizeHint().width() for chip in bar.chips]


def test_the_longest_text_is_cut_where_there_is_none(bar: StepsBar) -> None:
    bar.resize(600, bar.height())
    long, short = bar.chips
    assert LEAST_WIDTH <= long.width() < long.sizeHint().width()
    assert short.width() == short.sizeHint().width()
    assert bar.strip.add.geometry().right() <= bar.strip.parentWidget().width()


def test_the_icons_of_the_menu_of_steps_grow_with_the_text(qtbot) -> None:
    theme.current().set_text_scale(1.0)
    menu = StepMenu()
    qtbot.addWidget(menu)
    menu.show()
    before = menu.list.iconSize()
    theme.current().set_text_scale(1.5)
    try:
        assert menu.list.iconSize() == before * 1.5
    finally:
        theme.current().set_text_scale(1.0)
