"""The line of buttons of a benchmark: start, pause, stop, and what it does now."""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from lamella.core.bench.engine.protocol import Doing
from lamella.core.bench.results.figures import shown_rows
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.quantities import about


class Stopwatch:
    """Runs from the start."""

    def __init__(self) -> None:
        self._begun = monotonic()
        self._before = 0.0
        self._halted = False

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._halted else monotonic() - self._begun)

    def halt(self, halted: bool) -> None:
        """Stand still, or go on."""
        self._before = self.seconds
        self._begun, self._halted = monotonic(), halted


SURE_FROM = 0.08
"""Before this share is done, the time that is left is the estimate's."""

TICK_MILLISECONDS = 500
MORE = 5


class BenchmarkBar(QFrame):
    """Shows one benchmark at a time; the owner says when it starts and ends."""

    start_requested = Signal()
    pause_requested = Signal(bool)
    stop_requested = Signal()
    more_requested = Signal(int)
    results_requested = Signal()
    status_changed = Signal()

    def __init__(self, controls: QWidget, estimate: QLabel, parent: QWidget | None = None) -> None:
        """`controls` and `estimate` stand in the line while nothing runs."""
        super().__init__(parent)
        self._controls, self._at_rest = controls, estimate
        self.start, self.pause, self.stop = QPushButton("Start"), QPushButton("Pause"), QPushButton("Stop")
        self.more, self.results = QPushButton(f"{MORE} more repeats"), QPushButton("Saved runs …")
        self.status = QLabel("Press Start to measure on this machine.")
        self.progress = QProgressBar(minimum=0, maximum=1000, textVisible=False)
        self._watch, self._tick = Stopwatch(), QTimer(self, interval=TICK_MILLISECONDS)
        self._doing, self._estimate, self._share = "", 0.0, 0.0
        self._build()
        self._draw_icons()
        self.set_running(False)
        self.set_more("")

    @property
    def paused(self) -> bool:
        return self.pause.isChecked()

    def set_problem(self, problem: str) -> None:
        """Why Start is off; empty turns it on."""
        self.start.setEnabled(not problem)
        self.start.setToolTip(problem or "Run every chosen system, each in a process of its own")

    def set_running(self, running: bool) -> None:
        self.start.setVisible(not running)
        for widget in (self.pause, self.stop, self.progress):
            widget.setVisible(running)
            widget.setEnabled(True)
        for widget in (self._controls, self._at_rest):
            widget.setVisible(not running)
        self.status.setVisible(running)
        (self.pause if running else self.start).setFocus()

    def set_more(self, title: str) -> None:
        """Which benchmark repeats can be added to; empty for none."""
        self.more.setVisible(bool(title))
        self.more.setToolTip(f"Measure again and add to what is there. {title}")

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
        """What the benchmark was estimated to take; without it, nobody says how much is left at first."""
        self._estimate = seconds
        self._tell()

    def doing(self, message: Doing, workload: str) -> None:
        """`workload` is a title where there are several, and else empty."""
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
        """Back to rest; `how` says what became of it, the time it took is added."""
        self._tick.stop()
        self.set_running(False)
        self.say(f"{how} after {about(self._watch.seconds)}.")

    def say(self, text: str) -> None:
        self.status.setText(text)
        self.status.setToolTip(text)
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
        if self.paused:
            self.say(f"Paused before the next step, at {about(elapsed)} · {self._doing}")
        else:
            self.say(f"{about(elapsed)}{self._time_left(elapsed)} · {self._doing}")

    def _time_left(self, elapsed: float) -> str:
        if self._share >= SURE_FROM:
            return f", about {about(elapsed * (1 - self._share) / self._share)} left"
        return f", about {about(max(1.0, self._estimate - elapsed))} left" if self._estimate else ""

    def _build(self) -> None:
        theme.variant(self, "bar")
        theme.variant(self.start, "primary")
        theme.variant(self.stop, "danger")
        theme.variant(self.status, "muted")
        self.pause.setCheckable(True)
        self.pause.setToolTip("Wait before the next step; nothing that is being timed is touched")
        self.stop.setToolTip("End at once; what was measured stays")
        self.results.setToolTip(
            "Every benchmark that was finished: compare two, see how one changed over time"
        )
        self.progress.setFixedWidth(140)
        self.status.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.XS, theme.M, theme.XS)
        layout.setSpacing(theme.S)
        for widget in (self.start, self.pause, self.stop, self._controls, self.progress):
            layout.addWidget(widget)
        layout.addWidget(self.status, 1)
        layout.addWidget(self._at_rest, 1)
        self._at_rest.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.more)
        layout.addWidget(self.results)
        self.start.clicked.connect(self.start_requested)
        self.pause.toggled.connect(self._take_pause)
        self.stop.clicked.connect(self.stop_requested)
        self.more.clicked.connect(lambda: self.more_requested.emit(MORE))
        self.results.clicked.connect(self.results_requested)
        self._tick.timeout.connect(self._tell)
        theme.current().changed.connect(self._draw_icons)

    def _draw_icons(self) -> None:
        look = theme.current()
        self.start.setIcon(look.icon("play", "on_accent"))
        self.pause.setIcon(look.icon("play" if self.paused else "pause", "text"))
        self.stop.setIcon(look.icon("stop", "danger"))
        self.more.setIcon(look.icon("plus", "text"))
