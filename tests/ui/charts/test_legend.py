"""What the legend beside a chart says about sizes."""

from __future__ import annotations

from PySide6.QtGui import QFontMetrics

from lamella.ui import theme
from lamella.ui.charts.legend import SizeScale
from lamella.ui.charts.marks import PointSizes
from lamella.ui.charts.words import scale_text


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
