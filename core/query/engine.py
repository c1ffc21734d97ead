"""The DuckDB instances that run queries: one for the process itself, others confined to what typed SQL may
read."""

from __future__ import annotations

import atexit
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import psutil
import pyarrow as pa

from lamella.core.errors import BadData, BadQuery, Cancelled, LamellaError, NoRoom, TookTooLong, short_text
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb
from lamella.core.processes import call_after_fork, never_finalize
from lamella.core.remote.duckdb_files import problem_in, queries, register
from lamella.core.remote.files import files

INTERRUPT_EVERY_SECONDS = 0.02


class Stop:
    """Interrupts a connection repeatedly, from `ask` until `end`.

    Once is not enough: DuckDB ignores an interrupt that arrives while no statement is running.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._is_requested = False
        self._end = threading.Event()

    def ask(self) -> None:
        """Start interrupting. Returns immediately. Any thread, also a signal handler."""
        with self._lock:
            if not self._is_requested and self._interrupt():
                self._is_requested = True
                threading.Thread(target=self._again, name="stop query", daemon=True).start()

    def end(self) -> None:
        """Stop interrupting: the connection now serves another query, or is closed."""
        with self._lock:
            self._end.set()

    def _again(self) -> None:
        while not self._end.wait(INTERRUPT_EVERY_SECONDS) and self._interrupt():
            pass

    def _interrupt(self) -> bool:
        with self._lock:
            if not self._end.is_set():
                self._connection.interrupt()
            return not self._end.is_set()


@contextmanager
def time_limit(job: Job, seconds: float | None, what: str) -> Iterator[Job]:
    """Yield a job for the block that is cancelled with `job`, or when the time is over.

    When the time is over, the block raises `TookTooLong`, naming `what`; when `job` is cancelled, it raises
    `Cancelled` as usual.
    """
    if seconds is None:
        yield job
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < _MOST_SECONDS:
        raise BadData(
            f"{what}: seconds={short_text(seconds)} is not a time limit", fix="Give a number above 0"
        )
    inner = Job(lambda progress: job.report(progress.done, progress.total, progress.text))
    timer = threading.Timer(seconds, inner.cancel)
    timer.start()
    try:
        with job.interrupted_by(inner.cancel):
            yield inner
    except Cancelled as error:
        if job.cancelled:
            raise
        raise TookTooLong(
            f"{what}: it took more than the time limit of {seconds:g} seconds",
            fix="Ask for less, or raise the limit: seconds=",
        ) from error
    finally:
        timer.cancel()
        timer.join()


_MOST_SECONDS = threading.TIMEOUT_MAX


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CountedCache(Generic[K, V]):
    """Values by key; the least recently used are evicted first. Any thread."""

    def __init__(self, most: int) -> None:
        self._limit = most
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def pop(self, key: K) -> V | None:
        """Remove and return the value."""
        with self._lock:
            return self._entries.pop(key, None)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            if len(self._entries) > self._limit:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


MOST_CONFINED_ENGINES = 4
MOST_CURSORS = 16
"""The number of prepared cursors that an engine keeps."""


@dataclass(frozen=True)
class Confinement:
    """What SQL that people type may read from disk (None means anything), and how much memory it may use if
    that differs from the general limit."""

    folders: tuple[str, ...] | None = ()
    files: tuple[str, ...] = ()
    memory_bytes: int | None = None


@contextmanager
def cursor(
    job: Job | None = None, of: str = "a query", confined: Confinement | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a new cursor for one piece of work, on any thread.

    Rows registered on it disappear with it. Otherwise like `interruptible`.
    """
    connection = engine_of(confined).cursor()
    try:
        with interruptible(connection, job or Job(), of, confined):
            yield connection
    finally:
        connection.close()


@contextmanager
def interruptible(
    connection: duckdb.DuckDBPyConnection, job: Job, of: str, confined: Confinement | None
) -> Iterator[None]:
    """Interrupt statements in the block within about 20 ms after the job is cancelled; the block then raises
    `Cancelled`. Errors of DuckDB are raised as `LamellaError`s that name the dataset `of`."""
    stop = Stop(connection)
    try:
        with job.interrupted_by(stop.ask), queries.running(job):
            yield
    except duckdb.Error as error:
        if job.cancelled:
            raise Cancelled from error
        raise problem_in(error) or _problem(of, error, confined) from error
    except (OSError, pa.ArrowException) as error:  # or an interrupt that came through an Arrow stream
        if job.cancelled:
            raise Cancelled from error
        if problem := problem_in(error):
            raise problem from error
        if isinstance(error, pa.ArrowException):
            raise _refusal(of, error) from error
        raise
    finally:
        stop.end()


