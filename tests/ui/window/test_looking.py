from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel

from lamella import col
from lamella.core.errors import LamellaError
from lamella.core.filters import Filter
from lamella.core.jobs import Job
from lamella.core.query.find import RowSearch
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.dialogs.go_to_row import GoToRow
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.grid.selection import CellRange
from lamella.ui.tasks import READERS


def click_header(tab, name: str, modifier=Qt.KeyboardModifier.NoModifier) -> None:
    header = tab.grid.column_header
    column = tab.grid.grid_model.names.index(name)
    x = header.sectionViewportPosition(column) + 12
    QTest.mouseClick(
        header.viewport(),
        Qt.MouseButton.LeftButton,
        modifier,
        header.viewport().rect().center().__class__(x, 10),
    )


def test_a_filter_shows_its_rows_and_says_how_many(window, file_tab, settled, cell_text) -> None:
    file_tab.set_filter(col("delay") > 400)
    tab = settled()
    matching = sum((i * 37) % 500 - 50 > 400 for i in range(1000))
    assert tab.view.num_rows == matching
    assert tab.status.startswith(f"{matching:,} of 1,000 rows · ")
    assert int(cell_text(tab, 0, "delay")) > 400
    window.commands["clear_filter"].trigger()
    assert settled().status == "1,000 rows"


@pytest.mark.slow
def test_a_filter_that_nothing_meets_says_so(file_tab, settled) -> None:
    file_tab.set_filter(col("delay") > 10_000)
    tab = settled()
    assert tab.pane.nothing.text() == "None of 1,000 rows meets the filter"
    tab.set_filter(None)
    settled()
    assert not tab.pane.nothing.isVisible()


def test_clicking_a_header_sorts_up_down_and_off(file_tab, settled, cell_text) -> None:
    click_header(file_tab, "delay")
    tab = settled()
    assert tab.sort == (SortKey("delay"),) and cell_text(tab, 0, "delay") == "-50"
    click_header(tab, "delay")
    tab = settled()
    assert tab.sort == (SortKey("delay", True),) and cell_text(tab, 0, "delay") == "449"
    click_header(tab, "delay")
    tab = settled()
    assert tab.sort == () and cell_text(tab, 1, "delay") == "-13"


@pytest.mark.slow
def test_shift_click_adds_a_sort_key(file_tab, settled) -> None:
    click_header(file_tab, "carrier")
    settled()
    click_header(file_tab, "delay", Qt.KeyboardModifier.ShiftModifier)
    assert settled().sort == (SortKey("carrier"), SortKey("delay"))


def test_keys_sort_within_the_order_that_there_is(window, file_tab, settled, go_to, qtbot) -> None:
    control, alt, shift = (
        getattr(Qt.KeyboardModifier, f"{name}Modifier") for name in ("Control", "Alt", "Shift")
    )
    go_to(file_tab, 0, "carrier")
    assert not window.commands["sort_within"].isEnabled()
    qtbot.keyClick(file_tab.grid, Qt.Key.Key_Up, control | alt)
    settled()
    go_to(file_tab, 0, "delay")
    for delay in ((SortKey("delay"),), (SortKey("delay", True),), ()):
        qtbot.keyClick(file_tab.grid, Qt.Key.Key_Up, control | alt | shift)
        assert settled().sort == (SortKey("carrier"), *delay)


def test_control_click_on_a_header_selects_columns(file_tab, settled) -> None:
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    click_header(file_tab, "delay", control)
    assert file_tab.grid.selection.blocks == [CellRange(0, 0, 999, 0)]
    click_header(file_tab, "note", control | shift)
    assert file_tab.grid.selection.blocks == [CellRange(0, 0, 999, 2)]
    click_header(file_tab, "carrier", control)
    assert file_tab.grid.selection.blocks == [CellRange(0, 1, 999, 1)]
    assert file_tab.sort == () and file_tab.grid.hasFocus()


