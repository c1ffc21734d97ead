"""The runs that were saved: a SQLite file of benchmarks, each with all its samples.

Every method opens the file and closes it, so any thread or process may use it beside others. The file and its
folder are made by the first `save`. `results_file` has what carries a run to another computer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.engine.machine import machine_of
from lamella.core.bench.engine.protocol import Ended, Failure, Surroundings, Unsupported
from lamella.core.bench.registry import UnknownWorkload, name_of_any, plain_name
from lamella.core.bench.results.records import (
    LEAST_SECONDS,
    MOST_SECONDS,
    MOST_TEXT,
    STATISTICS,
    Figures,
    Record,
    Summary,
    by_call,
    seconds_of,
    spread,
    summaries,
    to_saved,
    typed,
)
from lamella.core.bench.results.run import RunSummary, SavedRun
from lamella.core.errors import BadData, FileProblem, LamellaError, shown, visible

VERSION = 1
APPLICATION = 0x6C616D72  # "lamr"
WAY_OUT = "Move the file away, or delete it: the next benchmark begins a new one"
_POINT = "workload TEXT NOT NULL, backend TEXT NOT NULL"
_OF_RUN = "run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE"
RUN_TABLES = ("runs", "samples", "failures", "unsupported", "surroundings", "ended")

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
    *(f"CREATE INDEX {table}_by_run ON {table} (run)" for table in RUN_TABLES[1:]),
)

SUMMARIES = """
    SELECT id, started, title, workloads, systems, sizes, repeats, note, seconds, command,
        (SELECT count(*) FROM samples WHERE run = runs.id) AS samples,
        (SELECT count(*) FROM failures WHERE run = runs.id) AS failures,
        (SELECT environment FROM surroundings WHERE run = runs.id LIMIT 1) AS environment
    FROM runs ORDER BY started DESC, id DESC"""

SAMPLES_OF = """
    SELECT runs.started, samples.* FROM samples JOIN runs ON runs.id = samples.run
    WHERE workload = ? AND operation = ? AND backend = ? AND rows = ?
    ORDER BY runs.started, runs.id, samples.rowid"""

ENDED = "SELECT ended.* FROM ended JOIN runs ON runs.id = ended.run ORDER BY runs.started, runs.id"


def has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our tables; False for one that is empty.

    Raises FileProblem for a file of another program or of a later version.
    """
    # One statement sees one state of the file: another process may be creating the tables.
    version, application, entries = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application != APPLICATION:
        if entries:
            raise FileProblem(path, "this is a database, but not of saved runs", fix=WAY_OUT)
        return False
    if version > VERSION:
        raise FileProblem(
            path,
            "the saved runs were written by a later version of the program",
            f"The file has version {version}, and {VERSION} is the latest known here",
            "Use that version, or move the file away: the next benchmark begins a new one",
        )
    if missing := _our_columns() - _columns(connection):
        named = ", ".join(sorted(missing))
        raise FileProblem(path, "the saved runs cannot be read", f"The file lacks {named}", WAY_OUT)
    return True


