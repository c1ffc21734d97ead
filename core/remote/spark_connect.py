"""Spark Connect servers: their addresses and tables, and answers to SQL as streams of Arrow data."""

from __future__ import annotations

import logging
import os
import queue
import re
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from lamella.core.errors import BadData, BadQuery, Cancelled, LamellaError, MissingLibrary
from lamella.core.jobs import Job
from lamella.core.libraries import main_module_as_file
from lamella.core.processes import call_after_fork
from lamella.core.remote.connections import Connection, Connections

log = logging.getLogger(__name__)
SCHEME = "sc://"
DEFAULT_PORT = 15002
ZONE = "UTC"
"""The session's time zone, in which the server reads and writes timestamps with a zone."""
_ADDRESS = re.compile(r"sc://(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?(?P<rest>/.*)?", re.S)
_PARAMETERS = re.compile(r";\s*use_ssl=(true|false)\s*$", re.I)
_SECRETS = re.compile(r";[^;/]*(token|password|secret)[^;=/]*=", re.I)
_USER = re.compile(r"sc://(?!\[)(?![^/@:]*(?::\d*)?/)[^@]*@", re.I)
_PART = r"(?:`(?:[^`]|``)+`|[^`.]+)"
FORMATS = ("parquet", "delta", "iceberg", "orc", "csv", "json", "avro", "text")
"""Formats in which a server can read a path."""

_SESSION_SETTINGS = {
    "spark.sql.caseSensitive": "true",  # 'n' and 'N' are different columns
    "spark.sql.ansi.enabled": "true",  # an overflow or a failed cast is an error, as in DuckDB
}
SILENCE_SECONDS = 1.0
"""After this long without an answer, a probe checks whether the server is still there."""
PROBE_SECONDS = 3.0
"""The timeout of that probe."""
INTERRUPTS, INTERRUPT_PAUSE_SECONDS = 20, 0.25
"""Attempts to interrupt a statement, and the pause between them: it may not have reached the server yet."""
_WAIT_SECONDS = 0.05
_BATCHES_AHEAD = 4


class ServerProblem(LamellaError):
    """The server cannot be reached, denies access, or stopped answering; `server` is its address."""

    def __init__(self, server: str, what: str, why: str = "", fix: str = "") -> None:
        self.server = server
        super().__init__(f"{server}: {what}", why, fix)


class ServerRefusal(BadQuery):
    """The server rejected a statement."""


class _SessionEnded(ServerRefusal):
    """The server no longer has the session."""


@dataclass(frozen=True)
class ServerTable:
    """A table on a server: the parts of its name, such as `("catalog", "database", "table")`, or a `path` on
    the server with the `format` of its files."""

    parts: tuple[str, ...] = ()
    format: str = ""
    path: str = ""

    @property
    def name(self) -> str:
        """The title of its tab."""
        last = self.path.rstrip("/").rpartition("/")[2].removesuffix(f".{self.format}")
        return self.parts[-1] if self.parts else last or self.path

    @property
    def sql(self) -> str:
        """The quoted name in Spark's dialect."""
        parts = self.parts or (self.format, self.path)
        return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

    @property
    def address(self) -> str:
        """The part after the server's address."""
        if not self.parts:
            return f"{self.format}:{self.path}"
        return ".".join(_quote_part(part) for part in self.parts)

    @classmethod
    def parse(cls, text: str) -> ServerTable:
        """Parse `trips`, optionally preceded by catalog and database, or `parquet:/data/trips`. Names with
        dots are written in backticks. Raises `BadData`."""
        text = text.strip()
        form, colon, path = text.partition(":")
        if colon and form.casefold() in FORMATS and path.strip():
            return cls((), form.casefold(), path.strip())
        if colon and re.fullmatch(r"\w+", form) and "`" not in form:
            raise BadData(
                f"'{text}' does not name a table of a Spark server",
                f"There is no format '{form}'",
                f"Write a table as database.table, or a path as parquet:/path. Formats: {', '.join(FORMATS)}",
            )
        quoted = re.findall(_PART, text)
        parts = tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in quoted)
        if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", text):
            raise BadData(
                f"'{text}' does not name a table of a Spark server",
                fix="Write it as database.table, with names that contain dots in backticks, or parquet:/path",
            )
        return cls(parts)


