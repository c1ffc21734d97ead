"""HDFS over Hadoop's own protocol, through libhdfs and pyarrow, and the choice between it and WebHDFS.

Hadoop's client uses the cluster's configuration: high availability, encryption, Kerberos. It needs a Java
virtual machine in this process, which starts with the first request.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from lamella.core.errors import Cancelled
from lamella.core.jobs import Job, current_job
from lamella.core.remote import libhdfs, requests
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection
from lamella.core.remote.problems import (
    AccessDenied,
    AlreadyThere,
    MissingFile,
    RemoteProblem,
    Unreachable,
    file_change_problem,
    of_status,
)
from lamella.core.remote.server import CONNECT_SECONDS, SILENT_SECONDS, Entry, Server, Status
from lamella.core.remote.watchdog import Silent, Watchdog

if TYPE_CHECKING:
    from pyarrow import fs

log = logging.getLogger(__name__)

PAGE_ENTRIES = 1000
PIECE_BYTES = 1 << 20
_CONNECT_MS, _SILENT_MS = f"{CONNECT_SECONDS * 1000:.0f}", f"{SILENT_SECONDS * 1000:.0f}"
SETTINGS = {
    "ipc.client.connect.timeout": _CONNECT_MS,
    "ipc.client.connect.max.retries": "1",
    "ipc.client.connect.max.retries.on.timeouts": "0",
    "ipc.client.rpc-timeout.ms": _SILENT_MS,
    "dfs.client.socket-timeout": _SILENT_MS,
    "dfs.client.max.block.acquire.failures": "1",
}
"""Settings of Hadoop's client, which otherwise waits minutes for a silent server."""
RETRY_PAUSES = (0.0, 2.0, 10.0, 60.0)
"""The seconds before each attempt to clean up, while the server cannot be reached."""
REMOVAL_SECONDS = 2.0
"""How long the cancel of a change waits for its draft to be removed."""
_UNREACHABLE = {
    "ConnectException": "No server is listening there",
    "NoRouteToHostException": "There is no route to it on the network",
    "UnknownHostException": "The host name is unknown",
    "ConnectTimeoutException": "It did not answer in time",
    "SocketTimeoutException": "It did not answer in time",
    "EOFException": "It closed the connection",
    "SocketException": "It closed the connection",
    "RpcNoSuchProtocolException": "It does not speak Hadoop's protocol",
    "InvalidProtocolBufferException": "It does not speak Hadoop's protocol",
    "RpcException": "It does not speak Hadoop's protocol",
}
_DENIALS = (
    "AccessControlException",
    "SaslException",
    "GSSException",
    "KrbException",
    "AuthenticationException",
)

T = TypeVar("T")


@dataclass(frozen=True)
class Route:
    """How an HDFS address is reached: through an `installation` of libhdfs or, without one, through WebHDFS.
    `reason` is shown to the user."""

    installation: libhdfs.Installation | None
    reason: str

    @property
    def sentence(self) -> str:
        """`Through WebHDFS: the address begins with webhdfs://.`"""
        return f"Through {'libhdfs' if self.installation else 'WebHDFS'}: {self.reason}."


def route(address: Address, connection: Connection | None) -> Route:
    """Choose libhdfs for `hdfs://` if it is installed, otherwise WebHDFS. WebHDFS is also chosen for a
    connection with the namenode's web address or a delegation token. The first call may block for seconds."""
    if address.scheme != "hdfs":
        return Route(None, f"the address begins with {address.scheme}://")
    if connection is not None and urlsplit(connection.endpoint).scheme in ("http", "https"):
        return Route(None, f"the endpoint of the connection '{connection.name}' is a web address")
    if connection is not None and "token" in connection.secrets:
        return Route(None, f"the connection '{connection.name}' has a delegation token")
    if libhdfs.library.is_of_parent:
        return Route(None, "libhdfs does not work in a process that was forked after its first use")
    try:
        installed = libhdfs.installation()
    except libhdfs.NotInstalled as problem:
        return Route(None, f"{problem}. {libhdfs.REMEDY}")
    return Route(installed, f"{installed.library} is installed")


