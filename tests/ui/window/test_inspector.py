"""The panel beside the grid: the current row as a form, the current column at full depth."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QTreeWidget, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from lamella import agg, col
from lamella.core.query.steps import Compute, Group
from lamella.ui import theme
from lamella.ui.inspector.inspector import field_value
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]


def lines(tree: QTreeWidget) -> list[list[str]]:
    items = [tree.topLevelItem(place) for place in range(tree.topLevelItemCount())]
    return [
        [item.text(column) for column in range(tree.columnCount())] for item in items if not item.isHidden()
    ]


def opened(qtbot: QtBot, window: MainWindow, tab: DatasetTab, page: str) -> None:
    window.commands["inspector"].trigger()
    tab.inspector.show_page(page)
    tree = tab.inspector.row_page.tree if page == "row" else tab.inspector.column_page.figures
    qtbot.waitUntil(lambda: tree.topLevelItemCount() > 0)


def test_the_row_page_follows_the_current_row(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, go_to
) -> None:
    go_to(table_tab, 2, "delay")
    opened(qtbot, window, table_tab, "row")
    page = table_tab.inspector.row_page
    assert lines(page.tree) == [["delay", "24"], ["carrier", "NULL"], ["note", "row 2"]]
    go_to(table_tab, 4, "delay")
    qtbot.waitUntil(lambda: ["note", "row 4"] in lines(page.tree))
    assert page.title.text() == "Row 5"
    page.search.setText("row")
    assert lines(page.tree) == [["note", "row 4"]]


def test_nested_values_are_a_tree_that_stays_open(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled, go_to
) -> None:
    rows = [{"address": {"street": "A", "tags": ["x", None]}}, {"address": {"street": "B", "tags": []}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "nested.parquet")
    window.open_paths([tmp_path / "nested.parquet"])
    tab = settled()
    go_to(tab, 0, "address")
    opened(qtbot, window, tab, "row")
    tree = tab.inspector.row_page.tree

    def children(item: QTreeWidgetItem) -> list[tuple[str, str]]:
        return [(item.child(n).text(0), item.child(n).text(1)) for n in range(item.childCount())]

    top = tree.topLevelItem(0)
    assert children(top)[0] == ("street", "A")
    assert children(top.child(1)) == [("0", "x"), ("1", "NULL")]
    top.setExpanded(True)
    go_to(tab, 1, "address")
    qtbot.waitUntil(lambda: ("street", "B") in children(tree.topLevelItem(0)))
    assert tree.topLevelItem(0).isExpanded() and children(tree.topLevelItem(0).child(1)) == []


def test_a_map_is_a_tree_of_its_keys() -> None:
    value = pa.array([[("low", [1, None]), ("high", None)]], pa.map_(pa.string(), pa.list_(pa.int64())))
    field = field_value("limits", value)
    assert [(child.name, child.text) for child in field.children] == [("low", "[1, null]"), ("high", None)]
    assert [child.text for child in field.children[0].children] == ["1", None]


def test_the_value_of_a_field_is_copied_whole(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled, go_to
) -> None:
    text = "first line\n" + "x" * 5000
    pq.write_table(pa.table({"text": [text]}), tmp_path / "long.parquet")
    window.open_paths([tmp_path / "long.parquet"])
    tab = settled()
    go_to(tab, 0, "text")
    opened(qtbot, window, tab, "row")
    tree = tab.inspector.row_page.tree
    tree.setCurrentItem(tree.topLevelItem(0))
    qtbot.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == text


def test_the_column_page_has_figures_of_what_is_shown_and_of_all_rows(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    table_tab.set_filter(col("delay") > 400)
    tab = settled()
    go_to(tab, 0, "delay")
    opened(qtbot, window, tab, "column")
    page = tab.inspector.column_page
    qtbot.waitUntil(lambda: ["Rows", f"{tab.view.num_rows:,}", "1,000"] in lines(page.figures))
    figures = {line[0]: line[1:] for line in lines(page.figures)}
    assert figures["Min"] == ["401", "−50"] and figures["Max"] == ["449", "449"]
    assert page.histogram.isVisible() and "401" in page.histogram.accessibleName()
    tab.set_filter(None)
    qtbot.waitUntil(lambda: ["Rows", "1,000", ""] in lines(page.figures))
    tab.set_filter(col("delay") < 0)
    qtbot.waitUntil(lambda: {line[0][:1] for line in lines(page.values)} == {"−"})


@pytest.mark.slow
def test_dragging_over_bars_of_the_histogram_filters(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    go_to(table_tab, 0, "delay")
    opened(qtbot, window, table_tab, "column")
    bars = table_tab.inspector.column_page.histogram
    qtbot.waitUntil(bars.isVisible)
    low, high = (bars.bar_rect(place).center().toPoint() for place in (3, 5))
    qtbot.mousePress(bars, Qt.MouseButton.LeftButton, pos=low)
    qtbot.mouseMove(bars, high)
    qtbot.mouseRelease(bars, Qt.MouseButton.LeftButton, pos=high)
    tab = settled()
    met = tab.view.page(0, tab.view.num_rows, ["delay"]).column(0).to_pylist()
    delays = table_tab.table.read(["delay"]).column(0).to_pylist()
    assert tab.where.operator == "between" and met and min(met) > min(v for v in delays if v is not None)
    assert sorted(met) == sorted(v for v in delays if v is not None and min(met) <= v <= max(met))


@pytest.mark.slow
def test_its_figures_grow_with_the_text_and_leave_the_window_its_height(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, go_to
) -> None:
    go_to(table_tab, 0, "delay")
    opened(qtbot, window, table_tab, "column")
    figures, values = table_tab.inspector.column_page.figures, table_tab.inspector.column_page.values
    for scale in (1.0, 1.5):
        theme.current().set_text_scale(scale)
        window.resize(1000, 700)
        size = theme.current().tabular_font().pointSizeF()
        assert figures.topLevelItem(0).font(1).pointSizeF() == size
        assert values.topLevelItem(0).font(1).pointSizeF() == size
        qtbot.waitUntil(lambda: window.height() == 700)


def test_values_are_searched_and_one_is_a_filter(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    go_to(table_tab, 0, "carrier")
    opened(qtbot, window, table_tab, "column")
    page = table_tab.inspector.column_page
    qtbot.waitUntil(lambda: page.values.topLevelItemCount() == 4)
    assert sorted(line[0] for line in lines(page.values)) == ["(empty text)", "AA", "NULL", "UA"]
    assert {line[1] for line in lines(page.values)} == {"250"}
    qtbot.keyClicks(page.search, "u")
    qtbot.waitUntil(lambda: [line[0] for line in lines(page.values)] == ["UA"])
    page.values.itemActivated.emit(page.values.topLevelItem(0), 0)
    assert settled().where == (col("carrier") == "UA")


def test_the_column_page_has_one_scroll_bar_also_in_a_small_window_with_large_text(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, go_to
) -> None:
    """All values are reached by the keys: the page scrolls with them."""
    theme.current().set_text_scale(1.5)
    window.resize(1000, 700)
    go_to(table_tab, 0, "delay")
    opened(qtbot, window, table_tab, "column")
    page = table_tab.inspector.column_page
    qtbot.waitUntil(lambda: page.values.topLevelItemCount() == 50)
    bars = [area.verticalScrollBar() for area in table_tab.inspector.findChildren(QAbstractScrollArea)]
    qtbot.waitUntil(lambda: sum(bar.isVisible() for bar in bars) == 1)
    assert [bar.maximum() > 0 for bar in bars].count(True) == 1
    page.values.setFocus()
    for _ in range(2):  # the first one makes a value the current one
        QTest.keyClick(page.values, Qt.Key.Key_End)
    last = page.values.visualItemRect(page.values.currentItem())
    assert page.values.indexOfTopLevelItem(page.values.currentItem()) == 49
    assert page.values.viewport().visibleRegion().contains(last)


@pytest.mark.slow
def test_it_follows_what_is_computed(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    table_tab.add_step(Group(("carrier",), (("n", agg.count()),)))
    tab = settled()
    go_to(tab, 0, "n")
    opened(qtbot, window, tab, "column")
    qtbot.waitUntil(lambda: ["Distinct", "1", ""] in lines(tab.inspector.column_page.figures))


@pytest.mark.slow
def test_a_computed_column_has_figures_of_filtered_and_of_all_rows(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    table_tab.set_filter(col("delay") >= 400)
    settled().add_step(Compute((("hours", col("delay") / 100),)))
    tab = settled()
    go_to(tab, 0, "hours")
    opened(qtbot, window, tab, "column")
    qtbot.waitUntil(lambda: ["Rows", "100", "1,000"] in lines(tab.inspector.column_page.figures))
    assert ["Min", "4", "−0.5"] in lines(tab.inspector.column_page.figures)


def test_f4_opens_and_closes_it_and_nothing_is_read_while_it_is_closed(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, go_to
) -> None:
    go_to(table_tab, 0, "delay")
    opened(qtbot, window, table_tab, "row")
    qtbot.keyClick(table_tab.inspector, Qt.Key.Key_Escape)
    assert not table_tab.inspector.isVisible()
    texts = lines(table_tab.inspector.row_page.tree)
    go_to(table_tab, 7, "delay")
    assert lines(table_tab.inspector.row_page.tree) == texts
    window.commands["inspector"].trigger()
    qtbot.waitUntil(lambda: ["note", "row 7"] in lines(table_tab.inspector.row_page.tree))


@pytest.mark.slow
def test_texts_have_lengths(qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, go_to) -> None:
    go_to(table_tab, 0, "carrier")
    opened(qtbot, window, table_tab, "column")
    figures = {line[0]: line[1] for line in lines(table_tab.inspector.column_page.figures)}
    assert (figures["Characters"], figures["Mean length"], figures["Empty"]) == ("0 – 2", "1.3", "250")


@pytest.mark.slow
def test_dates_are_counted_per_unit_and_one_is_a_filter(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled, go_to
) -> None:
    moments = [dt.datetime(2023, 12, 31, 23), dt.datetime(2024, 1, 1, 7), dt.datetime(2024, 1, 8, 23), None]
    pq.write_table(
        pa.table({"at": pa.array(moments, pa.timestamp("us")), "n": [1, 2, 3, 4]}), tmp_path / "t.parquet"
    )
    window.open_paths([tmp_path / "t.parquet"])
    tab = settled()
    go_to(tab, 0, "at")
    opened(qtbot, window, tab, "column")
    page = tab.inspector.column_page

    def counted(title: str, *expected: tuple[str, str]) -> None:
        page.unit.setCurrentText(title)
        page.unit.activated.emit(page.unit.currentIndex())
        qtbot.waitUntil(lambda: [(line[0], line[1]) for line in lines(page.values)] == list(expected))

    counted("Per year", ("2023", "1"), ("2024", "2"), ("NULL", "1"))
    counted("Per day of the week", ("Monday", "2"), ("Sunday", "1"), ("NULL", "1"))
    counted("Per hour of the day", ("07:00", "1"), ("23:00", "2"), ("NULL", "1"))
    counted("Per month", ("2023-12", "1"), ("2024-01", "2"), ("NULL", "1"))
    page.values.itemActivated.emit(page.values.topLevelItem(1), 0)
    assert settled().view.num_rows == 2
    go_to(tab, 0, "n")
    qtbot.waitUntil(lambda: not page.unit.isVisible() and page.heading.isVisible())


@pytest.mark.slow
def test_units_of_time_keep_to_zones_and_to_the_calendar(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled, go_to
) -> None:
    moments = pa.array([0, 1_711_922_399_000_000], pa.timestamp("us", "Europe/Berlin"))  # the last of March
    far = pa.array([2**60, -(2**55)], pa.timestamp("us"))
    pq.write_table(pa.table({"at": moments, "far": far}), tmp_path / "t.parquet")
    window.open_paths([tmp_path / "t.parquet"])
    tab = settled()
    page = tab.inspector.column_page
    for name in ("at", "far"):
        go_to(tab, 0, name)
        opened(qtbot, window, tab, "column")
        qtbot.waitUntil(lambda name=name: page.title.text() == name and page.figures.topLevelItemCount() > 0)
        page.unit.setCurrentText("Per month")
        page.unit.activated.emit(page.unit.currentIndex())
        expected = ["1970-01", "2024-03"] if name == "at" else ["0828-04", "38504-08"]
        qtbot.waitUntil(lambda titles=expected: [line[0] for line in lines(page.values)] == titles)


@pytest.mark.slow
def test_the_current_column_stays_in_sight_when_the_inspector_opens(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled, go_to
) -> None:
    pq.write_table(pa.table({f"column number {n}": [1] for n in range(30)}), tmp_path / "wide.parquet")
    window.open_paths([tmp_path / "wide.parquet"])
    tab = settled()
    header = tab.grid.horizontalHeader()
    last = tab.grid.visible_columns()[-1]
    tab.grid.go_to(0, header.visualIndex(last))
    opened(qtbot, window, tab, "row")

    def right() -> int:
        return header.sectionViewportPosition(last) + header.sectionSize(last)

    qtbot.waitUntil(lambda: 0 < right() <= tab.grid.viewport().width())
