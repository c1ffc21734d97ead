"""The Race: systems measured on this machine, live, beside what others published."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from core.bench import runner
from core.bench.protocol import Doing, Message
from core.bench.published import published
from core.bench.ratios import ratios, shown_rows
from core.bench.results import Record
from core.errors import LamellaError
from core.jobs import Job, Progress
from ui import theme
from ui.bench import export
from ui.bench.caption import Caption
from ui.bench.display_bar import DisplayBar
from ui.bench.plot_lines import DAGGER
from ui.bench.race_bar import RaceBar
from ui.bench.race_controls import Choice, RaceControls
from ui.bench.race_plot import RacePlot
from ui.bench.race_results import RaceResults
from ui.bench.ratio_table import RatioTable
from ui.tasks import Handle, Tasks

REDRAW_MILLISECONDS = 120
EMPTY = (
    "Nothing is measured here yet. Choose systems and sizes on the left and press Start: "
    "the dashed lines are what others published, on their machine."
)


class RacePanel(QWidget):
    """Runs one race at a time through `tasks`; results stay until the same workload is started again."""

    _heard = Signal(object, object)

    def __init__(self, tasks: Tasks, folder: Path | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._handle: Handle | None = None
        self._all: dict[str, RaceResults] = {}
        self.bar, self.controls, self.display = RaceBar(), RaceControls(folder), DisplayBar()
        self.plot, self.table = RacePlot(), RatioTable()
        self.source, self.remark, self.empty = Caption(), Caption(), QLabel(EMPTY)
        self._redraw = QTimer(self, interval=REDRAW_MILLISECONDS, singleShot=True)
        self._build()
        self._connect()
        self._take_workload()

    @property
    def results(self) -> RaceResults:
        """Of the workload that is shown."""
        name = self.controls.workload.id
        return self._all.setdefault(name, RaceResults(name))

    @property
    def running(self) -> bool:
        return self._handle is not None

    # --------------------------------------------------------------------- racing

    def start(self) -> None:
        """Race what is chosen, replacing the results of the same workload."""
        if self.running or self.controls.problem:
            return
        choice, results = self.controls.choice, RaceResults(self.controls.workload.id)
        self._all[results.workload] = results
        self.bar.begin(self.controls.seconds, choice.repeats)
        self.controls.setEnabled(False)
        self._handle = self._tasks.read(
            lambda job: self._work(choice, results, job),
            self._done,
            self._failed,
            progress=self._progress,
            stopped=lambda: self._end("Stopped"),
            owner=self,
            text="Race",
        )
        self.destroyed.connect(self._handle.cancel)
        self._draw()

    def stop(self) -> None:
        """End the child process at once; what was measured stays on show."""
        if self._handle is not None:
            self.bar.stopping()
            self._handle.cancel()

    def _work(self, choice: Choice, results: RaceResults, job: Job) -> list[Record]:
        """On a worker thread."""
        return runner.run(
            choice.workload.id,
            choice.rows,
            choice.systems,
            choice.repeats,
            choice.folder,
            lambda message: self._heard.emit(results, message),
            job,
            choice.fresh,
        )

    def _take(self, results: RaceResults, message: Message) -> None:
        results.take(message)
        if isinstance(message, Doing) and self.running:
            self.bar.doing(message)
        if not self._redraw.isActive():
            self._redraw.start()

    def _progress(self, progress: Progress) -> None:
        self.bar.set_share(progress.fraction or 0.0)

    def _done(self, records: list[Record]) -> None:
        failures = len(self.results.failures)
        lost = f", {failures} failed" if failures else ""
        self._end(f"Done: {len(records):,} samples{lost}")

    def _failed(self, error: Exception) -> None:
        self._end(f"Not finished: {error}".rstrip("."))
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)

    def _end(self, how: str) -> None:
        self._handle = None
        self.bar.end(how)
        self.controls.setEnabled(True)
        self._draw()

    # --------------------------------------------------------------------- showing

    def _take_workload(self) -> None:
        self.display.set_operations(self.controls.workload.operations)
        self._draw()

    def _draw(self) -> None:
        display, results = self.display.display, self.results
        quantity = display.quantity
        self.plot.show_series(results.lines(display), quantity.title, quantity.axis, quantity.exact)
        self.display.about.tell(self.controls.workload.operation(display.operation).about)
        self.source.tell(self._source())
        self.remark.tell(self._remark())
        told = ratios(results.records, display.statistic, display.temperature)
        told = [ratio for ratio in told if ratio.operation.id == display.operation]
        self.table.show_results(told, results.failures)
        self.empty.setVisible(not (results.records or results.failures or self.running))
        self.table.setVisible(not self.empty.isVisibleTo(self))
        self.display.set_exportable(bool(results.records))

    def _source(self) -> str:
        """Of the dashed lines; empty when there are none."""
        if not any(spot.series.published for spot in self.plot.spots):
            return ""
        line = published(self.controls.workload.id)[0]
        runs = f"mean of {line.runs} runs" if line.runs > 1 else "one run each"
        return f"Dashed: {line.source}; {runs} on {line.machine}."

    def _remark(self) -> str:
        """What sets the largest marked point apart; the others say it when hovered over."""
        marked = [spot for spot in self.plot.spots if spot.point.remark]
        if not marked:
            return ""
        largest = max(marked, key=lambda spot: spot.point.rows)
        return f"{DAGGER} {largest.series.title} at {shown_rows(largest.point.rows)}: {largest.point.remark}."

    def _export(self, suffix: str) -> None:
        path = export.ask_path(self, suffix, f"race-{self.results.workload}")
        if path is not None:
            self.export(path)

    def export(self, path: Path) -> None:
        """Write the results that are shown; a problem is said in the bar."""
        try:
            export.export(path, self.results, self.plot)
        except LamellaError as error:
            self.bar.status.setText(str(error))
        else:
            self.bar.status.setText(f"Written: {path}")

    # -------------------------------------------------------------------- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        split = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        split.addWidget(self._left())
        split.addWidget(self._right())
        split.setStretchFactor(1, 1)
        split.setSizes([280, 900])
        layout.addWidget(split, 1)

    def _left(self) -> QWidget:
        area = QScrollArea(widgetResizable=True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFrameShape(QFrame.Shape.NoFrame)
        theme.variant(area, "panel")
        area.setWidget(self.controls)
        area.setMinimumWidth(self.controls.minimumSizeHint().width() + theme.L)
        return area

    def _right(self) -> QWidget:
        split = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        split.addWidget(self._upper())
        split.addWidget(self._lower())
        split.setStretchFactor(0, 1)
        split.setSizes([520, 190])
        return split

    def _upper(self) -> QWidget:
        return _stacked(self.display, self.plot, self.source, self.remark, stretched=self.plot)

    def _lower(self) -> QWidget:
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.empty, "muted")
        return _stacked(self.table, self.empty, stretched=self.table)

    def _connect(self) -> None:
        self._heard.connect(self._take)
        self._redraw.timeout.connect(self._draw)
        self.bar.start_asked.connect(self.start)
        self.bar.stop_asked.connect(self.stop)
        self.controls.workload_changed.connect(self._take_workload)
        self.controls.changed.connect(lambda: self.bar.set_problem(self.controls.problem))
        self.display.changed.connect(self._draw)
        self.display.export_asked.connect(self._export)


def _stacked(*widgets: QWidget, stretched: QWidget) -> QWidget:
    holder = QWidget()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(theme.L, theme.S, theme.L, theme.S)
    layout.setSpacing(theme.S)
    for widget in widgets:
        layout.addWidget(widget, 1 if widget is stretched else 0)
    return holder