def _problem(of: str, error: duckdb.Error, confined: Confinement | None) -> Exception:
    if isinstance(error, duckdb.InterruptException):
        return Cancelled()
    if isinstance(error, duckdb.OutOfMemoryException):
        return no_room(str(error))
    if isinstance(error, duckdb.IOException):
        return LamellaError(f"{of}: a file could not be read or written", str(error))
    if isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
        _engine.begin_anew() if confined is None else _confined_engines.forget(confined)
        return _internal_error(of, error)
    return _refusal(of, error)


def engine_of(confined: Confinement | None) -> Engine:
    """Any thread."""
    return _engine if confined is None else _confined_engines.engine(confined)


def no_room(why: str) -> NoRoom:
    """The error for a message of DuckDB or the system."""
    why = why.partition("\n")[0]
    if why.startswith("Out of Memory") and not any(word in why for word in _OF_DISK):
        return NoRoom(
            "the query needs more memory than it is allowed",
            why,
            "Ask for fewer rows and columns, or raise the memory limit",
        )
    return NoRoom(
        "the query needs more temporary disk space than there is",
        why,
        f"Free space in {tempfile.gettempdir()}, or ask for fewer rows and columns",
    )


def _internal_error(of: str, error: Exception) -> LamellaError:
    return LamellaError(
        f"{of}: the query engine failed with an internal error",
        str(error).partition("\n")[0],
        "It has been restarted, and other queries work; rephrase this one",
    )


def _refusal(of: str, error: Exception) -> LamellaError:
    too_large = (duckdb.OutOfRangeException, duckdb.ConversionException, pa.ArrowInvalid)
    way = "Leave out the column whose values are too large for it, or cast it to text"
    return LamellaError(
        f"{of}: the query cannot be computed",
        str(error).partition("\n")[0],
        way if isinstance(error, too_large) else "",
    )


def limit_memory(total_bytes: int) -> None:
    """Set the memory limit; queries that need more spill to the temporary folder."""
    _engine.limit_memory(total_bytes)
    _confined_engines.begin_anew()


def memory_limit() -> int:
    """The memory that queries may use before they spill, in bytes."""
    return _engine.memory_bytes


class Engine:
    """A DuckDB instance, created on first use. A forked child creates its own. `cache` keeps prepared cursors
    for `core.query.execute`."""

    def __init__(self, confined: Confinement | None = None, memory_bytes: int | None = None) -> None:
        self.memory_bytes = memory_bytes or psutil.virtual_memory().total // 2
        self._confinement = confined
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._reads_elsewhere = False
        self.cache = CountedCache[Hashable, Any](MOST_CURSORS)
        call_after_fork(self)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            database = self._database()
            if files.are_used and not self._reads_elsewhere:
                register(database)
                self._reads_elsewhere = True
            return database.cursor()

    def limit_memory(self, total_bytes: int) -> None:
        with self._lock:
            self.memory_bytes = int(total_bytes)
            self._database().execute(f"SET memory_limit = '{self.memory_bytes}B'")

    def reset_after_fork(self) -> None:
        """Abandon the connection: its threads stayed in the parent, so closing it would end the process."""
        self._lock = threading.Lock()
        never_finalize(self._connection)
        never_finalize(self.cache)
        self._connection, self.cache = None, CountedCache[Hashable, Any](MOST_CURSORS)

    def begin_anew(self) -> None:
        """Drop the connection: after an internal error DuckDB no longer answers."""
        with self._lock:
            self._connection, self.cache = None, CountedCache[Hashable, Any](MOST_CURSORS)

    def close(self) -> None:
        """Close the connection, and with it all cursors."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection, self.cache = None, CountedCache[Hashable, Any](MOST_CURSORS)

    def _database(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._reads_elsewhere = False
            connection = duckdb.connect(":memory:", config=_configuration(self.memory_bytes))
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET parquet_metadata_cache = true")
            if self._confinement is not None and self._confinement.folders is not None:
                connection.execute("SET allowed_directories = $1", [list(self._confinement.folders)])
                connection.execute("SET allowed_paths = $1", [list(self._confinement.files)])
                connection.execute("SET enable_external_access = false")
            if self._confinement is not None:
                connection.execute("SET allowed_configs = ['enable_profiling']")
                connection.execute("SET lock_configuration = true")  # functions may set things, such as logs
            self._connection = connection
        return self._connection


class _ConfinedEngines:
    """The DuckDB instances of the most recent confinements, since creating one takes ten milliseconds. An
    instance that is dropped here ends with its last cursor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: OrderedDict[Confinement, Engine] = OrderedDict()
        call_after_fork(self)

    def engine(self, confined: Confinement) -> Engine:
        """The engine of a confinement. An engine with its own memory limit is not kept."""
        if confined.memory_bytes is not None:
            return Engine(confined, confined.memory_bytes)
        with self._lock:
            engine = self._engines.get(confined) or Engine(confined, memory_limit())
            self._engines[confined] = engine
            self._engines.move_to_end(confined)
            if len(self._engines) > MOST_CONFINED_ENGINES:
                self._engines.popitem(last=False)
            return engine

    def forget(self, confined: Confinement) -> None:
        with self._lock:
            self._engines.pop(confined, None)

    def begin_anew(self) -> None:
        """Drop all engines, so that new ones use the current settings; existing ones are locked against
        changes."""
        with self._lock:
            self._engines.clear()

    def reset_after_fork(self) -> None:
        self._lock = threading.Lock()
        for engine in self._engines.values():
            engine.reset_after_fork()
        self._engines.clear()

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()


