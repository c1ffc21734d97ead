"""The builder on its own, by keys and clicks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from lamella import col
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
def builder(qtbot) -> FilterBuilder:
    made = FilterBuilder()
    qtbot.addWidget(made)
    made.set_schema(SCHEMA)
    made.resize(760, 300)
    made.show()
    made.activateWindow()
    qtbot.waitExposed(made)
    return made


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
