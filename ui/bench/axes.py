"""Axes whose positions are powers of ten: rows along the bottom, times or sizes up the side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyqtgraph as pg

BETWEEN = [math.log10(step) for step in range(2, 10)]


class DecadeAxis(pg.AxisItem):
    """A labelled tick at each power of ten, unlabelled ones at 2 … 9 between; positions are log10.

    `floor` is where values end: below it the axis marks nothing.
    """

    def __init__(self, orientation: str, shown: Callable[[float], str]) -> None:
        super().__init__(orientation)
        self._shown = shown
        self.floor = -math.inf

    def show_as(self, shown: Callable[[float], str], floor: float = -math.inf) -> None:
        self._shown, self.floor = shown, floor
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        low = max(minVal, self.floor) - 1e-9
        decades = range(math.ceil(low), math.floor(maxVal + 1e-9) + 1)
        between = [decade + part for decade in range(math.floor(low), math.ceil(maxVal)) for part in BETWEEN]
        return [(1.0, [float(d) for d in decades]), (0.1, [v for v in between if low <= v <= maxVal])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if spacing < 1:
            return [""] * len(values)
        return [self._shown(10.0 ** round(value)) for value in values]


def rows_label(rows: float) -> str:
    return f"{rows:,.0f}"


def seconds_label(seconds: float) -> str:
    return _with_unit(seconds, (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)))


def bytes_label(size: float) -> str:
    return _with_unit(size, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))


def _with_unit(value: float, units: Sequence[tuple[str, float]]) -> str:
    """A power of ten in the largest unit that leaves it at least 1."""
    unit, size = next((pair for pair in units if value >= pair[1] * 0.999), units[-1])
    return f"{value / size:,.0f} {unit}"
