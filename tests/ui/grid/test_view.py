from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from lamella.ui import theme
from lamella.ui.grid.pane import GridPane, RowScrollBar
from lamella.ui.grid.selection import CellRange
from lamella.ui.style.sheet import DARK, LIGHT
from tests.ui.grid.fake_rows import FakeRows, TableRows
from tests.ui.test_theme import contrast

BILLIONS = 1_100_000_000


def text(grid, row: int, column: int) -> str | None:
    return grid.grid_model.pages.text(row, column)


def test_rows_appear(grid, settle) -> None:
    grid.show_rows(FakeRows(1000))
    settle(grid)
    assert text(grid, 3, 0) == "30"
    assert text(grid, 0, 1) is None and text(grid, 1, 1) == ""


def test_drawing_never_reads(grid, settle) -> None:
    rows = FakeRows(1000)
    grid.show_rows(rows)
    settle(grid)
    grid.grab()
    grid.grid_model.data(grid.grid_model.index(900, 0))
    import threading

    assert threading.get_ident() not in rows.threads
    assert all(offset + count <= 200 for offset, count, _ in rows.asked)


def test_null_and_empty_text_look_different(grid, settle) -> None:
    grid.show_rows(FakeRows(3))
    settle(grid)
    image = grid.viewport().grab().toImage()
    null, empty = (image.copy(grid.cell_rect((row, 1)).adjusted(2, 2, -2, -2)) for row in (0, 1))
    assert null != empty


def test_a_billion_rows_and_ten_thousand_columns_open_and_reach_the_last_cell(grid, settle) -> None:
    rows = FakeRows(BILLIONS, columns=10_000)
    grid.show_rows(rows)
    settle(grid)
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    settle(grid)
    assert grid.selection.current == (BILLIONS - 1, 9_999)
    assert text(grid, BILLIONS - 1, 9_999) == str((BILLIONS - 1) * 10 + 9_999)
    assert BILLIONS - 1 in grid.visible_rows()
    QTest.keyClick(grid, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    settle(grid)
    assert grid.visible_rows()[0] == 0
    assert sum(len(names) * count for _, count, names in rows.asked) < 100_000


@pytest.mark.slow
def test_every_row_of_a_huge_view_is_passed_by_scrolling_over_the_windows_edge(small_window, settle) -> None:
    grid = small_window
    grid.show_rows(FakeRows(5000))
    bar = grid.verticalScrollBar()
    rows = set(grid.visible_rows())
    for _ in range(1000):
        if grid.visible_rows()[-1] == 4999:
            break
        before = grid.top_row()
        bar.setValue(bar.value() + 8 * grid.row_height)
        assert before < grid.top_row() <= before + 9
        rows.update(grid.visible_rows())
    assert rows == set(range(5000))


def test_moving_the_window_does_not_move_what_is_on_screen(small_window) -> None:
    grid = small_window
    grid.show_rows(FakeRows(1_000_000))
    grid.scroll_to_row(500_000)
    bar, starts = grid.verticalScrollBar(), set()
    for step in [333] * 60 + [-333] * 120:
        before = grid.grid_model.start * grid.row_height + bar.value()
        bar.setValue(bar.value() + step)
        assert grid.grid_model.start * grid.row_height + bar.value() == before + step
        starts.add(grid.grid_model.start)
    assert len(starts) > 2


def test_the_row_scroll_bar_moves_and_follows(small_window, qtbot, settle) -> None:
    grid = small_window
    bar = RowScrollBar(grid)
    qtbot.addWidget(bar)
    grid.show_rows(FakeRows(BILLIONS))
    assert grid.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    bar.setValue(700_000_000)
    settle(grid)
    assert grid.top_row() == 700_000_000
    bar.setValue(bar.maximum())
    assert grid.visible_rows()[-1] == BILLIONS - 1
    grid.go_to(12)
    assert bar.value() == grid.top_row()


def test_a_view_beyond_what_a_scroll_bar_counts_is_reached(small_window, qtbot) -> None:
    grid = small_window
    bar = RowScrollBar(grid)
    qtbot.addWidget(bar)
    grid.show_rows(FakeRows(10**12))
    bar.setValue(bar.maximum())
    assert grid.top_row() > 10**12 - 1000


def test_an_ordinary_view_has_qts_own_scroll_bar(grid, qtbot) -> None:
    bar = RowScrollBar(grid)
    qtbot.addWidget(bar)
    grid.show_rows(FakeRows(10_000))
    assert bar.isHidden()


@pytest.mark.parametrize("window", ["grid", "small_window"])
def test_keys_move_as_in_a_spreadsheet(window, request, settle) -> None:
    grid = request.getfixturevalue(window)
    grid.show_rows(FakeRows(100_000))
    grid.go_to(0, 0)
    page = grid.viewport().height() // grid.row_height - 1
    for key, cell in (
        (Qt.Key.Key_Down, (1, 0)),
        (Qt.Key.Key_Right, (1, 1)),
        (Qt.Key.Key_Tab, (1, 2)),
        (Qt.Key.Key_Return, (2, 2)),
        (Qt.Key.Key_End, (2, 4)),
        (Qt.Key.Key_Right, (2, 4)),
        (Qt.Key.Key_Home, (2, 0)),
        (Qt.Key.Key_PageDown, (2 + page, 0)),
        (Qt.Key.Key_PageUp, (2, 0)),
        (Qt.Key.Key_Up, (1, 0)),
    ):
        QTest.keyClick(grid, key)
        assert grid.selection.current == cell, key
        assert cell[0] in grid.visible_rows()


def test_shift_extends_and_select_all_takes_everything(grid) -> None:
    grid.show_rows(FakeRows(1000))
    grid.go_to(2, 1)
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(grid, Qt.Key.Key_Down, shift)
    QTest.keyClick(grid, Qt.Key.Key_Right, shift)
    assert grid.selection.blocks == [CellRange(2, 1, 3, 2)]
    grid.select_all()
    assert grid.selection.blocks == [CellRange(0, 0, 999, 4)]


def test_the_mouse_selects_extends_and_adds(grid, settle) -> None:
    grid.show_rows(FakeRows(1000))
    settle(grid)

    def click(row: int, place: int, modifier=Qt.KeyboardModifier.NoModifier) -> None:
        QTest.mouseClick(
            grid.viewport(), Qt.MouseButton.LeftButton, modifier, grid.cell_rect((row, place)).center()
        )

    click(2, 1)
    assert grid.selection.current == (2, 1)
    click(4, 2, Qt.KeyboardModifier.ShiftModifier)
    assert grid.selection.blocks == [CellRange(2, 1, 4, 2)]
    click(6, 0, Qt.KeyboardModifier.ControlModifier)
    assert grid.selection.blocks == [CellRange(2, 1, 4, 2), CellRange(6, 0, 6, 0)]


def test_row_numbers_select_rows(grid) -> None:
    grid.show_rows(FakeRows(1000))
    header = grid.row_header
    y = grid.row_height * 3 + 5
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5, y))
    assert grid.selection.blocks == [CellRange(3, 0, 3, 4)]