@pytest.mark.slow
def test_filtering_for_a_cell_takes_its_value_and_null(window, file_tab, settled, go_to) -> None:
    go_to(file_tab, 0, "carrier")
    window.commands["filter_equal"].trigger()
    tab = settled()
    qty = tab.view.num_rows
    assert qty == 250 and tab.where == (col("carrier") == "AA")
    tab.set_filter(None)
    settled()
    go_to(tab, 2, "carrier")
    window.commands["filter_unequal"].trigger()
    assert settled().view.num_rows == 750


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "count", "condition"),
    [
        ("filter_at_least", 1, col("delay") >= -13),
        ("filter_at_most", 1, col("delay") <= -13),
        ("filter_between", 3, col("delay").between(-13, 61)),
        ("filter_any", 2, col("delay").is_in([-13, 24])),
    ],
)
def test_selected_cells_make_conditions(
    window, file_tab, settled, go_to, action: str, count: int, condition: Filter
) -> None:
    go_to(file_tab, 1, "delay")
    for _ in range(count - 1):
        QTest.keyClick(file_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    window.commands[action].trigger()
    assert settled().where == condition and file_tab.view.num_rows < 1000


def test_selected_texts_and_nulls_make_a_list(window, file_tab, settled, go_to) -> None:
    go_to(file_tab, 0, "carrier")
    for _ in range(2):
        QTest.keyClick(file_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    window.commands["filter_any"].trigger()
    assert settled().where == col("carrier").is_in(["AA", "UA"]) | col("carrier").is_null()
    file_tab.set_filter(None)
    settled()
    go_to(file_tab, 0, "note")
    window.commands["filter_starts"].trigger()
    assert settled().where == col("note").starts_with("row 0")
    menu = window.commands.context_menu("cell", window)
    assert [a.menu().title() for a in menu.actions() if a.menu()] == ["Filter by this"]


def test_between_selected_values_finds_them_all_nan_among_them(window, tmp_path, settled, go_to) -> None:
    pq.write_table(pa.table({"x": [float("nan"), 1.0, 2.0, 0.0]}), tmp_path / "nan.parquet")
    window.open_paths([tmp_path / "nan.parquet"])
    go_to(settled(), 0, "x")
    for _ in range(2):
        QTest.keyClick(window.tabs.dataset_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    window.commands["filter_between"].trigger()
    assert settled().view.num_rows == 3


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("action", ["filter_any", "filter_between"])
def test_selected_lists_make_no_condition(window, tmp_path, settled, go_to, action: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"tags": [["a"], ["b"], None]}), tmp_path / "lists.parquet")
    window.open_paths([tmp_path / "lists.parquet"])
    tab = settled()
    go_to(tab, 0, "tags")
    QTest.keyClick(tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    window.commands[action].trigger()
    assert "cannot be compared" in tab.messages.label.text() and settled().where is None


def test_copying_takes_whole_texts_with_headers_and_quotes(window, tmp_path, settled, qtbot) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    long = "x" * 1000
    data = pa.table({"a": ['say "hi"\tyou', None, long], "b": [1.5, 2.0, None]})
    pq.write_table(data, tmp_path / "texts.parquet")
    window.open_paths([tmp_path / "texts.parquet"])
    tab = settled()
    window.commands["select_all"].trigger()
    window.commands["copy_headers"].trigger()
    expected = f'a\tb\n"say ""hi""\tyou"\t1.5\n\t2\n{long}\t'
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == expected)
    tab.grid.go_to(1, 1)
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == "2")


@pytest.fixture
def texts_tab(window, tmp_path, settled):
    """Three texts: JSON, two lines, and one that begins with a quote."""
    data = pa.table({"a": ['{"a":1}', "two\nlines", '"so" he said', None], "b": [1, 2, 3, 4]})
    pq.write_table(data, tmp_path / "three texts.parquet")
    window.open_paths([tmp_path / "three texts.parquet"])
    return settled()


@pytest.mark.slow
@pytest.mark.parametrize(("row", "text"), [*enumerate(['{"a":1}', "two\nlines", '"so" he said', ""])])
def test_one_cell_is_copied_as_it_is(window, texts_tab, qtbot, row, text) -> None:
    QGuiApplication.clipboard().setText("before")
    texts_tab.grid.go_to(row, 0)
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == text)
    assert not texts_tab.messages.isVisible()


