"""Edits belong to a row, even if it moves before they are committed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella import Store, col
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import ErrorDialog


@pytest.fixture
def table(store: Store) -> Table:
    """Sorted by delay, row i has `_id` i."""
    return store.create_table(
        "flights", {"delay": list(range(1000)), "note": [f"row {i}" for i in range(1000)]}
    )


@pytest.fixture
def sorted_tab(table_tab, settled):
    table_tab.set_sort([SortKey("delay")])
    return settled()


@pytest.fixture
def hold_writes(window) -> Iterator[Callable[[], None]]:
    """Changes requested in the test wait until this is called."""
    go_on = threading.Event()
    window.tasks.write(lambda job: go_on.wait(60))
    yield go_on.set
    go_on.set()


def type_into(tab, text: str) -> None:
    QTest.keyClicks(tab.grid, text[0])
    QTest.keyClicks(tab.editing.editor, text[1:])


def finish(tab) -> None:
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)


def row_shown(tab) -> int:
    return tab.grid.selection.current[0]


def test_an_open_editor_stays_with_its_row_when_rows_move(sorted_tab, table, go_to, settled, qtbot) -> None:
    go_to(sorted_tab, 1, "note")
    type_into(sorted_tab, "EDITED")
    table.update([{"_id": 0, "delay": 5000}])
    sorted_tab.reload()
    qtbot.waitUntil(lambda: row_shown(sorted_tab) == 0)
    editor = sorted_tab.editing.editor
    assert editor.text() == "EDITED"
    assert editor.geometry().center().y() < sorted_tab.grid.row_height
    finish(sorted_tab)
    settled()
    assert table.read(["_id", "note"], where=col("note") == "EDITED").to_pylist() == [
        {"_id": 1, "note": "EDITED"}
    ]


def test_a_value_typed_before_the_rows_moved_reaches_its_row_when_finished_at_once(
    sorted_tab, table, go_to, settled
) -> None:
    go_to(sorted_tab, 1, "note")
    type_into(sorted_tab, "EDITED")
    table.update([{"_id": 0, "delay": 5000}])
    with_reload = sorted_tab.loader.loaded
    with_reload.connect(lambda _: sorted_tab.editing.editor and finish(sorted_tab))
    sorted_tab.reload()
    settled()
    assert table.get(1)["note"] == "EDITED" and table.get(2)["note"] == "row 2"


@pytest.mark.slow
def test_the_editor_goes_along_to_the_far_end_of_the_view(sorted_tab, table, go_to, settled, qtbot) -> None:
    go_to(sorted_tab, 3, "note")
    type_into(sorted_tab, "mine")
    table.update([{"_id": 3, "delay": 9000}])
    sorted_tab.reload()
    qtbot.waitUntil(lambda: row_shown(sorted_tab) == 999)
    finish(sorted_tab)
    settled()
    assert table.get(3) == {"_id": 3, "delay": 9000, "note": "mine"}


def test_what_was_typed_into_a_row_that_went_away_is_told(sorted_tab, table, go_to, settled, qtbot) -> None:
    go_to(sorted_tab, 3, "note")
    type_into(sorted_tab, "mine")
    table.delete(ids=[3])
    sorted_tab.reload()
    qtbot.waitUntil(lambda: sorted_tab.editing.editor is None)
    assert "mine" in sorted_tab.messages.label.text()
    settled()
    assert table.count(col("note") == "mine") == 0


@pytest.mark.slow
def test_a_filtered_view_is_followed_too(table_tab, table, go_to, settled, qtbot) -> None:
    table_tab.set_filter(col("delay") >= 500)
    tab = settled()
    go_to(tab, 10, "note")
    type_into(tab, "mine")
    table.delete(ids=[500, 501, 20])
    tab.reload()
    qtbot.waitUntil(lambda: row_shown(tab) == 8)
    finish(tab)
    settled()
    assert table.get(510)["note"] == "mine"


@pytest.mark.slow
def test_marks_follow_their_row(sorted_tab, table, go_to, settled, hold_writes, qtbot) -> None:
    go_to(sorted_tab, 4, "note")
    type_into(sorted_tab, "waiting")
    finish(sorted_tab)
    note = sorted_tab.grid.grid_model.names.index("note")
    assert list(sorted_tab.grid.marks) == [(4, note)]
    table.delete(ids=[0, 1])
    sorted_tab.reload()
    qtbot.waitUntil(lambda: list(sorted_tab.grid.marks) == [(2, note)])
    assert sorted_tab.grid.marks[2, note].text == "waiting"
    hold_writes()
    settled()
    assert table.get(4)["note"] == "waiting" and not sorted_tab.grid.marks


def test_stop_takes_a_waiting_edit_off_the_screen_and_says_so(
    window, table_tab, table, go_to, settled, hold_writes, qtbot, cell_text
) -> None:
    go_to(table_tab, 7, "note")
    type_into(table_tab, "never stored")
    finish(table_tab)
    assert table_tab.grid.marks
    window.commands["stop"].trigger()
    hold_writes()
    qtbot.waitUntil(lambda: "never stored" in table_tab.messages.label.text())
    assert not table_tab.grid.marks
    tab = settled()
    assert cell_text(tab, 7, "note") == "row 7" and table.version == 1
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: table.version == 2)
    assert cell_text(settled(), 7, "note") == "never stored"


def test_an_edit_that_fails_after_its_tab_was_closed_is_told_by_the_window(
    window, table_tab, table, go_to, hold_writes, qtbot
) -> None:
    go_to(table_tab, 7, "note")
    type_into(table_tab, "too late")
    finish(table_tab)
    table.delete(ids=[7])
    window.commands["close_tab"].trigger()
    qtbot.waitUntil(lambda: not shiboken6.isValid(table_tab))
    hold_writes()
    qtbot.waitUntil(lambda: window.findChildren(ErrorDialog) != [])
    window.findChildren(ErrorDialog)[0].close()
