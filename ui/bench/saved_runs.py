"""The dialog of saved runs: one run, several compared, and how they changed over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.results.compare import Comparison, compare
from lamella.core.bench.results.results_file import SUFFIX, read_results_file
from lamella.core.bench.results.run import RunSummary, SavedRun
from lamella.core.bench.results.store import SavedRuns
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.bench import export
from lamella.ui.bench.benchmark_results import BenchmarkResults, Display, prepare, results_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.quantities import about
from lamella.ui.bench.results_view import ResultsView
from lamella.ui.bench.run_changes import ComparisonView, TrendView
from lamella.ui.bench.saved_runs_list import RunSearch, SavedRunsHint, SavedRunsList
from lamella.ui.dialogs.file_dialog import ask_file
from lamella.ui.dialogs.work_dialog import fit_into_window
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.message_bar import MessageBar

EMPTY = "This run measured nothing."


class RunView(QWidget):
    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.run: SavedRun | None = None
        self._results: dict[str, BenchmarkResults] = {}
        self.caption, self.view, self.news = Caption(), ResultsView(EMPTY), MessageBar()
        self._build()

    def show_run(self, run: SavedRun, results: dict[str, BenchmarkResults]) -> None:
        """Show a run; `results` are by workload, from `results_of`, which runs off the GUI thread."""
        self.run, self._results = run, results
        self.news.clear()
        self.caption.tell(_description(run))
        self.view.setVisible(bool(results))
        if results:
            self._show(next(iter(results)))
        lost = sorted({sample.workload for sample in run.samples} - set(results))
        if lost:
            names = ", ".join(lost)
            self.news.say(f"{names} is not known to this version, so it has no plot.", stays=True)

    def export(self, path: Path) -> None:
        """Write what is shown, in the format of the suffix of `path`; a problem is reported above it."""
        assert self.run is not None
        export.export_telling(path, self.run, self.view.picture, self.news, self._tasks)

    def _show(self, workload_id: str) -> None:
        results = self._results[workload_id]
        self.view.display.set_workloads(
            [result.workload for result in self._results.values()], results.workload
        )
        self.view.show_results(results)

    def _export(self, suffix: str) -> None:
        name = f"benchmark-{self.run.id}" if self.run else "benchmark"
        export.ask_path(self, suffix, name, self.export)

    def _build(self) -> None:
        self.caption.setContentsMargins(theme.L, theme.S, theme.L, 0)
        self.caption.set_short(True)  # its tooltip has the full text: the plots need the room
        self.caption.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        for widget in (self.caption, self.news):
            layout.addWidget(widget)
        layout.addWidget(self.view, 1)
        self.view.display.workload_requested.connect(self._show)
        self.view.display.export_requested.connect(self._export)


def _description(run: SavedRun) -> str:
    machine = sentence(dict(run.surroundings[0].environment)) if run.surroundings else ""
    when = f"{run.started.astimezone():%Y-%m-%d %H:%M}, took {about(run.seconds)}"
    return " · ".join(filter(None, [f"{when}. {machine}".strip(), run.note, run.command]))


LIST_SHARE = 0.3
LARGEST_FIRST = QSize(1000, 700)
"""The initial size: the smallest window in which everything fits."""

NO_RUNS = (
    "No run has been saved yet",
    "Every benchmark that you run is saved here: come back after the first one. Results files from other "
    "computers can be opened here, too.",
)
NO_MATCH_TEXT = ("No run matches", "Try fewer words; #word finds a tag in the notes.")
NO_SELECTION_TEXT = (
    "Choose a run",
    "Choose two with Ctrl to compare them, or as many as you like to delete them.",
)
MANY_SELECTION_TEXT = ("{count} runs are chosen", "Two can be compared; any number can be deleted.")
UNKNOWN = "It measured something unknown to this version, or files on another computer"
FILES = f"Results files (*{SUFFIX});;All files (*)"


@dataclass(frozen=True)
class _OpenRuns:
    """One run and its results, or two runs and their comparison, the older first."""

    runs: tuple[SavedRun, ...]
    results: dict[str, BenchmarkResults]
    comparisons: list[Comparison]


def _open_runs(runs: Sequence[SavedRun], display: Display) -> _OpenRuns:
    """Read runs; call it off the GUI thread, since a run may have half a million samples."""
    if len(runs) == 1:
        results = results_of(runs[0])
        for result in results.values():
            prepare(result, display)
        return _OpenRuns((runs[0],), results, [])
    before, after = sorted(runs, key=lambda run: run.started)
    return _OpenRuns((before, after), {}, compare(before.samples, after.samples))


class ResultsBrowser(QDialog):
    """The dialog of saved runs. `benchmark_requested` carries what a saved run measured, to measure it again.
    The GUI thread reads nothing.

    Results files are shown beside the saved runs, with negative numbers, until they are closed or saved.
    """

    benchmark_requested = Signal(Choice)

    def __init__(self, saved_runs: SavedRuns, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._saved_runs, self._tasks = saved_runs, tasks
        self._reading: Handle | None = None
        self._numbers: tuple[int, ...] = ()
        self._open: tuple[SavedRun, ...] = ()
        self._summaries: Sequence[RunSummary] = ()
        self._files: dict[int, SavedRun] = {}
        self.setWindowTitle("Saved runs")
        self.setAcceptDrops(True)
        self.search, self.table = RunSearch(), SavedRunsList()
        self.news, self.hint = MessageBar(), SavedRunsHint()
        self.run, self.comparison, self.trends = (
            RunView(tasks),
            ComparisonView(),
            TrendView(saved_runs, tasks),
        )
        self.again, self.delete = QPushButton("Run again"), QPushButton("Delete")
        self.file = QPushButton("Open a file…")
        self.pages, self.tabs = QStackedWidget(), QTabWidget()
        self._build()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Read the list again."""
        self._tasks.read(
            lambda job: self._saved_runs.runs(), self._show_runs, self._fail, owner=self, quiet=True
        )

    # ----------------------------------------------------------------------- files

    def open_file(self, path: Path) -> None:
        """Open a results file beside the saved runs."""

        def show(run: SavedRun) -> None:
            number = min(self._files, default=0) - 1
            self._files[number] = replace(run, id=number, title=f"{path.name}: {run.title}")
            self.search.field.clear()
            self._show_list()
            self.table.choose(
                [row for row, saved_run in enumerate(self.table.runs_model.runs) if saved_run.id == number]
            )
            self.news.say(
                f"{path.name} is open, but not saved here.",
                ("Save it", lambda: self._save(number)),
                stays=True,
            )

        self._tasks.read(lambda job: read_results_file(path), show, self._say_problem, owner=self)

    def _say_problem(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.news.say(str(error), kind="message-danger")
        else:
            self._tasks.failed.emit(error)

    def _save(self, number: int) -> None:
        run = self._files.get(number)
        if run is not None:
            self._change(
                lambda job: self._saved_runs.save(run),
                "Saving a run",
                lambda _: self._files.pop(number, None),
            )

    def _ask_file(self) -> None:
        ask_file(self, "Open a results file", self.open_file, filters=FILES)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for path in dropped_files(event):
            self.open_file(path)

    # --------------------------------------------------------------------- showing

    def _show_runs(self, runs: Sequence[RunSummary]) -> None:
        self._numbers, self._open, self._summaries = (), (), runs
        self._show_list()
        self.trends.show_runs(runs)

    def _show_list(self) -> None:
        files = [RunSummary.of(run) for run in reversed(self._files.values())]
        self.table.show_runs([*files, *self._summaries])
        self.search.setEnabled(self.table.runs_model.count > 0)
        self.search.show_counts(self.table.runs_model)

    def _search(self, text: str) -> None:
        self.table.search(text)
        self.search.show_counts(self.table.runs_model)

    def _show_chosen_runs(self) -> None:
        runs = self.table.selection
        self._offer()
        if len(runs) in (1, 2):
            self._read(tuple(run.id for run in runs))
            return
        self._numbers = ()
        if self.table.runs_model.count and not self.table.runs_model.runs:
            title, words = NO_MATCH_TEXT
        else:
            title, words = (
                MANY_SELECTION_TEXT if runs else NO_SELECTION_TEXT if self.table.runs_model.runs else NO_RUNS
            )
        self.hint.show_hint(title.format(count=len(runs)), words)
        self.pages.setCurrentWidget(self.hint)

    def _read(self, numbers: tuple[int, ...]) -> None:
        if numbers == self._numbers:
            return
        self._numbers = numbers
        if self._reading is not None:
            self._reading.cancel()
        saved_runs, files, display = self._saved_runs, dict(self._files), self.run.view.display.display

        def work(job: Job) -> _OpenRuns:
            runs = [files[number] if number in files else saved_runs.run(number) for number in numbers]
            return _open_runs(runs, display)

        self._reading = self._tasks.read(work, self._show, self._fail, owner=self, quiet=True)

    def _show(self, opened: _OpenRuns) -> None:
        self._reading, self._open = None, opened.runs
        if len(opened.runs) == 1:
            self.pages.setCurrentWidget(self.run)
            self.run.show_run(opened.runs[0], opened.results)
        else:
            before, after = opened.runs
            self.comparison.show_comparison(before, after, opened.comparisons)
            self.pages.setCurrentWidget(self.comparison)
        self._offer()

    def _offer(self) -> None:
        runs = self.table.selection
        self.delete.setEnabled(bool(runs))
        act = "Close" if runs and all(run.id in self._files for run in runs) else "Delete"
        self.delete.setText(f"{act} {len(runs)}" if len(runs) > 1 else act)
        ready = len(runs) == 1 and [run.id for run in self._open] == [runs[0].id]
        has_choice = ready and self._open[0].choice is not None
        self.again.setEnabled(has_choice)
        self.again.setToolTip(
            UNKNOWN if ready and not has_choice else "Run the same once more, with the same seed"
        )

    def _fail(self, error: Exception) -> None:
        """Show in the middle why a file cannot be read, and what to do."""
        self._reading = None
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
            return
        self._summaries = ()
        self._show_list()
        self.hint.show_problem(error, self._saved_runs.path)
        self.pages.setCurrentWidget(self.hint)
        self.tabs.setCurrentIndex(0)

    # -------------------------------------------------------------------- changing

    def _benchmark_again(self) -> None:
        if self._open and self._open[0].choice is not None:
            self.benchmark_requested.emit(self._open[0].choice)

    def _note(self, number: int, text: str) -> None:
        self._change(lambda job: self._saved_runs.note(number, text), "Writing a note")

    def _delete(self) -> None:
        ids = [run.id for run in self.table.selection]
        numbers = [number for number in ids if number not in self._files]
        for number in set(ids) - set(numbers):
            del self._files[number]
        if not numbers:
            self._show_list()
            return
        saved_runs = self._saved_runs

        def work(job: Job) -> list[SavedRun]:
            gone = [saved_runs.run(number) for number in numbers]
            saved_runs.delete(numbers)
            return gone

        self._change(work, "Deleting runs", self._report_deleted_runs)

    def _report_deleted_runs(self, gone: list[SavedRun]) -> None:
        what = gone[0].title if len(gone) == 1 else f"{len(gone)} runs"
        self.news.say(f"Deleted: {what}", ("Undo", lambda: self._restore(gone)), stays=True)

    def _restore(self, gone: list[SavedRun]) -> None:
        """Restore deleted runs, under new numbers."""
        self._change(lambda job: [self._saved_runs.save(run) for run in gone], "Restoring runs")

    def _change(
        self, work: Callable[[Job], object], text: str, on_result: Callable[..., object] | None = None
    ) -> None:
        def over(answer: object) -> None:
            if on_result is not None:
                on_result(answer)
            self.refresh()

        self._tasks.write(work, over, self._say_problem, owner=self, text=text)

    def _move_aside(self) -> None:
        """Rename the damaged file, so that the next benchmark starts a new one."""
        path = self._saved_runs.path

        def work(job: Job) -> str:
            return self._saved_runs.move_aside().name

        def announce(name: str) -> None:
            self.news.say(
                f"{path.name} was renamed to {name}. The next benchmark starts a new file.", stays=True
            )

        self._change(work, "Moving the saved runs aside", announce)

    # -------------------------------------------------------------------- building

    def _build(self) -> None:
        for page in (self.hint, self.run, self.comparison):
            self.pages.addWidget(page)
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.pages, "Results")
        self.tabs.addTab(self.trends, "Over time")
        self._split = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        self._split.addWidget(self._list())
        self._split.addWidget(self.tabs)
        self._split.setStretchFactor(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.news)
        layout.addWidget(self._split, 1)
        line = theme.current().line_height()
        most = LARGEST_FIRST * theme.current().text_scale
        fit_into_window(self, QSize(78 * line, 44 * line).boundedTo(most))
        self.table.setFocus()
        self._split.setSizes([round(LIST_SHARE * self.width()), round((1 - LIST_SHARE) * self.width())])

    def _list(self) -> QWidget:
        theme.variant(self.again, "primary")
        theme.variant(self.delete, "danger")
        for button in (self.again, self.file, self.delete):
            button.setAutoDefault(False)
        self.file.setToolTip("A results file, such as --export writes; it can be dropped here, too")
        buttons = QHBoxLayout()
        buttons.setContentsMargins(theme.M, theme.S, theme.M, theme.M)
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.again)
        buttons.addWidget(self.file)
        buttons.addStretch(1)
        buttons.addWidget(self.delete)
        left = QWidget()
        layout = QVBoxLayout(left)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.search)
        layout.addWidget(self.table, 1)
        layout.addLayout(buttons)
        return left

    def _connect(self) -> None:
        self.table.chosen_changed.connect(self._show_chosen_runs)
        self.table.runs_model.noted.connect(self._note)
        self.again.clicked.connect(self._benchmark_again)
        self.delete.clicked.connect(self._delete)
        self.file.clicked.connect(self._ask_file)
        self.search.changed.connect(self._search)
        QShortcut(QKeySequence.StandardKey.Find, self, self.search.field.setFocus)
        QShortcut(QKeySequence.StandardKey.Open, self, self._ask_file)
        self.hint.move_requested.connect(self._move_aside)
        self.trends.failed.connect(self._fail)
        QShortcut(QKeySequence.StandardKey.Delete, self.table, self._delete,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip


def dropped_files(event: QDropEvent) -> list[Path]:
    """The dropped files; empty for other drops."""
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
