"""Servers on loopback that tests read from: S3 that checks signatures, a web server, and a connection that
fails.

Each is started when a test first asks for it, lives for the session, and is used through connections as a
user has them: nothing in the product knows of these.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote

PATIENCE_SECONDS = 30.0
REGION = "us-east-1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ------------------------------------------------------------------------------------ S3

_MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False)
server.start()
sys.stdin.read()  # until the one that started it ends
"""


@dataclass
class S3Server:
    """moto's S3 in a process of its own. It refuses requests whose signature is wrong."""

    endpoint: str
    access_key: str
    secret_key: str
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def client(self) -> Any:
        """boto3's, to prepare buckets and to look at what was written."""
        return _boto("s3", self.endpoint, self.access_key, self.secret_key)

    def bucket(self, name: str) -> str:
        self.client.create_bucket(Bucket=name)
        return name

    def put(self, bucket: str, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=data)


def _boto(service: str, endpoint: str, access_key: str, secret_key: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


@cache
def s3_server() -> S3Server:
    """Started once; it ends with this process, whose end closes its input."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _MOTO, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MOTO_S3_CUSTOM_ENDPOINTS": ""},
    )
    endpoint = f"http://127.0.0.1:{port}"
    wait_for(port, process)
    iam = _boto("iam", endpoint, "root", "root")
    iam.create_user(UserName="lamella")
    key = iam.create_access_key(UserName="lamella")["AccessKey"]
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(UserName="lamella", PolicyName="all", PolicyDocument=json.dumps(everything))
    check = urllib.request.Request(
        f"{endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}, method="POST"
    )
    urllib.request.urlopen(check).close()
    return S3Server(endpoint, key["AccessKeyId"], key["SecretAccessKey"], process)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


# ------------------------------------------------------------------ a connection that fails


class Proxy:
    """Between a client and a server: counts the bytes that the server sends, and does to the connection what
    a test says."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.rpartition("//")[2].partition(":")
        self._target = (host, int(port))
        self.sent_bytes = self.requests = 0
        self.stalls_after: int | None = None
        self.drops_after: int | None = None
        self.loses_answer_to: re.Pattern[bytes] | None = None
        """The first request that it matches reaches the server; its answer does not reach the client."""
        self._without_answer: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._is_closed = False
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._workers: list[threading.Thread] = []
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            self._open |= {client, server}
            for source, sink, counts in ((client, server, False), (server, client, True)):
                worker = threading.Thread(target=self._pump, args=(source, sink, counts), daemon=True)
                worker.start()
                self._workers.append(worker)

    def _pump(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if source in self._without_answer:
                    break
                if not counts and self.loses_answer_to and self.loses_answer_to.search(data):
                    self.loses_answer_to = None
                    self._without_answer.add(sink)
                if counts:
                    self.sent_bytes += len(data)
                    if self.drops_after is not None and self.sent_bytes > self.drops_after:
                        break
                    if self.stalls_after is not None and self.sent_bytes > self.stalls_after:
                        source.recv(1)
                        return
                else:
                    self.requests += data.count(b" HTTP/1.1\r\n")
                sink.sendall(data)
        for side in (source, sink):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """The server is gone: open connections end, and new ones are refused."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._thread.join()
        for worker in self._workers:
            worker.join()


@contextlib.contextmanager
def proxy_to(endpoint: str) -> Iterator[Proxy]:
    proxy = Proxy(endpoint)
    try:
        yield proxy
    finally:
        proxy.close()


class PlainPutServer(http.server.ThreadingHTTPServer):
    """An S3 of an earlier day: it writes and removes, and passes over If-None-Match. `files` has what is
    there, by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _PlainPutHandler)
        self.files: dict[str, bytes] = {}
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _PlainPutHandler(http.server.BaseHTTPRequestHandler):
    server: PlainPutServer

    def do_PUT(self) -> None:
        self.server.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def do_POST(self) -> None:
        """Removes several files at once."""
        bucket = self.path.partition("?")[0].rstrip("/")
        keys = re.findall(r"<Key>(.*?)</Key>", self.rfile.read(int(self.headers["Content-Length"])).decode())
        for key in keys:
            del self.server.files[f"{bucket}/{key}"]
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


# ------------------------------------------------------------------------------------ web


class WebServer(http.server.ThreadingHTTPServer):
    """Files in memory, with ranges and etags as web servers have them, and faults that a test asks for:
    `throttles` requests are answered with 503 first, `has_ranges` and `answers_head` may be switched off.
    `before_answer` is called with each request, on a thread of its own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.throttles, self.retry_after = 0, "0"
        self.before_answer: Callable[[], object] = bool
        self.has_ranges = self.answers_head = True
        self.etags: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.ranges_begin_late = 0
        self.login = ""
        self.seconds_a_piece = 0.0
        self.cuts_to: int | None = None
        self.is_gone = False
        self.sent_bytes = 0
        self.log: list[str] = []
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="web server")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def leave(self) -> None:
        """Be gone: open connections end, and new ones are refused."""
        self.is_gone = True
        self.close()

    def close(self) -> None:
        """Connections that clients keep open end, too: their threads close them."""
        self.shutdown()
        self.server_close()
        self._thread.join()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + PATIENCE_SECONDS
        while self._open and time.monotonic() < until:
            time.sleep(0.001)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self._open.discard(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may leave in the middle of an answer."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebServer
    _kinds: ClassVar[dict[str, str]] = {}

    def do_HEAD(self) -> None:
        if not self.server.answers_head:
            self._refuse(405)
            return
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, sends: bool) -> None:
        server = self.server
        server.log.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
        server.before_answer()
        if server.is_gone:
            self.close_connection = True
            return
        if server.throttles:
            server.throttles -= 1
            self._refuse(503, {"Retry-After": server.retry_after})
            return
        if server.login and self.headers.get("Authorization") != server.login:
            self._refuse(401)
            return
        path = unquote(self.path.partition("?")[0])
        if path in server.redirects:
            self._refuse(302, {"Location": server.redirects[path]})
            return
        data = server.files.get(path)
        if data is None:
            self._refuse(404)
            return
        start, stop = 0, len(data)
        expected = self.headers.get("Range", "")
        if expected and server.has_ranges:
            first, _, last = expected.removeprefix("bytes=").partition("-")
            start, stop = int(first) + server.ranges_begin_late, min(int(last) + 1, len(data))
            if start >= len(data):
                self._refuse(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(stop - start))
        self.send_header("ETag", server.etags.get(path, f'"{hash(data):x}"'))
        self.send_header("Last-Modified", "Sat, 28 Nov 2026 10:00:00 GMT")
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if sends:
            self._send(data[start:stop])

    def _send(self, data: bytes) -> None:
        server = self.server
        if server.cuts_to is not None and len(data) > server.cuts_to:
            data = data[: server.cuts_to]
            self.close_connection = True
        server.sent_bytes += len(data)
        with contextlib.suppress(OSError):
            for at in range(0, len(data), 1 << 16):
                self.wfile.write(data[at : at + (1 << 16)])
                if server.seconds_a_piece:
                    time.sleep(server.seconds_a_piece)

    def _refuse(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: `log` has the requests."""


class ListingServer(http.server.ThreadingHTTPServer):
    """S3 with a bucket that holds more files than anybody counts, all in one folder: of each page there is a
    next. `begins_anew`: whatever a listing asks for, its first page is the bucket's."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ListingHandler)
        self.pages = 0
        self.most_pages = 1 << 30
        self.begins_anew = False
        self.before_answer: Callable[[], object] = bool
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="listing server")
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients leave in the middle of a listing."""


class _ListingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ListingServer

    def do_GET(self) -> None:
        self.server.before_answer()
        asks = parse_qs(self.path.partition("?")[2])
        first = self.server.pages * 1000
        if self.server.begins_anew:
            first = int(asks.get("continuation-token", ["-1000"])[0]) + 1000
        self.server.pages += 1
        files = "".join(
            f"<Contents><Key>flat/{number:09}.csv</Key><LastModified>2026-11-28T10:00:00.000Z</LastModified>"
            f'<ETag>"{number}"</ETag><Size>5</Size><StorageClass>STANDARD</StorageClass></Contents>'
            for number in range(first, first + 1000)
        )
        more = (first // 1000 + 1 if self.server.begins_anew else self.server.pages) < self.server.most_pages
        token = f"<NextContinuationToken>{first}</NextContinuationToken>" if more else ""
        answer = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>large</Name>'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{files}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def listing_server() -> Iterator[ListingServer]:
    server = ListingServer()
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def web_server() -> Iterator[WebServer]:
    server = WebServer()
    try:
        yield server
    finally:
        server.close()
