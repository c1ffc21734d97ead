"""Searches by words in a table, and in everything that is open: ranked results, and clicks on them."""

from __future__ import annotations

import threading
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella import col
from lamella.core.query.cell_search import CellSearch, TextPattern
from lamella.ui.find.result_list import AFTER, BEFORE
from lamella.ui.indexes.form import NewIndex
from lamella.ui.indexes.manager import IndexesDialog

BOOKS = {
    "title": ["The Running Fox", "Red apples", "Café society", "Green pears"],
    "body": ["A fox runs over dogs", "An apple is red, 1Z999", "Coffee & tea, and foxes", None],
    "n": [1, 2, 3, 1999],
}


@pytest.fixture
def books(store):
    return store.create_table("books", pa.table(BOOKS))


@pytest.fixture
def books_tab(window, books, settled):
    window.opening.open_key((str(books.store.path), "books"))
    return settled()


@pytest.fixture
def words(window, qtbot, settled):
    """Search the tab in front by words, opened by keys and a click."""

    def words(text: str):
        tab = settled()
        QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        if not tab.finding.bar.finds_words:
            QTest.mouseClick(tab.finding.bar.word_mode, Qt.MouseButton.LeftButton)
        tab.finding.bar.field.selectAll()
        QTest.keyClicks(tab.finding.bar.field, text)
        qtbot.waitUntil(lambda: not tab.finding.running)
        settled()
        return tab.finding.words.list.results.results

    return words


def cursor(tab) -> tuple[int, str]:
    current = tab.grid.selection.current
    return (-1, "") if current is None else (current[0], tab.grid.current_name)


def test_a_text_found_everywhere_closes_the_list_of_words(books_tab, words):
    words("fox")
    assert books_tab.finding.words.isVisible()
    books_tab.finding.look_for(TextPattern("Red"))
    assert not books_tab.finding.bar.finds_words and not books_tab.finding.words.isVisible()


def test_words_are_ranked_with_snippets_and_a_click_goes_to_the_row(
    window, books, books_tab, words, qtbot
) -> None:
    books.indexes.create(["title", "body"], kind="fulltext", weights={"title": 3})
    results = words("foxes")
    assert [result.row_id for result in results] == [0, 2]
    assert f"{BEFORE}Fox{AFTER}" in results[0].snippet and f"{BEFORE}fox{AFTER}" in results[0].snippet
    assert results[0].place == "1. title, body" and "score" in results[0].detail
    assert books_tab.finding.bar.news.text() == "2 rows"
    qtbot.waitUntil(lambda: cursor(books_tab)[0] == 0)
    result_list = books_tab.finding.words.list
    place = result_list.visualRect(result_list.results.index(1)).center()
    QTest.mouseClick(result_list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: cursor(books_tab) == (2, "body"))
    QTest.keyClick(window, Qt.Key.Key_F3)
    qtbot.waitUntil(lambda: cursor(books_tab)[0] == 0)
    assert words("fox and (") == [] and "cannot be read" in books_tab.finding.bar.news.text()
    assert words("zebra") == [] and "No row" in books_tab.finding.words.offer.text()


@pytest.mark.slow
def test_words_follow_the_filter_and_changes_of_the_table(books, books_tab, words, settled, qtbot) -> None:
    books.indexes.create("body", kind="fulltext")
    assert len(words("fox")) == 2
    books_tab.set_filter(col("n") > 2)
    settled()
    results = books_tab.finding.words.list.results
    qtbot.waitUntil(lambda: [result.row_id for result in results.results] == [2])
    books.insert([{"title": "x", "body": "another fox", "n": 9}])
    books_tab.reload()
    qtbot.waitUntil(lambda: {result.row_id for result in results.results} == {2, 4})


