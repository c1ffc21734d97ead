"""The DuckDB that runs queries: one per process, a cursor for each job, cancelled by interrupt."""

from __future__ import annotations

import atexit
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import psutil

from core.errors import Cancelled
from core.jobs import Job

_lock = threading.Lock()
_configured: list[duckdb.DuckDBPyConnection] = []


@contextmanager
def cursor(job: Job | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of its own for one piece of work, on any thread.

    What is registered on it is gone with it. Cancelling the job interrupts the running statement,
    which then leaves the block as `Cancelled`.
    """
    job = job or Job()
    own = _database().cursor()
    try:
        with job.interrupted_by(own.interrupt):
            yield own
    except duckdb.InterruptException as error:
        raise Cancelled from error
    finally:
        own.close()


def limit_memory(total_bytes: int) -> None:
    """Queries that need more than this spill to the temporary folder."""
    _database().execute(f"SET memory_limit = '{int(total_bytes)}B'")


def _database() -> duckdb.DuckDBPyConnection:
    with _lock:
        if not _configured:
            connection = duckdb.connect(":memory:", config=_configuration())
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET parquet_metadata_cache = true")
            _configured.append(connection)
            atexit.register(connection.close)
        return _configured[0]


def _configuration() -> dict[str, str | bool | int | float | list[str]]:
    """Extensions never install or load by themselves; nothing is spilled beside the user's files."""
    return {
        "memory_limit": f"{psutil.virtual_memory().total // 2}B",
        "temp_directory": tempfile.gettempdir() + "/lamella-spill",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
