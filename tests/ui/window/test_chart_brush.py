"""The brush of a chart: drawn by the mouse, shown with its rows, kept as a filter or dropped."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtTest import QTest

from lamella.core.query.charts import ChartSpec
from lamella.ui import theme
from lamella.ui.widgets.controls import IconButton
from tests.ui.window.chart_mouse import drag, point_of

BY_DELAY = ChartSpec("histogram", "delay")


def test_a_brush_is_shown_with_its_rows_and_kept_as_a_filter(qtbot, chart, settled):
    view = chart(BY_DELAY)
    marks = sorted(view.canvas.panels[0].drawing.marks, key=lambda m: m.row["x"])
    start, end = point_of(view, marks[3]), point_of(view, marks[6])
    drag(view, start, QPoint(end.x(), start.y()))
    rows = sum(mark.row["rows"] for mark in marks[3:7])
    assert view.brush_bar.isVisible() and f"{rows:,}" in view.brush_bar.text.text()
    assert settled().line.active == ()
    view.brush_bar.keep.click()
    tab = settled()
    assert tab.view.num_rows == rows and not view.brush_bar.isVisible()
    low, high = (view.data.x.places[n] for n in (0, -1))
    condition = tab.line.active[0].condition
    qtbot.waitUntil(lambda: not view.running)
    again = sorted(view.canvas.panels[0].drawing.marks, key=lambda m: m.row["x"])
    drag(view, point_of(view, again[0]), QPoint(point_of(view, again[1]).x(), start.y()))
    view.brush_bar.keep.click()
    tab = settled()
    assert len(tab.line.active) == 1 and tab.line.active[0].condition != condition
    assert low.low < high.high


def test_a_brush_is_dropped_by_escape_and_by_its_button(qtbot, chart, settled):
    view = chart(BY_DELAY)
    marks = view.canvas.panels[0].drawing.marks
    for drop in (lambda: QTest.keyClick(view.canvas, Qt.Key.Key_Escape), view.brush_bar.dropped.emit):
        start = point_of(view, marks[2])
        drag(view, start, QPoint(start.x() + 60, start.y()))
        assert view.brush_bar.isVisible()
        drop()
        assert not view.brush_bar.isVisible()
    assert settled().line.active == () and view.isVisible()


def test_the_keyboard_returns_to_the_chart_from_the_bar_of_a_brush(qtbot, chart, settled):
    view = chart(BY_DELAY)
    for button in (view.brush_bar.findChild(IconButton), view.brush_bar.keep):
        start = point_of(view, view.canvas.panels[0].drawing.marks[2])
        drag(view, start, QPoint(start.x() + 60, start.y()))
        button.setFocus()
        button.click()
        assert view.window().focusWidget() is view.canvas
    assert len(settled().line.active) == 1


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_the_bar_of_a_brush_fits_a_small_chart(qtbot, window, settled, tmp_path, scale):
    names = [f"a column with a name that is {long} long" for long in ("rather", "very")]
    pq.write_table(
        pa.table({name: [n * 1_000_003 for n in range(200)] for name in names}), tmp_path / "a.parquet"
    )
    theme.current().set_text_scale(scale)
    window.resize(1000, 700)
    window.open_paths([tmp_path / "a.parquet"])
    tab = settled()
    tab.charting.show()
    view = tab.charting.view
    view.show_spec(ChartSpec("scatter", *names))
    qtbot.waitUntil(lambda: view.data is not None and not view.running)
    marks = view.canvas.panels[0].drawing.marks
    drag(view, point_of(view, marks[50]), point_of(view, marks[150]))
    bar = view.brush_bar
    qtbot.waitUntil(lambda: bar.text.height() >= bar.text.heightForWidth(bar.text.width()))
    assert (
        view.canvas.parentWidget()
        .rect()
        .contains(bar.geometry().translated(-view.canvas.parentWidget().mapTo(view, QPoint())))
    )
    assert "very long" in bar.text.text() and bar.text.text().endswith("rows")


def test_the_bar_of_a_brush_leaves_it_in_sight(qtbot, chart):
    view = chart(ChartSpec("scatter", "delay", "delay"))
    box = view.canvas.panels[0].plot.vb
    (left, right), (low, high) = box.viewRange()
    middle = view.canvas.mapFromScene(box.mapViewToScene(QPointF((left + right) / 2, (low + high) / 2)))
    for corner in (box.mapViewToScene(QPointF(right, low)), box.mapViewToScene(QPointF(right, high))):
        drag(view, middle, view.canvas.mapFromScene(corner) - QPoint(4, 0))
        area = view.canvas.brush_area
        assert view.brush_bar.isVisible() and area.width() > 50 and area.height() > 50
        assert not view.brush_bar.geometry().intersects(
            QRect(view.canvas.mapTo(view, area.topLeft()), area.size())
        )


def test_a_brush_is_dropped_where_the_figures_are_shown(qtbot, chart):
    view = chart(BY_DELAY)
    start = point_of(view, view.canvas.panels[0].drawing.marks[2])
    drag(view, start, QPoint(start.x() + 60, start.y()))
    view.figures.click()
    assert view.table.isVisible() and not view.brush_bar.isVisible()
