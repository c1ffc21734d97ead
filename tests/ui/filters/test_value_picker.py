"""Values chosen from those that there are: in the builder, by keys and clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from lamella import col
from lamella.core.jobs import Job
from lamella.core.query.builder import query_of
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Where
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui.filters import value_picker
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.tree import from_filter
from lamella.ui.filters.value_fields import ValueField
from lamella.ui.filters.value_picker import UNKNOWN, ValuePicker, ValueRequest, read_counts
from lamella.ui.steps.editors import StepContext
from lamella.ui.steps.where_editor import WhereEditor
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.field_buttons import FieldButton

# What a popup asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
ROWS = pa.table(
    {
        "carrier": ["AA"] * 5 + ["UA"] * 3 + ["DL"] * 2 + ["x, y", None],
        "delay": [0, 10, 20, 30, 40, 0, 10, 20, 0, 90, 5, 5],
        "far": [1.5, 1.5, float("nan"), 2.0, 2.0, 2.0, 1.5, None, 0.1, 0.1, 0.1, 0.1],
        "at": pa.array([{"city": "Oslo" if n % 3 else "Rome"} for n in range(12)]),
    }
)
SOURCE = SnapshotSource(snapshot_of_rows(ROWS, "flights"))
Key = Qt.Key


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    tasks.shutdown()


@pytest.fixture
def editor(qtbot: QtBot, tasks: Tasks) -> WhereEditor:
    editor = WhereEditor(StepContext(SOURCE.schema, tasks, SOURCE), None)
    qtbot.addWidget(editor)
    editor.resize(1000, 400)
    editor.show()
    qtbot.waitExposed(editor)
    return editor


def open_picker(qtbot: QtBot, editor: WhereEditor, number: int = 0) -> ValuePicker:
    """Open the list by Down in the value field, and wait until the values are counted."""
    row = editor.builder.findChildren(ConditionRow)[number]
    field = row.findChild(ValueField)
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Down)
    picker = editor.builder.findChildren(ValuePicker)[-1]
    qtbot.waitUntil(lambda: not picker.reading)
    return picker


def shown(picker: ValuePicker) -> list[tuple[str, int]]:
    return [(value.text, value.count) for value in picker.model.values]


def request(column: str, **more: object) -> ValueRequest:
    types = dict(zip(ROWS.schema.names, ROWS.schema.types, strict=True))
    return ValueRequest(query_of(SOURCE), column, types, **more)


def test_values_are_counted_most_frequent_first() -> None:
    counts = read_counts(request("carrier"), "", Job())
    assert [(value.text, value.count) for value in counts.values] == [
        ("AA", 5),
        ("UA", 3),
        ("DL", 2),
        ("x, y", 1),
    ]
    assert not counts.cut
    with_null = read_counts(request("carrier", with_null=True), "", Job())
    assert ("NULL", 1) in [(value.text, value.count) for value in with_null.values]
    assert [(value.text, value.count) for value in read_counts(request("at.city"), "", Job()).values] == [
        ("Oslo", 8),
        ("Rome", 4),
    ]
    assert [value.text for value in read_counts(request("carrier"), "a", Job()).values] == ["AA", "UA"]
    assert sorted(value.text for value in read_counts(request("far"), "", Job()).values) == [
        "0.1",
        "1.5",
        "2.0",
        "nan",
    ]


def test_a_column_called_like_the_count_is_counted() -> None:
    rows = pa.table({value_picker.COUNT: [7, 7, 8]})
    source = SnapshotSource(snapshot_of_rows(rows, "rows"))
    count_request = ValueRequest(query_of(source), value_picker.COUNT, {value_picker.COUNT: pa.int64()})
    assert [(value.value, value.count) for value in read_counts(count_request, "", Job()).values] == [
        (7, 2),
        (8, 1),
    ]


@pytest.mark.slow
def test_down_opens_space_ticks_and_enter_takes(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("carrier") == "AA") & (col("delay") < 30))
    picker = open_picker(qtbot, editor)
    assert shown(picker) == [("AA", 3), ("UA", 3), ("DL", 1), ("x, y", 1)]
    assert picker.search.hasFocus() and picker.values == ["AA"]
    qtbot.keyClick(picker.search, Key.Key_Down)
    with qtbot.waitSignal(editor.changed):
        qtbot.keyClick(picker.search, Key.Key_Space)
    qtbot.keyClick(picker.search, Key.Key_Down)
    qtbot.keyClick(picker.search, Key.Key_Down)
    qtbot.keyClick(picker.search, Key.Key_Space)
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.search, Key.Key_Return)
    assert editor.filter() == col("carrier").is_in(["AA", "UA", "x, y"]) & (col("delay") < 30)
    row = editor.builder.findChildren(ConditionRow)[0]
    assert row.findChildren(ValueField)[-1].text() == 'AA, UA, "x, y"'
    qtbot.waitUntil(lambda: row.isAncestorOf(editor.window().focusWidget()))


def test_enter_takes_what_was_searched_for(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.builder.add_condition()
    picker = open_picker(qtbot, editor)
    qtbot.keyClicks(picker.search, "x, ")
    assert shown(picker) == [("x, y", 1)]
    qtbot.keyClick(picker.search, Key.Key_Return)
    assert editor.filter() == (col("carrier") == "x, y")


def test_escape_leaves_the_condition_as_it_was(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    picker = open_picker(qtbot, editor)
    qtbot.keyClick(picker.search, Key.Key_Down)
    qtbot.keyClick(picker.search, Key.Key_Space)
    assert editor.filter() == col("carrier").is_in(["AA", "UA"])
    with qtbot.waitSignal(picker.closed):
        qtbot.keyClick(picker.search, Key.Key_Escape)
    assert editor.filter() == (col("carrier") == "AA")


def test_a_click_on_a_value_ticks_it_and_all_and_none_do_those_shown(
    qtbot: QtBot, editor: WhereEditor
) -> None:
    editor.show_filter(col("carrier").is_in(["AA"]))
    picker = open_picker(qtbot, editor)
    place = picker.list.visualRect(picker.model.index(1)).center()
    qtbot.mouseClick(picker.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert picker.values == ["AA", "UA"]
    buttons = {button.text(): button for button in picker.findChildren(QToolButton)}
    qtbot.mouseClick(buttons["None"], Qt.MouseButton.LeftButton)
    assert picker.values == [] and editor.filter() is None
    qtbot.keyClicks(picker.search, "A")
    qtbot.mouseClick(buttons["All"], Qt.MouseButton.LeftButton)
    assert editor.filter() == col("carrier").is_in(["AA", "UA"])
    picker.window().close()


def test_done_takes_what_is_ticked(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    picker = open_picker(qtbot, editor)
    place = picker.list.visualRect(picker.model.index(1)).center()
    qtbot.mouseClick(picker.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    with qtbot.waitSignal(picker.closed) as closed:
        qtbot.mouseClick(picker.done_button, Qt.MouseButton.LeftButton)
    assert closed.args == [["AA", "UA"], True]
    assert editor.filter() == col("carrier").is_in(["AA", "UA"])


def test_not_one_of_takes_exact_values(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("far") != 2)
    picker = open_picker(qtbot, editor)
    assert picker.values == [2]
    assert shown(picker)[0] == ("2.0", 3)  # one row, though the condition says 2
    picker.model.tick(1)
    picker.model.tick(3)
    picker.window().close()
    step = editor.step()
    assert step is not None
    left = query_of(SOURCE).then(step).read().column("far").to_pylist()
    assert left.count(2.0) == 0 and len(left) < 9
    assert isinstance(editor.step(), Where)


def test_counts_respect_the_conditions_that_are_met_together() -> None:
    a, b, c, d = (col("delay") > n for n in range(4))
    tree = from_filter(a & ((b & c) | d))
    types = {"delay": pa.int64()}
    first, group = tree.children
    inner = group.children[0]
    assert tree.beside(first, types) == [(b & c) | d]
    assert tree.beside(inner.children[0], types) == [a, c]
    assert tree.beside(group.children[1], types) == [a]
    negated = from_filter(a & ~(b & c))
    assert negated.beside(negated.children[1].children[0], types) == [a]


def test_of_very_many_values_the_most_frequent_are_shown(qtbot: QtBot, tasks: Tasks) -> None:
    texts = [f"v{n}" for n in range(1500)] + ["v9"]
    source = SnapshotSource(snapshot_of_rows(pa.table({"v": texts}), "rows"))
    picker = ValuePicker(ValueRequest(query_of(source), "v", {"v": pa.string()}), tasks, ["v998", "gone"])
    qtbot.addWidget(picker)
    picker.show()
    qtbot.waitUntil(lambda: not picker.reading)
    assert len(picker.model.values) == 1002 and shown(picker)[2] == ("v9", 2)
    assert ("gone", UNKNOWN) in shown(picker)
    assert "1,000 most frequent" in picker.findChildren(value_picker.QLabel)[0].text()
    qtbot.keyClicks(picker.search, "v149")
    qtbot.waitUntil(lambda: len(picker.model.values) == 11)


def test_closing_lets_go_of_the_counts(qtbot: QtBot, editor: WhereEditor, tasks: Tasks) -> None:
    started = []
    tasks.started.connect(started.append)
    editor.show_filter(col("carrier") == "AA")
    field = editor.builder.findChild(ValueField)
    qtbot.keyClick(field, Key.Key_Down)
    picker = editor.builder.findChildren(ValuePicker)[-1]
    assert started and not started[-1].job.cancelled
    picker.window().close()
    assert started[-1].job.cancelled


def test_values_that_cannot_be_listed_are_not_offered(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier").contains("A"))
    field = editor.builder.findChild(ValueField)
    qtbot.keyClick(field, Key.Key_Down)
    assert not editor.builder.findChildren(ValuePicker) and not field.findChildren(FieldButton)
