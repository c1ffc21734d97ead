"""The line of chips: how much of their texts is shown."""

from __future__ import annotations

import pytest

from lamella.core.query.steps import Limit, Sort
from lamella.ui.steps.chips import LEAST_WIDTH, ChipState, StepsBar

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
