"""The runs that were kept: a SQLite file of races, each with all its samples.

Every method opens the file and closes it, so any thread or process may use it beside others. The file and
its folder are made by the first `save`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from lamella.core.bench import kept_schema as schema
from lamella.core.bench.choice import Choice
from lamella.core.bench.costs import Costs, shipped_costs
from lamella.core.bench.kept_run import KeptRun, RunSummary
from lamella.core.bench.protocol import Ended, Failure, Surroundings, Unsupported
from lamella.core.bench.results import Record
from lamella.core.bench.workloads import UnknownWorkload
from lamella.core.errors import FileProblem, LamellaError

BUSY_SECONDS = 30.0


class UnknownRun(LamellaError):
    """A number that no kept run has."""


class Kept:
    """Raises FileProblem, and leaves the file alone, where it is damaged, foreign, or of a later version."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, run: KeptRun) -> int:
        """The number it has from now on; `run.id` is not looked at."""
        with self._writing() as connection:
            number = schema.insert(connection, "runs", [_run_row(run)])
            for table, items in (
                ("samples", [_sample_row(record) for record in run.records]),
                ("failures", [vars(failure) for failure in run.failures]),
                ("unsupported", [vars(one) for one in run.unsupported]),
                ("surroundings", [_surroundings_row(found) for found in run.surroundings]),
                ("ended", [vars(one) for one in run.ended]),
            ):
                schema.insert(connection, table, [{"run": number, **item} for item in items])
        return number

    def runs(self) -> list[RunSummary]:
        """Newest first; none where nothing was ever kept."""
        return [_summary(row) for row in self._rows(schema.SUMMARIES)]

    def run(self, number: int) -> KeptRun:
        """Everything of one run. Raises UnknownRun."""
        found = self._rows("SELECT * FROM runs WHERE id = ?", (number,))
        if not found:
            raise self._unknown([number])
        row = found[0]
        return KeptRun(
            id=number,
            started=datetime.fromisoformat(row["started"]),
            choice=_choice(row["choice"]),
            **{name: row[name] for name in ("title", "command", "seconds", "note")},
            records=tuple(map(_record, self._of("samples", number))),
            failures=tuple(Failure(**item) for item in self._of("failures", number)),
            unsupported=tuple(Unsupported(**item) for item in self._of("unsupported", number)),
            surroundings=tuple(map(_surroundings, self._of("surroundings", number))),
            ended=tuple(Ended(**item) for item in self._of("ended", number)),
        )

    def delete(self, numbers: Iterable[int]) -> None:
        """Raises UnknownRun, and deletes none, where one is not there."""
        wanted = [(number,) for number in dict.fromkeys(numbers)]
        with self._writing() as connection:
            self._need(connection, [number for (number,) in wanted])
            connection.executemany("DELETE FROM runs WHERE id = ?", wanted)

    def note(self, number: int, text: str) -> None:
        """Give a run a note instead of the one it has. Raises UnknownRun."""
        with self._writing() as connection:
            self._need(connection, [number])
            connection.execute("UPDATE runs SET note = ? WHERE id = ?", (text, number))

    def samples_of(
        self, workload: str, operation: str, backend: str, rows: int
    ) -> list[tuple[int, datetime, list[Record]]]:
        """The records of one point in every run that has some, oldest first: (run, started, records)."""
        point = (workload, operation, backend, rows)
        found: dict[tuple[int, datetime], list[Record]] = {}
        for row in self._rows(schema.SAMPLES_OF, point):
            key = (row.pop("run"), datetime.fromisoformat(row.pop("started")))
            found.setdefault(key, []).append(_record(row))
        return [(number, started, records) for (number, started), records in found.items()]

    def costs(self) -> Costs:
        """What the children of all kept runs took, over what is known without any."""
        return shipped_costs(self.ended())

    def ended(self) -> list[Ended]:
        """The child processes of all kept runs, oldest first."""
        rows = self._rows(schema.ENDED)
        return [Ended(**{name: row[name] for name in row if name != "run"}) for row in rows]

    def move_aside(self) -> Path:
        """Give the file another name beside its own, so that the next `save` begins a new one; the new path.

        For a file that is no good: who has it open keeps it.
        """
        names = (self.path.with_name(f"{self.path.stem}-{n}{self.path.suffix}") for n in count(1))
        with self._problems_named():
            return self.path.rename(next(name for name in names if not name.exists()))

    # ------------------------------------------------------------------- the file

    def _of(self, table: str, number: int) -> list[dict[str, Any]]:
        rows = self._rows(f"SELECT * FROM {table} WHERE run = ? ORDER BY rowid", (number,))
        return [{name: value for name, value in row.items() if name != "run"} for row in rows]

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        with self._problems_named(), closing(self._connected("ro")) as connection:
            if not schema.is_there(connection, self.path):
                return []
            return [dict(row) for row in connection.execute(sql, values)]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on a file that has its tables."""
        with self._problems_named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connected("rwc")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                if not schema.is_there(connection, self.path):
                    schema.make(connection)
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
                "the kept runs cannot be used now",
                "Check the folder, the disk's space and who has it open",
            )
            raise FileProblem(self.path, what, str(error), fix) from error
        except sqlite3.DatabaseError as error:
            raise FileProblem(
                self.path, "the kept runs cannot be read", str(error), schema.WAY_OUT
            ) from error
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(self.path, "runs cannot be kept here", why, "Choose another place") from error

    def _need(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
        there = {row["id"] for row in connection.execute("SELECT id FROM runs")}
        if gone := [number for number in numbers if number not in there]:
            raise self._unknown(gone)

    def _unknown(self, numbers: Sequence[int]) -> UnknownRun:
        named = ", ".join(map(str, numbers))
        return UnknownRun(f"No kept run has the number {named}", fix="`lamella bench --runs` lists them")


def _run_row(run: KeptRun) -> dict[str, Any]:
    choice = run.choice
    return {
        "started": run.started.isoformat(),
        "title": run.title,
        "note": run.note,
        "command": run.command,
        "seconds": run.seconds,
        "choice": choice.to_json() if choice else "",
        "workloads": json.dumps(choice.workloads if choice else []),
        "systems": json.dumps(choice.systems if choice else []),
        "sizes": json.dumps(choice.rows if choice else []),
        "repeats": choice.repeats if choice else 0,
    }


def _summary(row: dict[str, Any]) -> RunSummary:
    lists = {name: tuple(json.loads(row[name])) for name in ("workloads", "systems", "sizes")}
    return RunSummary(**(row | lists | {"started": datetime.fromisoformat(row["started"])}))


def _choice(text: str) -> Choice | None:
    try:
        return Choice.from_json(text) if text else None
    except (UnknownWorkload, FileProblem):  # of another version, or of a file that is gone
        return None


def _sample_row(record: Record) -> dict[str, Any]:
    return vars(record) | {"latencies": json.dumps(record.latencies)}


def _record(row: dict[str, Any]) -> Record:
    return Record(**(row | {"latencies": tuple(json.loads(row["latencies"]))}))


def _surroundings_row(found: Surroundings) -> dict[str, Any]:
    return vars(found) | {"environment": json.dumps(found.environment)}


def _surroundings(row: dict[str, Any]) -> Surroundings:
    return Surroundings(**(row | {"environment": json.loads(row["environment"])}))
