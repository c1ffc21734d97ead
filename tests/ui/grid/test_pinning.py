from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from lamella.ui import theme
from lamella.ui.grid.selection import CellRange
from lamella.ui.style.sheet import DARK, LIGHT
from tests.ui.grid.fake_rows import FakeRows
from tests.ui.test_theme import contrast

WIDTH = 100


@pytest.fixture
def pinned(grid, settle):
    """Twelve columns, of which c3 and c5 are pinned, scrolled by 250 pixels."""
    grid.show_rows(FakeRows(1000, columns=12))
    settle(grid)
    for column in range(12):
        grid.column_header.resizeSection(column, WIDTH)
    for column in (3, 5):
        grid.pin_column(column)
    grid.horizontalScrollBar().setValue(250)
    settle(grid)
    QApplication.processEvents()
    return grid


def on_screen(grid) -> list[int]:
    return grid.columns_between(0, grid.viewport().width() - 1)


def image(grid, rect: QRect):
    return grid.viewport().grab(rect).toImage()


def pinned_cells(grid) -> QRect:
    return QRect(0, 0, grid.pinning.width, grid.viewport().height())


def click(grid, x: int, button=Qt.MouseButton.LeftButton) -> None:
    header = grid.column_header
    QTest.mouseClick(header.viewport(), button, pos=QPoint(x, header.own_height // 2))


def test_pinned_columns_stay_at_the_left_while_the_others_are_scrolled(pinned) -> None:
    assert on_screen(pinned)[:2] == [3, 5]
    assert [pinned.x_of(column) for column in (3, 5)] == [0, WIDTH]
    assert pinned.x_of(0) == 200 - 250 and pinned.pinning.width == 200
    before = image(pinned, pinned_cells(pinned))
    pinned.horizontalScrollBar().setValue(600)
    assert on_screen(pinned)[:2] == [3, 5]
    assert image(pinned, pinned_cells(pinned)) == before
    assert image(pinned, pinned_cells(pinned).adjusted(0, 0, 0, -200)) != image(
        pinned, pinned_cells(pinned).adjusted(200, 0, 200, -200)
    )


def test_cells_are_found_where_they_are_seen(pinned) -> None:
    places = [pinned.cell_at(QPoint(x, 5))[1] for x in (5, 150, 205)]
    assert [pinned.column_at(place) for place in places] == [3, 5, pinned.column_at(4)]
    assert pinned.column_header.column_at(205) == pinned.column_at(4)
    assert pinned.cards.column_at(150) == 5 and pinned.cards.column_at(205) == pinned.column_at(4)


def test_what_is_read_is_what_is_on_screen(pinned, settle) -> None:
    pinned.horizontalScrollBar().setValue(pinned.horizontalScrollBar().maximum())
    settle(pinned)
    pages = pinned.grid_model.pages
    assert all(pages.column(0, column) is not None for column in on_screen(pinned))


@pytest.mark.slow
def test_the_keyboard_goes_over_the_edge(pinned) -> None:
    pinned.go_to(0, pinned.place(4))
    pinned.setFocus()
    QTest.keyClick(pinned, Qt.Key.Key_Home)
    assert pinned.column_at(pinned.selection.current[1]) == 3
    for _ in range(2):
        QTest.keyClick(pinned, Qt.Key.Key_Right)
    assert pinned.column_at(pinned.selection.current[1]) == 0
    assert pinned.x_of(0) == pinned.pinning.width
    QTest.keyClick(pinned, Qt.Key.Key_Left)
    assert pinned.column_at(pinned.selection.current[1]) == 5


def test_a_column_below_the_pinned_ones_is_scrolled_into_sight(pinned) -> None:
    pinned.go_to(0, pinned.place(1))
    assert pinned.x_of(1) == pinned.pinning.width


def test_a_selection_over_the_edge_is_filled_on_both_sides(pinned) -> None:
    rows = pinned.visible_rows()
    block = CellRange(1, 0, 3, 6)
    left = pinned.block_rect(block, rows, pinned=True)
    right = pinned.block_rect(block, rows)
    assert left.left() == 0 and left.right() >= 200
    assert right.left() <= 200 and right.right() == pinned.x_of(pinned.column_at(6)) + WIDTH - 1
    assert pinned.block_rect(CellRange(0, 4, 1, 5), rows, pinned=True).isEmpty()
    pinned.selection.select_block(block)
    height = pinned.row_height
    ground = theme.current().color("accent_soft")
    for x in (190, 230):
        assert pinned.viewport().grab().toImage().pixelColor(x, 2 * height - 3) == ground


def test_dragging_over_the_edge_selects_both_sides(pinned) -> None:
    view, height = pinned.viewport(), pinned.row_height
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(150, 5))
    QTest.mouseMove(view, QPoint(230, height + 5))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(230, height + 5))
    assert pinned.selection.blocks == [CellRange(0, 1, 1, 4)]


