"""The axes of a chart that is drawn."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest
from PySide6.QtCore import QCoreApplication, QRectF
from PySide6.QtGui import QFontMetrics, QImage, QPainter
from PySide6.QtWidgets import QWidget

from lamella.core.query.builder import query_of
from lamella.core.query.charts import ChartSpec, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui import theme
from lamella.ui.charts.canvas import ChartCanvas
from lamella.ui.charts.marks import Display
from lamella.ui.charts.view import ChartView
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.plotting import svg_of


@pytest.mark.parametrize(("value", "low", "high"), [(2013, 0, 2013), (-5, -5, 0), (0, 0, 1)])
def test_an_axis_of_one_value_begins_at_zero(qtbot, value: int, low: int, high: int) -> None:
    rows = snapshot_of_rows(pa.table({"hour": [1, 2, 3], "year": [value] * 3}), "years")
    canvas = ChartCanvas()
    qtbot.addWidget(canvas)
    spec = ChartSpec("line", "hour", measure="year", aggregate="mean")
    canvas.show_data(read_chart(query_of(SnapshotSource(rows)), spec), Display())
    first, last = canvas.panels[0].plot.viewRange()[1]
    assert first <= low and high <= last
    assert value <= 0 or first == 0, "there is nothing below"


@pytest.mark.parametrize(
    ("unit", "label", "title"),
    [("week", "date, by week", "Rows by week of date"), ("month", "date, by month", "Rows by month of date")],
)
def test_a_chart_names_the_unit_of_time_of_its_places(qtbot, tasks: Tasks, unit, label, title) -> None:
    dates = [dt.date(2023, 1, 1) + dt.timedelta(days=n) for n in range(200)]
    rows = snapshot_of_rows(pa.table({"date": dates}), "days")
    view = ChartView(tasks)
    qtbot.addWidget(view)
    view.show_spec(ChartSpec("line", "date", unit=unit))
    view.show_rows(query_of(SnapshotSource(rows)), rows.schema, rows.num_rows, [])
    qtbot.waitUntil(lambda: view.data is not None)
    assert view.title.text() == title
    assert view.canvas.panels[0].plot.getAxis("bottom").labelText == label


def test_titles_longer_than_their_axes_keep_both_ends(qtbot) -> None:
    name = "<hour> " + "of the measurement at the station " * 6 + "end"
    rows = snapshot_of_rows(pa.table({name: [1, 2, 3], "year": [4, 5, 6]}), "years")
    canvas = ChartCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(500, 400)
    canvas.show_data(read_chart(query_of(SnapshotSource(rows)), ChartSpec("line", name)), Display())
    canvas.show()
    axis = canvas.panels[0].plot.getAxis("bottom")
    qtbot.waitUntil(lambda: "…" in axis.label.toPlainText())
    text = axis.label.toPlainText()
    assert text.startswith("<hour> of") and text.endswith("end")
    assert axis.label.boundingRect().width() <= axis.size().width()
    canvas.resize(3000, 400)
    qtbot.waitUntil(lambda: axis.label.toPlainText() == name)


def test_panels_are_in_their_places_when_they_are_first_painted(qtbot) -> None:
    rows = pa.table({"hour": [1, 2, 3, 1], "port": ["EWR", "JFK", "LGA", "SWF"], "delay": [4, 5, 6, 70000]})
    query = query_of(SnapshotSource(snapshot_of_rows(rows, "flights")))
    canvas = ChartCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(700, 500)
    spec = ChartSpec("bar", "hour", measure="delay", aggregate="sum")
    canvas.show_data(read_chart(query, spec), Display())
    with qtbot.waitExposed(canvas):
        canvas.show()

    def places() -> list[QRectF]:
        return [panel.plot.vb.sceneBoundingRect() for panel in canvas.panels]

    canvas.show_data(read_chart(query, replace(spec, panels="port")), Display())
    at_first = places()
    canvas.grab()
    QCoreApplication.processEvents()
    assert at_first == places() and len({round(place.top()) for place in at_first}) == 2


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_labels_below_do_not_touch_those_beside(qtbot, scale: float) -> None:
    """The first date is in the corner where 0 is."""
    theme.current().set_text_scale(scale)
    days = [dt.date(2012, 1, 1) + dt.timedelta(days=n) for n in range(800)]
    rows = snapshot_of_rows(pa.table({"day": days}), "days")
    holder = QWidget()
    qtbot.addWidget(holder)
    canvas = ChartCanvas(holder)
    for widget in (holder, canvas):
        widget.resize(700, 500)
    canvas.show_data(read_chart(query_of(SnapshotSource(rows)), ChartSpec("histogram", "day")), Display())
    holder.show()
    image = QImage(10, 10, QImage.Format.Format_RGB32)
    places = []
    for name in ("left", "bottom"):
        axis = canvas.panels[0].plot.getAxis(name)
        with QPainter(image) as painter:
            painter.setFont(axis.style["tickFont"])
            _line, _ticks, texts = axis.generateDrawSpecs(painter)
        places.append({text: axis.mapRectToScene(QRectF(rect)) for rect, _flags, text in texts})
    beside, below = places
    assert "0" in beside and "2012" in below
    assert below["2012"].top() >= beside["0"].bottom() - QFontMetrics(axis.style["tickFont"]).descent()


def test_labels_of_lines_that_are_longer_than_their_room_are_elided(qtbot) -> None:
    names = ["the long first name", "the long second name"]
    rows = snapshot_of_rows(pa.table({"n": [1, 1, 2, 2], "name": names * 2, "y": [1, 2, 3, 4]}), "lines")
    holder = QWidget()
    qtbot.addWidget(holder)
    canvas = ChartCanvas(holder)
    holder.show()
    spec = ChartSpec("line", "n", measure="y", aggregate="mean", color="name")
    canvas.show_data(read_chart(query_of(SnapshotSource(rows)), spec), Display())

    def drawn(width: int) -> str:
        canvas.resize(width, 400)
        return svg_of("", canvas.size(), canvas.render)

    wide, narrow = drawn(1_200), drawn(200)
    assert all(name in wide for name in names)
    assert not any(name in narrow for name in names) and narrow.count("…") == len(names)
