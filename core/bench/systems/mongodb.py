"""MongoDB through pymongo: a document for each row. Also the server, and the databases that a benchmark
creates on it."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import pymongo
from pymongo import MongoClient, UpdateOne, uri_parser
from pymongo.collection import Collection
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from lamella.core.bench.systems.base import (
    DATABASE_NOTE,
    FIELDS,
    Entity,
    NotReady,
    OperatorEntities,
    Rows,
    System,
    TableSystem,
)
from lamella.core.bench.systems.rows import dict_blocks, names_of
from lamella.core.bench.systems.server_process import START_SECONDS, ServerProcess, free_port
from lamella.core.bench.workloads.model import Columns, Values
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row, dicts
from lamella.core.errors import LamellaError

URI_VARIABLE = "LAMELLA_MONGODB_URI"
MONGOD_VARIABLE = "LAMELLA_MONGOD"
DEFAULT_URI = "mongodb://localhost:27017"
ANSWER_SECONDS = 2.0
POLL_MILLISECONDS = 200
Document = dict[str, Any]
Client = MongoClient[Document]
_OURS = re.compile(r"lamella_bench_[0-9a-f]{32}")
_NO_SUCH_COMMAND = 59
log = logging.getLogger(__name__)


class NoServer(LamellaError):
    """No server with MongoDB's protocol is available."""


def connect() -> Client:
    """Return a client whose writes are acknowledged by one server. Raises `NoServer` for an invalid URI."""
    try:
        client: Client = MongoClient(_uri(), w=1, serverSelectionTimeoutMS=round(1000 * ANSWER_SECONDS))
    except PyMongoError as error:
        raise NoServer("mongodb_uri is not the address of a MongoDB server", str(error), _WAY_OUT) from error
    return client


def server() -> str:
    """Return the version of the server that answers, or that can be started, such as "MongoDB 8.0.4 with
    pymongo 4.20.0". Raises `NoServer` within seconds."""
    with _connection() as client:
        try:
            info = client.admin.command("buildInfo")
        except ConnectionFailure as error:
            if program := mongod():
                return f"{_version_of(program)}, started for the benchmark, with pymongo {pymongo.version}"
            raise NoServer(f"No server answers at {_places()}", _first_line(error), _WAY_OUT) from error
        except PyMongoError as error:
            why = _first_line(error)
            raise NoServer(f"The server at {_places()} cannot be used", why, _WAY_OUT) from error
        return f"{_name(client, info)} with pymongo {pymongo.version}"


def mongod() -> str | None:
    """Return the path of MongoDB's own server if it is installed: from the environment variable, where an
    empty value means none, or from PATH."""
    program = os.environ.get(MONGOD_VARIABLE)
    return shutil.which("mongod") if program is None else program or None


def start_if_needed() -> None:
    """Start a server if none answers at the address and one is installed. It ends with this process. Raises
    `NoServer` if it does not start."""
    program = mongod()
    if _servers or program is None or _answers(_uri()):
        return
    folder = Path(tempfile.mkdtemp(prefix="mongod-"))  # in a child process, inside the benchmark's folder
    port = free_port()
    uri = f"mongodb://127.0.0.1:{port}"
    server = _start(program, folder, port)
    try:
        _await_answer(server, uri, folder / LOG)
    except BaseException:
        server.end()
        raise
    _servers.append(server)
    os.environ[URI_VARIABLE] = uri


_servers: list[ServerProcess] = []
"""The server that this process started, if any."""

LOG = "mongod.log"


def _start(program: str, folder: Path, port: int) -> ServerProcess:
    (folder / "data").mkdir()
    place = ("--dbpath", str(folder / "data"), "--bind_ip", "127.0.0.1", "--port", str(port))
    try:
        with (folder / LOG).open("wb") as log:
            return ServerProcess([program, *place], log, folder)
    except OSError as error:
        shutil.rmtree(folder)
        raise NoServer(f"{program} cannot be started", error.strerror or str(error), _WAY_OUT) from error


def _await_answer(server: ServerProcess, uri: str, log_: Path) -> None:
    end = monotonic() + START_SECONDS
    while not _answers(uri):
        status = server.status
        if status is not None or monotonic() > end:
            last = log_.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            how = "does not answer" if status is None else f"ended with status {status}"
            raise NoServer(f"The server that was started {how}", "".join(last), _WAY_OUT)


def _answers(uri: str) -> bool:
    with closing(MongoClient[Document](uri, serverSelectionTimeoutMS=POLL_MILLISECONDS)) as client:
        try:
            client.admin.command("ping")
        except ConnectionFailure:
            return False
        except PyMongoError:  # it answers; `server` reports the error
            return True
    return True


