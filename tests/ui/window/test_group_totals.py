"""Totals of groups, and how their figures are shown, by clicks and keys."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from lamella import Store, agg, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Limit, Sort, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui.formats.formats import Format
from lamella.ui.grid.texts import with_minus
from lamella.ui.main_window import MainWindow
from lamella.ui.steps.grouping import GroupEditor
from lamella.ui.window.copy_formats import FORMATS
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
FIGURES = (("n", agg.count()), ("late", agg.mean("delay")))
BY_CARRIER = Group(("carrier",), FIGURES)


@pytest.fixture
def groups(table_tab: DatasetTab, settled: Settled) -> DatasetTab:
    """A thousand rows by four carriers, one of them null and one empty."""
    table_tab.apply(Line.of([BY_CARRIER]))
    return settled()


def whole_mean(rows: pa.Table) -> float:
    delays = rows.column("delay").to_pylist()
    return sum(delays) / len(delays)


def test_totals_are_switched_on_by_their_keys_and_are_those_of_the_rows(
    qtbot: QtBot, window: MainWindow, groups: DatasetTab, settled: Settled, rows: pa.Table
) -> None:
    grid = groups.grid
    assert grid.totals.isHidden() and not window.commands["totals_row"].isChecked()
    grid.setFocus()
    qtbot.keyClick(
        grid, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    settled()
    assert grid.totals.isVisible() and window.commands["totals_row"].isChecked()
    assert grid.totals.texts["n"] == "1000"
    assert float((grid.totals.texts["late"] or "").lstrip("≈")) == pytest.approx(whole_mean(rows))
    assert grid.grid_model.num_rows == 4 and "carrier" not in grid.totals.texts
    assert groups.steps.bar.chips[0].state.text == "by carrier: n, late with totals"

    groups.go_back()
    settled()
    assert grid.totals.isHidden() and not window.commands["totals_row"].isChecked()


@pytest.mark.slow
def test_totals_are_of_all_rows_whatever_follows_the_groups(groups: DatasetTab, settled: Settled) -> None:
    group = Group(BY_CARRIER.keys, BY_CARRIER.aggregates, col("n") > 0, totals=True)
    behind = [Where(col("carrier").not_null()), Sort((SortKey("late", True),)), Limit(1)]
    groups.apply(Line.of([Where(col("delay") > 0), group, *behind]))
    settled()
    table = groups.table
    assert table is not None and groups.grid.grid_model.num_rows == 1
    assert groups.grid.totals.texts["n"] == str(table.where(col("delay") > 0).count())


def test_totals_are_no_row_that_is_copied(
    qtbot: QtBot, window: MainWindow, groups: DatasetTab, settled: Settled, rows: pa.Table
) -> None:
    window.commands["totals_row"].trigger()
    settled()
    groups.grid.select_all()
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().count("250") == 4)
    assert "1000" not in QGuiApplication.clipboard().text()
    window.commands["copy_totals"].trigger()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0] == "n\tlate" and copied[1].startswith("1000\t")
    assert float(copied[1].split("\t")[1]) == pytest.approx(whole_mean(rows))


@pytest.mark.slow
def test_totals_stay_at_the_bottom_and_the_last_row_can_be_seen_above(
    table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.apply(Line.of([Group(("note",), FIGURES, totals=True)]))
    tab = settled()
    grid = tab.grid
    bottom = grid.viewport().geometry().bottom()
    assert grid.totals.geometry().bottom() == bottom
    grid.go_to(grid.grid_model.num_rows - 1, 0)
    settled()
    last = grid.cell_rect((999, 0))
    assert last is not None and grid.viewport().mapTo(grid, last.bottomLeft()).y() <= grid.totals.y()
    assert grid.totals.geometry().bottom() == bottom
    tab.add_filter(col("note") == "row 7")
    settled()
    first = grid.cell_rect((0, 0))
    assert first is not None
    assert grid.totals.y() == grid.viewport().mapTo(grid, first.bottomLeft()).y() + 1


@pytest.mark.slow
def test_totals_are_switched_in_the_form_of_the_step(
    qtbot: QtBot, groups: DatasetTab, settled: Settled
) -> None:
    groups.steps.edit(0)
    editor = groups.steps.editor
    assert isinstance(editor, GroupEditor)
    assert editor.totals.isEnabled() and editor.subtotals.isEnabled()
    qtbot.mouseClick(editor.totals, Qt.MouseButton.LeftButton, pos=editor.totals.rect().center() / 2)
    qtbot.waitUntil(
        lambda: groups.line.active == (Group(BY_CARRIER.keys, BY_CARRIER.aggregates, None, True),)
    )
    settled()
    assert groups.grid.totals.texts["n"] == "1000"
    qtbot.mouseClick(
        editor.figures.rows[0].findChildren(type(editor.figures.add))[-1], Qt.MouseButton.LeftButton
    )
    qtbot.waitUntil(lambda: groups.grid.grid_model.names == ["carrier", "late"])
    assert list(settled().grid.totals.texts) == ["late"]


def test_totals_that_cannot_be_computed_say_why(window: MainWindow, store: Store, settled: Settled) -> None:
    """Each group's sum fits 64 bits, and that of all rows does not."""
    table = store.create_table("huge", [{"k": "a", "v": 2**62}, {"k": "b", "v": 2**62}])
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    tab.apply(Line.of([Group(("k",), (("all", agg.sum("v")),), totals=True)]))
    settled()
    assert tab.grid.grid_model.num_rows == 2
    assert tab.grid.totals.problem and not tab.grid.totals.texts


