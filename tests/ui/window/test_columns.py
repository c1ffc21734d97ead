"""Pinned columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from lamella import col
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.window.dataset_tab import DatasetTab

CONTROL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
)


@pytest.fixture
def wide_tab(window, tmp_path: Path, settled) -> DatasetTab:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{n}": [n, n + 1] for n in range(30)}), path)
    window.open_paths([path])
    return settled()


def pinned_names(tab: DatasetTab) -> list[str]:
    return [tab.grid.grid_model.names[column] for column in tab.grid.pinning.columns]


def open_column_menu(window, tab: DatasetTab, name: str) -> QMenu:
    header = tab.grid.column_header
    x = tab.grid.x_of(tab.grid.grid_model.names.index(name)) + 10
    point = QPoint(x, 10)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, header.viewport().mapToGlobal(point))
    QApplication.sendEvent(header.viewport(), event)
    return next(menu for menu in window.findChildren(QMenu) if menu.isVisible())


def choose(menu: QMenu, text: str) -> None:
    action = next(action for action in menu.actions() if action.text() == text)
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


@pytest.mark.parametrize("pinned", [False, True])
def test_a_key_opens_the_menu_of_the_current_column_below_its_header(window, wide_tab, pinned: bool) -> None:
    grid, header = wide_tab.grid, wide_tab.grid.column_header
    grid.go_to_column(20)
    if pinned:
        window.commands["pin_column"].trigger()
    grid.horizontalScrollBar().setValue(0)
    corners: list[QPoint] = []
    header.menu_requested.connect(lambda _column, point: corners.append(header.mapFromGlobal(point)))
    QTest.keyClick(grid, Qt.Key.Key_F10, CONTROL | SHIFT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and grid.current_name == "c20"
    assert [grid.grid_model.names[header.column_at(corner.x())] for corner in corners] == ["c20"]
    choose(menu, "Hide column")
    assert header.hidden_names() == ["c20"] and QApplication.focusWidget() is grid


def test_a_column_is_pinned_and_unpinned_from_the_menu_of_its_header(window, wide_tab) -> None:
    choose(open_column_menu(window, wide_tab, "c4"), "Pin column")
    assert pinned_names(wide_tab) == ["c4"] and wide_tab.grid.current_name == "c4"
    wide_tab.grid.horizontalScrollBar().setValue(900)
    choose(open_column_menu(window, wide_tab, "c4"), "Unpin column")
    assert pinned_names(wide_tab) == []


@pytest.mark.slow
def test_a_column_is_pinned_by_a_key(window, wide_tab, qtbot, go_to) -> None:
    go_to(wide_tab, 1, "c7")
    qtbot.keyClick(wide_tab.grid, Qt.Key.Key_P, CONTROL | SHIFT)
    assert pinned_names(wide_tab) == ["c7"]
    assert wide_tab.grid.selection.current == (1, 0)
    qtbot.keyClick(wide_tab.grid, Qt.Key.Key_P, CONTROL | SHIFT)
    assert pinned_names(wide_tab) == []
    assert wide_tab.grid.selection.current == (1, 7)


@pytest.mark.slow
def test_a_column_is_pinned_from_the_palette(window, wide_tab, qtbot, go_to) -> None:
    go_to(wide_tab, 0, "c9")
    qtbot.keyClick(wide_tab.grid, Qt.Key.Key_K, CONTROL)
    palette = window.findChild(CommandPalette)
    qtbot.keyClicks(palette.field, "pin column")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert pinned_names(wide_tab) == ["c9"]
    window.commands["unpin_columns"].trigger()
    assert pinned_names(wide_tab) == [] and not window.commands["unpin_columns"].isEnabled()


@pytest.mark.slow
def test_filters_sorts_and_steps_keep_what_is_pinned(wide_tab, settled) -> None:
    wide_tab.grid.pin_column(12)
    wide_tab.set_filter(col("c3") > 3)
    assert pinned_names(settled()) == ["c12"]
    wide_tab.toggle_sort(12, add=False)
    tab = settled()
    assert pinned_names(tab) == ["c12"] and tab.grid.columns_between(0, 10) == [12]


@pytest.mark.slow
def test_the_fields_of_the_filter_row_stand_over_what_is_pinned(window, wide_tab, qtbot) -> None:
    grid = wide_tab.grid
    window.commands["filter_row"].trigger()
    for column in (20, 21):
        grid.pin_column(column)
    grid.horizontalScrollBar().setValue(grid.horizontalScrollBar().maximum() // 2 + 20)
    for column in grid.columns_between(0, grid.viewport().width() - 1):
        name = f"c{column}"
        field = grid.filter_row.field_of(name)
        assert field.isVisible() and field.x() == grid.x_of(column) + 2
        masked = field.mask().boundingRect().translated(field.pos())
        geometry = field.geometry() if masked.isEmpty() else masked
        assert column in (20, 21) or geometry.left() >= grid.pinning.width


@pytest.mark.slow
def test_tab_goes_from_the_field_of_a_pinned_column_to_the_next_one(window, wide_tab, qtbot) -> None:
    grid = wide_tab.grid
    grid.pin_column(20)
    grid.go_to(0, 0)
    grid.horizontalScrollBar().setValue(400)
    window.commands["filter_row"].trigger()
    qtbot.waitUntil(lambda: grid.filter_row.field_of("c20").hasFocus())
    qtbot.keyClick(grid.filter_row.field_of("c20"), Qt.Key.Key_Tab)
    field = grid.filter_row.field_of("c0")
    assert field.hasFocus() and field.x() >= grid.pinning.width


@pytest.mark.slow
def test_the_cards_of_pinned_columns_are_made_and_can_be_pointed_at(
    column_cards, window, wide_tab, qtbot
) -> None:
    grid = wide_tab.grid
    grid.pin_column(20)
    grid.horizontalScrollBar().setValue(700)
    qtbot.waitUntil(lambda: grid.cards.card_of(20) is not None)
    assert grid.cards.column_at(10) == 20 and grid.cards.card_rect(20).left() == 0


@pytest.mark.slow
def test_copying_takes_pinned_columns_first(window, wide_tab, settled) -> None:
    wide_tab.grid.pin_column(3)
    wide_tab.grid.select_rows(0, extend=False)
    window.commands["copy"].trigger()
    settled()
    assert QGuiApplication.clipboard().text().startswith("3\t0\t1\t2\t4")


def test_a_cell_of_a_pinned_column_is_edited_in_its_place(window, table_tab, settled, qtbot, go_to) -> None:
    grid = table_tab.grid
    grid.column_header.resizeSection(grid.grid_model.names.index("note"), 1500)
    go_to(table_tab, 2, "delay")
    window.commands["pin_column"].trigger()
    grid.horizontalScrollBar().setValue(300)
    window.commands["edit_cell"].trigger()
    editor = table_tab.editing.editor
    assert editor is not None and editor.x() <= 0 and editor.width() < 300
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
