"""The colours of a heat map and of densities: one hue, darker for greater figures, with a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from lamella.core.query.charts import ChartData
from lamella.core.query.charts.spec import HEAT_MAP
from lamella.ui import theme
from lamella.ui.charts.words import figure_text, figures_are_durations, rounded, scale_text

SCALE_WIDTH, SCALE_STEPS = 120, 24
LEVELS = 256
"""The number of colours from one end of a ramp to the other."""
LEAST_SHARE = 0.1
"""The share of the accent colour for the least figure of a heat map."""
CUT_SHARE = 0.02
"""The share of cells at either end that get the colour of the end."""
MIDDLE_LUMINANCE = 0.179
"""The luminance at which black and white have the same contrast, 4.6 : 1 by WCAG."""


@dataclass(frozen=True)
class Ramp:
    """Colours from the least to the greatest figure, each darker than the one before, so that they differ
    without hue. Densities use logarithms. Figures `beyond` the ends get the colours of the ends."""

    low: float
    high: float
    log: bool
    beyond: tuple[bool, bool] = (False, False)
    are_durations: bool = False

    def color(self, value: float) -> QColor:
        return self.colors([value])[0]

    def colors(self, values: Sequence[float]) -> list[QColor]:
        """The colours of values in the current theme."""
        levels = np.rint(self._shares(np.asarray(values, np.float64)) * (LEVELS - 1)).astype(np.int64)
        palette = theme.current().colors
        start, end = (np.array(QColor(name).getRgb()[:3]) for name in (palette.surface, palette.accent))
        of_level = {
            level: QColor(*np.rint(start + (end - start) * level / (LEVELS - 1)).astype(int).tolist())
            for level in np.unique(levels).tolist()
        }
        return [of_level[level] for level in levels.tolist()]

    def _shares(self, values: np.ndarray) -> np.ndarray:
        """How far from the surface's colour to the accent's those of the values are, from 0 to 1."""
        low, high, at = self.low, self.high, values
        if self.log:
            low, high, at = math.log1p(low), math.log1p(high), np.log1p(np.maximum(values, 0))
        differ = high > low and not math.isclose(low, high)  # means of equal values differ in the last digit
        shares = (at - low) / (high - low) if differ else np.ones(len(values))
        return LEAST_SHARE + (1 - LEAST_SHARE) * np.clip(np.nan_to_num(shares), 0.0, 1.0)

    @property
    def ends(self) -> tuple[str, str]:
        """The labels of the scale's ends."""
        low, high = (scale_text(rounded(end), self.are_durations) for end in (self.low, self.high))
        return f"≤ {low}" if self.beyond[0] else low, f"≥ {high}" if self.beyond[1] else high


def ramp_of(data: ChartData) -> Ramp:
    """The ramp of a chart. Densities begin at 0. In a heat map, the outermost fiftieths of the cells share
    the colours of the ends, since a cell of few rows may differ greatly from all others."""
    if "value" not in data.table.column_names:
        return Ramp(0.0, 1.0, log=True)
    values = sorted(value for value in data.table["value"].to_pylist() if value is not None)
    if data.spec.kind != HEAT_MAP or not values:
        return Ramp(0.0, max(values, default=1.0), log=True)
    first, last = round(CUT_SHARE * (len(values) - 1)), round((1 - CUT_SHARE) * (len(values) - 1))
    low, high = values[first], values[last]
    return Ramp(
        low,
        high,
        log=False,
        beyond=(values[0] < low, values[-1] > high),
        are_durations=figures_are_durations(data.spec, data.types),
    )


def ink_on(color: QColor) -> QColor:
    """Black or white, whichever is more legible on the colour."""
    parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in color.getRgbF()[:3]]
    luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return QColor("black" if luminance > MIDDLE_LUMINANCE else "white")


