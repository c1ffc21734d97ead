"""The find bar: what it shows in little room."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from lamella.ui import theme
from lamella.ui.find.bar import FindBar


@pytest.mark.parametrize("width", [780, 1060, 1380])
@pytest.mark.parametrize("words", [False, True])
def test_why_nothing_was_found_is_not_cut_while_the_field_has_room(qtbot, width: int, words: bool) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    bar.show()
    bar.resize(width, bar.sizeHint().height())
    bar.word_mode.setChecked(words)
    for text in ("The best 200 of 548 rows", "Unclosed bracket ( at character 3"):
        bar.say(text, "danger")
        qtbot.waitUntil(lambda: not bar.news.toolTip())
        assert QLabel.text(bar.news) == text
    assert words or bar.columns.text().startswith("All columns")


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_its_field_keeps_room_for_a_few_words(qtbot, scale: float) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    bar.show()
    theme.current().set_text_scale(scale)
    widths = []
    for width in (760, 900, 1050, 1400):
        bar.resize(round(width * scale), bar.sizeHint().height())
        bar.layout().activate()
        widths.append(bar.field.width() / scale)
    theme.current().set_text_scale(1.0)
    assert min(widths) >= 160


def test_its_options_stay_where_they_are_while_it_counts(qtbot) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    bar.resize(1200, bar.sizeHint().height())
    bar.show()
    places = []
    for counting in (False, True):
        bar.set_counting(counting)
        bar.layout().activate()
        places.append([option.x() for option in (bar.case, bar.whole, bar.regex)])
    assert places[0] == places[1]


def test_a_long_text_keeps_its_beginning_and_its_end(qtbot) -> None:
    bar = FindBar()
    qtbot.addWidget(bar)
    bar.resize(780, bar.sizeHint().height())
    bar.show()
    text = f"readings of {'all ' * 60}stations.parquet: could not be read"
    bar.say(text, "danger")
    qtbot.waitUntil(lambda: bar.news.toolTip() == text)
    cut = QLabel.text(bar.news)
    assert cut.startswith("readings of all") and cut.endswith("could not be read")
