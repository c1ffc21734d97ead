"""The MongoDB server of a race: where it is, what it is, and the databases that a race makes on it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pymongo
from pymongo import MongoClient, uri_parser
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from lamella.core.bench.outside import NOTE
from lamella.core.errors import LamellaError

URI_VARIABLE = "LAMELLA_MONGODB_URI"
DEFAULT_URI = "mongodb://localhost:27017"
ANSWER_SECONDS = 2.0

Document = dict[str, Any]
Client = MongoClient[Document]

_OURS = re.compile(r"lamella_bench_[0-9a-f]{32}")
_NO_SUCH_COMMAND = 59

log = logging.getLogger(__name__)


class NoServer(LamellaError):
    """Nothing that speaks MongoDB's protocol can be asked."""


def connect() -> Client:
    """Writes are acknowledged by one server. Raises NoServer for a URI that says nothing."""
    try:
        client: Client = MongoClient(_uri(), w=1, serverSelectionTimeoutMS=round(1000 * ANSWER_SECONDS))
    except PyMongoError as error:
        raise NoServer("mongodb_uri is no address of a MongoDB server", str(error), _WAY_OUT) from error
    return client


def server() -> str:
    """Who answers: "MongoDB 8.0.4 with pymongo 4.20.0", say. Raises NoServer within seconds."""
    with _connected() as client:
        try:
            told = client.admin.command("buildInfo")
        except ConnectionFailure as error:
            raise NoServer(f"No server answers at {_places()}", _first_line(error), _WAY_OUT) from error
        except PyMongoError as error:
            why = _first_line(error)
            raise NoServer(f"The server at {_places()} cannot be used", why, _WAY_OUT) from error
        return f"{_name(client, told)} with pymongo {pymongo.version}"


def database_of(folder: Path) -> str:
    """The name of this folder's own database, noted in it the first time."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / NOTE
    if not note.exists():
        note.write_text(f"lamella_bench_{uuid4().hex}", encoding="utf-8")
    return note.read_text(encoding="utf-8")


def drop(name: str) -> None:
    """A database that a race made and no other. One that is out of reach stays, which is logged."""
    if not _OURS.fullmatch(name):
        return
    try:
        with _connected() as client:
            client.drop_database(name)
    except (PyMongoError, NoServer) as error:
        log.warning("The database %s at %s could not be dropped: %s", name, _places(), error)


def stored_bytes(name: str) -> int:
    """Of documents and indexes in the server's files, after it was asked to write them there."""
    with _connected() as client:
        try:
            client.admin.command("fsync")
        except OperationFailure as error:
            if error.code != _NO_SUCH_COMMAND:
                log.info("The server does not flush its files for us: %s", error)
        told = client[name].command("dbStats")
    return int(told.get("totalSize") or told.get("storageSize", 0) + told.get("indexSize", 0))


def compact(client: Client, name: str, collection: str) -> bool:
    """Give back space; False where the server cannot."""
    try:
        client[name].command("compact", collection)
    except OperationFailure as error:
        if error.code == _NO_SUCH_COMMAND:
            return False
        raise
    return True


_WAY_OUT = f"Start one, or set mongodb_uri in the settings (or {URI_VARIABLE}) to where one is"


def _uri() -> str:
    return os.environ.get(URI_VARIABLE) or DEFAULT_URI


def _places() -> str:
    """Without what a URI may hold beside them: a password."""
    try:
        nodes = uri_parser.parse_uri(_uri(), validate=False)["nodelist"]
    except (PyMongoError, ValueError):
        return "the address in mongodb_uri"
    return ", ".join(f"{host}:{port}" for host, port in nodes)


@contextmanager
def _connected() -> Iterator[Client]:
    client = connect()
    try:
        yield client
    finally:
        client.close()


def _name(client: Client, told: Document) -> str:
    """Only MongoDB's own server tells of its storage engines; others say which version they answer like."""
    if "storageEngines" in told:
        return f"MongoDB {told['version']}"
    try:
        process = client.admin.command("serverStatus").get("process", "unknown")
    except OperationFailure:
        process = "unknown"
    return f"not MongoDB itself but a server (process {process}) that answers like version {told['version']}"


def _first_line(error: Exception) -> str:
    """Before the description of the topology."""
    return str(error).partition(" (configured timeouts")[0].partition(", Timeout:")[0]
