"""Filters of one column, created at its header."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shiboken6
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLineEdit

from lamella import col
from lamella.core.datasets.formats import open_dataset
from lamella.core.query.steps import Compute
from lamella.ui.filters.value_picker import ValuePicker
from lamella.ui.window.commits import Commits
from lamella.ui.window.dataset_tab import DatasetTab

# Popups use features that the offscreen platform lacks.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
Key = Qt.Key


@pytest.fixture
def pick_values(qtbot, window):
    """The list of values of the current column, once it has counts."""

    def pick(tab) -> ValuePicker:
        window.commands["filter_values"].trigger()
        picker = tab.grid.column_header.findChildren(ValuePicker)[-1]
        qtbot.waitUntil(lambda: not picker.reading)
        return picker

    return pick


def ticks(qtbot, picker: ValuePicker, *texts: str) -> None:
    for text in texts:
        picker.model.tick(next(n for n, value in enumerate(picker.model.values) if value.text == text))
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.search, Key.Key_Return)


def test_values_chosen_at_the_header_become_a_condition(
    qtbot, window, file_tab, settled, go_to, pick_values
) -> None:
    go_to(file_tab, 0, "carrier")
    assert "filter_values" in [
        action.objectName() for action in window.commands.context_menu("column", window).actions()
    ]
    picker = pick_values(file_tab)
    assert [(value.text, value.count) for value in picker.model.values] == [
        ("(empty text)", 250),
        ("AA", 250),
        ("UA", 250),
        ("NULL", 250),
    ]
    ticks(qtbot, picker, "AA", "NULL")
    tab = settled()
    assert tab.where == col("carrier").is_null() | (col("carrier") == "AA")
    assert tab.grid.hasFocus()
    picker = pick_values(tab)
    assert picker.values == [None, "AA"]
    ticks(qtbot, picker, "NULL", "UA")
    assert settled().where == col("carrier").is_in(["AA", "UA"])
    ticks(qtbot, pick_values(tab), "AA", "UA")
    assert settled().where is None and not tab.line.steps


@pytest.mark.slow
def test_other_conditions_stay_and_are_respected(qtbot, file_tab, settled, go_to, pick_values) -> None:
    file_tab.set_filter((col("delay") < 0) & (col("carrier") == "AA") & (col("note") != "row 0"))
    tab = settled()
    go_to(tab, 0, "carrier")
    picker = pick_values(tab)
    total = sum(value.count for value in picker.model.values)
    assert picker.values == ["AA"] and total == tab.dataset.count(col("delay") < 0) - 1
    ticks(qtbot, picker, "UA")
    condition = (col("delay") < 0) & col("carrier").is_in(["AA", "UA"]) & (col("note") != "row 0")
    assert settled().where == condition


@pytest.mark.slow
def test_conditions_that_are_off_stay(qtbot, file_tab, settled, go_to, pick_values) -> None:
    file_tab.steps.edit_filter()
    editor = file_tab.steps.editor
    editor.show_filter((col("delay") < 0) & (col("note") != "row 0"))
    editor.builder.tree.children[1].on = False
    editor.builder.edited.emit()
    file_tab.steps.close_editor()
    tab = settled()
    go_to(tab, 0, "carrier")
    ticks(qtbot, pick_values(tab), "UA")
    assert settled().where == (col("delay") < 0) & (col("carrier") == "UA")
    tab.steps.edit_filter()
    assert [child.on for child in tab.steps.editor.builder.tree.children] == [True, False, True]


@pytest.mark.slow
def test_values_of_computed_columns_are_counted(qtbot, file_tab, settled, go_to, pick_values) -> None:
    file_tab.set_filter(col("delay") >= 0)
    settled()
    file_tab.add_step(Compute((("late", col("delay") % 2),)))
    tab = settled()
    go_to(tab, 0, "late")
    picker = pick_values(tab)
    assert sorted(value.text for value in picker.model.values) == ["0", "1"]
    assert sum(value.count for value in picker.model.values) == tab.dataset.count(col("delay") >= 0)
    ticks(qtbot, picker, "1")
    tab = settled()
    assert tab.where == (col("late") == 1) and tab.view.num_rows < tab.dataset.count(col("delay") >= 0)


@pytest.mark.slow
def test_escape_changes_nothing(qtbot, file_tab, go_to, pick_values) -> None:
    go_to(file_tab, 0, "carrier")
    picker = pick_values(file_tab)
    picker.model.tick(0)
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.search, Key.Key_Escape)
    assert file_tab.line.steps == ()


@pytest.fixture
def row(window, file_tab, go_to):
    """The filter row of a file, switched on by its action."""
    go_to(file_tab, 0, "carrier")
    window.commands["filter_row"].trigger()
    return file_tab.grid.filter_row


def type_above(qtbot, row, name: str, text: str) -> None:
    field = row.field_of(name)
    field.setFocus()
    field.selectAll()
    qtbot.keyClick(field, Key.Key_Backspace)
    if text:
        qtbot.keyClicks(field, text)


def test_the_row_is_off_and_has_no_fields_until_it_is_wanted(window, file_tab, go_to) -> None:
    grid, row = file_tab.grid, file_tab.grid.filter_row
    before = grid.viewport().geometry()
    assert not row.isVisible() and row.findChildren(QLineEdit) == []
    go_to(file_tab, 0, "carrier")
    window.commands["filter_row"].trigger()
    assert row.isVisible() and row.field_of("carrier").hasFocus()
    assert grid.viewport().geometry().top() == before.top() + row.height()
    assert row.geometry().bottom() + 1 == grid.viewport().geometry().top()
    assert row.y() == grid.cards.geometry().bottom() + 1
    window.commands["filter_row"].trigger()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert row.findChildren(QLineEdit) == [] and grid.viewport().geometry() == before
    assert grid.hasFocus()


def test_typing_adds_changes_and_removes_a_condition(qtbot, row, file_tab, settled) -> None:
    file_tab.set_filter(col("note") != "row 0")
    tab = settled()
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "delay", ">400")
    assert settled().where == (col("note") != "row 0") & (col("delay") > 400)
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "carrier", "a")
    assert settled().where == (
        (col("note") != "row 0") & (col("delay") > 400) & col("carrier").contains("a", ignore_case=True)
    )
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "delay", "1~9")
    assert settled().where == (
        (col("note") != "row 0") & col("delay").between(1, 9) & col("carrier").contains("a", ignore_case=True)
    )
    assert row.field_of("delay").hasFocus() and row.field_of("delay").text() == "1~9"
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "delay", "")
    assert settled().where == (col("note") != "row 0") & col("carrier").contains("a", ignore_case=True)
    tab.go_back()
    assert row.field_of("delay").text() == ">400"
    assert settled().where == (
        (col("note") != "row 0") & (col("delay") > 400) & col("carrier").contains("a", ignore_case=True)
    )


@pytest.mark.slow
def test_keys_in_one_go_are_one_visit(qtbot, row, file_tab, settled) -> None:
    for text in (">4", ">40", ">400"):
        with qtbot.waitSignal(row.typed):
            type_above(qtbot, row, "delay", text)
    assert settled().where == (col("delay") > 400)
    file_tab.go_back()
    assert settled().where is None and row.field_of("delay").text() == ""


def test_what_cannot_be_read_is_marked_and_changes_nothing(qtbot, row, file_tab, settled) -> None:
    file_tab.set_filter(col("delay") > 5)
    settled()
    field = row.field_of("delay")
    assert field.text() == ">5"
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "delay", ">soon")
    assert field.property("variant") == "filter-invalid" and "'soon' is not a number" in field.toolTip()
    assert settled().where == (col("delay") > 5)
    row.field_of("carrier").setFocus()
    assert field.text() == ">soon"
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Escape)
    assert field.text() == ">5" and field.property("variant") == "filter"
    qtbot.keyClick(field, Key.Key_Escape)
    assert file_tab.grid.hasFocus()


@pytest.mark.slow
def test_fields_show_the_conditions_that_are_there(row, file_tab, settled) -> None:
    either = (col("delay") > 5) | (col("carrier") == "AA")
    file_tab.set_filter(either & (col("carrier") == "UA") & col("note").starts_with("row"))
    settled()
    assert [row.field_of(name).text() for name in ("delay", "carrier", "note")] == ["", "=UA", ""]
    file_tab.set_filter(None)
    settled()
    assert row.field_of("carrier").text() == ""


def test_an_alternative_stays_whole_beside_what_is_typed(qtbot, row, file_tab, settled) -> None:
    either = (col("delay") > 5) | (col("carrier") == "AA")
    file_tab.set_filter(either)
    settled()
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "note", "=row 7")
    assert settled().where == either & (col("note") == "row 7")


@pytest.mark.slow
def test_no_row_is_left_but_the_fields_are(qtbot, row, settled) -> None:
    with qtbot.waitSignal(row.typed):
        type_above(qtbot, row, "note", "nowhere")
    tab = settled()
    assert tab.view.num_rows == 0 and row.isVisible() and row.field_of("note").hasFocus()


def test_fields_stand_over_their_columns(qtbot, row, file_tab) -> None:
    grid, header = file_tab.grid, file_tab.grid.column_header

    def aligned() -> bool:
        names = grid.grid_model.names
        visible = [names[n] for n in grid.columns_between(0, grid.viewport().width() - 1)]
        for name in visible:
            column, field = names.index(name), row.field_of(name).geometry()
            left = header.sectionViewportPosition(column)
            if (field.left(), field.right()) != (left + 2, left + header.sectionSize(column) - 4):
                return False
        return {name for name in names if row.field_of(name) and row.field_of(name).isVisible()} >= set(
            visible
        )

    assert aligned()
    header.resizeSection(0, 1500)
    qtbot.waitUntil(lambda: grid.horizontalScrollBar().maximum() > 120)
    assert aligned()
    grid.horizontalScrollBar().setValue(120)
    assert aligned()
    header.moveSection(0, 2)
    assert aligned()
    grid.setColumnHidden(1, True)
    grid.horizontalScrollBar().setValue(0)
    assert aligned() and (row.field_of("carrier") is None or row.field_of("carrier").isHidden())


def test_tab_leads_through_the_columns_and_down_to_the_rows(qtbot, row, file_tab, window) -> None:
    grid = file_tab.grid
    qtbot.keyClick(row.field_of("carrier"), Key.Key_Tab)
    assert row.field_of("note").hasFocus()
    qtbot.keyClick(row.field_of("note"), Key.Key_Backtab)
    qtbot.keyClick(row.field_of("carrier"), Key.Key_Backtab)
    assert row.field_of("delay").hasFocus()
    qtbot.keyClick(row.field_of("delay"), Key.Key_Down)
    assert grid.hasFocus()
    qtbot.keyClick(grid, Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert row.field_of("carrier").hasFocus()


@pytest.mark.slow
def test_of_ten_thousand_columns_those_on_screen_have_fields(qtbot, window, tmp_path, settled) -> None:
    wide = pa.table({f"c{n}": pa.array([n], pa.int16()) for n in range(10_000)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    window.open_paths([tmp_path / "wide.parquet"])
    tab = settled()
    window.commands["filter_row"].trigger()
    row, bar = tab.grid.filter_row, tab.grid.horizontalScrollBar()
    for place in (0, bar.maximum() // 2, bar.maximum()):
        bar.setValue(place)
    assert len(row.findChildren(QLineEdit)) < 40
    assert row.field_of("c9999") is not None and row.field_of("c20") is None
    settled()


def test_a_closed_tab_takes_its_list_of_values_along(qtbot, window, file_tab, go_to, pick_values) -> None:
    go_to(file_tab, 0, "carrier")
    picker = pick_values(file_tab)
    picker.model.tick(0)
    popup = picker.window()
    with qtbot.captureExceptions() as exceptions:
        window.tabs.close_at(0)
        assert not popup.isVisible()
        qtbot.waitUntil(lambda: not shiboken6.isValid(file_tab) and not shiboken6.isValid(popup))
    assert not exceptions


def test_values_of_a_tab_that_is_destroyed_are_not_taken(qtbot, tasks, file) -> None:
    tab = DatasetTab(open_dataset(file), (str(file),), tasks, Commits(tasks), file.with_suffix(".json"))
    tab.show()
    qtbot.waitUntil(lambda: tab.view is not None)
    picker = tab.column_filters.choose_values("carrier")
    qtbot.waitUntil(lambda: not picker.reading)
    picker.model.tick(0)
    closed = []
    picker.closed.connect(lambda *_: closed.append(picker))
    with qtbot.captureExceptions() as exceptions:
        shiboken6.delete(tab)
    assert not closed and not exceptions
