"""Remote files for DuckDB: an `fsspec` file system through which it reads them from the same cache as every
other reader. So DuckDB needs no extension, and the same credentials are used.
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
    """Return the name of a file for DuckDB: its path, or for a remote file a name that DuckDB does not
    mistake for a pattern or for the scheme of an extension."""
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
    """Let a database and all its cursors read files by these names."""
    connection.register_filesystem(_file_system())


def problem_in(error: Exception) -> LamellaError | None:
    """Return the problem of reading a file that caused an error of DuckDB, which passes on only its text."""
    text = str(error)
    return next((problem for problem in reversed(_problems) if str(problem) in text), None)


class Queries(Job):
    """The queries that DuckDB is running, as one job: its threads do not tell for which query they read. The
    job is cancelled when all queries are."""

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
        """Include a query's job during the block."""
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
def _note_problems() -> Iterator[None]:
    """Let reads on DuckDB's threads be cancelled with the queries, and record their problems for
    `problem_in`."""
    try:
        with on_behalf_of(current_job() or queries):
            yield
    except LamellaError as problem:
        _problems.append(problem)
        raise


class ThreadPlaces(RemoteFile):
    """A file with a position per thread. DuckDB reads one open file on several threads, each of which seeks
    and then reads; with a shared position, they would disturb each other."""

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
        with _note_problems():
            return super().read(size)


@cache
def _file_system() -> Any:
    from fsspec import AbstractFileSystem

    class FileSystem(AbstractFileSystem):  # type: ignore[misc]
        """The methods that DuckDB calls. It opens a file, and then asks for its size and time."""

        protocol = PROTOCOL

        def open(self, path: str, mode: str = "rb", *args: Any, **options: Any) -> ThreadPlaces:
            with _note_problems():
                return ThreadPlaces(files, _names[path], files.remote_status(_names[path]))

        def glob(self, path: str, *args: Any, **options: Any) -> list[str]:
            return [path]

        def exists(self, path: str, *args: Any, **options: Any) -> bool:
            return path in _names

        def size(self, path: str | ThreadPlaces) -> int:
            return self._status(path).size

        def modified(self, path: str | ThreadPlaces) -> datetime:
            """The fraction of the second depends on the etag, so that DuckDB does not use a cached footer of
            other content."""
            seconds = RemotePath(str(self._address(path))).stat().st_mtime_ns / 1e9
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)

        def _address(self, path: str | ThreadPlaces) -> Address:
            return path.address if isinstance(path, ThreadPlaces) else _names[path]

        def _status(self, path: str | ThreadPlaces) -> Status:
            return path.status if isinstance(path, ThreadPlaces) else files.remote_status(_names[path])

    return FileSystem(skip_instance_cache=True)
