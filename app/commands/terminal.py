"""A job on a terminal: progress on standard error, Ctrl+C stops it cleanly, settings hold."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from app import limits, servers, settings_file
from app.settings import Settings
from core.errors import FileProblem
from core.jobs import Job, Progress

CLEAR_LINE = "\r\x1b[K"


@contextmanager
def job(show: Callable[[Progress], None] | None = None) -> Iterator[Job]:
    """Main thread only. Progress is shown when standard error is a terminal, by `show` where it is given."""
    follow_settings()
    shown = sys.stderr.isatty()
    made = Job((show or _show) if shown else None)

    def stop(number: int, frame: FrameType | None) -> None:
        made.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield made
    finally:
        signal.signal(signal.SIGINT, before)
        if shown:
            sys.stderr.write(CLEAR_LINE)


def follow_settings() -> None:
    """What the settings say of memory and servers holds for this process."""
    settings, problems = _settings()
    for problem in problems:
        print(f"lamella: {problem}", file=sys.stderr)
    limits.apply(settings)
    servers.apply(settings)


def _settings() -> tuple[Settings, list[FileProblem]]:
    """A command needs no folder for settings: without one the defaults hold."""
    try:
        path = settings_file.settings_path()
    except FileProblem as problem:
        return Settings(), [problem]
    return settings_file.load(path)


def _show(progress: Progress) -> None:
    amount = f"{progress.done:,}" if progress.fraction is None else f"{progress.fraction:4.0%}"
    sys.stderr.write(f"{CLEAR_LINE}{amount} {progress.text}")
    sys.stderr.flush()
