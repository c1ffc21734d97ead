"""Pasting, filling, clearing, adding and deleting rows: by keys, in the window, on a real store."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox, QMessageBox, QTableWidget

from lamella import agg, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Buckets
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.commit import Commit

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
NO_KEYS = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def press(window, qtbot):
    """Press a key in the grid of a tab, which has the focus."""

    def press(tab, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEYS) -> None:
        window.activateWindow()
        tab.grid.setFocus()
        qtbot.waitUntil(tab.grid.hasFocus)
        QTest.keyClick(tab.grid, key, keys)

    return press


@pytest.fixture
def paste(press, settled):
    """Paste text of another program by Ctrl+V."""

    def paste(tab, text: str) -> None:
        data = QMimeData()
        data.setText(text)
        QGuiApplication.clipboard().setMimeData(data)
        press(tab, Qt.Key.Key_V, CONTROL)
        settled()

    return paste


@pytest.fixture
def select(go_to):
    """Select a block from the first to the last row and column."""

    def select(tab, first: int, last: int, *names: str) -> None:
        go_to(tab, first, names[0])
        tab.grid.selection.extend(last, tab.grid.place(tab.grid.grid_model.names.index(names[-1])))

    return select


def values(table, ids, *names: str) -> list[tuple]:
    return [tuple(table.get(i)[name] for name in names) for i in ids]


def history(table) -> list[str]:
    """The newest first."""
    return [commit.message for commit in table.history.commits()][::-1]


# ------------------------------------------------------------------------ paste


def test_paste_puts_a_block_at_the_cursor_in_one_commit(
    window, table_tab, table, go_to, paste, settled, cell_text
) -> None:
    go_to(table_tab, 3, "delay")
    paste(table_tab, '1\tXX\t"two\nlines"\r\n2\t\t""\r\n')
    tab = settled()
    assert values(table, (3, 4), "delay", "carrier", "note") == [(1, "XX", "two\nlines"), (2, None, "")]
    assert table.version == 2 and cell_text(tab, 4, "delay") == "2"
    block = tab.grid.selection.blocks[-1]
    assert (block.num_rows, block.num_cells) == (2, 6)
    assert "paste into delay, carrier, note" in window.commands["undo"].toolTip()
    window.commands["undo"].trigger()
    assert cell_text(settled(), 3, "note") == "row 3"


@pytest.mark.slow
def test_paste_fills_a_selection_with_one_value_and_repeats_a_block(table_tab, table, select, paste) -> None:
    select(table_tab, 0, 3, "carrier", "note")
    paste(table_tab, "x")
    assert values(table, range(4), "carrier", "note") == [("x", "x")] * 4
    select(table_tab, 0, 3, "note")
    paste(table_tab, "a\nb\n")
    assert values(table, range(5), "note") == [("a",), ("b",), ("a",), ("b",), ("row 4",)]
    assert table.version == 3


@pytest.mark.slow
def test_paste_takes_no_computed_rows_for_those_of_the_table_that_come(
    table_tab, table, settled, select, paste
) -> None:
    table_tab.add_step(Buckets("delay", 5, (("n", agg.count()),)))
    select(settled(), 0, 0, "low")
    table_tab.apply(Line.of([]))
    paste(table_tab, "7")
    assert table.version == 1 and not table_tab.messages.label.text()
    assert table_tab.editable is table


@pytest.mark.slow
def test_paste_skips_hidden_columns(table_tab, table, go_to, paste) -> None:
    table_tab.grid.setColumnHidden(table_tab.grid.grid_model.names.index("carrier"), True)
    go_to(table_tab, 0, "delay")
    paste(table_tab, "5\tnew")
    assert values(table, [0], "delay", "carrier", "note") == [(5, "AA", "new")]


@pytest.fixture
def dialog(qtbot):
    """A function that returns the dialog that a paste opened."""

    def find(tab):
        qtbot.waitUntil(lambda: tab.blocks.dialog is not None)
        return tab.blocks.dialog

    return find


def test_paste_lists_what_cannot_be_read_and_changes_nothing_until_it_is_left_out(
    table_tab, table, go_to, paste, dialog, settled
) -> None:
    go_to(table_tab, 10, "delay")
    paste(table_tab, "1\na\n3\n99999999999")
    paste_dialog = dialog(table_tab)
    listed = paste_dialog.findChild(QTableWidget)
    rows = [[listed.item(r, c).text() for c in range(3)] for r in range(listed.rowCount())]
    assert rows == [["12", "delay", "a"], ["14", "delay", "99999999999"]]
    assert "is not a number" in listed.item(0, 3).text()
    assert not paste_dialog.paste.isEnabled() and table.version == 1
    QTest.keyClick(paste_dialog.required_boxes[0], Qt.Key.Key_Space)
    QTest.keyClick(paste_dialog, Qt.Key.Key_Return)
    settled()
    before = [(i * 37) % 500 - 50 for i in range(1000)]
    assert [v for (v,) in values(table, range(10, 14), "delay")] == [1, before[11], 3, before[13]]


@pytest.mark.slow
def test_esc_in_the_dialog_pastes_nothing(table_tab, table, go_to, paste, dialog, qtbot) -> None:
    go_to(table_tab, 10, "delay")
    paste(table_tab, "a")
    QTest.keyClick(dialog(table_tab), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: table_tab.blocks.dialog is None)
    assert table.version == 1


def test_rows_behind_the_end_become_new_rows_in_the_same_commit(
    table_tab, table, go_to, paste, dialog, settled, cell_text
) -> None:
    go_to(table_tab, 998, "note")
    paste(table_tab, "a\nb\nc\nd")
    paste_dialog = dialog(table_tab)
    assert paste_dialog.rows.text() == "Add 2 new rows at the end" and paste_dialog.rows.isChecked()
    QTest.keyClick(paste_dialog, Qt.Key.Key_Return)
    tab = settled()
    assert [cell_text(tab, row, "note") for row in range(998, 1002)] == list("abcd")
    assert (table.version, table.count()) == (2, 1002)
    assert values(table, [1000], "delay", "carrier") == [(None, None)]


def test_new_rows_can_be_left_out(table_tab, table, go_to, paste, dialog, settled) -> None:
    go_to(table_tab, 999, "note")
    paste(table_tab, "a\nb")
    paste_dialog = dialog(table_tab)
    paste_dialog.rows.click()
    paste_dialog.paste.click()
    settled()
    assert table.count() == 1000 and table.get(999)["note"] == "a"


def test_columns_that_have_no_place_are_left_out_expressly(
    table_tab, table, go_to, paste, dialog, settled
) -> None:
    go_to(table_tab, 0, "note")
    paste(table_tab, "a\tb\tc")
    paste_dialog = dialog(table_tab)
    assert paste_dialog.required_boxes[0].text().startswith("Leave out 2 columns")
    paste_dialog.required_boxes[0].click()
    paste_dialog.findChild(QDialogButtonBox).accepted.emit()
    settled()
    assert table.get(0)["note"] == "a"


@pytest.mark.slow
def test_cells_copied_here_are_pasted_as_they_were(
    window, table_tab, table, select, go_to, press, settled, qtbot
) -> None:
    """Null stays distinct from empty text, and the copied column names are left out."""
    table.update([{"_id": 1, "note": "two\nlines"}])
    window.commands["refresh"].trigger()
    settled()
    select(table_tab, 1, 3, "carrier", "note")
    press(table_tab, Qt.Key.Key_C, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().startswith("carrier"))
    go_to(table_tab, 100, "carrier")
    press(table_tab, Qt.Key.Key_V, CONTROL)
    settled()
    assert values(table, (100, 101, 102), "carrier", "note") == values(table, (1, 2, 3), "carrier", "note")
    assert [carrier for (carrier,) in values(table, (100, 101, 102), "carrier")] == ["UA", None, ""]


def test_a_paste_of_the_same_values_is_no_change(table_tab, table, go_to, paste, qtbot) -> None:
    go_to(table_tab, 0, "note")
    paste(table_tab, "row 0\nrow 1")
    qtbot.waitUntil(lambda: "Nothing changed" in table_tab.messages.label.text())
    assert table.version == 1 and not table_tab.messages.buttons


@pytest.mark.slow
def test_pasted_rows_stay_where_they_are_until_refresh(
    window, table_tab, table, go_to, paste, settled
) -> None:
    table_tab.set_filter(col("delay") > 400)
    tab = settled()
    tab.set_sort([SortKey("delay")])
    tab = settled()
    ids = tab.view.page(0, 4, ["_id"]).column(0).to_pylist()
    count = tab.view.num_rows
    go_to(tab, 0, "delay")
    paste(tab, "449\n-1\n448")
    tab = settled()
    assert tab.view.page(0, 4, ["_id"]).column(0).to_pylist() == ids
    assert dict(tab.grid.row_marks).keys() == {0, 1, 2}
    assert "No longer matches" in tab.grid.row_marks[1] and tab.status.startswith(f"{count - 1:,} of")
    window.commands["refresh"].trigger()
    assert settled().view.num_rows == count - 1


def test_a_block_is_not_pasted_into_several_blocks(table_tab, table, go_to, paste) -> None:
    go_to(table_tab, 0, "note")
    table_tab.grid.selection.add(5, table_tab.grid.selection.current[1])
    paste(table_tab, "a\nb")
    assert "select one block" in table_tab.messages.label.text()
    paste(table_tab, "a")
    assert values(table, (0, 1, 5), "note") == [("a",), ("row 1",), ("a",)]


def test_paste_into_a_read_only_file_offers_the_import_and_goes_on_there(
    window, locked_tab, go_to, press, settled, qtbot
) -> None:
    go_to(locked_tab, 2, "note")
    QGuiApplication.clipboard().setText("a\nb")
    press(locked_tab, Qt.Key.Key_V, CONTROL)
    assert "read-only" in locked_tab.messages.label.text()
    locked_tab.messages.buttons[0].click()
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not locked_tab and window.tabs.dataset_tab.table.version == 2,
        timeout=10_000,
    )
    new = settled()
    assert values(new.table, (2, 3), "note") == [("a",), ("b",)]


@pytest.mark.slow
def test_computed_rows_say_why_nothing_can_be_pasted(table_tab, go_to, press, settled) -> None:
    from lamella.core.query import agg
    from lamella.core.query.line import Line
    from lamella.core.query.steps import Group

    table_tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    tab = settled()
    go_to(tab, 0, "n")
    tab.blocks.paste()
    assert "computed" in tab.messages.label.text()


# --------------------------------------------------------------- fill and clear


def test_ctrl_enter_gives_what_is_typed_to_all_selected_cells(
    window, table_tab, table, select, press, settled
) -> None:
    select(table_tab, 2, 4, "carrier", "note")
    press(table_tab, Qt.Key.Key_X)
    editor = table_tab.editing.editor
    QTest.keyClick(editor, Qt.Key.Key_Return, CONTROL)
    settled()
    assert values(table, range(2, 5), "carrier", "note") == [("x", "x")] * 3
    assert history(table)[0] == "set carrier, note" and table.version == 2


def test_ctrl_enter_without_typing_fills_with_the_current_value(
    table_tab, table, select, press, settled
) -> None:
    select(table_tab, 2, 4, "note")
    press(table_tab, Qt.Key.Key_Return, CONTROL)
    settled()
    assert values(table, range(2, 5), "note") == [("row 4",)] * 3


@pytest.mark.slow
def test_ctrl_d_fills_down(table_tab, table, select, go_to, press, settled) -> None:
    select(table_tab, 1, 3, "delay", "note")
    press(table_tab, Qt.Key.Key_D, CONTROL)
    settled()
    assert values(table, range(1, 5), "delay", "note")[:3] == [(-13, "row 1")] * 3
    go_to(table_tab, 6, "note")
    press(table_tab, Qt.Key.Key_D, CONTROL)
    settled()
    assert values(table, [6], "note") == [("row 5",)]
    assert history(table)[:2] == ["fill down note", "fill down delay, carrier, note"]


def test_delete_clears_to_null_and_leaves_empty_text_apart(
    window, table_tab, table, select, go_to, press, settled, cell_text
) -> None:
    select(table_tab, 0, 3, "delay", "carrier")
    press(table_tab, Qt.Key.Key_Delete)
    tab = settled()
    assert values(table, range(4), "delay", "carrier") == [(None, None)] * 4
    assert history(table)[0] == "set delay, carrier to NULL"
    assert cell_text(tab, 7, "carrier") == "" and cell_text(tab, 0, "carrier") is None


@pytest.mark.slow
def test_delete_while_typing_is_a_key_of_the_editor(table_tab, table, go_to, press) -> None:
    go_to(table_tab, 0, "note")
    press(table_tab, Qt.Key.Key_F2)
    editor = table_tab.editing.editor
    QTest.keyClick(editor, Qt.Key.Key_Delete)
    assert editor.text() == "" and table.version == 1
    QTest.keyClick(editor, Qt.Key.Key_Escape)


@pytest.mark.slow
def test_a_million_cells_are_cleared_in_columns(window, store, settled, go_to, press, monkeypatch) -> None:
    many = store.create_table("many", {"n": pa.array(range(500_000)), "m": pa.array(range(500_000))})
    window.opening.open_key((str(store.path), many.name))
    tab = settled()
    go_to(tab, 0, "n")
    tab.grid.select_all()
    press(tab, Qt.Key.Key_Delete)
    settled()
    assert many.count(col("n").is_null() & col("m").is_null()) == 500_000 and many.version == 2
    window.commands["undo"].trigger()
    settled()
    assert many.count(col("n").is_null()) == 0


# ------------------------------------------------------------------------- rows


def test_ctrl_delete_deletes_the_selected_rows_and_undo_brings_them_back(
    window, table_tab, table, go_to, press, settled, cell_text, qtbot
) -> None:
    go_to(table_tab, 2, "note")
    table_tab.grid.selection.extend(4, table_tab.grid.selection.current[1])
    press(table_tab, Qt.Key.Key_Delete, CONTROL)
    tab = settled()
    assert cell_text(tab, 2, "note") == "row 5" and table.count() == 997
    qtbot.waitUntil(lambda: tab.messages.label.text() == "Delete: 3 rows deleted")
    tab.messages.buttons[0].click()
    assert cell_text(settled(), 2, "note") == "row 2"


def test_many_rows_are_deleted_after_a_question(window, store, settled, go_to, press, qtbot) -> None:
    many = store.create_table("many", {"n": pa.array(range(5_000))})
    window.opening.open_key((str(store.path), many.name))
    tab = settled()
    go_to(tab, 0, "n")
    tab.grid.select_all()
    press(tab, Qt.Key.Key_Delete, CONTROL)
    box = window.findChild(QMessageBox)
    assert box.text() == "Delete 5,000 rows?" and many.count() == 5_000
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert many.version == 1
    press(tab, Qt.Key.Key_Delete, CONTROL)
    qtbot.waitUntil(lambda: window.findChild(QMessageBox) not in (None, box))
    QTest.keyClick(window.findChild(QMessageBox), Qt.Key.Key_Return)
    settled()
    assert many.count() == 0


@pytest.mark.slow
def test_many_rows_are_duplicated_after_a_question(window, store, settled, go_to, press) -> None:
    many = store.create_table("many", {"n": pa.array(range(2_000))})
    window.opening.open_key((str(store.path), many.name))
    tab = settled()
    go_to(tab, 0, "n")
    tab.grid.select_all()
    press(tab, Qt.Key.Key_D, CONTROL | SHIFT)
    box = window.findChild(QMessageBox)
    assert box.text() == "Duplicate 2,000 rows?" and many.version == 1
    QTest.keyClick(box, Qt.Key.Key_Return)
    settled()
    assert many.count() == 4_000


def test_rows_are_inserted_at_the_end_and_selected(
    table_tab, table, select, press, settled, cell_text
) -> None:
    select(table_tab, 2, 3, "note")
    press(table_tab, Qt.Key.Key_Insert, CONTROL | SHIFT)
    tab = settled()
    assert table.count() == 1002 and values(table, (1000, 1001), "delay", "note") == [(None, None)] * 2
    assert tab.grid.selection.blocks[-1].top == 1000 and tab.grid.current_name == "note"
    press(tab, Qt.Key.Key_N)
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)
    settled()
    assert table.get(1000)["note"] == "n"


@pytest.mark.slow
def test_rows_are_inserted_into_an_empty_table(window, store, settled, press) -> None:
    empty = store.create_table("empty", pa.table({"n": pa.array([], pa.int64())}))
    window.opening.open_key((str(store.path), empty.name))
    press(settled(), Qt.Key.Key_Insert, CONTROL | SHIFT)
    settled()
    assert empty.read().to_pylist() == [{"_id": 0, "n": None}]


@pytest.mark.slow
def test_rows_are_duplicated_with_columns_that_are_not_shown(
    window, table_tab, table, select, press, settled, cell_text
) -> None:
    table_tab.set_filter(col("delay") > 400)
    tab = settled()
    first = tab.view.page(0, 2, ["delay", "carrier", "note"]).to_pylist()
    last = tab.view.num_rows
    select(tab, 0, 1, "note")
    press(tab, Qt.Key.Key_D, CONTROL | SHIFT)
    tab = settled()
    assert tab.view.page(last, 2, ["delay", "carrier", "note"]).to_pylist() == first
    assert tab.grid.selection.blocks[-1].top == last and history(table)[0] == "duplicate"


@pytest.mark.slow
def test_deletions_and_new_rows_leave_the_others_where_they_are(
    window, table_tab, table, select, go_to, paste, press, settled
) -> None:
    table_tab.set_sort([SortKey("delay", descending=True)])
    tab = settled()
    go_to(tab, 5, "delay")
    paste(tab, "0")
    before = tab.view.page(0, 10, ["_id"]).column(0).to_pylist()
    select(tab, 2, 3, "note")
    press(tab, Qt.Key.Key_Delete, CONTROL)
    tab = settled()
    assert tab.view.page(0, 8, ["_id"]).column(0).to_pylist() == before[:2] + before[4:]
    assert list(tab.grid.row_marks) == [3]  # the row that was the target of the paste
    press(tab, Qt.Key.Key_Insert, CONTROL | SHIFT)
    tab = settled()
    assert tab.view.page(0, 8, ["_id"]).column(0).to_pylist() == before[:2] + before[4:]
    assert tab.view.num_rows == 1000 and list(tab.grid.row_marks) == [3, 998, 999]


def test_the_menu_of_row_numbers_has_the_rows_that_are_selected(window, table_tab, go_to) -> None:
    menus = window._menu_of("row")
    assert [a.objectName() for a in menus.actions()] == ["insert_rows", "duplicate_rows", "delete_rows"]
    menus.deleteLater()
    table_tab.grid.select_rows(2, extend=False)
    table_tab.grid.select_rows(4, extend=True)
    opened = []
    table_tab.grid.row_menu_requested.disconnect()
    table_tab.grid.row_menu_requested.connect(opened.append)
    table_tab.grid.row_header.menu_requested.emit(3, table_tab.mapToGlobal(table_tab.rect().center()))
    assert table_tab.grid.selection.blocks[-1].num_rows == 3
    table_tab.grid.row_header.menu_requested.emit(7, table_tab.mapToGlobal(table_tab.rect().center()))
    assert table_tab.grid.selection.blocks[-1].top == 7 and len(opened) == 2


@pytest.mark.slow
def test_other_tabs_follow_a_change_whose_tab_was_closed(
    window, table_tab, table, go_to, settled, qtbot
) -> None:
    may_write = threading.Event()
    window.tasks.write(lambda job: may_write.wait(30))
    go_to(table_tab, 3, "note")
    window.commands["set_null"].trigger()
    committed: list[Commit] = []
    window.commits.committed.connect(lambda _, commit: committed.append(commit))
    window.tabs.close_at(0)
    may_write.set()
    qtbot.waitUntil(lambda: bool(committed))
    assert table.get(3)["note"] is None
