"""Garbage collection on the GUI thread alone, at moments between events.

Python collects garbage in whatever thread allocates an object, so another thread may destroy a widget, which
crashes Qt. Its collections also take an eighth of the time in which the program's modules are imported.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 1_000


class GarbageCollector(QObject):
    """Replaces Python's automatic collections from its creation until `stop`. GUI thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def skip_existing(self) -> None:
        """Leave out all objects that exist now, such as modules and their classes, from later collections."""
        gc.freeze()

    def collect(self) -> None:
        """Collect the generations that are due by Python's own thresholds."""
        due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if due[0]:
            gc.collect(2 if due[2] else 1 if due[1] else 0)

    def stop(self) -> None:
        """Return to automatic collections of all objects."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
