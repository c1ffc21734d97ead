"""The inspector's page about a table or file: columns, files, metadata, and which row groups are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from lamella import col
from lamella.core.query import agg
from lamella.core.query.line import Line
from lamella.core.query.steps import Group
from lamella.ui import theme
from lamella.ui.indexes.manager import IndexesDialog
from lamella.ui.inspector.table_page import KIND_WIDTH


@pytest.fixture
def grouped(window, tmp_path: Path, settled):
    """The tab of a file of four row groups, sorted by its numbers."""
    rows = pa.table({"n": list(range(1000)), "word": ["a", None] * 500, "s": [{"x": 1}] * 1000})
    path = tmp_path / "grouped.parquet"
    pq.write_table(rows.replace_schema_metadata({"made by": "a test"}), path, row_group_size=250)
    window.open_paths([path])
    return settled()


@pytest.fixture
def page(qtbot, window, grouped):
    window.commands["table_details"].trigger()
    table_page = grouped.inspector.table_page
    qtbot.waitUntil(lambda: table_page.storage is not None and table_page.is_settled)
    return table_page


def group(page, name: str):
    tops = [page.tree.topLevelItem(place) for place in range(page.tree.topLevelItemCount())]
    return next(top for top in tops if top.text(0) == name)


def test_columns_files_and_metadata_are_listed(qtbot, window, grouped, page):
    assert grouped.inspector.page == "table" and page.title.text() == "grouped.parquet"
    assert page.figures.text().startswith("1,000 rows · 3 columns · ") and "Parquet" in page.kind.text()
    columns = group(page, "Columns")
    assert [columns.child(n).text(0) for n in range(3)] == ["n", "word", "s"]
    tip = columns.child(1).toolTip(0)
    assert "word: string" in tip and "Encoding: dictionary\nCodec: snappy" in tip
    assert "Nulls, by statistics: 500\nLower bound: a\nUpper bound: a" in tip
    assert "in 4 chunks" in columns.child(2).toolTip(0)
    files = group(page, "Files")
    assert files.text(1) == "rows" and files.child(0).text(1) == "1,000"
    assert group(page, "Metadata").child(0).text(0).startswith("made by: ")
    assert page.tree.horizontalScrollBar().maximum() == 0, "sizes are in sight"
    assert page.tree.columnWidth(1) > theme.current().px(KIND_WIDTH), "names leave room for the types"
    page.grab()


def test_columns_and_files_open_to_their_storage_by_keys(page):
    tree = page.tree
    for name, place, expected in (
        ("Columns", 1, ["Encoding: dictionary", "Nulls, by statistics: 500"]),
        ("Files", 0, ["4 row groups"]),
    ):
        item = group(page, name).child(place)
        assert item.childCount() == 0, "filled when it is opened"
        tree.setCurrentItem(item)
        QTest.keyClick(tree, Qt.Key.Key_Right)
        lines = [item.child(n).text(0) for n in range(item.childCount())]
        assert set(expected) <= set(lines) and item.isExpanded()
        QTest.keyClick(tree, Qt.Key.Key_Left)
        QTest.keyClick(tree, Qt.Key.Key_Right)
        assert item.childCount() == len(lines)
        tree.setCurrentItem(item.child(0))
        QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        assert QGuiApplication.clipboard().text() == lines[0]


def test_names_paths_and_values_are_copied(tmp_path: Path, page):
    tree, copied = page.tree, QGuiApplication.clipboard()
    for name, word, text in (
        ("Columns", "name", "n"),
        ("Files", "path", str(tmp_path / "grouped.parquet")),
        ("Metadata", "value", "a test"),
    ):
        item = group(page, name).child(0)
        menu = tree.menu_of(item)
        assert [action.text() for action in menu.actions()] == [f"Copy the {word}"]
        menu.actions()[0].trigger()
        assert copied.text() == text
        copied.clear()
        tree.setCurrentItem(item)
        QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        assert copied.text() == text
    assert tree.menu_of(group(page, "Columns")) is None


@pytest.mark.slow
def test_files_of_one_name_are_told_apart_by_their_folders(qtbot, window, tmp_path, settled):
    for year in (2023, 2024):
        (tmp_path / "trips" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"n": [year]}), tmp_path / "trips" / f"year={year}" / "part-0.parquet")
    window.open_paths([tmp_path / "trips"])
    tab = settled()
    window.commands["table_details"].trigger()
    page = tab.inspector.table_page
    qtbot.waitUntil(lambda: page.storage is not None and page.is_settled)
    files = group(page, "Files")
    assert [files.child(n).text(0) for n in range(2)] == [
        "year=2023/part-0.parquet", "year=2024/part-0.parquet",
    ]  # fmt: skip


def test_a_column_is_searched_for_and_gone_to(qtbot, grouped, page):
    page.search.setText("WO")
    columns = group(page, "Columns")
    assert [columns.child(n).isHidden() for n in range(3)] == [True, False, True]
    QTest.mouseClick(
        page.tree.viewport(),
        Qt.MouseButton.LeftButton,
        pos=page.tree.visualItemRect(columns.child(1)).center(),
    )
    assert grouped.grid.current_name == "word"


def test_row_groups_that_the_filter_skips_are_drawn(qtbot, grouped, page, settled):
    assert page.groups.text() == "4 row groups" and len(page.strip.rects()) == 4
    grouped.set_filter(col("n") >= 600)
    settled()
    qtbot.waitUntil(lambda: page.is_settled and page.storage.num_skipped == 2)
    assert page.groups.text() == "4 row groups, 2 skipped by the filter"
    tips = [page.strip.tip_at(page.strip.width() * part) for part in (0.1, 0.6)]
    assert "Row group 1 of 4, skipped" in tips[0] and "n: 0 to 249" in tips[0]
    assert "Row group 3 of 4, read" in tips[1] and "n: 500 to 749" in tips[1]
    assert "2 skipped" in page.strip.accessibleName()
    page.strip.grab()


@pytest.mark.slow
def test_a_computed_result_says_what_it_is(qtbot, grouped, page, settled):
    grouped.apply(Line.of([Group(("word",), (("n", agg.count()),))]))
    settled()
    qtbot.waitUntil(lambda: page.is_settled and "2 rows" in page.figures.text())
    assert page.kind.text().startswith("Computed from 1,000 rows") and not page.strip.isVisible()


@pytest.mark.slow
def test_a_table_says_its_store_and_version(qtbot, window, table, table_tab, settled):
    table.set_metadata({"source": "BTS"})
    table_tab.reload()
    settled()
    window.commands["table_details"].trigger()
    page = table_tab.inspector.table_page
    qtbot.waitUntil(lambda: page.storage is not None and page.is_settled)
    assert page.kind.text() == "Table in My tables, version 2"
    assert group(page, "Metadata").child(0).text(0) == "source: BTS"
    columns = group(page, "Columns")
    assert f"{columns.text(2)} columns" in page.figures.text()


def test_the_page_of_a_table_leads_to_its_indexes(qtbot, window, table_tab, go_to, settled):
    go_to(table_tab, 3, "delay")
    window.commands["table_details"].trigger()
    page = table_tab.inspector.table_page
    qtbot.waitUntil(lambda: page.storage is not None and page.is_settled)
    QTest.mouseClick(page.indexes, Qt.MouseButton.LeftButton)
    dialog = window.findChild(IndexesDialog)
    assert dialog.isVisible()
    dialog.begin_new()
    assert dialog.form.index.columns == ("delay",), "that of the cursor"
    dialog.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Qt knows the key there, or there is none")
def test_shift_f10_opens_the_menu_of_a_list_in_a_dialog(qtbot, window, table, table_tab, go_to):
    table.indexes.create("delay")
    go_to(table_tab, 3, "delay")
    window.commands["indexes"].trigger()
    dialog = window.findChild(IndexesDialog)
    qtbot.waitUntil(lambda: dialog.list.rowCount() == 1)
    dialog.activateWindow()
    dialog.list.setFocus()
    qtbot.waitUntil(dialog.list.hasFocus)
    QTest.keyClick(dialog.list, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    actions = {action.text(): action for action in menu.actions()}
    assert {"New index…", "Drop…", "Copy the line", "Copy all lines"} <= actions.keys()
    actions["Copy the line"].trigger()
    assert QApplication.clipboard().text().split("\t")[:2] == ["delay", "Sorted"]
    menu.close()
    dialog.close()


def test_a_file_has_no_indexes(page):
    assert not page.indexes.isVisible()
