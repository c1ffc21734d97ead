"""The top of the race: start, stop, and what is going on."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from core.bench.backends import entry_named
from core.bench.protocol import Doing
from core.bench.ratios import shown_rows
from ui import theme
from ui.bench.durations import about

SURE_FROM = 0.08
"""Before this share is done, the time that is left is the estimate's."""

TICK_MILLISECONDS = 500


class RaceBar(QFrame):
    """Shows one race at a time; the owner says when it starts and ends."""

    start_asked = Signal()
    stop_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start, self.stop = QPushButton("Start"), QPushButton("Stop")
        self.status = QLabel("Press Start to measure on this machine.")
        self.progress = QProgressBar(minimum=0, maximum=1000, textVisible=False)
        self._elapsed, self._tick = QElapsedTimer(), QTimer(self, interval=TICK_MILLISECONDS)
        self._doing, self._estimate, self._share, self._repeats = "", 0.0, 0.0, 1
        self._build()
        self._draw_icons()
        self.set_running(False)

    def set_problem(self, problem: str) -> None:
        """Why Start is off; empty turns it on."""
        self.start.setEnabled(not problem)
        self.start.setToolTip(problem or "Run every chosen system, each in a process of its own")

    def set_running(self, running: bool) -> None:
        self.start.setVisible(not running)
        self.stop.setVisible(running)
        self.stop.setEnabled(True)
        self.progress.setVisible(running)

    def begin(self, estimate: float, repeats: int) -> None:
        self._doing, self._estimate, self._share, self._repeats = "starting", estimate, 0.0, repeats
        self._elapsed.start()
        self._tick.start()
        self.progress.setValue(0)
        self.set_running(True)
        self._tell()

    def doing(self, message: Doing) -> None:
        step = message.step.replace("_", " ")
        title = entry_named(message.backend).title
        repeat = f", {message.repeat + 1} of {self._repeats}" if self._repeats > 1 else ""
        self._doing = f"{title}, {shown_rows(message.rows)}: {step}{repeat}"
        self._tell()

    def set_share(self, share: float) -> None:
        self._share = share
        self.progress.setValue(round(share * 1000))
        self._tell()

    def stopping(self) -> None:
        self.stop.setEnabled(False)
        self._doing = "Stopping"

    def end(self, how: str) -> None:
        """Back to rest; `how` says what became of it, the time it took is added."""
        self._tick.stop()
        self.set_running(False)
        self.status.setText(f"{how} after {about(self._elapsed.elapsed() / 1000)}.")

    def _tell(self) -> None:
        elapsed = self._elapsed.elapsed() / 1000
        self.status.setText(f"{self._doing} · {about(elapsed)}, about {about(self._left(elapsed))} left")

    def _left(self, elapsed: float) -> float:
        if self._share < SURE_FROM:
            return max(1.0, self._estimate - elapsed)
        return elapsed * (1 - self._share) / self._share

    def _build(self) -> None:
        theme.variant(self, "bar")
        theme.variant(self.start, "primary")
        theme.variant(self.stop, "danger")
        theme.variant(self.status, "muted")
        self.progress.setFixedWidth(180)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.S, theme.L, theme.S)
        layout.setSpacing(theme.M)
        for widget in (self.start, self.stop, self.progress):
            layout.addWidget(widget)
        layout.addWidget(self.status, 1)
        self.start.clicked.connect(self.start_asked)
        self.stop.clicked.connect(self.stop_asked)
        self._tick.timeout.connect(self._tell)
        theme.current().changed.connect(self._draw_icons)

    def _draw_icons(self) -> None:
        self.start.setIcon(theme.current().icon("play", "on_accent"))
        self.stop.setIcon(theme.current().icon("stop", "danger"))