@pytest.mark.slow
def test_several_cells_are_quoted_only_where_they_would_be_taken_apart(window, texts_tab, qtbot) -> None:
    window.commands["select_all"].trigger()
    window.commands["copy"].trigger()
    expected = '{"a":1}\t1\n"two\nlines"\t2\n"""so"" he said"\t3\n\t4'
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == expected)
    assert texts_tab.messages.label.text() == "Copied 4 rows"


def test_copying_much_asks_first(window, file_tab, monkeypatch, qtbot) -> None:
    monkeypatch.setattr("lamella.ui.window.copying.ASK_ABOVE", 100)
    QGuiApplication.clipboard().setText("before")
    file_tab.grid.select_all()
    window.commands["copy"].trigger()
    assert "3,000 cells" in file_tab.messages.label.text()
    file_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().count("\n") == 999)


@pytest.mark.slow
def test_hidden_columns_come_back(window, file_tab, go_to) -> None:
    go_to(file_tab, 0, "carrier")
    assert not window.commands["show_columns"].isEnabled()
    window.commands["hide_column"].trigger()
    assert file_tab.grid.isColumnHidden(1) and window.commands["show_columns"].isEnabled()
    window.commands["show_columns"].trigger()
    assert not file_tab.grid.isColumnHidden(1)


def test_going_to_a_row_refuses_what_is_not_there(window, file_tab) -> None:
    window.commands["go_to_row"].trigger()
    dialog = window.findChild(GoToRow)
    dialog.field.setText("1,001")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert "1 to 1,000" in dialog.problem.text() and dialog.problem.isVisible()
    dialog.field.setText("1,000")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert file_tab.grid.selection.current[0] == 999 and not dialog.isVisible()


def test_the_look_is_switched_and_remembered(window, memory) -> None:
    window.commands["theme_dark"].trigger()
    assert memory.theme == "dark" and window.commands["theme_dark"].isChecked()
    window.status.look.click()
    assert memory.theme == "light" and not window.commands["theme_dark"].isChecked()
    window.commands["text_larger"].trigger()
    assert memory.text_scale > 1
    window.commands["text_normal"].trigger()
    assert memory.text_scale == 1


def test_the_look_in_force_stays_marked_and_nothing_is_styled_again(window, qtbot) -> None:
    with qtbot.assertNotEmitted(theme.current().changed):
        window.commands["theme_system"].trigger()
        window.commands["text_normal"].trigger()
    checked = [name for name in theme.Mode if window.commands[f"theme_{name}"].isChecked()]
    assert checked == [theme.Mode.SYSTEM]


@pytest.mark.slow
def test_commands_are_found_by_a_part_of_their_name(window, file_tab, settled) -> None:
    file_tab.grid.go_to(0, 0)
    window.commands["palette"].trigger()
    palette = window.findChild(CommandPalette)
    QTest.keyClicks(palette.field, "sort desc")
    assert [offer.name for offer in palette.offers] == ["Sort descending"]
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert settled().sort == (SortKey("delay", True),)


@pytest.mark.slow
def test_a_tab_behind_another_is_laid_out_for_other_text_when_it_is_shown(
    window, file_tab, table_tab, qtbot
) -> None:
    window.tabs.show_tab(table_tab)
    before = table_tab.grid.column_header.height()
    theme.current().set_text_scale(1.5)
    QApplication.processEvents()
    height, top = table_tab.grid.column_header.height(), table_tab.grid.viewport().y()
    assert height > before
    window.tabs.show_tab(file_tab)
    qtbot.waitUntil(file_tab.grid.isVisible)
    assert (file_tab.grid.column_header.height(), file_tab.grid.viewport().y()) == (height, top)


def test_dialogs_open_without_blocking(window, file_tab) -> None:
    for action in ("about", "export", "go_to_row"):
        window.commands[action].trigger()
    assert len([d for d in window.findChildren(QDialog) if d.isVisible()]) >= 3


