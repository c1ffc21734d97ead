"""A job on a terminal: progress on standard error, Ctrl+C stops it cleanly, settings hold, and no name or
cell steers the terminal."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

from lamella.app import settings as limits
from lamella.app import settings as servers
from lamella.app import settings as settings_file
from lamella.app.settings import Settings
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job, Progress

CLEAR_LINE = "\r\x1b[K"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but line feed and tab. Terminals take U+009B for ESC and a bracket."""
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def visible(text: str) -> str:
    """Control characters as signs that a terminal shows and does not obey: ESC as ␛, U+009B as \\x9b."""
    return _CONTROLS.sub(_sign, text)


def _sign(control: re.Match[str]) -> str:
    code = ord(control[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\x{code:02x}"


class VisibleControls:
    """A text stream of a terminal, to which `visible` text is written; `colours` may stay."""

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
    """Standard output and error, where they are terminals, obey no control characters of what is written.

    Files and pipes get every character as it is.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_guarded, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def with_colours(stream: TextIO) -> TextIO:
    """The same stream for a program that colours what it writes."""
    known = isinstance(stream, VisibleControls)
    coloured: Any = VisibleControls(stream.stream, colours=True) if known else stream
    return coloured


def _guarded(stream: TextIO) -> Any:
    """pythonw has no streams."""
    return VisibleControls(stream) if stream is not None and stream.isatty() else stream


def redraw(line: str) -> None:
    """Write over the line of progress on standard error, which is a terminal."""
    stream = sys.stderr.stream if isinstance(sys.stderr, VisibleControls) else sys.stderr
    stream.write(CLEAR_LINE)
    sys.stderr.write(line)
    sys.stderr.flush()


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
            redraw("")


def follow_settings() -> None:
    """What the settings say of memory and servers holds for this process."""
    settings, problems = _settings()
    for problem in problems:
        print(f"lamella: {problem}", file=sys.stderr)
    limits.apply_limits(settings)
    servers.apply_servers(settings)


def _settings() -> tuple[Settings, list[FileProblem]]:
    """A command needs no folder for settings: without one the defaults hold."""
    try:
        path = settings_file.settings_path()
    except FileProblem as problem:
        return Settings(), [problem]
    return settings_file.load(path)


def _show(progress: Progress) -> None:
    amount = f"{progress.done:,}" if progress.fraction is None else f"{progress.fraction:4.0%}"
    redraw(f"{amount} {progress.text}")
