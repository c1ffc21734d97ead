"""Objects on a server, in a separate folder of the benchmark: S3 by obstore, HDFS by fsspec's WebHDFS."""

from __future__ import annotations

import logging
import os
import sys
import urllib.request
from abc import abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar
from urllib.parse import urlsplit
from uuid import uuid4

from lamella.core.bench.systems.base import SERVER_FOLDER_NOTE, Entity, NotReady, ObjectSystem
from lamella.core.bench.systems.folder import NO_ENTITIES, OF_ENTITIES
from lamella.core.bench.systems.server_process import (
    ANSWER_SECONDS,
    POLL_SECONDS,
    START_SECONDS,
    ServerProcess,
    await_listener,
    free_port,
)
from lamella.core.bench.workloads.catalog import CATALOG

S3_VARIABLE, HDFS_VARIABLE = "LAMELLA_BENCH_S3", "LAMELLA_BENCH_HDFS"
"""Environment variables with the folder for benchmarks: s3://bucket/folder, webhdfs://user@host:9870/folder."""
BUCKET, FOLDER = "lamella-bench", "lamella-bench-"
DEFAULT_PORT = 9870
"""The default port of namenodes."""
MOTO = """
import sys
from moto.server import ThreadedMotoServer
ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False).start()
sys.stdin.read()
"""
"""A server that ends when its standard input is closed, and so with the process that started it."""
log = logging.getLogger(__name__)
_servers: list[ServerProcess] = []


class ServerObjects(ObjectSystem):
    """Objects in a folder of the server. Its address is recorded in the benchmark's own folder, and it is
    removed along with that."""

    cannot = dict.fromkeys(OF_ENTITIES, NO_ENTITIES)
    columns = 2
    variable: ClassVar[str]

    def fill(self, entities: list[Entity]) -> None:
        """Does nothing: it has no entities."""

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        note = self.folder / SERVER_FOLDER_NOTE
        if not note.exists():
            note.write_text(f"{self.address()}/{FOLDER}{uuid4().hex}", encoding="utf-8")
        self.connect(note.read_text(encoding="utf-8"))

    @classmethod
    def address(cls) -> str:
        """Return the address of the folder for benchmarks, without a final slash. Raises `NotReady`."""
        address = os.environ.get(cls.variable, "").rstrip("/")
        if not address:
            raise NotReady(f"No {cls.id} server is configured", fix=f"Set {cls.variable} to its address")
        return address

    @abstractmethod
    def connect(self, address: str) -> None:
        """Connect to a folder of the server."""

    @abstractmethod
    def remove_all(self) -> None:
        """Remove all objects of the folder."""


class S3Objects(ServerObjects):
    id = "s3"
    variable = S3_VARIABLE
    description = "an S3 server over HTTP through obstore: a put is as durable as the server makes it"

    @classmethod
    def version(cls) -> str:
        return f"obstore {version('obstore')}"

    @classmethod
    def answering_version(cls) -> str:
        if os.environ.get(S3_VARIABLE):
            return f"the server at {urlsplit(os.environ[S3_VARIABLE]).netloc} with {cls.version()}"
        if find_spec("moto") is None:
            fix = f"Set {S3_VARIABLE} to s3://bucket/folder, or install a server: pip install 'moto[server]'"
            raise NotReady("No S3 server is configured", fix=fix)
        return f"moto {version('moto')}, started for the benchmark over loopback, with {cls.version()}"

    @classmethod
    def stand_in(cls) -> str:
        """Return moto if this process started it: a server written in Python."""
        _start_moto()
        return f"moto {version('moto')}" if _servers else ""

    @classmethod
    def address(cls) -> str:
        _start_moto()
        return super().address()

    def connect(self, address: str) -> None:
        from obstore.store import S3Store

        options: dict[str, Any] = {"client_options": {"allow_http": True}}
        self._store = S3Store.from_url(address, **options)

    def close(self) -> None:
        """Its connections end with the process."""

    def put_object(self, key: str, body: bytes) -> None:
        self._store.put(key, body)

    def get_object(self, key: str) -> bytes:
        return bytes(self._store.get(key).bytes())

    def head_object(self, key: str) -> int:
        return self._store.head(key)["size"]

    def list_objects(self, prefix: str) -> Sequence[str]:
        return sorted(item["path"] for page in self._store.list(f"{prefix}/") for item in page)

    def disk_bytes(self) -> int:
        return sum(item["size"] for page in self._store.list() for item in page)

    def remove_all(self) -> None:
        for page in self._store.list():
            self._store.delete([item["path"] for item in page])


