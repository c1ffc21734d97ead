"""The quantities of a sample that can be shown, how values are written, and the frame and ticks of axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetrics

from lamella.core.bench.results.figures import shown_bytes, shown_factor, shown_rows, shown_seconds
from lamella.ui import theme

Units = tuple[tuple[str, float], ...]
"""Units with their factors, largest first."""

SECONDS: Units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
BYTES: Units = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0))
COUNT: Units = (("", 1.0),)


class Scale(StrEnum):
    LOG = "log"
    EVEN = "even"
    INSET = "inset"


@dataclass(frozen=True)
class Quantity:
    """A numeric field of a record; `exact` writes a value, `units` are those of an axis, largest first."""

    field: str
    title: str
    units: Units
    exact: Callable[[float], str]


TIME = Quantity("seconds", "Time", SECONDS, shown_seconds)
PROCESSOR = Quantity("cpu_seconds", "Processor time", SECONDS, shown_seconds)
MEMORY = Quantity("peak_rss_bytes", "Peak memory", BYTES, shown_bytes)
DISK = Quantity("disk_bytes", "Size on disk", BYTES, shown_bytes)
NORMALISED = Quantity(
    "normalised", "Against the reference", (("×", 1.0),), lambda times: f"{shown_factor(times)} ×"
)


def power_of_ten(power: int, units: Units) -> str:
    """A power of ten in the largest unit in which it is at least 1."""
    value = 10.0**power
    unit, size = unit_of(value, units)
    return f"{value / size:,.0f} {unit}".rstrip()


def unit_of(value: float, units: Units) -> tuple[str, float]:
    """The largest unit in which the value is at least 1, otherwise the smallest unit."""
    return next((pair for pair in units if value >= pair[1] * 0.999), units[-1])


def even_label(value: float, largest: float, step: float, units: Units) -> str:
    """A label of an even axis: in the unit of its `largest` value, with enough digits to tell steps apart."""
    unit, size = unit_of(largest, units)
    digits = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return f"{value / size:,.{digits}f} {unit}".rstrip()


def about(seconds: float) -> str:
    """A duration, sensibly rounded: "8 s", "2 min 30 s", "1 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(1, whole)} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def short_rows(rows: int) -> str:
    """A number of rows: "10,000 rows", "1.1 billion rows"."""
    for name, size in (("billion", 10**9), ("million", 10**6)):
        if rows >= size:
            return f"{rows / size:,.4g} {name} rows"
    return shown_rows(rows)


@dataclass(frozen=True)
class Frame:
    """The span of a plot's axes, in the plot's own coordinates: log10 of values, or values."""

    left: float
    right: float
    low: float
    high: float
    log: bool

    def at(self, rows: int, value: float | None, box: QRectF) -> QPointF:
        """The position of a point. Values below the clock's resolution are on the lower edge."""
        y = self.y_of(value, box) if value and value > 0 else box.bottom()
        return QPointF(self.x_of(rows, box), y)

    def y_of(self, value: float, box: QRectF) -> float:
        y = math.log10(value) if self.log else value
        return box.bottom() - (max(self.low, y) - self.low) / (self.high - self.low) * box.height()

    def x_of(self, rows: int, box: QRectF) -> float:
        x = math.log10(rows) if self.log else float(rows)
        return box.left() + (x - self.left) / (self.right - self.left) * box.width()


def whole_decades(low: float, high: float) -> tuple[float, float]:
    """The powers of ten that enclose both values."""
    first = math.floor(math.log10(low) + 1e-9)
    return first, max(first + 1, math.ceil(math.log10(high) - 1e-9))


def even_span(low: float, high: float) -> tuple[float, float]:
    """From 0 to the next of 1, 1.5, 2, 3, 5 and 7 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(high * 1.02))
    return 0.0, next(power * step for step in (1, 1.5, 2, 3, 5, 7, 10) if power * step >= high * 1.02)


def value_ticks(frame: Frame, units: Units, height: float, line: int) -> list[tuple[float, str]]:
    """Ticks at powers of ten if there is room for their labels, otherwise in even steps from 0."""
    if not frame.log:
        steps = _even_steps(frame.high, height / line / 2)
        largest = steps[-1][0]
        return [(value, even_label(value, largest, step, units)) for value, step in steps]
    decades = range(math.ceil(frame.low), math.floor(frame.high) + 1)
    step = max(1, math.ceil(1.6 * line * (frame.high - frame.low) / max(1.0, height)))
    return [(float(d), power_of_ten(d, units) if d % step == 0 else "") for d in decades]


def row_ticks(frame: Frame, width: float, metrics: QFontMetrics) -> list[tuple[float, str]]:
    if not frame.log:
        return [(value, _short_count(value)) for value, _ in _even_steps(frame.right, width / 60)]
    decades = range(math.ceil(frame.left), math.floor(frame.right) + 1)
    room = metrics.horizontalAdvance("100k") + theme.S
    step = max(1, math.ceil(room * (frame.right - frame.left) / max(1.0, width)))
    return [(float(d), _short_count(10.0**d) if d % step == 0 else "") for d in decades]


def _even_steps(top: float, count: float) -> list[tuple[float, float]]:
    """Values and their step: 1, 2 or 5 times a power of ten, at most `count` of them."""
    rough = top / max(2.0, count)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, step) for n in range(int(top / step) + 1)]


def _short_count(rows: float) -> str:
    """A short count: "1", "100", "10k", "1M", "1G"."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rows >= size:
            return f"{rows / size:,.4g}{unit}"
    return (
        power_of_ten(round(math.log10(rows)), COUNT)
        if rows >= 1 and math.log10(rows) % 1 == 0
        else f"{rows:,.4g}"
    )
