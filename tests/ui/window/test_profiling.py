"""All columns of a tab as a table of figures: by clicks and keys, with the tab's filter, and by thousands."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from lamella import col
from lamella.core.query import agg
from lamella.core.query.line import Line
from lamella.core.query.steps import Group
from lamella.ui.profiles.figures import Figure, export_table
from lamella.ui.profiles.view import ProfilesView
from lamella.ui.window.dataset_tab import DatasetTab


@pytest.fixture
def view(qtbot, window, file_tab) -> ProfilesView:
    return opened(qtbot, window, file_tab)


def opened(qtbot, window, tab: DatasetTab) -> ProfilesView:
    window.commands["all_columns"].trigger()
    complete(qtbot, tab.profiling.view)
    return tab.profiling.view


def complete(qtbot, view: ProfilesView) -> None:
    qtbot.waitUntil(lambda: view.loader.num_known == len(view.rows) and not view.loader.busy)


def names(view: ProfilesView) -> list[str]:
    return [row.name for row in view.model.rows]


def text(view: ProfilesView, name: str, figure: Figure) -> str:
    return next(row for row in view.rows if row.name == name).text(figure)


def click_header(qtbot, view: ProfilesView, figure: Figure) -> None:
    header = view.table.horizontalHeader()
    place = header.sectionViewportPosition(figure) + 20
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place, 8))


def test_every_column_has_its_figures(view):
    assert names(view) == ["delay", "carrier", "note"]
    assert text(view, "delay", Figure.TYPE) == "int32" and text(view, "delay", Figure.NULLS) == "0%"
    assert text(view, "delay", Figure.MIN) == "\u221250" and text(view, "delay", Figure.MAX) == "449"
    assert text(view, "delay", Figure.MEAN) and text(view, "delay", Figure.MEDIAN)
    assert text(view, "carrier", Figure.NULLS) == "25%" and text(view, "carrier", Figure.DISTINCT) == "3"
    assert "25%" in text(view, "carrier", Figure.TOP) and text(view, "carrier", Figure.MEAN) == ""


@pytest.mark.slow
def test_table_follows_the_filter_of_the_tab(qtbot, view, file_tab):
    file_tab.set_filter(col("delay") > 400)
    qtbot.waitUntil(lambda: not file_tab.loader.running)
    complete(qtbot, view)
    assert int(text(view, "delay", Figure.MIN)) == 401 and view.rows[0].profile.rows < 1000


@pytest.mark.slow
def test_columns_of_groups_have_figures_too(qtbot, view, file_tab):
    file_tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    qtbot.waitUntil(lambda: names(view) == ["carrier", "n"])
    complete(qtbot, view)
    assert text(view, "n", Figure.MAX) == "250"


@pytest.mark.slow
def test_header_sorts_by_a_figure_and_back(qtbot, view):
    click_header(qtbot, view, Figure.DISTINCT)
    assert names(view) == ["carrier", "delay", "note"]
    click_header(qtbot, view, Figure.DISTINCT)
    assert names(view) == ["note", "delay", "carrier"]
    click_header(qtbot, view, Figure.DISTINCT)
    assert names(view) == ["delay", "carrier", "note"]
    click_header(qtbot, view, Figure.MEAN)
    assert names(view)[0] == "delay"
    click_header(qtbot, view, Figure.MEAN)
    assert names(view)[0] == "delay"  # what has none comes last either way


@pytest.mark.slow
def test_the_title_of_the_sorted_column_is_marked_and_has_room(qtbot, view):
    header = view.table.horizontalHeader()
    titles = []
    for _ in range(3):
        click_header(qtbot, view, Figure.MIN)
        titles.append(view.model.headerData(Figure.MIN, Qt.Orientation.Horizontal))
    assert titles == ["Min ↑", "Min ↓", "Min"] and not header.isSortIndicatorShown()
    for figure in (Figure.NULLS, Figure.DISTINCT, Figure.MEDIAN):
        click_header(qtbot, view, figure)
        assert header.sectionSize(figure) >= header.sectionSizeHint(figure)


def test_columns_show_their_texts_where_the_window_has_room(qtbot, window, settled, tmp_path: Path):
    moments = pa.array([0, 10**15 + 1], pa.timestamp("us"))
    pq.write_table(pa.table({"at": moments, "n": [1, 2]}), tmp_path / "moments.parquet")
    window.open_paths([tmp_path / "moments.parquet"])
    window.resize(900, 700)
    view = opened(qtbot, window, settled())
    table = view.table
    narrow = table.columnWidth(Figure.MAX)
    window.resize(1600, 800)
    qtbot.waitUntil(lambda: table.columnWidth(Figure.MAX) > narrow)
    for figure in (Figure.TYPE, Figure.MIN, Figure.MAX, Figure.MEDIAN, Figure.TOP):
        assert table.columnWidth(figure) >= table.sizeHintForColumn(figure)
    assert table.horizontalScrollBar().maximum() == 0
    table.setColumnWidth(Figure.MAX, 60)
    view.loader.finished.emit()
    assert table.columnWidth(Figure.MAX) == 60


@pytest.mark.slow
def test_search_leaves_columns_by_name_and_type(qtbot, view):
    qtbot.keyClicks(view.search, "int32")
    assert names(view) == ["delay"] and view.count.text() == "1 of 3 columns"
    view.search.clear()
    qtbot.keyClicks(view.search, "NOT")
    assert names(view) == ["note"]


def test_enter_does_nothing_where_no_column_matches(qtbot, view, file_tab):
    view.table.setCurrentIndex(view.model.index(2, 0))
    qtbot.keyClicks(view.search, "no such column")
    assert not view.model.rows
    QTest.keyClick(view.search, Qt.Key.Key_Return)
    assert view.isVisible()


def test_enter_and_a_double_click_go_to_the_column(qtbot, window, view, file_tab):
    view.table.setCurrentIndex(view.model.index(2, 0))
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert (
        not file_tab.profiling.is_shown and file_tab.grid.current_name == "note" and file_tab.grid.isVisible()
    )
    window.commands["all_columns"].trigger()
    place = view.table.visualRect(view.model.index(1, 0)).center()
    qtbot.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert file_tab.grid.current_name == "carrier"


@pytest.mark.slow
def test_escape_goes_back_to_the_rows_and_a_chart_takes_the_place(qtbot, window, view, file_tab):
    qtbot.keyClick(view.table, Qt.Key.Key_Escape)
    assert file_tab.pane.isVisible() and not view.isVisible()
    window.commands["all_columns"].trigger()
    window.commands["chart"].trigger()
    assert file_tab.charting.is_shown and not file_tab.profiling.is_shown
    window.commands["all_columns"].trigger()
    assert file_tab.profiling.is_shown and not file_tab.charting.is_shown
    assert not window.commands["edit_cell"].isEnabled()


@pytest.mark.slow
def test_figures_are_a_table_to_export(view):
    table = export_table(view.rows)
    assert table.column("column").to_pylist() == ["delay", "carrier", "note"]
    assert table.column("nulls").to_pylist() == [0, 250, 0]
    assert table.column("mean").to_pylist()[1:] == [None, None]
    assert table.column("most_frequent_rows").to_pylist()[1] == 250


@pytest.mark.slow
def test_of_very_many_columns_those_on_screen_come_first(qtbot, window, settled, tmp_path: Path):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{n:05}": [n, n + 1] for n in range(2_000)}), path)
    window.open_paths([path])
    tab = settled()
    window.commands["all_columns"].trigger()
    view = tab.profiling.view
    qtbot.waitUntil(lambda: view.loader.num_known >= 10)
    known = set(view.loader.profiles)
    assert len(view.model.rows) == 2_000 and known <= set(names(view)[:60])
    qtbot.keyClicks(view.search, "c01999")
    qtbot.waitUntil(lambda: "c01999" in view.loader.profiles)
    assert view.loader.profiles["c01999"].max == 2_000
    tab.profiling.hide()
    qtbot.waitUntil(lambda: not view.loader.busy)


def test_names_of_very_many_columns_are_shown_in_full_before_all_are_read(
    qtbot, window, settled, tmp_path: Path
):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"measurement_{n:05}": [n * 1000, n + 1] for n in range(2_000)}), path)
    window.open_paths([path])
    window.resize(1600, 800)
    tab = settled()
    window.commands["all_columns"].trigger()
    view = tab.profiling.view
    qtbot.waitUntil(lambda: view.loader.num_known > 0 and view.loader.has_first)
    assert view.loader.num_known < len(view.rows)
    for figure in (Figure.NAME, Figure.TYPE, Figure.MEDIAN, Figure.TOP):
        assert view.table.columnWidth(figure) >= view.table.sizeHintForColumn(figure)
    tab.profiling.hide()
    qtbot.waitUntil(lambda: not view.loader.busy)


@pytest.mark.slow
def test_view_comes_back_with_the_workspace(window, view, memory, file_tab):
    assert file_tab.state()["profiles"] is True
