"""Files of web servers, read by ranges if the server supports them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection
from lamella.core.remote.http import HttpClient, connection_problem, time_of, wait_of
from lamella.core.remote.problems import RemoteProblem, file_change_problem, of_status
from lamella.core.remote.server import Entry, NoRanges, Status

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
OK, PARTIAL, NO_METHOD = 200, 206, (400, 403, 405, 501)
PIECE_BYTES = 1 << 20


class WebServer:
    """`http://` and `https://` as a `Server`: without folders, and read-only."""

    def __init__(self, connection: Connection | None) -> None:
        headers = {"User-Agent": "Lamella"}
        if connection is not None and (token := connection.secret("token")):
            headers["Authorization"] = f"Bearer {token}"
        elif connection is not None and (password := connection.secret("password")) is not None:
            login = f"{connection.account}:{password}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        self._client = HttpClient(headers, uses_proxies=True)

    def status(self, address: Address) -> Status:
        answer = self._client.ask("HEAD", address.url, address)
        if answer.status in NO_METHOD or not answer.headers.get("Content-Length", "").isdigit():
            return self._status_of_first_byte(address)
        if answer.status != OK:
            raise of_status(address, answer.status, seconds=wait_of(answer))
        return _status(answer.headers, int(answer.headers["Content-Length"]))

    def _status_of_first_byte(self, address: Address) -> Status:
        """Return the status from a GET request, for servers that do not answer HEAD, such as when the URL is
        signed only for GET."""
        answer = self._client.ask("GET", address.url, address, {"Range": "bytes=0-0"}, preload_content=False)
        try:
            if answer.status not in (OK, PARTIAL):
                raise of_status(address, answer.status, seconds=wait_of(answer))
            place = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            length = place[3] if place else answer.headers.get("Content-Length", "")
        finally:
            answer.close()
        if not str(length).isdigit():
            return Status(
                sum(map(len, self.stream(address, None))), time_of(answer.headers.get("Last-Modified")), ""
            )
        return _status(answer.headers, int(length))

    def read(self, address: Address, start: int, stop: int, status: Status) -> bytes:
        headers = {"Range": f"bytes={start}-{stop - 1}"}
        answer = self._client.ask("GET", address.url, address, headers, preload_content=False)
        try:
            if answer.status == OK and (start or stop < status.size):
                raise NoRanges
            if answer.status not in (OK, PARTIAL):
                raise (
                    file_change_problem(address)
                    if answer.status == 416
                    else of_status(address, answer.status, seconds=wait_of(answer))
                )
            place = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            if place and int(place[1]) != start:
                raise NoRanges  # the bytes are from another position
            size = int(place[3]) if place else status.size
            if not _is_same(_status(answer.headers, size), status):
                raise file_change_problem(address)
            return _body(answer, address)
        finally:
            answer.close()  # after a complete response, the connection is already back in the pool

    def confirm(self, address: Address, status: Status) -> None:
        """Does nothing: `read` compares the status of each response."""

    def stream(self, address: Address, status: Status | None) -> Iterator[bytes]:
        """Yield the file in pieces; in any version if `status` is None."""
        answer = self._client.ask("GET", address.url, address, preload_content=False)
        import urllib3

        try:
            if answer.status != OK:
                raise of_status(address, answer.status, seconds=wait_of(answer))
            if status is not None and not _is_same(_status(answer.headers, status.size), status):
                raise file_change_problem(address)
            yield from answer.stream(PIECE_BYTES, decode_content=False)
        except urllib3.exceptions.HTTPError as error:
            raise connection_problem(address, error) from None
        finally:
            answer.close()

    def entries(self, folder: Address, recursive: bool = False) -> Iterator[list[Entry]]:
        """Return nothing: web servers do not list their files."""
        return iter(())

    def upload(self, address: Address, source: Path, job: Job) -> None:
        raise _write_refusal(address)

    def create(self, address: Address, data: bytes) -> None:
        raise _write_refusal(address)

    def delete(self, address: Address) -> None:
        raise RemoteProblem(address, "cannot be removed", "Web servers can only be read")


def _write_refusal(address: Address) -> RemoteProblem:
    return RemoteProblem(
        address,
        "cannot be written",
        "Web servers can only be read",
        "Choose a file on this machine, or an address with s3://, gs://, az:// or webhdfs://",
    )


def _body(answer: object, address: Address) -> bytes:
    import urllib3

    assert isinstance(answer, urllib3.BaseHTTPResponse)
    try:
        return answer.read(decode_content=False)
    except urllib3.exceptions.HTTPError as error:
        raise connection_problem(address, error) from None


def _status(headers: Mapping[str, str], size: int) -> Status:
    modified = headers.get("Last-Modified", "")
    return Status(size, time_of(modified), headers.get("ETag", ""))


def _is_same(before: Status, after: Status) -> bool:
    """Compare the values that both responses have."""
    tags = {status.etag.removeprefix("W/") for status in (before, after) if status.etag}
    times = {status.modified_ns for status in (before, after) if status.modified_ns}
    return before.size == after.size and len(tags) < 2 and len(times) < 2
