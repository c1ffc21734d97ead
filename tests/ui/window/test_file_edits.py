"""Files that are opened in place, edited by clicks and keys, and saved back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from lamella.core.query.expressions import col
from lamella.core.scan.snapshot import SortKey
from lamella.core.transfer import saving
from lamella.ui.editing.replace_dialog import ReplaceDialog
from lamella.ui.window.dataset_tab import DatasetTab

TRIPS = b"id;note;fare\r\n" + b"".join(b'%d;"trip %d";%d.50\r\n' % (n, n, n) for n in range(30))
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_bytes(TRIPS)
    return path


@pytest.fixture
def tab(window, trips: Path, settled):
    window.open_paths([trips])
    yield settled()
    for each in window.tabs.dataset_tabs:
        each.review.discard()  # closing asks otherwise


@pytest.fixture
def wait_for_edits(qtbot) -> Callable[[DatasetTab, int], None]:
    def wait(tab: DatasetTab, count: int) -> None:
        qtbot.waitUntil(lambda: tab.review.count == count and not tab.tasks.writing)

    return wait


@pytest.fixture
def save_edits(window, settled, qtbot):
    def save(tab: DatasetTab) -> DatasetTab:
        window.commands["save_view"].trigger()
        qtbot.waitUntil(lambda: not tab.review.is_saving and tab.review.count == 0)
        return settled()

    return save


def enter(tab: DatasetTab, text: str) -> None:
    QTest.keyClicks(tab.grid, text[:1])
    QTest.keyClicks(tab.editing.editor, text[1:])
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)


def mark(tab: DatasetTab, row: int, name: str) -> str | None:
    return tab.grid.marks[row, tab.grid.grid_model.names.index(name)].text


def test_cells_are_typed_marked_and_saved_and_other_bytes_stay(
    window, tab, trips, go_to, wait_for_edits, save_edits, cell_text, qtbot
) -> None:
    go_to(tab, 3, "fare")
    enter(tab, "7.1")
    go_to(tab, 4, "note")
    enter(tab, 'a "b"; c')
    wait_for_edits(tab, 2)
    assert mark(tab, 3, "fare") == "7.1"
    assert tab.review.strip.label.text() == "Edits of the file: 2 cells changed, not saved yet"
    assert trips.read_bytes() == TRIPS
    tab = save_edits(tab)
    expected = TRIPS.replace(b'"trip 3";3.50', b'"trip 3";7.10').replace(b'"trip 4"', b'"a ""b""; c"')
    assert trips.read_bytes() == expected
    said = "Saved in trips.csv: 2 cells changed"
    qtbot.waitUntil(lambda: tab.messages.isVisible() and tab.messages.label.text() == said)
    assert cell_text(tab, 4, "note") == 'a "b"; c' and not tab.grid.marks
    assert tab.review.strip.isHidden()


@pytest.mark.slow
def test_ctrl_s_saves_from_the_grid(tab, trips, go_to, wait_for_edits, qtbot) -> None:
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)
    qtbot.keyClick(tab.grid, Qt.Key.Key_S, CONTROL)
    qtbot.waitUntil(lambda: trips.read_bytes().startswith(b"id;note;fare\r\n77;"))
    qtbot.waitUntil(lambda: not tab.review.is_saving)


@pytest.mark.slow
def test_what_is_shown_says_whether_it_is_a_file_or_a_table(
    window, tab, table, trips, go_to, wait_for_edits, settled
) -> None:
    place = window.tabs.tabs.indexOf(tab)
    assert window.status.standing.text() == "File"
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)
    assert window.status.standing.text() == "File, 1 unsaved"
    assert window.tabs.tabs.tabText(place) == "trips.csv •"
    assert window.tabs.tabs.tabToolTip(place).endswith("1 cell changed, not saved yet")
    assert window.windowTitle() == "trips.csv (unsaved edits) · Lamella"
    assert window.commands["save_view"].text() == "Save the edits"
    window.opening.open_key((str(table.store.path), table.name))
    settled()
    assert window.status.standing.text() == "Table in My tables"
    assert window.windowTitle() == "flights · Lamella"
    assert window.tabs.tabs.tabText(place) == "trips.csv •"
    trips.chmod(0o444)
    window.tabs.show_tab(tab)
    tab.review.discard()
    tab.reload()
    settled()
    assert window.status.standing.text() == "File, read-only"
    assert "permissions" in window.status.standing.toolTip()
    assert window.tabs.tabs.tabText(place) == "trips.csv"


def type_only(tab: DatasetTab, text: str) -> None:
    QTest.keyClicks(tab.grid, text[:1])
    QTest.keyClicks(tab.editing.editor, text[1:])


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("whole", [True, False], ids=["window", "tab"])
def test_closing_asks_for_what_is_being_typed(window, tab, trips, go_to, qtbot, monkeypatch, whole) -> None:
    requests = []
    answer = QMessageBox.StandardButton.Cancel
    monkeypatch.setattr(QMessageBox, "question", lambda *words: requests.append(words[2]) or answer)
    go_to(tab, 3, "fare")
    type_only(tab, "7.1")
    window.close() if whole else window.commands["close_tab"].trigger()
    assert len(requests) == 1 and "not saved yet" in requests[0] and window.isVisible()
    assert window.tabs.dataset_tab is tab
    qtbot.waitUntil(lambda: tab.review.count == 1)


def test_what_does_not_fit_keeps_a_tab_open(window, tab, go_to) -> None:
    go_to(tab, 3, "fare")
    type_only(tab, "7x")
    window.commands["close_tab"].trigger()
    assert window.tabs.dataset_tab is tab and tab.editing.editor.new_text() == "7x"
    window.close()
    assert window.isVisible() and tab.editing.editor is not None
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Escape)


def test_saving_takes_what_is_being_typed(window, tab, trips, go_to, settled, qtbot) -> None:
    go_to(tab, 3, "fare")
    type_only(tab, "7.1")
    window.commands["save_view"].trigger()
    expected = TRIPS.replace(b'"trip 3";3.50', b'"trip 3";7.10')
    qtbot.waitUntil(lambda: trips.read_bytes() == expected and not tab.review.is_saving)
    settled()


def test_a_click_elsewhere_says_what_does_not_fit(window, tab, go_to, qtbot) -> None:
    window.activateWindow()
    go_to(tab, 3, "fare")
    type_only(tab, "7x")
    qtbot.waitUntil(tab.editing.editor.hasFocus)
    window.sidebar.tree.setFocus(Qt.FocusReason.MouseFocusReason)
    assert tab.messages.label.text().startswith("'7x' was not stored in fare: ")
    tab.messages.buttons[0].click()
    assert tab.editing.editor.new_text() == "7x"
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Escape)


def test_blocks_rows_and_fills_are_staged_and_taken_back(
    window, tab, trips, go_to, wait_for_edits, save_edits, qtbot
) -> None:
    QGuiApplication.clipboard().setText("1.25\n2.25\nx")
    go_to(tab, 0, "note")
    tab.grid.selection.extend(2, tab.grid.selection.current[1])
    window.commands["paste"].trigger()
    wait_for_edits(tab, 3)
    window.commands["undo"].trigger()
    wait_for_edits(tab, 0)
    window.commands["redo"].trigger()
    wait_for_edits(tab, 3)
    assert [mark(tab, row, "note") for row in range(3)] == ["1.25", "2.25", "x"]
    go_to(tab, 10, "fare")
    tab.grid.selection.extend(12, tab.grid.selection.current[1])
    window.commands["fill_down"].trigger()
    wait_for_edits(tab, 5)
    go_to(tab, 20, "note")
    window.commands["set_null"].trigger()
    wait_for_edits(tab, 6)
    go_to(tab, 2, "note")
    window.commands["duplicate_rows"].trigger()
    wait_for_edits(tab, 7)
    assert tab.messages.label.text() == "1 new row: shown once the edits are saved (Ctrl+S)"
    go_to(tab, 25, "note")
    window.commands["delete_rows"].trigger()
    wait_for_edits(tab, 8)
    window.commands["insert_rows"].trigger()
    wait_for_edits(tab, 9)
    assert list(tab.review.deleted_rows) == [25]
    save_edits(tab)
    lines = TRIPS.split(b"\r\n")
    lines[1:4] = [b'0;"1.25";0.50', b'1;"2.25";1.50', b'2;"x";2.50']
    lines[12:14] = [b'11;"trip 11";10.50', b'12;"trip 12";10.50']
    lines[21] = b"20;;20.50"
    del lines[26]
    lines[-1:] = [b'2;"x";2.50', b";;", b""]
    assert trips.read_bytes() == b"\r\n".join(lines)


def test_replace_finds_what_is_edited_and_not_saved(window, tab, go_to, wait_for_edits, qtbot) -> None:
    go_to(tab, 0, "note")
    enter(tab, "unique words")
    wait_for_edits(tab, 1)
    window.commands["replace"].trigger()
    dialog = window.findChildren(ReplaceDialog)[-1]
    dialog.pattern.setText("words")
    dialog.with_.setText("text")
    qtbot.waitUntil(lambda: dialog.replace.text() == "Change 1 cell")
    dialog.replace.click()
    wait_for_edits(tab, 1)
    qtbot.waitUntil(lambda: mark(tab, 0, "note") == "unique text")


@pytest.mark.slow
def test_edited_rows_stay_where_they_are_under_filters_and_sorts(
    tab, trips, go_to, wait_for_edits, save_edits, settled, cell_text
) -> None:
    tab.set_filter(col("fare") > 10)
    tab = settled()
    tab.set_sort([SortKey("fare", descending=True)])
    tab = settled()
    go_to(tab, 0, "fare")
    enter(tab, "1")
    wait_for_edits(tab, 1)
    assert mark(tab, 0, "fare") == "1" and cell_text(tab, 0, "id") == "29"
    tab.set_filter(None)
    settled()
    wait_for_edits(tab, 1)
    assert mark(tab, 0, "fare") == "1"
    save_edits(tab)
    assert b'29;"trip 29";1.00\r\n' in trips.read_bytes()


def test_a_file_that_changed_on_disk_offers_a_copy_or_to_reload(  # noqa: PLR0917 -- fixtures
    window, tab, trips, go_to, wait_for_edits, settled, qtbot, cell_text, tmp_path
) -> None:
    tab.file_watch.stop()
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)
    new_bytes = TRIPS + b'99;"new";9.50\r\n'
    trips.write_bytes(new_bytes)
    window.commands["save_view"].trigger()
    qtbot.waitUntil(lambda: "changed on disk" in tab.messages.label.text() and not tab.review.is_saving)
    assert trips.read_bytes() == new_bytes and tab.review.count == 1
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: "can no longer be saved into it" in tab.messages.label.text())
    assert tab.review.count == 1
    tab.review.save_copy(tmp_path / "copy.parquet")
    qtbot.waitUntil(lambda: "30 rows, with the edits" in tab.messages.label.text())
    assert pq.read_table(tmp_path / "copy.parquet").column("id").to_pylist()[:2] == [77, 1]
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: len(tab.messages.buttons) == 2)
    tab.messages.buttons[1].click()
    tab = settled()
    qtbot.waitUntil(lambda: tab.view.num_rows == 31)
    assert tab.review.count == 0 and cell_text(tab, 0, "id") == "0"


def test_what_the_file_cannot_hold_is_said_and_stays_unsaved(
    window, tmp_path, settled, go_to, wait_for_edits, qtbot
) -> None:
    path = tmp_path / "western.csv"
    data = "n,s\n1,größe\n2,b\n".encode("cp1252")
    path.write_bytes(data)
    window.open_paths([path])
    tab = settled()
    go_to(tab, 1, "s")
    tab.editing.begin("Ω")
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)
    wait_for_edits(tab, 1)
    window.commands["save_view"].trigger()
    qtbot.waitUntil(lambda: "has no character" in tab.messages.label.text())
    assert path.read_bytes() == data and tab.review.count == 1 and not tab.review.is_saving
    assert [button.text() for button in tab.messages.buttons] == ["Save a copy…"]
    tab.review.discard()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("answer", ["Save", "Discard", "Cancel"])
def test_closing_asks(window, tab, trips, go_to, wait_for_edits, qtbot, monkeypatch, answer) -> None:
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)
    requests: list[str] = []

    def question(parent, title, text, *buttons):
        requests.append(text)
        return QMessageBox.StandardButton[answer]

    monkeypatch.setattr(QMessageBox, "question", question)
    window.commands["close_tab"].trigger()
    assert requests == ["trips.csv: 1 cell changed, not saved yet. Save before closing?"]
    if answer == "Cancel":
        assert window.tabs.dataset_tab is tab and tab.review.count == 1
    else:
        qtbot.waitUntil(lambda: window.tabs.dataset_tab is None)
    assert trips.read_bytes().startswith(b"id;note;fare\r\n77;" if answer == "Save" else TRIPS)


def test_a_window_closes_once_the_file_is_saved(
    window, tab, trips, go_to, wait_for_edits, qtbot, monkeypatch
) -> None:
    """The rows are not read again first."""
    go_on, save = threading.Event(), saving.save_edits
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)

    def save_later(*args: Any) -> saving.SavedEdits:
        assert go_on.wait(60)
        return save(*args)

    def end_saving() -> None:
        box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox))
        try:
            go_on.set()
            qtbot.waitUntil(lambda: not box.isVisible())
        finally:
            if box.isVisible():
                box.reject()

    monkeypatch.setattr(saving, "save_edits", save_later)
    window.commands["save_view"].trigger()
    QTimer.singleShot(0, end_saving)
    assert window.close() and trips.read_bytes().startswith(b"id;note;fare\r\n77;")


@pytest.mark.slow
def test_parquet_and_json_lines_are_edited_as_well(
    window, file, tmp_path, settled, go_to, wait_for_edits, save_edits
) -> None:
    lines = tmp_path / "rows.jsonl"
    lines.write_bytes(b'{"n": 1.10, "s": "a"}\n{"n": 2.50, "s": "b"}\n')
    window.open_paths([lines])
    tab = settled()
    go_to(tab, 1, "s")
    enter(tab, "new")
    wait_for_edits(tab, 1)
    save_edits(tab)
    assert lines.read_bytes() == b'{"n": 1.10, "s": "a"}\n{"n": 2.50, "s": "new"}\n'
    window.open_paths([file])
    tab = settled()
    go_to(tab, 999, "carrier")
    enter(tab, "ZZ")
    wait_for_edits(tab, 1)
    tab = save_edits(tab)
    assert pq.read_table(file).column("carrier").to_pylist()[-2:] == [None, "ZZ"]
    assert tab.grid.selection.current[0] >= 999 - 1


def test_a_row_in_edit_is_not_taken_for_another_once_rows_before_it_are_gone(
    window, tab, trips, go_to, wait_for_edits, qtbot
) -> None:
    go_to(tab, 0, "id")
    window.commands["delete_rows"].trigger()
    wait_for_edits(tab, 1)
    go_to(tab, 5, "note")
    tab.editing.begin("typed")
    tab.review.save()
    qtbot.waitUntil(lambda: not tab.review.is_saving and "typed" in tab.messages.label.text())
    assert "was not stored" in tab.messages.label.text() and tab.editing.editor is None
    assert tab.review.count == 0 and b"typed" not in trips.read_bytes()


def test_a_file_that_became_read_only_keeps_what_was_typed_out(
    window, tab, trips, go_to, settled, qtbot
) -> None:
    go_to(tab, 5, "note")
    tab.editing.begin("typed")
    trips.chmod(0o444)
    tab.reload()
    settled()
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)
    assert "'typed' was not stored in note" in tab.messages.label.text()
    assert tab.review.count == 0


def test_a_copy_under_the_files_own_name_is_the_file(tab, trips, go_to, wait_for_edits, qtbot) -> None:
    go_to(tab, 0, "id")
    enter(tab, "77")
    wait_for_edits(tab, 1)
    tab.review.strip.copy.click()
    dialog = tab.review.dialog
    assert [Path(name).name for name in dialog.selectedFiles()] == ["trips (edited).csv"]
    dialog.reject()
    tab.review.save_copy(trips)
    qtbot.waitUntil(lambda: trips.read_bytes().startswith(b"id;note;fare\r\n77;"))
    qtbot.waitUntil(lambda: not tab.review.is_saving)


def test_the_review_names_rows_by_their_numbers(tab, go_to, wait_for_edits, qtbot) -> None:
    go_to(tab, 4, "note")
    enter(tab, "x")
    wait_for_edits(tab, 1)
    tab.review.strip.show_all.click()
    qtbot.waitUntil(lambda: tab.review.dialog is not None)
    table = tab.review.dialog.table
    assert [table.item(0, column).text() for column in range(4)] == ["5", "note", "trip 4", "x"]
    assert table.horizontalHeaderItem(0).text() == "Row"
    tab.review.dialog.reject()


@pytest.mark.slow
def test_saving_is_not_taken_for_a_change_by_somebody_else(
    tab, trips, go_to, wait_for_edits, save_edits, qtbot
) -> None:
    for text in ("71", "72"):
        go_to(tab, 0, "id")
        enter(tab, text)
        wait_for_edits(tab, 1)
        save_edits(tab)
        assert "Reload" not in [button.text() for button in tab.messages.buttons]
    assert trips.read_bytes().startswith(b"id;note;fare\r\n72;")
    assert [each.name for each in trips.parent.glob("*.part")] == []


def test_an_edit_that_is_on_its_way_is_saved_too(window, tab, trips, go_to, qtbot) -> None:
    go_to(tab, 3, "fare")
    enter(tab, "7.1")
    window.commands["save_view"].trigger()
    qtbot.waitUntil(lambda: trips.read_bytes() == TRIPS.replace(b";3.50", b";7.10"))
    qtbot.waitUntil(lambda: not tab.review.is_saving and not tab.review.is_unsaved)


def test_edits_that_are_on_their_way_are_undone_and_brought_back(
    window, tab, trips, go_to, wait_for_edits, qtbot
) -> None:
    go_to(tab, 3, "fare")
    enter(tab, "7.1")
    window.commands["undo"].trigger()
    redo = window.commands["redo"]
    qtbot.waitUntil(lambda: not tab.review.is_unsaved and redo.isEnabled())
    redo.trigger()
    wait_for_edits(tab, 1)
    assert mark(tab, 3, "fare") == "7.1"


@pytest.mark.slow
def test_lines_that_cannot_be_read_make_a_file_read_only(window, tmp_path, settled) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n")
    window.open_paths([path])
    tab = settled()
    assert tab.view.num_rows == 2
    assert tab.standing.target is None and tab.standing.wants_copy
    assert "lines that cannot be read" in tab.standing.tip
