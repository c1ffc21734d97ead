"""Axes of rows, times and sizes: by powers of ten, or evenly divided."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg

from lamella.ui.bench.quantities import Units, even_label, power_of_ten

LABEL_PIXELS = {"bottom": 56, "left": 16}
"""What a label takes along its axis."""

BETWEEN = [math.log10(step) for step in range(2, 10)]


class DecadeAxis(pg.AxisItem):
    """A tick at each power of ten, labelled where there is room, and at 2 … 9 between; positions are log10.

    `floor` is where values end: below it the axis marks nothing.
    """

    def __init__(self, orientation: str, units: Units) -> None:
        super().__init__(orientation)
        self._units, self.floor = units, -math.inf
        self._every = 1

    def show_as(self, units: Units, floor: float = -math.inf) -> None:
        self._units, self.floor = units, floor
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        self._every = math.ceil(LABEL_PIXELS[self.orientation] * (maxVal - minVal) / max(1.0, size))
        low = max(minVal, self.floor) - 1e-9
        decades = range(math.ceil(low), math.floor(maxVal + 1e-9) + 1)
        between = [decade + part for decade in range(math.floor(low), math.ceil(maxVal)) for part in BETWEEN]
        return [(1.0, [float(d) for d in decades]), (0.1, [v for v in between if low <= v <= maxVal])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if spacing < 1:
            return [""] * len(values)
        powers = [round(value) for value in values]
        return [power_of_ten(power, self._units) if power % self._every == 0 else "" for power in powers]


class EvenAxis(pg.AxisItem):
    """Evenly divided, all ticks in the unit of the largest."""

    def __init__(self, orientation: str, units: Units) -> None:
        super().__init__(orientation)
        self._units = units

    def show_as(self, units: Units, floor: float = 0.0) -> None:
        self._units = units
        self.picture = None
        self.update()

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        largest = max(values, default=0.0)
        return [even_label(value, largest, spacing, self._units) if value >= 0 else "" for value in values]
