"""Waiting for something to become true while the window goes on working."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEventLoop, QTimer

LOOK_EVERY_MS = 10


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether `condition` came true in time. GUI thread only; events are handled meanwhile."""
    if condition():
        return True
    loop, came_true = QEventLoop(), False

    def look() -> None:
        nonlocal came_true
        came_true = condition()
        if came_true:
            loop.quit()

    looks = QTimer(interval=LOOK_EVERY_MS)
    looks.timeout.connect(look)
    looks.start()
    QTimer.singleShot(int(seconds * 1000), loop, loop.quit)
    loop.exec()
    looks.stop()
    return came_true
