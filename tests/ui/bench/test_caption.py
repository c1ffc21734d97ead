"""Words that have little room."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from lamella.ui.bench.caption import Caption

PARTS = "about 22 s · 8.22 MB on disk · 120 MB of memory"


@pytest.mark.parametrize(
    ("room_for", "text"),
    [
        (PARTS, PARTS),
        ("about 22 s · 8.22 MB on disk, and", "about 22 s · 8.22 MB on disk"),
        ("about 22 s, and", "about 22 s"),
        ("ab…", ""),
    ],
)
def test_parts_that_do_not_fit_are_left_out_whole(qtbot: QtBot, room_for: str, text: str) -> None:
    caption = Caption()
    qtbot.addWidget(caption)
    caption.set_short(True)
    caption.tell(PARTS)
    caption.resize(caption.fontMetrics().horizontalAdvance(room_for) + 2, 20)
    caption.show()
    assert caption.text() == text and caption.full_text == PARTS
    assert caption.toolTip() == ("" if text == PARTS else PARTS)


def test_the_beginning_of_a_long_sentence_is_shown(qtbot: QtBot) -> None:
    caption = Caption()
    qtbot.addWidget(caption)
    caption.set_short(True)
    caption.tell("Choose a workload that the systems take part in")
    caption.resize(caption.fontMetrics().horizontalAdvance("Choose a workload that"), 20)
    caption.show()
    assert caption.text().startswith("Choose a w") and caption.text().endswith("…")