def _columns(connection: sqlite3.Connection) -> set[str]:
    """As table.column."""
    rows = connection.execute(
        "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    )
    return {f"{table}.{column}" for table, column in rows}


@cache
def _our_columns() -> frozenset[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        return frozenset(_columns(connection))


def create_tables(connection: sqlite3.Connection) -> None:
    """Inside the transaction that is open."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def insert_rows(connection: sqlite3.Connection, table: str, items: Sequence[Mapping[str, Any]]) -> int:
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


BUSY_SECONDS = 30.0
MOST_NOTE = 10_000
MOST_LATENCIES = 1 << 25
"""Characters of the latencies of a sample: of a million calls."""
_T = TypeVar("_T")


class UnknownRun(LamellaError):
    """A number that no saved run has."""


class SavedRuns:
    """Raises FileProblem, and leaves the file alone, where it is damaged, foreign, or of a later version."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, run: SavedRun) -> int:
        """The number it has from now on; `run.id` is not looked at."""
        with self._writing() as connection:
            return insert_run(connection, run)

    def runs(self) -> list[RunSummary]:
        """Newest first; none where nothing was ever saved."""
        return self._rows(SUMMARIES, (), _summary)

    def run(self, number: int) -> SavedRun:
        """Everything of one run. Raises UnknownRun."""
        if not self.path.exists():
            raise self._unknown([number])
        with self._problems_named(), closing(self._connected("ro")) as connection:
            if has_tables(connection, self.path):
                self._need(connection, [number])
                return select_run(connection, number)
        raise self._unknown([number])

    def delete(self, numbers: Iterable[int]) -> None:
        """Raises UnknownRun, and deletes none, where one is not there."""
        wanted = [(number,) for number in dict.fromkeys(numbers)]
        with self._writing() as connection:
            self._need(connection, [number for (number,) in wanted])
            connection.executemany("DELETE FROM runs WHERE id = ?", wanted)

    def note(self, number: int, text: str) -> None:
        """Give a run a note instead of the one it has; its words that begin with # are tags.

        Raises UnknownRun, and BadData for a note that is too long.
        """
        if len(text) > MOST_NOTE:
            raise BadData(
                f"A note has at most {MOST_NOTE:,} characters, and this one has {len(text):,}",
                fix="Shorten it; what is longer has a place in a file",
            )
        with self._writing() as connection:
            self._need(connection, [number])
            connection.execute("UPDATE runs SET note = ? WHERE id = ?", (text, number))

    def samples_of(
        self, workload: str, operation: str, system: str, rows: int
    ) -> list[tuple[int, datetime, list[Record]]]:
        """The records of one point in every run that has some, oldest first: (run, started, records)."""
        point = (workload, operation, system, rows)
        found: dict[tuple[int, datetime], list[Record]] = {}
        for run, started, record in self._rows(SAMPLES_OF, point, _dated_record):
            found.setdefault((run, started), []).append(record)
        return [(number, started, records) for (number, started), records in found.items()]

    def costs(self) -> Costs:
        """What the children of all saved runs took, over what is known without any."""
        return shipped_costs(self.ended())

    def ended(self) -> list[Ended]:
        """The child processes of all saved runs, oldest first."""
        return self._rows(ENDED, (), _ended)

    def move_aside(self) -> Path:
        """Give the file another name beside its own, so that the next `save` begins a new one; the new path.

        For a damaged file: programs that have it open keep it.
        """
        names = (self.path.with_name(f"{self.path.stem}-{n}{self.path.suffix}") for n in count(1))
        with self._problems_named():
            return self.path.rename(next(name for name in names if not name.exists()))

    # ------------------------------------------------------------------- the file

    def _rows(self, sql: str, values: Sequence[Any], made: Callable[[dict[str, Any]], _T]) -> list[_T]:
        if not self.path.exists():
            return []
        with self._problems_named(), closing(self._connected("ro")) as connection:
            if not has_tables(connection, self.path):
                return []
            return [made(dict(row)) for row in connection.execute(sql, values)]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on a file that has its tables."""
        with self._problems_named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connected("rwc")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                if not has_tables(connection, self.path):
                    create_tables(connection)
                yield connection
                connection.execute("COMMIT")

    def _connected(self, mode: str) -> sqlite3.Connection:
        place = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(place, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _problems_named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            what, fix = (
                "the saved runs cannot be used now",
                "Check the folder, the disk's space and who has it open",
            )
            raise FileProblem(self.path, what, str(error), fix) from error
        except sqlite3.DatabaseError as error:
            raise FileProblem(self.path, "the saved runs cannot be read", str(error), WAY_OUT) from error
        except (BadData, UnicodeDecodeError) as error:
            raise FileProblem(self.path, "the saved runs cannot be read", str(error), WAY_OUT) from error
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(self.path, "runs cannot be saved here", why, "Choose another place") from error

    def _need(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
        there = {row["id"] for row in connection.execute("SELECT id FROM runs")}
        if gone := [number for number in numbers if number not in there]:
            raise self._unknown(gone)

    def _unknown(self, numbers: Sequence[int]) -> UnknownRun:
        named = ", ".join(map(str, numbers))
        return UnknownRun(f"No saved run has the number {named}", fix="`lamella bench --runs` lists them")


def insert_run(connection: sqlite3.Connection, run: SavedRun) -> int:
    """The number it has from now on. Inside the transaction that is open."""
    number = insert_rows(connection, "runs", [_run_row(run)])
    for table, items in (
        ("samples", [_sample_row(record) for record in run.records]),
        ("failures", [vars(failure) for failure in run.failures]),
        ("unsupported", [vars(one) for one in run.unsupported]),
        ("surroundings", [_surroundings_row(found) for found in run.surroundings]),
        ("ended", [vars(one) for one in run.ended]),
    ):
        insert_rows(connection, table, [{"run": number, **to_saved(item)} for item in items])
    return number


def select_run(connection: sqlite3.Connection, number: int) -> SavedRun:
    """Everything of a run that is there."""

    def of(table: str) -> list[dict[str, Any]]:
        rows = connection.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY rowid", (number,))
        return [{name: row[name] for name in row.keys() if name != "run"} for row in rows]  # noqa: SIM118

    row = connection.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise BadData(f"Run {number} is listed, but not there")
    run = SavedRun(
        id=number,
        started=_moment(row["started"]),
        choice=_choice(row["choice"]),
        **{name: row[name] for name in ("title", "command", "seconds", "note")},
    )
    return replace(
        typed(SavedRun, vars(run)),
        records=_records(connection, number),
        failures=tuple(typed(Failure, item) for item in of("failures")),
        unsupported=tuple(typed(Unsupported, item) for item in of("unsupported")),
        surroundings=tuple(map(_surroundings, of("surroundings"))),
        ended=tuple(typed(Ended, item) for item in of("ended")),
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
    """Those that were asked for, by the names that they have in the results."""
    measured = {plain_name(name): name for name in dict.fromkeys(record.system for record in run.records)}
    return [measured.get(name, name) for name in run.choice.systems] if run.choice else ()


def _summary(row: dict[str, Any]) -> RunSummary:
    lists = {name: _list(row[name], str) for name in ("workloads", "systems")}
    lists |= {"systems": tuple(map(name_of_any, lists["systems"])), "sizes": _list(row["sizes"], int)}
    found = row.pop("environment")
    known = "" if found is None else machine_of(_environment(found))
    return typed(RunSummary, row | lists | {"started": _moment(row["started"]), "machine": known})


def _moment(text: Any) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise BadData(f"A run was started at {text!r}, which is no time") from error


def _json(text: Any, *kinds: type) -> Any:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadData(f"{shown(text)} is no JSON", str(error)) from error
    if not isinstance(found, kinds):
        raise BadData(f"{shown(text)} is JSON of another kind than its column has")
    return found


def _list(text: Any, kind: type) -> tuple[Any, ...]:
    found = _json(text, list)
    if not all(isinstance(one, kind) for one in found):
        raise BadData(f"{shown(text)} is not a list of {kind.__name__}")
    return tuple(visible(one) if kind is str else one for one in found)


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


def _sample_row(record: Record) -> dict[str, Any]:
    """Figures, where they stand for the samples, take the place of latencies."""
    row = {name: value for name, value in vars(record).items() if name != "figures"}
    return row | {"latencies": json.dumps(asdict(record.figures) if record.figures else record.latencies)}


def _record(row: dict[str, Any]) -> Record:
    latencies, figures = _calls(row["latencies"])
    return typed(Record, row | {"latencies": latencies, "figures": figures})


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
"""What `typed` asks of a record. SQLite looks at half a million of them in the time of ten thousand here."""


def _records(connection: sqlite3.Connection, number: int) -> tuple[Record, ...]:
    of_run = f"SELECT {', '.join(_SAMPLE)} FROM samples WHERE run = ?"
    unsound = connection.execute(f"{of_run} AND NOT ({_SOUND}) LIMIT 1", (number,)).fetchone()
    if unsound is not None:
        _record(dict(unsound))  # which says what is wrong with it
        raise BadData("A sample has more latencies than any benchmark measures")
    cursor = connection.cursor()
    cursor.row_factory = None
    shown_text, shown_system = cache(visible), cache(lambda name: name_of_any(visible(name)))
    found = []
    for workload, system, operation, checksum, temperature, latencies, *numbers in cursor.execute(
        f"{of_run} ORDER BY rowid", (number,)
    ):
        rows, columns, repeat, peak, disk, seconds, cpu = numbers
        found.append(
            Record(
                *(shown_text(workload), shown_system(system), shown_text(operation), rows, columns, repeat),
                *(seconds, cpu, peak, disk, shown_text(checksum), shown_text(temperature)),
                *(_NO_CALLS if latencies == "[]" else _calls(latencies)),
            )
        )
    return tuple(found)


_NO_CALLS: tuple[tuple[float, ...], Figures | None] = ((), None)


def _calls(text: str) -> tuple[tuple[float, ...], Figures | None]:
    """Of many calls that were timed one by one: each, or figures of them."""
    found = _json(text, list, dict)
    return ((), typed(Figures, found)) if isinstance(found, dict) else (seconds_of(found), None)


def _dated_record(row: dict[str, Any]) -> tuple[int, datetime, Record]:
    return row.pop("run"), _moment(row.pop("started")), _record(row)


def _ended(row: dict[str, Any]) -> Ended:
    return typed(Ended, {name: value for name, value in row.items() if name != "run"})


def _surroundings_row(found: Surroundings) -> dict[str, Any]:
    return vars(found) | {"environment": json.dumps(found.environment)}


def _surroundings(row: dict[str, Any]) -> Surroundings:
    return typed(Surroundings, row | {"environment": _environment(row["environment"])})


def _environment(text: Any) -> dict[str, Any]:
    environment: dict[str, Any] = _json(text, dict)
    for name, kind in _ENVIRONMENT.items():
        if name in environment and not isinstance(environment[name], kind):
            raise BadData(f"The environment's {name} is {shown(environment[name])}")
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


@dataclass(frozen=True)
class TrendPoint:
    """What one run says: the statistic over its samples, and the ends of an error bar."""

    run: int
    started: datetime
    value: float
    low: float
    high: float
    samples: int


def trend(
    kept: SavedRuns,
    workload: str,
    operation: str,
    system: str,
    rows: int,
    statistic: str = "median",
    quantity: str = "seconds",
    call: str | None = None,
) -> list[TrendPoint]:
    """Oldest run first; runs without a sample have no point.

    `quantity` is a numeric field of a record. `call` is "first" or "again" where a question's calls are told
    apart; left out, the later calls count where there are some. Raises FileProblem.
    """
    found = kept.samples_of(workload, operation, system, rows)
    told = [(run, started, _summary_of_call(records, call, quantity)) for run, started, records in found]
    return [_point(run, started, summary, statistic) for run, started, summary in told if summary]


def _summary_of_call(records: Sequence[Record], call: str | None, quantity: str) -> Summary | None:
    groups = {found: group for (_, found), group in by_call(records).items()}
    wanted = max(groups, key=lambda found: len(groups[found][0].latencies)) if call is None else call
    of_group = summaries(groups[wanted], quantity=quantity) if wanted in groups else {}
    return next(iter(of_group.values()), None)


def _point(run: int, started: datetime, summary: Summary, statistic: str) -> TrendPoint:
    low, high = spread(summary, statistic)
    return TrendPoint(run, started, STATISTICS[statistic](summary), low, high, summary.count)