@pytest.mark.slow
def test_rows_that_are_no_groups_have_no_totals(window: MainWindow, table_tab: DatasetTab) -> None:
    assert not window.commands["totals_row"].isEnabled()
    table_tab.groups.toggle_totals()
    assert table_tab.line == Line()


# ------------------------------------------------------------------------ figures as they are shown

FLOATS = {
    "kind": ["a", "a", "a", "b", "b", "c"],
    "value": [0.1, 0.2, 12.5, 1_203_442.25, 4.0, -0.000123456789],
}
OF_VALUES = (
    ("n", agg.count()),
    ("mean", agg.mean("value")),
    ("total", agg.sum("value")),
    ("least", agg.min("value")),
)


@pytest.fixture
def figures(window: MainWindow, store: Store, settled: Settled) -> DatasetTab:
    table = store.create_table("measured", pa.table(FLOATS))
    window.opening.open_key((str(table.store.path), table.name))
    settled().apply(Line.of([Group(("kind",), OF_VALUES, totals=True)]))
    return settled()


def column(tab: DatasetTab, name: str) -> list[str]:
    """The texts of the row, as they are drawn."""
    pages, place = tab.grid.grid_model.pages, tab.grid.grid_model.names.index(name)
    return [pages.shown_text(row, place) or "NULL" for row in range(tab.grid.grid_model.num_rows)]


def values(tab: DatasetTab, name: str) -> list[float]:
    assert tab.rows is not None
    return tab.rows.page(0, tab.rows.num_rows, [name]).column(0).to_pylist()


@pytest.mark.slow
def test_computed_figures_are_rounded_and_values_are_not(figures: DatasetTab) -> None:
    """A minimum is one of the column's own values, so it is not rounded."""
    assert column(figures, "mean") == ["4.267", "601,723.125", "-0.000123"]
    assert column(figures, "total") == ["12.8", "1,203,446.25", "-0.000123"]
    assert column(figures, "least") == ["0.1", "4", "-0.000123456789"]
    assert column(figures, "n") == ["3", "2", "1"]
    assert figures.grid.formats == {}


@pytest.mark.slow
def test_points_of_rounded_figures_stand_below_each_other(figures: DatasetTab) -> None:
    painter, place = figures.grid._painter, figures.grid.grid_model.names.index("mean")
    assert painter is not None
    points = []
    for text in column(figures, "mean"):
        drawn, room = painter.fitted_in_line(place, text, 400)
        assert drawn == with_minus(text)
        points.append(room - painter.metrics.horizontalAdvance(text.partition(".")[2]))
    assert max(points) - min(points) <= 1


def test_a_rounded_figure_says_all_its_digits(figures: DatasetTab, window: MainWindow, qtbot: QtBot) -> None:
    """The tool tip and the clipboard have all of them."""
    grid, (mean, *_) = figures.grid, values(figures, "mean")
    place = grid.grid_model.names.index("mean")
    assert repr(mean) == grid._tip(0, place, 400) and len(repr(mean)) > 10
    assert "rounded" in grid.grid_model.headerData(
        place, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
    )
    grid.go_to(0, grid.place(place))
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == repr(mean))
    figures.copying.copy_as(next(form for form in FORMATS if form.id == "shown"))
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().endswith("4.267"))


@pytest.mark.slow
def test_another_format_of_a_rounded_figure_is_chosen_and_taken_back(
    figures: DatasetTab, settled: Settled
) -> None:
    form = figures.column_formats.ask("mean")
    assert form is not None and form.form.kind == "rounded"
    form.plain.click()
    assert column(settled(), "mean")[0].startswith("≈4.26666")
    figures.apply(figures.line.with_sort([SortKey("n")]))
    assert column(settled(), "mean")[-1].startswith("≈4.26666")
    figures.grid.set_format("mean", Format("rounded"))
    assert column(settled(), "mean")[-1] == "4.267" and figures.grid.formats == {}


@pytest.mark.slow
def test_totals_are_rounded_as_their_columns_are(figures: DatasetTab) -> None:
    totals, names = figures.grid.totals, figures.grid.grid_model.names
    assert totals.shown_text(names.index("mean")) == "200,576.508"
    assert totals.shown_text(names.index("least")) == "-0.000123456789"
    assert totals.shown_text(names.index("n")) == "6"


@pytest.mark.slow
def test_stored_floats_keep_every_digit_beside_groups(figures: DatasetTab, settled: Settled) -> None:
    figures.apply(Line())
    assert column(settled(), "value") == ["0.1", "0.2", "12.5", "1203442.25", "4", "-0.000123456789"]
