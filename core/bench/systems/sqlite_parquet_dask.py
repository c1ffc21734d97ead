"""SQLite over Parquet in the processes of Dask.distributed: each worker has files of its own, and what it
answers of them is added up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa

from lamella.core.bench.systems.pyarrow import trip_options
from lamella.core.bench.systems.sqlite_parquet import TRIPS, convert, trips_of
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.taxi import SQLITE_MILLISECONDS, TaxiSystem
from lamella.core.bridge import connect

Rows = list[tuple[Any, ...]]

PARTIAL = {name: text.partition(" ORDER BY ")[0] for name, text in SQLITE_MILLISECONDS.items()} | {
    "Q2": "SELECT passenger_count, sum(total_amount), count(total_amount) FROM trips GROUP BY 1"
}
"""What each worker is asked about the trips in its own files. Averages cannot be added up; their parts
can."""

MERGED = {
    "Q1": "SELECT a, sum(b) FROM partial GROUP BY 1",
    "Q2": "SELECT a, sum(b) / sum(c) FROM partial GROUP BY 1",
    "Q3": "SELECT a, b, sum(c) FROM partial GROUP BY 1, 2",
    "Q4": "SELECT a, b, c, sum(d) AS trips FROM partial GROUP BY 1, 2, 3 ORDER BY b, trips DESC",
}
"""What SQLite makes of the workers' answers together."""


def merged(query: str, answers: Iterable[Rows]) -> Rows:
    rows = [row for answer in answers for row in answer]
    if not rows:
        return []
    names = "abcd"[: len(rows[0])]
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(f"CREATE TABLE partial ({', '.join(names)})")
        connection.executemany(f"INSERT INTO partial VALUES ({', '.join('?' * len(names))})", rows)
        return connection.execute(MERGED[query]).fetchall()


class TaxiOnDask(TaxiSystem):
    """The workers run before anything is timed and stay until the process ends, as those of a cluster do."""

    id = "sqlite-parquet-dask"
    description = (
        "Dask.distributed on this computer, a process with one thread for each core, running before it is "
        "asked; each has its own part of the Parquet files as one virtual table, and SQLite adds up their "
        "answers; reads only: files written with Snappy, not synced, so not durable"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._client, self._workers = _cluster()

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} (apsw), Dask.distributed {version_of('distributed')}"

    def fill(self, rows: int) -> None:
        """Each worker takes its share of the CSV files."""
        files = self.files(rows)
        count = min(len(self._workers), len(files))
        shares = [list(files[at::count]) for at in range(count)]
        self._on_each(_convert_all, zip(self._parts(count), shares, strict=True))

    def open(self, writing: bool) -> None:
        self._on_each(_open, [(part,) for part in self._made])

    def close(self) -> None:
        self._on_each(_close, [(part,) for part in self._made])

    def ask(self, query: str) -> Rows:
        return merged(query, self._execute(PARTIAL[query]))

    def rows_of(self, answer: Rows) -> Iterable[Sequence[Any]]:
        return answer

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        statement = TRIPS.format("trips", ", ".join("?" * len(ids)))
        return trips_of([row for answer in self._execute(statement, list(ids)) for row in answer])

    @property
    def _made(self) -> Sequence[Path]:
        """The folder of each worker that has files."""
        return self._parts(sum(1 for _ in self.folder.glob("worker-*")))

    def _parts(self, count: int) -> Sequence[Path]:
        """Its table is called like the folder."""
        return [self.folder / f"worker-{at:03}" / "trips" for at in range(count)]

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[Rows]:
        return self._on_each(_execute, [(part, statement, values) for part in self._made])

    def _on_each(self, work: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        """A call on each worker, which has the files that it is about; the same call is made again, not
        remembered. Raises what one of them raised."""
        sent = [
            self._client.submit(work, *values, workers=[worker], pure=False)
            for worker, values in zip(self._workers, calls, strict=False)
        ]
        answers: list[Any] = self._client.gather(sent)
        return answers


@cache
def _cluster() -> tuple[Any, Sequence[str]]:
    """The client, and the addresses of its workers. Memory has the limits of the benchmark and no others."""
    distributed: Any = import_module("distributed")  # it has no types
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cluster = distributed.LocalCluster(
        n_workers=cores,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=0,
    )
    client = distributed.Client(cluster)
    client.wait_for_workers(cores)
    client.run(_import_readers)
    return client, sorted(client.scheduler_info(n_workers=-1)["workers"])


# ------------------------------------------------------------------------- in a worker

_connections: dict[Path, apsw.Connection] = {}


def _import_readers() -> None:
    """What reads CSV and Parquet: not for the timers."""
    import pyarrow.parquet  # noqa: F401

    trip_options()


def _convert_all(target: Path, files: Sequence[Path]) -> None:
    target.mkdir(parents=True)
    for file in files:
        convert(file, target / file.name.replace(".csv.gz", ".parquet"))


def _open(part: Path) -> None:
    _connections[part] = connect(part)


def _close(part: Path) -> None:
    _connections.pop(part).close()


def _execute(part: Path, statement: str, values: Sequence[Any]) -> Rows:
    return _connections[part].execute(statement, values).fetchall()
