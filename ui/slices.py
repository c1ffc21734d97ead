"""Work that must run on the GUI thread, done a few milliseconds at a time between its events."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

SLICE_SECONDS = 0.012
"""Less than a frame, so that typing, scrolling and painting come between."""


class Slices(QObject):
    """Runs a generator step by step, as many steps per turn of the event loop as fit in a slice.

    `finished` is emitted when no steps are left: during `start` if there are few, otherwise in a later turn.
    """

    finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: Iterator[object] | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._run)

    @property
    def running(self) -> bool:
        return self._steps is not None

    def start(self, steps: Iterator[object]) -> None:
        """Take the first slice at once. Steps that are still under way are dropped."""
        self.stop()
        self._steps = steps
        self._timer.start()
        self._run()

    def stop(self) -> None:
        """Drop the remaining steps; `finished` is not emitted."""
        self._steps = None
        self._timer.stop()

    def finish(self) -> None:
        """Take all remaining steps at once."""
        if self._steps is not None:
            self._take(float("inf"))

    def _run(self) -> None:
        self._take(time.perf_counter() + SLICE_SECONDS)

    def _take(self, until: float) -> None:
        steps = self._steps
        if steps is None:
            return
        try:
            for _ in steps:
                if self._steps is not steps or time.perf_counter() >= until:
                    return
        except BaseException:
            self.stop()
            raise
        if self._steps is steps:
            self.stop()
            self.finished.emit()
