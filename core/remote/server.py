"""What a server does for files: one shape for object storage, HDFS and the web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address

CONNECT_SECONDS = 3.0
SILENT_SECONDS = 4.0
"""A server that sends nothing for so long is gone; one that is slow sends something."""
UPLOAD_SILENT_SECONDS = 300.0
"""The answer to an upload comes when all of it has arrived, and Google may take minutes to join the parts. A
`Watchdog` finds out sooner that nobody is there."""

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

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        """The whole file as `status` knows it, in pieces."""

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        """What lies in a folder, a page at a time. A page that is throttled is asked for again."""

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """The file is there when it is whole, and before that what was there."""

    def create(self, address: Address, data: bytes) -> None:
        """A small file, whole, and only where nothing is: raises `AlreadyThere`, also where another program
        does the same at this moment, and `RemoteProblem` where the server cannot promise that."""

    def delete(self, address: Address) -> None: ...


class NoRanges(Exception):
    """The server sends whole files alone."""
