"""An edited row stays where it is until the tab is refreshed, so that users do not lose their place."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella import Store, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui.window import loader


@pytest.fixture
def table(store: Store) -> Table:
    """Row i has `_id` and `delay` i."""
    return store.create_table(
        "flights", {"delay": list(range(1000)), "note": [f"row {i}" for i in range(1000)]}
    )


@pytest.fixture
def filtered_tab(table_tab, settled):
    table_tab.set_filter(col("delay") < 10)
    return settled()


def enter(tab, text: str) -> None:
    """Type into the current cell, and press Enter."""
    QTest.keyClicks(tab.grid, text[0])
    QTest.keyClicks(tab.editing.editor, text[1:])
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)


def delays(tab) -> list[int]:
    return tab.view.page(0, tab.view.num_rows, ["delay"]).column(0).to_pylist()


def test_enter_under_a_filter_leads_to_the_next_record(filtered_tab, table, go_to, settled) -> None:
    go_to(filtered_tab, 2, "delay")
    for value in ("5002", "5003", "5004"):
        enter(filtered_tab, value)
        settled()
    assert [table.get(i)["delay"] for i in range(6)] == [0, 1, 5002, 5003, 5004, 5]
    assert delays(filtered_tab) == [0, 1, 5002, 5003, 5004, 5, 6, 7, 8, 9]


@pytest.mark.slow
def test_enter_under_a_sort_leads_to_the_next_record(table_tab, table, go_to, settled) -> None:
    table_tab.set_sort([SortKey("delay", descending=True)])
    tab = settled()
    go_to(tab, 0, "delay")
    for value in ("1", "2", "3"):
        enter(tab, value)
        settled()
    assert delays(tab)[:4] == [1, 2, 3, 996]
    assert set(tab.grid.row_marks) == {0, 1, 2}


def test_rows_that_no_longer_match_are_marked_until_refresh(window, filtered_tab, go_to, settled) -> None:
    go_to(filtered_tab, 2, "delay")
    enter(filtered_tab, "5002")
    settled()
    go_to(filtered_tab, 4, "delay")
    enter(filtered_tab, "6")
    tab = settled()
    assert list(tab.grid.row_marks) == [2]
    assert "No longer matches" in tab.grid.row_marks[2]
    assert tab.status.startswith("9 of 1,000 rows")
    window.commands["refresh"].trigger()
    tab = settled()
    assert delays(tab) == [0, 1, 3, 6, 5, 6, 7, 8, 9] and not tab.grid.row_marks


@pytest.mark.slow
def test_an_undo_takes_the_mark_away(window, filtered_tab, go_to, settled, qtbot) -> None:
    go_to(filtered_tab, 2, "delay")
    enter(filtered_tab, "5002")
    settled()
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: not filtered_tab.grid.row_marks)
    assert delays(settled()) == list(range(10))


@pytest.mark.slow
def test_cells_set_to_null_keep_their_rows_too(window, filtered_tab, go_to, settled) -> None:
    go_to(filtered_tab, 2, "delay")
    QTest.keyClick(filtered_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    window.commands["set_null"].trigger()
    tab = settled()
    assert delays(tab)[:5] == [0, 1, None, None, 4] and set(tab.grid.row_marks) == {2, 3}


@pytest.mark.slow
def test_a_change_by_somebody_else_brings_the_rows_that_match_now(
    window, filtered_tab, table, go_to, settled
) -> None:
    go_to(filtered_tab, 2, "delay")
    table.delete(ids=[0])
    enter(filtered_tab, "5002")
    tab = settled()
    assert delays(tab) == [1, 3, 4, 5, 6, 7, 8, 9] and not tab.grid.row_marks


@pytest.mark.slow
def test_another_filter_brings_the_rows_that_match_it(filtered_tab, go_to, settled) -> None:
    go_to(filtered_tab, 2, "delay")
    enter(filtered_tab, "5002")
    settled()
    filtered_tab.set_filter(col("delay") < 5)
    tab = settled()
    assert delays(tab) == [0, 1, 3, 4] and not tab.grid.row_marks


def test_a_change_that_is_stored_once_other_rows_are_shown_says_nothing_of_them(
    window, table_tab, table, go_to, settled, qtbot, monkeypatch
) -> None:
    may_write, may_look, look = threading.Event(), threading.Event(), loader.row_of
    monkeypatch.setattr(loader, "row_of", lambda *arguments: may_look.wait(30) and look(*arguments))
    window.tasks.write(lambda job: may_write.wait(30))
    go_to(table_tab, 900, "delay")
    enter(table_tab, "55")
    table_tab.set_filter(col("delay") < 10)
    qtbot.waitUntil(lambda: table_tab.view.num_rows == 10)
    may_write.set()
    qtbot.waitUntil(lambda: table.version == 2)
    may_look.set()
    settled()
    assert delays(table_tab) == list(range(10)) and not table_tab.grid.row_marks
    assert table_tab.messages.label.text() == "Set delay: 1 row changed" and table.get(900)["delay"] == 55


def test_rows_beside_a_computed_column_are_read_anew_after_a_commit(table_tab, table, settled) -> None:
    table_tab.apply(Line.of([Compute((("twice", col("delay") * 2),))]))
    settled()
    commit = table.edit([pa.table({"_id": [3], "delay": [5003]})])
    table_tab.loader.keep(table_tab.content, commit, [(range(3, 4), ("delay",))])
    table_tab.apply(Line())
    settled()
    assert delays(table_tab)[:5] == [0, 1, 2, 5003, 4] and not table_tab.grid.row_marks
