"""A race that waits for as long as somebody wants it to."""

from __future__ import annotations

import threading

from lamella.core.jobs import Job


class Pause:
    """Give it to `core.bench.several.run` or `runner.run`; any thread may call `pause` and `resume`.

    Nothing that is being timed is touched: the race waits before the next step.
    """

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()

    @property
    def paused(self) -> bool:
        return not self._running.is_set()

    def pause(self) -> None:
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def wait(self, job: Job) -> None:
        """Block while paused. Raises Cancelled when the job is told to stop, paused or not."""
        with job.interrupted_by(self._running.set):
            self._running.wait()
        job.check()