def _quote_part(part: str) -> str:
    return part if re.fullmatch(r"[^`.:/;\s]+", part) else "`" + part.replace("`", "``") + "`"


@dataclass(frozen=True)
class ServerAddress:
    """`sc://host:port`, and whether the connection uses TLS."""

    host: str
    port: int = DEFAULT_PORT
    use_ssl: bool = False

    def __str__(self) -> str:
        return f"{SCHEME}{self.host}:{self.port}" + (";use_ssl=true" if self.use_ssl else "")

    def of(self, table: ServerTable) -> str:
        ssl = ";use_ssl=true" if self.use_ssl else ""
        return f"{SCHEME}{self.host}:{self.port}/{table.address.replace('%', '%25')}{ssl}"


def is_server_address(text: object) -> bool:
    return isinstance(text, str) and text.casefold().startswith(SCHEME)


def server_table(path: Path) -> ServerTable | None:
    """Return the server's table that a path names; None for a file, local or remote."""
    if not is_server_address(str(path)):
        return None
    try:
        table = parse_address(str(path))[1]
    except BadData:  # as somebody typed it
        return None
    return table if table is not None and table.parts else None


def listed_name(path: Path) -> str:
    """Return the name of a file or a server's table for lists, without its folder or database."""
    table = server_table(path)
    return (path.name or str(path)) if table is None else table.name


def split_parameters(text: str) -> tuple[str, str]:
    """Split an address into the part before `;use_ssl=…`, and that parameter or an empty text."""
    match = _PARAMETERS.search(text)
    return (text, "") if match is None else (text[: match.start()], match[0].strip())


def parse_address(text: str) -> tuple[ServerAddress, ServerTable | None]:
    """Parse `sc://host:port`, optionally followed by a table or a path. Raises `BadData`, whose message never
    contains a token or a password."""
    if _SECRETS.search(text) or _USER.match(text):
        raise BadData(
            "The address of a Spark server contains a secret",
            "Addresses are saved and shown as they are, and secrets never are",
            "Leave it out, and save a connection that refers to it: env:NAME or keyring:SERVICE/USER",
        )
    plain, parameters = split_parameters(text)
    match = _ADDRESS.fullmatch(plain)
    if match is None or int(match["port"] or 1) not in range(1, 65536):
        raise BadData(
            f"'{text}' is not the address of a Spark server", fix="Write it as sc://host:15002/table"
        )
    use_ssl = parameters.casefold().endswith("true")
    address = ServerAddress(match["host"], int(match["port"] or DEFAULT_PORT), use_ssl)
    tail = unquote((match["rest"] or "").removeprefix("/"))
    return address, ServerTable.parse(tail) if tail else None


