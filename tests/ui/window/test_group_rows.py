"""Groups that are expanded in place, by clicks and keys."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDrag, QGuiApplication
from pytestqt.qtbot import QtBot

from lamella import Store, agg, col
from lamella.core.jobs import Job
from lamella.core.query.line import Line, LineAnswers
from lamella.core.query.steps import Compute, Group, Sample, Select, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui.filters.value_picker import ValuePicker
from lamella.ui.grid import tree as tree_module
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.tree import TreeRows
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.selection_figures import read_figures

Settled = Callable[[], DatasetTab]
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
FIGURES = (("n", agg.count()), ("late", agg.mean("delay")), ("kinds", agg.count_distinct("carrier")))


BY_TWO = Group(("carrier", "half"), FIGURES[:2])


@pytest.fixture
def tree(window: MainWindow, store: Store, settled: Settled) -> DatasetTab:
    """Six groups by two keys, of a hundred rows: "a", "b" and null, each with 1 and null."""
    rows = [
        {"carrier": ("a", "b", None)[n % 3], "half": (1, None)[n // 50], "delay": float(n)}
        for n in range(100)
    ]
    table = store.create_table("halves", rows)
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    tab.apply(Line.of([BY_TWO]))
    settled()
    window.commands["subtotals"].trigger()
    return settled()


def keys_shown(tab: DatasetTab) -> list[tuple[str, str]]:
    """The texts of the key columns, as a screen reader reads them."""
    model = tab.grid.grid_model
    return [tuple(model.data(model.index(row, column)) for column in (0, 1)) for row in range(model.num_rows)]  # type: ignore[misc]


def cell(tab: DatasetTab, row: int, name: str) -> str | None:
    return tab.grid.grid_model.pages.text(row, tab.grid.grid_model.names.index(name))


def click_arrow(qtbot: QtBot, tab: DatasetTab, row: int, double: bool = False) -> None:
    rect = tab.grid.cell_rect((row, 0))
    assert rect is not None
    point = rect.topLeft() + QPoint(14, rect.height() // 2)
    click = qtbot.mouseDClick if double else qtbot.mouseClick
    click(tab.grid.viewport(), Qt.MouseButton.LeftButton, pos=point)


def shows(qtbot: QtBot, tab: DatasetTab, rows: int) -> None:
    qtbot.waitUntil(lambda: tab.grid.grid_model.num_rows == rows and tab.grid.grid_model.pages.is_settled)


CLOSED = [("a, closed", ""), ("b, closed", ""), ("NULL, closed", "")]


def test_groups_of_two_keys_are_opened_and_closed_by_their_arrows(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab
) -> None:
    assert keys_shown(tree) == CLOSED and window.commands["subtotals"].isChecked()
    assert [cell(tree, row, "n") for row in range(3)] == ["34", "33", "33"]
    assert cell(tree, 0, "late") == "49.5"
    click_arrow(qtbot, tree, 1)
    shows(qtbot, tree, 5)
    assert keys_shown(tree) == [
        CLOSED[0],
        ("b, open", ""),
        ("b", "1, closed"),
        ("b", "NULL, closed"),
        CLOSED[2],
    ]
    assert [cell(tree, row, "n") for row in (1, 2, 3)] == ["33", "17", "16"]
    assert tree.grid.selection.current == (1, 0)
    click_arrow(qtbot, tree, 1)
    shows(qtbot, tree, 3)
    assert keys_shown(tree) == CLOSED


@pytest.mark.slow
def test_right_opens_left_closes_and_leads_to_the_group_around(qtbot: QtBot, tree: DatasetTab) -> None:
    grid = tree.grid
    grid.setFocus()
    grid.go_to(2, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    shows(qtbot, tree, 5)
    assert grid.selection.current == (2, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    assert grid.selection.current == (2, 1)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    assert grid.selection.current == (4, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    assert grid.selection.current == (2, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    shows(qtbot, tree, 3)
    qtbot.keyClick(grid, Qt.Key.Key_Plus)
    shows(qtbot, tree, 5)
    qtbot.keyClick(grid, Qt.Key.Key_Minus)
    shows(qtbot, tree, 3)


@pytest.mark.slow
def test_groups_are_opened_quickly_one_after_the_other(qtbot: QtBot, tree: DatasetTab) -> None:
    """This happens before the rows of the first group have arrived."""
    for row in (0, 0, 1, 2):
        tree.grid.open_requested.emit(row, True)
    shows(qtbot, tree, 9)
    assert [key[0] for key in keys_shown(tree) if "," in key[0]] == ["a, open", "b, open", "NULL, open"]


def test_all_groups_are_opened_and_closed_and_the_current_row_stays(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab
) -> None:
    tree.grid.go_to(2, 2)
    window.commands["open_groups"].trigger()
    shows(qtbot, tree, 9)
    assert tree.grid.selection.current == (6, 2)
    tree.grid.go_to(4, 2)
    window.commands["close_groups"].trigger()
    shows(qtbot, tree, 3)
    assert tree.grid.selection.current == (1, 2)


@pytest.mark.slow
def test_what_is_open_stays_open_when_groups_are_sorted_or_filtered(
    qtbot: QtBot, tree: DatasetTab, settled: Settled
) -> None:
    """Each level is sorted, and subtotals cover all rows, whatever later steps filter."""
    click_arrow(qtbot, tree, 0)
    shows(qtbot, tree, 5)
    tree.set_sort([SortKey("late", True)])
    settled()
    assert keys_shown(tree) == [
        CLOSED[2],
        ("a, open", ""),
        ("a", "NULL, closed"),
        ("a", "1, closed"),
        CLOSED[1],
    ]
    tree.add_filter(col("half") == 1)
    settled()
    shows(qtbot, tree, 4)
    assert "subtotals cover all rows" in tree.status
    assert sorted(cell(tree, row, "n") or "" for row in range(4)) == ["17", "33", "33", "34"]
    tree.set_filter(col("n") > 50)
    settled()
    shows(qtbot, tree, 0)
    tree.groups.open_all()
    qtbot.waitUntil(
        lambda: tree.grid.grid_model.tree is not None and all(tree.grid.grid_model.tree.open_groups[0])
    )
    assert tree.messages.isHidden()
    tree.set_filter(None)
    settled()
    shows(qtbot, tree, 9)


def test_what_is_open_stays_open_with_other_figures_and_rows(
    qtbot: QtBot, tree: DatasetTab, settled: Settled
) -> None:
    """Groups are identified by their keys, even if their positions change."""
    click_arrow(qtbot, tree, 2)
    shows(qtbot, tree, 5)
    click_arrow(qtbot, tree, 1)
    shows(qtbot, tree, 7)
    tree.apply(Line.of([Group(BY_TWO.keys, FIGURES[:1], None, False, True)]))
    settled()
    assert [key[0] for key in keys_shown(tree)] == [
        "a, closed",
        "b, open",
        "b",
        "b",
        "NULL, open",
        "NULL",
        "NULL",
    ]
    table = tree.table
    assert table is not None
    table.insert([{"carrier": "A", "half": 1, "delay": 0.0}])
    tree.reload()
    settled()
    assert [key[0] for key in keys_shown(tree)][:4] == ["A, closed", "a, closed", "b, open", "b"]
    tree.apply(Line.of([Group(("half", "carrier"), FIGURES[:1], None, False, True)]))
    settled()
    assert [key[0] for key in keys_shown(tree)] == ["1, closed", "NULL, closed"]


def test_a_double_click_shows_the_rows_of_a_subtotal_and_of_a_group(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab, settled: Settled
) -> None:
    """A click on its arrow only opens and closes it."""
    click_arrow(qtbot, tree, 2)
    shows(qtbot, tree, 5)
    click_arrow(qtbot, tree, 2, double=True)
    settled()
    assert tree.line.active[0].__class__ is Group
    rect = tree.grid.cell_rect((2, 2))
    assert rect is not None
    qtbot.mouseClick(tree.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    qtbot.mouseDClick(tree.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    qtbot.waitUntil(lambda: tree.line.active == (Where(col("carrier").is_null()),))
    assert settled().grid.grid_model.num_rows == 33
    tree.go_back()
    settled()
    tree.grid.go_to(0, 1)
    qtbot.keyClick(tree.grid, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: tree.line.active == (Where(col("carrier") == "a"),))
    tree.go_back()
    settled()
    click_arrow(qtbot, tree, 1)
    shows(qtbot, tree, 5)
    tree.grid.go_to(3, 1)
    window.commands["group_rows"].trigger()
    both = (col("carrier") == "b") & col("half").is_null()
    qtbot.waitUntil(lambda: tree.line.active == (Where(both),))
    assert not window.commands["group_rows"].isEnabled()
    assert settled().grid.grid_model.num_rows == 16
    tree.grid.go_to(3, 1)
    qtbot.keyClick(tree.grid, Qt.Key.Key_Return)
    assert tree.grid.selection.current == (4, 1)


@pytest.mark.slow
def test_a_selection_counts_each_row_once(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab, settled: Settled
) -> None:
    """A whole column has the same sum, whichever groups are open."""
    window.commands["open_groups"].trigger()
    shows(qtbot, tree, 9)
    tree.grid.select_column(2)
    qtbot.waitUntil(lambda: tree.figures.text.startswith("Σ 100 "))
    click_arrow(qtbot, tree, 0)
    shows(qtbot, tree, 7)
    tree.grid.select_column(2)
    qtbot.waitUntil(lambda: tree.figures.text.startswith("Σ 100 "))
    tree.grid.select_all()
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: "subtotals among them" in tree.messages.label.text())


@pytest.mark.slow
def test_filters_by_a_subtotal_are_of_its_key(qtbot: QtBot, tree: DatasetTab, settled: Settled) -> None:
    tree.grid.go_to(1, 2)
    tree.filter_by_cell("n")
    assert "groups by all keys" in tree.messages.label.text() and tree.where is None
    tree.grid.go_to(1, 1)
    tree.filter_by_cell("half")
    assert tree.where is None
    tree.grid.go_to(1, 0)
    tree.filter_by_cell("carrier")
    qtbot.waitUntil(lambda: tree.where == (col("carrier") == "b"))
    shows(qtbot, tree, 1)


@pytest.mark.slow
def test_a_tree_that_cannot_be_shown_says_why_and_the_groups_stay(
    window: MainWindow, tree: DatasetTab, settled: Settled
) -> None:
    tree.add_step(Select(("carrier", "n")))
    settled()
    assert tree.grid.grid_model.tree is None and tree.grid.grid_model.num_rows == 6
    assert "no subtotals: a later step leaves out 'half'" in tree.status
    assert not window.commands["open_groups"].isEnabled()
    tree.go_back()
    settled()
    assert keys_shown(tree) == CLOSED and tree.status.startswith("6 groups of 100 rows")
    tree.add_step(Sample(3, 0))
    settled()
    assert "no totals: a later step changes the groups" in tree.status
    tree.go_back()
    settled()
    window.commands["subtotals"].trigger()
    settled()
    assert tree.grid.grid_model.tree is None and tree.grid.grid_model.num_rows == 6


@pytest.mark.slow
def test_a_column_computed_of_groups_has_totals_and_its_rows_lead_on(
    qtbot: QtBot, tree: DatasetTab, settled: Settled
) -> None:
    """One that needs the second key has no values in the groups of the first."""
    group = Group(BY_TWO.keys, BY_TWO.aggregates, None, True, True)
    tree.apply(Line.of([group, Compute((("share", col("n") / 100), ("key", col("half") + 0)))]))
    settled()
    assert tree.grid.totals.texts["share"] == "1" and "key" not in tree.grid.totals.texts
    click_arrow(qtbot, tree, 0)
    shows(qtbot, tree, 5)
    assert [cell(tree, row, "share") for row in range(3)] == ["0.34", "0.17", "0.17"]
    model = tree.grid.grid_model
    assert [model.data(model.index(row, 5)) for row in range(4)] == ["", "1", "NULL", ""]
    tree.open_group(1)
    both = (col("carrier") == "a") & (col("half") == 1)
    qtbot.waitUntil(lambda: tree.line.active == (Where(both),))
    tree.apply(Line.of([group, Compute((("carrier", col("n") + 1),))]))
    settled()
    assert tree.grid.totals.isHidden() and tree.grid.grid_model.tree is None
    assert "no totals" in tree.status


@pytest.mark.slow
def test_what_is_exported_are_the_groups(qtbot: QtBot, tree: DatasetTab, tmp_path: Path) -> None:
    tree.line_actions.export(tmp_path / "groups.csv")
    qtbot.waitUntil(lambda: "Exported 6 rows" in tree.messages.label.text())
    assert len((tmp_path / "groups.csv").read_text().splitlines()) == 7


def columns_shown(tab: DatasetTab) -> dict[str, list[str]]:
    """The text of each cell, as a screen reader reads it."""
    model = tab.grid.grid_model
    rows = range(model.num_rows)
    return {
        name: [str(model.data(model.index(row, place))) for row in rows]
        for place, name in enumerate(model.names)
    }


@pytest.mark.usefixtures("column_cards")
def test_the_innermost_groups_open_into_their_rows(qtbot: QtBot, tree: DatasetTab, settled: Settled) -> None:
    """Beside the groups, whose columns stay as they are."""
    grid = tree.grid
    grid.setFocus()
    grid.horizontalHeader().resizeSection(1, 222)
    click_arrow(qtbot, tree, 1)
    shows(qtbot, tree, 5)
    grid.go_to(3, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    shows(qtbot, tree, 21)
    assert grid.grid_model.names == ["carrier", "half", "n", "late", "delay"]
    assert grid.selection.current == (3, 0) and grid.horizontalHeader().sectionSize(1) == 222
    qtbot.waitUntil(lambda: grid.cards.card_of(3) is not None)
    assert "delay" not in grid.cards._names(range(5)) and grid.cards._words(4, None) == ""
    texts = columns_shown(tree)
    assert texts["carrier"][2:6] == ["b", "b", "b", "b"] and texts["carrier"][20] == "NULL, closed"
    assert texts["half"][2:6] == ["1, closed", "NULL, open", "NULL", "NULL"]
    assert texts["n"][2:6] == ["17", "16", "", ""] and texts["late"][4:20] == [""] * 16
    assert texts["delay"] == ["", "", "", "", *(str(n) for n in range(52, 100, 3)), ""]
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    assert grid.selection.current == (3, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    shows(qtbot, tree, 5)
    assert grid.grid_model.names == ["carrier", "half", "n", "late"] and tree.messages.isHidden()


def test_what_is_done_with_rows_inside_groups(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab, settled: Settled
) -> None:
    window.commands["open_groups"].trigger()
    shows(qtbot, tree, 9)
    tree.grid.open_requested.emit(1, True)
    tree.grid.open_requested.emit(2, True)
    shows(qtbot, tree, 43)
    figures = read_figures(tree.rows, [(0, 42, ("n", "delay"))], Job())  # type: ignore[arg-type]
    assert (figures.cells, figures.total) == (6 + 34, 100 + sum(range(0, 100, 3)))
    place = tree.grid.grid_model.names.index("delay")
    tree.toggle_sort(place, add=False)
    assert "rows inside groups" in tree.messages.label.text() and not tree.sort
    tree.grid.go_to(3, place)
    window.commands["filter_values"].trigger()
    assert not tree.grid.column_header.findChildren(ValuePicker)
    tree.filter_by_cell("delay")
    assert "groups by all keys" in tree.messages.label.text() and tree.where is None
    tree.grid.selection.select_block(CellRange.between((0, 0), (3, place)), (0, 0))
    tree.copying.copy()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().count("\n") == 3)
    lines = QGuiApplication.clipboard().text().split("\n")
    assert [line.split("\t")[-1] for line in lines] == ["", "", "0", "3"]
    tree.set_sort([SortKey("n", True)])
    settled()
    shows(qtbot, tree, 43)
    rect, rows = tree.grid.cell_rect((4, 0)), tree.grid.grid_model.tree
    assert rect is not None and rows is not None and rows.level(4) == 2
    qtbot.mouseClick(tree.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    qtbot.mouseDClick(tree.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    inside = (col("carrier") == "a") & (col("half") == 1)
    qtbot.waitUntil(lambda: tree.line.active[0].__class__ is Where)
    assert tree.line.active == (Where(inside),)
    assert settled().grid.grid_model.num_rows == 17


@pytest.mark.slow
def test_rows_inside_groups_follow_the_table(qtbot: QtBot, tree: DatasetTab, settled: Settled) -> None:
    tree.grid.open_requested.emit(0, True)
    shows(qtbot, tree, 5)
    tree.grid.open_requested.emit(1, True)
    shows(qtbot, tree, 22)
    assert tree.table is not None
    tree.table.insert([{"carrier": "a", "half": 1, "delay": 0.5}])
    tree.reload()
    settled()
    shows(qtbot, tree, 23)
    assert columns_shown(tree)["delay"][1:4] == ["", "0", "3"]


@pytest.mark.slow
def test_groups_by_one_column_open_into_their_rows(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.apply(Line.of([Group(("carrier",), FIGURES[:2])]))
    groups = settled()
    before = groups.grid.grid_model.num_rows
    window.commands["subtotals"].trigger()
    settled()
    assert groups.grid.grid_model.num_rows == before and groups.steps.bar.chips[0].state.text.endswith("late")
    groups.grid.go_to(0, 0)
    qtbot.keyClick(groups.grid, Qt.Key.Key_Plus)
    count = int((cell(groups, 0, "n") or "").replace(",", ""))
    shows(qtbot, groups, before + count)
    assert groups.grid.grid_model.names[-1] == "note"
    groups.grid.go_to(count, 0)
    settled()
    assert columns_shown_at(groups, count, "note").startswith("row ")


def columns_shown_at(tab: DatasetTab, row: int, name: str) -> str:
    model = tab.grid.grid_model
    return str(model.data(model.index(row, model.names.index(name))))


def test_rows_of_a_huge_group_are_not_shown_in_place(
    qtbot: QtBot, tree: DatasetTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "MOST_INSIDE", 16)
    tree.groups.open_all()
    shows(qtbot, tree, 9)
    tree.grid.open_requested.emit(1, True)
    qtbot.waitUntil(lambda: "cannot be shown in place" in tree.messages.label.text())
    assert "17" in tree.messages.label.text() and tree.grid.grid_model.num_rows == 9
    tree.grid.open_requested.emit(2, False)
    tree.grid.open_requested.emit(5, True)
    shows(qtbot, tree, 9 + 16)


@pytest.mark.slow
def test_a_hundred_thousand_groups_are_read_a_page_at_a_time(
    qtbot: QtBot, window: MainWindow, store: Store, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.arange(100_000)
    table = store.create_table(
        "many", pa.table({"a": numbers // 1000, "b": numbers % 1000, "v": numbers * 1.0})
    )
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    tab.apply(Line.of([Group(("a", "b"), (("n", agg.count()), ("v", agg.mean("v"))), None, True, True)]))
    settled()
    counts: list[int] = []
    page = TreeRows.page

    def counted(self: TreeRows, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        assert threading.current_thread() is not threading.main_thread()
        counts.append(count)
        return page(self, offset, count, columns)

    monkeypatch.setattr(TreeRows, "page", counted)
    window.commands["open_groups"].trigger()
    shows(qtbot, tab, 100_100)
    tab.grid.go_to(100_099, 0)
    settled()
    assert cell(tab, 100_099, "b") == "999" and tab.grid.totals.texts["n"] == "100000"
    assert sum(counts) < 1000


@pytest.mark.slow
def test_a_tab_that_is_closed_waits_for_nothing(
    qtbot: QtBot, window: MainWindow, tree: DatasetTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for groups that are opened nor for totals."""
    begun, go_on = threading.Event(), threading.Event()
    cancelled: list[bool] = []

    def wait(self: LineAnswers, line: Line, source: object, steps: object, job: Job) -> pa.Table:
        begun.set()
        go_on.wait(10)
        cancelled.append(job.cancelled)
        return pa.table({"n": [1]})

    monkeypatch.setattr(LineAnswers, "totals", wait)
    window.commands["totals_row"].trigger()
    qtbot.waitUntil(begun.is_set)
    window.commands["open_groups"].trigger()
    window.commands["close_tab"].trigger()
    go_on.set()
    qtbot.waitUntil(lambda: cancelled == [True])


@pytest.mark.slow
def test_rows_dragged_out_of_a_tree_are_those_that_are_shown(
    tree: DatasetTab, go_to, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[str] = []
    monkeypatch.setattr(
        QDrag, "exec", lambda drag, _: dropped.append(drag.mimeData().text()) or Qt.DropAction.CopyAction
    )
    go_to(tree, 0, "carrier")
    tree.grid.selection.extend(2, tree.grid.place(2))
    tree.dragging.drag()
    assert dropped == ["carrier\thalf\tn\na\t\t34\nb\t\t33\n\t\t33"]
