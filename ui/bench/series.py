"""How each system is drawn: a colour of the palette and a marker of its own, live and published alike."""

from __future__ import annotations

from dataclasses import dataclass

from core.bench.backends import entry_named
from core.bench.published import PublishedLine
from core.bench.results import STATISTICS, Summary, spread
from ui.style.palettes import Palette

MARKERS = ("o", "s", "t", "d", "star", "p", "h")
"""Of pyqtgraph: circle, square, triangle, diamond, star, pentagon, hexagon."""

PLACES = {"lamella": 0, "sqlite": 1, "sqlite-wal": 2, "parquetdb": 3, "pyarrow": 4, "mongodb": 5}
OTHERS = 6


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
    """One line of the plot."""

    system: str
    title: str
    published: bool
    source: str
    note: str
    points: tuple[SeriesPoint, ...]

    def color(self, palette: Palette) -> str:
        return palette.plot[PLACES.get(self.system, OTHERS) % len(palette.plot)]

    @property
    def marker(self) -> str:
        return MARKERS[PLACES.get(self.system, OTHERS)]

    @property
    def label(self) -> str:
        return f"{self.title}, published" if self.published else self.title


def live_series(backend: str, by_rows: dict[int, Summary], statistic: str) -> Series:
    points = (_live_point(rows, summary, statistic) for rows, summary in sorted(by_rows.items()))
    return Series(backend, entry_named(backend).title, False, "measured here", "", tuple(points))


def published_series(line: PublishedLine) -> Series:
    source = f"{line.source}; {line.machine}"
    points = (
        SeriesPoint(
            rows=point.rows,
            value=None if point.below_resolution else point.seconds,
            low=point.seconds,
            high=point.seconds,
            samples=line.runs,
            remark=point.note,
        )
        for point in line.points
    )
    return Series(line.system, line.title, True, source, line.note, tuple(points))


def _live_point(rows: int, summary: Summary, statistic: str) -> SeriesPoint:
    low, high = spread(summary, statistic)
    return SeriesPoint(rows, STATISTICS[statistic](summary) or None, low, high, len(summary.samples))
