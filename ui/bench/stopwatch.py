"""Time that passes, without the time it was halted for."""

from __future__ import annotations

from time import monotonic


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
