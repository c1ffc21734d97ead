"""Forms of steps: their fields fit beside each other, and into little room."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QScrollArea

from lamella.ui import theme
from lamella.ui.steps.editors import ColumnList, ComputeRow


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_the_fields_of_a_computed_column_have_one_height(qtbot, scale: float) -> None:
    theme.current().set_text_scale(scale)
    row = ComputeRow("speed", "distance / air_time")
    qtbot.addWidget(row)
    row.show()
    places = [(field.y(), field.height()) for field in (row.name, row.expression)]
    theme.current().set_text_scale(1.0)
    assert places[0] == places[1]


def test_a_list_of_columns_becomes_lower_instead_of_scrolling_twice(qtbot) -> None:
    columns = ColumnList([f"column {n}" for n in range(30)], ())
    around = QScrollArea(widgetResizable=True)
    qtbot.addWidget(around)
    around.setWidget(columns)
    around.resize(400, columns.sizeHint().height() + 10)
    around.show()
    tall = columns.list.height()
    around.resize(400, columns.minimumSizeHint().height() + 10)
    assert columns.list.height() < tall
    assert around.verticalScrollBar().maximum() == 0
