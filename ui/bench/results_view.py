"""The results of a benchmark: the bar that chooses what to show, all plots and the verdict as the first page,
and other views of the same selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QActionGroup, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.results.compare import reference_of
from lamella.core.bench.results.figures import shown_rows
from lamella.core.bench.results.published_results import PublishedLine, publications
from lamella.core.bench.results.records import STATISTICS
from lamella.core.bench.results.report import shown_check
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import (
    BenchmarkResults,
    Display,
    bars,
    lines,
    normalise,
    panels,
    samples_of,
    title_of,
)
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.export import FORMATS
from lamella.ui.bench.legend import LegendLine
from lamella.ui.bench.overview import Overview
from lamella.ui.bench.quantities import DISK, MEMORY, PROCESSOR, TIME, Quantity, Scale
from lamella.ui.bench.result_tables import FindingsTable, StatisticsTable, findings, statistics_rows
from lamella.ui.bench.series import DAGGER, PUBLISHED_LABEL, PublishedSeries, Series
from lamella.ui.widgets.controls import FlowLayout
from lamella.ui.widgets.hosts import widget_of

if TYPE_CHECKING:
    from lamella.ui.bench.benchmark_plot import BenchmarkPlot

REDRAW_MILLISECONDS = 120
SHARE_OF_TIME = 12
"""After a redraw, nothing is drawn for this many times its duration."""

LOW = 540
"""Below this height, in pixels at the default text size, captions take one line, to leave room for the
plot."""


class ResultsView(QWidget):
    """Shows one workload at a time. `redraw_soon` may be called for every result."""

    def __init__(self, empty: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._empty = empty
        self._results: BenchmarkResults | None = None
        self._stale = False
        # With a parent from the start: setting one later makes Qt style everything inside again.
        self.legend, self.display = LegendLine(self), DisplayBar(self)
        self._pages = QStackedWidget(self)
        self._sentences = QWidget(self._pages)
        self.overview, self.statistics = Overview(self._pages), StatisticsTable(self._pages)
        self.table, self.empty = FindingsTable(self._sentences), QLabel(empty, self._sentences)
        self.source, self.remark = Caption(self), Caption(self)
        self._redraw = QTimer(self, interval=REDRAW_MILLISECONDS, singleShot=True)
        self._build()

    @cached_property
    def plot(self) -> BenchmarkPlot:
        """The plot of one operation. Made on first use: most users look at all plots, and importing pyqtgraph
        takes a third of a second."""
        from lamella.ui.bench.benchmark_plot import BenchmarkPlot

        plot = BenchmarkPlot()
        self._pages.addWidget(plot)
        return plot

    @property
    def _shows_plot(self) -> bool:
        return "plot" in vars(self) and self._pages.currentWidget() is self.plot

    def show_results(self, results: BenchmarkResults) -> None:
        """Show results; those of another workload start with its preferred view."""
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
        """Draw what the display bar asks for, now."""
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
            self.plot.show_bars(normalise(results, display, self.display.scale_in_force is Scale.LOG))
        elif self.display.shows_lines:
            scale = self.display.scale_in_force
            series = lines(results, display, even=scale is not Scale.LOG)
            self.plot.show_lines(series, display.quantity, scale)
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
            self.plot.legend.set_hidden_names(self.legend.hidden_names)
        elif before is self.plot:
            self.legend.set_hidden_names(self.plot.legend.hidden_names)

    def _draw_overview(self, results: BenchmarkResults) -> None:
        log = self.display.scale_in_force is Scale.LOG
        chart_panels = panels(results, self.display.display, even=not log)
        series: dict[str, Series] = {line.label: line for panel in chart_panels for line in panel.series}
        published_lines = [line for line in series.values() if line.is_published]
        live = [line for line in series.values() if not line.is_published]
        self.legend.show_series(_legend_entries(live, published_lines))
        check = shown_check(results.workload, results.tally.points)
        about = f"{results.workload.title}: {results.workload.about} {check}"
        source = f"{about} {self._published_sources(results)}" if published_lines else about
        hidden = self.legend.hidden_names & set(self.legend.entries)
        self.overview.show_results(results, self.display.display, chart_panels, hidden, log, source)

    def _enlarge(self, panel: str) -> None:
        results = self._results
        if results is None:
            return
        resizing = next((operation_.id for operation_ in results.operations if operation_.resizes), "")
        operation, quantity = (resizing, DISK) if panel == DISK.field else (panel, TIME)
        self.display.enlarge(operation, quantity)

    def _draw_sentences(self, results: BenchmarkResults) -> None:
        self.display.set_exportable(not results.empty)
        if self._pages.currentWidget() is not self._sentences:
            return
        ratios = results.ratios(self.display.display, self.display.by_operation)
        self.table.show_findings(findings(results.failures, ratios, results.unsupported_steps))
        self.empty.setVisible(not self.table.rowCount())
        self.empty.setText(self._empty if results.empty else "No two systems have answered yet.")
        self.table.setVisible(bool(self.table.rowCount()))

    def _source(self, results: BenchmarkResults) -> str:
        """The sources of the dashed lines and bars; empty if there are none."""
        if self.display.view.id == "normalised":
            return self._reference(results)
        if not self._shows_plot or not self._shows_published():
            return ""
        return self._published_sources(results)

    def _published_sources(self, results: BenchmarkResults) -> str:
        sources = dict.fromkeys(map(_source_text, publications(results.workload.id)))
        return f"Dashed, as published: {'. '.join(sources)}."

    def _reference(self, results: BenchmarkResults) -> str:
        name = reference_of(results.tally.summaries())
        return f"1 is {title_of(name)}, measured in this benchmark." if name else ""

    def _shows_published(self) -> bool:
        if self.plot.shows_bars:
            return any(place.bar.series.is_published for place in self.plot.bars.places)
        return any(spot.series.is_published for spot in self.plot.spots)

    def _remark(self) -> str:
        """What distinguishes the largest marked point; the other points say it when hovered over."""
        if not self._shows_plot or self.plot.shows_bars:
            return ""
        marked = [spot for spot in self.plot.spots if spot.point.remark]
        if not marked:
            return ""
        largest = max(marked, key=lambda spot: spot.point.rows)
        return f"{DAGGER} {largest.series.title} at {shown_rows(largest.point.rows)}: {largest.point.remark}."

    @property
    def picture(self) -> QWidget:
        """The widget for an exported picture."""
        page = widget_of(self._pages.currentWidget())
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


def _source_text(line: PublishedLine) -> str:
    counted = f"{line.statistic} of {line.runs} runs" if line.runs > 1 else "one run each"
    return f"{line.source}; {counted} on {line.machine}"


class Shape(StrEnum):
    LINES = "lines"
    BARS = "bars"


@dataclass(frozen=True)
class View:
    """One page of the results; only pages of a quantity offer lines and bars."""

    id: str
    title: str
    about: str
    quantity: Quantity | None = None


OVERVIEW, SENTENCES = "overview", "sentences"
VIEWS = (
    View(OVERVIEW, "All plots", "Every operation, the verdict, and the ratio to each rival"),
    View("time", "Time", "How long each operation takes", TIME),
    View(
        "normalised",
        "Normalised",
        "Each system as a multiple of SQLite, set up as in the published benchmarks, averaged over sizes",
    ),
    View("size", "Size", "Size of the data on disk", DISK),
    View("memory", "Memory", "Peak memory of an operation's process", MEMORY),
    View("processor", "Processor", "Processor time, of all cores together", PROCESSOR),
    View("statistics", "All figures", "Mean, percentiles and operations per second for each system and size"),
    View(SENTENCES, "Sentences", "Failures, every ratio in words, and what could not be measured"),
)
BY_ID = {view.id: view for view in VIEWS}
SHAPES = {Shape.LINES: "Lines", Shape.BARS: "Bars"}
LINE_SCALES = {
    Scale.LOG: "Log–log",
    Scale.EVEN: "Linear",
    Scale.INSET: "Linear, inset",
}
OVERVIEW_SCALES = {Scale.LOG: "Log–log", Scale.EVEN: "Linear"}
BAR_SCALES = {Scale.EVEN: "Linear", Scale.LOG: "Logarithmic"}
MULTIPLE_SCALES = {Scale.LOG: "Logarithmic", Scale.EVEN: "Linear"}


def scales(view: View, shape: Shape) -> dict[Scale, str]:
    """The scales with the default first. Multiples are logarithmic: they lie on both sides of 1, and far from
    it."""
    if view.id == OVERVIEW:
        return OVERVIEW_SCALES
    if view.quantity is None:
        return MULTIPLE_SCALES
    return LINE_SCALES if shape is Shape.LINES else BAR_SCALES


def first_shape(view: View, workload: Workload) -> Shape:
    """Lines if there are several sizes; sizes on disk are shown as bars."""
    return Shape.BARS if view.quantity is DISK or len(workload.default_rows) < 3 else Shape.LINES


STATISTIC_TITLES = {"mean": "Mean ± deviation", "median": "Median, quartiles", "lowest": "Lowest"}
LARGEST = 0
LEAST_WIDTH = 80
"""The minimum width of a choice in a narrow window."""


class DisplayBar(QWidget):
    changed = Signal()
    export_requested = Signal(str)
    workload_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.views = _choice("View", {view.id: view.title for view in VIEWS})
        self.back = QPushButton("All plots")
        self.options = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.about = Caption()
        self.workload = _choice("Workload shown")
        self.operation = _choice("Operation")
        self.shape = _choice("Lines or bars", SHAPES)
        self.rows = _choice("Rows")
        self.scale = _choice("Scale", LINE_SCALES)
        self.statistic = _choice("Statistic", {name: STATISTIC_TITLES[name] for name in _mean_first()})
        self.samples = _choice("Samples")
        self.export = QToolButton(text="Export", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self._workload: Workload | None = None
        self._shapes: dict[str, Shape] = {}
        self._build()

    @property
    def view(self) -> View:
        return BY_ID[self.views.currentData()]

    @property
    def display(self) -> Display:
        return Display(
            operation=self.operation.currentData() or "",
            quantity=self.view.quantity or TIME,
            statistic=self.statistic.currentData(),
            samples=self.samples.currentData(),
            rows=self.rows.currentData() or LARGEST,
        )

    @property
    def shows_lines(self) -> bool:
        return self.view.quantity is not None and self.shape.currentData() == Shape.LINES

    @property
    def by_operation(self) -> bool:
        """Whether all operations are shown at once."""
        return self.view.id != "statistics" and not self.shows_lines

    @property
    def is_overview(self) -> bool:
        return self.view.id == OVERVIEW

    @property
    def scale_in_force(self) -> Scale:
        return Scale(self.scale.currentData())

    def _line_width(self) -> int:
        """The width of all choices side by side, in pixels."""
        items = map(self._choices.itemAt, range(self._choices.count()))
        widgets = (item.widget() for item in items if item is not None)
        widths = [w.sizeHint().width() for w in widgets if w is not None and not w.isHidden()]
        return sum(widths) + theme.S * len(widths)

    def show_view(self, view_id: str) -> None:
        self.views.setCurrentIndex(self.views.findData(view_id))

    def enlarge(self, operation: str, quantity: Quantity) -> None:
        """Show one plot of the overview alone."""
        self._shapes[_view_of(quantity).id] = Shape.LINES
        self.operation.setCurrentIndex(self.operation.findData(operation))
        self.show_view(_view_of(quantity).id)

    def set_workload(self, workload: Workload) -> None:
        """Start with this workload's preferred view."""
        self._workload, self._shapes = workload, {}
        _fill(self.operation, {operation_.id: operation_.title for operation_ in workload.operations})
        _fill(self.samples, samples_of(workload))
        for place, operation in enumerate(workload.operations):
            self.operation.setItemData(place, operation.about, Qt.ItemDataRole.ToolTipRole)
        self._take_view()

    def set_workloads(self, workloads: Sequence[Workload], current: Workload) -> None:
        """Set the workloads that have results; if there is only one, there is nothing to choose."""
        _fill(self.workload, {workload.id: workload.title for workload in workloads}, current.id)
        self.workload.setVisible(len(workloads) > 1)

    def set_results(self, results: BenchmarkResults) -> None:
        """Set the sizes that can be chosen for bars; by default, the largest so far is shown."""
        sizes = {LARGEST: "Largest size"} | {rows: shown_rows(rows) for rows in reversed(results.rows)}
        if list(sizes) != [self.rows.itemData(place) for place in range(self.rows.count())]:
            _fill(self.rows, sizes, self.rows.currentData())
        self._show_choices()

    def set_exportable(self, exportable: bool) -> None:
        self.export.setEnabled(exportable)
        self.export.setToolTip(
            "Report, samples or picture as a file" if exportable else "Nothing has been measured yet"
        )

    # ------------------------------------------------------------------- choosing

    def _take_view(self) -> None:
        view, workload = self.view, self._workload
        if view.quantity is not None and workload is not None:
            shape = self._shapes.get(view.id, first_shape(view, workload))
            self.shape.blockSignals(True)
            self.shape.setCurrentIndex(self.shape.findData(shape))
            self.shape.blockSignals(False)
        self._take_scales()
        self.changed.emit()

    def _take_shape(self) -> None:
        self._shapes[self.view.id] = self.shape.currentData()
        self._take_scales()
        self.changed.emit()

    def _take_scales(self) -> None:
        offered = scales(self.view, Shape(self.shape.currentData()))
        if [self.scale.itemData(place) for place in range(self.scale.count())] != list(offered):
            _fill(self.scale, offered)
        self._show_choices()

    def _show_choices(self) -> None:
        overview, sentences = self.is_overview, self.view.id == SENTENCES
        lines, is_drawing = self.shows_lines, self.view.id != "statistics" and not sentences
        self.operation.setVisible(not overview and not sentences and (lines or not is_drawing))
        self.shape.setVisible(self.view.quantity is not None)
        self.rows.setVisible(
            is_drawing and not lines and self.view.quantity is not None and self.rows.count() > 2
        )
        self.scale.setVisible(is_drawing and not overview)
        self.statistic.setVisible(is_drawing and not overview)
        self.samples.setVisible(not overview)
        self.options.setVisible(overview)
        self.back.setVisible(not overview)
        self.options.setText(
            f"{self.scale.currentText()} · {self.statistic.currentText().split()[0].rstrip(',')} ▾"
        )
        self.setMinimumWidth(self._line_width() if overview else 0)
        operation = self._workload.operation(self.operation.currentData()) if self._workload else None
        about = operation.about if operation and not self.operation.isHidden() else f"{self.view.about}."
        self.about.tell("" if overview else f"{self._workload.title}: {about}" if self._workload else about)

    def _offer_options(self) -> None:
        """Put the choices of the overview into one menu."""
        menu = self.options.menu()
        menu.clear()
        for box in (self.scale, self.statistic, self.samples):
            menu.addSection(box.accessibleName())
            group = QActionGroup(menu)
            for place in range(box.count()):
                action = menu.addAction(box.itemText(place), partial(box.setCurrentIndex, place))
                action.setCheckable(True)
                action.setChecked(place == box.currentIndex())
                group.addAction(action)

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        for place, view in enumerate(VIEWS):
            self.views.setItemData(place, view.about, Qt.ItemDataRole.ToolTipRole)
        self.back.setToolTip("Back to all plots")
        theme.variant(self.back, "link")
        self.options.setMenu(QMenu(self.options))
        self.options.setToolTip("Scale, statistic and samples")
        self.options.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.options.menu().aboutToShow.connect(self._offer_options)
        menu = QMenu(self.export)
        for suffix, title in FORMATS.items():
            menu.addAction(title.partition(" (")[0] + "…", partial(self.export_requested.emit, suffix))
        self.export.setMenu(menu)
        choices = self._choices = FlowLayout(theme.S)
        boxes = (
            self.workload,
            self.operation,
            self.shape,
            self.rows,
            self.scale,
            self.statistic,
            self.samples,
        )
        for widget in (self.back, *boxes, self.options, self.views, self.export):
            choices.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addLayout(choices)
        layout.addWidget(self.about)
        self.views.currentIndexChanged.connect(lambda _: self._take_view())
        self.back.clicked.connect(lambda: self.show_view(OVERVIEW))
        self.shape.currentIndexChanged.connect(self._take_shape)
        self.operation.currentIndexChanged.connect(lambda _: self._show_choices())
        for box in (self.operation, self.rows, self.scale, self.statistic, self.samples):
            box.currentIndexChanged.connect(self.changed)
        self.workload.currentIndexChanged.connect(
            lambda _: self.workload_requested.emit(self.workload.currentData())
        )
        self.workload.hide()
        theme.current().changed.connect(self._show_choices)


