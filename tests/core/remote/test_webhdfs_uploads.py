"""Uploads through WebHDFS, against a server that follows Hadoop's documentation."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from lamella import Cancelled
from lamella.core.jobs import Job
from lamella.core.remote import http as client
from lamella.core.remote import watchdog, webhdfs
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, Unreachable
from lamella.core.remote.servers import servers
from tests.conftest import PATIENCE_SECONDS

TARGET = "hdfs://127.0.0.1/data/large.bin"


class HdfsServer(http.server.ThreadingHTTPServer):
    """A namenode and a datanode in one. It takes `seconds_a_piece` to read a piece of a file. After
    `stops_after` bytes, it stops reading, and no longer answers unless it `answers_others`. If it `refuses`,
    it does so before reading the file. `loses_rename` is the part of a rename that is lost, the "request" or
    the "answer"."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.log: list[str] = []
        self.seconds_a_piece, self.stops_after = 0.0, -1
        self.answers_others, self.refuses, self.is_silent = False, False, False
        self.loses_rename = ""
        self.stopped, self.over = threading.Event(), threading.Event()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, object]:
        """Use a small buffer, so that bytes that are not read have not been sent."""
        connection, place = super().get_request()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        return connection, place

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that closed the connection."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: HdfsServer
    protocol_version = "HTTP/1.1"

    def _act(self) -> None:
        parts = urlsplit(self.path)
        options = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path, act = parts.path.removeprefix("/webhdfs/v1"), options["op"]
        self.server.log.append(act)
        if self.server.is_silent:
            self.server.over.wait(PATIENCE_SECONDS)
        elif act == "CREATE" and "step" not in options:
            self._answer(307, location=f"{self.server.endpoint}{self.path}&step=data")
        elif act == "CREATE" and self.server.refuses:
            problem = {"exception": "AccessControlException", "message": "ann may not"}
            self._answer(403, {"RemoteException": problem})
            self.close_connection = True
        elif act == "CREATE":
            self.server.files[path] = self._body()
            self._answer(201)
        elif act == "RENAME":
            self._rename(path, options["destination"])
        elif act == "GETFILESTATUS":
            self._status(path)
        elif act == "DELETE":
            self._answer(200, {"boolean": self.server.files.pop(path, None) is not None})
        else:
            self._answer(400, {"RemoteException": {"exception": "IllegalArgumentException", "message": act}})

    def _rename(self, path: str, destination: str) -> None:
        if self.server.loses_rename != "request":
            self.server.files[destination] = self.server.files.pop(path)
        if self.server.loses_rename:
            self.close_connection = True
        else:
            self._answer(200, {"boolean": True})

    def _status(self, path: str) -> None:
        if path in self.server.files:
            size = len(self.server.files[path])
            self._answer(200, {"FileStatus": {"type": "FILE", "length": size, "modificationTime": 1}})
        else:
            self._answer(404, {"RemoteException": {"exception": "FileNotFoundException"}})

    def do_GET(self) -> None:
        self._act()

    def do_PUT(self) -> None:
        self._act()

    def do_DELETE(self) -> None:
        self._act()

    def _body(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
            if 0 <= self.server.stops_after <= len(body):
                self.server.is_silent = not self.server.answers_others
                self.server.stopped.set()
                self.server.over.wait(PATIENCE_SECONDS)
            time.sleep(self.server.seconds_a_piece)
        self.rfile.readline()
        return body

    def _answer(self, status: int, content: object = None, location: str = "") -> None:
        data = json.dumps(content).encode() if content is not None else b""
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def hdfs() -> Iterator[HdfsServer]:
    with HdfsServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        Connections().save(Connection("cluster", "hdfs", endpoint=server.endpoint, account="ann"))
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(range(256)) * (24 << 10))
    return path


@pytest.fixture(autouse=True)
def one_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhdfs, "REMOVAL_PAUSES", (0.0,))


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(watchdog, "PROBE_SECONDS", 0.15)


def send(draft: Path, job: Job | None = None) -> None:
    address = RemotePath(TARGET).address
    servers.server(address).upload(address, draft, job or Job())


@pytest.mark.slow
def test_a_slow_line_is_waited_for(
    hdfs: HdfsServer, draft: Path, short_patience: None, monkeypatch: pytest.MonkeyPatch
):
    """It takes longer than the timeouts of other requests and of a silent server, since it answers probes."""
    monkeypatch.setattr(client, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.2)
    hdfs.seconds_a_piece = 0.5
    draft.write_bytes(draft.read_bytes()[: 3 << 20])
    send(draft)
    assert hdfs.files == {"/data/large.bin": draft.read_bytes()}
    assert hdfs.log.count("GETHOMEDIRECTORY") > watchdog.PROBES


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("size", [1 << 20, 6 << 20])
def test_a_server_that_falls_silent_is_given_up(
    hdfs: HdfsServer, draft: Path, size: int, short_patience: None
):
    """This holds in the middle of the file, and before the answer to its end."""
    hdfs.stops_after = size
    with pytest.raises(watchdog.Silent, match="stopped answering"):
        send(draft)
    assert hdfs.files == {}


def test_a_cancel_breaks_off_what_is_being_sent(hdfs: HdfsServer, draft: Path):
    job = Job()
    hdfs.stops_after, hdfs.answers_others = 1 << 20, True

    def cancel() -> None:
        hdfs.stopped.wait(PATIENCE_SECONDS)
        job.cancel()

    threading.Thread(target=cancel, daemon=True).start()
    with pytest.raises(Cancelled):
        send(draft, job)
    assert hdfs.files == {} and hdfs.log[-1] == "DELETE"


def test_a_refusal_in_the_middle_is_told(hdfs: HdfsServer, draft: Path):
    hdfs.refuses = True
    with pytest.raises(AccessDenied, match=r"/large\.bin: may not be written.*Ann may not"):
        send(draft)


def test_a_server_that_is_gone_is_an_error(hdfs: HdfsServer, draft: Path):
    hdfs.shutdown()
    hdfs.server_close()
    with pytest.raises(Unreachable, match="No server is listening there"):
        send(draft)


def test_a_lost_answer_to_the_last_step_is_no_error(hdfs: HdfsServer, draft: Path):
    """The last step is that of an upload, or of creating a file that must be new."""
    hdfs.loses_rename = "answer"
    send(draft)
    assert hdfs.files == {"/data/large.bin": draft.read_bytes()}
    address = RemotePath("hdfs://127.0.0.1/data/new.json").address
    servers.server(address).create(address, b"{}")
    assert hdfs.files["/data/new.json"] == b"{}"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("earlier", [False, True])
def test_a_lost_request_for_the_last_step_is_an_error(hdfs: HdfsServer, draft: Path, earlier: bool):
    """This also holds if a file of the same size exists, which stays; nothing else is left."""
    size = draft.stat().st_size
    before = {"/data/large.bin": bytes(size)} if earlier else {}
    hdfs.files, hdfs.loses_rename = dict(before), "request"
    with pytest.raises(Unreachable, match="closed the connection"):
        send(draft)
    assert hdfs.files == before
