"""Units of time that are not complete are drawn, and described, unlike whole ones."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from lamella.core.query.builder import query_of
from lamella.core.query.charts import ChartData, ChartSpec, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui.charts.legend import ChartLegend
from lamella.ui.charts.marks import Display, Marks, looks_of
from lamella.ui.charts.words import hover_text, remarks_of

FIRST = dt.date(2023, 1, 1)


def chart(kind: str, days: int, **spec: str) -> ChartData:
    dates = [FIRST + dt.timedelta(days=n) for n in range(days)]
    rows = pa.table({"day": dates * 2, "port": ["a"] * days + ["b"] * days})
    query = query_of(SnapshotSource(snapshot_of_rows(rows, "days")))
    return read_chart(query, ChartSpec(kind, "day", unit="month", **spec))


def dotted(data: ChartData) -> list[list[float]]:
    """The ends of the dotted lines along x."""
    panel = Marks(data, Display(), looks_of(data.color)).of_rows(data.table.to_pylist())
    curves = [item for item in panel.items if hasattr(item, "getData")]
    return [list(c.getData()[0]) for c in curves if c.opts["pen"].style() == Qt.PenStyle.DotLine]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("kind", ["line", "area"])
def test_the_line_to_an_incomplete_month_is_dotted(kind: str) -> None:
    whole, part = chart(kind, 365), chart(kind, 345)
    assert part.x is not None
    assert dotted(whole) == []
    assert dotted(part) == [[place.at for place in part.x.places[-2:]]]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("color", ["", "port"])
def test_the_bar_of_an_incomplete_month_is_faded(color: str) -> None:
    data = chart("bar", 345, color=color)
    panel = Marks(data, Display(), looks_of(data.color)).of_rows(data.table.to_pylist())
    brushes = [brush.color().alpha() for _rect, brush, _pen in panel.items[0].rects]
    assert [alpha < 255 for alpha in brushes].count(True) == (2 if color else 1)


def test_what_is_incomplete_is_said_at_the_figure_and_beside_the_chart() -> None:
    data = chart("line", 345)
    rows = data.table.to_pylist()
    assert "day: 2023-12 (incomplete: 2023-12-01 to 2023-12-11)" in hover_text(data, rows[-1])
    assert "incomplete" not in hover_text(data, rows[0])
    assert remarks_of(data) == ["The last month is incomplete: rows end on 2023-12-11"]


def test_texts_along_a_line_are_said_to_be_in_the_order_of_letters() -> None:
    """Such as dates that no type was found for."""
    rows = snapshot_of_rows(pa.table({"date": ["Jan 2 2003", "Dec 5 1999"], "n": [1, 2]}), "texts")
    query = query_of(SnapshotSource(rows))
    order = "date is text: its values are in the order of their letters"
    assert remarks_of(read_chart(query, ChartSpec("line", "date"))) == [order]
    assert remarks_of(read_chart(query, ChartSpec("bar", "date"))) == []
    assert remarks_of(read_chart(query, ChartSpec("line", "n"))) == []


def test_the_legend_has_a_sample_of_what_is_incomplete(qtbot) -> None:
    legend = ChartLegend()
    qtbot.addWidget(legend)
    legend.show_looks([], hatched=False, partial="incomplete month")
    assert [label.text() for label in legend.findChildren(QLabel)] == ["incomplete month"]
    assert not legend.isHidden() and not legend.grab().isNull()
