"""Results show where they are and why, one line of any text."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetrics

from lamella.core.query.cell_search import TextPattern
from lamella.ui import theme
from lamella.ui.find.result_list import (
    AFTER,
    BEFORE,
    Result,
    ResultList,
    snippet_of,
    with_match_in_sight,
)


def marked(text: str, pattern: TextPattern) -> str:
    return snippet_of(text, pattern).replace(BEFORE, "[").replace(AFTER, "]")


@pytest.mark.parametrize(
    ("text", "pattern", "snippet"),
    [
        ("A fox, a Fox", TextPattern("fox"), "A [fox], a [Fox]"),
        ("A fox, a Fox", TextPattern("Fox", case=True), "A fox, a [Fox]"),
        ("a\nb\0c", TextPattern("b"), "a↵[b]␀c"),
        ("over " * 100 + "the dog", TextPattern("dog"), "…over over over over over over over the [dog]"),
        ("x1234", TextPattern(r"\d{2}", regex=True), "x[12]34"),
        ("Übergröße", TextPattern("GRÖ", regex=True), "Über[grö]ße"),
        ("whole", TextPattern("WHOLE", whole=True), "[whole]"),
        ("fox " * 200, TextPattern("fox"), "[fox] " * 40 + "…"),
    ],
)
def test_a_snippet_is_the_piece_around_what_is_found(text, pattern, snippet) -> None:
    assert marked(text, pattern) == snippet


@pytest.mark.parametrize("match", ["dog", "a very long match " * 9])
def test_a_match_is_in_sight_however_narrow_the_list_is(qapp, match: str) -> None:
    metrics = QFontMetrics(theme.current().font("body"))
    snippet = f"over the hills and far away {BEFORE}{match}{AFTER} and back again"
    assert with_match_in_sight(snippet, metrics, 3000) == snippet
    before, _, rest = with_match_in_sight(snippet, metrics, 150).partition(BEFORE)
    assert rest == snippet.partition(BEFORE)[2]
    room = 0 if metrics.horizontalAdvance(match) > 150 else 50
    assert metrics.horizontalAdvance(before) <= room and before.startswith("…") == bool(room)
    at_end = f"over the hills and far away and back again {BEFORE}fox{AFTER}"
    before = with_match_in_sight(at_end, metrics, 150).partition(BEFORE)[0]
    assert 75 < metrics.horizontalAdvance(before) <= 150 - metrics.horizontalAdvance("fox")


def test_steps_go_from_result_to_result_past_headings(qtbot) -> None:
    widget = ResultList()
    qtbot.addWidget(widget)
    chosen: list[str] = []
    widget.chosen.connect(lambda result: chosen.append(result.place))
    assert not widget.step(1)
    rows = [
        Result("A", heading=True),
        Result("a1"),
        Result("B", heading=True),
        Result("b1", f"{BEFORE}x{AFTER}y"),
    ]
    widget.show_results(rows[:2])
    widget.show_results(rows)
    for direction in (1, 1, 1, -1):
        widget.step(direction)
    assert chosen == ["a1", "b1", "a1", "b1"] and rows[3].text == "b1, xy"
    widget.show_results(rows[:1])
    assert not widget.step(1)
