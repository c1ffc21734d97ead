"""The results of a benchmark: all plots with the verdict first, and other views of the same selection."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from lamella.core.bench.results.compare import reference_of
from lamella.core.bench.results.figures import shown_rows
from lamella.core.bench.results.published import PublishedLine, published
from lamella.core.bench.results.report import shown_check
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import BenchmarkResults, bars, lines, normalised, panels, title_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.display_bar import OVERVIEW, SENTENCES, DisplayBar
from lamella.ui.bench.legend import LegendLine
from lamella.ui.bench.overview import Overview
from lamella.ui.bench.quantities import DISK, TIME, Scale
from lamella.ui.bench.result_tables import FindingsTable, StatisticsTable, findings, statistics_rows
from lamella.ui.bench.series import DAGGER, PUBLISHED, PublishedSeries, Series

if TYPE_CHECKING:
    from lamella.ui.bench.benchmark_plot import BenchmarkPlot

REDRAW_MILLISECONDS = 120
SHARE_OF_TIME = 12
"""A redraw is followed by so many times its own length in which nothing is drawn."""

LOW = 540
"""A view that is not this high, in pixels at the usual text size, has its captions on one line: the plot
needs the room."""


class ResultsView(QWidget):
    """Shows one workload at a time. `redraw_soon` may be called as often as results come."""

    def __init__(self, empty: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._empty = empty
        self._results: BenchmarkResults | None = None
        self._stale = False
        self.display, self.statistics = DisplayBar(), StatisticsTable()
        self.table, self.empty = FindingsTable(), QLabel(empty)
        self.source, self.remark = Caption(), Caption()
        self.overview, self.legend = Overview(), LegendLine()
        self._pages, self._sentences = QStackedWidget(), QWidget()
        self._redraw = QTimer(self, interval=REDRAW_MILLISECONDS, singleShot=True)
        self._build()

    @cached_property
    def plot(self) -> BenchmarkPlot:
        """One operation alone. Made when it is first wanted: most people look at all plots, and pyqtgraph
        takes a third of a second to import."""
        from lamella.ui.bench.benchmark_plot import BenchmarkPlot

        made = BenchmarkPlot()
        self._pages.addWidget(made)
        return made

    @property
    def _shows_plot(self) -> bool:
        return "plot" in vars(self) and self._pages.currentWidget() is self.plot

    def show_results(self, results: BenchmarkResults) -> None:
        """Those of another workload begin with the view that it is looked at for."""
        before, self._results = self._results, results
        if before is None or _identity(before.workload) != _identity(results.workload):
            self.display.set_workload(results.workload)
        else:
            self.draw()

    def redraw_soon(self) -> None:
        if not self.isVisible():
            self._stale = True
        elif not self._redraw.isActive():
            self._redraw.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._take_height()

    def _take_height(self) -> None:
        low = self.height() < LOW * theme.current().text_scale
        for caption in (self.display.about, self.source, self.remark):
            caption.set_short(low)
        self.overview.set_low(low)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.draw()

    # --------------------------------------------------------------------- drawing

    def draw(self) -> None:
        """What the display asks for, now."""
        results = self._results
        if results is None:
            return
        began, self._stale = perf_counter(), False
        self.display.set_results(results)
        self._draw_upper(results)
        self._draw_sentences(results)
        spent = round(1000 * SHARE_OF_TIME * (perf_counter() - began))
        self._redraw.setInterval(max(REDRAW_MILLISECONDS, spent))

    def _draw_upper(self, results: BenchmarkResults) -> None:
        display, view = self.display.display, self.display.view
        self._show_page()
        if view.id == OVERVIEW:
            self._draw_overview(results)
        elif view.id == "statistics":
            self.statistics.show_rows(statistics_rows(results, display))
        elif view.id == "normalised":
            self.plot.show_bars(normalised(results, display, self.display.scale_in_force is Scale.LOG))
        elif self.display.shows_lines:
            scale = self.display.scale_in_force
            drawn = lines(results, display, even=scale is not Scale.LOG)
            self.plot.show_lines(drawn, display.quantity, scale)
        elif view.id != SENTENCES:
            self.plot.show_bars(bars(results, display, self.display.scale_in_force is Scale.LOG))
        self.source.tell(self._source(results))
        self.remark.tell(self._remark())

    def _show_page(self) -> None:
        pages = {OVERVIEW: self.overview, "statistics": self.statistics, SENTENCES: self._sentences}
        page, before = pages.get(self.display.view.id) or self.plot, self._pages.currentWidget()
        self._pages.setCurrentWidget(page)
        self.legend.setVisible(page is self.overview)
        if page is before or "plot" not in vars(self):
            return
        if page is self.plot:
            self.plot.legend.show_hidden(self.legend.hidden)
        elif before is self.plot:
            self.legend.show_hidden(self.plot.legend.hidden)

    def _draw_overview(self, results: BenchmarkResults) -> None:
        log = self.display.scale_in_force is Scale.LOG
        drawn = panels(results, self.display.display, even=not log)
        series: dict[str, Series] = {one.label: one for panel in drawn for one in panel.series}
        published_here = any(one.published for one in series.values())
        live = [one for one in series.values() if not one.published]
        together = PublishedSeries("", PUBLISHED, True, "", "", ())
        self.legend.show_series([*live, together] if published_here else live)
        check = shown_check(results.workload, results.tally.points)
        about = f"{results.workload.title}: {results.workload.about} {check}"
        source = f"{about} {self._published(results)}" if published_here else about
        self.overview.show_results(results, self.display.display, drawn, self.legend.hidden, log, source)

    def _enlarge(self, panel: str) -> None:
        results = self._results
        if results is None:
            return
        resizing = next((one.id for one in results.operations if one.resizes), "")
        operation, quantity = (resizing, DISK) if panel == DISK.field else (panel, TIME)
        self.display.enlarge(operation, quantity)

    def _draw_sentences(self, results: BenchmarkResults) -> None:
        self.display.set_exportable(not results.empty)
        if self._pages.currentWidget() is not self._sentences:
            return
        ratios = results.ratios(self.display.display, self.display.by_operation)
        self.table.show_findings(findings(results.failures, ratios, results.unsupported))
        self.empty.setVisible(not self.table.rowCount())
        self.empty.setText(self._empty if results.empty else "No two systems have answered yet.")
        self.table.setVisible(bool(self.table.rowCount()))

    def _source(self, results: BenchmarkResults) -> str:
        """Of the dashed lines and bars; empty when there are none."""
        if self.display.view.id == "normalised":
            return self._reference(results)
        if not self._shows_plot or not self._shows_published():
            return ""
        return self._published(results)

    def _published(self, results: BenchmarkResults) -> str:
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
        if not self._shows_plot or self.plot.shows_bars:
            return ""
        marked = [spot for spot in self.plot.spots if spot.point.remark]
        if not marked:
            return ""
        largest = max(marked, key=lambda spot: spot.point.rows)
        return f"{DAGGER} {largest.series.title} at {shown_rows(largest.point.rows)}: {largest.point.remark}."

    @property
    def picture(self) -> QWidget:
        """What an exported picture shows."""
        page = self._pages.currentWidget()
        self.overview.multiples.finish()
        return self.plot.picture if self._shows_plot else page

    @property
    def workload(self) -> Workload | None:
        return self._results.workload if self._results else None

    # -------------------------------------------------------------------- building

    def _build(self) -> None:
        below = QVBoxLayout(self._sentences)
        below.setContentsMargins(0, 0, 0, 0)
        below.addWidget(self.table, 1)
        below.addWidget(self.empty, 1)
        for page in (self.overview, self.statistics, self._sentences):
            self._pages.addWidget(page)
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.empty, "muted")
        head = QHBoxLayout()
        head.setSpacing(theme.S)
        head.addWidget(self.legend, 1)
        head.addWidget(self.display)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.XS, theme.L, theme.S)
        layout.setSpacing(theme.XS)
        layout.addLayout(head)
        layout.addWidget(self._pages, 1)
        for caption in (self.source, self.remark):
            layout.addWidget(caption)
        self._redraw.timeout.connect(self.draw)
        theme.current().changed.connect(self._take_height)
        self.display.changed.connect(self.draw)
        self.legend.changed.connect(self.draw)
        self.overview.enlarge_requested.connect(self._enlarge)


def _identity(workload: Workload) -> tuple[str, tuple[Operation, ...]]:
    return workload.id, workload.operations


def _published_by(line: PublishedLine) -> str:
    counted = f"{line.statistic} of {line.runs} runs" if line.runs > 1 else "one run each"
    return f"{line.source}; {counted} on {line.machine}"