def _version_of(program: str) -> str:
    """Return the version from the first line that it prints, such as "db version v8.0.4"."""
    try:
        process = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoServer(f"{program} cannot be started", str(error), _WAY_OUT) from error
    match = re.search(r"db version v(\S+)", process.stdout)
    if match is None:
        raise NoServer(f"{program} is not a MongoDB server", _first_words(process), _WAY_OUT)
    return f"MongoDB {match.group(1)}"


def _first_words(process: subprocess.CompletedProcess[str]) -> str:
    lines = (process.stdout + process.stderr).strip().splitlines()
    return lines[0] if lines else f"It ended with status {process.returncode}"


def database_of(folder: Path) -> str:
    """Return the name of the database of this folder, which the first call records there. It is not recorded
    if the server was started by this process, since the database ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    if _servers:
        return f"lamella_bench_{blake2b(str(folder).encode(), digest_size=16).hexdigest()}"
    note = folder / DATABASE_NOTE
    if not note.exists():
        note.write_text(f"lamella_bench_{uuid4().hex}", encoding="utf-8")
    return note.read_text(encoding="utf-8")


def drop(name: str) -> None:
    """Drop a database that a benchmark created, and no other. If the server does not answer, the database
    stays, which is logged."""
    if not _OURS.fullmatch(name):
        return
    try:
        with _connection() as client:
            client.drop_database(name)
    except (PyMongoError, NoServer) as error:
        log.warning("The database %s at %s could not be dropped: %s", name, _places(), error)


def stored_bytes(name: str) -> int:
    """Return the bytes of documents and indexes in the server's files, after having it write them."""
    with _connection() as client:
        try:
            client.admin.command("fsync")
        except OperationFailure as error:
            if error.code != _NO_SUCH_COMMAND:
                log.info("The server did not flush its files: %s", error)
        statistics = client[name].command("dbStats")
    return int(
        statistics.get("totalSize") or statistics.get("storageSize", 0) + statistics.get("indexSize", 0)
    )


def compact(client: Client, name: str, collection: str) -> bool:
    """Free unused space; return False if the server does not support it."""
    try:
        client[name].command("compact", collection)
    except OperationFailure as error:
        if error.code == _NO_SUCH_COMMAND:
            return False
        raise
    return True


_WAY_OUT = f"Start one, install mongod, or set mongodb_uri in the settings (or {URI_VARIABLE}) to its address"


def _uri() -> str:
    return os.environ.get(URI_VARIABLE) or DEFAULT_URI


def _places() -> str:
    """Return the hosts in the URI, without the password that it may contain."""
    try:
        nodes = uri_parser.parse_uri(_uri(), validate=False)["nodelist"]
    except (PyMongoError, ValueError):
        return "the address in mongodb_uri"
    return ", ".join(f"{host}:{port}" for host, port in nodes)


@contextmanager
def _connection() -> Iterator[Client]:
    client = connect()
    try:
        yield client
    finally:
        client.close()


def _name(client: Client, document: Document) -> str:
    """Return the name and version of the server. One that only speaks the protocol reports the version that
    it emulates."""
    emulator = _stand_in(client, document)
    if not emulator:
        return f"MongoDB {document['version']}"
    return (
        f"not MongoDB's engine, but its protocol by {emulator}, which emulates version {document['version']}"
    )


_STAND_INS = {"java": "mongo-java-server"}
"""Names of other servers, by the names of their processes."""


def stand_in() -> str:
    """Return the name of the server that stands in for MongoDB's own; empty for MongoDB's own. Raises
    `PyMongoError`."""
    with _connection() as client:
        return _stand_in(client, client.admin.command("buildInfo"))


def _stand_in(client: Client, document: Document) -> str:
    """Return the name of a stand-in. Only MongoDB's own server reports its storage engines."""
    if "storageEngines" in document:
        return ""
    try:
        process = str(client.admin.command("serverStatus").get("process", "unknown"))
    except OperationFailure:
        process = "unknown"
    return _STAND_INS.get(process, f"process {process}")


def _first_line(error: Exception) -> str:
    """Return an error's text before the description of the topology."""
    return str(error).partition(" (configured timeouts")[0].partition(", Timeout:")[0]


COLLECTION = "benchmark"