def test_typing_f2_and_double_click_ask_for_an_edit(grid, settle) -> None:
    grid.show_rows(FakeRows(10))
    settle(grid)
    requests: list[str | None] = []
    grid.edit_requested.connect(requests.append)
    grid.go_to(1, 1)
    QTest.keyClick(grid, Qt.Key.Key_F2)
    QTest.keyClicks(grid, "x")
    QTest.mouseDClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.cell_rect((1, 1)).center())
    assert requests == [None, "x", None]


def test_hidden_columns_are_neither_read_nor_stepped_on(grid, settle) -> None:
    rows = FakeRows(100)
    grid.show_rows(rows, hidden=["c1"])
    settle(grid)
    assert all("c1" not in names for _, _, names in rows.asked)
    grid.go_to(0, 0)
    QTest.keyClick(grid, Qt.Key.Key_Right)
    assert grid.selection.current == (0, 2)


def test_rows_without_columns_have_no_cell_to_be_at(grid, settle) -> None:
    grid.show_rows(FakeRows(10, columns=0))
    settle(grid)
    for widget in (grid.viewport(), grid.row_header.viewport()):
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
        assert grid.selection.current is None
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_End):
        QTest.keyClick(grid, key)
        assert grid.selection.current is None


def test_other_rows_keep_widths_order_and_place(grid, settle) -> None:
    grid.show_rows(FakeRows(1000))
    settle(grid)
    grid.horizontalHeader().resizeSection(0, 222)
    grid.horizontalHeader().moveSection(2, 0)
    grid.scroll_to_row(500)
    grid.show_rows(FakeRows(900))
    settle(grid)
    assert grid.horizontalHeader().sectionSize(0) == 222
    assert grid.place(2) == 0
    assert grid.top_row() == 500


def test_fewer_rows_leave_the_last_ones_on_screen(grid, settle) -> None:
    grid.show_rows(FakeRows(1000))
    grid.go_to(999, 0)
    grid.show_rows(FakeRows(5))
    settle(grid)
    assert grid.selection.current == (4, 0)
    assert list(grid.visible_rows()) == [0, 1, 2, 3, 4]


def test_double_click_on_an_edge_fits_the_column(grid, settle) -> None:
    grid.show_rows(FakeRows(100))
    settle(grid)
    header = grid.column_header
    header.resizeSection(0, 40)
    header.sectionHandleDoubleClicked.emit(0)
    assert header.sectionSize(0) >= header.wanted_width(0)


def test_columns_are_drawn_where_the_header_says_after_a_move(grid, settle) -> None:
    grid.show_rows(FakeRows(10))
    settle(grid)
    grid.horizontalHeader().moveSection(4, 0)
    assert grid.columns_between(0, 2000) == [4, 0, 1, 2, 3]
    assert grid.cell_rect((0, 0)).left() == 0
    assert grid.cell_at(QPoint(3, 3)) == (0, 0) and grid.column_at(0) == 4


