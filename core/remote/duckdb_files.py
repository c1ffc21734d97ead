"""Files elsewhere for DuckDB: it reads them through the cache as every other reader here does, by a file
system of `fsspec`'s shape. So it needs no extension of its own, and asks with the same credentials.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, deque
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.errors import LamellaError
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
        try:
            return super().read(size)
        except LamellaError as problem:
            _problems.append(problem)
            raise


@cache
def _file_system() -> Any:
    from fsspec import AbstractFileSystem

    class FileSystem(AbstractFileSystem):  # type: ignore[misc]
        """What DuckDB asks of one. It opens a file, and then asks for that file's size and time."""

        protocol = PROTOCOL

        def open(self, path: str, mode: str = "rb", *args: Any, **options: Any) -> ThreadPlaces:
            address = _names[path]
            try:
                return ThreadPlaces(files, address, files.known(address))
            except LamellaError as problem:
                _problems.append(problem)
                raise

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
