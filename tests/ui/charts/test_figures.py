"""The table of a chart's figures."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from lamella.ui import theme
from lamella.ui.charts.figures import FiguresModel, FiguresTable


def test_the_rows_of_figures_grow_with_the_text(qtbot):
    theme.current().set_text_scale(1.0)
    table = FiguresTable()
    qtbot.addWidget(table)
    table.setModel(FiguresModel(pa.table({"n": [1]})))
    before = table.rowHeight(0)
    theme.current().set_text_scale(1.5)
    after = table.rowHeight(0)
    theme.current().set_text_scale(1.0)
    assert after > before == table.rowHeight(0)


def test_figures_are_copied_as_programs_read_them(qtbot):
    table = FiguresTable()
    qtbot.addWidget(table)
    table.setModel(FiguresModel(pa.table({"n": [-12_345, None], "mean": [-0.5, 1e-7], "k": ["−", ""]})))
    assert [table.model().index(0, n).data() for n in range(2)] == ["−12,345", "−0.5"]
    table.selectAll()
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "-12345\t-0.5\t−\n\t1e-07\t"


def test_figures_of_a_column_have_the_same_decimal_places(qtbot):
    figures = {
        "mean": [12.10645, 9.265, 18.9963],
        "whole": [1.0, 20.0, None],
        "far": [1e-7, 0.5, 2e9],
        "one": [0.5, 12.8, 3.0],
    }
    model = FiguresModel(pa.table(figures))
    shown = [[model.index(row, column).data() for row in range(3)] for column in range(4)]
    assert shown[3] == ["0.5", "12.8", "3.0"]
    assert shown[0] == ["12.106", "9.265", "18.996"]
    assert shown[1] == ["1", "20", "NULL"]
    assert shown[2] == ["1e−07", "0.5", "2,000,000,000"]
