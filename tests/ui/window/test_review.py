"""Review edits: marked, counted, listed before and after, saved as one commit or discarded."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from lamella import col
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme


@pytest.fixture
def review_tab(window, table_tab, settled):
    window.commands["review_edits"].trigger()
    assert table_tab.review.on and table_tab.review.strip.isVisible()
    yield table_tab
    for tab in window.tabs.dataset_tabs:
        tab.review.discard()  # closing asks otherwise


@pytest.fixture
def wait_for_edits(qtbot):
    """Wait until this many edits are collected and shown."""

    def wait(tab, count: int) -> None:
        qtbot.waitUntil(lambda: tab.review.count == count, timeout=10_000)

    return wait


def enter(tab, text: str) -> None:
    QTest.keyClicks(tab.grid, text[0])
    QTest.keyClicks(tab.editing.editor, text[1:])
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)


def mark(tab, row: int, name: str) -> str | None:
    return tab.grid.marks[row, tab.grid.grid_model.names.index(name)].text


def test_edits_are_marked_and_counted_and_saved_as_one_commit(
    window, review_tab, table, go_to, settled, wait_for_edits, cell_text
) -> None:
    tab = review_tab
    go_to(tab, 3, "delay")
    enter(tab, "777")
    enter(tab, "778")
    wait_for_edits(tab, 2)
    go_to(tab, 6, "note")
    tab.grid.selection.extend(8, tab.grid.selection.current[1])
    window.commands["set_null"].trigger()
    wait_for_edits(tab, 5)
    tab.grid.select_rows(10, extend=False)
    window.commands["delete_rows"].trigger()
    wait_for_edits(tab, 6)
    assert list(tab.grid.row_marks) == [10] and "deleted" in tab.grid.row_marks[10]
    assert tab.grid.row_header.sign_of(10) == ("−", "danger")
    assert table.version == 1 and mark(tab, 4, "delay") == "778" and mark(tab, 7, "note") is None
    assert tab.review.strip.label.text() == "Review edits: 5 cells changed, 1 row deleted, not saved yet"
    assert tab.review.strip.save.text() == "Save 6"
    tab.review.strip.save.click()
    wait_for_edits(tab, 0)
    settled()
    assert table.version == 2 and table.count() == 999
    assert [table.get(i)["delay"] for i in (3, 4)] == [777, 778] and table.get(7)["note"] is None
    assert not tab.grid.marks and cell_text(tab, 3, "delay") == "777"


@pytest.mark.slow
def test_a_value_typed_back_is_clean_and_undo_takes_edits_back(
    window, review_tab, table, go_to, settled, wait_for_edits
) -> None:
    go_to(review_tab, 3, "note")
    enter(review_tab, "x")
    wait_for_edits(review_tab, 1)
    go_to(review_tab, 3, "note")
    QTest.keyClick(review_tab.grid, Qt.Key.Key_F2)
    assert review_tab.editing.editor.text() == "x"
    QTest.keyClicks(review_tab.editing.editor, "row 3")
    QTest.keyClick(review_tab.editing.editor, Qt.Key.Key_Return)
    wait_for_edits(review_tab, 0)
    window.tasks.running or review_tab.review.undo()
    wait_for_edits(review_tab, 1)
    assert "unsaved" in window.commands["undo"].text()
    window.commands["undo"].trigger()
    wait_for_edits(review_tab, 0)
    assert table.version == 1 and not review_tab.review.undo()


@pytest.mark.slow
def test_marks_follow_their_rows_and_discard_takes_them_away(
    review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 0, "note")
    enter(review_tab, "x")
    wait_for_edits(review_tab, 1)
    review_tab.set_sort([SortKey("delay", descending=True)])
    tab = settled()
    row = tab.view.page(0, 1000, ["_id"]).column(0).to_pylist().index(0)
    qtbot.waitUntil(lambda: [place[0] for place in tab.grid.marks] == [row])
    tab.review.strip.discard.click()
    wait_for_edits(tab, 0)
    assert not tab.grid.marks and table.version == 1


@pytest.mark.slow
def test_the_difference_lists_before_and_after(
    review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 5, "note")
    enter(review_tab, "new")
    wait_for_edits(review_tab, 1)
    review_tab.review.strip.show_all.click()
    qtbot.waitUntil(lambda: review_tab.review.dialog is not None)
    dialog = review_tab.review.dialog
    assert [dialog.table.item(0, c).text() for c in range(4)] == ["5", "note", "row 5", "new"]
    assert dialog.table.rowHeight(0) == theme.current().line_height() + theme.S, "it grows with the text"
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    wait_for_edits(review_tab, 0)
    settled()
    assert table.get(5)["note"] == "new"


def test_a_conflict_shows_mine_and_theirs_row_by_row(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    for row, text in ((1, "mine 1"), (2, "mine 2"), (3, "mine 3")):
        go_to(review_tab, row, "note")
        enter(review_tab, text)
    wait_for_edits(review_tab, 3)
    table.update([{"_id": 1, "note": "theirs 1"}, {"_id": 2, "note": "theirs 2"}, {"_id": 3, "delay": 5}])
    window.commands["save_view"].trigger()
    qtbot.waitUntil(lambda: review_tab.review.dialog is not None)
    dialog = review_tab.review.dialog
    rows = [[dialog.table.item(r, c).text() for c in range(5)] for r in range(dialog.table.rowCount())]
    assert rows == [
        ["1", "note", "row 1", "theirs 1", "mine 1"],
        ["2", "note", "row 2", "theirs 2", "mine 2"],
    ]
    assert table.version == 2
    dialog.take_mine(1)
    dialog.accept()
    wait_for_edits(review_tab, 0)
    settled()
    assert [table.get(i)["note"] for i in (1, 2, 3)] == ["theirs 1", "mine 2", "mine 3"]
    assert table.get(3)["delay"] == 5 and table.version == 3


def test_closing_asks_before_edits_are_dropped(window, review_tab, table, go_to, wait_for_edits) -> None:
    go_to(review_tab, 0, "note")
    enter(review_tab, "x")
    wait_for_edits(review_tab, 1)
    requests: list[str] = []

    def answer(button: QMessageBox.StandardButton) -> None:
        box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible())
        requests.append(box.text())
        box.button(button).click()

    QTimer.singleShot(0, lambda: answer(QMessageBox.StandardButton.Cancel))
    assert not window.close() and window.isVisible()
    QTimer.singleShot(0, lambda: answer(QMessageBox.StandardButton.Discard))
    window.commands["close_tab"].trigger()
    assert not window.tabs.dataset_tabs and table.version == 1
    assert all("1 cell changed, not saved yet" in text for text in requests) and len(requests) == 2


def test_the_question_on_closing_counts_edits_that_are_on_their_way(
    window, review_tab, go_to, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 0, "delay")
    go_on = threading.Event()
    window.tasks.write(lambda job: go_on.wait(60), quiet=True)  # edits are collected after it
    dialog = review_tab.blocks.replace()
    dialog.pattern.setText("row 99")
    qtbot.waitUntil(dialog.replace.isEnabled, timeout=10_000)
    dialog.replace.click()
    qtbot.waitUntil(lambda: review_tab.review.is_unsaved)
    assert review_tab.review.summary == "11 cells being changed"
    window.commands["select_all"].trigger()
    window.commands["delete_rows"].trigger()
    assert review_tab.review.summary == "11 cells being changed, 1,000 rows being deleted"
    go_on.set()
    wait_for_edits(review_tab, 1000)
    assert review_tab.review.summary == "1,000 rows deleted"


@pytest.mark.slow
def test_replacing_and_new_rows_are_collected_too(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 0, "note")
    dialog = review_tab.blocks.replace()
    dialog.pattern.setText("row 99")
    qtbot.waitUntil(dialog.replace.isEnabled, timeout=10_000)
    dialog.replace.click()
    wait_for_edits(review_tab, 11)
    window.commands["insert_rows"].trigger()
    wait_for_edits(review_tab, 12)
    assert table.version == 1
    review_tab.review.save()
    wait_for_edits(review_tab, 0)
    settled()
    assert table.version == 2 and table.count() == 1001 and table.get(990)["note"] == "0"


@pytest.mark.slow
def test_filling_takes_what_is_edited_and_not_saved(
    window, review_tab, table, go_to, settled, wait_for_edits
) -> None:
    go_to(review_tab, 3, "note")
    enter(review_tab, "x")
    wait_for_edits(review_tab, 1)
    go_to(review_tab, 3, "note")
    review_tab.grid.selection.extend(5, review_tab.grid.selection.current[1])
    window.commands["fill_down"].trigger()
    wait_for_edits(review_tab, 3)
    assert [mark(review_tab, row, "note") for row in (3, 4, 5)] == ["x"] * 3
    go_to(review_tab, 7, "note")
    review_tab.grid.selection.extend(5, review_tab.grid.selection.current[1])
    window.commands["fill_cells"].trigger()
    wait_for_edits(review_tab, 5)
    assert [mark(review_tab, row, "note") for row in (6, 7)] == ["x"] * 2 and table.version == 1


@pytest.mark.slow
def test_saving_waits_for_edits_that_are_on_their_way(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 3, "note")
    enter(review_tab, "first")
    wait_for_edits(review_tab, 1)
    enter(review_tab, "second")
    window.commands["save_view"].trigger()
    qtbot.waitUntil(lambda: not review_tab.review.is_unsaved, timeout=10_000)
    assert [table.get(i)["note"] for i in (3, 4)] == ["first", "second"] and table.version == 2


def test_an_edit_made_while_others_are_saved_is_kept(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 3, "note")
    enter(review_tab, "first")
    wait_for_edits(review_tab, 1)
    window.commands["save_view"].trigger()
    go_to(review_tab, 3, "note")
    enter(review_tab, "second")
    window.commands["undo"].trigger()  # neither the one that is saved, nor a commit
    enter(review_tab, "third")
    qtbot.waitUntil(lambda: table.version == 2, timeout=10_000)
    settled()
    qtbot.waitUntil(lambda: review_tab.review.count == 2, timeout=10_000)
    assert table.get(3)["note"] == "first"
    assert mark(review_tab, 3, "note") == "second" and mark(review_tab, 4, "note") == "third"
    review_tab.review.save()
    qtbot.waitUntil(lambda: not review_tab.review.is_unsaved, timeout=10_000)
    assert [table.get(i)["note"] for i in (3, 4)] == ["second", "third"]
    assert review_tab.review.dialog is None


@pytest.mark.slow
def test_undo_takes_back_an_edit_that_is_on_its_way(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    table.update([{"_id": 9, "note": "committed"}])
    window.commands["refresh"].trigger()
    settled()
    go_to(review_tab, 3, "note")
    enter(review_tab, "x")
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: not review_tab.review.undoable, timeout=10_000)
    settled()
    assert review_tab.review.count == 0 and table.version == 2


def test_edits_are_saved_where_no_row_is_shown(
    window, review_tab, table, go_to, settled, wait_for_edits, qtbot
) -> None:
    go_to(review_tab, 3, "note")
    enter(review_tab, "x")
    wait_for_edits(review_tab, 1)
    review_tab.set_filter(col("delay") > 10_000)
    tab = settled()
    qtbot.waitUntil(lambda: not tab.grid.marks)
    assert tab.review.strip.label.text() == "Review edits: 1 cell changed, not saved yet"
    tab.review.save()
    wait_for_edits(tab, 0)
    assert table.get(3)["note"] == "x" and not tab.messages.label.text().startswith("Something")


@pytest.mark.slow
def test_of_very_many_edits_those_on_screen_are_marked(
    window, review_tab, table, go_to, settled, wait_for_edits
) -> None:
    go_to(review_tab, 0, "delay")
    window.commands["select_column"].trigger()
    window.commands["set_null"].trigger()
    wait_for_edits(review_tab, 1000)
    grid = review_tab.grid
    marked = grid.grab().toImage()
    assert mark(review_tab, 999, "delay") is None and len(grid.marks) == 1000
    assert all(cell in grid.marks for cell in grid.marks)
    review_tab.review.discard()
    assert not grid.marks and grid.grab().toImage() != marked
