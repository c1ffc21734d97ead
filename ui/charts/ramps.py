"""The colours of a heat map and of densities: one hue, darker for greater figures, with a scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from lamella.core.query.charts import ChartData
from lamella.core.query.charts.spec import HEAT_MAP
from lamella.ui import theme
from lamella.ui.charts.words import rounded, scale_text

SCALE_WIDTH, SCALE_STEPS = 120, 24
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

    def color(self, value: float) -> QColor:
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log1p(low), math.log1p(high), math.log1p(max(value, 0))
        share = (at - low) / (high - low) if high > low else 1.0
        share = LEAST_SHARE + (1 - LEAST_SHARE) * min(1.0, max(0.0, share))
        palette = theme.current().colors
        start, end = QColor(palette.surface), QColor(palette.accent)
        parts = [
            round(a + (b - a) * share) for a, b in zip(start.getRgb()[:3], end.getRgb()[:3], strict=True)
        ]
        return QColor(*parts)

    @property
    def ends(self) -> tuple[str, str]:
        """The labels of the scale's ends."""
        low, high = scale_text(rounded(self.low)), scale_text(rounded(self.high))
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
    return Ramp(low, high, log=False, beyond=(values[0] < low, values[-1] > high))


def ink_on(color: QColor) -> QColor:
    """Black or white, whichever is more legible on the colour."""
    parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in color.getRgbF()[:3]]
    luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return QColor("black" if luminance > MIDDLE_LUMINANCE else "white")


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
