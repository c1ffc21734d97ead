"""The start page: what it lists and what its rows do."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QPushButton

from lamella.ui import theme
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.start_page import MISSING_TEXT, TRIES, StartPage


@pytest.fixture
def page(qtbot):
    tasks = Tasks()
    actions = [QAction(text) for text in ("Open files…", "Open a folder…", "Open the sample")]
    widget = StartPage(tasks, actions[:2], actions[2])
    widget.actions_given = actions
    qtbot.addWidget(widget)
    widget.resize(1000, 700)
    widget.show()
    yield widget
    tasks.shutdown()
    theme.current().set_text_scale(1.0)


@pytest.mark.slow
def test_five_recent_files_are_listed_with_size_and_day(page, tmp_path: Path, qtbot) -> None:
    files = [tmp_path / f"{n}.csv" for n in range(7)]
    for file in files[1:]:
        file.write_bytes(b"x" * 1_234_000)
    page.show_recent(files)
    assert [row.accessibleName() for row in page.recent] == [f"{n}.csv" for n in range(5)]
    qtbot.waitUntil(lambda: page.recent[0].figures == MISSING_TEXT)
    assert page.recent[1].figures.startswith("1.23 MB\n20")
    with qtbot.waitSignal(page.file_chosen) as chosen:
        qtbot.mouseClick(page.recent[1], Qt.MouseButton.LeftButton)
    assert chosen.args == [files[1]]
    page.show_recent(files[3:5])
    assert [row.accessibleName() for row in page.recent] == ["3.csv", "4.csv"]


def test_without_recent_files_it_says_so(page, tmp_path) -> None:
    hint = next(label for label in page.findChildren(QLabel) if "are listed here" in label.text())
    assert hint.isVisible()
    page.show_recent([tmp_path])
    assert not hint.isVisible()
    page.show_recent([])
    assert hint.isVisible()


def test_buttons_trigger_their_actions_and_rows_say_what_to_try(page, qtbot) -> None:
    for action in page.actions_given:
        button = next(b for b in page.findChildren(QPushButton) if b.text() == action.text())
        with qtbot.waitSignal(action.triggered):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    for key, *_ in TRIES:
        with qtbot.waitSignal(page.try_chosen) as chosen:
            qtbot.keyClick(page.tries[key], Qt.Key.Key_Space)
        assert chosen.args == [key]


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_nothing_is_cut_in_a_small_window(page, tmp_path, qtbot, scale) -> None:
    page.show_recent([tmp_path / ("long " * 20 + ".parquet")])
    theme.current().set_text_scale(scale)
    page.resize(784, 560)
    qtbot.waitUntil(lambda: page.recent[0].figures == MISSING_TEXT)
    qtbot.waitUntil(lambda: page.viewport().width() < 800)

    def nothing_is_cut() -> None:
        assert page.horizontalScrollBar().maximum() == 0
        for row in (*page.recent, *page.tries.values()):
            for label in row.findChildren(QLabel):
                needs = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
                assert row.rect().contains(label.geometry()) and label.height() >= needs
                assert label.wordWrap() or label.width() >= label.sizeHint().width()

    qtbot.waitUntil(nothing_is_cut)  # layouts follow the figures and the text size in later events
    assert any("…" in label.text() for label in page.recent[0].findChildren(QLabel))


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_the_headings_of_both_columns_stand_on_one_line(page, scale) -> None:
    theme.current().set_text_scale(scale)
    page.widget().layout().activate()
    heads = [label for label in page.findChildren(QLabel) if label.property("variant") == "heading"]
    assert len(heads) == 2 and len({head.geometry().center().y() for head in heads}) == 1


def test_files_opened_while_it_is_hidden_are_listed_once_it_is_shown(page, tmp_path, qtbot) -> None:
    page.hide()
    for number in range(3):
        page.show_recent([tmp_path / f"{number}.csv"])
    assert page.recent == []
    page.show()
    assert [row.accessibleName() for row in page.recent] == ["2.csv"]
    qtbot.waitUntil(lambda: page.recent[0].figures == MISSING_TEXT)
