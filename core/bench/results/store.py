"""The saved runs: a SQLite file of benchmarks, each with all its samples.

Every method opens and closes the file, so that any threads and processes can use it at the same time. The
first `save` creates the file and its folder. `results_file` writes a run to a file for another computer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.engine.protocol import ProcessUsage
from lamella.core.bench.results.records import STATISTICS, Sample, Summary, by_call, spread, summaries
from lamella.core.bench.results.run import RunSummary, SavedRun
from lamella.core.bench.results.run_tables import (
    WAY_OUT,
    create_tables,
    has_tables,
    insert_run,
    process_of,
    run_summary,
    samples_of_point,
    select_run,
)
from lamella.core.errors import BadData, FileProblem, LamellaError

SUMMARIES = """
    SELECT id, started, title, workloads, systems, sizes, repeats, note, seconds, command,
        (SELECT count(*) FROM samples WHERE run = runs.id) +
            (SELECT ifnull(sum(samples), 0) FROM batches WHERE run = runs.id) AS samples,
        (SELECT count(*) FROM failures WHERE run = runs.id) AS failures,
        (SELECT environment FROM surroundings WHERE run = runs.id LIMIT 1) AS environment
    FROM runs ORDER BY started DESC, id DESC"""

SELECT_PROCESSES = "SELECT ended.* FROM ended JOIN runs ON runs.id = ended.run ORDER BY runs.started, runs.id"


BUSY_SECONDS = 30.0
MOST_NOTE = 10_000
_T = TypeVar("_T")


class UnknownRun(LamellaError):
    """There is no saved run with this number."""


class SavedRuns:
    """The file of saved runs. All methods raise FileProblem, and do not change the file, if it is damaged, of
    another program, or of a later version."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, run: SavedRun) -> int:
        """Save a run and return its number; `run.id` is ignored."""
        with self._writing() as connection:
            return insert_run(connection, run)

    def runs(self) -> list[RunSummary]:
        """The summaries of all runs, newest first."""
        return self._rows(SUMMARIES, run_summary)

    def run(self, number: int) -> SavedRun:
        """Everything about one run. Raises UnknownRun."""
        with self._reading() as connection:
            if connection is None:
                raise self._unknown([number])
            self._need(connection, [number])
            return select_run(connection, number)

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete runs. Raises UnknownRun, and deletes none, if one does not exist."""
        keys = [(number,) for number in dict.fromkeys(numbers)]
        with self._writing() as connection:
            self._need(connection, [number for (number,) in keys])
            connection.executemany("DELETE FROM runs WHERE id = ?", keys)

    def note(self, number: int, text: str) -> None:
        """Replace the note of a run; words in it that begin with # are tags.

        Raises UnknownRun, and BadData for a note that is too long.
        """
        if len(text) > MOST_NOTE:
            raise BadData(
                f"A note can have at most {MOST_NOTE:,} characters; this one has {len(text):,}",
                fix="Shorten it, or write longer text to a file",
            )
        with self._writing() as connection:
            self._need(connection, [number])
            connection.execute("UPDATE runs SET note = ? WHERE id = ?", (text, number))

    def samples_of(
        self, workload: str, operation: str, system: str, rows: int
    ) -> list[tuple[int, datetime, list[Sample]]]:
        """The samples of one point in every run that has some, oldest first: (run, started, samples)."""
        with self._reading() as connection:
            return samples_of_point(connection, workload, operation, system, rows) if connection else []

    def costs(self) -> Costs:
        """The costs of the child processes of all saved runs, over the shipped ones."""
        return shipped_costs(self.processes())

    def processes(self) -> list[ProcessUsage]:
        """The child processes of all saved runs, oldest first."""
        return self._rows(SELECT_PROCESSES, process_of)

    def move_aside(self) -> Path:
        """Rename the file, so that the next `save` creates a new one, and return the new path.

        This is for a damaged file; programs that have it open keep using it.
        """
        names = (self.path.with_name(f"{self.path.stem}-{n}{self.path.suffix}") for n in count(1))
        with self._problems_named():
            return self.path.rename(next(name for name in names if not name.exists()))

    # ------------------------------------------------------------------- the file

    def _rows(self, sql: str, make: Callable[[dict[str, Any]], _T]) -> list[_T]:
        with self._reading() as connection:
            return [make(dict(row)) for row in connection.execute(sql)] if connection else []

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read transaction; None if nothing was ever saved."""
        with self._problems_named():
            if not self.path.exists():
                yield None
                return
            with closing(self._connect("ro")) as connection:
                connection.execute("BEGIN")
                yield connection if has_tables(connection, self.path) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, on a file that has its tables."""
        with self._problems_named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect("rwc")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                if not has_tables(connection, self.path, writing=True):
                    create_tables(connection)
                yield connection
                connection.execute("COMMIT")

    def _connect(self, mode: str) -> sqlite3.Connection:
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
                "Check the folder, the free disk space, and which programs have it open",
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
        stored_numbers = {row["id"] for row in connection.execute("SELECT id FROM runs")}
        if missing := [number for number in numbers if number not in stored_numbers]:
            raise self._unknown(missing)

    def _unknown(self, numbers: Sequence[int]) -> UnknownRun:
        listing = ", ".join(map(str, numbers))
        return UnknownRun(f"No saved run has the number {listing}", fix="`lamella bench --runs` lists them")


@dataclass(frozen=True)
class TrendPoint:
    """The value of one run: the statistic over its samples, and the ends of an error bar."""

    run: int
    started: datetime
    value: float
    low: float
    high: float
    samples: int


def trend(
    saved_runs: SavedRuns,
    workload: str,
    operation: str,
    system: str,
    rows: int,
    statistic: str = "median",
    quantity: str = "seconds",
    call: str | None = None,
) -> list[TrendPoint]:
    """The values of a point in all saved runs, oldest first; runs without a sample are skipped.

    `quantity` is a numeric field of a record. `call` is "first" or "again" if a question's calls are
    distinguished; left out, the later calls count if there are any. Raises FileProblem.
    """
    samples = saved_runs.samples_of(workload, operation, system, rows)
    points = [(run, started, _summary_of_call(records, call, quantity)) for run, started, records in samples]
    return [_point(run, started, summary, statistic) for run, started, summary in points if summary]


def _summary_of_call(records: Sequence[Sample], call: str | None, quantity: str) -> Summary | None:
    groups = {call_key: group for (_, call_key), group in by_call(records).items()}
    key = max(groups, key=lambda call_key: groups[call_key][0].many_calls) if call is None else call
    of_group = summaries(groups[key], quantity=quantity) if key in groups else {}
    return next(iter(of_group.values()), None)


def _point(run: int, started: datetime, summary: Summary, statistic: str) -> TrendPoint:
    low, high = spread(summary, statistic)
    return TrendPoint(run, started, STATISTICS[statistic](summary), low, high, summary.count)
