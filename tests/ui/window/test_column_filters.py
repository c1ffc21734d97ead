"""Filters of one column, made at its header."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from lamella import col
from lamella.ui.filters.value_picker import ValuePicker

# What a popup asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
Key = Qt.Key


@pytest.fixture
def picked(qtbot, window):
    """The list of values of the current column, once they are counted."""

    def pick(tab) -> ValuePicker:
        window.commands["filter_values"].trigger()
        picker = tab.grid.column_header.findChildren(ValuePicker)[-1]
        qtbot.waitUntil(lambda: not picker.reading)
        return picker

    return pick


def ticks(qtbot, picker: ValuePicker, *texts: str) -> None:
    for text in texts:
        picker.model.tick(next(n for n, one in enumerate(picker.model.values) if one.text == text))
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.find, Key.Key_Return)


def test_values_chosen_at_the_header_become_a_condition(
    qtbot, window, file_tab, settled, go_to, picked
) -> None:
    go_to(file_tab, 0, "carrier")
    assert "filter_values" in [
        one.objectName() for one in window.commands.context_menu("column", window).actions()
    ]
    picker = picked(file_tab)
    assert [(one.text, one.count) for one in picker.model.values] == [
        ("(empty text)", 250),
        ("AA", 250),
        ("UA", 250),
        ("NULL", 250),
    ]
    ticks(qtbot, picker, "AA", "NULL")
    tab = settled()
    assert tab.where == col("carrier").is_null() | (col("carrier") == "AA")
    assert tab.grid.hasFocus()
    picker = picked(tab)
    assert picker.values == [None, "AA"]
    ticks(qtbot, picker, "NULL", "UA")
    assert settled().where == col("carrier").is_in(["AA", "UA"])
    ticks(qtbot, picked(tab), "AA", "UA")
    assert settled().where is None and not tab.line.steps


def test_other_conditions_stay_and_are_respected(qtbot, file_tab, settled, go_to, picked) -> None:
    file_tab.set_filter((col("delay") < 0) & (col("carrier") == "AA") & (col("note") != "row 0"))
    tab = settled()
    go_to(tab, 0, "carrier")
    picker = picked(tab)
    total = sum(one.count for one in picker.model.values)
    assert picker.values == ["AA"] and total == tab.dataset.count(col("delay") < 0) - 1
    ticks(qtbot, picker, "UA")
    asked = (col("delay") < 0) & col("carrier").is_in(["AA", "UA"]) & (col("note") != "row 0")
    assert settled().where == asked


def test_conditions_that_are_off_stay(qtbot, file_tab, settled, go_to, picked) -> None:
    file_tab.steps.edit_filter()
    editor = file_tab.steps.editor
    editor.show_filter((col("delay") < 0) & (col("note") != "row 0"))
    editor.builder.tree.children[1].on = False
    editor.builder.edited.emit()
    file_tab.steps.close_editor()
    tab = settled()
    go_to(tab, 0, "carrier")
    ticks(qtbot, picked(tab), "UA")
    assert settled().where == (col("delay") < 0) & (col("carrier") == "UA")
    tab.steps.edit_filter()
    assert [one.on for one in tab.steps.editor.builder.tree.children] == [True, False, True]


def test_escape_changes_nothing(qtbot, file_tab, go_to, picked) -> None:
    go_to(file_tab, 0, "carrier")
    picker = picked(file_tab)
    picker.model.tick(0)
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.find, Key.Key_Escape)
    assert file_tab.line.steps == ()
