"""The tables of saved runs: their schema, runs as rows, and checks of the rows of a file.

Version 1 had a row for each sample and can still be read; version 2 has a row for each batch.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.machine import machine_of
from lamella.core.bench.engine.protocol import Failure, ProcessUsage, Surroundings, UnsupportedStep
from lamella.core.bench.registry import UnknownWorkload, accepted_name, plain_name
from lamella.core.bench.results.batches import (
    COLUMNS,
    INTEGER,
    Batch,
    Records,
    Row,
    batches_of,
    column_bytes,
    columns_of,
    group_rows,
)
from lamella.core.bench.results.records import (
    LEAST_SECONDS,
    MOST_SECONDS,
    MOST_TEXT,
    Figures,
    Record,
    Sample,
    parse_row,
    seconds_of,
    to_saved_names,
)
from lamella.core.bench.results.run import RunSummary, SavedRun
from lamella.core.errors import BadData, FileProblem, short_text, visible

VERSION = 2
APPLICATION = 0x6C616D72  # "lamr"
WAY_OUT = "Move the file away or delete it: the next benchmark creates a new one"
_POINT = "workload TEXT NOT NULL, backend TEXT NOT NULL"
_RUN_KEY = "run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE"
RUN_TABLES = ("runs", "samples", "batches", "failures", "unsupported", "surroundings", "ended")

BATCHES = (
    f"""CREATE TABLE batches (
        {_RUN_KEY}, {_POINT}, operation TEXT NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,
        checksum TEXT NOT NULL, temperature TEXT NOT NULL, figures TEXT NOT NULL, samples INTEGER NOT NULL,
        {", ".join(f"{name} BLOB NOT NULL" for name in COLUMNS)})""",
    "CREATE INDEX batches_by_point ON batches (workload, operation, backend, rows)",
    "CREATE INDEX batches_by_run ON batches (run)",
)
"""What version 2 added. `figures` is JSON, or empty."""

TABLES = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL,
        command TEXT NOT NULL, seconds REAL NOT NULL, choice TEXT NOT NULL, workloads TEXT NOT NULL,
        systems TEXT NOT NULL, sizes TEXT NOT NULL, repeats INTEGER NOT NULL)""",
    f"""CREATE TABLE samples (
        {_RUN_KEY}, {_POINT}, operation TEXT NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,
        repeat INTEGER NOT NULL, seconds REAL NOT NULL, cpu_seconds REAL NOT NULL,
        peak_rss_bytes INTEGER NOT NULL, disk_bytes INTEGER NOT NULL, checksum TEXT NOT NULL,
        temperature TEXT NOT NULL, latencies TEXT NOT NULL)""",
    f"""CREATE TABLE failures (
        {_RUN_KEY}, {_POINT}, operation TEXT NOT NULL, rows INTEGER NOT NULL, repeat INTEGER NOT NULL,
        message TEXT NOT NULL, details TEXT NOT NULL, kind TEXT NOT NULL)""",
    f"CREATE TABLE unsupported ({_RUN_KEY}, {_POINT}, step TEXT NOT NULL, reason TEXT NOT NULL)",
    f"""CREATE TABLE surroundings (
        {_RUN_KEY}, {_POINT}, version TEXT NOT NULL, description TEXT NOT NULL, environment TEXT NOT NULL)""",
    f"""CREATE TABLE ended (
        {_RUN_KEY}, {_POINT}, rows INTEGER NOT NULL, table_rows INTEGER NOT NULL, repeats INTEGER NOT NULL,
        steps INTEGER NOT NULL, seconds REAL NOT NULL, memory_bytes INTEGER NOT NULL,
        disk_bytes INTEGER NOT NULL)""",
    "CREATE INDEX samples_by_point ON samples (workload, operation, backend, rows)",
    *(f"CREATE INDEX {table}_by_run ON {table} (run)" for table in RUN_TABLES[1:] if table != "batches"),
    *BATCHES,
)


def has_tables(connection: sqlite3.Connection, path: Path, writing: bool = False) -> bool:
    """Whether the file has these tables; False if it is empty. Needs an open transaction.

    A file of version 1 is upgraded if `writing`; for reading, a temporary table replaces the one that it
    lacks. Raises FileProblem for a file of another program or of a later version.
    """
    # A single statement, because another process may be creating the tables.
    version, application, entries = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application != APPLICATION:
        if entries:
            raise FileProblem(path, "this database does not contain saved runs", fix=WAY_OUT)
        return False
    if version > VERSION:
        raise FileProblem(
            path,
            "the saved runs were written by a later version of the program",
            f"The file has version {version}, but this program reads versions up to {VERSION}",
            "Use that version, or move the file away: the next benchmark creates a new one",
        )
    if missing := _columns_of_version(version) - _columns(connection):
        names = ", ".join(sorted(missing))
        raise FileProblem(path, "the saved runs cannot be read", f"The file lacks {names}", WAY_OUT)
    if version < VERSION:
        _add_batches(connection, writing)
    return True


