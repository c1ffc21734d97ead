"""Find and replace: counted and shown before, one commit, and the rows stay where they are."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTableWidget

from lamella import col
from lamella.ui.editing.replace_dialog import ReplaceDialog, from_change


@pytest.fixture
def replace(window, qtbot):
    """The dialog, opened by its key."""

    def replace(tab) -> ReplaceDialog:
        window.commands["replace"].trigger()
        return window.findChildren(ReplaceDialog)[-1]

    return replace


@pytest.fixture
def ready(qtbot):
    """Wait until the dialog shows what would change."""

    def ready(dialog) -> ReplaceDialog:
        qtbot.waitUntil(lambda: "Counting" not in dialog.news.text(), timeout=10_000)
        return dialog

    return ready


def preview(dialog) -> list[list[str]]:
    table = dialog.findChild(QTableWidget)
    return [[table.item(r, c).text() for c in range(4)] for r in range(table.rowCount())]


def test_replace_shows_what_changes_and_makes_one_commit(
    window, table_tab, table, go_to, replace, ready, settled
) -> None:
    go_to(table_tab, 0, "note")
    dialog = replace(table_tab)
    assert dialog.columns.currentText() == "note" and not dialog.replace.isEnabled()
    QTest.keyClicks(dialog.pattern, "row 99")
    QTest.keyClicks(dialog.with_, "line ")
    ready(dialog)
    assert preview(dialog)[:2] == [["100", "note", "row 99", "line "], ["991", "note", "row 990", "line 0"]]
    assert dialog.news.text() == "11 cells in 11 rows will change."
    assert dialog.replace.text() == "Change 11 cells"
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    settled()
    assert table.get(99)["note"] == "line " and table.get(995)["note"] == "line 5"
    assert table.version == 2 and "replace in note" in window.commands["undo"].toolTip()
    window.commands["undo"].trigger()
    settled()
    assert table.count(col("note").starts_with("line")) == 0


def test_the_preview_has_a_menu_that_copies_its_lines(table_tab, go_to, replace, ready) -> None:
    go_to(table_tab, 0, "note")
    dialog = replace(table_tab)
    QTest.keyClicks(dialog.pattern, "row 99")
    table = ready(dialog).findChild(QTableWidget)
    table.setCurrentCell(1, 2)
    place = table.visualItemRect(table.item(1, 2)).center()
    QApplication.sendEvent(table, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, place))
    menu = table.findChild(QMenu)
    next(action for action in menu.actions() if action.text() == "Copy the line").trigger()
    assert QApplication.clipboard().text() == "991\tnote\trow 990\t0"
    menu.close()


def test_after_replacing_the_keyboard_is_in_the_rows(
    window, table_tab, go_to, replace, ready, settled
) -> None:
    go_to(table_tab, 0, "note")
    window.commands["find"].trigger()
    assert table_tab.finding.bar.field.hasFocus()
    dialog = replace(table_tab)
    dialog.pattern.setText("row 99")
    ready(dialog).replace.click()
    tab = settled()
    assert window.focusWidget() is tab.grid, "so that Ctrl+Z undoes the change, and no typing"


def test_a_change_far_into_a_text_is_in_sight():
    long = "broken glass, called twice, " * 9
    before, after = from_change(f"{long}late", f"{long}early")
    assert before.endswith(" called twice, late")
    assert after.endswith(" called twice, early") and before[0] == after[0] == "…"
    assert from_change("a late row", "a row") == ("a late row", "a row")


@pytest.mark.slow
def test_a_regular_expression_has_groups_and_its_faults_are_told(
    table_tab, table, go_to, replace, ready, settled
) -> None:
    go_to(table_tab, 0, "note")
    dialog = replace(table_tab)
    dialog.regex.click()
    QTest.keyClicks(dialog.pattern, "(?P<the replacement>x)")
    assert dialog.pattern.property("variant") == "invalid" and dialog.with_.property("variant") != "invalid"
    dialog.pattern.clear()
    QTest.keyClicks(dialog.pattern, r"ROW (\d)(\d*")
    assert "unclosed bracket (" in dialog.news.text() and dialog.pattern.property("variant") == "invalid"
    QTest.keyClicks(dialog.pattern, ")")
    for text, words in ((r"\3", "names group \\3, but the pattern has 2 groups"), ("\\", "stands alone")):
        dialog.with_.clear()
        QTest.keyClicks(dialog.with_, text)
        assert words in dialog.news.text() and dialog.with_.property("variant") == "invalid"
        assert dialog.pattern.property("variant") != "invalid"
    dialog.with_.clear()
    QTest.keyClicks(dialog.with_, r"\2-\1")
    assert "no match" in ready(dialog).news.text() and not dialog.replace.isEnabled()
    dialog.case.click()
    assert ready(dialog).replace.text() == "Change 1,000 cells"
    dialog.replace.click()
    settled()
    assert [table.get(i)["note"] for i in (7, 42, 123)] == ["-7", "2-4", "23-1"]


@pytest.mark.slow
def test_the_selection_the_filter_or_all_rows_are_looked_through(
    table_tab, table, go_to, replace, ready, settled
) -> None:
    table_tab.set_filter(col("delay") > 300)
    tab = settled()
    num_rows, ids = tab.view.num_rows, tab.view.page(0, 3, ["_id"]).column(0).to_pylist()
    go_to(tab, 0, "note")
    tab.grid.selection.extend(2, tab.grid.selection.current[1])
    dialog = replace(tab)
    texts = [button.text() for button in dialog.rows.buttons()]
    assert texts == ["The 3 selected rows", f"The {num_rows:,} rows that are shown", "All 1,000 rows"]
    dialog.pattern.setText("row")
    for place, count in ((2, "1,000"), (1, f"{num_rows:,}"), (0, "3")):
        dialog.rows.button(place).click()
        assert ready(dialog).replace.text() == f"Change {count} cells"
    dialog.replace.click()
    settled()
    assert table.count(~col("note").starts_with("row")) == 3
    assert all(table.get(i)["note"] == f" {i}" for i in ids)


@pytest.mark.slow
def test_whole_cells_of_all_text_columns(table_tab, table, go_to, replace, ready, settled) -> None:
    table.update([{"_id": 3, "note": "UA"}, {"_id": 4, "note": "UA 7"}])
    table_tab.reopening.refresh()
    tab = settled()
    go_to(tab, 0, "delay")
    dialog = replace(tab)
    assert dialog.columns.currentText() == "All 2 text columns"
    dialog.whole.click()
    dialog.pattern.setText("UA")
    dialog.with_.setText("United")
    assert ready(dialog).replace.text() == "Change 251 cells"
    dialog.replace.click()
    settled()
    assert table.count(col("carrier") == "United") == 250
    assert [table.get(i)["note"] for i in (3, 4)] == ["United", "UA 7"]


@pytest.mark.parametrize(
    ("searched", "expected"),
    [
        (("a", "b", "n"), ("The 2 searched text columns", 4)),
        (("a", "n"), ("a", 2)),
        (("a", "b", "c", "n"), ("All 3 text columns", 6)),
        (None, ("All 3 text columns", 6)),
    ],
)
def test_only_the_searched_columns_are_replaced(
    window, store, go_to, replace, ready, settled, searched, expected
) -> None:
    words = ["tea", "tea"]
    store.create_table("words", {"a": words, "b": words, "c": words, "n": [1, 2]})
    window.opening.open_key((str(store.path), "words"))
    tab = settled()
    go_to(tab, 0, "c")
    window.commands["find"].trigger()
    tab.finding.bar.columns.choose(searched)
    QTest.keyClicks(tab.finding.bar.field, "tea")
    go_to(tab, 0, "c")
    dialog, (label, cells) = replace(tab), expected
    assert dialog.columns.currentText() == label
    QTest.keyClicks(dialog.with_, "coffee")
    assert ready(dialog).replace.text() == f"Change {cells} cells"
    dialog.reject()


@pytest.mark.slow
def test_rows_stay_where_they_are_after_a_replacement(
    window, table_tab, table, go_to, replace, ready, settled
) -> None:
    table_tab.set_filter(col("note").starts_with("row 12"))
    tab = settled()
    count = tab.view.num_rows
    go_to(tab, 0, "note")
    dialog = replace(tab)
    dialog.pattern.setText("row 120")
    dialog.with_.setText("x")
    ready(dialog).replace.click()
    tab = settled()
    assert tab.view.num_rows == count and len(tab.grid.row_marks) == 1
    window.commands["refresh"].trigger()
    assert settled().view.num_rows == count - 1


def test_somebody_elses_commit_refuses_what_was_counted_before(
    table_tab, table, go_to, replace, ready, settled, qtbot
) -> None:
    go_to(table_tab, 0, "note")
    dialog = replace(table_tab)
    dialog.pattern.setText("row 1")
    ready(dialog)
    table.update([{"_id": 1, "note": "mine"}])
    dialog.replace.click()
    qtbot.waitUntil(lambda: "reopen this dialog to count again" in dialog.news.text())
    assert table.version == 2 and table.get(10)["note"] == "row 10"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


@pytest.mark.slow
def test_a_read_only_file_offers_the_import_and_opens_the_dialog_there(
    window, locked_tab, settled, qtbot
) -> None:
    window.commands["replace"].trigger()
    assert "read-only" in locked_tab.messages.label.text()
    locked_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: bool(window.findChildren(ReplaceDialog)), timeout=10_000)
    window.findChildren(ReplaceDialog)[-1].reject()
