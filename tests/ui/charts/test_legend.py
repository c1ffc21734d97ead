"""What the legend beside a chart says about sizes."""

from __future__ import annotations

import math

import pyarrow as pa
from PySide6.QtGui import QFontMetrics

from lamella.core.query.charts import ChartData, ChartSpec
from lamella.ui import theme
from lamella.ui.charts.legend import SizeScale
from lamella.ui.charts.marks import LEAST_POINT, MOST_POINT, POINT_SIZE, PointSizes
from lamella.ui.charts.words import remarks_of, scale_text


def data_of(sizes):
    rows = len(sizes)
    table = pa.table({"at_x": [0.0] * rows, "at_y": [0.0] * rows, "size": pa.array(sizes, pa.float64())})
    return ChartData(ChartSpec("scatter", "x", "y", size="n"), table, {}, rows, rows)


def test_sizes_are_in_proportion_to_numbers_that_are_finite(qtbot):
    data = data_of([math.inf, 100.0, 25.0, 0.0, -50.0, None, math.nan, -math.inf])
    sizes = PointSizes.of(data)
    assert sizes.pixels([100.0, 25.0]).tolist() == [MOST_POINT, MOST_POINT / 2]
    assert sizes.pixels([math.inf]).tolist() == [MOST_POINT]
    assert set(sizes.pixels([0.0, -50.0, math.nan, -math.inf])) == {LEAST_POINT}
    scale = SizeScale(sizes, "n")
    qtbot.addWidget(scale)
    assert scale.values == [5, 20, 100]
    assert remarks_of(data) == [
        "Smallest points by n: 2 without a number and 2 below 0",
        "Largest points by n: 1 infinite",
    ]


def test_points_of_one_size_are_as_large_as_without_sizes(qtbot):
    data = data_of([7.5, 7.5])
    sizes = PointSizes.of(data)
    assert sizes.pixels([7.5, 7.5]).tolist() == [POINT_SIZE, POINT_SIZE] and not remarks_of(data)
    scale = SizeScale(sizes, "n")
    qtbot.addWidget(scale)
    assert scale.values == [7.5]


def test_no_number_above_0_has_the_smallest_point():
    for numbers in ([None, None], [-1.0, 0.0], [math.nan]):
        sizes = PointSizes.of(data_of(numbers))
        assert sizes.greatest <= 0 and set(sizes.pixels([-1.0, 0.0, math.nan])) == {LEAST_POINT}


def test_a_scale_of_sizes_is_short_and_its_tooltip_whole(qtbot):
    sizes = PointSizes(greatest=210_000_000)
    title = "population of the metropolitan area by the last census"
    scale = SizeScale(sizes, title)
    qtbot.addWidget(scale)
    assert scale.values == [10_000_000, 50_000_000, 200_000_000]
    assert scale.toolTip() == f"Sizes by {title}: 10,000,000, 50,000,000, 200,000,000"
    narrow = SizeScale(sizes, "n")
    qtbot.addWidget(narrow)
    metrics = QFontMetrics(theme.current().tabular_font(theme.TextSize.CAPTION))
    long_numbers = sum(map(metrics.horizontalAdvance, ("10,000,000", "50,000,000", "200,000,000")))
    assert narrow.width() < long_numbers
    assert scale_text(50_000_000) == "50M" and scale_text(7_500) == "7,500"
