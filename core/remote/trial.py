"""Tests connections: whether the server answers, and what it lists with the given credentials."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from lamella.core.jobs import Job
from lamella.core.remote import hdfs
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import BadConnection, Connection
from lamella.core.remote.kinds import kind_of_scheme
from lamella.core.remote.problems import unreachable
from lamella.core.remote.requests import answer
from lamella.core.remote.server import CONNECT_SECONDS, Server
from lamella.core.remote.servers import new_server

FIRST_ENTRIES = 20


@dataclass(frozen=True)
class Trial:
    """The result: the address that was listed or requested, some names in it, and the seconds that it took.
    `route` is a sentence on how the server was reached, if there are several ways."""

    address: str
    names: tuple[str, ...]
    seconds: float
    route: str = ""

    @property
    def sentence(self) -> str:
        """`s3://trips answers in 12 ms: 2024, 2025`."""
        names = ", ".join(self.names[:5]) + (", …" if len(self.names) > 5 else "")
        answer = f"{self.address} answers in {self.seconds * 1000:,.0f} ms{f': {names}' if names else ''}"
        return f"{answer}. {self.route}" if self.route else answer


def try_connection(connection: Connection, address: str = "", job: Job | None = None) -> Trial:
    """List an address, by default the first bucket of the connection or the root of its file system. For
    Spark, list the catalogs. Blocks for a few seconds, or as long as a Spark server needs. Raises
    `FileProblem`, `ServerProblem`, `ServerRefusal`, `MissingSecret`, and `BadConnection` if there is no
    address to list."""
    begun = time.monotonic()
    text = address or _address_of(connection)
    if connection.kind == "spark":
        catalogs = _catalogs(connection, job or Job())
        return Trial(text, catalogs, time.monotonic() - begun)
    place = Address.parse(text)
    if kind_of_scheme(place.scheme).name != connection.kind:
        raise BadConnection(
            f"The connection '{connection.name}' does not serve {text}",
            f"It is a connection to {connection.of_kind.label}",
            field="kind",
        )
    server = new_server(place, connection)
    names = answer(lambda: _names(server, place), job)
    way = hdfs.route(place, connection).sentence if connection.kind == "hdfs" else ""
    return Trial(text, names, time.monotonic() - begun, way)


def _names(server: Server, place: Address) -> tuple[str, ...]:
    if place.kind.name == "http":
        server.status(place)
        return ()
    page: list[str] = []
    for entries in server.entries(place):
        page = [entry.address.name for entry in entries[:FIRST_ENTRIES]]
        break
    return tuple(page)


def _address_of(connection: Connection) -> str:
    kind = connection.of_kind
    if kind.name == "spark":
        return connection.endpoint
    if kind.name == "hdfs" and connection.endpoint:
        return f"hdfs://{urlsplit(connection.endpoint).netloc}/"
    if not connection.places:
        raise BadConnection(
            f"The connection '{connection.name}' cannot be tested without an address",
            f"It names no {kind.places}",
            f"Give an address, such as {kind.schemes[0]}://{kind.places.removesuffix('s')}/",
            field="places",
        )
    scheme = "https" if kind.name == "http" else kind.schemes[0]
    return f"{scheme}://{connection.places[0]}/"


def _catalogs(connection: Connection, job: Job) -> tuple[str, ...]:
    from lamella.core.remote.spark_connect import SparkServer, parse_address

    _knock(connection)  # fails sooner than the library
    server = SparkServer(parse_address(connection.endpoint)[0], connection)
    try:
        return tuple(server.catalogs(job))
    finally:
        server.close()


def _knock(connection: Connection) -> None:
    server = urlsplit(connection.endpoint)
    try:
        socket.create_connection((server.hostname or "", server.port or 15002), CONNECT_SECONDS).close()
    except OSError as error:
        raise unreachable(connection.endpoint, error.strerror or str(error)) from error
