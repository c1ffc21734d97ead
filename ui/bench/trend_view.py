"""One measurement over all the runs that were saved: a line for each system, oldest run first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.figures import in_order, shown_rows
from lamella.core.bench.results.run import RunSummary
from lamella.core.bench.results.store import SavedRuns, TrendPoint, trend
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.legend import Legend
from lamella.ui.bench.series import Series, SeriesPoint
from lamella.ui.bench.trend_plot import TrendPlot
from lamella.ui.tasks import Handle, Tasks

Trends = Mapping[str, Sequence[TrendPoint]]
TOO_FEW = "There is nothing to follow yet: measure the same workload and size at least twice."


class TrendView(QWidget):
    """Reads off the GUI thread whenever another measurement is chosen."""

    failed = Signal(Exception)

    def __init__(self, kept: SavedRuns, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kept, self._tasks = kept, tasks
        self._runs: Sequence[RunSummary] = ()
        self._reading: Handle | None = None
        self._series: list[Series] = []
        self._moments: list[datetime] = []
        self.workload, self.operation, self.rows = (
            QComboBox(accessibleName=name) for name in ("Workload", "Operation", "Rows")
        )
        self.plot, self.legend, self.nothing = TrendPlot(), Legend(), QLabel(TOO_FEW)
        self._build()

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """What can be followed: workloads of the saved runs, those measured most often first."""
        self._runs = runs
        names = list(chain.from_iterable(run.workloads for run in runs))
        known = {name: found for name in names if (found := _known(name)) is not None}
        ordered = sorted(known, key=lambda name: -names.count(name))
        _fill(self.workload, {name: known[name].title for name in ordered})
        self._take_workload()

    def _take_workload(self) -> None:
        name = self.workload.currentData()
        workload = _known(name) if name else None
        _fill(self.operation, {one.id: one.title for one in workload.operations} if workload else {})
        sizes = {rows for run in self._runs if name in run.workloads for rows in run.sizes}
        _fill(self.rows, {rows: shown_rows(rows) for rows in sorted(sizes, reverse=True)})
        self._read()

    def _read(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        workload, operation, rows = (box.currentData() for box in (self.workload, self.operation, self.rows))
        if not (workload and operation and rows):
            self._show({})
            return
        systems = {name for run in self._runs if workload in run.workloads for name in run.systems}
        kept = self._kept

        def work(job: Job) -> Trends:
            return {name: trend(kept, workload, operation, name, rows) for name in systems}

        self._reading = self._tasks.read(work, self._show, self.failed.emit, owner=self, quiet=True)

    def _show(self, found: Trends) -> None:
        self._reading = None
        systems = [name for name in in_order(found) if found[name]]
        runs = sorted({(point.started, point.run) for name in systems for point in found[name]})
        places = {run: place for place, (_, run) in enumerate(runs)}
        self._moments = [started.astimezone() for started, _ in runs]
        self._series = [_series(name, found[name], places) for name in systems]
        self.legend.show_series(self._series)
        self._draw()
        several = len(runs) > 1
        self.nothing.setVisible(not several)
        for widget in (self.plot, self.legend):
            widget.setVisible(several)

    def _draw(self) -> None:
        """The lines that the legend has on."""
        shown = [one for one in self._series if one.label not in self.legend.hidden]
        self.plot.show_series(shown, self._moments)

    def _build(self) -> None:
        theme.variant(self.nothing, "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setWordWrap(True)
        choices = QHBoxLayout()
        choices.setSpacing(theme.S)
        for box in (self.workload, self.operation, self.rows):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            choices.addWidget(box)
        choices.addStretch(1)
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
        self.workload.currentIndexChanged.connect(self._take_workload)
        for box in (self.operation, self.rows):
            box.currentIndexChanged.connect(lambda _: self._read())


def _known(name: str) -> Workload | None:
    """None for one of another version, or whose file is gone."""
    try:
        return workload_named(name)
    except LamellaError:
        return None


def _series(name: str, points: Sequence[TrendPoint], places: Mapping[int, int]) -> Series:
    """The points' `rows` are the numbers of the runs, counted from the oldest."""
    made = (SeriesPoint(places[p.run], p.value or None, p.low, p.high, p.samples) for p in points)
    return Series(name, title_of(name), False, "measured here", "", tuple(made))


def _fill(box: QComboBox, titles: Mapping[object, str]) -> None:
    """Another list of choices; what was chosen stays so where it is among them."""
    before = box.currentData()
    box.blockSignals(True)
    box.clear()
    for value, title in titles.items():
        box.addItem(title, value)
    place = box.findData(before)
    box.setCurrentIndex(max(0, place) if titles else -1)
    box.blockSignals(False)
    box.setEnabled(len(titles) > 1)
