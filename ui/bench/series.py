"""How each system is drawn, measured or published: a palette colour and a marker of its own; and the plots
with shared axes for its lines."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property
from zlib import crc32

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF

from lamella.core.bench.engine.protocol import Failure
from lamella.core.bench.registry import ENTRIES, entry_named
from lamella.core.bench.results.figures import in_order, shown_rows
from lamella.core.bench.results.published_results import PublishedLine
from lamella.core.bench.results.records import STATISTICS, Summary, Tally, spread
from lamella.ui import theme
from lamella.ui.bench.quantities import BYTES, Frame, Quantity, Units, even_span, whole_decades
from lamella.ui.style.sheet import Palette
from lamella.ui.widgets.plotting import HATCHES, MARKERS, cosmetic_pen

FIRST = ("lamella", "sqlite", "sqlite-wal", "parquetdb", "pyarrow", "duckdb", "polars")
"""The systems measured most often: these never share a colour."""


@dataclass(frozen=True)
class SeriesPoint:
    """A point. `value` is None below the clock's resolution; `low` and `high` are the ends of the error bar.

    `remark` says how this point differs from the others of its line, `failure` why there is no value.
    """

    rows: int
    value: float | None
    low: float
    high: float
    samples: int
    remark: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Extent:
    """From the least to the most rows, and from the lowest to the highest value including spread; both 0 if
    no value is above 0."""

    first: int
    last: int
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One line of the plot, or one system's bars. `variant` numbers several lines of one system.

    `failures` are crosses: sizes with no answer, or a wrong one.
    """

    system: str
    title: str
    is_published: bool
    source: str
    note: str
    points: tuple[SeriesPoint, ...]
    variant: int = 0
    failures: tuple[SeriesPoint, ...] = ()

    @cached_property
    def extent(self) -> Extent | None:
        """The extent of the points; None if there are none."""
        rows = [point.rows for point in self.points]
        values = [v for p in self.points for v in (p.low, p.value, p.high) if v and v > 0]
        return (
            Extent(min(rows), max(rows), min(values, default=0.0), max(values, default=0.0)) if rows else None
        )

    def color(self, palette: Palette) -> str:
        return palette.plot[place_of(self.system) % len(palette.plot)]

    @property
    def marker(self) -> str:
        """The marker. With the colour it identifies a system; among the first seven, it does so alone."""
        place = place_of(self.system) + self.variant
        return MARKERS[(place % len(FIRST) + place // len(FIRST)) % len(MARKERS)]

    @property
    def hatch(self) -> Qt.BrushStyle:
        return HATCHES[place_of(self.system) // len(FIRST) % len(HATCHES)]

    @property
    def label(self) -> str:
        return f"{self.title}, published" if self.is_published else self.title


@dataclass(frozen=True)
class PublishedSeries(Series):
    """The single legend entry for all published lines."""

    def color(self, palette: Palette) -> str:
        return palette.muted

    @property
    def label(self) -> str:
        return PUBLISHED_LABEL


PUBLISHED_LABEL = "Published"
LIVE_WIDTH, PUBLISHED_WIDTH = 2.2, 1.5
LIVE_SIZE, PUBLISHED_SIZE = 10, 8
OUTLINE = 1.4
CROSS = "✕"
CROSS_SIZE, CROSS_WIDTH = 9, 2.4
DAGGER = "†"
"""Marks a point that has a remark."""


@dataclass(frozen=True)
class Look:
    """How a series is drawn: solid and filled if measured here, dashed and hollow if published."""

    line: QPen
    outline: QPen
    fill: QBrush
    marker: str
    size: int

    @classmethod
    def of(cls, series: Series) -> Look:
        """The look in the theme's current colours."""
        colors = theme.current()
        color = QColor(series.color(colors.colors))
        fill = colors.color("surface") if series.is_published else color
        style = Qt.PenStyle.DashLine if series.is_published else Qt.PenStyle.SolidLine
        return cls(
            line=cosmetic_pen(color, PUBLISHED_WIDTH if series.is_published else LIVE_WIDTH, style),
            outline=cosmetic_pen(color, OUTLINE),
            fill=QBrush(fill),
            marker=series.marker,
            size=PUBLISHED_SIZE if series.is_published else LIVE_SIZE,
        )


def cross_pen() -> QPen:
    """The pen of crosses, the same for every system: failures are red."""
    pen = cosmetic_pen(theme.current().color("danger"), CROSS_WIDTH)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen


def cross_at(place: QPointF, size: float) -> list[QLineF]:
    x, y, half = place.x(), place.y(), size / 2
    return [QLineF(x - half, y - half, x + half, y + half), QLineF(x - half, y + half, x + half, y - half)]


def draw_marker(painter: QPainter, look: Look) -> None:
    """Draw a marker at the painter's origin."""
    painter.setPen(look.outline)
    painter.setBrush(look.fill)
    painter.save()
    painter.scale(look.size, look.size)
    painter.drawPath(marker_path(look.marker))
    painter.restore()


@cache
def marker_path(marker: str) -> QPainterPath:
    """The path of one of MARKERS, one unit wide, around the origin, drawn like pyqtgraph's of that name."""
    path = QPainterPath()
    if marker == "o":
        path.addEllipse(QRectF(-0.5, -0.5, 1, 1))
    elif marker == "s":
        path.addRect(QRectF(-0.5, -0.5, 1, 1))
    elif marker == "d":
        path.addPolygon(QPolygonF([QPointF(0, -0.5), QPointF(0.4, 0), QPointF(0, 0.5), QPointF(-0.4, 0)]))
    elif marker in ("t", "t1"):
        up = 1 if marker == "t1" else -1
        path.addPolygon(QPolygonF([QPointF(-0.5, 0.5 * up), QPointF(0, -0.5 * up), QPointF(0.5, 0.5 * up)]))
    elif marker == "star":
        radii = [0.5 if corner % 2 == 0 else 0.2 for corner in range(10)]
        path.addPolygon(QPolygonF([_corner(radius, n / 10) for n, radius in enumerate(radii)]))
    else:
        corners = {"p": 5, "h": 6}[marker]
        path.addPolygon(QPolygonF([_corner(0.5, n / corners) for n in range(corners)]))
    path.closeSubpath()
    return path


def _corner(radius: float, turn: float) -> QPointF:
    angle = 2 * math.pi * turn - math.pi / 2
    return QPointF(radius * math.cos(angle), radius * math.sin(angle))


def point_text(point: SeriesPoint, quantity: Quantity) -> str:
    """A value with its number of samples and their spread, or why there is none."""
    if point.failure:
        return f"{CROSS} {point.failure}"
    if point.value is None:
        return "Below the clock's resolution: printed as 0"
    counted = f"{point.samples:,} samples" if point.samples > 1 else "one sample"
    spread = (
        f", {quantity.exact(point.low)} to {quantity.exact(point.high)}" if point.high > point.low else ""
    )
    return f"{quantity.exact(point.value)} ({counted}{spread})"


def hover_text(series: Series, point: SeriesPoint, quantity: Quantity, title: str = "") -> str:
    """The text for hovering over a point: system, size, value, samples, spread and source. `title` is the
    plot's, if there are several."""
    value = point_text(point, quantity)
    lines = [f"{series.label}, {shown_rows(point.rows)}", f"{title}: {value}" if title else value]
    lines += [point.remark, series.note, f"Source: {series.source}"]
    return "\n".join(filter(None, lines))


def place_of(system: str) -> int:
    """The index of a system; user-defined systems, and those that were only published, come last."""
    systems = [*FIRST, *(name for name in ENTRIES if name not in FIRST)]
    return systems.index(system) if system in systems else len(systems) + crc32(system.encode()) % len(FIRST)


def live_series(system: str, by_rows: dict[int, Summary], statistic: str) -> Series:
    points = (_live_point(rows, summary, statistic) for rows, summary in sorted(by_rows.items()))
    return Series(system, entry_named(system).title, False, "measured here", "", tuple(points))


def failed_point(failure: Failure) -> SeriesPoint:
    return SeriesPoint(failure.rows, None, 0.0, 0.0, 0, failure=f"{failure.kind}: {failure.message}")


class LiveLines:
    """The lines of one benchmark's samples. A line is a new object only after new samples of its system and
    operation."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._cached_series: dict[tuple[str, str, str, str | None, str], tuple[tuple[int, bool], Series]] = {}

    def lines(self, operation: str, quantity: str, samples: str | None, statistic: str) -> list[Series]:
        """The lines of all systems that did the operation, in the table's order. `quantity` is a field of a
        record, `samples` a key of `records.SAMPLES`."""
        systems = in_order(self._tally.systems(operation))
        lines = (self._line(operation, system, quantity, samples, statistic) for system in systems)
        return [line for line in lines if line.points]

    def _line(
        self, operation: str, system: str, quantity: str, samples: str | None, statistic: str
    ) -> Series:
        key, revision = (
            (operation, system, quantity, samples, statistic),
            self._tally.revision(operation, system),
        )
        cached_series = self._cached_series.get(key)
        if cached_series is not None and cached_series[0] == revision:
            return cached_series[1]
        series = live_series(system, self._tally.line(operation, system, quantity, samples), statistic)
        self._cached_series[key] = (revision, series)
        return series


def published_series(line: PublishedLine) -> Series:
    source = f"{line.source}; {line.machine}"
    points = (
        SeriesPoint(
            rows=point.rows,
            value=None if point.below_resolution else point.value,
            low=point.value,
            high=point.value,
            samples=line.runs,
            remark=point.note,
        )
        for point in line.points
    )
    return Series(line.system, line.title, True, source, line.note, tuple(points))


def _live_point(rows: int, summary: Summary, statistic: str) -> SeriesPoint:
    low, high = spread(summary, statistic)
    return SeriesPoint(rows, STATISTICS[statistic](summary) or None, low, high, summary.count)


EMPTY_DECADES, EMPTY_BYTE_DECADES = (-3.0, 1.0), (3.0, 6.0)
"""The range of an axis while nothing is measured: from 1 ms to 10 s, and from 1 KB to 1 MB."""
MARGIN = 0.12
"""Room beside the first and the last size, in decades; on even axes, as a share of the range."""


@dataclass(frozen=True)
class Panel:
    """One plot. `id` is the operation's, `about` the line beside the title."""

    id: str
    title: str
    about: str
    quantity: Quantity
    series: tuple[Series, ...]

    def without(self, hidden: Set[str]) -> Panel:
        """The panel without hidden lines; `hidden` has labels of a legend, where all published lines can be
        one entry."""
        if not hidden:
            return self
        off = (
            {line.label for line in self.series if line.is_published} if PUBLISHED_LABEL in hidden else set()
        )
        lines = (line for line in self.series if line.label not in hidden | off)
        return replace(self, series=tuple(lines))


class Frames:
    """The axes of all plots: one of rows, and one of values for each unit. While the same lines are drawn,
    they only grow, and in steps, so that plots do not move with each sample."""

    def __init__(self) -> None:
        self.sizes: tuple[int, ...] = ()
        self._spans: dict[tuple[Units, bool], tuple[float, float]] = {}
        self._frames: dict[Units, Frame] = {}

    def clear(self) -> None:
        self._spans = {}

    def fit(self, panels: Sequence[Panel], log: bool) -> None:
        """Extend the axes to all lines."""
        extents = [line.extent for panel in panels for line in panel.series if line.extent]
        ends = [*self.sizes, *(e.first for e in extents), *(e.last for e in extents)] or [1, 1000]
        if log:
            first, last = math.log10(min(ends)), math.log10(max(ends))
            room = max(MARGIN * (last - first), 0.3)
            left, right = first - room, last + room
        else:
            left, right = -MARGIN * max(ends) / 2, max(ends) * (1 + MARGIN)
        self._frames = {}
        for units in {panel.quantity.units for panel in panels}:
            alike = [line for panel in panels if panel.quantity.units == units for line in panel.series]
            low, high = self._grow(units, alike, log)
            self._frames[units] = Frame(left, right, low, high, log)

    def frame(self, panel: Panel) -> Frame:
        """The frame of a panel that was passed to `fit`."""
        return self._frames[panel.quantity.units]

    def _grow(self, units: Units, series: Sequence[Series], log: bool) -> tuple[float, float]:
        live = [line for line in series if not line.is_published] if not log else []
        extents = [line.extent for line in live or series if line.extent and line.extent.high > 0]
        before = self._spans.get((units, log))
        if not extents:
            empty = EMPTY_DECADES if units is not BYTES else EMPTY_BYTE_DECADES
            low, high = before or (empty if log else (0.0, 1.0))
        else:
            low, high = (whole_decades if log else even_span)(
                min(extent.low for extent in extents if extent.low > 0),
                max(extent.high for extent in extents),
            )
            if before is not None:
                low, high = min(low, before[0]), max(high, before[1])
            self._spans[units, log] = (low, high)
        return (low - 0.05, high + 0.05) if log else (low, high)
