"""Words in the filter builder: with an index, with the offer to build one, and for files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel
from pytestqt.qtbot import QtBot

from lamella import col
from lamella.core.errors import StoreProblem
from lamella.core.filters.expr import Predicate
from lamella.core.query.steps import Where
from lamella.core.store.indexes import Indexes
from lamella.core.store.table import Table
from lamella.ui.dialogs.file_import import FileImportDialog
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.filters.word_index import (
    WordIndexes,
    WordIndexOffer,
    WordSearch,
    rough_size,
    rough_time,
)
from lamella.ui.main_window import MainWindow
from lamella.ui.steps.where_editor import WhereEditor
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]
LABEL = "has the words"


def row(qtbot: QtBot, tab: DatasetTab, column: str) -> ConditionRow:
    """The condition of a new filter's form, on a column."""
    tab.steps.edit_filter()
    assert isinstance(tab.steps.editor, WhereEditor)
    condition_row = tab.steps.editor.findChildren(ConditionRow)[-1]
    choose_column(qtbot, condition_row, column)
    return condition_row


def choose_column(qtbot: QtBot, condition_row: ConditionRow, name: str) -> None:
    box = condition_row.findChild(ColumnBox)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, name)
    qtbot.keyClick(box, Qt.Key.Key_Return)


def operator_box(condition_row: ConditionRow) -> QComboBox:
    return next(box for box in condition_row.findChildren(QComboBox) if box.accessibleName() == "Operator")


def operators(condition_row: ConditionRow) -> list[str]:
    box = operator_box(condition_row)
    return [box.itemText(place) for place in range(box.count())]


def choose(qtbot: QtBot, condition_row: ConditionRow, label: str) -> None:
    qtbot.waitUntil(lambda: label in operators(condition_row))
    operator_box(condition_row).setCurrentIndex(operators(condition_row).index(label))
    operator_box(condition_row).activated.emit(operator_box(condition_row).currentIndex())


def type_words(qtbot: QtBot, condition_row: ConditionRow, words: str) -> None:
    field = condition_row.values.fields[0]
    field.setFocus()
    qtbot.keyClicks(field, words)


def test_words_are_an_operator_where_there_is_an_index(
    qtbot: QtBot, table: Table, table_tab: DatasetTab, settled: Settled
) -> None:
    table.indexes.create("note", kind="fulltext")
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, LABEL)
    type_words(qtbot, condition_row, '"row 12" or 7')
    qtbot.waitUntil(lambda: table_tab.where == Predicate("note", "words", ('"row 12" or 7',)))
    assert settled().view.num_rows == 2
    assert table_tab.steps.bar.chips[0].state.text.startswith("note has the words ")
    type_words(qtbot, condition_row, " and (")
    reasons = condition_row.findChildren(QLabel)
    qtbot.waitUntil(lambda: any(label.isVisible() and "closed" in label.text() for label in reasons))
    assert settled().view.num_rows in (2, 1000)


def test_an_index_is_built_and_the_filter_goes_on(
    qtbot: QtBot, table: Table, table_tab: DatasetTab, settled: Settled
) -> None:
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    qtbot.waitUntil(lambda: condition_row.offer.isVisible() and "about" in condition_row.offer.says.text())
    qtbot.waitUntil(lambda: condition_row.offer.act.visibleRegion().boundingRect().height() >= 20)
    assert (
        "full-text index of 'note'" in condition_row.offer.says.text()
        and condition_row.condition.operator == "eq"
    )
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: condition_row.condition.operator == "words")
    assert not condition_row.offer.isVisible() and [index.kind for index in table.indexes] == ["fulltext"]
    type_words(qtbot, condition_row, "12")
    qtbot.waitUntil(lambda: table_tab.where == Predicate("note", "words", ("12",)))
    assert settled().view.num_rows == 1
    assert operators(condition_row).count(LABEL) == 1 and f"{LABEL}…" not in operators(condition_row)