def test_stop_leaves_what_was_shown_and_says_so(window, file_tab, settled, qtbot) -> None:
    go_on = threading.Event()
    for _ in range(READERS):
        window.tasks.read(lambda job: go_on.wait(60), quiet=True)
    file_tab.set_filter(col("delay") > 400)
    assert "counting…" in file_tab.status
    qtbot.waitUntil(window.commands["stop"].isEnabled)
    window.commands["stop"].trigger()
    go_on.set()
    qtbot.waitUntil(lambda: "Stopped" in file_tab.messages.label.text())
    assert file_tab.view.num_rows == 1000
    file_tab.messages.buttons[0].click()
    assert settled().view.num_rows < 1000


def test_stop_during_a_sort_leaves_the_marks_of_the_rows_shown(
    window, file_tab, settled, qtbot, cell_text
) -> None:
    click_header(file_tab, "carrier")
    settled()
    go_on = threading.Event()
    for _ in range(READERS):
        window.tasks.read(lambda job: go_on.wait(60), quiet=True)
    click_header(file_tab, "delay", Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(window.commands["stop"].isEnabled)
    window.commands["stop"].trigger()
    go_on.set()
    qtbot.waitUntil(lambda: "Stopped" in file_tab.messages.label.text())
    assert file_tab.sort == file_tab.grid.column_header.sort == (SortKey("carrier"),)
    QTest.mouseClick(file_tab.messages.buttons[0], Qt.MouseButton.LeftButton)
    tab = settled()
    assert tab.sort == tab.grid.column_header.sort == (SortKey("carrier"), SortKey("delay"))


@pytest.mark.slow
def test_a_sort_that_fails_leaves_the_marks_of_the_rows_shown(file_tab, settled, qtbot, monkeypatch) -> None:
    click_header(file_tab, "carrier")
    settled()
    with monkeypatch.context() as patch:
        patch.setattr(RowSearch, "run", lambda self, job=None: (_ for _ in ()).throw(LamellaError("No room")))
        click_header(file_tab, "delay")
        qtbot.waitUntil(lambda: "No room" in file_tab.messages.label.text())
    assert file_tab.grid.column_header.sort == (SortKey("carrier"),)
    QTest.mouseClick(file_tab.messages.buttons[0], Qt.MouseButton.LeftButton)
    assert settled().grid.column_header.sort == (SortKey("delay"),)


@pytest.mark.slow
def test_filtering_for_a_cell_that_cannot_be_compared_says_so(
    window, tmp_path, settled, go_to, qtbot
) -> None:
    pq.write_table(pa.table({"stops": pa.array([["JFK"], None])}), tmp_path / "stops.parquet")
    window.open_paths([tmp_path / "stops.parquet"])
    tab = settled()
    go_to(tab, 0, "stops")
    window.commands["filter_equal"].trigger()
    qtbot.waitUntil(tab.messages.isVisible)
    assert tab.messages.label.text() == "Column 'stops': values of this type cannot be compared yet"
    assert tab.where is None
    go_to(tab, 1, "stops")
    window.commands["filter_equal"].trigger()
    assert settled().where == col("stops").is_null()


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Filter | None]:
    """The filters for which rows were found or counted."""
    filters: list[Filter | None] = []
    inside = threading.local()  # `count` may run the search itself
    for name in ("run", "count"):
        plain = getattr(RowSearch, name)

        def noted(search: RowSearch, job: Job | None = None, plain=plain):
            if not getattr(inside, "search", False):
                filters.append(search.where)
            inside.search = True
            try:
                return plain(search, job)
            finally:
                inside.search = False

        monkeypatch.setattr(RowSearch, name, noted)
    return filters


@pytest.mark.slow
def test_a_filter_is_evaluated_once_for_its_count_and_the_grid(table_tab, settled, evaluations) -> None:
    where = col("delay") > 400
    table_tab.set_filter(where)
    tab = settled()
    assert evaluations == [where]
    assert tab.status.startswith(f"{tab.view.num_rows:,} of 1,000 rows")


@pytest.mark.slow
def test_a_single_condition_in_the_builder_is_evaluated_once(table_tab, settled, evaluations) -> None:
    where = col("delay") > 400
    table_tab.set_filter(where)
    tab = settled()
    tab.steps.edit_filter()
    settled()
    assert evaluations == [where]
    (row,) = tab.steps.editor.builder.findChildren(ConditionRow)
    counts = [label.text() for label in row.findChildren(QLabel) if "condition" in label.accessibleName()]
    assert counts == [f"{tab.view.num_rows:,}"]


