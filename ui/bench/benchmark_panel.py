"""The benchmark's panel: systems measured on this machine, live, beside published figures; and the bar of
buttons with the status."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.protocol import Message, StepStart
from lamella.core.bench.results.figures import shown_rows
from lamella.core.bench.results.run import Recording
from lamella.core.bench.results.store import SavedRuns
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import LamellaError
from lamella.ui import theme
from lamella.ui.bench import export
from lamella.ui.bench.benchmark_controls import BenchmarkControls
from lamella.ui.bench.benchmark_results import BenchmarkResults, title_of
from lamella.ui.bench.benchmark_run import BenchmarkRun, Benchmarks, End, RunSaving
from lamella.ui.bench.quantities import about
from lamella.ui.bench.results_view import ResultsView
from lamella.ui.bench.tab_state import choices_of, choose_again, look_again, look_of
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import ICON_GAP, ElidedLabel
from lamella.ui.widgets.message_bar import MessageBar


class Stopwatch:
    """Runs from its creation."""

    def __init__(self) -> None:
        self._start_time = monotonic()
        self._before = 0.0
        self._is_halted = False

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._is_halted else monotonic() - self._start_time)

    def halt(self, halted: bool) -> None:
        """Stop the clock, or let it run again."""
        self._before = self.seconds
        self._start_time, self._is_halted = monotonic(), halted


SURE_FROM = 0.08
"""Until this share is done, the remaining time is taken from the estimate."""

TICK_MILLISECONDS = 500
ICON_WIDTH, ANY_WIDTH = 40, 16_777_215  # Qt's QWIDGETSIZE_MAX
"""The width of a button that shows only an icon, and the maximum of any other."""
MORE_REPEATS = 5


class BenchmarkBar(QFrame):
    """The bar of one benchmark at a time; its owner says when it starts and ends."""

    start_requested = Signal()
    pause_requested = Signal(bool)
    stop_requested = Signal()
    more_requested = Signal(int)
    results_requested = Signal()
    status_changed = Signal()

    def __init__(self, controls: QWidget, estimate: QLabel, parent: QWidget | None = None) -> None:
        """`controls` and `estimate` are shown in the bar while no benchmark runs."""
        super().__init__(parent)
        self._controls, self._words, self._idle_estimate = controls, estimate, QWidget()
        self.start, self.pause, self.stop = (
            QPushButton(f"{ICON_GAP}{name}") for name in ("Start", "Pause", "Stop")
        )
        self.more_button, self.results = QPushButton(), QPushButton()
        for button, name in self._names.items():
            button.setAccessibleName(name)
        self.status = ElidedLabel("Press Start to measure on this machine.")
        self.progress = QProgressBar(minimum=0, maximum=1000, textVisible=False)
        self._watch, self._tick = Stopwatch(), QTimer(self, interval=TICK_MILLISECONDS)
        self._doing, self._estimate, self._share = "", 0.0, 0.0
        self._build()
        self._draw_icons()
        self.set_running(False)
        self.set_more("")

    @property
    def _names(self) -> dict[QPushButton, str]:
        """The names of the buttons that show only icons where there is little room."""
        return {self.more_button: f"{MORE_REPEATS} more repeats", self.results: "Saved runs…"}

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        spare = sum(
            button.sizeHint().width() - theme.current().px(ICON_WIDTH)
            for button in self._names
            if button.text() and not button.isHidden()
        )
        return QSize(hint.width() - spare, hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        for button, name in self._names.items():
            button.setText(f"{ICON_GAP}{name}")
            button.setMinimumWidth(0)
            button.setMaximumWidth(ANY_WIDTH)
        if self.width() < self.sizeHint().width():
            for button in self._names:
                button.setText("")
                button.setFixedWidth(theme.current().px(ICON_WIDTH))

    @property
    def is_paused(self) -> bool:
        return self.pause.isChecked()

    def set_problem(self, problem: str) -> None:
        """Disable Start with a reason; an empty text enables it."""
        self.start.setEnabled(not problem)
        self.start.setToolTip(problem or "Run every chosen system, each in its own process")

    def set_running(self, running: bool) -> None:
        self.start.setVisible(not running)
        for widget in (self.pause, self.stop, self.progress):
            widget.setVisible(running)
            widget.setEnabled(True)
        self._controls.setVisible(not running)
        self._idle_estimate.setVisible(not running)
        self.status.setVisible(running)
        button = self.pause if running else self.start
        self.setFocusProxy(button)
        button.setFocus()

    def set_more(self, title: str) -> None:
        """Set the benchmark to which repeats can be added; empty for none."""
        self.more_button.setVisible(bool(title))
        self.more_button.setToolTip(f"Measure again and add to these results. {title}")
        self._fit()

    def begin(self) -> None:
        self._doing, self._estimate, self._share = "Starting", 0.0, 0.0
        self._watch = Stopwatch()
        self._tick.start()
        self.progress.setValue(0)
        self.pause.setChecked(False)
        self.set_running(True)
        self.set_more("")
        self._tell()

    def expect(self, seconds: float) -> None:
        """Set the estimated duration; without it, the remaining time is not shown at first."""
        self._estimate = seconds
        self._tell()

    def doing(self, message: StepStart, workload: str) -> None:
        """Show what is being measured. `workload` is its title if there are several, otherwise empty."""
        where = f"{workload}: " if workload else ""
        step, repeat = message.step.replace("_", " "), message.repeat + 1
        self._doing = (
            f"{where}{title_of(message.system)}, {shown_rows(message.rows)}, {step}, repeat {repeat}"
        )

    def set_share(self, share: float) -> None:
        self._share = share
        self.progress.setValue(round(share * 1000))

    def stopping(self) -> None:
        for button in (self.stop, self.pause):
            button.setEnabled(False)
        self._doing = "Stopping"
        self._tell()

    def end(self, how: str) -> None:
        """Return to rest. `how` says how the benchmark ended; its duration is added."""
        self._tick.stop()
        self.set_running(False)
        self.say(f"{how} after {about(self._watch.seconds)}.")

    def say(self, text: str) -> None:
        self.status.say(text)
        self.status_changed.emit()

    def _take_pause(self, paused: bool) -> None:
        self.pause.setText("Resume" if paused else "Pause")
        self._watch.halt(paused)
        self._draw_icons()
        if self._tick.isActive():
            self.pause_requested.emit(paused)
            self._tell()

    def _tell(self) -> None:
        elapsed = self._watch.seconds
        if self.is_paused:
            self.say(f"Paused before the next step, at {about(elapsed)} · {self._doing}")
        else:
            self.say(f"{about(elapsed)}{self._remaining_time(elapsed)} · {self._doing}")

    def _remaining_time(self, elapsed: float) -> str:
        if self._share >= SURE_FROM:
            return f", about {about(elapsed * (1 - self._share) / self._share)} left"
        return f", about {about(max(1.0, self._estimate - elapsed))} left" if self._estimate else ""

    def _build(self) -> None:
        theme.variant(self, "bar")
        theme.variant(self.start, "primary")
        theme.variant(self.stop, "danger")
        theme.variant(self.status, "muted")
        self.pause.setCheckable(True)
        self.pause.setToolTip("Wait before the next step; measurements in progress are not affected")
        self.stop.setToolTip("Stop at once; results so far are kept")
        self.results.setToolTip("Every finished benchmark: compare two, or see how results changed over time")
        self.progress.setFixedWidth(140)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        layout.setSpacing(theme.S)
        for widget in (self.start, self.pause, self.stop, self._controls, self.progress):
            layout.addWidget(widget)
        layout.addWidget(self.status, 1)
        layout.addWidget(self._idle_estimate, 1)
        alone = QHBoxLayout(self._idle_estimate)  # words that arrive late show themselves only inside it
        alone.setContentsMargins(0, 0, 0, 0)
        alone.addWidget(self._words)
        self._words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.more_button)
        layout.addWidget(self.results)
        self.start.clicked.connect(self.start_requested)
        self.pause.toggled.connect(self._take_pause)
        self.stop.clicked.connect(self.stop_requested)
        self.more_button.clicked.connect(lambda: self.more_requested.emit(MORE_REPEATS))
        self.results.clicked.connect(self.results_requested)
        self._tick.timeout.connect(self._tell)
        theme.current().changed.connect(self._draw_icons)

    def _draw_icons(self) -> None:
        look = theme.current()
        self.start.setIcon(look.icon("play", "on_accent"))
        self.pause.setIcon(look.icon("play" if self.is_paused else "pause", "text"))
        self.stop.setIcon(look.icon("stop", "danger"))
        self.more_button.setIcon(look.icon("plus", "text"))
        self.results.setIcon(look.icon("history", "text"))


BUSY = "A benchmark is running. You can start another when it ends."
FREEZE_EVERY = 20_000
"""After this many new records, the garbage collector is told to ignore them."""

EMPTY = "Nothing has been measured here yet. Choose a workload and systems above and press Start."


class BenchmarkPanel(QWidget):
    """Runs one benchmark at a time through `tasks`, and saves it in `kept` if there is such a file.

    `saved_runs_requested` asks to show the saved runs, `file_requested` to choose a file with a benchmark,
    `table_requested` to measure the open table. `status_changed` is emitted when `status` has changed.
    """

    saved_runs_requested = Signal()
    file_requested = Signal()
    table_requested = Signal()
    status_changed = Signal()
    state_changed = Signal()
    workspace_kind = "benchmark"

    def __init__(
        self,
        tasks: Tasks,
        folder: Path | None = None,
        saved_runs: SavedRuns | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._benchmark: BenchmarkRun | None = None
        self._shown_workload: Workload | None = None
        self._opening: Mapping[str, Any] | None = None
        self._num_frozen = 0
        self.benchmarks, self.run_saving = Benchmarks(), RunSaving(tasks, saved_runs, self)
        self.controls = BenchmarkControls(tasks, self.run_saving.costs, folder)
        self.bar = BenchmarkBar(self.controls, self.controls.note.words)
        self.view, self.news = ResultsView(EMPTY, self), MessageBar(self)
        self.bar.results.setVisible(saved_runs is not None)
        self._build()
        self._connect()
        self._take_workload()
        self.setFocusProxy(self.bar)

    @property
    def results(self) -> BenchmarkResults:
        """The results of the workload that is shown."""
        assert self._shown_workload is not None
        return self.benchmarks.results_of(self._shown_workload)

    @property
    def status(self) -> str:
        """What the panel is doing, or how the last benchmark ended."""
        return self.bar.status.whole

    @property
    def running(self) -> bool:
        return self._benchmark is not None

    def use_server(self, uri: str, keep: Callable[[str], None]) -> None:
        """Set the address of MongoDB. `keep` saves another address, and applies it to benchmarks started
        later."""
        systems = self.controls.systems

        def take(changed: str) -> None:
            keep(changed)
            systems.asking.ask_again()

        systems.server.show_uri(uri)
        systems.server.changed.connect(take)

    def state(self) -> dict[str, Any]:
        """The choices and the page shown, as JSON; a saved run is identified by its number."""
        if self._opening is not None:
            return dict(self._opening)
        workload_state = {
            "run": self.run_saving.number_of(self.benchmarks.last),
            "shown": self._shown_workload.id if self._shown_workload else "",
        }
        return choices_of(self.controls) | workload_state | {"look": look_of(self.view.display)}

    def show_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state, as far as its choices still exist; a saved run is read in the background."""
        choose_again(self.controls, state)
        number = state.get("run")
        if type(number) is not int or self.running:
            self._look_again(state)
            return
        self._opening = state

        def show(run: tuple[Recording, Mapping[str, BenchmarkResults]]) -> None:
            self._opening = None
            if self.benchmarks.last is None:  # nothing has been measured in the meantime
                self.benchmarks.show(*run)
                self.run_saving.take(run[0], number)
                self.bar.say(f"Run {number}, of {run[0].started.astimezone():%Y-%m-%d %H:%M}.")
                self.bar.set_more(run[0].choice.title)
                self._look_again(state)

        def report_failure(error: Exception) -> None:
            self._opening = None
            self.news.say(f"The saved run cannot be shown. {error}")
            self._look_again(state)

        self._tasks.read(
            lambda job: self.run_saving.open(number),
            show,
            report_failure,
            owner=self,
            text=f"Reading run {number}",
        )

    def _look_again(self, state: Mapping[str, Any]) -> None:
        workload = state.get("shown")
        if isinstance(workload, str) and self.benchmarks.knows(workload):
            self.show_workload(self.benchmarks.workload(workload))
        look_again(self.view.display, state.get("look"))

    # --------------------------------------------------------------------- measuring

    def start(self) -> None:
        """Benchmark the choice, replacing the results of the same workloads."""
        if not self.running and not self.controls.problem:
            self.benchmark(self.controls.choice)
            estimate = self.controls.note.estimate
            self.bar.expect(estimate.seconds if estimate else 0.0)

    def benchmark(self, choice: Choice) -> None:
        """Run this benchmark, whatever the controls say; if another one is running, say so."""
        if self.running:
            self.news.say(BUSY)
            return
        self.benchmarks.begin(choice)
        self._begin(choice)
        self.show_workload(choice.parts[0].workload)

    def add_repeats(self, repeats: int) -> None:
        """Run the same benchmark again and add to its results."""
        recording = self.benchmarks.last
        if self.running or recording is None:
            return
        before = recording.choice
        more = tuple(replace(part, repeats=repeats) for part in before.parts)
        whole = tuple(replace(part, repeats=part.repeats + repeats) for part in before.parts)
        recording.choice = replace(before, parts=whole)
        self._begin(replace(before, parts=more), first_repeat=before.repeats)

    def stop(self) -> None:
        """End the child process at once; the results so far stay."""
        if self._benchmark is not None:
            self.bar.stopping()
            self._benchmark.stop()

    def _begin(self, choice: Choice, first_repeat: int = 0) -> None:
        self.controls.systems.asking.stop()  # whatever runs beside a benchmark affects its results
        self.news.clear()
        self.bar.begin()
        self.controls.setEnabled(False)
        self._benchmark = BenchmarkRun(self._tasks, choice, self)
        self._benchmark.messages.connect(self._take)
        self._benchmark.progressed.connect(self.bar.set_share)
        self._benchmark.ended.connect(self._end)
        self._benchmark.start(self.run_saving.costs, first_repeat, shown_by=self.bar)

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            self.benchmarks.take(message)
        self._pass_over(len(self.benchmarks.last.records) if self.benchmarks.last else 0)
        doing = [message for message in messages if isinstance(message, StepStart)]
        if doing and self._benchmark is not None:
            self.benchmarks.set_under_way(doing[-1].rows)
            self.bar.doing(doing[-1], self.benchmarks.title if len(self._benchmark.choice.parts) > 1 else "")
        self.view.redraw_soon()

    def _pass_over(self, num_records: int) -> None:
        """Freeze the garbage collector's objects. Hundreds of thousands of records would take it a fifth of a
        second, in which the window does not respond, and none of them is garbage before the benchmark is
        over."""
        if num_records >= self._num_frozen + FREEZE_EVERY:
            self._num_frozen = num_records
            gc.freeze()

    def _pause(self, paused: bool) -> None:
        if self._benchmark is None:
            return
        if paused:
            self._benchmark.pause.pause()
        else:
            self._benchmark.pause.resume()

    def _end(self, how: End, error: Exception | None) -> None:
        recording = self.benchmarks.last
        assert self._benchmark is not None and recording is not None
        self._benchmark.deleteLater()
        self._benchmark = None
        self._num_frozen = 0
        gc.unfreeze()
        self.benchmarks.set_under_way(0)
        self.controls.setEnabled(True)
        self.bar.end(_outcome(how, error, len(recording.records), len(recording.failures)))
        self.bar.set_more(recording.choice.title if how is End.DONE else "")
        if how is End.FAILED:
            self.news.say(self.status, kind="message-danger")
        if error is not None and not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
        self._offer_workloads()
        self.view.draw()
        self.run_saving.save(recording)

    def _report_saved_run(self, number: int) -> None:
        self.bar.say(f"{self.status} Saved as run {number}.")

    # --------------------------------------------------------------------- showing

    def show_workload(self, workload: Workload) -> None:
        """Show a workload with its results so far."""
        self._shown_workload = workload
        self._offer_workloads()
        self.view.show_results(self.results)

    def _take_workload(self) -> None:
        workloads = self.controls.workloads
        if workloads:
            self.show_workload(self.benchmarks.workload(workloads[0].id))

    def _offer_workloads(self) -> None:
        if self._shown_workload is not None:
            offered = self.benchmarks.choices_with(self.controls.workloads, self._shown_workload)
            self.view.display.set_workloads(offered, self._shown_workload)

    # ------------------------------------------------------------------- exporting

    def _export(self, suffix: str) -> None:
        export.ask_path(self, suffix, f"benchmark-{self.results.workload.id}", self.export)

    def export(self, path: Path) -> None:
        """Write the benchmark that is shown; a problem is reported above the results."""
        recording = self.benchmarks.recording_of(self.results.workload)
        if recording is not None:
            export.export_telling(path, recording.run(), self.view.picture, self.news, self._tasks)

    # -------------------------------------------------------------------- building

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_news()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.news and event.type() in (QEvent.Type.Show, QEvent.Type.LayoutRequest):
            self._place_news()
        return super().eventFilter(watched, event)

    def _place_news(self) -> None:
        """Float the messages over the lower edge, so that no plot moves."""
        width = max(0, self.width() - 2 * theme.L)
        height = max(self.news.sizeHint().height(), self.news.heightForWidth(width))
        self.news.setGeometry(theme.L, self.height() - height - theme.S, width, height)
        self.news.raise_()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.controls.note)
        layout.addWidget(self.view, 1)
        self.news.installEventFilter(self)

    def _connect(self) -> None:
        for signal in (self.controls.changed, self.view.display.changed, self.run_saving.saved):
            signal.connect(lambda *_: self.state_changed.emit())
        self.bar.start_requested.connect(self.start)
        self.bar.stop_requested.connect(self.stop)
        self.bar.pause_requested.connect(self._pause)
        self.bar.more_requested.connect(self.add_repeats)
        self.bar.results_requested.connect(self.saved_runs_requested)
        self.controls.workload_choice.own_requested.connect(self.file_requested)
        self.bar.status_changed.connect(self.status_changed)
        self.controls.table_requested.connect(self.table_requested)
        self.controls.workload_changed.connect(self._take_workload)
        self.controls.changed.connect(lambda: self.bar.set_problem(self.controls.problem))
        self.run_saving.saved.connect(self._report_saved_run)
        self.run_saving.failed.connect(
            lambda error: self.news.say(f"The run was not saved. {error}", kind="message-danger")
        )
        self.view.display.export_requested.connect(self._export)
        self.view.display.workload_requested.connect(
            lambda name: self.show_workload(self.benchmarks.workload(name))
        )
        self.view.display.workload_requested.connect(lambda _: self.state_changed.emit())


def _outcome(how: End, error: Exception | None, samples: int, failures: int) -> str:
    if how is End.FAILED:
        return f"Not finished: {error}".rstrip(".")
    lost = f" and {failures:,} failure" + ("" if failures == 1 else "s")
    count = f"{samples:,} samples" + (lost if failures else "")
    return f"Stopped with {count}" if how is End.STOPPED else f"Done: {count}"
