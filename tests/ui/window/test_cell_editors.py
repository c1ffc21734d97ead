"""A cell is edited in a field of its type, with the keyboard alone."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCalendarWidget, QLabel

from lamella.core.store.table import Table
from lamella.ui.editing.cell_editor import CellArea, CellCheck, CellEditor

Key, SHIFT, ALT = Qt.Key, Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier
CONTROL = Qt.KeyboardModifier.ControlModifier
SIZE = pa.struct({"h": pa.int64(), "tags": pa.list_(pa.string())})


@pytest.fixture
def table(store) -> Table:
    rows = {
        "late": [True, False, None, None],
        "day": pa.array([dt.date(2013, 1, 31), None, None, None]),
        "at": pa.array([dt.datetime(2013, 1, 31, 17, 30), None, None, None]),
        "carrier": ["UA", "AA", None, "US"],
        "note": ["one\ntwo", "short", "x" * 200, None],
        "size": pa.array([{"h": 1, "tags": ["a"]}, None, None, None], SIZE),
        "n": pa.array([1, 2, 3, 4], pa.int8()),
    }
    return store.create_table("flights", pa.table(rows))


@pytest.fixture
def edit(table_tab, go_to, qtbot):
    """Press F2 on a cell, and return the field that opens."""

    def edit(row: int, name: str):
        go_to(table_tab, row, name)
        QTest.keyClick(table_tab.grid, Key.Key_F2)
        qtbot.waitUntil(lambda: table_tab.editing.editor is not None)
        return table_tab.editing.editor

    return edit


def test_space_switches_a_truth_in_the_grid(table_tab, table, go_to, settled, cell_text) -> None:
    for row, expected in ((0, False), (1, True), (2, True)):
        go_to(table_tab, row, "late")
        QTest.keyClick(table_tab.grid, Key.Key_Space)
        settled()
        assert table.get(row)["late"] is expected
    assert table_tab.editing.editor is None
    QTest.keyClick(table_tab.grid, Key.Key_Space)
    QTest.keyClick(table_tab.grid, Key.Key_Space)
    settled()
    assert cell_text(table_tab, 2, "late") == "true"


@pytest.mark.slow
def test_a_truth_is_edited_as_a_check_box(table_tab, table, edit, settled) -> None:
    box = edit(2, "late")
    assert isinstance(box, CellCheck) and box.text() == "null"
    QTest.keyClick(box, Key.Key_Space)
    QTest.keyClick(box, Key.Key_Space)
    assert box.text() == "false"
    QTest.keyClick(box, Key.Key_Return)
    settled()
    assert table.get(2)["late"] is False and table_tab.grid.selection.current[0] == 3
    box = edit(0, "late")
    QTest.keyClick(box, Key.Key_Space)
    QTest.keyClick(box, Key.Key_Escape)
    assert table.get(0)["late"] is True and table.version == 2


def test_a_truth_is_set_to_null_in_its_check_box(table, edit, settled) -> None:
    QTest.keyClick(edit(0, "late"), Key.Key_Backspace, CONTROL)
    settled()
    assert table.get(0)["late"] is None


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("name", "value"), [("day", dt.date(2013, 2, 1)), ("at", dt.datetime(2013, 2, 1, 17, 30))]
)
def test_a_day_is_chosen_in_a_calendar_and_the_time_stays(table, edit, settled, name, value) -> None:
    editor = edit(0, name)
    QTest.keyClick(editor, Key.Key_Down, ALT)
    calendar = editor.calendar.findChild(QCalendarWidget)
    assert calendar.selectedDate().toPython() == dt.date(2013, 1, 31)
    view = calendar.focusProxy() or calendar
    QTest.keyClick(view, Key.Key_Right)
    QTest.keyClick(view, Key.Key_Return)
    assert editor.text().startswith("2013-02-01") and editor.calendar is None
    QTest.keyClick(editor, Key.Key_Return)
    settled()
    assert table.get(0)[name] == value


def test_esc_closes_the_calendar_and_then_the_field(table_tab, table, edit, qtbot) -> None:
    editor = edit(0, "day")
    QTest.keyClick(editor, Key.Key_Down, ALT)
    popover = editor.calendar
    QTest.keyClick(popover, Key.Key_Escape)
    assert table_tab.editing.editor is editor and editor.text() == "2013-01-31"
    QTest.keyClick(editor, Key.Key_Escape)
    assert table_tab.editing.editor is None and table.version == 1


@pytest.mark.slow
def test_few_values_are_offered_while_typing(table_tab, table, edit, go_to, settled, qtbot) -> None:
    editor = edit(2, "carrier")
    qtbot.waitUntil(lambda: editor.completer() is not None)
    QTest.keyClick(editor, Key.Key_U)
    popup = editor.completer().popup()
    qtbot.waitUntil(popup.isVisible)
    offered = [popup.model().index(row, 0).data() for row in range(popup.model().rowCount())]
    assert offered == ["UA", "US"]
    QTest.keyClick(popup, Key.Key_Down)
    QTest.keyClick(popup, Key.Key_Return)
    settled()
    assert table.get(2)["carrier"] == "UA"


@pytest.mark.slow
def test_many_values_are_not_offered(window, store, settled, go_to, qtbot) -> None:
    many = store.create_table("many", {"name": [f"name {i}" for i in range(200)]})
    window.opening.open_key((str(store.path), many.name))
    tab = settled()
    go_to(tab, 0, "name")
    QTest.keyClick(tab.grid, Key.Key_F2)
    qtbot.waitUntil(lambda: "name" in tab.editing._offers)
    assert tab.editing._offers["name"] == []
    QTest.keyClick(tab.editing.editor, Key.Key_Escape)


@pytest.mark.slow
@pytest.mark.parametrize("row", [0, 2])
def test_long_text_is_edited_in_an_area(table_tab, table, edit, settled, row) -> None:
    area = edit(row, "note")
    assert isinstance(area, CellArea) and area.height() > 3 * table_tab.grid.row_height
    QTest.keyClick(area, Key.Key_Return)
    assert table_tab.editing.editor is None and table.version == 1
    area = edit(row, "note")
    QTest.keyClick(area, Key.Key_End, CONTROL)
    QTest.keyClick(area, Key.Key_Return, SHIFT)
    QTest.keyClicks(area, "three")
    QTest.keyClick(area, Key.Key_Return)
    settled()
    assert table.get(row)["note"] == ("one\ntwo" if row == 0 else "x" * 200) + "\nthree"


def test_shift_enter_opens_the_area_with_a_new_line(table_tab, table, edit, settled) -> None:
    line = edit(1, "note")
    assert isinstance(line, CellEditor)
    QTest.keyClick(line, Key.Key_End)
    QTest.keyClick(line, Key.Key_Return, SHIFT)
    area = table_tab.editing.editor
    assert isinstance(area, CellArea) and area.toPlainText() == "short\n"
    QTest.keyClicks(area, "more")
    QTest.keyClick(area, Key.Key_Tab)
    settled()
    assert table.get(1)["note"] == "short\nmore" and table_tab.grid.current_name == "size"


@pytest.mark.slow
def test_f2_again_opens_the_area_and_esc_leaves_the_value(table_tab, table, edit) -> None:
    QTest.keyClick(edit(1, "note"), Key.Key_F2)
    area = table_tab.editing.editor
    assert isinstance(area, CellArea) and area.toPlainText() == "short"
    QTest.keyClicks(area, "x")
    QTest.keyClick(area, Key.Key_Escape)
    assert table_tab.editing.editor is None and table.version == 1


def test_a_struct_is_edited_as_json_that_is_checked(table_tab, table, edit, settled) -> None:
    area = edit(0, "size")
    assert isinstance(area, CellArea) and area.toPlainText().count("\n") > 3
    QTest.keyClick(area, Key.Key_A, CONTROL)
    QTest.keyClicks(area, '{"h": 2, "tags": [')
    reason = table_tab.grid.viewport().findChild(QLabel)
    assert reason.isVisible() and "line 1 column" in reason.text()
    QTest.keyClick(area, Key.Key_Return)
    assert table_tab.editing.editor is area
    QTest.keyClicks(area, '"b"]}')
    assert not reason.isVisible()
    QTest.keyClick(area, Key.Key_Return)
    settled()
    assert table.get(0)["size"] == {"h": 2, "tags": ["b"]}


@pytest.mark.slow
def test_the_reason_stands_beside_the_cell_while_typing(table_tab, table, edit) -> None:
    editor = edit(0, "n")
    QTest.keyClicks(editor, "500")
    reason = table_tab.grid.viewport().findChild(QLabel)
    assert reason.isVisible() and "-128 to 127" in reason.text()
    assert reason.geometry().top() >= editor.geometry().bottom()
    QTest.keyClick(editor, Key.Key_Backspace)
    assert not reason.isVisible()
    QTest.keyClick(editor, Key.Key_Escape)
    assert table.version == 1
