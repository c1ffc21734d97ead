"""Servers on loopback for the long forms of tests: Google Cloud Storage by fake-gcs-server, Azure by Azurite.

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
import json
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

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
            done = subprocess.run(
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
        if done.returncode:
            pytest.skip(f"{name} could not be fetched: {done.stderr.strip().splitlines()[-1:]}")
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


# ------------------------------------------------------------------------------------ Google


@contextlib.contextmanager
def gcs_server(bucket: str) -> Iterator[str]:
    """The endpoint of a server with a bucket, which wants `TOKEN`."""
    folder = _installed(
        f"fake-gcs-server-{GCS_VERSION}",
        "go",
        "install",
        f"github.com/fsouza/fake-gcs-server@v{GCS_VERSION}",
        environment={"GOBIN": "{folder}", "CGO_ENABLED": "0"},
    )
    port = free_port()
    front = _Front(port)
    command = [str(folder / "fake-gcs-server"), "-backend", "memory", "-scheme", "http"]
    own = ["-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{front.server_address[1]}"]
    with _running([*command, *own, "-log-level", "error"], port):
        made = urllib.request.Request(
            f"http://127.0.0.1:{front.server_address[1]}/storage/v1/b?project=tests",
            json.dumps({"name": bucket}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
        )
        thread = threading.Thread(target=front.serve_forever, args=(0.01,))
        thread.start()
        try:
            urllib.request.urlopen(made).close()
            yield f"http://127.0.0.1:{front.server_address[1]}"
        finally:
            front.shutdown()
            front.server_close()
            thread.join()


class _Front(http.server.ThreadingHTTPServer):
    """What fake-gcs-server leaves out of the XML API: this wants the token, calls every PUT signed, without
    which it is refused, answers it with an etag, and heeds `If-Match`. Uploads in parts there are none."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _FrontHandler)
        self.port = port

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients leave in the middle of an answer."""


class _FrontHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Front

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            denied = b"<Error><Code>AuthenticationRequired</Code></Error>"
            self._answer(401, {}, b"" if self.command == "HEAD" else denied)
            return
        path = self.path
        if self.command == "PUT":
            path += ("&" if "?" in path else "?") + "X-Goog-Algorithm=GOOG4-RSA-SHA256"
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        connection.request(self.command, path, body, dict(self.headers))
        answer = connection.getresponse()
        status, headers, data = answer.status, dict(answer.headers), answer.read()
        connection.close()
        if self.command == "PUT" and status == 200:
            headers["Etag"] = f'"{json.loads(data)["etag"]}"'
        wanted = self.headers.get("If-Match")
        if wanted and status in (200, 206) and headers["Etag"] != wanted:
            status, headers, data = 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
        self._answer(status, headers, data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.casefold() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


# ------------------------------------------------------------------------------------ Azure


@contextlib.contextmanager
def azure_server(container: str) -> Iterator[str]:
    """The endpoint of a server with a container, which wants requests signed by `ACCOUNT_KEY`."""
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
        yield endpoint


def _make_container(endpoint: str, name: str) -> None:
    date, version = formatdate(usegmt=True), "2021-08-06"
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n{resource}"
    signed = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256)
    login = f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"
    headers = {"x-ms-date": date, "x-ms-version": version, "Authorization": login, "Content-Type": ""}
    made = urllib.request.Request(f"{endpoint}/{name}?restype=container", b"", headers, method="PUT")
    urllib.request.urlopen(made).close()