class Estimates(WordIndexes):
    """Answers when the test says so."""

    def search(self, column: str) -> WordSearch:
        return WordSearch.NO_INDEX

    def estimate(self, column: str, done: Callable[[str], None]) -> None:
        self.__dict__.setdefault("answers", {})[column] = done


def test_an_estimate_that_comes_late_is_left_out(qtbot: QtBot, table: Table, window: MainWindow) -> None:
    indexes, offer = Estimates(table, window.tasks, window), WordIndexOffer()
    qtbot.addWidget(offer)
    offer.begin(indexes, "note")
    offer.begin(indexes, "carrier")
    indexes.answers["carrier"]("about 3 MB")
    indexes.answers["note"]("about 9 GB")
    assert offer.says.text().endswith("'carrier': about 3 MB.")
    gone = WordIndexOffer()
    gone.begin(indexes, "note")
    shiboken6.delete(gone)
    indexes.answers["note"]("about 9 GB")


def test_an_estimate_that_comes_late_does_not_hide_a_failure(
    qtbot: QtBot, table: Table, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(self, *_: object, **__: object) -> None:
        raise StoreProblem("It could not be written", "the disk is full", "Make room")

    monkeypatch.setattr(Indexes, "create", create)
    indexes, offer = Estimates(table, window.tasks, window), WordIndexOffer()
    qtbot.addWidget(offer)
    offer.begin(indexes, "note")
    offer.act.click()
    qtbot.waitUntil(lambda: not offer.is_building)
    indexes.answers["note"]("about 3 MB")
    assert "the disk is full" in offer.says.text().casefold() and offer.act.text() == "Try again"


@pytest.mark.slow
def test_an_index_that_is_ready_late_leaves_another_column_alone(
    qtbot: QtBot, table: Table, table_tab: DatasetTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, create = threading.Event(), Indexes.create

    def wait(self: Indexes, *arguments: Any, **options: Any) -> Any:
        begun.wait()
        return create(self, *arguments, **options)

    monkeypatch.setattr(Indexes, "create", wait)
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    choose_column(qtbot, condition_row, "carrier")
    qtbot.waitUntil(lambda: condition_row.condition.column == "carrier")
    choose(qtbot, condition_row, f"{LABEL}…")
    assert condition_row.offer.is_building and "'note'" in condition_row.offer.says.text()
    begun.set()
    qtbot.waitUntil(lambda: not condition_row.offer.is_building)
    assert condition_row.condition.operator == "eq" and [index.columns for index in table.indexes] == [
        ("note",)
    ]


def test_an_estimate_that_fails_is_logged(
    qtbot: QtBot,
    table: Table,
    window: MainWindow,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_arguments: object) -> None:
        raise StoreProblem("It could not be written", "the disk is full", "Make room")

    monkeypatch.setattr("lamella.core.index.fulltext.conditions.expected_cost", refuse)
    answers: list[str] = []
    WordIndexes(table, window.tasks, window).estimate("note", answers.append)
    qtbot.waitUntil(lambda: answers == [""])
    assert "The disk is full" in caplog.text


@pytest.mark.slow
def test_building_is_stopped(
    qtbot: QtBot, window: MainWindow, table: Table, table_tab: DatasetTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(self, columns, kind="sorted", job=None, **options):
        while True:
            job.report(0, 3)
            job.check()

    monkeypatch.setattr(Indexes, "create", create)
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "0 of 3 files" in condition_row.offer.says.text())
    qtbot.mouseClick(condition_row.offer.cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: condition_row.offer.act.isEnabled() and not window.tasks.running)
    assert condition_row.condition.operator == "eq" and list(table.indexes) == []
    qtbot.mouseClick(condition_row.offer.cancel, Qt.MouseButton.LeftButton)
    assert not condition_row.offer.isVisible()


@pytest.mark.slow
def test_building_goes_on_when_the_form_is_closed(
    qtbot: QtBot, window: MainWindow, table: Table, table_tab: DatasetTab
) -> None:
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    table_tab.steps.close_editor()
    qtbot.waitUntil(lambda: not window.tasks.running)
    assert [index.columns for index in table.indexes] == [("note",)]


def test_what_cannot_be_built_says_why(
    qtbot: QtBot, table_tab: DatasetTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(self, *_: object, **__: object) -> None:
        raise StoreProblem("It could not be written", "the disk is full", "Make room")

    monkeypatch.setattr(Indexes, "create", create)
    condition_row = row(qtbot, table_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "the disk is full" in condition_row.offer.says.text().casefold())
    assert condition_row.offer.act.text() == "Try again"


def test_a_file_needs_a_table_first(qtbot: QtBot, window: MainWindow, file_tab: DatasetTab) -> None:
    condition_row = row(qtbot, file_tab, "note")
    choose(qtbot, condition_row, f"{LABEL}…")
    assert "tables of a store" in condition_row.offer.says.text()
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(window.findChildren(FileImportDialog)))
    window.findChildren(FileImportDialog)[0].close()


@pytest.mark.slow
def test_words_are_not_offered_elsewhere(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    condition_row = row(qtbot, table_tab, "carrier")
    qtbot.waitUntil(lambda: f"{LABEL}…" in operators(condition_row))
    choose_column(qtbot, condition_row, "delay")
    assert not any(LABEL in label for label in operators(condition_row))


def test_steps_with_words_are_kept(table: Table, table_tab: DatasetTab, settled: Settled) -> None:
    table.indexes.create("note", kind="fulltext")
    step = Where(Predicate("note", "words", ("12",)))
    table_tab.add_step(step)
    table.store.views.save("twelve", table.where(step.condition))
    assert settled().view.num_rows == table.store.views["twelve"].read().num_rows == 1


@pytest.mark.slow
def test_an_index_that_is_gone_is_offered_again(
    qtbot: QtBot, table: Table, table_tab: DatasetTab, settled: Settled
) -> None:
    table.indexes.create("note", kind="fulltext")
    table_tab.set_filter(col("note").has_words("12"))
    assert settled().view.num_rows == 1
    table.indexes.drop("note", kind="fulltext")
    table_tab.reload()
    qtbot.waitUntil(lambda: "no full-text index on note" in table_tab.messages.label.text())
    edit, again = table_tab.messages.buttons
    assert (edit.text(), again.text()) == ("Edit the filter", "Try again")
    table_tab.steps.edit_filter()
    condition_row = table_tab.steps.editor.findChildren(ConditionRow)[0]
    qtbot.waitUntil(condition_row.offer.isVisible)
    qtbot.mouseClick(condition_row.offer.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not condition_row.offer.isVisible())
    again.click()
    assert settled().view.num_rows == 1
    qtbot.waitUntil(lambda: not table_tab.messages.isVisible())


@pytest.mark.slow
def test_words_are_text_beside_the_builder_and_sql_says_why_not(
    qtbot: QtBot, table: Table, table_tab: DatasetTab, settled: Settled
) -> None:
    table.indexes.create("note", kind="fulltext")
    table_tab.set_filter(col("delay") > 5)
    settled()
    table_tab.steps.edit_filter()
    texts = table_tab.steps.editor.texts
    texts.show_page("SQL")
    qtbot.waitUntil(lambda: "delay" in texts.sql.edit.toPlainText())
    texts.show_page("Text")
    qtbot.waitUntil(lambda: "delay > 5" in texts.text.edit.toPlainText())
    texts.text.edit.setPlainText("note has words '12'")
    qtbot.waitUntil(lambda: table_tab.where == Predicate("note", "words", ("12",)))
    assert settled().view.num_rows == 1
    texts.show_page("SQL")
    qtbot.waitUntil(lambda: "Only a full-text index" in texts.sql.reason.text())
    assert texts.sql.edit.toPlainText() == ""


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(10, "1 MB"), (3_400_000, "3 MB"), (2_400_000_000, "2.4 GB")]
)
def test_sizes_are_said_in_short(num_bytes: int, text: str) -> None:
    assert rough_size(num_bytes) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.01, "1 s"), (42.4, "42 s"), (200, "3 minutes")])
def test_times_are_said_in_short(seconds: float, text: str) -> None:
    assert rough_time(seconds) == text