class SparkServer:
    """A session on a server, which starts at its first use. Any thread; statements run concurrently."""

    def __init__(self, address: ServerAddress, connection: Connection | None = None) -> None:
        """`connection` provides the user and the token; without one, access is anonymous."""
        self.address, self._connection = address, connection
        self._lock = threading.Lock()
        self._client: Any = None
        self._is_reached_directly = self._is_set_up = False
        self._set_up_lock = threading.Lock()
        call_after_fork(self)

    @property
    def place(self) -> str:
        """The host, with its port if that is not the default, to be shown."""
        return (
            self.address.host
            if self.address.port == DEFAULT_PORT
            else f"{self.address.host}:{self.address.port}"
        )

    def stream(self, sql: str, job: Job) -> Iterator[pa.Table]:
        """Run a statement in Spark's dialect, and yield its answer in pieces as they arrive; the first may be
        empty.

        Cancelling `job` also stops the statement on the server. If the server has ended the session, as
        servers do after minutes without use, the statement runs in a new one; after the server was gone, the
        next statement does. Raises `ServerRefusal`, and `ServerProblem`, within five seconds if the server is
        gone.
        """
        client, has_pieces = self._connected_client(job), False
        try:
            with _Answer(self, client, sql, job) as answer:
                for piece in answer:
                    has_pieces = True
                    yield piece
            return
        except _SessionEnded:
            self._forget(client)
            if has_pieces:
                raise
        except ServerProblem:
            self._forget(client)
            raise
        with _Answer(self, self._connected_client(job), sql, job) as answer:
            yield from answer

    def _forget(self, client: Any) -> None:
        """Use a new connection and session for the next statement: a restarted server has lost the old."""
        with self._lock:
            if self._client is client:
                self._client = None

    def read(self, sql: str, job: Job | None = None) -> pa.Table:
        """Run a statement and return its whole answer."""
        pieces = list(self.stream(sql, job or Job()))
        return pa.concat_tables([piece for piece in pieces if piece.num_rows] or pieces[:1])

    def schema(self, sql: str, job: Job | None = None) -> pa.Schema:
        """Return the schema of a statement's answer, without computing its rows."""
        return next(iter(self.stream(f"SELECT * FROM (\n{sql}\n) LIMIT 0", job or Job()))).schema

    @property
    def version(self) -> str:
        return str(self.read("SELECT version()").column(0)[0])

    def catalogs(self, job: Job | None = None) -> list[str]:
        return _first_column(self.read("SHOW CATALOGS", job))

    def databases(self, catalog: str = "", job: Job | None = None) -> list[str]:
        """Return the names of the databases in a catalog, by default the current one."""
        inside = f" IN {ServerTable((catalog,)).sql}" if catalog else ""
        return _first_column(self.read(f"SHOW DATABASES{inside}", job))

    def tables(self, database: Sequence[str] = (), job: Job | None = None) -> list[ServerTable]:
        """Return the tables in a database, which is given by its catalog and name, by default the current
        one. Temporary views of this session are left out."""
        inside = f" IN {ServerTable(tuple(database)).sql}" if database else ""
        rows = self.read(f"SHOW TABLES{inside}", job).to_pylist()
        names = [row["tableName"] for row in rows if not row["isTemporary"]]
        return [ServerTable((*database, name)) for name in sorted(names, key=str.casefold)]

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close()

    def reset_after_fork(self) -> None:
        """Start anew: the threads of the channel exist only in the parent."""
        self._lock, self._set_up_lock, self._client = threading.Lock(), threading.Lock(), None

    def is_reachable(self) -> bool:
        """Whether a server is listening there; it may still be slow to answer. May block for seconds."""
        try:
            host = self.address.host.strip("[]")
            with socket.create_connection((host, self.address.port), PROBE_SECONDS):
                return True
        except OSError:
            return False

    @property
    def watches(self) -> bool:
        """Whether a separate connection can tell if the server is gone. Not if it is reached by a proxy."""
        return self._is_reached_directly

    def _connected_client(self, job: Job) -> Any:
        with self._lock:
            if self._client is None:
                job.report(0, None, f"Connecting to {self.place}")
                self._is_reached_directly = self.is_reachable()
                self._client, self._is_set_up = self._connect(), False
            return self._client

    def set_up(self, client: Any) -> None:
        """Set the session's options, before its first statement. Blocks."""
        from pyspark.sql.connect.conf import RuntimeConf

        with self._set_up_lock:
            if self._is_set_up:
                return
            settings = RuntimeConf(client)
            settings.set("spark.sql.session.timeZone", ZONE)
            for name, value in _SESSION_SETTINGS.items():
                with suppress(_errors()):  # some servers lack an option, or do not let it be set
                    settings.set(name, value)
            self._is_set_up = True

    def _connect(self) -> Any:
        client_class, builder_class = _library()
        options = [
            ("grpc.enable_retries", 0),
            ("grpc.max_receive_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1),  # else a new channel shares the backoff of a failed one
        ]
        ssl = "/;use_ssl=true" if self.address.use_ssl else ""
        builder = builder_class(f"{SCHEME}{self.address.host}:{self.address.port}{ssl}", options)
        token = None if self._connection is None else self._connection.secret("token")
        if token:
            builder.set(builder.PARAM_TOKEN, token)
        if self._connection is not None and self._connection.account:
            builder.set(builder.PARAM_USER_ID, self._connection.account)
        builder.set(builder.PARAM_USER_AGENT, "lamella")
        client = client_class(builder, use_reattachable_execute=False)  # `ReattachingBuilder` does it
        client.set_retry_policies([])
        return client


def _library() -> tuple[Any, Any]:
    """Return the classes of the client and of its channel builder. Raises `LamellaError` if `pyspark` is not
    installed."""
    try:
        with warnings.catch_warnings(), main_module_as_file():
            # It warns about pandas 3, which is not used here: answers are Arrow data.
            warnings.simplefilter("ignore")
            os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # it would write to the standard error stream
            from pyspark.sql.connect.client import SparkConnectClient

            from lamella.core.remote.spark_executions import ReattachingBuilder

            # It would write whole statements to the standard error stream.
            logging.getLogger("SQLQueryContextLogger").disabled = True
    except ImportError as error:
        raise MissingLibrary("pyspark-client", str(error).partition("\n")[0]) from error
    return SparkConnectClient, ReattachingBuilder


def _errors() -> type[Exception]:
    from pyspark.errors import PySparkException

    return PySparkException


def _first_column(table: pa.Table) -> list[str]:
    return [str(value) for value in table.column(0).to_pylist()]


class _Answer:
    """The answer to one statement. A separate thread waits for the server, so that the reader can cancel."""

    def __init__(self, server: SparkServer, client: Any, sql: str, job: Job) -> None:
        self._server, self._client, self._sql, self._job = server, client, sql, job
        self._pieces: queue.Queue[pa.Table | BaseException | None] = queue.Queue(_BATCHES_AHEAD)
        self._close_event, self._end_event = threading.Event(), threading.Event()
        self._tasks: tuple[int, int] | None = None
        self._tag = f"lamella-{id(self):x}-{time.monotonic_ns():x}"

    def __enter__(self) -> _Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the statement on the server, unless it has finished. Returns at once."""
        if not self._close_event.is_set():
            self._close_event.set()
            threading.Thread(target=self._interrupt, name="stop Spark query", daemon=True).start()

    def __iter__(self) -> Iterator[pa.Table]:
        self._job.check()
        threading.Thread(target=self._receive, name="Spark query", daemon=True).start()
        while True:
            piece = self._next()
            if piece is None:
                self._close_event.set()
                return
            if isinstance(piece, BaseException):
                self._close_event.set()
                raise _problem(self._server, piece) from None
            yield piece

    def _next(self) -> pa.Table | BaseException | None:
        asked_at, probe = time.monotonic(), _Probe(self._server)
        while True:
            try:
                return self._pieces.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                if self._job.cancelled:
                    self.close()
                    raise Cancelled from None
            if self._tasks is not None:
                self._job.report(*self._tasks)
            if time.monotonic() - asked_at > SILENCE_SECONDS and probe.has_vanished():
                self._close_event.set()
                return ConnectionError("no server is listening there any more")

    def _receive(self) -> None:
        from pyspark.sql.connect.plan import SQL

        client, registered = self._client, False
        try:
            self._server.set_up(client)
            if self._close_event.is_set():
                return
            client.add_tag(self._tag)
            client.register_progress_handler(self._progress)
            registered = True
            schema, pieces = None, 0
            for part in client.to_table_as_iterator(SQL(self._sql).to_proto(client), {}):
                if not isinstance(part, pa.Table):
                    schema = part
                    continue
                pieces += 1
                if not self._put(part):
                    return
            if schema is not None and not pieces:
                self._put(_arrow_schema(schema).empty_table())
            self._put(None)
        except BaseException as error:  # noqa: BLE001 -- raised on the thread that waits for the rows
            self._put(error)
        finally:
            self._end_event.set()
            if registered:
                client.remove_progress_handler(self._progress)
                client.remove_tag(self._tag)

    def _put(self, piece: pa.Table | BaseException | None) -> bool:
        while not self._close_event.is_set():
            with suppress(queue.Full):
                self._pieces.put(piece, timeout=_WAIT_SECONDS)
                return True
        return False

    def _progress(self, stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
        """The client calls this for every statement that it runs, on the thread that waits for it."""
        if threading.current_thread().name == "Spark query" and stages:
            total = sum(stage.num_tasks for stage in stages)
            self._tasks = sum(stage.num_completed_tasks for stage in stages), total

    def _interrupt(self) -> None:
        """Stop the statement on the server. Tries repeatedly: it may not have reached the server yet."""
        with suppress(Exception):
            for _ in range(INTERRUPTS):
                if self._client.interrupt_tag(self._tag) or self._end_event.wait(INTERRUPT_PAUSE_SECONDS):
                    return
            log.info("%s: found no query to stop", self._server.place)


class _Probe:
    """Checks on a separate connection, during the wait for an answer, whether the server is still there."""

    def __init__(self, server: SparkServer) -> None:
        self._server = server
        self._thread: threading.Thread | None = None
        self._is_gone = False
        self._next_at = 0.0

    def has_vanished(self) -> bool:
        """Whether the last finished probe failed. Starts another probe if one is due; returns at once."""
        idle = self._thread is None or not self._thread.is_alive()
        if self._server.watches and idle and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + SILENCE_SECONDS
            self._thread = threading.Thread(target=self._ask, name="Spark server there", daemon=True)
            self._thread.start()
        return self._is_gone

    def _ask(self) -> None:
        self._is_gone = not self._server.is_reachable()


def _arrow_schema(schema: Any) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone=ZONE)


_SESSION_ENDED = re.compile(r"session \S+ is not running|INVALID_HANDLE\.SESSION_(CLOSED|CHANGED|NOT_FOUND)")
"""The messages of Sail and of Apache Spark."""
_GONE_CODES = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})
_DENIALS = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})


def _problem(server: SparkServer, error: BaseException) -> BaseException:
    """Translate an error of the client library."""
    from grpc import RpcError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    raw: Any = error

    if isinstance(error, ConnectionError):
        return _server_problem(server, str(error))
    if isinstance(error, EOFError):
        fix = "Run the query again; somebody may have stopped it on the server"
        return ServerProblem(server.place, "the answer is incomplete", str(error), fix)
    if not isinstance(error, (PySparkException, RpcError)):
        return error
    is_raw = isinstance(error, RpcError)
    code = (raw.code() if is_raw else getattr(error, "_grpc_status_code", None)) or ""
    code = getattr(code, "name", "")
    message = _first_line(raw.details() or "" if is_raw else str(error))
    if code in _GONE_CODES:
        return _server_problem(server, message)
    if code in _DENIALS:
        return ServerProblem(
            server.place,
            "the server denies access",
            message,
            "Check the token that the saved connection refers to",
        )
    refusal = _SessionEnded if _SESSION_ENDED.search(message) else ServerRefusal
    return refusal(f"Spark Connect · {server.place}: the server rejected the query", message)


def _server_problem(server: SparkServer, why: str) -> ServerProblem:
    if "WRONG_VERSION_NUMBER" in why:
        what = "the server does not speak TLS"
        if server.address.use_ssl:
            return ServerProblem(server.place, what, fix="Leave ;use_ssl=true out of the address")
        fix = "Give a port that does, or remove the token from the saved connection"
        return ServerProblem(server.place, what, "Tokens are only sent over TLS", fix)
    if "certificate has expired" in why:
        fix = "Ask the server's administrator to renew it, and check the clock of this machine"
        return ServerProblem(server.place, "the server's certificate has expired", fix=fix)
    if "Hostname Verification Check failed" in why:
        what = f"the server's certificate is not for '{server.address.host}'"
        fix = "Write the host name as it is in the certificate"
        return ServerProblem(server.place, what, "Another server may have answered instead", fix)
    if "CERTIFICATE_VERIFY_FAILED" in why:
        fix = (
            "Add its authority to the trusted ones of this machine, or set GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
            " to the authority's certificate"
        )
        what = "the server's certificate is not trusted on this machine"
        return ServerProblem(server.place, what, fix=fix)
    return ServerProblem(
        server.place,
        "the Spark server does not answer",
        why,
        "Check the address, and that the server runs, then try again",
    )


def _first_line(message: str) -> str:
    details = re.search(r'details = "(.+?)"$', message, re.M)
    if details is not None:  # gRPC's own text has many lines
        return details[1][:500].rstrip(".")
    line = next((line for line in message.strip().splitlines() if line.strip()), "")
    return line[:500].rstrip(".")


_servers: dict[tuple[ServerAddress, Connection | None], SparkServer] = {}
_servers_lock = threading.Lock()


def server_at(address: ServerAddress) -> SparkServer:
    """Return this process's session on a server, through the saved connection that serves the address."""
    connection = Connections().serving(f"{SCHEME}{address.host}:{address.port}/")
    with _servers_lock:
        return _servers.setdefault((address, connection), SparkServer(address, connection))
