"""What a server does for files: one shape for object storage, HDFS and the web."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.problems import Throttled

CONNECT_SECONDS = 3.0
SILENT_SECONDS = 4.0
"""A server that sends nothing for so long is gone; one that is slow sends something."""
LONGEST_THROTTLE_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 8.0

T = TypeVar("T")
Data = bytes | memoryview
"""Bytes of a file; a view of memory that a library holds spares a copy."""


class Status(NamedTuple):
    """Of a file: bytes, ns since 1970, and what changes with its content."""

    size: int
    modified_ns: int
    etag: str


class Entry(NamedTuple):
    """A file in a folder, or a folder, which has no status."""

    address: Address
    status: Status | None

    @property
    def is_folder(self) -> bool:
        return self.status is None


class Server(Protocol):
    """All of it raises `FileProblem`, blocks, and may be called on any thread."""

    def status(self, address: Address) -> Status: ...

    def read(self, address: Address, start: int, stop: int, status: Status) -> Data:
        """These bytes of the file as `status` knows it; raises `FileProblem` where it is another by now, and
        `NoRanges` where the server gives whole files alone."""

    def confirm(self, address: Address, status: Status) -> None:
        """After reading: raise `FileProblem` where the file changed meanwhile and `read` cannot tell."""

    def stream(self, address: Address) -> Iterator[bytes]:
        """The whole file, in pieces."""

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        """What lies in a folder, a page at a time."""

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """The file is there when it is whole, and before that what was there."""

    def delete(self, address: Address) -> None: ...


class NoRanges(Exception):
    """The server sends whole files alone."""


def patiently(ask: Callable[[], T], job: Job | None = None) -> T:
    """What `ask` answers, asked again with growing pauses while the server throttles, for half a minute."""
    pause, until = FIRST_PAUSE_SECONDS, time.monotonic() + LONGEST_THROTTLE_SECONDS
    while True:
        try:
            return ask()
        except Throttled as problem:
            wait = min(max(pause, problem.seconds or 0), LONGEST_THROTTLE_SECONDS)
            if time.monotonic() + wait > until:
                raise
        _sleep(wait, job)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _sleep(seconds: float, job: Job | None) -> None:
    if job is None:
        time.sleep(seconds)
        return
    woken = threading.Event()
    with job.interrupted_by(woken.set):
        woken.wait(seconds)
    job.check()
