"""The builder on its own, by keys and clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QScrollArea, QToolButton

from lamella import col
from lamella.ui import theme
from lamella.ui.filters.builder import FilterBuilder
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.tree import from_json, to_json
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.widgets.field_buttons import FieldButton

# What a completer's popup asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
SCHEMA = pa.schema(
    {
        "_id": pa.int64(),
        "year": pa.int16(),
        "dep_delay": pa.int16(),
        "arr_delay": pa.int16(),
        "carrier": pa.string(),
        "address": pa.struct({"street": pa.string(), "no": pa.int32()}),
    }
)


@pytest.fixture
def builder(qtbot) -> Iterator[FilterBuilder]:
    widget = FilterBuilder()
    qtbot.addWidget(widget)
    widget.set_schema(SCHEMA)
    widget.resize(760, 400)
    widget.show()
    widget.activateWindow()
    qtbot.waitExposed(widget)
    yield widget
    theme.current().set_text_scale(1.0)


def column_of(builder: FilterBuilder) -> ColumnBox:
    builder.add_condition()
    return builder.findChildren(ColumnBox)[-1]


def press(qtbot, box: ColumnBox, key: Qt.Key) -> None:
    """Press a key where a user's key goes: in the list while it is open."""
    popup = box.completer().popup()
    qtbot.keyClick(popup if popup.isVisible() else box, key)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("typed", "column"),
    [("carr", "carrier"), ("CARRIER", "carrier"), ("dep", "dep_delay"), ("street", "address.street")],
)
@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Tab])
def test_enter_and_tab_take_the_only_column_that_matches(qtbot, builder, typed, column, key) -> None:
    box = column_of(builder)
    box.clear()
    qtbot.keyClicks(box, typed)
    press(qtbot, box, key)
    assert box.text() == next(builder.tree.conditions()).column == column


def test_enter_leaves_a_text_that_several_columns_match(qtbot, builder) -> None:
    box = column_of(builder)
    box.clear()
    qtbot.keyClicks(box, "delay")
    press(qtbot, box, Qt.Key.Key_Return)
    assert box.text() == "delay" and builder.filter() is None


def test_a_field_inside_a_column_is_asked_by_its_path(qtbot, builder) -> None:
    box = column_of(builder)
    box.clear()
    qtbot.keyClicks(box, "address.street")
    press(qtbot, box, Qt.Key.Key_Return)
    value = next(
        f for f in builder.findChildren(QLineEdit) if f.placeholderText() == "text" and f.isVisible()
    )
    qtbot.keyClicks(value, "Main")
    assert builder.filter() == (col("address.street") == "Main")


def test_a_filter_on_a_field_inside_a_column_is_shown(builder) -> None:
    builder.set_filter(col("address.no") > 5)
    row = builder.findChild(ConditionRow)
    texts = [field.text() for field in row.findChildren(QLineEdit)]
    assert texts[0] == "address.no" and "5" in texts
    assert builder.filter() == (col("address.no") > 5)


def names_by_tab(qtbot, builder: FilterBuilder, presses: int) -> list[str]:
    names = []
    for _ in range(presses):
        names.append(builder.window().focusWidget().accessibleName())
        qtbot.keyClick(builder.window().focusWidget(), Qt.Key.Key_Tab)
    return names


ROW = ["Column", "Operator", "Value", "Ignore case", "Move this condition", "Remove this condition"]


