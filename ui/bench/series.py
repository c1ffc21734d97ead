"""How each system is drawn: a colour of the palette and a marker of its own, live and published alike."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from PySide6.QtCore import Qt

from lamella.core.bench.registry import ENTRIES, entry_named
from lamella.core.bench.results.published import PublishedLine
from lamella.core.bench.results.records import STATISTICS, Summary, spread
from lamella.ui.style.sheet import Palette

MARKERS = ("o", "s", "t", "d", "star", "p", "h", "t1")
"""Of pyqtgraph: circle, square, triangle, diamond, star, pentagon, hexagon, triangle upwards."""

HATCHES = (
    Qt.BrushStyle.SolidPattern,
    Qt.BrushStyle.BDiagPattern,
    Qt.BrushStyle.Dense4Pattern,
    Qt.BrushStyle.HorPattern,
    Qt.BrushStyle.DiagCrossPattern,
    Qt.BrushStyle.VerPattern,
)
"""Of bars, which have no marker: systems of one colour differ in these."""

FIRST = ("lamella", "sqlite", "sqlite-wal", "parquetdb", "pyarrow", "duckdb", "polars")
"""Who is measured most often: these never share a colour."""


@dataclass(frozen=True)
class SeriesPoint:
    """`value` is None below the clock's resolution; `low` and `high` are the ends of the error bar.

    `remark` is what sets this point apart from the others of its line.
    """

    rows: int
    value: float | None
    low: float
    high: float
    samples: int
    remark: str = ""


@dataclass(frozen=True)
class Series:
    """One line of the plot, or one system's bars. Of several lines of one system, `variant` is the number."""

    system: str
    title: str
    published: bool
    source: str
    note: str
    points: tuple[SeriesPoint, ...]
    variant: int = 0

    def color(self, palette: Palette) -> str:
        return palette.plot[place_of(self.system) % len(palette.plot)]

    @property
    def marker(self) -> str:
        """With the colour it tells any two systems apart, and among the first seven by itself."""
        place = place_of(self.system) + self.variant
        return MARKERS[(place % len(FIRST) + place // len(FIRST)) % len(MARKERS)]

    @property
    def hatch(self) -> Qt.BrushStyle:
        return HATCHES[place_of(self.system) // len(FIRST) % len(HATCHES)]

    @property
    def label(self) -> str:
        return f"{self.title}, published" if self.published else self.title


def place_of(system: str) -> int:
    """The system's place among all; somebody's own, and those that were only ever published, come after."""
    known = [*FIRST, *(name for name in ENTRIES if name not in FIRST)]
    return known.index(system) if system in known else len(known) + crc32(system.encode()) % len(FIRST)


def live_series(backend: str, by_rows: dict[int, Summary], statistic: str) -> Series:
    points = (_live_point(rows, summary, statistic) for rows, summary in sorted(by_rows.items()))
    return Series(backend, entry_named(backend).title, False, "measured here", "", tuple(points))


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
