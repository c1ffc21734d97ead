"""One saved run as it is looked at: its results, on which machine, and the command that repeats it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.engine.protocol import Measured, Message
from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import LamellaError
from lamella.ui import theme
from lamella.ui.bench import export
from lamella.ui.bench.benchmark_results import BenchmarkResults
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.durations import about
from lamella.ui.bench.results_view import ResultsView
from lamella.ui.widgets.message_bar import MessageBar

EMPTY = "This run measured nothing."


class RunView(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.run: SavedRun | None = None
        self._results: dict[str, BenchmarkResults] = {}
        self.where, self.view, self.news = Caption(), ResultsView(EMPTY), MessageBar()
        self._build()

    def show_run(self, run: SavedRun) -> None:
        self.run = run
        self.news.clear()
        workloads = _workloads_of(run)
        told = _told(run)
        self._results = {
            one.id: BenchmarkResults.of(one, [m for m in told if _of(m) == one.id]) for one in workloads
        }
        self.where.tell(_where(run))
        self.view.setVisible(bool(workloads))
        if workloads:
            self._show(workloads[0].id)
        lost = sorted({record.workload for record in run.records} - set(self._results))
        if lost:
            names = ", ".join(lost)
            self.news.say(f"What {names} is, is not known here any more, so it has no plot.", stays=True)

    def export(self, path: Path) -> None:
        """Write what is shown, by the suffix of `path`; a problem is said above it."""
        assert self.run is not None
        export.export_telling(path, self.run, self.view.picture, self.news)

    def _show(self, workload_id: str) -> None:
        results = self._results[workload_id]
        self.view.display.set_shown([one.workload for one in self._results.values()], results.workload)
        self.view.show_results(results)

    def _export(self, suffix: str) -> None:
        name = f"benchmark-{self.run.id}" if self.run else "benchmark"
        path = export.ask_path(self, suffix, name)
        if path is not None:
            self.export(path)

    def _build(self) -> None:
        self.where.setContentsMargins(theme.L, theme.S, theme.L, 0)
        self.where.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        for widget in (self.where, self.news):
            layout.addWidget(widget)
        layout.addWidget(self.view, 1)
        self.view.display.workload_requested.connect(self._show)
        self.view.display.export_requested.connect(self._export)


def _workloads_of(run: SavedRun) -> list[Workload]:
    """In the order in which they were measured; those that nothing is known of here are left out."""
    if run.choice is not None:
        return [part.workload for part in run.choice.parts]
    found = []
    for name in dict.fromkeys(record.workload for record in run.records):
        try:
            found.append(workload_named(name))
        except LamellaError:  # of another version, or of a file that is gone
            continue
    return found


def _told(run: SavedRun) -> list[Message]:
    return [*map(Measured, run.records), *run.failures, *run.unsupported, *run.surroundings]


def _of(message: Message) -> str:
    return message.record.workload if isinstance(message, Measured) else getattr(message, "workload", "")


def _where(run: SavedRun) -> str:
    machine = sentence(dict(run.surroundings[0].environment)) if run.surroundings else ""
    when = f"{run.started.astimezone():%Y-%m-%d %H:%M}, took {about(run.seconds)}"
    return "\n".join(filter(None, [f"{when}. {machine}".strip(), run.command]))
