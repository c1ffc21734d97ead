"""The builder on its own, by keys and clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QScrollArea

from lamella import col
from lamella.ui import theme
from lamella.ui.filters.builder import ConditionRow, FilterBuilder
from lamella.ui.filters.value_fields import ColumnBox

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
    made = FilterBuilder()
    qtbot.addWidget(made)
    made.set_schema(SCHEMA)
    made.resize(760, 400)
    made.show()
    made.activateWindow()
    qtbot.waitExposed(made)
    yield made
    theme.current().set_text_scale(1.0)


def column_of(builder: FilterBuilder) -> ColumnBox:
    builder.add_condition()
    return builder.findChildren(ColumnBox)[-1]


def press(qtbot, box: ColumnBox, key: Qt.Key) -> None:
    """Where a person's key goes: to the list while it is open."""
    popup = box.completer().popup()
    qtbot.keyClick(popup if popup.isVisible() else box, key)


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
    found = []
    for _ in range(presses):
        found.append(builder.window().focusWidget().accessibleName())
        qtbot.keyClick(builder.window().focusWidget(), Qt.Key.Key_Tab)
    return found


ROW = ["Column", "Operator", "Value", "Ignore case", "Move this condition", "Remove this condition"]


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
