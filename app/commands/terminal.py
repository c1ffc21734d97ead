"""Jobs on a terminal: progress goes to standard error, Ctrl+C stops them cleanly, settings apply, and control
characters in data do not reach the terminal."""

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
    """A text stream that replaces control characters by visible ones; with `colours`, colour codes stay."""

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
    """Make control characters visible on standard output and error, also in pipes and files, because somebody
    may print them later. Data goes to `data_output`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_guard, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def data_output() -> TextIO:
    """Standard output for data that programs read: files and pipes get every character unchanged."""
    guarded = sys.stdout
    return guarded.stream if isinstance(guarded, VisibleControls) and not guarded.isatty() else guarded


def with_colours(stream: TextIO) -> TextIO:
    """The same stream, with colour codes allowed."""
    if not isinstance(stream, VisibleControls):
        return stream
    coloured: Any = VisibleControls(stream.stream, colours=True)
    written: TextIO = coloured
    return written


def _guard(stream: TextIO) -> Any:
    """The stream with visible control characters, or None: pythonw has no streams."""
    return None if stream is None else VisibleControls(stream)


def redraw(line: str) -> None:
    """Replace the progress line on standard error, which must be a terminal."""
    stream = sys.stderr.stream if isinstance(sys.stderr, VisibleControls) else sys.stderr
    stream.write(CLEAR_LINE)
    sys.stderr.write(line)
    sys.stderr.flush()


@contextmanager
def job(show: Callable[[Progress], None] | None = None) -> Iterator[Job]:
    """A job that Ctrl+C cancels. Main thread only. If standard error is a terminal, `show` displays the
    progress, or a default does."""
    from lamella.core.jobs import Job, on_behalf_of

    follow_settings()
    on_terminal = sys.stderr.isatty()
    new_job = Job((show or _show) if on_terminal else None)

    def stop(number: int, frame: FrameType | None) -> None:
        new_job.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        with on_behalf_of(new_job):
            yield new_job
    finally:
        signal.signal(signal.SIGINT, before)
        if on_terminal:
            redraw("")


def follow_settings() -> None:
    """Apply the settings about memory and servers to this process."""
    from lamella.app import settings as settings_file
    from lamella.core.errors import FileProblem
    from lamella.core.settings import Settings

    problems: list[FileProblem]
    try:
        settings, problems = settings_file.load(settings_file.settings_path())
    except FileProblem as error:  # commands work without a settings folder, with the defaults
        settings, problems = Settings(), [error]
    for problem in problems:
        print(f"lamella: {problem}", file=sys.stderr)
    settings_file.apply_limits(settings)
    settings_file.apply_servers(settings)


def _show(progress: Progress) -> None:
    amount = f"{progress.done:,}" if progress.fraction is None else f"{progress.fraction:4.0%}"
    redraw(f"{amount} {progress.text}")
