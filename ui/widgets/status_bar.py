"""The status bar: what is shown and how it was found, what is running and how to stop it, light or dark."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QSizePolicy, QStatusBar, QToolButton, QWidget

from lamella.core.jobs import Progress
from lamella.ui import theme
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import ElidedLabel

NO_ANSWER = "It was stopped, but the disk or the server does not answer. Everything else goes on."
FLICKER_MS = 250  # tasks that end sooner need no Stop button


class StatusBar(QStatusBar):
    """The status bar. `theme_requested` is emitted to switch between light and dark."""

    theme_requested = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.standing = QLabel(self)
        self.standing.setAccessibleName("File or table")
        self.standing.setContentsMargins(0, 0, theme.S, 0)
        theme.variant(self.standing, "muted")
        self.text = ElidedLabel()
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # as its neighbours
        theme.variant(self.text, "muted")
        self.figures = QLabel(self)
        self.figures.setMinimumWidth(1)  # its text must not make the window wider
        self.figures.setAccessibleName("Summary of the selection")
        self.figures.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.doing = QLabel(self)
        theme.variant(self.doing, "caption")
        self.progress = QProgressBar(self)
        self.progress.setFixedWidth(120)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.stop = QToolButton(self)
        self.stop.setText("Stop")
        self.stop.setToolTip("Stop what is running (Ctrl+.)")
        self.stop.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.stop.clicked.connect(tasks.cancel_all)
        self.look = QToolButton(self)
        self.look.setAccessibleName("Switch between light and dark")
        self.look.clicked.connect(self.theme_requested)
        self._lay_out()
        self._late = QTimer(self, singleShot=True, interval=FLICKER_MS)
        self._late.timeout.connect(self._show_running)
        tasks.started.connect(self._follow)
        tasks.cancelled.connect(self._follow_cancel)
        tasks.unanswered_changed.connect(self._hide_ended)
        tasks.finished.connect(self._follow)
        tasks.progressed.connect(self._follow_progress)
        theme.current().changed.connect(self._restyle)
        self._restyle()
        self._hide_running()

    def show_standing(self, text: str, tip: str = "") -> None:
        """Show whether the tab has a file or a table, and where edits go."""
        self.standing.setText(text)
        self.standing.setToolTip(tip)
        self.standing.setVisible(bool(text))

    def show_text(self, text: str) -> None:
        self.text.say(text)

    def show_figures(self, text: str) -> None:
        """Show a summary of the selection."""
        self.figures.setText(text)

    def _lay_out(self) -> None:
        self.setSizeGripEnabled(False)
        self.setContentsMargins(theme.S, 0, theme.XS, 0)
        self.addWidget(self.standing)
        self.addWidget(self.text, 1)
        for widget in (self.figures, self.doing, self.progress, self.stop, self.look):
            self.addPermanentWidget(widget)

    @property
    def _running(self) -> list[Handle]:
        """The running tasks that nothing else on screen shows."""
        return [handle for handle in self._tasks.running if not handle.is_shown]

    def _follow(self, handle: Handle) -> None:
        if not self._running:
            self._hide_running()
        elif not self.stop.isVisible() and not self._late.isActive():
            self._late.start()

    def _follow_cancel(self, handle: Handle) -> None:
        if self.stop.isVisible():
            self._show_running()

    def _show_running(self) -> None:
        running = self._running
        if running:
            last = next((handle for handle in running[::-1] if not handle.job.cancelled), running[-1])
            text = last.text or "Working"
            self.doing.setText(f"Stopping: {text}" if last.job.cancelled else text)
            self.doing.setToolTip("")
            self.stop.setEnabled(not last.job.cancelled)
            self.progress.setRange(0, 0)
            for widget in (self.doing, self.progress, self.stop):
                widget.show()

    def _hide_ended(self) -> None:
        if not self._running:
            self._hide_running()

    def _hide_running(self) -> None:
        """Hide what ran, but for reads that were stopped and do not answer."""
        self._late.stop()
        for widget in (self.doing, self.progress, self.stop):
            widget.hide()
        texts = [handle.text for handle in self._tasks.unanswered_reads if handle.text]
        if texts:
            self.doing.setText(
                f"No answer: {texts[-1]}" + (f" and {len(texts) - 1} more" if texts[1:] else "")
            )
            self.doing.setToolTip(NO_ANSWER)
            self.doing.show()

    def _follow_progress(self, handle: Handle, progress: Progress) -> None:
        self._follow(handle)
        if handle.quiet or handle.is_shown or handle.job.cancelled or not self.progress.isVisible():
            return
        fraction = progress.fraction
        self.progress.setRange(0, 0 if fraction is None else 1000)
        if fraction is not None:
            self.progress.setValue(round(1000 * fraction))
        self.doing.setText(": ".join(part for part in (handle.text, progress.text) if part))

    def _restyle(self) -> None:
        look = theme.current()
        for button in (self.stop, self.look):
            button.setIconSize(look.icon_size())
        self.stop.setIcon(look.icon("stop", "danger"))
        self.look.setIcon(look.icon("sun" if look.dark else "moon"))
        self.look.setToolTip("Switch to light" if look.dark else "Switch to dark")
