"""Work that only the GUI thread can do, a few milliseconds in each turn of its event loop."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

SLICE_SECONDS = 0.012
"""Less than a frame, so that typing, scrolling and painting come between."""


class Slices(QObject):
    """Takes steps of a generator, as many as a slice leaves time for, in turn with what else the window does.

    `finished` when there are no more: during `start` where they were few, or in a later turn.
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
        """The first slice is taken at once. Steps that were under way are given up."""
        self.stop()
        self._steps = steps
        self._timer.start()
        self._run()

    def stop(self) -> None:
        """Give up what is left; `finished` is not emitted."""
        self._steps = None
        self._timer.stop()

    def finish(self) -> None:
        """Take all steps that are left, at once."""
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
