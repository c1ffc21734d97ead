"""A benchmark in a terminal: one line of progress where that can be, or else a line for each step."""

from __future__ import annotations

import shutil
import sys
from time import monotonic

from lamella.app.commands.terminal import redraw
from lamella.core.bench.engine.protocol import Doing, Message
from lamella.core.bench.results.console import Console
from lamella.core.jobs import Progress

BAR = 20
CREDIBLE = 0.05
"""Of a benchmark: before so much is done, its pace says less than the estimate."""


class Screen:
    """Lines go to standard output, and the line of progress to standard error where that is a terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar = sys.stderr.isatty() and not quiet
        self._diary = Console(self.say)
        self._doing = ""
        self._began = monotonic()

    def say(self, line: str) -> None:
        if self._quiet:
            return
        if self._bar:
            redraw("")
        print(line, flush=True)

    def hear(self, message: Message) -> None:
        if isinstance(message, Doing):
            self._doing = f"{message.backend}, {message.rows:,} rows, {message.step.replace('_', ' ')}"
            if self._bar:
                return
        self._diary.hear(message)

    def progress(self, progress: Progress) -> None:
        if not self._bar:
            return
        line = f"{bar(progress)}  {time_left(progress, monotonic() - self._began)}  {self._doing}"
        redraw(line[: shutil.get_terminal_size().columns - 1])


def bar(progress: Progress) -> str:
    share = progress.fraction or 0.0
    full = round(share * BAR)
    return f"[{'#' * full}{'-' * (BAR - full)}] {share:4.0%}"


def time_left(progress: Progress, seconds: float) -> str:
    """The rest of the estimate, at the pace of what is done. Progress counts milliseconds as estimated."""
    whole, done = (progress.total or 0) / 1000, progress.done / 1000
    pace = seconds / done if done > CREDIBLE * whole else 1.0
    rest = max(0.0, whole - done) * pace
    return f"{rest / 60:.0f} min left" if rest >= 100 else f"{rest:.0f} s left"
