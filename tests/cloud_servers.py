"""Servers on loopback for tests of clouds: a protocol server for Google's uploads in parts, and for the long
forms Google Cloud Storage by fake-gcs-server, Azure by Azurite.

Go builds the one and npm fetches the other, once, into the user's cache; a test that asks for one is skipped,
with the reason, where that cannot be.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import http.server
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlencode
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import platformdirs
import pytest

from tests.remote_servers import free_port, wait_for

GCS_VERSION, AZURITE_VERSION = "1.56.1", "3.35.0"
FETCH_SECONDS = 900
TOKEN = "a-token-of-google"
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, which all the world knows."""


def _installed(name: str, tool: str, *command: str, environment: dict[str, str] | None = None) -> Path:
    """The folder that a command filled, now or before; `{folder}` in its words is where."""
    if shutil.which(tool) is None:
        pytest.skip(f"{name} needs {tool}, which is not installed")
    folder = Path(platformdirs.user_cache_dir("lamella-tests", appauthor=False), name)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        draft = Path(scratch, name)
        draft.mkdir()
        words = [tool, *(word.format(folder=draft) for word in command)]
        variables = {key: value.format(folder=draft) for key, value in (environment or {}).items()}
        try:
            result = subprocess.run(
                words,
                env=os.environ | variables,
                cwd=draft,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"{name} was not there within {FETCH_SECONDS} s")
        if result.returncode:
            pytest.skip(f"{name} could not be fetched: {result.stderr.strip().splitlines()[-1:]}")
        draft.rename(folder)
    return folder


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        try:
            wait_for(port, process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


@dataclass(frozen=True)
class CloudServer:
    """`reader_options` are those by which `deltalake` reads there, without Lamella, and
    `reader_environment` is what tells a Spark server the same."""

    endpoint: str
    reader_options: dict[str, str]

    @property
    def reader_environment(self) -> dict[str, str]:
        prefix = next(iter(self.reader_options)).partition("_")[0]
        named = {f"{prefix}_{name.removeprefix(f'{prefix}_')}": v for name, v in self.reader_options.items()}
        return {name.upper(): value for name, value in named.items()}


# ------------------------------------------------------------------------------------ Google


@contextlib.contextmanager
def gcs_server(bucket: str) -> Iterator[CloudServer]:
    """A server with a bucket, which wants `TOKEN`. `deltalake` has no way to say one, and reads without."""
    folder = _installed(
        f"fake-gcs-server-{GCS_VERSION}",
        "go",
        "install",
        f"github.com/fsouza/fake-gcs-server@v{GCS_VERSION}",
        environment={"GOBIN": "{folder}", "CGO_ENABLED": "0"},
    )
    port = free_port()
    front, open_front = _Front(port), _Front(port)
    open_front.token = ""
    command = [str(folder / "fake-gcs-server"), "-backend", "memory", "-scheme", "http"]
    own = ["-host", "127.0.0.1", "-port", str(port), "-public-host", front.endpoint.rpartition("/")[2]]
    with _running([*command, *own, "-log-level", "error"], port), _serving(front), _serving(open_front):
        open_front.host = front.host = front.endpoint.rpartition("/")[2]
        request = urllib.request.Request(
            f"{front.endpoint}/storage/v1/b?project=tests",
            json.dumps({"name": bucket}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
        )
        urllib.request.urlopen(request).close()
        options = {"google_base_url": open_front.endpoint, "google_skip_signature": "true"}
        yield CloudServer(front.endpoint, options | {"allow_http": "true"})


Answer = tuple[int, Mapping[str, str], bytes]


def _refusal(status: int, code: str) -> Answer:
    return status, {}, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()


@dataclass
class _Upload:
    path: str
    parts: dict[int, bytes] = field(default_factory=dict)


class GoogleServer(http.server.ThreadingHTTPServer):
    """A protocol server for Google's XML API with its uploads in parts, which keeps objects in memory.

    It follows the documents that Google publishes, for no server that runs here has these uploads: neither
    fake-gcs-server nor Google's own testbench. So it proves that requests are as the documents want them,
    and not that Google's servers take them. Parts are numbered from 1 to 10,000; a completion lists them
    in ascending order with their ETags; all but the last have at least 5 MiB; an upload that was
    aborted or completed is not known any more.

    `objects` and `uploads` are what is there, `log` the requests. A test may have parts answered with 503
    (`refusals`: how often, by number) or late, and wait for the first that arrives; have the end of an upload
    refused, its answer lost, or the upload forgotten before; and have the server fall silent with the second
    part, or the end, or answer what HEAD asks during an upload with an error (`refusal_of_probes`).
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _GoogleHandler)
        self.token = TOKEN
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, _Upload] = {}
        self.log: list[str] = []
        self.refusals: Counter[int] = Counter()
        self.seconds_a_part = self.seconds_to_complete = 0.0
        self.has_part = threading.Event()
        self.refuses_end = self.loses_answer_to_end = self.forgets_upload = False
        self.falls_silent_at = ""
        self.refusal_of_probes = 0
        self.closing = threading.Event()
        self._is_silent = False
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, command: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        path, _, query = target.partition("?")
        asks = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        with self._lock:
            self.log.append(" ".join([command, *(f"{name}={asks[name]}" for name in sorted(asks))]))
        is_part, is_end = "partNumber" in asks, command == "POST" and "uploadId" in asks
        if (
            self._is_silent
            or (is_part and self.falls_silent_at == "part" and asks["partNumber"] == "2")
            or (is_end and self.falls_silent_at == "end")
        ):
            self._is_silent = True
            self.closing.wait()
            raise ConnectionAbortedError
        if command == "HEAD" and self.uploads and self.refusal_of_probes:
            return _refusal(self.refusal_of_probes, "")
        if is_end and self.forgets_upload:
            self.uploads.clear()
        if command == "POST" and "uploads" in asks:
            return self._initiate(path)
        if "uploadId" not in asks:
            return self.plain(command, target, headers, body)
        upload = self.uploads.get(asks["uploadId"])
        if upload is None or upload.path != path:
            return _refusal(404, "NoSuchUpload")
        if command == "PUT":
            return self._put_part(upload, asks.get("partNumber", ""), body)
        if command == "POST":
            return self._complete(asks["uploadId"], upload, body)
        if command == "DELETE":
            del self.uploads[asks["uploadId"]]
            return 204, {}, b""
        return _refusal(405, "MethodNotAllowed")

    def _initiate(self, path: str) -> Answer:
        with self._lock:
            number = f"upload/{next(self._numbers)}+"  # characters that an address must escape
            self.uploads[number] = _Upload(path)
        _, bucket, key = unquote(path).split("/", 2)
        names = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{number}</UploadId>"
        return 200, {}, f"<InitiateMultipartUploadResult>{names}</InitiateMultipartUploadResult>".encode()

    def _put_part(self, upload: _Upload, number: str, body: bytes) -> Answer:
        if not number.isdecimal() or not 1 <= int(number) <= 10_000:
            return _refusal(400, "InvalidArgument")
        time.sleep(self.seconds_a_part)
        with self._lock:
            if self.refusals[int(number)]:
                self.refusals[int(number)] -= 1
                return _refusal(503, "ServiceUnavailable")
            upload.parts[int(number)] = body
        self.has_part.set()
        return 200, {"ETag": _etag(body)}, b""

    def _complete(self, number: str, upload: _Upload, body: bytes) -> Answer:
        listed = [
            (int(part.findtext("PartNumber", "0")), part.findtext("ETag", ""))
            for part in ElementTree.fromstring(body).iter("Part")
        ]
        numbers = [part for part, _ in listed]
        if not listed or numbers != sorted(set(numbers)):
            return _refusal(400, "InvalidPartOrder")
        if any(part not in upload.parts or _etag(upload.parts[part]) != etag for part, etag in listed):
            return _refusal(400, "InvalidPart")
        if any(len(upload.parts[part]) < 5 << 20 for part in numbers[:-1]):
            return _refusal(400, "EntityTooSmall")
        if self.refuses_end:
            return _refusal(500, "InternalError")
        time.sleep(self.seconds_to_complete)
        status, headers, data = self.plain("PUT", upload.path, {}, b"".join(map(upload.parts.get, numbers)))
        if status != 200:
            return status, headers, data
        del self.uploads[number]
        if self.loses_answer_to_end:
            raise ConnectionAbortedError
        _, bucket, key = unquote(upload.path).split("/", 2)
        names = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><ETag>{headers['Etag']}</ETag>"
        return 200, {}, f"<CompleteMultipartUploadResult>{names}</CompleteMultipartUploadResult>".encode()

    def plain(self, command: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer what has nothing to do with parts: here from memory."""
        path, _, query = target.partition("?")
        place = unquote(path)
        if command == "GET" and place.count("/") == 1:
            return self._listing(f"{place}/", parse_qs(query).get("prefix", [""])[0])
        if command == "PUT":
            with self._lock:
                self.objects[place] = body
            return 200, {"Etag": _etag(body)}, b""
        data = self.objects.get(place)
        if data is None:
            return _refusal(404, "NoSuchKey")
        if command == "DELETE":
            del self.objects[place]
            return 204, {}, b""
        known = {"Etag": _etag(data), "Last-Modified": "Sat, 28 Nov 2026 10:00:00 GMT"}
        if headers.get("If-Match", known["Etag"]) != known["Etag"]:
            return _refusal(412, "PreconditionFailed")
        if command == "HEAD":
            return 200, known | {"Content-Length": str(len(data))}, b""
        if expected := headers.get("Range"):
            start, last = map(int, expected.removeprefix("bytes=").split("-"))
            stop = min(last + 1, len(data))
            known["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
            return 206, known, data[start:stop]
        return 200, known, data

    def _listing(self, bucket: str, prefix: str) -> Answer:
        files = "".join(
            f"<Contents><Key>{escape(place.removeprefix(bucket))}</Key><Size>{len(data)}</Size>"
            f"<LastModified>2026-11-28T10:00:00.000Z</LastModified><ETag>{_etag(data)}</ETag></Contents>"
            for place, data in sorted(self.objects.items())
            if place.startswith(bucket + prefix)
        )
        return (
            200,
            {},
            f"<ListBucketResult><IsTruncated>false</IsTruncated>{files}</ListBucketResult>".encode(),
        )

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients leave in the middle of an answer."""


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


@contextlib.contextmanager
def google_server() -> Iterator[GoogleServer]:
    """Wants `TOKEN`. Needs nothing that is not here, so it serves the ordinary suite."""
    with _serving(GoogleServer()) as server:
        yield server


@contextlib.contextmanager
def _serving(server: GoogleServer) -> Iterator[GoogleServer]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Front(GoogleServer):
    """What fake-gcs-server leaves out of the XML API: uploads in parts; the token; conditions and etags of a
    PUT, which becomes an upload of the JSON API, where fake-gcs-server has both; and `If-Match`."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port, self.host = port, ""

    def plain(self, command: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        passed_on = {name: value for name, value in headers.items() if name.casefold() != "host"}
        passed_on["Host"] = self.host
        if is_put := command == "PUT":
            _, bucket, key = unquote(target).split("/", 2)
            words = {"uploadType": "media", "name": key}
            if generation := headers.get("x-goog-if-generation-match"):
                words["ifGenerationMatch"] = generation
            command, target = "POST", f"/upload/storage/v1/b/{bucket}/o?{urlencode(words)}"
            passed_on["Content-Length"] = str(len(body))
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request(command, target, body, passed_on)
        answer = connection.getresponse()
        status, known, data = answer.status, dict(answer.headers), answer.read()
        connection.close()
        if is_put and status == 200:
            known["Etag"] = f'"{json.loads(data)["etag"]}"'
        expected = headers.get("If-Match")
        if expected and status in (200, 206) and known["Etag"] != expected:
            return _refusal(412, "PreconditionFailed")
        return status, known, data


class _GoogleHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: GoogleServer

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not self.server.token or self.headers.get("Authorization") == f"Bearer {self.server.token}":
            status, headers, data = self.server.answer(self.command, self.path, self.headers, body)
        else:
            status, headers, data = _refusal(401, "AuthenticationRequired")
        if self.command == "HEAD":
            data = b""
        self.send_response_only(status)
        for name, value in headers.items():
            if name.casefold() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing: `log` has the requests."""


# ------------------------------------------------------------------------------------ Azure


@contextlib.contextmanager
def azure_server(container: str) -> Iterator[CloudServer]:
    """A server with a container, which wants requests signed by `ACCOUNT_KEY`."""
    folder = _installed(
        f"azurite-{AZURITE_VERSION}",
        "npm",
        *("install", "--prefix", "{folder}", "--no-audit", "--no-fund", f"azurite@{AZURITE_VERSION}"),
    )
    port = free_port()
    main = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    options = ["--blobPort", str(port), "--inMemoryPersistence", "--silent", "--skipApiVersionCheck"]
    with _running(["node", str(main), *options, "--disableTelemetry"], port):
        endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
        _make_container(endpoint, container)
        login = {"azure_storage_account_name": ACCOUNT, "azure_storage_account_key": ACCOUNT_KEY}
        yield CloudServer(endpoint, login | {"azure_endpoint": endpoint, "allow_http": "true"})


def _make_container(endpoint: str, name: str) -> None:
    date, version = formatdate(usegmt=True), "2021-08-06"
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n{resource}"
    signed = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256)
    login = f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"
    headers = {"x-ms-date": date, "x-ms-version": version, "Authorization": login, "Content-Type": ""}
    request = urllib.request.Request(f"{endpoint}/{name}?restype=container", b"", headers, method="PUT")
    urllib.request.urlopen(request).close()
