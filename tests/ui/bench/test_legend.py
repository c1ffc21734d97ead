"""The legend above the plots of a benchmark has room for all its entries."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from lamella.ui import theme
from lamella.ui.bench.legend import LegendLine
from lamella.ui.bench.series import Series

SYSTEMS = (
    "Lamella",
    "SQLite (synchronous off)",
    "ParquetDB",
    "DuckDB",
    "MongoDB",
    "Plain Parquet",
    "Published",
)


@pytest.mark.parametrize("width", [150, 300, 500, 900])
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_all_entries_are_in_sight(qtbot, width: int, scale: float) -> None:
    theme.current().set_text_scale(scale)
    holder = QWidget()
    qtbot.addWidget(holder)
    legend = LegendLine(holder)
    legend.show_series([Series(name, name, False, "", "", ()) for name in SYSTEMS])
    legend.resize(width, legend.height())
    holder.show()
    qtbot.waitUntil(lambda: legend.viewport().width() == width)
    assert not legend.verticalScrollBar().isVisible() and not legend.verticalScrollBar().maximum()
    seen = legend.viewport().rect()
    for entry in legend.entries.values():
        assert seen.contains(entry.rect().translated(entry.mapTo(legend.viewport(), entry.rect().topLeft())))
