"""The interface of a server with files: the same for object storage, HDFS and the web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address

CONNECT_SECONDS = 3.0
SILENT_SECONDS = 4.0
"""A server that sends nothing for this long is considered gone; a slow one sends at least something."""
UPLOAD_SILENT_SECONDS = 300.0
"""The server answers an upload when all of it has arrived, and Google may take minutes to join the parts. A
`Watchdog` notices sooner if the server is gone."""

Data = bytes | memoryview
"""Bytes of a file; a view of a library's memory avoids a copy."""


class Status(NamedTuple):
    """The status of a file: its size in bytes, the time of its last change in ns since 1970, and a text that
    changes with its content, which may be empty."""

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
    """All methods block, can be called on any thread, and raise `FileProblem`."""

    def status(self, address: Address) -> Status: ...

    def read(self, address: Address, start: int, stop: int, status: Status) -> Data:
        """Return these bytes of the version that `status` describes. Raises `FileProblem` if the file has
        changed since, and `NoRanges` if the server sends only whole files."""

    def confirm(self, address: Address, status: Status) -> None:
        """After reading, raise `FileProblem` if the file has changed and `read` could not notice."""

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        """Yield the whole file in pieces, in the version that `status` describes."""

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        """Yield the entries of a folder page by page. A throttled page is requested again."""

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """Write a file. It becomes visible when it is complete; until then, an earlier file stays."""

    def create(self, address: Address, data: bytes) -> None:
        """Write a small file at once, and only if none exists. Raises `AlreadyThere` if one exists, even if
        another program creates it at the same time, and `RemoteProblem` if the server cannot guarantee
        this."""

    def delete(self, address: Address) -> None: ...


class NoRanges(Exception):
    """The server sends only whole files."""