class HdfsObjects(ServerObjects):
    id = "hdfs"
    variable = HDFS_VARIABLE
    description = (
        "HDFS over HTTP through fsspec's WebHDFS: a put is a request to the namenode and one to a datanode, "
        "as durable as the cluster makes it"
    )

    @classmethod
    def version(cls) -> str:
        return f"fsspec {version('fsspec')}"

    @classmethod
    def answering_version(cls) -> str:
        parts = urlsplit(cls.address())
        await_listener(cls.address(), DEFAULT_PORT, "namenode", "Start it")
        return f"the cluster at {parts.hostname}:{parts.port or DEFAULT_PORT} with {cls.version()}"

    def connect(self, address: str) -> None:
        from fsspec.implementations.webhdfs import WebHDFS

        parts = urlsplit(address)
        self._root = parts.path
        self._files = WebHDFS(parts.hostname, parts.port or DEFAULT_PORT, user=parts.username)

    def close(self) -> None:
        """Nothing is open: each call is a separate request."""

    def put_object(self, key: str, body: bytes) -> None:
        self._files.pipe_file(f"{self._root}/{key}", body)

    def get_object(self, key: str) -> bytes:
        body: bytes = self._files.cat_file(f"{self._root}/{key}")
        return body

    def head_object(self, key: str) -> int:
        size: int = self._files.info(f"{self._root}/{key}")["size"]
        return size

    def list_objects(self, prefix: str) -> Sequence[str]:
        names = self._files.ls(f"{self._root}/{prefix}", detail=False)
        return sorted(f"{prefix}/{name.rpartition('/')[2]}" for name in names)

    def disk_bytes(self) -> int:
        return sum(self._files.du(self._root, total=False).values())

    def remove_all(self) -> None:
        self._files.rm(self._root, recursive=True)


def drop(address: str) -> None:
    """Remove the folder that a benchmark created on a configured server. If the server does not answer, the
    folder stays, which is logged. A server that was started for the benchmark has already ended."""
    for kind in (S3Objects, HdfsObjects):
        place = os.environ.get(kind.variable, "").rstrip("/")
        if place and address.startswith(f"{place}/{FOLDER}"):
            from obstore.exceptions import BaseError

            objects = kind(Path(), CATALOG)
            try:
                objects.connect(address)
                objects.remove_all()
            except (OSError, BaseError) as error:
                log.warning("The objects at %s could not be removed: %s", address, error)


def _start_moto() -> None:
    """Start a server if no address is configured. It ends with this process. Raises `NotReady` if it does not
    start."""
    if os.environ.get(S3_VARIABLE) or find_spec("moto") is None:
        return
    port = free_port()
    server = ServerProcess([sys.executable, "-c", MOTO, str(port)])
    endpoint, end = f"http://127.0.0.1:{port}", monotonic() + START_SECONDS
    while True:
        try:
            request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
            urllib.request.urlopen(request, timeout=ANSWER_SECONDS).close()
            break
        except OSError as error:
            if server.status is not None or monotonic() > end:
                server.end()
                raise NotReady("The S3 server was started, but does not answer", str(error)) from error
            sleep(POLL_SECONDS)
    _servers.append(server)
    os.environ |= {
        S3_VARIABLE: f"s3://{BUCKET}/objects",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        "AWS_REGION": "us-east-1",
    }
