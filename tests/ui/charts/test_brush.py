"""A range of a chart is brushed with the mouse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from lamella.core.query.builder import query_of
from lamella.core.query.charts import ChartData, ChartSpec, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui import theme
from lamella.ui.charts.brush import ChartSelection
from lamella.ui.charts.canvas import ChartCanvas
from lamella.ui.charts.marks import Display
from lamella.ui.widgets.plotting import pixels_of

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def data() -> ChartData:
    rows = pa.table({"hour": [1, 2, 3, 4, 5, 6] * 2, "port": ["a"] * 6 + ["b"] * 6})
    spec = ChartSpec("bar", "hour", panels="port")
    return read_chart(query_of(SnapshotSource(snapshot_of_rows(rows, "hours"))), spec)


@pytest.fixture
def canvas(qtbot, monkeypatch, data: ChartData) -> Iterator[ChartCanvas]:
    monkeypatch.setattr("lamella.ui.charts.canvas.QToolTip.showText", lambda *_: None)
    holder = QWidget()
    qtbot.addWidget(holder)
    canvas = ChartCanvas(holder)
    holder.resize(700, 300)
    canvas.resize(700, 300)
    canvas.show_data(data, Display())
    holder.show()
    yield canvas
    theme.current().set_mode("system")


def middle(canvas: ChartCanvas, hour: int, panel: int = 0) -> QPoint:
    """The middle of a bar."""
    mark = canvas.panels[panel].drawing.marks[hour - 1]
    assert mark.area is not None
    return canvas.mapFromScene(canvas.panels[panel].plot.vb.mapViewToScene(QPointF(mark.area.center())))


def press_and_drag(canvas: ChartCanvas, first: int, last: int) -> None:
    viewport = canvas.viewport()
    QTest.mouseMove(viewport, middle(canvas, first))
    QTest.mousePress(viewport, LEFT, pos=middle(canvas, first))
    QTest.mouseMove(viewport, middle(canvas, last))


def contrast(one: QColor, other: QColor) -> float:
    """The ratio of luminances, as for text."""

    def luminance(color: QColor) -> float:
        parts = color.redF(), color.greenF(), color.blueF()
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_brush_over_bars_is_seen_without_colours(canvas: ChartCanvas, mode: str) -> None:
    theme.current().set_mode(mode)
    press_and_drag(canvas, 2, 4)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=middle(canvas, 4))
    picture = canvas.grab().toImage()
    inside, outside = (picture.pixelColor(middle(canvas, hour)) for hour in (3, 6))
    assert contrast(inside, outside) > 1.8
    assert picture.pixelColor(middle(canvas, 3, panel=1)) == outside, "it filters by the panel, too"
    row, text = middle(canvas, 3).y(), theme.current().color("text")
    edges = [x for x in range(picture.width()) if contrast(picture.pixelColor(x, row), text) < 1.05]
    assert middle(canvas, 1).x() < edges[0] < middle(canvas, 2).x()
    assert middle(canvas, 4).x() < edges[-1] < middle(canvas, 5).x()


def test_a_picture_of_the_chart_has_no_brush(canvas: ChartCanvas) -> None:
    def picture() -> QImage:
        return pixels_of(canvas.size(), canvas.render)

    plain = picture()
    press_and_drag(canvas, 2, 4)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=middle(canvas, 4))
    QTest.mouseMove(canvas.viewport(), QPoint(1, 1))
    assert not canvas.brush_area.isEmpty()
    assert picture() == plain


def test_no_ring_stays_where_a_drag_began(canvas: ChartCanvas) -> None:
    viewport = canvas.viewport()
    QTest.mouseMove(viewport, middle(canvas, 2))
    hovered = canvas.grab().toImage()
    press_and_drag(canvas, 2, 4)
    QTest.mouseRelease(viewport, LEFT, pos=middle(canvas, 4))
    canvas.clear_brush()
    dropped = canvas.grab().toImage()
    QTest.mouseMove(viewport, QPoint(1, 1))
    plain = canvas.grab().toImage()
    assert hovered != plain, "a ring is drawn"
    assert dropped == plain


def test_a_drag_ends_where_the_chart_is_drawn_anew(canvas: ChartCanvas, data: ChartData) -> None:
    press_and_drag(canvas, 2, 4)
    brushed: list[object] = []
    canvas.brushed.connect(brushed.append)
    canvas.show_data(replace(data), Display())
    assert brushed == [None], "nothing offers to filter by a brush that is gone"
    QTest.mouseMove(canvas.viewport(), middle(canvas, 6))
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=middle(canvas, 6))
    assert brushed == [None]


def test_a_brush_stays_while_only_the_look_of_the_chart_changes(canvas: ChartCanvas) -> None:
    brushed: list[ChartSelection | None] = []
    canvas.brushed.connect(brushed.append)
    press_and_drag(canvas, 2, 4)
    theme.current().set_mode("dark")
    canvas.show_data(canvas.data, Display(markers=False))
    assert len({selection and selection.text for selection in brushed}) == 1
    picture = canvas.grab().toImage()
    inside, outside = (picture.pixelColor(middle(canvas, hour)) for hour in (3, 6))
    assert contrast(inside, outside) > 1.8
