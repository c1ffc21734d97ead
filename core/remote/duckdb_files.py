"""Files elsewhere for DuckDB: it reads them through the cache as every other reader here does, by a file
system of `fsspec`'s shape. So it needs no extension of its own, and asks with the same credentials.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.errors import Cancelled, LamellaError
from lamella.core.jobs import Job, current_job, on_behalf_of
from lamella.core.remote.addresses import Address
from lamella.core.remote.files import RemoteFile, RemoteFiles, files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.server import Status

if TYPE_CHECKING:
    import duckdb

PROTOCOL = "lamella"
MOST_NAMES = 1 << 20
KEPT_PROBLEMS = 32

_names: OrderedDict[str, Address] = OrderedDict()
_problems = deque[LamellaError](maxlen=KEPT_PROBLEMS)


def duckdb_name(path: Path) -> str:
    """What DuckDB knows a file by: its path, or for one elsewhere a name without signs that DuckDB takes for
    a pattern or for a scheme of an extension."""
    if not isinstance(path, RemotePath):
        return str(path)
    name = (
        f"{PROTOCOL}://{hashlib.sha256(str(path).encode()).hexdigest()[:24]}/file"  # so allowed paths match
    )
    if name not in _names:
        if len(_names) >= MOST_NAMES:
            _names.popitem(last=False)
        _names[name] = path.address
    return name


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Have a database, and all its cursors, read files by these names."""
    connection.register_filesystem(_file_system())


def problem_in(error: Exception) -> LamellaError | None:
    """The problem of reading a file that DuckDB's error is about: it hands over no more of it than text."""
    text = str(error)
    return next((problem for problem in reversed(_problems) if str(problem) in text), None)


class Queries(Job):
    """The queries that DuckDB runs now, as one job: its threads do not say for which of them they read. It is
    cancelled when all of them are."""

    def __init__(self) -> None:
        super().__init__()
        self._running: list[Job] = []

    @property
    def cancelled(self) -> bool:
        running = list(self._running)
        return bool(running) and all(job.cancelled for job in running)

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def running(self, job: Job) -> Iterator[None]:
        """Count a query among them during the block."""
        self._running.append(job)
        try:
            with job.interrupted_by(self._interrupt):
                yield
        finally:
            self._running.remove(job)
            self._interrupt()

    def _interrupt(self) -> None:
        if self.cancelled:
            self.cancel()


queries = Queries()


@contextmanager
def _noted() -> Iterator[None]:
    """Reads of DuckDB's threads: cancelled with the queries, and with problems that can be found again."""
    try:
        with on_behalf_of(current_job() or queries):
            yield
    except LamellaError as problem:
        _problems.append(problem)
        raise


class ThreadPlaces(RemoteFile):
    """DuckDB reads one open file on several threads: each seeks, and then reads. A place that they shared
    would let one read where another one is."""

    def __init__(self, files: RemoteFiles, address: Address, status: Status) -> None:
        self._places = threading.local()
        super().__init__(files, address, status)

    @property
    def place(self) -> int:
        return int(getattr(self._places, "place", 0))

    @place.setter
    def place(self, place: int) -> None:
        self._places.place = place

    def read(self, size: int | None = -1) -> bytes:
        with _noted():
            return super().read(size)


@cache
def _file_system() -> Any:
    from fsspec import AbstractFileSystem

    class FileSystem(AbstractFileSystem):  # type: ignore[misc]
        """What DuckDB asks of one. It opens a file, and then asks for that file's size and time."""

        protocol = PROTOCOL

        def open(self, path: str, mode: str = "rb", *args: Any, **options: Any) -> ThreadPlaces:
            with _noted():
                return ThreadPlaces(files, _names[path], files.known(_names[path]))

        def glob(self, path: str, *args: Any, **options: Any) -> list[str]:
            return [path]

        def exists(self, path: str, *args: Any, **options: Any) -> bool:
            return path in _names

        def size(self, path: str | ThreadPlaces) -> int:
            return self._status(path).size

        def modified(self, path: str | ThreadPlaces) -> datetime:
            """With a fraction of the etag, so that footers that DuckDB remembers are of this content."""
            seconds = RemotePath(str(self._address(path))).stat().st_mtime_ns / 1e9
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)

        def _address(self, path: str | ThreadPlaces) -> Address:
            return path.address if isinstance(path, ThreadPlaces) else _names[path]

        def _status(self, path: str | ThreadPlaces) -> Status:
            return path.status if isinstance(path, ThreadPlaces) else files.known(_names[path])

    return FileSystem(skip_instance_cache=True)
