"""Charts of unusual numbers, names and places."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGraphicsPathItem

from lamella.core.query.charts import ChartSpec
from lamella.ui import theme
from lamella.ui.charts.axes import SpanTicks
from lamella.ui.charts.ramps import Ramp
from lamella.ui.charts.words import hover_text, place_text
from tests.ui.test_theme import contrast
from tests.ui.window.chart_mouse import drag, point_of
from tests.ui.window.test_charts import shown_counts

SUM_OF_V = ChartSpec("bar", "k", measure="v", aggregate="sum")
BOX_OF_V, MOST_OF_V = ChartSpec("box", "k", y="v"), ChartSpec("bar", "k", measure="v", aggregate="max")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "spec", [SUM_OF_V, ChartSpec("bar", "v", measure="n", aggregate="sum"), BOX_OF_V, MOST_OF_V]
)
def test_values_too_far_away_to_be_drawn_are_said(qtbot, window, tmp_path, settled, spec):
    """Qt ends the program where their squares are infinite."""
    rows = pa.table({"v": [1.7e308, -1.7e308, 1.7e308], "n": [1, 2, 3], "k": ["a", "b", "a"]})
    pq.write_table(rows, tmp_path / "far.parquet")
    window.open_paths([tmp_path / "far.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(spec)
    qtbot.waitUntil(lambda: not view.running)
    assert "beyond 10^150" in view.message.text() and view.message.isVisible()
    view.show_spec(ChartSpec("histogram", "v", log_x=True))
    qtbot.waitUntil(lambda: not view.running)
    assert view.canvas.isVisible() and not view.grab().isNull()


def test_no_legend_or_brush_stands_beside_the_reason_why_nothing_is_drawn(qtbot, window, tmp_path, settled):
    rows = pa.table({"v": [1.7e308, 2.0, 3.0], "n": [1, 2, 3], "k": ["a", "b", "a"]})
    pq.write_table(rows, tmp_path / "far.parquet")
    window.open_paths([tmp_path / "far.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("bar", "k", measure="n", aggregate="sum", color="k"))
    qtbot.waitUntil(lambda: view.legend.isVisible() and not view.running)
    drag(view, point_of(view, view.canvas.panels[0].drawing.marks[0]), QPoint(5, 5))
    assert view.brush_bar.isVisible()
    view.show_spec(ChartSpec("bar", "k", measure="v", aggregate="sum", color="k"))
    qtbot.waitUntil(lambda: view.message.isVisible() and not view.running)
    view.form.checks["band"].toggle()
    theme.current().set_mode("dark")
    assert view.message.isVisible() and not view.legend.isVisible() and not view.brush_bar.isVisible()


@pytest.mark.slow
@pytest.mark.parametrize("spec", [ChartSpec("box", y="v"), MOST_OF_V, ChartSpec("scatter", "v", "n")])
def test_values_too_close_to_be_drawn_are_said(qtbot, window, tmp_path, settled, spec):
    """Qt ends the program where the pixels per unit are infinite."""
    rows = pa.table({"v": [1e-300, 0.0, 5e-324], "n": [1, 2, 3], "k": ["a", "b", "a"]})
    pq.write_table(rows, tmp_path / "close.parquet")
    window.open_paths([tmp_path / "close.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(spec)
    qtbot.waitUntil(lambda: not view.running)
    assert "less than 10^-150" in view.message.text() and view.message.isVisible()
    view.show_spec(ChartSpec("bar", "k"))
    qtbot.waitUntil(lambda: not view.running)
    assert view.canvas.isVisible() and not view.grab().isNull()


@pytest.mark.slow
def test_odd_numbers_are_left_out_and_said(qtbot, window, settled, tmp_path):
    rows = pa.table({
        "v": pa.array([math.nan, math.inf, -math.inf, None, *map(float, range(96))]),
        "same": pa.array([7] * 100),
        "nothing": pa.array([None] * 100, pa.float64()),
    })  # fmt: skip
    pq.write_table(rows, tmp_path / "odd.parquet")
    window.open_paths([tmp_path / "odd.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    for spec, used in ((ChartSpec("histogram", "v"), 96), (ChartSpec("histogram", "same"), 100),
                       (ChartSpec("line", "same", measure="v", aggregate="mean"), 96),
                       (ChartSpec("scatter", "v", "same"), 96), (ChartSpec("box", "", "v"), 96)):  # fmt: skip
        view.show_spec(spec)
        qtbot.waitUntil(lambda: not view.running)
        assert view.data.used == used and view.canvas.isVisible()
    assert ("v is NaN or infinite", "3") in shown_counts(view) and ("v is null", "1") in shown_counts(view)
    view.show_spec(ChartSpec("histogram", "nothing"))
    qtbot.waitUntil(view.message.isVisible)
    assert ("nothing is null", "100") in shown_counts(view)


@pytest.mark.slow
def test_a_million_categories_are_the_most_frequent_and_others(qtbot, window, settled, tmp_path):
    pq.write_table(
        pa.table({"v": [*(f"v{n}" for n in range(20_000)), "often", "often"]}), tmp_path / "many.parquet"
    )
    window.open_paths([tmp_path / "many.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    qtbot.waitUntil(lambda: view.data is not None)
    assert len(view.data.x) == 30 and "most frequent of 20,001 values" in view.form.remarks.text()
    marks = view.canvas.panels[0].drawing
    assert marks.high < 10, "the bar of the others is cut"


def test_an_area_ends_where_its_rows_end(qtbot, window, settled, tmp_path):
    rows = pa.table({"x": [1, 2, 3, 1, 2], "c": ["a", "a", "a", "b", "b"], "y": [5, 6, 7, 8, 9]})
    pq.write_table(rows, tmp_path / "areas.parquet")
    window.open_paths([tmp_path / "areas.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    for aggregate in ("mean", "sum"):
        view.show_spec(ChartSpec("area", "x", measure="y", aggregate=aggregate, color="c"))
        qtbot.waitUntil(lambda: view.data is not None and not view.running)
        marks = view.canvas.panels[0].drawing
        assert [(mark.row["value"], mark.point.x()) for mark in marks.marks] == [
            (5, 1), (6, 2), (7, 3), (8, 1), (9, 2)
        ]  # fmt: skip
        ends = {look.name: x for look, x, _y in marks.ends}
        assert ends == ({"a": 3, "b": 2} if aggregate == "mean" else {"a": 3, "b": 3})


def test_the_theme_changes_while_the_first_chart_is_read(qtbot, window, settled, tmp_path):
    pq.write_table(pa.table({"x": range(9)}), tmp_path / "few.parquet")
    window.open_paths([tmp_path / "few.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    assert view.running and view.data is None
    theme.current().set_mode("dark")
    qtbot.waitUntil(lambda: not view.running and view.data is not None)


def test_areas_that_overlap_are_lines_over_faint_fills(qtbot, window, settled, tmp_path):
    rows = [{"x": x, "c": "abcdefg"[c], "y": 10 + c} for x in range(9) for c in range(7)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "areas.parquet")
    window.open_paths([tmp_path / "areas.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("area", "x", measure="y", aggregate="mean", color="c"))
    qtbot.waitUntil(lambda: view.data is not None and not view.running and view.data.spec.kind == "area")
    items = view.canvas.panels[0].drawing.items
    fills = [item.brush().color() for item in items if isinstance(item, QGraphicsPathItem)]
    lines = [item.opts["pen"].color() for item in items if isinstance(item, pg.PlotCurveItem)]
    assert len(fills) == 7 and all(color.alpha() == 255 for color in lines)
    seen = [QColor(theme.current().colors.surface)]
    for fill in fills:  # one over the other
        share, pairs = fill.alphaF(), zip(fill.getRgbF()[:3], seen[-1].getRgbF()[:3], strict=True)
        seen.append(QColor.fromRgbF(*(share * over + (1 - share) * under for over, under in pairs)))
    assert contrast(seen[-1].name(), seen[0].name()) < 1.4


def test_one_number_is_named_below_its_bar_which_stands_on_the_axis(qtbot, window, settled, tmp_path):
    rows = {"year": [2013, 2013], "doors": [3, 4], "rate": [1.5, 1.5]}
    pq.write_table(pa.table(rows), tmp_path / "one.parquet")
    window.open_paths([tmp_path / "one.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    for column, names in (("year", {"2013"}), ("doors", {"3", "4"}), ("rate", {"1.5"})):
        view.show_spec(ChartSpec("histogram", column, log_y=True))
        qtbot.waitUntil(lambda: not view.running)
        panel = view.canvas.panels[0]
        axis, (_, (low, high)) = panel.plot.getAxis("bottom"), panel.plot.vb.viewRange()
        (ticks,) = axis.tickValues(*axis.range, axis.width())
        assert set(axis.tickStrings(ticks[1], 1.0, ticks[0])) == names
        assert low == panel.drawing.low and high > panel.drawing.high


def test_counts_have_whole_ticks_and_equal_means_one_colour(qtbot, window, settled, tmp_path):
    rows = {
        "k": ["a", "b", "a"],
        "v": [1.5, 1.5 + 2e-16, 1.5],
        "far": pa.array([-(2**62), 2**62, 0], "timestamp[us]"),
    }
    pq.write_table(pa.table(rows), tmp_path / "few.parquet")
    window.open_paths([tmp_path / "few.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view

    def ticks(name: str) -> list[str]:
        axis = view.canvas.panels[0].plot.getAxis(name)
        levels = axis.tickValues(*axis.range, 500)
        return [text for spacing, at in levels for text in axis.tickStrings(at, 1.0, spacing)]

    view.show_spec(ChartSpec("bar", "k", measure="v", aggregate="distinct"))
    qtbot.waitUntil(lambda: not view.running)
    assert set(ticks("left")) <= {"0", "1", "2"}
    view.show_spec(ChartSpec("line", "far"))
    qtbot.waitUntil(lambda: not view.running)
    assert ticks("bottom") == [], "nothing is named in years that no calendar has"
    colors = Ramp(1.5, 1.5 + 2e-16, log=False).colors([1.5, 1.5 + 2e-16])
    assert colors[0] == colors[1]


def test_durations_are_written_as_durations_wherever_a_chart_has_them(qtbot, window, settled, tmp_path):
    waits = [dt.timedelta(hours=-6), dt.timedelta(hours=30, minutes=30), dt.timedelta(seconds=90)]
    pq.write_table(pa.table({"k": ["a", "b", "c"], "wait": waits}), tmp_path / "waits.parquet")
    window.open_paths([tmp_path / "waits.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    for spec in (ChartSpec("bar", "k", measure="wait", aggregate="mean"), ChartSpec("box", "k", y="wait")):
        view.show_spec(spec)
        qtbot.waitUntil(lambda: not view.running)
        axis = view.canvas.panels[0].plot.getAxis("left")
        levels = axis.tickValues(*axis.range, 300)
        names = [text for spacing, at in levels for text in axis.tickStrings(at, 1.0, spacing)]
        assert "0:00" in names and "24:00" in names
        rows = view.canvas.data.table.to_pylist()
        texts = [hover_text(view.canvas.data, row) for row in rows]
        assert any("1 d 6:30:00" in text for text in texts) and any("−6:00:00" in text for text in texts)
    view.show_spec(ChartSpec("bar", "k", measure="wait", aggregate="distinct"))
    qtbot.waitUntil(lambda: not view.running)
    assert "Distinct values of wait: 1" in hover_text(view.canvas.data, view.canvas.data.table.to_pylist()[0])


@pytest.mark.parametrize(
    ("high", "names"),
    [(5400, ["0:00", "0:30", "1:00", "1:30"]), (86_400 * 400, ["0 d", "100 d", "200 d", "300 d", "400 d"])],
)
def test_ticks_of_durations_are_days_where_they_are_days_apart(high, names):
    ticks = SpanTicks(clock=False)
    ((spacing, values),) = ticks.values(0, high, 100, "left")
    assert ticks.texts(values, spacing) == names


def test_latitudes_that_there_are_not_make_no_map(qtbot, window, settled, tmp_path):
    pq.write_table(pa.table({"lon": [1000.0, 3, 4], "lat": [500.0, -3, 1e9]}), tmp_path / "wrong.parquet")
    window.open_paths([tmp_path / "wrong.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("scatter", "lon", "lat"))
    qtbot.waitUntil(lambda: view.data is not None and not view.running)
    assert "No map: lat goes beyond 90 degrees" in view.form.remarks.text()
    assert not view.canvas.panels[0].plot.vb.state["aspectLocked"]


@pytest.mark.slow
def test_long_names_are_told_apart_and_stay_inside(qtbot, window, settled, tmp_path):
    names = [f"{'a name that begins like all others ' * 3}{n}" for n in range(7)]
    rows = {"long": names * 4, "x": [n for n in range(4) for _ in names], "y": [1] * 28}
    pq.write_table(pa.table(rows), tmp_path / "long.parquet")
    window.open_paths([tmp_path / "long.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("line", "x", measure="y", aggregate="sum", color="long"))
    qtbot.waitUntil(lambda: view.data is not None and not view.running)
    assert len({look.name for look in view.canvas.looks}) == 7
    view.show_spec(ChartSpec("bar", "x", panels="long"))
    qtbot.waitUntil(lambda: len(view.canvas.panels) == 7 and not view.running)
    for panel in view.canvas.panels:
        assert panel.plot.sceneBoundingRect().right() <= view.canvas.width() + 1


def test_the_form_says_that_long_lines_have_no_markers(qtbot, window, settled, tmp_path):
    path = tmp_path / "days.parquet"
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(210)]
    pq.write_table(pa.table({"day": pa.array(days, pa.date32()), "n": range(210)}), path)
    window.open_paths([path])
    tab = settled()
    tab.charting.show()
    view, check = tab.charting.view, tab.charting.view.form.checks["markers"]
    view.show_spec(ChartSpec("line", "day", measure="n", aggregate="sum"))
    qtbot.waitUntil(lambda: not view.running and view.data is not None and len(view.data.table) == 210)
    assert "more than 120 points" in check.toolTip() and not check.isChecked() and not check.isEnabled()
    view.form.checks["zero"].click()
    assert view.form.display.zero and view.form.display.markers
    view.show_spec(ChartSpec("line", "day", measure="n", aggregate="sum", unit="month"))
    qtbot.waitUntil(lambda: not view.running and len(view.data.table) == 7)
    assert not check.toolTip() and check.isChecked() and check.isEnabled()


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_the_form_says_that_means_of_very_many_rows_have_no_bands(
    qtbot, window, tmp_path, settled, monkeypatch, kind
):
    pq.write_table(pa.table({"n": [1, 1, 2, 2], "v": [1.0, 2.0, 3.0, 5.0]}), tmp_path / "rows.parquet")
    window.open_paths([tmp_path / "rows.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec(kind, "n", measure="v", aggregate="mean"))
    check = view.form.checks["band"]
    qtbot.waitUntil(lambda: not view.running and view.data is not None and check.isVisible())
    assert check.isEnabled() and check.isChecked() and not check.toolTip()
    monkeypatch.setattr("lamella.core.query.charts.reading.ESTIMATED_ROWS", 3)
    view.show_spec(ChartSpec(kind, "n", measure="v", aggregate="mean", log_y=True))
    qtbot.waitUntil(lambda: not view.running and view.data.spec.log_y)
    assert "rows have no bands" in check.toolTip() and not check.isChecked() and not check.isEnabled()
    monkeypatch.undo()
    view.show_spec(ChartSpec(kind, "n", measure="v", aggregate="mean"))
    qtbot.waitUntil(lambda: not view.running and not view.data.spec.log_y)
    assert check.isEnabled() and check.isChecked() and not check.toolTip()


@pytest.mark.parametrize(("most", "text"), [(5000.0, "1 to below 1.259"), (1.0002, "1 to below 1.0000046")])
def test_ends_of_a_range_along_a_log_axis_have_few_digits(
    qtbot, window, tmp_path, settled, most: float, text: str
) -> None:
    pq.write_table(pa.table({"v": [1.0 + (most - 1) * n / 999 for n in range(1000)]}), tmp_path / "v.parquet")
    window.open_paths([tmp_path / "v.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("histogram", "v", log_x=True))
    qtbot.waitUntil(lambda: not view.running and view.data.spec.log_x)
    assert place_text(view.data.x, view.data.x.places[0]) == text