@pytest.mark.parametrize("by_mouse", [True, False], ids=["click", "focus"])
def test_who_comes_to_a_column_types_over_it(qtbot, builder, by_mouse: bool) -> None:
    builder.set_filter(col("year") == 2013)
    box = builder.findChild(ColumnBox)
    if by_mouse:
        qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(20, box.height() // 2))
    else:
        box.setFocus()
    qtbot.keyClicks(box, "carr")
    assert box.text() == "carr"


def test_a_second_click_sets_the_cursor_in_a_column(qtbot, builder) -> None:
    builder.set_filter(col("year") == 2013)
    box = builder.findChild(ColumnBox)
    for _ in range(2):
        qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(1, box.height() // 2))
    assert not box.hasSelectedText()


def test_tab_goes_through_a_condition_from_left_to_right(qtbot, builder) -> None:
    builder.set_filter((col("carrier") == "AA") & (col("carrier") == "UA"))
    builder.findChild(ColumnBox).setFocus()
    assert names_by_tab(qtbot, builder, 13) == [*ROW, "Condition on", *ROW]


def test_tab_order_follows_another_operator(qtbot, builder) -> None:
    builder.set_filter((col("year") == 2013) & (col("carrier") == "UA"))
    row = builder.findChildren(ConditionRow)[0]
    operator = row.findChild(QComboBox)
    operator.setCurrentIndex(operator.findData("between"))
    operator.activated.emit(operator.currentIndex())
    row.findChild(ColumnBox).setFocus()
    expected = [*ROW[:3], "Second value", *ROW[4:], "Condition on"]
    assert names_by_tab(qtbot, builder, 7) == expected


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_every_button_is_on_screen_beside_the_sidebar_of_a_small_window(qtbot, builder, scale) -> None:
    builder.resize(760, 400)
    between, listed = col("dep_delay").between(10, 20), col("carrier").is_in(["AA", "UA", "DL"])
    builder.set_filter((col("year") == 2013) & (between | (listed & (between | (col("carrier") == "AA")))))
    theme.current().set_text_scale(scale)
    builder.set_counts(dict.fromkeys(builder.tree.conditions(), 12345678), counting=False)
    scroll = builder.findChild(QScrollArea)
    qtbot.waitUntil(lambda: scroll.horizontalScrollBar().maximum() == 0)
    qtbot.waitUntil(lambda: scroll.widget().width() <= scroll.viewport().width())
    for button in builder.findChildren(QAbstractButton):
        if button.isVisible():
            right = button.mapTo(scroll.widget(), QPoint(button.width(), 0)).x()
            assert right <= scroll.viewport().width(), button.accessibleName()


def value_of(builder: FilterBuilder, place: int = 0) -> QLineEdit:
    return builder.findChild(ConditionRow).values.fields[place]


def switch(builder: FilterBuilder, place: int = 0) -> None:
    """Switch the field as a click on its icon does."""
    buttons = value_of(builder, place).findChildren(FieldButton)
    next(button for button in buttons if button.toolTip().startswith("Compare with")).click()


def test_a_value_field_is_switched_to_a_column_and_back(qtbot, builder) -> None:
    builder.set_filter(col("dep_delay") > 60)
    switch(builder)
    box = value_of(builder)
    assert isinstance(box, ColumnBox) and builder.filter() is None
    assert box.hasFocus() and box.accessibleName() == "Value: a column"
    qtbot.keyClicks(box, "arr_")
    press(qtbot, box, Qt.Key.Key_Tab)
    assert builder.filter() == (col("dep_delay") > col("arr_delay"))
    switch(builder)
    assert not isinstance(value_of(builder), ColumnBox) and builder.filter() is None
    qtbot.keyClicks(value_of(builder), "7")
    assert builder.filter() == (col("dep_delay") > 7)


def test_a_range_ends_at_a_column(qtbot, builder) -> None:
    builder.set_filter(col("dep_delay").between(1, 9))
    more = next(
        candidate for candidate in builder.findChildren(QToolButton) if candidate.accessibleName() == ROW[4]
    )
    entries = [action for action in more.menu().actions() if action.text().startswith(("Compare", "Second"))]
    assert [entry.isVisible() for entry in entries] == [True, True]
    entries[1].trigger()
    box = value_of(builder, 1)
    qtbot.keyClicks(box, "arr_delay")
    press(qtbot, box, Qt.Key.Key_Tab)
    assert builder.filter() == col("dep_delay").between(1, col("arr_delay"))


def test_a_comparison_with_a_column_is_shown_as_one_and_saved(builder) -> None:
    condition = col("dep_delay") < col("arr_delay")
    builder.set_filter(condition)
    assert isinstance(value_of(builder), ColumnBox) and value_of(builder).text() == "arr_delay"
    assert (
        from_json(to_json(builder.tree)).filter(dict(zip(SCHEMA.names, SCHEMA.types, strict=True)))
        == condition
    )


def test_a_column_that_cannot_be_compared_is_marked_at_the_value(qtbot, builder) -> None:
    builder.set_filter(col("dep_delay") < col("arr_delay"))
    for name, reason in (("carrier", "text"), ("ar_delay", "arr_delay")):
        box = value_of(builder)
        box.setFocus()
        box.selectAll()
        qtbot.keyClicks(box, name)
        press(qtbot, box, Qt.Key.Key_Tab)
        assert box.property("variant") == "invalid" and builder.filter() is None
        row = builder.findChild(ConditionRow)
        assert any(reason in label.text() for label in row.findChildren(QLabel) if label.isVisible())


def test_operators_that_take_no_column_offer_none(builder) -> None:
    builder.set_filter(col("carrier").contains("A"))
    assert not value_of(builder).findChildren(FieldButton)
    builder.set_filter(col("carrier").is_in(["A"]))
    assert [button.toolTip() for button in value_of(builder).findChildren(FieldButton)] == [
        "Choose from the values, with counts (Down)"
    ]


def test_fields_of_rows_are_aligned_whatever_their_counts_are(builder: FilterBuilder) -> None:
    for name in ("dep_delay", "carrier", "year"):
        column_of(builder).setText(name)
    rows = builder.findChildren(ConditionRow)
    for row, count in zip(rows, (7, 1_234_567, None), strict=True):
        row.show_count(count, counting=count is None)
        row.layout().activate()
    assert len({row.values.x() for row in rows}) == 1
    assert len({row.findChild(QComboBox).geometry().right() for row in rows}) == 1
