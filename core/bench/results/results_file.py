"""Results files, which carry one run to another computer: a database of saved runs, compressed by gzip.

Files from elsewhere are not trusted. They are unpacked in memory, up to a limit; nothing in their schema is
run; every value must have the type of its column; control characters in names are made visible; and commands
to repeat them name no program, folder or file of this computer.
"""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.results.records import MOST_BYTES
from lamella.core.bench.results.run import SavedRun, combine
from lamella.core.bench.results.run_tables import (
    RUN_TABLES,
    create_tables,
    has_tables,
    insert_run,
    select_run,
)
from lamella.core.errors import BadData, FileProblem, short_text

MOST_ROWS = 2_000_000
"""The maximum number of rows of all tables together, which are read into memory."""

MOST_CELL = 1 << 25
"""The maximum size of one value in bytes: a sample may have the latencies of a million calls."""

SUFFIX = ".results"
NO_RESULTS = "this is not a results file"
WRITE_RESULTS = "`lamella bench --show RUN --export FILE` writes one"
_ASK_ANEW = "Copy it again from its source"
_SQLITE, _GZIP = b"SQLite format 3\0", b"\x1f\x8b"


def write_results_file(run: SavedRun, path: Path) -> None:
    """Write a run to a file. The same run gives the same bytes. Raises FileProblem."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        insert_run(connection, run)
        connection.execute("VACUUM")
        compressed = gzip.compress(connection.serialize(), mtime=0)
    try:
        path.write_bytes(compressed)
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "cannot be written", why, "Choose another place") from error


def read_results_file(path: Path) -> SavedRun:
    """The run in a results file, or all runs of a file of saved runs combined. Raises FileProblem."""
    try:
        with closing(_unpack(path)) as connection:
            _refuse_what_acts(connection, path)
            if not has_tables(connection, path):
                raise FileProblem(path, NO_RESULTS, "It is empty", WRITE_RESULTS)
            _refuse_many_rows(connection, path)
            numbers = [row["id"] for row in connection.execute("SELECT id FROM runs ORDER BY started, id")]
            runs = [select_run(connection, number) for number in numbers]
    except (sqlite3.Error, BadData, UnicodeDecodeError) as error:
        raise FileProblem(path, "the results file is damaged", str(error), _ASK_ANEW) from error
    if not runs:
        raise FileProblem(path, NO_RESULTS, "It has no runs", WRITE_RESULTS)
    combined = combine(runs)
    return replace(combined, choice=_for_this_computer(combined.choice))


def _for_this_computer(choice: Choice | None) -> Choice | None:
    """The choice without the folder and interpreter of the other computer; None if it needs files from
    there."""
    if choice is None:
        return None
    user_files = [
        name for name in (*choice.systems, *choice.workloads) if ":" in name or name.endswith(".py")
    ]
    return None if user_files else replace(choice, folder=None, interpreter=None)


def _unpack(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.setlimit(
            sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES
        )  # `deserialize` has the whole as one value
        connection.deserialize(_database(path))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_what_acts(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse views, triggers, virtual tables and computed columns: reading them would run code of the
    file."""
    acts = """
        SELECT type, name FROM sqlite_master
        WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'
        UNION ALL SELECT 'computed column', m.name || '.' || c.name
        FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' AND c.hidden"""
    if row := connection.execute(acts).fetchone():
        kind = "virtual table" if row["type"] == "table" else row["type"]
        raise FileProblem(path, NO_RESULTS, f"It has a {kind} {short_text(row['name'])}", WRITE_RESULTS)


def _refuse_many_rows(connection: sqlite3.Connection, path: Path) -> None:
    counts = (connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in RUN_TABLES)
    in_batches = connection.execute("SELECT ifnull(sum(samples), 0) FROM batches").fetchone()[0]
    if (rows := sum(counts) + in_batches) > MOST_ROWS:
        raise FileProblem(path, NO_RESULTS, f"It has {rows:,} rows; the maximum is {MOST_ROWS:,}")


def _database(path: Path) -> bytes:
    """The uncompressed database. Raises FileProblem if it cannot be a results file; reads at most
    MOST_BYTES."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
            file.seek(0)
            if not start.startswith((_SQLITE, _GZIP)):
                raise FileProblem(path, NO_RESULTS, _begins(start), WRITE_RESULTS)
            source = gzip.GzipFile(fileobj=file) if start.startswith(_GZIP) else file
            content = source.read(MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileProblem(path, "the results file is damaged", str(error), _ASK_ANEW) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "cannot be read", why, "Choose another file") from error
    if len(content) > MOST_BYTES:
        what = f"Uncompressed, it is larger than {MOST_BYTES:,} bytes"
        raise FileProblem(path, NO_RESULTS, what, WRITE_RESULTS)
    if not content.startswith(_SQLITE):
        raise FileProblem(path, NO_RESULTS, _begins(content), WRITE_RESULTS)
    return content


def _begins(start: bytes) -> str:
    if not start:
        return "It is empty"
    json_says = " It may be the JSON that --json writes, which --compare reads"
    return f"It begins with {start[:12]!r}.{json_says if start.lstrip()[:1] in (b'[', b'{') else ''}"
