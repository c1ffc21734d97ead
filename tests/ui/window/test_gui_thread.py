"""The catalog may be locked by another process for seconds: the GUI thread must not wait for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from lamella import col
from lamella.core.query.agg import count
from lamella.core.query.line import Line
from lamella.core.query.steps import Group
from lamella.core.store.catalog import access as catalog_access
from lamella.core.store.catalog import queries as catalog
from lamella.ui.dialogs.export_dialog import ExportDialog
from lamella.ui.editing.change_dialog import ChangeDialog
from lamella.ui.window.benchmarking import source_of

pytestmark = pytest.mark.usefixtures("column_cards")


@pytest.fixture
def catalog_calls() -> Iterator[list[str]]:
    """The catalog's methods that this thread, the GUI thread, calls."""
    calls: list[str] = []

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename in (catalog.__file__, catalog_access.__file__):
            calls.append(frame.f_code.co_name)

    sys.setprofile(watch)
    yield calls
    sys.setprofile(None)


def change(tab, text: str) -> None:
    QTest.keyClicks(tab.grid, text[0])
    QTest.keyClicks(tab.editing.editor, text[1:])
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)


def test_editing_and_undoing_ask_the_catalog_elsewhere(
    window, table_tab, go_to, settled, cell_text, catalog_calls
) -> None:
    go_to(table_tab, 0, "note")
    change(table_tab, "changed")
    tab = settled()
    tab.messages.buttons[0].click()
    settled()
    window.commands["redo"].trigger()
    settled()
    go_to(tab, 1, "note")
    window.commands["set_null"].trigger()
    assert cell_text(settled(), 0, "note") == "changed"
    assert cell_text(settled(), 1, "note") is None
    assert catalog_calls == []


@pytest.mark.slow
def test_setting_values_asks_the_catalog_elsewhere(window, table_tab, go_to, qtbot, catalog_calls) -> None:
    go_to(table_tab, 0, "note")
    window.commands["change"].trigger()
    dialog = window.findChild(ChangeDialog)
    assert dialog.windowTitle() == "Change flights"
    dialog.set_value("late")
    apply = dialog.apply
    qtbot.waitUntil(apply.isEnabled)
    with qtbot.waitSignal(dialog.committed):
        apply.click()
    assert catalog_calls == []


def test_rows_and_cells_that_are_pasted_added_and_deleted_ask_the_catalog_elsewhere(
    window, table_tab, go_to, settled, cell_text, catalog_calls
) -> None:
    go_to(table_tab, 0, "note")
    window.commands["copy"].trigger()
    tab = settled()
    go_to(tab, 1, "note")
    window.commands["paste"].trigger()
    assert cell_text(settled(), 1, "note") == "row 0"
    window.commands["insert_rows"].trigger()
    settled()
    window.commands["duplicate_rows"].trigger()
    assert settled().grid.grid_model.num_rows == 1002
    window.commands["delete_rows"].trigger()
    settled()
    assert catalog_calls == []


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_menus_and_exports_ask_the_catalog_elsewhere(
    window, table_tab, go_to, settled, catalog_calls, grouped
) -> None:
    if grouped:
        table_tab.apply(Line.of([Group(("carrier",), (("n", count()),))]))
    tab = settled()
    go_to(tab, 0, "carrier")
    menu = QMenu()
    tab.conversions.add_to(menu, "carrier")
    window.commands["export"].trigger()
    window.commands["filter_values"].trigger()
    settled()
    assert source_of(tab).table == "flights"
    assert window.findChild(ExportDialog) is not None
    assert catalog_calls == []


@pytest.mark.slow
def test_importing_a_file_to_edit_it_asks_the_catalog_elsewhere(
    window, locked_tab, go_to, settled, qtbot, catalog_calls
) -> None:
    locked_tab.set_filter(col("delay") > 300)
    tab = settled()
    go_to(tab, 4, "note")
    QTest.keyClicks(tab.grid, "n")
    tab.messages.buttons[0].click()
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not tab and window.tabs.dataset_tab.editing.editor is not None,
        timeout=10_000,
    )
    assert window.tabs.dataset_tab.where == (col("delay") > 300)
    assert catalog_calls == []
