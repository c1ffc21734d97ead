"""The axes of a chart that is drawn."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella.core.query.builder import query_of
from lamella.core.query.charts import ChartSpec, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.ui.charts.canvas import ChartCanvas
from lamella.ui.charts.marks import Display


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