@pytest.mark.slow
def test_each_of_several_conditions_in_the_builder_is_counted_alone(
    table_tab, settled, evaluations, qtbot
) -> None:
    late, carrier = col("delay") > 400, col("carrier") == "AA"
    table_tab.set_filter(late & carrier)
    settled()
    table_tab.steps.edit_filter()
    qtbot.waitUntil(lambda: len(evaluations) == 3)
    settled()
    assert sorted(map(str, evaluations)) == sorted(map(str, [late & carrier, late, carrier]))


@pytest.mark.slow
def test_rows_that_change_are_counted_with_the_grid(table_tab, table, settled, evaluations, window) -> None:
    where = col("delay") > 400
    table_tab.set_filter(where)
    before = settled().view.num_rows
    table.update_where(where & (col("carrier") == "AA"), {"$set": {"delay": 0}})
    evaluations.clear()
    table_tab.reload()
    tab = settled()
    assert evaluations == [where] and tab.view.num_rows < before
    assert tab.status.startswith(f"{tab.view.num_rows:,} of 1,000 rows")


@pytest.mark.slow
def test_a_stopped_sort_leaves_the_marks_of_the_rows_that_are_shown(window, file_tab, settled, qtbot) -> None:
    click_header(file_tab, "carrier")
    tab = settled()
    go_on = threading.Event()
    for _ in range(READERS):
        window.tasks.read(lambda job: go_on.wait(10), quiet=True)
    click_header(tab, "delay")
    qtbot.waitUntil(window.commands["stop"].isEnabled)
    window.commands["stop"].trigger()
    go_on.set()
    qtbot.waitUntil(lambda: "Stopped" in tab.messages.label.text())
    assert tab.grid.column_header.sort_marks == {"carrier": (False, 1)}


def places(tab) -> list[QPoint]:
    """The positions of the first cell and the first header in the window."""
    grid = tab.grid
    corner = grid.viewport().mapTo(tab, QPoint())
    return [corner, corner + QPoint(grid.columnViewportPosition(0), grid.row_top(0))]


@pytest.mark.slow
def test_a_message_moves_no_cell(file_tab, settled) -> None:
    before = places(file_tab)
    file_tab.messages.say("Copied 2 rows", ("Undo", lambda: None))
    QApplication.processEvents()
    assert places(file_tab) == before
    assert file_tab.pane.rect().contains(file_tab.messages.geometry())


@pytest.mark.slow
def test_a_filter_keeps_the_width_of_the_row_numbers(window, tmp_path, settled) -> None:
    pq.write_table(pa.table({"a": range(200_000)}), tmp_path / "many.parquet")
    window.open_paths([tmp_path / "many.parquet"])
    tab = settled()
    before = tab.grid.row_header.width()
    tab.set_filter(col("a") < 5)
    assert settled().view.num_rows == 5
    assert tab.grid.row_header.width() == before


@pytest.mark.slow
def test_the_window_fits_a_small_screen_at_large_text(window, file_tab, settled) -> None:
    file_tab.set_filter((col("delay") > 5) & ((col("delay") < 400) | (col("carrier") == "AA")))
    settled()
    window.commands["filter"].trigger()
    window.commands["text_larger"].trigger()
    window.commands["text_larger"].trigger()
    window.commands["text_larger"].trigger()
    assert theme.current().text_scale == 1.5
    QApplication.processEvents()
    window.resize(1000, 700)
    least = window.minimumSizeHint()
    assert least.width() <= 1000 and least.height() <= 700
    window.commands["text_normal"].trigger()


@pytest.mark.slow
@pytest.mark.parametrize("key", [Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Tab])
def test_keys_do_not_hang_while_every_column_is_hidden(qtbot, table_tab, settled, go_to, key) -> None:
    tab = settled()
    go_to(tab, 0, "note")
    for column in range(tab.grid.grid_model.columnCount()):
        tab.grid.setColumnHidden(column, True)
    qtbot.keyClick(tab.grid, key)
    assert tab.grid.selection.current[0] == (0 if key == Qt.Key.Key_Tab else 1)
