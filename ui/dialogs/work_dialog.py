"""A dialog with work to wait for: its progress, the button that stops it, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSize, QTimer
from PySide6.QtWidgets import QDialog, QLabel, QProgressBar, QPushButton, QWidget
from shiboken6 import isValid

from lamella.core.jobs import Job, Progress
from lamella.ui import theme
from lamella.ui.tasks import Handle, Tasks

STEPS = 1000
ROOM_AROUND = QSize(2 * theme.L, 4 * theme.L)
"""Room beside a dialog, and for its title, in the smallest window possible with large text."""


class WorkDialog(QDialog):
    """Runs one piece of work at a time off the GUI thread. Cancel, or closing the dialog's window, stops
    running work and otherwise closes the dialog. Subclasses place `progress`, `status` and
    `cancel_button`."""

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._work: Handle | None = None
        self._focus: QWidget | None = None
        """What has the keyboard again after the work; a control that is disabled meanwhile loses it."""
        self._start_time = 0.0
        self.progress = QProgressBar(maximum=STEPS, textVisible=False)
        self.progress.hide()
        self.status = QLabel()
        theme.variant(self.status, "caption")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.clicked.connect(self.reject)

    @property
    def is_working(self) -> bool:
        return self._work is not None

    def reject(self) -> None:
        if self._work is None:
            super().reject()
            return
        self.cancel_button.setEnabled(False)
        self.status.setText("Stopping…")
        self._work.cancel()

    def _run(
        self,
        begin: Callable[..., Handle],
        work: Callable[[Job], Any],
        on_result: Callable[[Any], None],
        text: str,
    ) -> None:
        """Start work, which ends in `on_result`, `_fail` or `_handle_stop`. `begin` is `Tasks.read` or
        `Tasks.write`."""
        self._start_time = time.monotonic()
        self._focus = self.focusWidget()
        self._work = begin(
            work,
            self._end_with(on_result),
            self._end_with(self._fail),
            on_progress=self._show_progress,
            on_cancel=self._end_with(self._handle_stop),
            owner=self,
            text=text,
        )
        self._work.progress_widget = self
        self._show_working(True)

    def _end_with(self, then: Callable[..., None]) -> Callable[..., None]:
        def end(*answer: Any) -> None:
            self._work = None
            self._show_working(False)
            then(*answer)

        return end

    def _show_working(self, working: bool) -> None:
        self.progress.setRange(0, 0)
        self.progress.setVisible(working)
        self.status.clear()
        self.cancel_button.setEnabled(True)
        self.cancel_button.setText("Stop" if working else "Cancel")
        self._lock(working)
        if not working and self._focus is not None and isValid(self._focus) and self._focus.isEnabled():
            self._focus.setFocus()

    def _show_progress(self, progress: Progress) -> None:
        if self._work is None or self._work.job.cancelled:
            return
        seconds = time.monotonic() - self._start_time
        self.progress.setRange(0, 0 if progress.fraction is None else STEPS)
        self.progress.setValue(round((progress.fraction or 0) * STEPS))
        words = (progress.text, self._pace(progress, seconds), time_left(progress.fraction, seconds))
        self.status.setText(" · ".join(filter(None, words)))

    def _pace(self, progress: Progress, seconds: float) -> str:
        """The speed of the work, if its progress does not report it."""
        return ""

    def _lock(self, locked: bool) -> None:
        """Disable the other controls while the work runs."""
        raise NotImplementedError

    def _fail(self, error: Exception) -> None:
        raise NotImplementedError

    def _handle_stop(self) -> None:
        """The work was stopped without a result."""
        raise NotImplementedError


class PreviewDialog(WorkDialog):
    """A dialog of work whose result is previewed: `_read_preview` runs when choices have not changed for a
    while, and keeps what it reads as `_reading`, until the preview is shown."""

    def __init__(self, tasks: Tasks, pause_ms: int, parent: QWidget | None = None) -> None:
        super().__init__(tasks, parent)
        self._reading: Handle | None = None
        self._pause = QTimer(self, singleShot=True, interval=pause_ms)
        self._pause.timeout.connect(self._read_preview)

    @property
    def is_settled(self) -> bool:
        """Whether the preview matches the choices, and nothing is being written."""
        return not (self._pause.isActive() or self._reading or self.is_working)

    def done(self, result: int) -> None:
        self._stop_reading()
        super().done(result)

    def _read_preview(self) -> None:
        raise NotImplementedError

    def _stop_reading(self) -> None:
        self._pause.stop()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def fit_into_window(dialog: QDialog, size: QSize) -> None:
    """Resize to this size, or to the room in the window inside which dialogs are placed."""
    owner = dialog.parentWidget()
    while owner is not None and owner.window().parentWidget() is not None:
        owner = owner.window().parentWidget()
    room = dialog.screen().availableSize() if owner is None else owner.window().size()
    dialog.resize(size.boundedTo(room - ROOM_AROUND))


def time_left(fraction: float | None, seconds: float) -> str:
    """The remaining time at the current speed; empty until it can be estimated."""
    if not fraction or seconds < 1:
        return ""
    seconds_to_go = seconds / fraction - seconds
    if seconds_to_go < 1:
        return "almost done"
    return f"{seconds_to_go:,.0f} s left" if seconds_to_go < 90 else f"{seconds_to_go / 60:,.0f} min left"