@pytest.mark.slow
def test_without_an_index_words_offer_to_build_one(window, books, books_tab, words, qtbot) -> None:
    assert words("fox") == []
    panel = books_tab.finding.words
    assert "none yet" in panel.offer.text() and panel.act.text() == "New index…"
    QTest.mouseClick(panel.act, Qt.MouseButton.LeftButton)
    dialog = window.findChild(IndexesDialog)
    assert dialog.form.isVisible() and dialog.form.texts.names == ["title"]
    dialog.form.texts.choose(["title", "body"])
    QTest.mouseClick(dialog.form.build, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(panel.list.results.results) == 2, timeout=10_000)
    dialog.close()


def test_an_index_that_is_built_behind_the_closed_dialog_shows_its_progress_and_its_end(
    window, books_tab, qtbot, slow_build
) -> None:
    begun, may_go_on = slow_build
    dialog = books_tab.finding.show_indexes()
    dialog.build(NewIndex("sorted", ("n",)))
    qtbot.waitUntil(begun.is_set)
    dialog.close()
    qtbot.waitUntil(window.status.stop.isVisible)
    again = books_tab.finding.show_indexes()
    assert again is dialog and again.cancel.isVisible() and not again.new.isEnabled()
    again.close()
    may_go_on.set()
    qtbot.waitUntil(lambda: books_tab.messages.label.text() == "Built the sorted index of n")
    books_tab.set_filter(col("n") == 2)
    qtbot.waitUntil(lambda: not books_tab.loader.running)
    assert books_tab.status.endswith("sorted index on n")


def test_an_index_that_fails_behind_the_closed_dialog_says_so(
    window, books, books_tab, qtbot, slow_build
) -> None:
    begun, may_go_on = slow_build
    dialog = books_tab.finding.show_indexes()
    dialog.build(NewIndex("sorted", ("n",)))
    qtbot.waitUntil(begun.is_set)
    dialog.close()
    books.columns.drop("n")
    with patch.object(window, "show_error"), qtbot.waitSignal(window.tasks.failed) as failed:
        may_go_on.set()
    assert "has no column 'n'" in str(failed.args[0])


@pytest.mark.slow
def test_files_and_computed_rows_say_why_they_have_no_words(window, file_tab, words) -> None:
    assert words("fox") == []
    assert "tables of a store" in file_tab.finding.words.offer.text()
    assert file_tab.finding.words.act.text() == "Import…"


