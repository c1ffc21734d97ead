"""The panel beside a chart takes columns, or says why it does not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from lamella.core.query.charts import ChartSpec
from lamella.ui.charts.form import ChartForm
from lamella.ui.widgets.field_buttons import FieldButton

TYPES = {
    "day": pa.date32(),
    "delay": pa.float64(),
    "carrier": pa.string(),
    "carrier_id": pa.int64(),
    "tags": pa.list_(pa.string()),
    "place": pa.struct([("lat", pa.float64())]),
    "home": pa.struct([("lat", pa.float64()), ("town", pa.string())]),
    "home.lat": pa.float64(),
}


@pytest.fixture
def form(qtbot) -> ChartForm:
    form = ChartForm()
    qtbot.addWidget(form)
    return form


def enter(form: ChartForm, role: str, text: str) -> None:
    form.boxes[role].setText(text)
    form.boxes[role].editingFinished.emit()


@pytest.mark.parametrize(
    "before",
    [ChartSpec("line", "day"), ChartSpec("line", "day", measure="delay", aggregate="median")],
)
def test_the_distinct_values_of_a_text_along_y_are_counted(form: ChartForm, before: ChartSpec) -> None:
    form.show_spec(before, TYPES)
    assert "carrier" in form.boxes["measure"].completer().model().stringList()
    enter(form, "measure", "carrier")
    assert form.spec == ChartSpec("line", "day", measure="carrier", aggregate="distinct")
    assert form.message.text() == "'carrier' is string, so its distinct values are counted."
    enter(form, "color", "carrier")
    assert form.message.isHidden()


@pytest.mark.parametrize(
    ("spec", "role", "text", "problem"),
    [
        (
            ChartSpec("scatter", "delay", "carrier_id"), "y", "carrier",
            "Y of a scatter plot takes numbers or times, and 'carrier' is string. Choose another column, or a"
            " heat map.",
        ),
        (
            ChartSpec("area", "day"), "x", "tags",
            "X of an area chart takes single values, and 'tags' is list<item: string>. Choose another"
            " column.",
        ),
        (
            ChartSpec("line", "day"), "measure", "tags",
            "Y takes single values, and 'tags' is list<item: string>. Choose another column.",
        ),
        (
            ChartSpec("scatter", "delay", "carrier_id"), "y", "place",
            "Y of a scatter plot takes numbers or times, and 'place' is struct<lat: double>. Choose another "
            "column. A field of it can be a column: Fields as columns…, in the menu of its "
            "header.",
        ),
        (
            ChartSpec("line", "day"), "color", "home",
            "Colour takes single values, and 'home' is struct<lat: double, town: string>. Choose another "
            "column. Did you mean 'home.lat'?",
        ),
        (ChartSpec("area", "day"), "x", "", "An area chart needs a column for X."),
        (
            ChartSpec("line", "day"), "color", "carier",
            "There is no column 'carier'. Did you mean 'carrier' or 'carrier_id'?",
        ),
    ],
)  # fmt: skip
def test_a_column_that_is_not_taken_is_answered_with_the_reason(
    form: ChartForm, spec: ChartSpec, role: str, text: str, problem: str
) -> None:
    form.show_spec(spec, TYPES)
    enter(form, role, text)
    assert form.spec == spec and form.boxes[role].text() == getattr(spec, role)
    assert form.message.text() == problem and not form.message.isHidden()
    enter(form, "panels", "carrier")
    assert form.message.isHidden()


@pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
def test_a_list_of_columns_that_is_closed_without_a_choice_leaves_the_field(qtbot, form: ChartForm) -> None:
    form.show_spec(ChartSpec("line", "day"), TYPES)
    form.show()
    form.activateWindow()
    box = form.boxes["color"]
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    for close in ("key", "click"):
        box.show_all()
        popup = box.completer().popup()
        qtbot.waitUntil(popup.isVisible)
        QTest.keyClick(popup, Qt.Key.Key_Down)
        assert box.text() in TYPES  # the line of the list that the keyboard is on
        if close == "key":
            QTest.keyClick(popup, Qt.Key.Key_Escape)
        else:
            QTest.mouseClick(popup, Qt.MouseButton.LeftButton, pos=QPoint(-20, -20))
        assert popup.isHidden() and box.text() == form.spec.color == ""
    box.editingFinished.emit()
    assert form.spec == ChartSpec("line", "day")


def test_a_cross_takes_the_colour_away(qtbot, form: ChartForm) -> None:
    form.show_spec(ChartSpec("line", "day"), TYPES)
    form.show()
    box = form.boxes["color"]
    cross = next(button for button in box.findChildren(FieldButton) if button.toolTip() == "Clear")
    assert cross.isHidden()
    enter(form, "color", "carrier")
    assert form.spec.color == "carrier" and cross.isVisible()
    QTest.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert form.spec == ChartSpec("line", "day") and cross.isHidden()


def test_a_unit_of_time_is_typed_or_answered_with_the_reason(qtbot, form: ChartForm) -> None:
    form.show_spec(ChartSpec("line", "day"), TYPES)
    form.show()
    form.unit.setFocus()
    qtbot.waitUntil(form.unit.hasFocus)

    def enter_unit(text: str) -> None:
        form.unit.lineEdit().selectAll()
        QTest.keyClicks(form.unit, text)
        QTest.keyClick(form.unit, Qt.Key.Key_Return)

    enter_unit("Month")
    assert form.spec.unit == "month" and form.message.isHidden()
    enter_unit("mnth")
    assert form.spec.unit == form.unit.currentText() == "month"
    assert form.message.text() == "There is no unit of time 'mnth'. Did you mean 'month' or 'minute'?"
    enter_unit("decade")
    assert form.spec.unit == "month"
    assert form.message.text().startswith("There is no unit of time 'decade'. ")
    assert "quarter, month, week" in form.message.text()
    enter_unit("automatic")
    assert form.spec.unit == "" and form.message.isHidden()


def test_a_click_selects_the_unit_so_that_typing_replaces_it(qtbot, form: ChartForm) -> None:
    form.show_spec(ChartSpec("line", "day"), TYPES)
    form.show()
    form.boxes["x"].setFocus()
    qtbot.waitUntil(form.boxes["x"].hasFocus)
    edit = form.unit.lineEdit()
    QTest.mouseClick(edit, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: edit.selectedText() == "automatic")
    QTest.keyClicks(edit, "month")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert form.spec.unit == "month" and form.message.isHidden()


def test_the_name_of_a_text_is_not_completed_to_that_of_a_number(form: ChartForm) -> None:
    form.show_spec(ChartSpec("histogram", "delay"), TYPES)
    enter(form, "x", "carrier")
    assert form.spec.x == "delay" and "'carrier' is string" in form.message.text()
    enter(form, "x", "carrier_i")
    assert form.spec.x == "carrier_id"


@pytest.mark.parametrize("first", ["carrier", "day"])
def test_after_a_name_was_typed_the_next_one_replaces_it(qtbot, form: ChartForm, first: str) -> None:
    """Whether the first one was taken or not."""
    form.show_spec(ChartSpec("histogram", "delay"), TYPES)
    form.show()
    box = form.boxes["x"]
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    for name in (first, "carrier_id"):
        QTest.keyClicks(box, name)
        QTest.keyClick(box, Qt.Key.Key_Return)
    assert form.spec.x == "carrier_id"