class MongoDatabase(System):
    """The base of MongoDB's systems: one collection in a separate database, on the server in the settings."""

    id = "mongodb"
    description = (
        "through pymongo, write concern w=1 and the server's default journal: a commit is durable only once "
        "the journal is synced, with MongoDB within 0.1 s; `_id` is the row's key or its number"
    )

    @classmethod
    def version(cls) -> str:
        return f"pymongo {pymongo.version}"

    @classmethod
    def answering_version(cls) -> str:
        try:
            return server()
        except NoServer as error:
            raise NotReady(error.what, error.why, error.fix) from error

    @classmethod
    def stand_in(cls) -> str:
        try:
            start_if_needed()
        except NoServer as error:
            raise NotReady(error.what, error.why, error.fix) from error
        return stand_in()

    def open(self, writing: bool) -> None:
        """Send a ping, since a client connects at its first request, which would be part of a timing."""
        self._name = database_of(self.folder)
        self._client = connect()
        self._client.admin.command("ping")

    def close(self) -> None:
        self._client.close()

    def vacuum(self) -> bool:
        return compact(self._client, self._name, COLLECTION)

    def disk_bytes(self) -> int:
        return stored_bytes(self._name)

    @property
    def _documents(self) -> Collection[Document]:
        return self._client[self._name][COLLECTION]


class MongoTable(MongoDatabase, TableSystem):
    @property
    def columns(self) -> int:
        return len(names_of(self.workload))

    def prepare(self, rows: Rows) -> list[Document]:
        return self._numbered_documents(rows, 0)

    def create(self, prepared: list[Document]) -> None:
        self._documents.insert_many(prepared, ordered=False)

    def fill(self, blocks: Iterable[Columns]) -> None:
        for number, block in enumerate(blocks):
            self._documents.insert_many(
                self._numbered_documents(dicts(block), number * BLOCK_ROWS), ordered=False
            )

    def read(self) -> list[Document]:
        return list(self._documents.find())

    def query(self) -> list[Document]:
        return list(self._documents.find({"col1": {"$gt": 100}, "col97": {"$lt": 1000}}))

    def find(self) -> list[Document]:
        return list(self._documents.find({"col0": -1}, {"_id": False, "col0": True}))

    def index(self, column: str) -> bool:
        """Create an index, except for the key: it is the `_id`, which always has one."""
        if column == self.workload.key:
            return False
        self._documents.create_index(column)
        return True

    def get(self, row_id: int) -> Document | None:
        return self._documents.find_one(row_id)

    def as_row(self, answer: Document) -> Mapping[str, Any]:
        return answer | ({self.workload.key: answer["_id"]} if self.workload.key else {})

    def prepare_update(self, rows: Rows) -> list[UpdateOne]:
        key = self.workload.key
        assert key is not None
        names = names_of(self.workload)[1:]
        return [_set(int(row[key]), {name: row[name] for name in names}) for row in rows]

    def update(self, prepared: list[UpdateOne]) -> None:
        self._documents.bulk_write(prepared, ordered=False)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> list[UpdateOne]:
        return [_set(row_id, row) for row_id, row in zip(row_ids, rows, strict=True)]

    def delete(self, row_ids: Sequence[int]) -> None:
        self._documents.delete_many({"_id": {"$in": list(row_ids)}})

    def blocks(self, answer: list[Document], names: Sequence[str]) -> Iterator[Sequence[Values]]:
        key = self.workload.key
        return dict_blocks(answer, ["_id" if name == key else name for name in names])

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        rows: list[Document] = []
        for document in self._documents.find():
            rows.append(document)
            if len(rows) == BLOCK_ROWS:
                yield from self.blocks(rows, names)
                rows = []
        yield from self.blocks(rows, names)

    def _numbered_documents(self, rows: Rows, start: int) -> list[Document]:
        key = self.workload.key
        if key is None:
            return [{"_id": number, **row} for number, row in enumerate(rows, start)]
        names = names_of(self.workload)[1:]
        return [{"_id": row[key], **{name: row[name] for name in names}} for row in rows]


def _set(row_id: int, values: Row) -> UpdateOne:
    return UpdateOne({"_id": row_id}, {"$set": values})


class MongoEntities(MongoDatabase, OperatorEntities):
    unset_to = ""

    def open(self, writing: bool) -> None:
        super().open(writing)
        last = self._documents.find_one(sort=[("_id", -1)], projection=["_id"]) if writing else None
        self._next = last["_id"] + 1 if last else 0

    def fill(self, entities: list[Entity]) -> None:
        self.create(entities)

    def ids(self) -> list[int]:
        return [document["_id"] for document in self._documents.find({}, ["_id"]).sort("_id")]

    def get(self, row_id: int) -> Document | None:
        return self._documents.find_one(row_id)

    def as_entity(self, answer: Document) -> Entity:
        return {name: answer.get(name) for name in FIELDS}

    def create(self, entities: list[Entity]) -> None:
        documents = [{"_id": number, **entity} for number, entity in enumerate(entities, self._next)]
        self._next += len(documents)
        self._documents.insert_many(documents, ordered=False)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._documents.delete_many({"_id": {"$in": list(row_ids)}})

    def contents(self) -> Iterator[Entity]:
        return map(self.as_entity, self._documents.find())

    def operate(self, row_id: int, operators: dict[str, Any]) -> None:
        self._documents.update_one({"_id": row_id}, operators)