def test_the_current_cell_of_a_covered_column_is_not_drawn_over_the_pinned_ones(pinned) -> None:
    before = image(pinned, pinned_cells(pinned))
    pinned.selection.select(2, 2)
    pinned.selection.select(2, 3)
    assert pinned.x_of(pinned.column_at(3)) < pinned.pinning.width
    assert image(pinned, pinned_cells(pinned)) == before


def test_a_click_on_a_pinned_header_sorts_its_column(pinned, qtbot) -> None:
    with qtbot.waitSignal(pinned.column_header.sort_requested) as sort:
        click(pinned, WIDTH + 40)
    assert sort.args[0] == 5
    with qtbot.waitSignal(pinned.column_header.sort_requested) as sort:
        click(pinned, 240)
    assert sort.args[0] == pinned.column_at(4)


def test_control_click_selects_a_pinned_column(pinned) -> None:
    header = pinned.column_header
    header.column_requested.emit(3, False)
    assert pinned.selection.blocks == [CellRange(0, 0, 999, 0)]


def drag(grid, start: int, end: int) -> None:
    view, y = grid.column_header.viewport(), grid.column_header.own_height // 2
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(start, y))
    QTest.mouseMove(view, QPoint((start + end) // 2, y))
    QTest.mouseMove(view, QPoint(end, y))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(end, y))


def test_the_edge_of_a_pinned_header_changes_its_width(pinned) -> None:
    drag(pinned, 2 * WIDTH - 2, 2 * WIDTH + 38)
    assert pinned.column_header.sectionSize(5) == WIDTH + 40
    assert pinned.pinning.width == 2 * WIDTH + 40


def test_pinned_columns_are_reordered_by_dragging(pinned) -> None:
    drag(pinned, 40, WIDTH + 60)
    assert pinned.pinning.columns == [5, 3]


def test_a_column_dragged_between_pinned_ones_is_pinned_and_one_dragged_out_is_not(pinned) -> None:
    column = pinned.column_header.column_at(240)
    drag(pinned, 240, 130)
    assert pinned.pinning.columns == [3, column, 5]
    drag(pinned, 40, 380)
    assert pinned.pinning.columns == [column, 5]


def test_a_click_that_does_not_move_only_sorts(pinned) -> None:
    drag(pinned, 40, 42)
    assert pinned.pinning.columns == [3, 5]
    assert [pinned.column_at(place) for place in range(2)] == [3, 5]


def test_a_double_click_on_an_edge_fits_a_pinned_column(pinned) -> None:
    header = pinned.column_header
    QTest.mouseDClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(WIDTH - 2, 8))
    assert header.sectionSize(3) == pinned.sizeHintForColumn(3) != WIDTH


def test_the_tooltip_of_a_header_is_that_of_the_column_that_is_seen(pinned) -> None:
    header = pinned.column_header
    point = QPoint(40, 8)
    event = QHelpEvent(QEvent.Type.ToolTip, point, header.viewport().mapToGlobal(point))
    QApplication.sendEvent(header.viewport(), event)
    assert QToolTip.text().startswith("c3")
    QToolTip.hideText()


def test_an_unpinned_column_goes_back_to_where_it_was(pinned) -> None:
    pinned.pin_column(5, False)
    pinned.pin_column(3, False)
    assert [pinned.column_at(place) for place in range(12)] == list(range(12))
    assert pinned.pinning.count == 0


