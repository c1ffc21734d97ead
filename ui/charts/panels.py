"""The panels of a chart: how many are side by side, and the alignment of their axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph as pg

from lamella.core.query.charts.dimensions import Dimension, Place
from lamella.ui import theme
from lamella.ui.charts.axes import NameTicks
from lamella.ui.charts.marks import EndLabels, PanelMarks

LEAST_WIDTH, LEAST_HEIGHT = 160, 130
"""The minimum size of a panel, in pixels; panels that do not fit are scrolled to."""
EARTH = (-180.0, 180.0), (-90.0, 90.0)
"""The ranges of longitude and latitude."""


@dataclass
class Panel:
    """One plot, and what stands in it."""

    plot: pg.PlotItem
    drawing: PanelMarks
    rows: Sequence[Mapping[str, Any]]
    place: Place | None
    cell: tuple[int, int]
    """Row and column of the panel."""
    is_named: bool
    """Whether its axis has the labels of places below it."""
    labels: EndLabels | None = None


def panels_across(count: int, width: int, height: int) -> int:
    """The number of panels per row for which they are neither flat nor thin."""
    least = theme.current().px(LEAST_WIDTH)

    def misfit(across: int) -> float:
        down = math.ceil(count / across)
        shape = (max(1, width) / across) / max(height / down, LEAST_HEIGHT)
        thin = 5.0 if across > 1 and width / across < least else 0.0
        return abs(math.log(shape / 1.4)) + 0.1 * (across * down - count) + thin

    return min(range(1, max(1, count) + 1), key=misfit)


def align_axes(panels: Sequence[Panel]) -> None:
    """Align the axes of the panels in each row and in each column."""
    for panel in panels:
        (west, east), (low, high) = panel.plot.vb.viewRange()
        left, bottom = panel.plot.getAxis("left"), panel.plot.getAxis("bottom")
        if not isinstance(left.ticks, NameTicks):
            left.reserve(low, high, panel.plot.vb.height())
        if panel.is_named and not isinstance(bottom.ticks, NameTicks):
            bottom.reserve(west, east, panel.plot.vb.width())


def names_overhang(panels: Sequence[Panel], x: Dimension) -> float:
    """Pixels by which the first turned label extends beyond the left edge of the chart."""
    most = 0.0
    for panel in panels:
        box, bottom = panel.plot.vb, panel.plot.getAxis("bottom")
        if panel.cell[1] == 0 and bottom.overhang:
            (west, east), _down = box.viewRange()
            before = (x.places[0].at - west) / (east - west) * box.width()
            most = max(most, bottom.overhang - before - panel.plot.getAxis("left").minimumWidth())
    return most


def map_stretch(south: float, north: float) -> float:
    """The length of a degree of longitude relative to one of latitude, midway between two latitudes."""
    return max(0.05, math.cos(math.radians((south + north) / 2)))