def new_server(address: Address, connection: Connection | None) -> Server:
    way = route(address, connection)
    if way.installation is not None:
        return Hdfs(address, connection, way.installation)
    from lamella.core.remote.webhdfs import WebHdfs

    return WebHdfs(address, connection)


class Hdfs:
    """A Hadoop file system as a `Server`, through pyarrow's `HadoopFileSystem`."""

    def __init__(
        self, address: Address, connection: Connection | None, installation: libhdfs.Installation
    ) -> None:
        self._installation = installation
        place = address.place
        if connection is not None and connection.endpoint:
            place = urlsplit(connection.endpoint).netloc
        where = urlsplit(f"//{place}")
        # Without a host, the cluster's configuration names the file system; without a port, the host may be
        # the logical name of two namenodes.
        self._host, self._port = where.hostname or "default", where.port or 0
        user = address.user if connection is None or address.user != connection.name else ""
        self._user = (
            user or (connection.account if connection else "") or os.environ.get("HADOOP_USER_NAME", "")
        )
        self._lock = threading.Lock()
        self._cached_file_system: fs.HadoopFileSystem | None = None
        self._renaming: Any = None

    # ------------------------------------------------------------------ reading

    def status(self, address: Address) -> Status:
        info = self._info(address)
        if not info.is_file:
            raise MissingFile(address, "is a folder", fix="Open the folder, or a file in it")
        return _status(info)

    def read(self, address: Address, start: int, stop: int, status: Status) -> bytes:
        def work(files: fs.HadoopFileSystem) -> bytes:
            with files.open_input_file(_path(address)) as file:
                return bytes(file.read_at(stop - start, start))

        return self._ask(address, work)

    def confirm(self, address: Address, status: Status) -> None:
        if self.status(address) != status:
            raise file_change_problem(address)

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        file = self._ask(address, lambda files: files.open_input_file(_path(address)))
        try:
            while piece := self._ask(address, lambda _: bytes(file.read(PIECE_BYTES))):
                yield piece
        finally:
            file.close()
        self.confirm(address, status)

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        """libhdfs returns all names of a folder at once."""
        folders = [folder]
        while folders:
            current = folders.pop()
            infos = self._listing(current)
            for begin in range(0, len(infos), PAGE_ENTRIES):
                page = [_entry(current, info) for info in infos[begin : begin + PAGE_ENTRIES]]
                inside = [entry.address for entry in page if entry.is_folder]
                yield [entry for entry in page if not entry.is_folder] if recursive else page
                folders += inside if recursive else []

    def _listing(self, folder: Address) -> list[Any]:
        from pyarrow import fs

        if self._info(folder).is_file:
            return []
        return self._ask(folder, lambda files: files.get_file_info(fs.FileSelector(_path(folder))))

    def _info(self, address: Address) -> Any:
        from pyarrow import fs

        def work(files: fs.HadoopFileSystem) -> Any:
            info = files.get_file_info(_path(address))
            if info.type == fs.FileType.NotFound:  # pyarrow reports a server that does not answer like this
                if libhdfs.library.root_cause():
                    raise OSError
                files.get_file_info(fs.FileSelector(_path(address)))  # its error has a number
            return info

        return self._ask(address, work)

    # ------------------------------------------------------------------ writing

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """Write under another name in the same folder, and rename when complete. An existing file is moved
        aside first, because Hadoop's rename does not replace: for a moment, neither file is there."""
        self._watch(address, lambda writing: self._upload(address, source, writing), job)

    def _upload(self, address: Address, source: Path, writing: _Writing) -> None:
        draft, aside = _hidden_address(address), _hidden_address(address)
        try:
            self._send(draft, source, writing)
            replaces = self._is_file(address)
            writing.check()
            try:
                if replaces:
                    self._rename(address, aside)
                writing.check()
                self._rename(draft, address)
            except BaseException:
                if replaces:
                    self._restore(aside, address)
                raise
        except BaseException:
            self._remove_quietly(draft)
            raise
        if replaces:
            self._remove_quietly(aside)

    def create(self, address: Address, data: bytes) -> None:
        """Write a draft and rename it. The rename does not replace: if two programs do so, HDFS lets only one
        succeed."""
        self._watch(address, lambda writing: self._create(address, data, writing))

    def _create(self, address: Address, data: bytes, writing: _Writing) -> None:
        draft = _hidden_address(address)

        def write(files: fs.HadoopFileSystem) -> None:
            with files.open_output_stream(_path(draft)) as file:
                file.write(data)

        try:
            self._ask(draft, write, "written")
            writing.check()
            self._rename(draft, address)
        except BaseException:
            self._remove_quietly(draft)
            raise

    def delete(self, address: Address) -> None:
        self._watch(address, lambda _: self._delete(address))

    def _delete(self, address: Address) -> None:
        self._ask(address, lambda files: files.delete_file(_path(address)), "removed")

    def _send(self, draft: Address, source: Path, writing: _Writing) -> None:
        total, position = source.stat().st_size, 0
        sink = self._ask(draft, lambda files: files.open_output_stream(_path(draft)), "written")
        try:
            with source.open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    writing.check()
                    writing.job.report(position, total, f"Writing {writing.address.name}")
                    self._ask(draft, partial(_write, sink, piece), "written")
                    writing.watchdog.note_progress()
                    position += len(piece)
        finally:
            self._ask(draft, lambda _: sink.close(), "written")
        writing.job.report(total, total)

    def _watch(self, address: Address, work: Callable[[_Writing], None], job: Job | None = None) -> None:
        """Do `work` on a thread of its own, and raise `Silent` as soon as the namenode no longer answers.
        A request of Hadoop's client cannot be interrupted: work that is given up or cancelled stops, and
        removes its draft, when the client returns."""
        job = job or current_job() or Job()
        over, ended = threading.Event(), threading.Event()

        def write(writing: _Writing) -> None:
            try:
                work(writing)
            finally:
                over.set()
                ended.set()

        def wait() -> None:
            over.wait()
            if watchdog.has_given_up:
                raise Silent(address)

        def ask() -> None:
            self._info(replace(address, key=""))

        requests.answer(ask, job, patient=False)  # the first one starts the Java machine, which takes seconds
        with Watchdog(ask, over.set) as watchdog:
            writing = _Writing(address, job, watchdog)
            try:
                acts: list[Callable[[], None]] = [partial(write, writing), wait]
                requests.answers(acts, job, patient=False)
            except Cancelled:
                ended.wait(REMOVAL_SECONDS)
                raise

    def _rename(self, old: Address, new: Address) -> None:
        self._file_system(new)
        with self._lock:
            if self._renaming is None:
                self._renaming = libhdfs.library.connect(self._host, self._port, self._user, SETTINGS)
        if self._renaming is None:
            raise _problem(new, OSError(), "written")
        if not libhdfs.library.rename(self._renaming, _path(old), _path(new)):
            problem = _problem(new, OSError(), "written")
            if self._is_file(new):
                raise AlreadyThere(new)
            raise problem

    def _restore(self, aside: Address, address: Address) -> None:
        """Move a file back. Retry while the server cannot be reached: it may have moved the file though
        its answer did not arrive."""
        for pause in RETRY_PAUSES:
            time.sleep(pause)
            try:
                if self._is_file(aside):
                    self._rename(aside, address)
            except Unreachable:
                continue
            except RemoteProblem as problem:
                log.error("%s was moved to %s, and could not be moved back: %s", address, aside, problem)
            return
        log.error("%s may have been moved to %s: the server cannot be reached", address, aside)

    def _is_file(self, address: Address) -> bool:
        try:
            return bool(self._info(address).is_file)
        except MissingFile:
            return False

    def _remove_quietly(self, draft: Address) -> None:
        """Retry later: a server that was silent may still carry out earlier requests."""
        for pause in RETRY_PAUSES:
            time.sleep(pause)
            try:
                if self._is_file(draft):
                    self._delete(draft)
            except Unreachable:
                continue
            except RemoteProblem:
                pass  # the first problem is the one to report
            return

    # ------------------------------------------------------------------ asking

    def _ask(self, address: Address, work: Callable[[fs.HadoopFileSystem], T], act: str = "read") -> T:
        files = self._file_system(address)
        try:
            return work(files)
        except OSError as error:
            raise _problem(address, error, act) from None

    def _file_system(self, address: Address) -> fs.HadoopFileSystem:
        with self._lock:
            if self._cached_file_system is None:
                from pyarrow import fs

                try:
                    libhdfs.library.load(self._installation)
                    self._cached_file_system = fs.HadoopFileSystem(
                        self._host,
                        self._port,
                        user=self._user or None,
                        buffer_size=PIECE_BYTES,
                        extra_conf=SETTINGS,
                    )
                except OSError as error:
                    raise _problem(address, error, "read") from None
            return self._cached_file_system


