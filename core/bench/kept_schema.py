"""The tables of a file of kept runs, and whose file it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lamella.core.errors import FileProblem

VERSION = 1
APPLICATION = 0x6C616D72  # "lamr"
WAY_OUT = "Move the file away, or delete it: the next race begins a new one"

_POINT = "workload TEXT NOT NULL, backend TEXT NOT NULL"
_OF_RUN = "run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE"

TABLES = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL,
        command TEXT NOT NULL, seconds REAL NOT NULL, choice TEXT NOT NULL, workloads TEXT NOT NULL,
        systems TEXT NOT NULL, sizes TEXT NOT NULL, repeats INTEGER NOT NULL)""",
    f"""CREATE TABLE samples (
        {_OF_RUN}, {_POINT}, operation TEXT NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,
        repeat INTEGER NOT NULL, seconds REAL NOT NULL, cpu_seconds REAL NOT NULL,
        peak_rss_bytes INTEGER NOT NULL, disk_bytes INTEGER NOT NULL, checksum TEXT NOT NULL,
        temperature TEXT NOT NULL, latencies TEXT NOT NULL)""",
    f"""CREATE TABLE failures (
        {_OF_RUN}, {_POINT}, operation TEXT NOT NULL, rows INTEGER NOT NULL, repeat INTEGER NOT NULL,
        message TEXT NOT NULL, details TEXT NOT NULL, kind TEXT NOT NULL)""",
    f"CREATE TABLE unsupported ({_OF_RUN}, {_POINT}, step TEXT NOT NULL, reason TEXT NOT NULL)",
    f"""CREATE TABLE surroundings (
        {_OF_RUN}, {_POINT}, version TEXT NOT NULL, description TEXT NOT NULL, environment TEXT NOT NULL)""",
    f"""CREATE TABLE ended (
        {_OF_RUN}, {_POINT}, rows INTEGER NOT NULL, table_rows INTEGER NOT NULL, repeats INTEGER NOT NULL,
        steps INTEGER NOT NULL, seconds REAL NOT NULL, memory_bytes INTEGER NOT NULL,
        disk_bytes INTEGER NOT NULL)""",
    "CREATE INDEX samples_by_point ON samples (workload, operation, backend, rows)",
    *(
        f"CREATE INDEX {table}_by_run ON {table} (run)"
        for table in ("samples", "failures", "unsupported", "surroundings", "ended")
    ),
)

SUMMARIES = """
    SELECT id, started, title, workloads, systems, sizes, repeats, note, seconds, command,
        (SELECT count(*) FROM samples WHERE run = runs.id) AS samples,
        (SELECT count(*) FROM failures WHERE run = runs.id) AS failures
    FROM runs ORDER BY started DESC, id DESC"""

SAMPLES_OF = """
    SELECT runs.started, samples.* FROM samples JOIN runs ON runs.id = samples.run
    WHERE workload = ? AND operation = ? AND backend = ? AND rows = ?
    ORDER BY runs.started, runs.id, samples.rowid"""

ENDED = "SELECT ended.* FROM ended JOIN runs ON runs.id = ended.run ORDER BY runs.started, runs.id"


def is_there(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our tables; False for one that is empty.

    Raises FileProblem for a file of another program or of a later version.
    """
    version, application = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")
    )
    if application != APPLICATION:
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise FileProblem(path, "this is a database, but not of kept runs", fix=WAY_OUT)
        return False
    if version > VERSION:
        raise FileProblem(
            path,
            "the kept runs were written by a later version of the program",
            f"The file has version {version}, and {VERSION} is the latest known here",
            "Use that version, or move the file away: the next race begins a new one",
        )
    return True


def make(connection: sqlite3.Connection) -> None:
    """Inside the transaction that is open."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def insert(connection: sqlite3.Connection, table: str, items: Sequence[Mapping[str, Any]]) -> int:
    """Rows of the same columns; the number of the last one, 0 for none."""
    if not items:
        return 0
    names = ", ".join(items[0])
    holders = ", ".join(f":{name}" for name in items[0])
    sql = f"INSERT INTO {table} ({names}) VALUES ({holders})"
    if len(items) == 1:
        return connection.execute(sql, items[0]).lastrowid or 0
    connection.executemany(sql, items)
    return 0