def _add_batches(connection: sqlite3.Connection, writing: bool) -> None:
    for statement in BATCHES if writing else BATCHES[:1]:
        connection.execute(statement if writing else statement.replace("CREATE", "CREATE TEMP", 1))
    if writing:
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _columns(connection: sqlite3.Connection) -> set[str]:
    """The columns of all tables, as table.column."""
    rows = connection.execute(
        "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    )
    return {f"{table}.{column}" for table, column in rows}


@cache
def _columns_of_version(version: int) -> frozenset[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        if version < VERSION:
            connection.execute("DROP TABLE batches")
        return frozenset(_columns(connection))


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables. Needs an open transaction."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def insert_rows(connection: sqlite3.Connection, table: str, items: Sequence[Mapping[str, Any]]) -> int:
    """Insert rows with equal columns. Return the id of a single row, otherwise 0."""
    if not items:
        return 0
    names = ", ".join(items[0])
    holders = ", ".join(f":{name}" for name in items[0])
    sql = f"INSERT INTO {table} ({names}) VALUES ({holders})"
    if len(items) == 1:
        return connection.execute(sql, items[0]).lastrowid or 0
    connection.executemany(sql, items)
    return 0


MOST_LATENCIES = 1 << 25
"""The maximum number of characters of a sample's latencies in version 1: those of a million calls."""


def insert_run(connection: sqlite3.Connection, run: SavedRun) -> int:
    """Save a run and return its number. Needs an open transaction."""
    number = insert_rows(connection, "runs", [_run_row(run)])
    for table, items in (
        ("batches", [_batch_row(batch) for batch in batches_of(run.records)]),
        ("failures", [vars(failure) for failure in run.failures]),
        ("unsupported", [vars(gap) for gap in run.unsupported_steps]),
        ("surroundings", [_surroundings_row(surrounding) for surrounding in run.surroundings]),
        ("ended", [vars(end) for end in run.processes]),
    ):
        insert_rows(connection, table, [{"run": number, **to_saved_names(item)} for item in items])
    return number


def select_run(connection: sqlite3.Connection, number: int) -> SavedRun:
    """Everything about an existing run. Raises BadData."""

    def of(table: str) -> list[dict[str, Any]]:
        rows = connection.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY rowid", (number,))
        return [{name: row[name] for name in row.keys() if name != "run"} for row in rows]  # noqa: SIM118

    row = connection.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise BadData(f"Run {number} is listed, but does not exist")
    run = SavedRun(
        id=number,
        started=_moment(row["started"]),
        choice=_choice(row["choice"]),
        **{name: row[name] for name in ("title", "command", "seconds", "note")},
    )
    return replace(
        parse_row(SavedRun, vars(run)),
        records=Records((*_of_version_1(connection, number), *_batches(connection, number))),
        failures=tuple(parse_row(Failure, item) for item in of("failures")),
        unsupported_steps=tuple(parse_row(UnsupportedStep, item) for item in of("unsupported")),
        surroundings=tuple(map(_surroundings, of("surroundings"))),
        processes=tuple(parse_row(ProcessUsage, item) for item in of("ended")),
    )


def _run_row(run: SavedRun) -> dict[str, Any]:
    choice = run.choice
    return {
        "started": run.started.isoformat(),
        "title": run.title,
        "note": run.note,
        "command": run.command,
        "seconds": run.seconds,
        "choice": choice.to_json() if choice else "",
        "workloads": json.dumps(choice.workloads if choice else []),
        "systems": json.dumps(_systems(run)),
        "sizes": json.dumps(choice.rows if choice else []),
        "repeats": choice.repeats if choice else 0,
    }


def _systems(run: SavedRun) -> Sequence[str]:
    """The systems that were chosen, by their names in the results."""
    measured = {plain_name(name): name for name in dict.fromkeys(sample.system for sample in run.samples)}
    return [measured.get(name, name) for name in run.choice.systems] if run.choice else ()


def run_summary(row: dict[str, Any]) -> RunSummary:
    lists = {name: _list(row[name], str) for name in ("workloads", "systems")}
    lists |= {"systems": tuple(map(accepted_name, lists["systems"])), "sizes": _list(row["sizes"], int)}
    environment = row.pop("environment")
    machine = "" if environment is None else machine_of(_environment(environment))
    return parse_row(RunSummary, row | lists | {"started": _moment(row["started"]), "machine": machine})


def _moment(text: Any) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise BadData(f"A run was started at {text!r}, which is not a time") from error


def _json(text: Any, *kinds: type) -> Any:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadData(f"{short_text(text)} is not JSON", str(error)) from error
    if not isinstance(value, kinds):
        raise BadData(f"{short_text(text)} is not the kind of JSON that its column holds")
    return value


def _list(text: Any, kind: type) -> tuple[Any, ...]:
    items = _json(text, list)
    if not all(isinstance(item, kind) for item in items):
        raise BadData(f"{short_text(text)} is not a list of {kind.__name__}")
    return tuple(visible(item) if kind is str else item for item in items)


def _choice(text: Any) -> Choice | None:
    if text == "":
        return None
    _json(text, dict)
    try:
        return Choice.from_json(text)
    except (UnknownWorkload, FileProblem):  # of another version, or of a file that is gone
        return None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadData("What a run measured cannot be read", f"{type(error).__name__}: {error}") from error


def _batch_row(batch: Batch) -> dict[str, Any]:
    texts = {name: getattr(batch, name) for name in _NAMES}
    figures = json.dumps(asdict(batch.figures)) if batch.figures else ""
    return texts | {"figures": figures, "samples": len(batch)} | column_bytes(batch)


_NAMES = ("workload", "system", "operation", "rows", "columns", "checksum", "temperature")
_BATCH = (*to_saved_names(dict.fromkeys(_NAMES)), "figures", *COLUMNS)
_BATCH_TEXTS = [name for name in _BATCH if name not in (*COLUMNS, "rows", "columns")]
_BATCH_CHECKS = {
    **{name: f"typeof({name}) = 'text' AND length({name}) <= {MOST_TEXT}" for name in _BATCH_TEXTS},
    "rows": "typeof(rows) = 'integer' AND rows > 0",
    "columns": "typeof(columns) = 'integer' AND columns >= 0",
    "samples": "typeof(samples) = 'integer' AND samples > 0",
    **{
        name: f"typeof({name}) = 'blob' AND length({name}) = {kind.itemsize} * samples"
        for name, kind in COLUMNS.items()
    },
    "calls": f"typeof(calls) = 'blob' AND length(calls) IN (0, {INTEGER.itemsize} * samples)",
    "latencies": "typeof(latencies) = 'blob' AND length(latencies) % 8 = 0",
}
_UNSOUND = (
    f"CASE {' '.join(f'WHEN NOT ({check}) THEN {name!r}' for name, check in _BATCH_CHECKS.items())} END"
)
"""SQL for the name of a column of a batch that has an impossible value."""


def _batches(connection: sqlite3.Connection, number: int) -> list[Batch]:
    return [batch for _, batch in _checked_batches(connection, "batches WHERE run = ?", (number,))]


def _checked_batches(
    connection: sqlite3.Connection, which: str, values: Sequence[Any]
) -> Iterator[tuple[int, Batch]]:
    """The batches, with the numbers of their runs. Raises BadData."""
    wrong = connection.execute(f"SELECT {_UNSOUND} FROM {which} AND {_UNSOUND} IS NOT NULL LIMIT 1", values)
    if (bad := wrong.fetchone()) is not None:
        raise BadData(f"A batch of samples is damaged: its {bad[0]} is impossible")
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(f"SELECT run, {', '.join(_BATCH)} FROM {which} ORDER BY rowid", values).fetchall()
    first = 1 + len(_NAMES) + 1
    shown_text, shown_system = cache(visible), cache(lambda name: accepted_name(visible(name)))
    for (run, workload, system, operation, num_rows, columns, checksum, warmth, figures, *_), arrays in zip(
        rows, columns_of([row[first:] for row in rows]), strict=True
    ):
        yield (
            run,
            Batch(
                *(shown_text(workload), shown_system(system), shown_text(operation), num_rows, columns),
                *(shown_text(checksum), shown_text(warmth)),
                parse_row(Figures, _json(figures, dict)) if figures else None,
                *arrays,
            ),
        )


_TEXTS = ("workload", "backend", "operation", "checksum", "temperature", "latencies")
_COUNTS = ("rows", "columns", "repeat", "peak_rss_bytes", "disk_bytes")
_SECONDS = ("seconds", "cpu_seconds")
_SAMPLE = (*_TEXTS, *_COUNTS, *_SECONDS)

_SOUND = " AND ".join(
    [
        f"rows > 0 AND length(latencies) <= {MOST_LATENCIES}",
        *(f"typeof({name}) = 'text'" for name in _TEXTS),
        *(f"length({name}) <= {MOST_TEXT}" for name in _TEXTS if name != "latencies"),
        *(f"typeof({name}) = 'integer' AND {name} >= 0" for name in _COUNTS),
        *(f"typeof({name}) IN ('real', 'integer')" for name in _SECONDS),
        *(f"({name} = 0 OR {name} BETWEEN {LEAST_SECONDS} AND {MOST_SECONDS})" for name in _SECONDS),
    ]
)
"""The checks that `typed` makes of a record, as SQL: fifty times faster than in Python."""


def _of_version_1(connection: sqlite3.Connection, number: int) -> tuple[Batch, ...]:
    return tuple(batch for _, batch in _checked_samples(connection, "samples WHERE run = ?", (number,)))


def _checked_samples(
    connection: sqlite3.Connection, which: str, values: Sequence[Any]
) -> Iterator[tuple[int, Batch]]:
    """Like `_checked_batches`, for version 1."""
    names = ", ".join(_SAMPLE)
    unsound = connection.execute(f"SELECT {names} FROM {which} AND NOT ({_SOUND}) LIMIT 1", values).fetchone()
    if unsound is not None:
        latencies, figures = _calls(unsound["latencies"])
        parse_row(
            Record, dict(unsound) | {"latencies": latencies, "figures": figures}
        )  # raises with the reason
        raise BadData("A sample has more latencies than a benchmark can measure")
    cursor = connection.cursor()
    cursor.row_factory = None
    lines = cursor.execute(f"SELECT run, {names} FROM {which} ORDER BY run, rowid", values)
    for run, rows in groupby(lines, key=itemgetter(0)):
        for batch in group_rows(_rows_of_version_1(rows)):
            yield run, batch


def _rows_of_version_1(records: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    shown_text, shown_system = cache(visible), cache(lambda name: accepted_name(visible(name)))
    for _, workload, system, operation, checksum, temperature, latencies, *numbers in records:
        rows, columns, repeat, peak, disk, seconds, cpu = numbers
        calls, figures = _NO_CALLS if latencies == "[]" else _calls(latencies)
        yield (
            shown_text(workload), shown_system(system), shown_text(operation), rows, columns,
            shown_text(checksum), shown_text(temperature), figures, calls, repeat, seconds, cpu, peak, disk,
        )  # fmt: skip


def samples_of_point(
    connection: sqlite3.Connection, workload: str, operation: str, system: str, rows: int
) -> list[tuple[int, datetime, list[Sample]]]:
    """The samples of a point in every run that has some, oldest first."""
    of_point = "WHERE workload = ? AND operation = ? AND backend = ? AND rows = ?"
    point = (workload, operation, system, rows)
    samples: dict[int, list[Sample]] = {}
    for run, batch in (
        *_checked_samples(connection, f"samples {of_point}", point),
        *_checked_batches(connection, f"batches {of_point}", point),
    ):
        samples.setdefault(run, []).append(batch)
    runs = connection.execute("SELECT id, started FROM runs ORDER BY started, id")
    return [(run, _moment(began), samples[run]) for run, began in runs if run in samples]


_NO_CALLS: tuple[tuple[float, ...], Figures | None] = ((), None)


def _calls(text: str) -> tuple[tuple[float, ...], Figures | None]:
    """The latencies of many calls that were timed one by one, or figures that replace them."""
    value = _json(text, list, dict)
    return ((), parse_row(Figures, value)) if isinstance(value, dict) else (seconds_of(value), None)


def process_of(row: dict[str, Any]) -> ProcessUsage:
    return parse_row(ProcessUsage, {name: value for name, value in row.items() if name != "run"})


def _surroundings_row(surroundings: Surroundings) -> dict[str, Any]:
    return vars(surroundings) | {"environment": json.dumps(surroundings.environment)}


def _surroundings(row: dict[str, Any]) -> Surroundings:
    return parse_row(Surroundings, row | {"environment": _environment(row["environment"])})


def _environment(text: Any) -> dict[str, Any]:
    environment: dict[str, Any] = _json(text, dict)
    for name, kind in _ENVIRONMENT.items():
        if name in environment and not isinstance(environment[name], kind):
            raise BadData(f"The environment's {name} is {short_text(environment[name])}")
    return {name: visible(value) if isinstance(value, str) else value for name, value in environment.items()}


_ENVIRONMENT: dict[str, type | tuple[type, ...]] = {
    "processor": str,
    "cores": (int, type(None)),
    "memory_bytes": int,
    "disk": dict,
    "system": str,
    "python": str,
    "libraries": dict,
}