@dataclass(frozen=True)
class _Writing:
    """A change to the file system that is under way, on a thread of its own."""

    address: Address
    job: Job
    watchdog: Watchdog

    def check(self) -> None:
        """Raise `Silent` or `Cancelled` if nobody waits for the change any more."""
        if self.watchdog.has_given_up:
            raise Silent(self.address)
        self.job.check()


def _write(sink: Any, piece: bytes, files: fs.HadoopFileSystem) -> None:
    sink.write(piece)


def _path(address: Address) -> str:
    return f"/{address.key}".rstrip("/") or "/"


def _hidden_address(address: Address) -> Address:
    return address.parent.child(f".{address.name}.{uuid.uuid4().hex[:8]}.part")


def _status(info: Any) -> Status:
    return Status(int(info.size), int(info.mtime_ns), f"{info.mtime_ns // 1_000_000}-{info.size}")


def _entry(folder: Address, info: Any) -> Entry:
    return Entry(folder.child(info.base_name), _status(info) if info.is_file else None)


def _problem(address: Address, error: OSError, act: str) -> RemoteProblem:
    """Describe what Java threw on this thread; pyarrow's error is often just a number."""
    cause = libhdfs.library.root_cause()
    thrown, _, message = cause.partition("\n")[0].partition(": ")
    name = thrown.rpartition(".")[2]
    if isinstance(error, FileNotFoundError) or name == "FileNotFoundException":
        return MissingFile(address, "is not there", fix="Check the address")
    if "SafeModeException" in cause:
        return RemoteProblem(
            address, f"could not be {act}", "The namenode is in safe mode", "Wait until it leaves safe mode"
        )
    if isinstance(error, PermissionError) or name in _DENIALS:
        fix = "Add a connection with a user who has access, sign in with kinit, or ask the owner"
        return AccessDenied(address, f"may not be {act}", message or name, fix)
    if name in _UNREACHABLE:
        fix = (
            "Check the host and the port: it is the one for Hadoop's own protocol, usually 8020. "
            "Use webhdfs:// to reach its web server instead"
        )
        return Unreachable(address, "could not be reached", _UNREACHABLE[name], fix)
    if name in ("RetriableException", "StandbyException"):
        return of_status(address, 503)
    why = f"Hadoop's client says: {cause.partition(chr(10))[0] or error.strerror or error}"
    return RemoteProblem(
        address, f"could not be {act}", why, "Check Hadoop's configuration, or use webhdfs://"
    )