def _configuration(memory_bytes: int) -> dict[str, str | bool | int | float | list[str]]:
    """Settings: extensions are never installed or loaded automatically, and nothing is spilled next to the
    user's files."""
    return {
        "memory_limit": f"{memory_bytes}B",
        "temp_directory": tempfile.gettempdir() + "/lamella-spill",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }


_OF_DISK = ("temp_directory", "offload", "disk")
_engine = Engine()
_confined_engines = _ConfinedEngines()
atexit.register(_engine.close)
atexit.register(_confined_engines.close)


ROWS_A_BATCH = 1 << 17


@cache
def _exceptions() -> dict[str, type[duckdb.Error]]:
    """DuckDB's exceptions by the prefix of their message."""
    return {
        "Binder Error": duckdb.BinderException,
        "Constraint Error": duckdb.ConstraintException,
        "Conversion Error": duckdb.ConversionException,
        "FATAL Error": duckdb.FatalException,
        "INTERNAL Error": duckdb.InternalException,
        "INTERRUPT Error": duckdb.InterruptException,
        "IO Error": duckdb.IOException,
        "Invalid Input Error": duckdb.InvalidInputException,
        "Not implemented Error": duckdb.NotImplementedException,
        "Out of Memory Error": duckdb.OutOfMemoryException,
        "Out of Range Error": duckdb.OutOfRangeException,
        "Permission Error": duckdb.PermissionException,
    }


def stream_batches(reader: pa.RecordBatchReader, job: Job) -> Iterator[pa.RecordBatch]:
    """Yield batches. DuckDB's errors arrive through an Arrow stream as OSError; they are raised as DuckDB
    exceptions again."""
    try:
        for batch in reader:
            job.check()
            yield batch
    except OSError as error:
        raised = _exceptions().get(str(error).partition(":")[0])
        if raised is None:
            raise
        raise raised(str(error)) from error


def collect_table(
    relation: duckdb.DuckDBPyRelation,
    most_bytes: int,
    job: Job,
    fix: str = "Ask for fewer rows or columns, or read it with batches()",
) -> pa.Table:
    """Read the whole answer; raises `NoRoom` once it takes more than `most_bytes`."""
    job.check()
    reader = relation.to_arrow_reader(ROWS_A_BATCH)
    batches, total_bytes = [], 0
    for batch in stream_batches(reader, job):
        batches.append(batch)
        total_bytes += batch.nbytes
        if total_bytes > most_bytes:
            raise NoRoom(
                f"the answer takes more than the {most_bytes >> 20:,} MB of memory that a query may use",
                "It is returned as a whole",
                fix,
            )
    return pa.Table.from_batches(batches, reader.schema)


_LOCATION = re.compile(r" when casting from source column \S+| Use TRY\(.*")
"""Parts of DuckDB's messages that name internal columns and functions."""


@contextmanager
def query_cursor(place: str, job: Job) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a cursor as `core.query.engine.cursor` does; a value that does not fit raises `BadQuery`."""
    with cursor(job, place) as connection, not_too_deep(place), refuse_overflow(place):
        yield connection


@contextmanager
def refuse_overflow(place: str) -> Iterator[None]:
    """Raise `BadQuery` for a value that does not fit."""
    try:
        yield
    except (
        duckdb.OutOfRangeException,
        duckdb.ConversionException,
        duckdb.InvalidInputException,
    ) as error:
        why = _LOCATION.sub("", str(error).partition("\n")[0].partition("Error: ")[2])
        raise BadQuery(
            f"{place}: a value cannot be computed",
            why or str(error),
            "Filter such rows out first, or compute with cast('float64') or cast('decimal(38, 0)')",
        ) from error


@contextmanager
def not_too_deep(place: str) -> Iterator[None]:
    """Raise `BadQuery` for a query nested too deeply for what is left of Python's stack."""
    try:
        yield
    except RecursionError as error:
        raise BadQuery(
            f"{place}: the query is nested too deeply",
            "The code that runs it is itself deep in nested calls",
            "Run it from fewer nested calls, or split it into two queries with a table in between",
        ) from error
