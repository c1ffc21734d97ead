"""Comparing saved runs: two side by side, and how one figure changed over all runs of a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.compare import (
    FASTER,
    SAME,
    SLOWER,
    TOO_FEW,
    Comparison,
    comparison_table,
)
from lamella.core.bench.results.figures import (
    EQUAL_WITHIN,
    in_order,
    shown_factor,
    shown_rows,
    shown_seconds,
    workload_or_none,
)
from lamella.core.bench.results.records import spread
from lamella.core.bench.results.run import RunSummary, SavedRun
from lamella.core.bench.results.store import SavedRuns, TrendPoint, trend
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.bench.bar_chart import Bar, BarChart, BarGroup, Bars
from lamella.ui.bench.benchmark_plot import DecadeAxis, DrawnLine, Spot
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.legend import Legend
from lamella.ui.bench.quantities import SECONDS
from lamella.ui.bench.series import Series, SeriesPoint
from lamella.ui.style.sheet import Palette
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FlowLayout

COLORS = {FASTER: "success", SLOWER: "danger", SAME: "border_strong", TOO_FEW: "border_strong"}
HATCHES = {
    FASTER: Qt.BrushStyle.SolidPattern,
    SLOWER: Qt.BrushStyle.BDiagPattern,
    SAME: Qt.BrushStyle.SolidPattern,
    TOO_FEW: Qt.BrushStyle.Dense6Pattern,
}
SIGNS = {FASTER: "▲ ", SLOWER: "▼ ", SAME: "≈ ", TOO_FEW: "? "}
NOTHING = "These two runs have no measurement in common: the same workload, operation, system and size."


@dataclass(frozen=True)
class VerdictSeries(Series):
    """A series coloured by its verdict rather than by its system."""

    verdict: str = SAME

    def color(self, palette: Palette) -> str:
        return str(getattr(palette, COLORS[self.verdict]))

    @property
    def hatch(self) -> Qt.BrushStyle:
        return HATCHES[self.verdict]


class ComparisonView(QWidget):
    """Two runs; the newer one is compared with the older one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.comparisons: list[Comparison] = []
        self.summary, self.caption = QLabel(), Caption()
        self.sure = QCheckBox("Only changes")
        self.copy = QPushButton("Copy as Markdown")
        self.chart, self.nothing = BarChart(), QLabel(NOTHING)
        self._area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        self._build()

    def show_comparison(self, before: SavedRun, after: SavedRun, comparisons: list[Comparison]) -> None:
        self.comparisons = comparisons
        self.caption.tell(f"{_run_title(after)}, compared with {_run_title(before)}")
        self._draw()

    @property
    def text(self) -> str:
        return comparison_table(self.comparisons).as_markdown()

    def _draw(self) -> None:
        only = (FASTER, SLOWER) if self.sure.isChecked() else tuple(COLORS)
        self.summary.setText(verdict_counts(self.comparisons))
        self.chart.show_bars(
            bars_of([comparison for comparison in self.comparisons if comparison.verdict in only])
        )
        for widget in (self._area, self.sure, self.copy):
            widget.setVisible(bool(self.comparisons))
        self.nothing.setVisible(not self.comparisons)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)

    def _build(self) -> None:
        theme.variant(self.summary, "title")
        theme.variant(self.nothing, "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setWordWrap(True)
        self.chart.setAccessibleName("Speed-ups between two runs")
        self._area.setWidget(self.chart)
        line = QHBoxLayout()
        line.addWidget(self.sure)
        line.addStretch(1)
        line.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        layout.setSpacing(theme.S)
        for widget in (self.summary, self.caption):
            layout.addWidget(widget)
        layout.addLayout(line)
        layout.addWidget(self._area, 1)
        layout.addWidget(self.nothing, 1)
        self.sure.toggled.connect(lambda _: self._draw())
        self.copy.clicked.connect(self._copy)


def verdict_counts(comparisons: Sequence[Comparison]) -> str:
    """Such as "2 slower, 5 faster, 12 the same, 3 with too few samples to tell"."""
    counts = {verdict: sum(comparison.verdict == verdict for comparison in comparisons) for verdict in COLORS}
    words = {SLOWER: "slower", FASTER: "faster", SAME: "the same", TOO_FEW: "with too few samples to tell"}
    counts_text = [f"{counts[verdict]:,} {word}" for verdict, word in words.items() if counts[verdict]]
    return ", ".join(counts_text) or "Nothing to compare"


def bars_of(comparisons: Sequence[Comparison]) -> Bars:
    """A group for each operation and size, those with something slower or faster first.

    Values are speed-up factors, on a logarithmic scale in both directions from 1.
    """
    groups: dict[str, list[Bar]] = {}
    for comparison in comparisons:
        groups.setdefault(_title(comparison), []).append(_bar(comparison))
    ordered = sorted(groups.items(), key=lambda item: min(map(_rank, item[1])))
    return Bars(tuple(BarGroup(title, tuple(bars)) for title, bars in ordered), log=True, reference=1.0)


def _rank(bar: Bar) -> int:
    assert isinstance(bar.series, VerdictSeries)
    return (SLOWER, FASTER, SAME, TOO_FEW).index(bar.series.verdict)


def _bar(comparison: Comparison) -> Bar:
    (low, high), (new_low, new_high) = spread(comparison.before, "median"), spread(comparison.after, "median")
    title = title_of(comparison.system)
    series = VerdictSeries(comparison.system, title, False, "", "", (), verdict=comparison.verdict)
    ends = (
        (low / new_high, high / new_low)
        if new_low > 0 and low > 0
        else (comparison.factor, comparison.factor)
    )
    point = SeriesPoint(
        comparison.rows, comparison.factor, *ends, min(comparison.before.count, comparison.after.count)
    )
    times = (
        f"{shown_seconds(comparison.before.median)} before, {shown_seconds(comparison.after.median)} after"
    )
    return Bar(
        series,
        point,
        SIGNS[comparison.verdict] + _words(comparison),
        f"{title}\n{_words(comparison)}: {times}",
    )


def _words(comparison: Comparison) -> str:
    times = max(comparison.factor, 1 / comparison.factor)
    factor = f"{shown_factor(times)} × {'faster' if comparison.factor >= 1 else 'slower'}"
    if comparison.verdict == TOO_FEW:
        return f"{factor}, too few samples"
    if comparison.verdict == SAME:
        return "the same" if times < EQUAL_WITHIN else f"{factor}, but spreads overlap"
    return factor


def _title(comparison: Comparison) -> str:
    try:
        workload = workload_named(comparison.workload)
        operation_title = workload.operation(comparison.operation).title
        place = workload.title
    except (LamellaError, KeyError):  # from another version, or from a file that no longer exists
        operation_title, place = comparison.operation.replace("_", " "), comparison.workload
    call = f", {comparison.call}" if comparison.call else ""
    return f"{place}: {operation_title}{call}, {shown_rows(comparison.rows)}"


def _run_title(run: SavedRun) -> str:
    number = f"Run {run.id}, " if run.id > 0 else ""
    return f"{number}{run.title} ({run.started.astimezone():%Y-%m-%d %H:%M})"


REACH = 14
LABEL_PIXELS = 100
BEAM = 0.01
SIDES = 0.8
"""Room left and right of the runs, so that their labels are not cut off."""

ROOM = 0.15
"""Room above and below, in decades."""


class TrendPlot(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Times over the saved runs")
        self.spots: list[Spot] = []
        self._series: Sequence[Series] = ()
        self._moments: Sequence[datetime] = ()
        self._bottom, self._left_axis = pg.AxisItem("bottom"), DecadeAxis("left", SECONDS)
        self.canvas = pg.PlotWidget(axisItems={"bottom": self._bottom, "left": self._left_axis})
        self.canvas.setMenuEnabled(False)
        self.canvas.hideButtons()
        self.canvas.getViewBox().setMouseEnabled(x=False, y=False)
        self.canvas.scene().sigMouseMoved.connect(self._hover)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        theme.current().changed.connect(self._draw)

    def show_series(self, series: Sequence[Series], moments: Sequence[datetime]) -> None:
        """Show series; the `rows` of a point are its index in `moments`."""
        self._series, self._moments = series, moments
        self._draw()

    def describe(self, spot: Spot) -> str:
        """The text for hovering over a point."""
        point = spot.point
        spread = (
            f", {shown_seconds(point.low)} to {shown_seconds(point.high)}" if point.high > point.low else ""
        )
        counted = f"median of {point.samples}{spread}" if point.samples > 1 else "one sample"
        value = shown_seconds(point.value or 0.0)
        return f"{spot.series.title}, {self._moments[point.rows]:%Y-%m-%d %H:%M}\n{value} ({counted})"

    def nearest(self, position: QPointF) -> Spot | None:
        box = self.canvas.getViewBox()
        places = [(box.mapViewToScene(QPointF(spot.x, spot.y)) - position, spot) for spot in self.spots]
        near = [(math.hypot(away.x(), away.y()), spot) for away, spot in places]
        away, spot = min(near, key=lambda distance: distance[0], default=(math.inf, None))
        return spot if away <= REACH else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._label()

    def _hover(self, position: QPointF) -> None:
        spot = self.nearest(position)
        if spot is None:
            QToolTip.hideText()
            return
        at = self.canvas.mapToGlobal(self.canvas.mapFromScene(position))
        QToolTip.showText(at, self.describe(spot), self.canvas)

    def _draw(self) -> None:
        self.canvas.clear()
        self._dress()
        self.spots = []
        heights = range(len(self._series), 0, -1)
        for series, height in zip(self._series, heights, strict=True):
            spots = [Spot(series, p, p.rows, math.log10(p.value)) for p in series.points if p.value]
            line = DrawnLine(self.canvas, series, log=True)
            line.set_height(height)
            line.set_spots(spots, BEAM * len(self._moments))
            self.spots += spots
        values = [end for spot in self.spots for end in (spot.point.low, spot.point.high) if end > 0]
        low, high = (math.log10(min(values)), math.log10(max(values))) if values else (-3.0, 0.0)
        if math.floor(high) <= math.ceil(low):  # decades' ends have labels: a single one would say little
            low, high = float(math.floor(low)), float(math.ceil(high))
        self.canvas.setRange(
            xRange=(-SIDES, len(self._moments) - 1 + SIDES), yRange=(low - ROOM, high + ROOM), padding=0
        )
        self._label()

    def _label(self) -> None:
        """Label as many moments as there is room for, including the last one."""
        count = len(self._moments)
        step = max(1, math.ceil(count * LABEL_PIXELS / max(1, self.width())))
        ticks = [(place, f"{self._moments[place]:%m-%d %H:%M}") for place in range(count - 1, -1, -step)]
        self._bottom.setTicks([ticks, [(place, "") for place in range(count)]])

    def _dress(self) -> None:
        look = theme.current()
        self.canvas.setBackground(look.color("surface"))
        self.canvas.showGrid(y=True, alpha=0.15)
        for axis in (self._bottom, self._left_axis):
            axis.setPen(pg.mkPen(look.color("border_strong")))
            axis.setTextPen(look.color("muted"))
            axis.setStyle(tickFont=look.font(theme.TextSize.CAPTION), hideOverlappingLabels=False)


Trends = Mapping[str, Sequence[TrendPoint]]
TOO_FEW_RUNS = (
    "There is nothing to compare yet: measure the same workload and size at least twice on one machine."
)


UNKNOWN_MACHINE = "A machine that is not named"


class TrendView(QWidget):
    """The trend of one figure. It is read off the GUI thread when a choice changes, and only while
    visible."""

    failed = Signal(Exception)

    def __init__(self, saved_runs: SavedRuns, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._saved_runs, self._tasks = saved_runs, tasks
        self._summaries: Sequence[RunSummary] = ()
        self._runs: Sequence[RunSummary] = ()
        self._reading: Handle | None = None
        self._stale = False
        self._series: list[Series] = []
        self._moments: list[datetime] = []
        self.machine, self.workload, self.operation, self.rows = (
            QComboBox(accessibleName=name) for name in ("Machine", "Workload", "Operation", "Rows")
        )
        self.plot, self.legend, self.nothing = TrendPlot(), Legend(), QLabel(TOO_FEW_RUNS)
        self._build()

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Set the runs to choose from: one machine at a time, starting with that of the last run."""
        self._summaries = runs
        _fill(self.machine, {run.machine: run.machine or UNKNOWN_MACHINE for run in runs})
        self._take_machine()

    def _take_machine(self) -> None:
        """List the machine's workloads, the most often measured first."""
        runs = self._runs = [run for run in self._summaries if run.machine == self.machine.currentData()]
        names = list(chain.from_iterable(run.workloads for run in runs))
        workloads = {name: workload for name in names if (workload := workload_or_none(name)) is not None}
        ordered = sorted(workloads, key=lambda name: -names.count(name))
        _fill(self.workload, {name: workloads[name].title for name in ordered})
        self._take_workload()

    def _take_workload(self) -> None:
        name = self.workload.currentData()
        workload = workload_or_none(name) if name else None
        _fill(
            self.operation,
            {operation.id: operation.title for operation in workload.operations} if workload else {},
        )
        sizes = {rows for run in self._runs if name in run.workloads for rows in run.sizes}
        _fill(self.rows, {rows: shown_rows(rows) for rows in sorted(sizes, reverse=True)})
        self._read()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self._read()

    def _read(self) -> None:
        self._stale = not self.isVisible()
        if self._stale:
            return
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        workload, operation, rows = (box.currentData() for box in (self.workload, self.operation, self.rows))
        if not (workload and operation and rows):
            self._show({})
            return
        systems = {name for run in self._runs if workload in run.workloads for name in run.systems}
        saved_runs, numbers = self._saved_runs, {run.id for run in self._runs}

        def work(job: Job) -> Trends:
            return {
                name: [
                    point
                    for point in trend(saved_runs, workload, operation, name, rows)
                    if point.run in numbers
                ]
                for name in systems
            }

        self._reading = self._tasks.read(work, self._show, self.failed.emit, owner=self, quiet=True)

    def _show(self, trends: Trends) -> None:
        self._reading = None
        systems = [name for name in in_order(trends) if trends[name]]
        runs = sorted({(point.started, point.run) for name in systems for point in trends[name]})
        places = {run: place for place, (_, run) in enumerate(runs)}
        self._moments = [started.astimezone() for started, _ in runs]
        self._series = [_series(name, trends[name], places) for name in systems]
        self.legend.show_series(self._series)
        self._draw()
        several = len(runs) > 1
        self.nothing.setVisible(not several)
        for widget in (self.plot, self.legend):
            widget.setVisible(several)

    def _draw(self) -> None:
        """Draw the lines that are on in the legend."""
        lines = [line for line in self._series if line.label not in self.legend.hidden_names]
        self.plot.show_series(lines, self._moments)

    def _build(self) -> None:
        theme.variant(self.nothing, "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setWordWrap(True)
        choices = FlowLayout(theme.S)
        for box in (self.workload, self.operation, self.rows, self.machine):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            choices.addWidget(box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        layout.setSpacing(theme.S)
        layout.addLayout(choices)
        picture = QHBoxLayout()
        picture.setSpacing(theme.M)
        picture.addWidget(self.plot, 1)
        picture.addWidget(self.legend)
        layout.addLayout(picture, 1)
        layout.addWidget(self.nothing, 1)
        self.legend.changed.connect(self._draw)
        self.machine.currentIndexChanged.connect(self._take_machine)
        self.workload.currentIndexChanged.connect(self._take_workload)
        for box in (self.operation, self.rows):
            box.currentIndexChanged.connect(lambda _: self._read())


def _series(name: str, points: Sequence[TrendPoint], places: Mapping[int, int]) -> Series:
    """A series whose points have the numbers of the runs as `rows`, counted from the oldest."""
    series_points = (SeriesPoint(places[p.run], p.value or None, p.low, p.high, p.samples) for p in points)
    return Series(name, title_of(name), False, "measured here", "", tuple(series_points))


def _fill(box: QComboBox, titles: Mapping[object, str]) -> None:
    """Fill a box with other choices; the current one stays chosen if it is among them."""
    before = box.currentData()
    box.blockSignals(True)
    box.clear()
    for value, title in titles.items():
        box.addItem(title, value)
    place = box.findData(before)
    box.setCurrentIndex(max(0, place) if titles else -1)
    box.blockSignals(False)
    box.setEnabled(len(titles) > 1)