def _view_of(quantity: Quantity) -> View:
    return next(view for view in VIEWS if view.quantity is quantity)


def _mean_first() -> list[str]:
    """The statistics with the mean first, as published."""
    return sorted(STATISTICS, key=lambda name: name != "mean")


def _choice(name: str, titles: Mapping[Any, str] | None = None) -> QComboBox:
    box = QComboBox(accessibleName=name, toolTip=name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    box.setMinimumWidth(LEAST_WIDTH)
    _fill(box, titles or {})
    return box


def _fill(box: QComboBox, titles: Mapping[Any, str], current: Any = None) -> None:
    """Fill a box without a signal; `current` stays chosen if it still exists."""
    box.blockSignals(True)
    box.clear()
    for value, title in titles.items():
        box.addItem(title, value)
    box.setCurrentIndex(max(0, box.findData(current)) if titles else -1)
    box.blockSignals(False)


def _legend_entries(live: Sequence[Series], published: Sequence[Series]) -> list[Series]:
    """The entries of the legend: a published line of a measured system shares its colour and entry; other
    published lines have their own."""
    measured = {line.system for line in live}
    alone = [line for line in published if line.system not in measured]
    together = PublishedSeries("", PUBLISHED_LABEL, True, "", "", ())
    return [*live, *([together] if len(alone) < len(published) else []), *alone]
