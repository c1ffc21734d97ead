"""The DuckDB that runs queries: one per process, a cursor for each job, cancelled by interrupt."""

from __future__ import annotations

import atexit
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import psutil
import pyarrow as pa

from core.errors import Cancelled, LamellaError, NoRoom
from core.forks import let_go_in_children, never_finalize
from core.jobs import Job

INTERRUPT_EVERY_SECONDS = 0.02


class _Stop:
    """Interrupts a connection, from when it is asked to until the connection closes.

    Once is not enough: DuckDB forgets an interrupt that comes while no statement runs.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._asked = False
        self._closed = threading.Event()

    def ask(self) -> None:
        """Any thread, also a signal handler; returns at once."""
        with self._lock:
            if not self._asked and self._interrupted():
                self._asked = True
                threading.Thread(target=self._again, name="stop query", daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            self._connection.close()

    def _again(self) -> None:
        while not self._closed.wait(INTERRUPT_EVERY_SECONDS) and self._interrupted():
            pass

    def _interrupted(self) -> bool:
        with self._lock:
            if not self._closed.is_set():
                self._connection.interrupt()
            return not self._closed.is_set()


@contextmanager
def cursor(job: Job | None = None, of: str = "a query") -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of its own for one piece of work, on any thread.

    What is registered on it is gone with it. Once the job is cancelled, a statement that runs or is begun in
    the block is interrupted within about 20 ms, and the block is left as `Cancelled`. What DuckDB refuses is
    raised as `LamellaError` that names the dataset, `of`.
    """
    job = job or Job()
    own = _engine.database().cursor()
    stop = _Stop(own)
    try:
        with job.interrupted_by(stop.ask):
            yield own
    except duckdb.InterruptException as error:
        raise Cancelled from error
    except duckdb.OutOfMemoryException as error:
        raise no_room(str(error)) from error
    except duckdb.IOException as error:
        raise LamellaError(f"{of}: a file could not be read or written", str(error)) from error
    except duckdb.Error as error:
        raise _refused(of, error) from error
    except (OSError, pa.ArrowException) as error:  # also an interrupt, on its way through an Arrow stream
        if job.cancelled:
            raise Cancelled from error
        if isinstance(error, pa.ArrowException):
            raise _refused(of, error) from error
        raise
    finally:
        stop.close()


def no_room(why: str) -> NoRoom:
    return NoRoom(
        "the query needs more temporary disk space than there is",
        why.partition("\n")[0],
        f"Make room in {tempfile.gettempdir()}, or ask for fewer rows and columns",
    )


def _refused(of: str, error: Exception) -> LamellaError:
    return LamellaError(
        f"{of}: what was asked cannot be computed",
        str(error).partition("\n")[0],
        "Leave out the column whose values are too large for it, or cast it to text",
    )


def limit_memory(total_bytes: int) -> None:
    """Queries that need more than this spill to the temporary folder."""
    _engine.database().execute(f"SET memory_limit = '{int(total_bytes)}B'")


class _Engine:
    """The process's DuckDB, made when it is first asked for. A forked child makes its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        atexit.register(self._close)
        let_go_in_children(self)

    def database(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._connection is None:
                connection = duckdb.connect(":memory:", config=_configuration())
                connection.execute("SET TimeZone = 'UTC'")
                connection.execute("SET enable_progress_bar = false")
                connection.execute("SET parquet_metadata_cache = true")
                self._connection = connection
            return self._connection

    def forked(self) -> None:
        """The connection's threads stayed in the parent: without them, closing it ends the process."""
        self._lock = threading.Lock()
        never_finalize(self._connection)
        self._connection = None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _configuration() -> dict[str, str | bool | int | float | list[str]]:
    """Extensions never install or load by themselves; nothing is spilled beside the user's files."""
    return {
        "memory_limit": f"{psutil.virtual_memory().total // 2}B",
        "temp_directory": tempfile.gettempdir() + "/lamella-spill",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }


_engine = _Engine()
