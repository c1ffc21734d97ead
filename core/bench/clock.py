"""How far a race is, by what its child processes were estimated to take."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.bench.plan import Trial
from lamella.core.bench.protocol import Doing
from lamella.core.jobs import Job


class Clock:
    """Tells a job, in milliseconds as estimated. The trials must begin in the order they are given in."""

    def __init__(self, job: Job, trials: Sequence[Trial], seconds: Sequence[float]) -> None:
        self._job, self._seconds = job, list(zip(trials, seconds, strict=True))
        self._whole = sum(seconds)
        self._before = self._of_this = 0.0
        self._trial: Trial | None = None

    def begin(self, trial: Trial) -> None:
        self._before += self._of_this
        planned, self._of_this = self._seconds.pop(0)
        assert planned is trial
        self._trial = trial
        self._tell(self._before)

    def step(self, doing: Doing) -> None:
        assert self._trial is not None
        steps, repeats = self._trial.steps, self._trial.repeats
        done = repeats.index(doing.repeat) * len(steps) + steps.index(doing.step)
        self._tell(self._before + self._of_this * done / (len(steps) * len(repeats)))

    def end(self) -> None:
        self._tell(self._whole)

    def _tell(self, seconds: float) -> None:
        self._job.report(round(seconds * 1000), round(self._whole * 1000))