def test_a_screen_reader_hears_the_current_cell(grid, settle) -> None:
    grid.show_rows(FakeRows(10))
    settle(grid)
    grid.go_to(0, 1)
    assert grid.currentIndex().row() == 0 and grid.currentIndex().data() == "NULL"
    grid.go_to(2, 0)
    assert grid.currentIndex().data() == "20"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_selection_has_an_outline_that_stands_out(grid, settle, mode) -> None:
    look = theme.current()
    look.set_mode(mode)
    grid.show_rows(FakeRows(100))
    settle(grid)
    grid.setFocus()
    grid.selection.select_block(CellRange(2, 1, 5, 3), (2, 1))
    image = grid.viewport().grab().toImage()
    rect = grid.block_rect(CellRange(2, 1, 5, 3), grid.visible_rows())
    right = {image.pixelColor(rect.right(), y).name() for y in range(rect.top() + 30, rect.bottom())}
    look.set_mode("system")
    assert len(right) == 1
    assert contrast(right.pop(), (DARK if mode == "dark" else LIGHT).surface) >= 3


def test_another_look_does_not_scroll(grid, settle) -> None:
    grid.show_rows(FakeRows(1000, columns=20))
    settle(grid)
    grid.go_to(3, 12)
    place = grid.horizontalScrollBar().value()
    assert place > 0
    look = theme.current()
    mode = look.mode
    try:
        for other in (theme.Mode.DARK, theme.Mode.LIGHT):
            look.set_mode(other)
            assert grid.horizontalScrollBar().value() == place
    finally:
        look.set_mode(mode)


def test_why_there_are_no_rows_is_said_in_the_middle_of_the_cells(qtbot, tasks) -> None:
    pane = GridPane(tasks)
    qtbot.addWidget(pane)
    pane.grid.show_rows(FakeRows(0))
    pane.set_nothing("No rows")
    pane.resize(500, 400)
    pane.show()
    for width in (500, 900):
        pane.resize(width, 400)
        cells = pane.grid.viewport()
        middle = cells.mapTo(pane, cells.rect().center())
        assert (pane.nothing.geometry().center() - middle).manhattanLength() <= 2


@pytest.mark.slow
def test_hidden_columns_between_two_that_are_shown_cost_nothing(grid, settle, monkeypatch) -> None:
    grid.show_rows(FakeRows(10, columns=10_000))
    settle(grid)
    grid.hide_columns({f"c{n}": n % 1000 != 7 for n in range(10_000)})
    settle(grid)
    header, looks = grid.column_header, []
    place = header.visualIndexAt
    monkeypatch.setattr(header, "visualIndexAt", lambda x: looks.append(x) or place(x))
    columns = grid.columns_between(0, grid.viewport().width() - 1)
    assert columns == list(range(7, 1000 * len(columns), 1000)) and len(columns) > 2
    assert len(looks) < 50
    grid.go_to(0, grid.place(9007))
    settle(grid)
    assert grid.columns_between(0, grid.viewport().width() - 1)[-1] == 9007
    grid.hide_columns(dict.fromkeys(grid.grid_model.names, False))
    settle(grid)
    assert grid.column_header.hiddenSectionCount() == 0


def test_names_of_columns_have_room_where_there_are_no_rows(grid) -> None:
    name = "the_scheduled_time_of_departure"
    grid.show_rows(TableRows(pa.table({"n": pa.array([], pa.int64()), name: pa.array([], pa.int64())})))
    assert grid.columnWidth(1) >= grid.column_header.wanted_width(1) > grid.columnWidth(0)


def test_very_long_names_leave_room_for_other_columns(grid, settle) -> None:
    names = [f"{'measured at the station by the lake ' * 6}{n}" for n in range(3)]
    grid.show_rows(TableRows(pa.table({name: [1, 2] for name in names})))
    settle(grid)
    grid.column_header.sectionHandleDoubleClicked.emit(0)
    assert all(grid.columnWidth(n) < 450 for n in range(3))
    assert grid.column_header.shown_name(0).endswith("…")


def test_names_have_room_also_beyond_the_edge_where_there_are_no_rows(grid) -> None:
    names = [f"the_scheduled_time_of_departure_{n}" for n in range(20)]
    grid.show_rows(TableRows(pa.table({name: pa.array([], pa.int64()) for name in names})))
    assert all(grid.columnWidth(n) >= grid.column_header.wanted_width(n) for n in range(20))


@pytest.mark.parametrize("key", [Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up])
def test_arrows_with_alt_do_not_move_the_cell(grid, settle, key) -> None:
    grid.show_rows(FakeRows(10))
    settle(grid)
    grid.go_to(2, 1)
    QTest.keyClick(grid, key, Qt.KeyboardModifier.AltModifier)
    assert grid.selection.current == (2, 1)
