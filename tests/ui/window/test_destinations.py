"""Columns, tables, views, tabs and files are found by part of their name and shown."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from lamella.ui.dialogs.command_palette import CommandPalette
from lamella.ui.window.action_state import current_column
from lamella.ui.window.dataset_tab import DatasetTab

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def wide_tab(window, tmp_path: Path, settled) -> DatasetTab:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{n:04}": [n, n + 1] for n in range(10_000)}), path)
    window.open_paths([path])
    return settled()


def open_finder(window, qtbot) -> CommandPalette:
    qtbot.keyClick(window.tabs.dataset_tab.grid, Qt.Key.Key_G, CONTROL | SHIFT)
    return window.findChild(CommandPalette)


def choose(qtbot, palette: CommandPalette, text: str) -> None:
    qtbot.keyClicks(palette.field, text)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)


@pytest.mark.slow
def test_a_column_of_ten_thousand_is_found_by_its_name(window, wide_tab, qtbot) -> None:
    finder = open_finder(window, qtbot)
    assert len(finder.offers) == 10_000
    choose(qtbot, finder, "C9876")
    assert current_column(wide_tab) == "c9876" and wide_tab.grid.hasFocus()
    assert 9876 in wide_tab.grid.visible_columns()


def test_a_hidden_column_is_found_and_shown_again(window, file_tab, qtbot, go_to) -> None:
    go_to(file_tab, 5, "note")
    window.commands["hide_column"].trigger()
    assert file_tab.grid.isColumnHidden(2)
    finder = open_finder(window, qtbot)
    assert [offer.detail for offer in finder.offers] == ["int32", "string", "string · hidden"]
    choose(qtbot, finder, "note")
    assert not file_tab.grid.isColumnHidden(2) and not window.commands["show_columns"].isEnabled()
    assert file_tab.grid.selection.current == (5, 2)


def test_letters_typed_before_the_palette_is_active_reach_it(window, file_tab, qtbot) -> None:
    """The desktop sends them to the main window."""
    for action in ("palette", "go_to_column"):
        window.commands[action].trigger()
        palette = window.findChild(CommandPalette)
        for key in (Qt.Key.Key_N, Qt.Key.Key_O, Qt.Key.Key_Backspace):
            qtbot.keyClick(window.windowHandle(), key)
        assert palette.field.text() == "n"
        qtbot.keyClick(window.windowHandle(), Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: window.findChild(CommandPalette) is None)
        assert file_tab.grid.hasFocus()


def test_commands_of_a_submenu_are_found_by_its_name(window, qtbot) -> None:
    window.commands["palette"].trigger()
    palette = window.findChild(CommandPalette)
    for text, names in (
        ("move store", ["Store: Move"]),
        ("verify", ["Store: Verify"]),
        ("new store", ["New store"]),
    ):
        palette.field.setText(text)
        assert [offer.name for offer in palette.offers] == names
    palette.reject()


@pytest.mark.parametrize(("text", "title"), [("unpiv", "Unpivot"), ("ranges", "Ranges"), ("samp", "Sample")])
def test_a_step_is_added_by_its_name(window, file_tab, qtbot, text: str, title: str) -> None:
    window.commands["palette"].trigger()
    choose(qtbot, window.findChild(CommandPalette), text)
    assert [chip.state.text for chip in file_tab.steps.bar.chips] == [f"{title} …"]
    assert file_tab.steps.editor is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["go_to_column", "palette"])
def test_what_leads_into_a_tab_closes_with_it(qtbot, window, file_tab, name: str) -> None:
    window.commands[name].trigger()
    palette = window.findChild(CommandPalette)
    with qtbot.waitSignal(palette.rejected):
        window.tabs.close_at(0)


@pytest.mark.slow
def test_the_finder_begins_at_the_current_column(window, file_tab, qtbot, go_to) -> None:
    go_to(file_tab, 3, "carrier")
    finder = open_finder(window, qtbot)
    assert finder.list.currentIndex().data() == "carrier"


def test_columns_are_gone_to_where_there_are_no_rows(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({f"c{n}": pa.array([], pa.int8()) for n in range(50)}), path)
    window.open_paths([path])
    tab = settled()
    choose(qtbot, open_finder(window, qtbot), "c49")
    assert 49 in tab.grid.visible_columns()


@pytest.mark.slow
def test_names_of_columns_may_be_alike_empty_or_long(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("a,a,," + "x" * 1000 + "\n1,2,3,4\n")
    window.open_paths([path])
    tab = settled()
    finder = open_finder(window, qtbot)
    assert len(finder.offers) == 4
    choose(qtbot, finder, "xxx")
    assert current_column(tab) == "x" * 1000


def palette_of(window) -> CommandPalette:
    window.commands["palette"].trigger()
    return next(palette for palette in window.findChildren(CommandPalette) if palette.isVisible())


@pytest.mark.slow
def test_the_palette_finds_a_column(window, file_tab, qtbot) -> None:
    choose(qtbot, palette_of(window), "carrier")
    assert current_column(file_tab) == "carrier"


def test_the_palette_finds_a_table(window, table, file_tab, settled, qtbot) -> None:
    window.library.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.entries("table")))
    palette = palette_of(window)
    qtbot.keyClicks(palette.field, "flights")
    tables = [(o.name, o.detail) for o in palette.offers if o.group == "Tables"]
    assert tables == [("flights", "My tables")]
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)
    assert settled().table is not None


@pytest.mark.slow
def test_the_palette_finds_a_view(window, table, table_tab, settled, qtbot) -> None:
    table.store.views.save("late ones", table.where("delay > 400"))
    window.library.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.entries("view")))
    choose(qtbot, palette_of(window), "late")
    qtbot.waitUntil(lambda: bool(table_tab.line.steps))
    assert settled().view.num_rows < 1000


@pytest.mark.slow
def test_the_palette_finds_open_tabs_and_recent_files(window, file, file_tab, settled, memory, qtbot) -> None:
    widget = QWidget()
    window.tabs.add(widget, "Benchmark of mine", "benchmark", "")
    choose(qtbot, palette_of(window), "flights")
    assert window.tabs.current is file_tab
    choose(qtbot, palette_of(window), "of mine")
    assert window.tabs.current is widget
    window.tabs.close_at(0)
    window.tabs.close_at(0)
    palette = palette_of(window)
    qtbot.keyClicks(palette.field, "flights.par")
    assert [(o.group, o.detail) for o in palette.offers] == [("Recent files", str(file.parent))]
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert settled().key == (str(file),)
