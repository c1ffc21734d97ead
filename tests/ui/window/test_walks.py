"""The code takes the walks that ARCHITECTURE.md describes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit

from lamella import col
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.value_fields import ColumnBox, ValueFields
from tests.walk import Walk

PAGE = (Path(__file__).resolve().parents[3] / "ARCHITECTURE.md").read_text(encoding="utf8")


@pytest.fixture
def walk() -> Iterator[Walk]:
    with Walk().installed() as recorder:
        yield recorder


def steps_on_page(title: str) -> list[tuple[str, str]]:
    """The modules that a walk names, in their order, each with what to read there first."""
    section = PAGE.partition(f"### {title}\n")[2].partition("\n#")[0]
    return re.findall(r"^\d+\. `([\w.]+)`: `([\w.]+)`", section, re.MULTILINE)


def check(title: str, walk: Walk) -> None:
    """Check that the functions on the page are called in that order. Others may be called in between, since
    the window's threads overlap."""
    modules, functions = walk.end(), walk.functions
    print(f"walk: {title}: {len(set(modules))} files")
    steps = steps_on_page(title)
    assert steps and [module for module, _name in steps if module not in modules] == []
    calls = iter(modules)
    assert [module for module, _name in steps if module not in calls] == [], f"not in this order: {steps}"
    names = [f"{module}.{name}" for module, name in steps]
    assert [n for n in names if not any(f == n or f.startswith(f"{n}.") for f in functions)] == []


def test_a_csv_file_is_opened(walk: Walk, window, settled, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n" + "".join(f"{n},row {n}\n" for n in range(1000)))
    walk.begin()
    window.open_paths([file])
    settled()
    check("A CSV file is opened", walk)


def test_a_cell_is_edited(walk: Walk, table_tab, go_to, settled) -> None:
    go_to(table_tab, 3, "delay")
    walk.begin()
    QTest.keyClicks(table_tab.grid, "7")
    QTest.keyClick(table_tab.editing.editor, Qt.Key.Key_Return)
    settled()
    check("A cell is edited", walk)


@pytest.mark.slow
def test_a_condition_is_built(walk: Walk, table_tab, settled) -> None:
    walk.begin()
    table_tab.steps.edit_filter()
    row = table_tab.steps.findChild(ConditionRow)
    column = row.findChild(ColumnBox)
    column.setText("delay")  # typing would open the list of names, which offscreen windows warn of
    QTest.keyClick(column, Qt.Key.Key_Return)
    operators = row.findChild(QComboBox)
    operators.setCurrentIndex(operators.findText("is between"))
    operators.activated.emit(operators.currentIndex())
    low, high = (field for field in row.findChild(ValueFields).findChildren(QLineEdit) if field.isVisible())
    QTest.keyClicks(low, "100")
    QTest.keyClicks(high, "200")
    QTest.keyClick(high, Qt.Key.Key_Return)
    settled()
    assert table_tab.where == col("delay").between(100, 200)
    check("A condition is built", walk)
