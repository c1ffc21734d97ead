"""HDFS over HTTP: Hadoop's WebHDFS, which needs neither Java nor native libraries on this machine.

`fsspec` has a client, too. This one is as short, lists folders in pages (LISTSTATUS_BATCH), has timeouts, and
makes a file visible only when it is complete.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection
from lamella.core.remote.http import HttpClient, connection_problem, wait_of
from lamella.core.remote.problems import (
    AccessDenied,
    AlreadyThere,
    MissingFile,
    RemoteProblem,
    Unreachable,
    file_change_problem,
    of_status,
)
from lamella.core.remote.requests import patiently
from lamella.core.remote.server import Entry, Status

log = logging.getLogger(__name__)
DEFAULT_PORT, DEFAULT_TLS_PORT = 9870, 9871
PIECE_BYTES = 1 << 20
REMOVAL_PAUSES = (0.0, 0.3, 1.0)
REMOVAL_SECONDS = 0.4
"""How long to wait for the removal of a draft before an error is reported, if the server is probably gone."""
LOOK_SECONDS = 1.0
"""How long to wait for the status of a file when the response to its renaming was lost."""
KERBEROS = "The cluster requires Kerberos, which is not supported through WebHDFS"
WAY_TO_TOKEN = (
    "Fetch a delegation token (curl --negotiate -u : 'http://HOST:9870/webhdfs/v1/?op=GETDELEGATIONTOKEN'), "
    "and give the connection a reference to it"
)
_MISSING = ("FileNotFoundException",)
_DENIALS = ("AccessControlException", "SecurityException")


class WebHdfs:
    """A namenode as a `Server`."""

    def __init__(self, address: Address, connection: Connection | None) -> None:
        self._root = _root(address, connection)
        user = address.user if connection is None or address.user != connection.name else ""
        user = user or (connection.account if connection else "") or os.environ.get("HADOOP_USER_NAME", "")
        token = connection.secret("token") if connection else None
        self._identity = {"delegation": token} if token else {"user.name": user} if user else {}
        self._client = HttpClient({})

    def status(self, address: Address) -> Status:
        item = self._json("GET", address, "GETFILESTATUS")["FileStatus"]
        if item["type"] == "DIRECTORY":
            raise MissingFile(address, "is a folder", fix="Open the folder, or a file in it")
        return _status(item)

    def is_folder(self, address: Address) -> bool:
        return bool(self._json("GET", address, "GETFILESTATUS")["FileStatus"]["type"] == "DIRECTORY")

    def read(self, address: Address, start: int, stop: int, status: Status) -> bytes:
        options = {"offset": start, "length": stop - start}
        answer = self._ask("GET", address, "OPEN", options, preload_content=False)
        with _explain_errors(address):
            try:
                return bytes(answer.read(decode_content=False))
            finally:
                answer.close()  # after a complete response, the connection is already back in the pool

    def confirm(self, address: Address, status: Status) -> None:
        if self.status(address) != status:
            raise file_change_problem(address)

    def stream(self, address: Address, status: Status) -> Iterator[bytes]:
        answer = self._ask("GET", address, "OPEN", preload_content=False)
        with _explain_errors(address):
            try:
                yield from answer.stream(PIECE_BYTES, decode_content=False)
            finally:
                answer.close()
        self.confirm(address, status)

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        folders = [folder]
        while folders:
            current = folders.pop()
            for page in self._pages(current):
                entries = [_entry(current, item) for item in page if item["pathSuffix"]]  # '' if it is a file
                inside = [entry.address for entry in entries if entry.is_folder]
                yield [entry for entry in entries if not entry.is_folder] if recursive else entries
                folders += inside if recursive else []

    def _pages(self, folder: Address) -> Iterator[list[Any]]:
        after = ""
        while True:
            options = {"startAfter": after} if after else {}
            ask = partial(self._json, "GET", folder, "LISTSTATUS_BATCH", options)
            listing = patiently(ask)["DirectoryListing"]
            page = listing["partialListing"]["FileStatuses"]["FileStatus"]
            yield page
            if not listing["remainingEntries"] or not page:
                return
            after = page[-1]["pathSuffix"]

    def upload(self, address: Address, source: Path, job: Job) -> None:
        """Write under another name in the same folder, and rename when complete."""
        draft = address.parent.child(f".{address.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            self._send(draft, source, job, address)
            if not self._rename(draft, address, source.stat().st_size, renameoptions="OVERWRITE"):
                raise RemoteProblem(address, "cannot be written", "The server did not rename it into place")
        except Unreachable:
            removal = threading.Thread(target=self._remove_quietly, args=(draft,), daemon=True)
            removal.start()
            removal.join(REMOVAL_SECONDS)
            raise
        except BaseException:
            self._remove_quietly(draft)
            raise

    def create(self, address: Address, data: bytes) -> None:
        """Write a draft and rename it. The rename does not replace: if two programs do so, HDFS lets only one
        succeed."""
        draft = address.parent.child(f".{address.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            self._write(draft, [data], Job(), address)
            is_renamed = self._rename(draft, address, len(data))
        except BaseException:
            self._remove_quietly(draft)
            raise
        if not is_renamed:
            self.delete(draft)
            self.status(address)  # it raises if there is another reason
            raise AlreadyThere(address)

    def _rename(self, draft: Address, address: Address, size: int, **options: str) -> bool:
        """Rename the draft, of `size` bytes, and return whether that worked. If the response is lost, look
        which file the server has."""
        try:
            answer = self._json("PUT", draft, "RENAME", {"destination": f"/{address.key}", **options})
        except Unreachable:
            if not self._is_renamed(draft, address, size):
                raise
            log.info("%s is complete: the response to its renaming was lost", address)
            return True
        return answer.get("boolean") is not False

    def _is_renamed(self, draft: Address, address: Address, size: int) -> bool:
        """Whether the server shows the renamed file. False if it does not answer within `LOOK_SECONDS`."""
        is_renamed = threading.Event()

        def look() -> None:
            with suppress(RemoteProblem):
                if self.status(address).size == size:
                    try:
                        self.status(draft)
                    except MissingFile:
                        is_renamed.set()

        thread = threading.Thread(target=look, name="look for renamed file", daemon=True)
        thread.start()
        thread.join(LOOK_SECONDS)
        return is_renamed.is_set()

    def _send(self, draft: Address, source: Path, job: Job, target: Address) -> None:
        total = source.stat().st_size

        def pieces() -> Iterator[bytes]:
            position = 0
            with source.open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    job.report(position, total, f"Writing {target.name}")
                    yield piece
                    position += len(piece)

        self._write(draft, pieces(), job, target)
        job.report(total, total)

    def _write(self, draft: Address, pieces: Iterable[bytes], job: Job, target: Address) -> None:
        """Write through a datanode, which is probed while there is no progress. Errors name `target`."""
        create = self._url(draft, "CREATE", {"overwrite": "true"})
        first = self._request("PUT", create, target, redirect=False)
        datanode = first.headers.get("Location", "")
        if first.status != 307 or not datanode:
            raise _problem(target, first.status, first.data, "written", wait_of(first))
        probe = urljoin(datanode, "/webhdfs/v1/?" + urlencode({"op": "GETHOMEDIRECTORY", **self._identity}))
        ask = partial(self._request, "GET", probe, target, redirect=False)
        answer = self._client.put(datanode, target, pieces, ask, job)
        if answer.status != 201:
            raise _problem(target, answer.status, answer.data, "written", wait_of(answer))

    def _remove_quietly(self, draft: Address) -> None:
        """Remove a draft. Tries repeatedly: the datanode may create the file shortly after the upload."""
        for pause in REMOVAL_PAUSES:
            time.sleep(pause)
            try:
                self.delete(draft)
            except RemoteProblem:
                return  # the first problem is the one to report, and the server is probably gone

    def delete(self, address: Address) -> None:
        self._json("DELETE", address, "DELETE")

    def _json(self, method: str, address: Address, act: str, options: dict[str, Any] | None = None) -> Any:
        answer = self._ask(method, address, act, options)
        try:
            return json.loads(answer.data) if answer.data else {}
        except ValueError:
            raise RemoteProblem(
                address,
                "could not be read",
                "The server does not speak WebHDFS",
                "Check the endpoint of the connection: it is the namenode's web address",
            ) from None

    def _ask(
        self, method: str, address: Address, act: str, options: dict[str, Any] | None = None, **how: Any
    ) -> Any:
        answer = self._request(method, self._url(address, act, options or {}), address, **how)
        if answer.status >= 400:
            data = answer.data
            if answer.status == 401 and "negotiate" in answer.headers.get("WWW-Authenticate", "").casefold():
                raise AccessDenied(address, "may not be read", KERBEROS, WAY_TO_TOKEN)
            raise _problem(address, answer.status, data, "read", wait_of(answer))
        return answer

    def _request(self, method: str, url: str, address: Address, **how: Any) -> Any:
        return self._client.ask(method, url, address, **how)

    def _url(self, address: Address, act: str, options: dict[str, Any]) -> str:
        query = urlencode({"op": act, **self._identity, **options})
        return urljoin(self._root, f"/webhdfs/v1/{quote(address.key)}?{query}")


def _root(address: Address, connection: Connection | None) -> str:
    """Return the namenode's web address. The port in `hdfs://` is for Hadoop's own protocol, so unused."""
    place, endpoint = address.place, connection.endpoint if connection is not None else ""
    if urlsplit(endpoint).scheme == "hdfs":
        place = place or urlsplit(endpoint).netloc
    elif endpoint:
        return endpoint
    if not place:
        raise RemoteProblem(
            address,
            "names no host",
            "hdfs:///path takes it from a connection, or from Hadoop's configuration if libhdfs is installed",
            "Add a connection with the namenode's web address, or name the host",
        )
    tls = address.scheme == "swebhdfs"
    server = urlsplit(f"//{place}")
    port = None if address.scheme == "hdfs" else server.port
    host = f"[{server.hostname}]" if ":" in (server.hostname or "") else server.hostname
    return f"http{'s' if tls else ''}://{host}:{port or (DEFAULT_TLS_PORT if tls else DEFAULT_PORT)}"


def _status(item: Any) -> Status:
    etag = f"{item['modificationTime']}-{item['length']}-{item.get('fileId', 0)}"
    return Status(int(item["length"]), int(item["modificationTime"]) * 1_000_000, etag)


def _entry(folder: Address, item: Any) -> Entry:
    address = folder.child(item["pathSuffix"])
    return Entry(address, None if item["type"] == "DIRECTORY" else _status(item))


@contextmanager
def _explain_errors(address: Address) -> Iterator[None]:
    import urllib3

    try:
        yield
    except urllib3.exceptions.HTTPError as error:
        raise connection_problem(address, error) from None


def _problem(address: Address, status: int, body: bytes, act: str, seconds: float | None) -> RemoteProblem:
    """Describe what Java threw, which is in the response of WebHDFS."""
    try:
        remote = json.loads(body)["RemoteException"]
        name, message = str(remote["exception"]), str(remote.get("message", "")).partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        return of_status(address, status, seconds=seconds)
    if name in _MISSING:
        return MissingFile(address, "is not there", fix="Check the address")
    if name in _DENIALS or status in (401, 403):
        if "SafeMode" in message or name == "SafeModeException":
            return RemoteProblem(
                address,
                f"could not be {act}",
                "The namenode is in safe mode",
                "Wait until it leaves safe mode",
            )
        fix = "Add a connection with a user or token that has access, or ask the owner"
        return AccessDenied(address, f"may not be {act}", message, fix)
    if name in ("RetriableException", "StandbyException"):
        return of_status(address, 503, seconds=seconds)
    return RemoteProblem(address, f"could not be {act}", f"The server answered: {message or name}")