class Cells(pg.GraphicsObject):
    """Rectangles side by side: the cells of a heat map with their figures, or densities."""

    def __init__(
        self,
        edges: np.ndarray,
        colors: Sequence[QColor],
        figures: Sequence[float] = (),
        are_durations: bool = False,
    ) -> None:
        """`edges`: the left, lower, right and upper edge of each cell, of shape (n, 4). `figures` are written
        into the cells if all of them have room."""
        super().__init__()
        self._edges, self._colors, self._figures = edges, colors, figures
        self._are_durations = are_durations
        west, south, east, north = (*edges[:, :2].min(axis=0), *edges[:, 2:].max(axis=0))
        self._bounds = QRectF(west, south, east - west, north - south)

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        rects = self._on_pixels(p.worldTransform())
        areas = [QRectF(*rect) for rect in rects.tolist()]
        p.save()
        p.setWorldTransform(QTransform())
        for area, color in zip(areas, self._colors, strict=True):
            p.fillRect(area, color)
        self._write_figures(p, areas, rects[:, 2:].min(axis=0))
        p.restore()

    def _on_pixels(self, transform: QTransform) -> np.ndarray:
        """The left and upper edge, the width and the height of each cell in whole pixels, so that no gap is
        between cells and none vanishes."""
        across = np.rint(self._edges[:, [0, 2]] * transform.m11() + transform.dx())
        down = np.rint(self._edges[:, [1, 3]] * transform.m22() + transform.dy())
        left, top = across.min(axis=1), down.min(axis=1)
        width, height = np.abs(np.diff(across)).ravel(), np.abs(np.diff(down)).ravel()
        return np.column_stack([left, top, np.maximum(width, 1), np.maximum(height, 1)])

    def _write_figures(self, p: QPainter, areas: Sequence[QRectF], room: np.ndarray) -> None:
        font = theme.current().tabular_font(theme.TextSize.CAPTION)
        metrics = QFontMetrics(font)
        least_width, least_height = room.tolist()
        if (
            not self._figures
            or metrics.height() > least_height
            or metrics.horizontalAdvance("0") > least_width
        ):
            return
        if any(metrics.horizontalAdvance(t) + 2 > a.width() for t, a in zip(self._texts, areas, strict=True)):
            return
        p.setFont(font)
        for text, area, color in zip(self._texts, areas, self._colors, strict=True):
            p.setPen(ink_on(color))
            p.drawText(area, int(Qt.AlignmentFlag.AlignCenter), text)

    @cached_property
    def _texts(self) -> list[str]:
        return [figure_text(rounded(figure), self._are_durations) for figure in self._figures]


class RampScale(QWidget):
    """The scale that explains the colours of a heat map or of densities."""

    def __init__(self, ramp: Ramp, title: str) -> None:
        super().__init__()
        self._ramp = ramp
        low, high = ramp.ends
        self.setAccessibleName(f"{title}, from {low} to {high}")
        metrics = QFontMetrics(theme.current().tabular_font(theme.TextSize.CAPTION))
        self._parts = [f"{title}  {low}", high]
        self._widths = [metrics.horizontalAdvance(part) + theme.S for part in self._parts]
        self.setFixedSize(sum(self._widths) + SCALE_WIDTH + theme.S, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, height = QPainter(self), self.height()
        painter.setFont(theme.current().tabular_font(theme.TextSize.CAPTION))
        painter.setPen(theme.current().color("muted"))
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        left, right = self._widths
        painter.drawText(0, 0, left, height, middle, self._parts[0])
        painter.drawText(left + SCALE_WIDTH + theme.S, 0, right, height, middle, self._parts[1])
        low, high = self._ramp.low, self._ramp.high
        for step in range(SCALE_STEPS):
            color = self._ramp.color(low + (high - low) * (step + 0.5) / SCALE_STEPS)
            wide = SCALE_WIDTH / SCALE_STEPS
            painter.fillRect(QRectF(left + step * wide, 2, wide + 0.5, height - 4), color)
        painter.end()
