"""Two runs beside each other: how many times faster or slower each measurement became, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
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
    compare,
    comparison_table,
)
from lamella.core.bench.results.figures import EQUAL_WITHIN, shown_factor, shown_rows, shown_seconds
from lamella.core.bench.results.records import spread
from lamella.core.bench.results.run import SavedRun
from lamella.core.errors import LamellaError
from lamella.ui import theme
from lamella.ui.bench.bar_chart import BarChart
from lamella.ui.bench.bars import Bar, BarGroup, Bars
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.series import Series, SeriesPoint
from lamella.ui.style.sheet import Palette

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
    """Coloured by what is to be thought of it, not by whose it is."""

    verdict: str = SAME

    def color(self, palette: Palette) -> str:
        return str(getattr(palette, COLORS[self.verdict]))

    @property
    def hatch(self) -> Qt.BrushStyle:
        return HATCHES[self.verdict]


class ComparisonView(QWidget):
    """The older run is what the newer one is compared with."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: list[Comparison] = []
        self.summary, self.which = QLabel(), Caption()
        self.sure = QCheckBox("Only what became faster or slower")
        self.copy = QPushButton("Copy as Markdown")
        self.chart, self.nothing = BarChart(), QLabel(NOTHING)
        self._area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        self._build()

    def show_runs(self, one: SavedRun, other: SavedRun) -> None:
        before, after = sorted((one, other), key=lambda run: run.started)
        self.found = compare(before.records, after.records)
        self.which.tell(f"{_named(after)}, compared with {_named(before)}")
        self._draw()

    @property
    def text(self) -> str:
        return comparison_table(self.found).as_markdown()

    def _draw(self) -> None:
        only = (FASTER, SLOWER) if self.sure.isChecked() else tuple(COLORS)
        self.summary.setText(verdict_counts(self.found))
        self.chart.show_bars(bars_of([one for one in self.found if one.verdict in only]))
        for widget in (self._area, self.sure, self.copy):
            widget.setVisible(bool(self.found))
        self.nothing.setVisible(not self.found)

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
        for widget in (self.summary, self.which):
            layout.addWidget(widget)
        layout.addLayout(line)
        layout.addWidget(self._area, 1)
        layout.addWidget(self.nothing, 1)
        self.sure.toggled.connect(lambda _: self._draw())
        self.copy.clicked.connect(self._copy)


def verdict_counts(found: Sequence[Comparison]) -> str:
    """ "2 slower, 5 faster, 12 the same, 3 with too few samples to tell" """
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in COLORS}
    words = {SLOWER: "slower", FASTER: "faster", SAME: "the same", TOO_FEW: "with too few samples to tell"}
    told = [f"{counts[verdict]:,} {word}" for verdict, word in words.items() if counts[verdict]]
    return ", ".join(told) or "Nothing to compare"


def bars_of(found: Sequence[Comparison]) -> Bars:
    """A group for each operation and size, those with something slower or faster first.

    Values are how many times faster, on a scale of powers both ways from 1.
    """
    groups: dict[str, list[Bar]] = {}
    for one in found:
        groups.setdefault(_title(one), []).append(_bar(one))
    ordered = sorted(groups.items(), key=lambda item: min(map(_rank, item[1])))
    return Bars(tuple(BarGroup(title, tuple(bars)) for title, bars in ordered), log=True, reference=1.0)


def _rank(bar: Bar) -> int:
    assert isinstance(bar.series, VerdictSeries)
    return (SLOWER, FASTER, SAME, TOO_FEW).index(bar.series.verdict)


def _bar(one: Comparison) -> Bar:
    (low, high), (new_low, new_high) = spread(one.before, "median"), spread(one.after, "median")
    title = title_of(one.system)
    series = VerdictSeries(one.system, title, False, "", "", (), verdict=one.verdict)
    ends = (low / new_high, high / new_low) if new_low > 0 and low > 0 else (one.factor, one.factor)
    point = SeriesPoint(one.rows, one.factor, *ends, min(one.before.count, one.after.count))
    times = f"{shown_seconds(one.before.median)} before, {shown_seconds(one.after.median)} after"
    return Bar(series, point, SIGNS[one.verdict] + _words(one), f"{title}\n{_words(one)}: {times}")


def _words(one: Comparison) -> str:
    times = max(one.factor, 1 / one.factor)
    factor = f"{shown_factor(times)} × {'faster' if one.factor >= 1 else 'slower'}"
    if one.verdict == TOO_FEW:
        return f"{factor}, too few samples"
    if one.verdict == SAME:
        return "the same" if times < EQUAL_WITHIN else f"{factor}, but spreads overlap"
    return factor


def _title(one: Comparison) -> str:
    try:
        workload = workload_named(one.workload)
        named = workload.operation(one.operation).title
        place = workload.title
    except (LamellaError, KeyError):  # of another version, or of a file that is gone
        named, place = one.operation.replace("_", " "), one.workload
    call = f", {one.call}" if one.call else ""
    return f"{place}: {named}{call}, {shown_rows(one.rows)}"


def _named(run: SavedRun) -> str:
    return f"{run.title} ({run.started.astimezone():%Y-%m-%d %H:%M})"
