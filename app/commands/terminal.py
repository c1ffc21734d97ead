"""A job on a terminal: progress on standard error, Ctrl+C stops it cleanly, settings hold, and no name or
cell steers the terminal."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from lamella.core.errors import visible

TYPE_CHECKING = False  # `typing` and dataclasses take a fifth of the time of `lamella --version`
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, TextIO

    from lamella.core.jobs import Job, Progress

CLEAR_LINE = "\r\x1b[K"
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


class VisibleControls:
    """A text stream for people, to which `visible` text is written; `colours` may stay."""

    def __init__(self, stream: TextIO, colours: bool = False) -> None:
        self.stream, self._colours = stream, colours

    def write(self, text: str) -> int:
        parts = _COLOUR.split(text) if self._colours else [text]
        self.stream.write("".join(part if odd % 2 else visible(part) for odd, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def visible_controls() -> Iterator[None]:
    """Standard output and error show the control characters of what is written, in pipes and files too,
    which somebody looks at later. Data goes to `data_output`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_guarded, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def data_output() -> TextIO:
    """Standard output for data that programs read: a file or pipe gets every character as it is."""
    guarded = sys.stdout
    return guarded.stream if isinstance(guarded, VisibleControls) and not guarded.isatty() else guarded


def with_colours(stream: TextIO) -> TextIO:
    """The same stream for a program that colours what it writes."""
    known = isinstance(stream, VisibleControls)
    coloured: Any = VisibleControls(stream.stream, colours=True) if known else stream
    return coloured


def _guarded(stream: TextIO) -> Any:
    """pythonw has no streams."""
    return None if stream is None else VisibleControls(stream)


def redraw(line: str) -> None:
    """Write over the line of progress on standard error, which is a terminal."""
    stream = sys.stderr.stream if isinstance(sys.stderr, VisibleControls) else sys.stderr
    stream.write(CLEAR_LINE)
    sys.stderr.write(line)
    sys.stderr.flush()


@contextmanager
def job(show: Callable[[Progress], None] | None = None) -> Iterator[Job]:
    """Main thread only. Progress is shown when standard error is a terminal, by `show` where it is given."""
    from lamella.core.jobs import Job, on_behalf_of

    follow_settings()
    shown = sys.stderr.isatty()
    new_job = Job((show or _show) if shown else None)

    def stop(number: int, frame: FrameType | None) -> None:
        new_job.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        with on_behalf_of(new_job):
            yield new_job
    finally:
        signal.signal(signal.SIGINT, before)
        if shown:
            redraw("")


def follow_settings() -> None:
    """What the settings say of memory and servers holds for this process."""
    from lamella.app import settings as settings_file
    from lamella.core.errors import FileProblem

    problems: list[FileProblem]
    try:
        settings, problems = settings_file.load(settings_file.settings_path())
    except FileProblem as problem:  # a command needs no folder for settings: without one the defaults hold
        settings, problems = settings_file.Settings(), [problem]
    for problem in problems:
        print(f"lamella: {problem}", file=sys.stderr)
    settings_file.apply_limits(settings)
    settings_file.apply_servers(settings)


def _show(progress: Progress) -> None:
    amount = f"{progress.done:,}" if progress.fraction is None else f"{progress.fraction:4.0%}"
    redraw(f"{amount} {progress.text}")
