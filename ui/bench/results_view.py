"""The results of a benchmark as they are looked at: the picture or the table, and the sentences under it."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from lamella.core.bench.results.compare import reference_of
from lamella.core.bench.results.figures import shown_rows
from lamella.core.bench.results.published import PublishedLine, published
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.ui import theme
from lamella.ui.bench.benchmark_plot import BenchmarkPlot, Scale
from lamella.ui.bench.benchmark_results import BenchmarkResults, title_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.display_bar import DisplayBar
from lamella.ui.bench.drawing import bars, lines, normalised
from lamella.ui.bench.findings_table import FindingsTable, findings
from lamella.ui.bench.plot_lines import DAGGER
from lamella.ui.bench.statistics_table import StatisticsTable, statistics_rows

REDRAW_MILLISECONDS = 120
SHARE_OF_TIME = 12
"""A redraw is followed by so many times its own length in which nothing is drawn."""

LOW = 540
"""A view that is not this high has its captions on one line: the plot needs the room."""


class ResultsView(QWidget):
    """Shows one workload at a time. `redraw_soon` may be called as often as results come."""

    def __init__(self, empty: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._empty = empty
        self._results: BenchmarkResults | None = None
        self.display, self.plot, self.statistics = DisplayBar(), BenchmarkPlot(), StatisticsTable()
        self.table, self.empty = FindingsTable(), QLabel(empty)
        self.source, self.remark = Caption(), Caption()
        self._pages = QStackedWidget()
        self._redraw = QTimer(self, interval=REDRAW_MILLISECONDS, singleShot=True)
        self._build()

    def show_results(self, results: BenchmarkResults) -> None:
        """Those of another workload begin with the view that it is looked at for."""
        before, self._results = self._results, results
        if before is None or _identity(before.workload) != _identity(results.workload):
            self.display.set_workload(results.workload)
        else:
            self.draw()

    def redraw_soon(self) -> None:
        if not self._redraw.isActive() and self.isVisible():
            self._redraw.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        low = event.size().height() < LOW
        for caption in (self.display.about, self.source, self.remark):
            caption.set_short(low)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw()

    # --------------------------------------------------------------------- drawing

    def draw(self) -> None:
        """What the display asks for, now."""
        results = self._results
        if results is None:
            return
        began = perf_counter()
        self.display.set_results(results)
        self._draw_upper(results)
        self._draw_lower(results)
        spent = round(1000 * SHARE_OF_TIME * (perf_counter() - began))
        self._redraw.setInterval(max(REDRAW_MILLISECONDS, spent))

    def _draw_upper(self, results: BenchmarkResults) -> None:
        display, view = self.display.display, self.display.view
        self._pages.setCurrentWidget(self.statistics if view.id == "statistics" else self.plot)
        if view.id == "statistics":
            self.statistics.show_rows(statistics_rows(results, display))
        elif view.id == "normalised":
            self.plot.show_bars(normalised(results, display, self.display.scale_in_force is Scale.LOG))
        elif self.display.shows_lines:
            scale = self.display.scale_in_force
            drawn = lines(results, display, even=scale is not Scale.LOG)
            self.plot.show_lines(drawn, display.quantity, scale)
        else:
            self.plot.show_bars(bars(results, display, self.display.scale_in_force is Scale.LOG))
        self.source.tell(self._source(results))
        self.remark.tell(self._remark())

    def _draw_lower(self, results: BenchmarkResults) -> None:
        told = results.ratios(self.display.display, self.display.by_operation)
        self.table.show_findings(findings(results.failures, told, results.unsupported))
        self.empty.setVisible(not self.table.rowCount())
        self.empty.setText(self._empty if results.empty else "No two systems have answered yet.")
        self.table.setVisible(bool(self.table.rowCount()))
        self.display.set_exportable(not results.empty)

    def _source(self, results: BenchmarkResults) -> str:
        """Of the dashed lines and bars; empty when there are none."""
        if self.display.view.id == "normalised":
            return self._reference(results)
        if self._pages.currentWidget() is not self.plot or not self._shows_published():
            return ""
        told = dict.fromkeys(map(_published_by, published(results.workload.id)))
        return f"Dashed, as published: {'. '.join(told)}."

    def _reference(self, results: BenchmarkResults) -> str:
        name = reference_of(results.tally.summaries())
        return f"1 is {title_of(name)}, measured in this benchmark." if name else ""

    def _shows_published(self) -> bool:
        if self.plot.shows_bars:
            return any(place.bar.series.published for place in self.plot.bars.places)
        return any(spot.series.published for spot in self.plot.spots)

    def _remark(self) -> str:
        """What sets the largest marked point apart; the others say it when hovered over."""
        if self._pages.currentWidget() is not self.plot or self.plot.shows_bars:
            return ""
        marked = [spot for spot in self.plot.spots if spot.point.remark]
        if not marked:
            return ""
        largest = max(marked, key=lambda spot: spot.point.rows)
        return f"{DAGGER} {largest.series.title} at {shown_rows(largest.point.rows)}: {largest.point.remark}."

    @property
    def picture(self) -> QWidget:
        """What an exported picture shows."""
        return self.plot.picture if self._pages.currentWidget() is self.plot else self.statistics

    @property
    def workload(self) -> Workload | None:
        return self._results.workload if self._results else None

    # -------------------------------------------------------------------- building

    def _build(self) -> None:
        for page in (self.plot, self.statistics):
            self._pages.addWidget(page)
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.empty, "muted")
        split = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        split.addWidget(_stacked(self.display, self._pages, self.source, self.remark, stretched=self._pages))
        split.addWidget(_stacked(self.table, self.empty, stretched=self.table))
        split.setStretchFactor(0, 1)
        split.setSizes([520, 190])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)
        self._redraw.timeout.connect(self.draw)
        self.display.changed.connect(self.draw)


def _identity(workload: Workload) -> tuple[str, tuple[Operation, ...]]:
    return workload.id, workload.operations


def _published_by(line: PublishedLine) -> str:
    counted = f"{line.statistic} of {line.runs} runs" if line.runs > 1 else "one run each"
    return f"{line.source}; {counted} on {line.machine}"


class Stacked(QWidget):
    """A splitter asks for the least height of no width; this one is of lines that wrap at the present one."""

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        wrapped = self.layout().totalMinimumHeightForWidth(self.width())
        return QSize(least.width(), max(least.height(), wrapped))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()


def _stacked(*widgets: QWidget, stretched: QWidget) -> QWidget:
    holder = Stacked()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(theme.L, theme.XS, theme.L, theme.S)
    layout.setSpacing(theme.S)
    for widget in widgets:
        layout.addWidget(widget, 1 if widget is stretched else 0)
    return holder
