"""Connections to the servers of the tests, saved as a user's are."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from lamella.core.remote import requests
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.servers import servers
from tests.remote_servers import REGION, Proxy, S3Server, WebServer, proxy_to, s3_server, web_server

_numbers = itertools.count()
KEYS = {"access_key": "env:TEST_ACCESS_KEY", "secret_key": "env:TEST_SECRET_KEY"}


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test connect anew, without the machine's credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(requests, "FIRST_PAUSE_SECONDS", 0.01)  # of servers that throttle
    servers.forget()
    files.forget_all()
    yield
    servers.forget()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with a saved connection that refers to the environment for its secrets."""
    server = s3_server()
    monkeypatch.setenv("TEST_ACCESS_KEY", server.access_key)
    monkeypatch.setenv("TEST_SECRET_KEY", server.secret_key)
    Connections().save(s3_connection(server.endpoint))
    return server


def s3_connection(endpoint: str, name: str = "test") -> Connection:
    return Connection(name, "s3", endpoint=endpoint, region=REGION, secrets=KEYS)


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """An empty bucket for a single test."""
    return s3.bucket(f"bucket-{os.getpid()}-{next(_numbers)}")


@pytest.fixture
def proxy(s3: S3Server) -> Iterator[Proxy]:
    """A proxy between the connection and the server."""
    with proxy_to(s3.endpoint) as proxy:
        Connections().save(s3_connection(proxy.endpoint), replace=True)
        yield proxy


@pytest.fixture
def web() -> Iterator[WebServer]:
    with web_server() as server:
        yield server