def test_the_current_cell_stays_in_its_column(grid, settle) -> None:
    grid.show_rows(FakeRows(100, columns=12))
    settle(grid)
    grid.go_to(7, 6)
    grid.pin_column(6)
    assert grid.selection.current == (7, 0) and grid.current_name == "c6"
    grid.pin_column(2)
    assert grid.selection.current == (7, 0) and grid.current_name == "c6"
    grid.unpin_columns()
    assert grid.selection.current == (7, 6)


def test_a_hidden_pinned_column_takes_no_room(pinned) -> None:
    pinned.setColumnHidden(3, True)
    assert pinned.pinning.width == WIDTH and on_screen(pinned)[0] == 5
    assert pinned.column_header.column_at(20) == 5
    pinned.grab()


def test_pinned_columns_always_leave_room_for_the_others(pinned) -> None:
    for column in range(12):
        pinned.pin_column(column)
    assert pinned.pinning.count == 12 and 0 < pinned.pinning.places < 12
    assert pinned.pinning.width <= pinned.viewport().width() - 160
    last = pinned.column_at(11)
    pinned.go_to(0, 11)
    assert pinned.x_of(last) >= pinned.pinning.width
    pinned.resize(250, 400)
    assert pinned.pinning.width <= 100
    pinned.resize(120, 400)
    assert pinned.pinning.places == 0
    pinned.grab()


def test_other_columns_keep_what_is_pinned_by_name_and_the_same_ones_all(pinned, settle) -> None:
    pinned.show_rows(FakeRows(1000, columns=5))
    settle(pinned)
    assert pinned.pinning.columns == [3]
    pinned.show_rows(FakeRows(500, columns=12))
    settle(pinned)
    assert pinned.pinning.columns == [3, 5] and pinned.pinning.width == 2 * WIDTH


@pytest.mark.slow
def test_ten_thousand_columns(grid, settle) -> None:
    grid.show_rows(FakeRows(1_000_000, columns=10_000))
    settle(grid)
    for column in (9_999, 5_000):
        grid.pin_column(column)
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    settle(grid)
    assert grid.column_at(grid.selection.current[1]) == 9_998
    assert on_screen(grid)[:2] == [9_999, 5_000] and on_screen(grid)[-1] == 9_998
    assert grid.grid_model.pages.text(999_999, 9_999) == str(999_999 * 10 + 9_999)


@pytest.fixture
def large_text(qapp):
    theme.current().set_text_scale(1.5)
    yield
    theme.current().set_text_scale(1.0)


def test_pinned_columns_grow_with_the_text(pinned, large_text) -> None:
    assert pinned.pinning.width == 300 and pinned.x_of(5) == 150


def test_scrolling_paints_what_comes_into_sight_alone(pinned) -> None:
    pinned.horizontalScrollBar().setValue(200)
    QApplication.processEvents()
    areas: list[QRect] = []
    watch = type("Watch", (), {})()
    watch.paint = pinned._painter.paint
    pinned._painter.paint = lambda painter, area: (areas.append(area), watch.paint(painter, area))
    pinned.horizontalScrollBar().setValue(220)
    QApplication.processEvents()
    width = pinned.viewport().width()
    print(areas, pinned.viewport().rect())
    assert sum(area.width() for area in areas) < width // 4
    assert all(area.left() >= pinned.pinning.width for area in areas)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_the_edge_is_seen(palette) -> None:
    assert contrast(palette.input_border, palette.surface) >= 3


def test_painting_a_part_draws_what_painting_all_does(pinned) -> None:
    whole = image(pinned, pinned.viewport().rect())
    for rect in (QRect(50, 20, 100, 80), QRect(180, 0, 60, 100), QRect(300, 50, 40, 40)):
        assert image(pinned, rect) == whole.copy(rect)


def test_a_screen_reader_is_told_where_a_pinned_cell_is_seen(pinned) -> None:
    model = pinned.grid_model
    assert pinned.visualRect(model.index(2, 5)) == pinned.cell_rect((2, 1)) != QRect()
    assert pinned.visualRect(model.index(2, 0)).left() == pinned.x_of(0)


def test_a_header_dragged_out_of_sight_scrolls_the_others(pinned) -> None:
    before = pinned.horizontalScrollBar().value()
    drag(pinned, 40, pinned.viewport().width() + 200)
    assert pinned.horizontalScrollBar().value() > before
    assert pinned.pinning.columns == [5]
