"""The colours of a heat map and of densities: one hue, darker for greater figures, with a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from lamella.core.query.charts import ChartData
from lamella.core.query.charts.spec import HEAT_MAP
from lamella.ui import theme
from lamella.ui.charts.words import cell_texts, figures_are_durations, rounded, scale_text

SCALE_WIDTH, SCALE_HEIGHT = 240, 10
LEVELS = 256
"""The number of colours from one end of a ramp to the other."""
LEAST_SHARE = 0.22
"""The share of the accent colour for the least figure of a heat map, unlike a missing cell."""
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
        colors = (QColor(palette.surface), QColor(palette.accent))
        start, end = (np.array([color.red(), color.green(), color.blue()]) for color in colors)
        shares = np.arange(LEVELS)[:, np.newaxis] / (LEVELS - 1)
        of_level = [
            QColor(*channels) for channels in np.rint(start + (end - start) * shares).astype(int).tolist()
        ]
        return [of_level[level] for level in levels.tolist()]

    def _shares(self, values: np.ndarray) -> np.ndarray:
        """How far from the surface's colour to the accent's those of the values are, from 0 to 1."""
        return LEAST_SHARE + (1 - LEAST_SHARE) * self.positions(values)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Where values are on the scale, from 0 at its low end to 1 at its high end."""
        low, high, at = self.low, self.high, values
        if self.log:
            low, high, at = math.log1p(low), math.log1p(high), np.log1p(np.maximum(values, 0))
        differ = high > low and not math.isclose(low, high)  # means of equal values differ in the last digit
        positions = (at - low) / (high - low) if differ else np.ones(len(values))
        return np.clip(np.nan_to_num(positions), 0.0, 1.0)

    def values_at(self, positions: np.ndarray) -> np.ndarray:
        """The values at positions of the scale."""
        if not self.log:
            return self.low + (self.high - self.low) * positions
        low, high = math.log1p(self.low), math.log1p(self.high)
        return np.expm1(low + (high - low) * positions)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The positions and labels of the scale: its ends and, on a logarithmic one, powers of ten."""
        low, high = self.ends
        between = [10.0**power for power in range(16) if self.log and self.low < 10.0**power < self.high]
        places = self.positions(np.array(between, np.float64)).tolist()
        return [(0.0, low), *zip(places, map(scale_text, between), strict=True), (1.0, high)]

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
    channels = (color.redF(), color.greenF(), color.blueF())
    parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
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
        west, south = edges[:, :2].min(axis=0)
        east, north = edges[:, 2:].max(axis=0)
        self._bounds = QRectF(west, south, east - west, north - south)

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, p: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        rects = self._on_pixels(p.worldTransform())
        p.save()
        p.setWorldTransform(QTransform())
        for (left, top, width, height), color in zip(rects.tolist(), self._colors, strict=True):
            p.fillRect(left, top, width, height, color)
        if self._figures:
            self._write_figures(p, [QRectF(*rect) for rect in rects.tolist()], rects[:, 2:].min(axis=0))
        p.restore()

    def _on_pixels(self, transform: QTransform) -> np.ndarray:
        """The left and upper edge, the width and the height of each cell in whole pixels, so that no gap is
        between cells and none vanishes."""
        across = np.rint(self._edges[:, [0, 2]] * transform.m11() + transform.dx())
        down = np.rint(self._edges[:, [1, 3]] * transform.m22() + transform.dy())
        left, top = across.min(axis=1), down.min(axis=1)
        width, height = np.abs(np.diff(across)).ravel(), np.abs(np.diff(down)).ravel()
        sizes = np.maximum(width, 1), np.maximum(height, 1)
        return np.column_stack([left, top, *sizes]).astype(np.int64)

    def _write_figures(self, p: QPainter, areas: Sequence[QRectF], room: np.ndarray) -> None:
        font = theme.current().tabular_font(theme.TextSize.CAPTION)
        metrics = QFontMetrics(font)
        least_width, least_height = room.tolist()
        if metrics.height() > least_height or metrics.horizontalAdvance("0") > least_width:
            return
        if any(metrics.horizontalAdvance(t) + 2 > a.width() for t, a in zip(self._texts, areas, strict=True)):
            return
        p.setFont(font)
        for text, area, color in zip(self._texts, areas, self._colors, strict=True):
            p.setPen(ink_on(color))
            p.drawText(area, int(Qt.AlignmentFlag.AlignCenter), text)

    @cached_property
    def _texts(self) -> list[str]:
        return cell_texts(self._figures, self._are_durations)


class RampScale(QWidget):
    """The scale that explains the colours of a heat map or of densities. Labels stand below the colours of
    their values; those without room beside the ends are left out."""

    def __init__(self, ramp: Ramp, title: str) -> None:
        super().__init__()
        self._ramp, self._title = ramp, title
        low, high = ramp.ends
        self.setAccessibleName(f"{title}, from {low} to {high}")
        self._metrics = QFontMetrics(theme.current().tabular_font(theme.TextSize.CAPTION))
        self._left = self._metrics.horizontalAdvance(title) + theme.S
        self.bar_width = theme.current().px(SCALE_WIDTH)
        self.labels = self._labels()
        self.setFixedSize(self._left + self.bar_width + 1, 2 * self._metrics.height())

    def _labels(self) -> list[tuple[float, str, float]]:
        """Position, text and left edge of each label."""
        first, *between, last = [
            (position, text, self._edge(position, text)) for position, text in self._ramp.ticks
        ]
        chosen, end = [first], self._end(first)
        for label in between:
            if label[2] >= end and self._end(label) <= last[2]:
                chosen.append(label)
                end = self._end(label)
        return [*chosen, last]

    def _edge(self, position: float, text: str) -> float:
        width = self._metrics.horizontalAdvance(text)
        edge = self._left + position * self.bar_width - width / 2
        return min(max(edge, self._left), self._left + self.bar_width - width)

    def _end(self, label: tuple[float, str, float]) -> float:
        return label[2] + self._metrics.horizontalAdvance(label[1]) + theme.S

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, line = QPainter(self), self._metrics.height()
        painter.setFont(theme.current().tabular_font(theme.TextSize.CAPTION))
        painter.setPen(theme.current().color("muted"))
        painter.drawText(0, self._metrics.ascent(), self._title)
        high = min(line, theme.current().px(SCALE_HEIGHT))
        top = (line - high) / 2
        positions = (np.arange(self.bar_width) + 0.5) / self.bar_width
        for place, color in enumerate(self._ramp.colors(self._ramp.values_at(positions).tolist())):
            painter.fillRect(QRectF(self._left + place, top, 1, high), color)
        for position, text, edge in self.labels:
            x = self._left + position * (self.bar_width - 1) + 0.5
            painter.drawLine(QPointF(x, top + high), QPointF(x, line))
            painter.drawText(QPointF(edge, line + self._metrics.ascent()), text)
        painter.end()