@pytest.fixture
def everywhere(window, qtbot):
    """Find a text in everything that is open, by the key of the search."""

    def everywhere(text: str) -> list[tuple[str, str]]:
        QTest.keyClick(
            window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
        search = window.searches.current
        search.field.selectAll()
        QTest.keyClicks(search.field, text)
        qtbot.waitUntil(lambda: not search.running, timeout=10_000)
        return [(result.place, result.text) for result in search.list.results.results]

    return everywhere


def test_a_text_is_found_in_all_tables_and_open_files(
    window, books, table, file_tab, everywhere, settled, qtbot
) -> None:
    actual = everywhere("1z999")
    assert [place for place, _ in actual] == ["books · My tables", "body · row 2"]
    assert window.searches.tab.news.text() == "1 found in 3 tables and files"
    actual = everywhere("999")
    assert [place.partition(" ·")[0] for place, _ in actual] == [
        "flights.parquet", "note", "books", "body", "n", "flights", "note",
    ]  # fmt: skip
    search = window.searches.tab
    search.list.setCurrentIndex(search.list.results.index(4))
    QTest.keyClick(search.list, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.name == "books")
    tab = settled()
    qtbot.waitUntil(lambda: cursor(tab) == (3, "n"))
    qtbot.waitUntil(lambda: tab.finding.bar.news.text() == "2 of 2")


def test_a_hit_is_shown_in_place_of_the_chart_of_its_tab(window, file_tab, everywhere, settled, qtbot):
    window.commands["chart"].trigger()
    assert file_tab.charting.is_shown
    everywhere("row 777")
    window.searches.tab.list.step(1)
    qtbot.waitUntil(lambda: window.tabs.current is file_tab)
    settled()
    qtbot.waitUntil(lambda: cursor(file_tab) == (777, "note"))
    assert not file_tab.charting.is_shown and file_tab.grid.isVisible()


@pytest.mark.slow
def test_steps_that_hide_the_row_are_taken_off(window, file_tab, everywhere, settled, qtbot) -> None:
    file_tab.set_filter(col("delay") > 0)
    settled()
    everywhere("row 777")
    window.searches.tab.list.step(1)
    qtbot.waitUntil(lambda: window.tabs.current is file_tab and not file_tab.line.active)
    settled()
    qtbot.waitUntil(lambda: cursor(file_tab) == (777, "note"))
    assert "steps were removed" in file_tab.messages.label.text()


@pytest.mark.slow
def test_a_file_whose_tab_was_not_looked_at_yet_is_searched(window, file_tab, everywhere, settled) -> None:
    item = window.workspace.item_of(file_tab)
    window.tabs.close_at(window.tabs.tabs.indexOf(file_tab))
    window.workspace.add_pending(item)
    assert not window.tabs.dataset_tabs
    assert len(everywhere("row 777")) == 2
    window.searches.tab.list.step(1)
    assert settled().key == file_tab.key


def test_a_row_of_a_sorted_table_is_found_where_it_stands(
    window, books_tab, everywhere, settled, qtbot
) -> None:
    books_tab.set_filter(col("n") > 1)
    settled()
    everywhere("Green")
    window.searches.tab.list.step(1)
    qtbot.waitUntil(lambda: window.tabs.current is books_tab and books_tab.grid.selection.current is not None)
    qtbot.waitUntil(lambda: cursor(books_tab) == (2, "title"))
    assert books_tab.where is not None


@pytest.mark.slow
def test_words_are_found_by_an_index_where_there_is_one(
    window, books, table, everywhere, settled, qtbot
) -> None:
    books.indexes.create(["title", "body"], kind="fulltext")
    window.commands["find_everywhere"].trigger()
    window.searches.tab.words.click()
    actual = everywhere("running")
    assert actual[0][1] == "books · My tables, 1 · full-text index" and "The Running Fox" in actual[1][1]
    assert everywhere("row 99")[0][1].endswith("11 · all rows")


@pytest.mark.slow
def test_a_bad_pattern_and_a_dropped_table_are_told(window, books, table, everywhere, qtbot) -> None:
    everywhere("fox")
    search = window.searches.tab
    search.regex.click()
    assert everywhere("(fox") == [] and "Unclosed bracket (" in search.news.text()
    look = CellSearch.run

    def drop_the_other(search, job):
        if search.hits.num_rows == len(BOOKS["n"]):
            books.store.drop_table("flights")
        return look(search, job)

    with patch.object(CellSearch, "run", drop_the_other):
        actual = everywhere("fox|row 5$")
    assert actual[0][0] == "books · My tables" and "flights was dropped" in actual[-1][0]


@pytest.mark.slow
def test_a_search_everywhere_is_stopped(window, books, table, everywhere, qtbot) -> None:
    look, begun = CellSearch.run, threading.Event()

    def look_for_long(search, job):
        if "title" in search.hits.columns or search.hits.num_rows == 4:
            return look(search, job)
        stopped = threading.Event()
        begun.set()
        with job.interrupted_by(stopped.set):
            stopped.wait()
        job.check()
        return search.hits

    window.commands["find_everywhere"].trigger()
    search = window.searches.tab
    with patch.object(CellSearch, "run", look_for_long):
        QTest.keyClicks(search.field, "fox")
        qtbot.waitUntil(begun.is_set)
        qtbot.waitUntil(search.stop.isVisible)
        QTest.mouseClick(search.stop, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: not search.running)
    assert search.news.text() == "Stopped: 3 found in 1 of 2 tables and files"
    assert not search.stop.isVisible()


@pytest.mark.slow
def test_a_medium_that_vanishes_leaves_the_other_tables(
    window, books, file_tab, file, everywhere, qtbot
) -> None:
    file.unlink()
    pq.write_table(pa.table({"other": [1]}), file)
    actual = everywhere("fox")
    assert any("books" in place for place, _ in actual)
    assert "flights.parquet" in actual[0][0]
