"""SQLite through apsw: its SQL over Parquet files as virtual tables, also in the processes of
Dask.distributed, and over its own tables."""

from __future__ import annotations

import os
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, ClassVar

import apsw
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.systems.base import Question, Questions, QuestionSystem, Rows
from lamella.core.bench.systems.pyarrow import (
    CHANGING_STEPS,
    ROWS_A_GROUP,
    ParquetFile,
    from_rows,
    trip_options,
)
from lamella.core.bench.systems.rows import SQLiteReads
from lamella.core.bench.workloads import taxi
from lamella.core.bench.workloads.bridge import (
    COLUMN_COUNT,
    GROUP,
    means_to_sums,
    statements,
    write_files,
    zones,
)
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.taxi import SQLITE_MILLISECONDS, TaxiSystem
from lamella.core.bridge import connect


class SQLiteOverParquet(SQLiteReads, ParquetFile):
    id, file_name = "sqlite-parquet", "benchmark.parquet"
    cannot: ClassVar[Mapping[str, str]] = dict.fromkeys(
        CHANGING_STEPS, "A virtual table over Parquet is read-only: its files are never changed in place"
    )
    description = (
        "PyArrow writes the file (dictionary, snappy, row groups of 100,000), SQLite reads it as a "
        "virtual table of a database in memory, answers as tuples; not durable (no sync)"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pandas  # noqa: F401 -- converting rows to Arrow tables imports it: must not be timed

        self._names = ["id", *workload.data_columns]

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = connect([self.path] if self.path.exists() else [])

    def close(self) -> None:
        self._connection.close()

    def create(self, prepared: Rows) -> None:
        pq.write_table(from_rows(prepared), self.path, row_group_size=ROWS_A_GROUP)

    def get(self, row_id: int) -> tuple[Any, ...]:
        row: tuple[Any, ...]
        (row,) = self._connection.execute("SELECT * FROM benchmark WHERE rowid = ?", (row_id,))
        return row

    def _writer(self, schema: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(self.path, schema)


class BridgeQueries(QuestionSystem):
    _connection: apsw.Connection
    columns = COLUMN_COUNT

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} in apsw {apsw.apsw_version()}"

    @abstractmethod
    def open(self, writing: bool) -> None: ...

    def close(self) -> None:
        self._connection.close()

    def questions(self) -> Questions:
        rows: Any = self._ask("SELECT count(*) FROM trips")[0][0]
        return {
            name: Question(partial(self._ask, text), comparable=means_to_sums if name == GROUP else None)
            for name, text in statements(rows, rowid="rowid")
        }

    def _ask(self, statement: str) -> list[Any]:
        return self._connection.execute(statement).fetchall()


class BridgeOverParquet(BridgeQueries):
    id = "sqlite-parquet"
    description = (
        "virtual tables over two Parquet files of five row groups each, read-only; as durable as the files"
    )

    def fill(self, rows: int) -> None:
        write_files(self.folder / "trips", rows)

    def open(self, writing: bool) -> None:
        """Open the files; the zones, which are few, are a table in memory."""
        self._connection = connect(self.folder / "trips")
        _add_zones(self._connection)


class BridgeOwnTable(BridgeQueries):
    id = "sqlite"
    description = "its own table in a file, no index, default settings: every commit durable"

    def fill(self, rows: int) -> None:
        """Copy the rows from such Parquet files, so that they are the same."""
        write_files(self.folder / "trips", rows)
        source = connect(self.folder / "trips")
        source.execute("ATTACH ? AS own", [self._file])
        declared = ", ".join(
            f"{name} {kind}" for _, name, kind, *_ in source.execute("PRAGMA table_info(trips)")
        )
        source.execute(f"CREATE TABLE own.trips ({declared}); INSERT INTO own.trips SELECT * FROM temp.trips")
        source.close()
        shutil.rmtree(self.folder / "trips")
        self.open(writing=True)
        _add_zones(self._connection)
        self.close()

    def open(self, writing: bool) -> None:
        self._connection = apsw.Connection(self._file)

    @property
    def _file(self) -> str:
        return str(self.folder / "benchmark.sqlite")


def _add_zones(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE zones (zone TEXT, borough TEXT)")
    connection.executemany("INSERT INTO zones VALUES (?, ?)", zones())


_BLOCK_BYTES = 64 << 20
"""Bytes of text that become a row group: about 130,000 rows."""

_INTEGER_SCHEMA = pa.schema(
    [f.with_type(pa.int64()) if pa.types.is_timestamp(f.type) else f for f in taxi.TRIP_SCHEMA]
)

TRIPS = f"SELECT {', '.join(taxi.TRIP_SCHEMA.names)} FROM {{}} WHERE trip_id IN ({{}})"
"""Selects trips of a table by id; takes the table and the placeholders for the ids."""


class TaxiOverParquet(taxi.TaxiSystem):
    """A Parquet file for each CSV file, Snappy, times as milliseconds since 1970 in whole numbers."""

    statements: ClassVar[Mapping[str, str]]

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        trip_options()  # imports the CSV reader: must not be timed

    @classmethod
    def version(cls) -> str:
        import apsw

        return f"{apsw.sqlite_lib_version()} (apsw)"

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        self._parquet.mkdir()
        for number, file in enumerate(self.files(rows)):
            convert(file, self._parquet / f"trips_{number:02}.parquet")

    def open(self, writing: bool) -> None:
        self._connection = self._connect()

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(self.statements[query]).fetchall()

    def rows_of(self, answer: list[tuple[Any, ...]]) -> Iterable[Sequence[Any]]:
        return answer

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        marks = ", ".join("?" * len(ids))
        statements = (TRIPS.format(table, marks) for table in self._tables)
        return trips_of([row for text in statements for row in self._connection.execute(text, ids)])

    @property
    @abstractmethod
    def _tables(self) -> Sequence[str]:
        """The tables that together have all trips."""

    @abstractmethod
    def _connect(self) -> apsw.Connection:
        """Return a connection with the tables that `statements` name."""


class TaxiTableForEachFile(TaxiOverParquet):
    id = "sqlite-parquet"
    statements = taxi.SQLITE_VIEWS
    description = (
        "a virtual table for each Parquet file, under the published views that add them up; "
        "reads only: files written with Snappy, not synced, so not durable"
    )

    @property
    def _tables(self) -> Sequence[str]:
        return [file.stem for file in sorted(self._parquet.iterdir())]

    def _connect(self) -> apsw.Connection:
        from lamella.core.bridge import connect

        connection = connect(sorted(self._parquet.iterdir()))
        for query in taxi.QUERIES:
            connection.execute(taxi.view_statement(query, list(self._tables)))
        return connection


class TaxiOneTable(TaxiOverParquet):
    id = "sqlite-parquet-one-table"
    statements = taxi.SQLITE_MILLISECONDS
    _tables = ("trips",)
    description = (
        "one virtual table over all Parquet files, and no views; "
        "reads only: files written with Snappy, not synced, so not durable"
    )

    def _connect(self) -> apsw.Connection:
        from lamella.core.bridge import connect

        return connect(self._parquet)


def trips_of(rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Convert rows from SQLite to a table with timestamps."""
    columns = zip(zip(*rows, strict=True), _INTEGER_SCHEMA, strict=True)
    return pa.table([pa.array(cells, field.type) for cells, field in columns], _INTEGER_SCHEMA).cast(
        taxi.TRIP_SCHEMA
    )


def convert(source: Path, target: Path) -> None:
    """Convert one CSV file of trips to Parquet."""
    from pyarrow import csv

    block = csv.ReadOptions(block_size=_BLOCK_BYTES)
    with (
        csv.open_csv(source, read_options=block, convert_options=trip_options()) as reader,
        pq.ParquetWriter(target, _INTEGER_SCHEMA, compression="snappy") as writer,
    ):
        for batch in reader:
            writer.write_table(pa.Table.from_batches([batch]).cast(_INTEGER_SCHEMA))


Tuples = list[tuple[Any, ...]]

PARTIAL = {name: text.partition(" ORDER BY ")[0] for name, text in SQLITE_MILLISECONDS.items()} | {
    "Q2": "SELECT passenger_count, sum(total_amount), count(total_amount) FROM trips GROUP BY 1"
}
"""The statements for each worker about the trips in its own files. Averages cannot be merged, but sums and
counts can."""
MERGE_SQL = {
    "Q1": "SELECT a, sum(b) FROM partial GROUP BY 1",
    "Q2": "SELECT a, sum(b) / sum(c) FROM partial GROUP BY 1",
    "Q3": "SELECT a, b, sum(c) FROM partial GROUP BY 1, 2",
    "Q4": "SELECT a, b, c, sum(d) AS trips FROM partial GROUP BY 1, 2, 3 ORDER BY b, trips DESC",
}
"""The statements that merge the workers' answers."""


def merge(query: str, answers: Iterable[Tuples]) -> Tuples:
    rows = [row for answer in answers for row in answer]
    if not rows:
        return []
    names = "abcd"[: len(rows[0])]
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(f"CREATE TABLE partial ({', '.join(names)})")
        connection.executemany(f"INSERT INTO partial VALUES ({', '.join('?' * len(names))})", rows)
        return connection.execute(MERGE_SQL[query]).fetchall()


class TaxiOnDask(TaxiSystem):
    """Workers start before timing and run until the process ends, like those of a cluster."""

    id = "sqlite-parquet-dask"
    description = (
        "Dask.distributed on this computer, a process with one thread for each core, started before timing; "
        "each has its own part of the Parquet files as one virtual table, and SQLite merges their answers; "
        "reads only: files written with Snappy, not synced, so not durable"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._client, self._workers = _cluster()

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} (apsw), Dask.distributed {version_of('distributed')}"

    def fill(self, rows: int) -> None:
        """Have each worker convert its share of the CSV files."""
        files = self.files(rows)
        count = min(len(self._workers), len(files))
        shares = [list(files[at::count]) for at in range(count)]
        self._call_on_each(_convert_files, zip(self._parts(count), shares, strict=True))

    def open(self, writing: bool) -> None:
        self._call_on_each(_open, [(part,) for part in self._worker_folders])

    def close(self) -> None:
        self._call_on_each(_close, [(part,) for part in self._worker_folders])

    def ask(self, query: str) -> Tuples:
        return merge(query, self._execute(PARTIAL[query]))

    def rows_of(self, answer: Tuples) -> Iterable[Sequence[Any]]:
        return answer

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        statement = TRIPS.format("trips", ", ".join("?" * len(ids)))
        return trips_of([row for answer in self._execute(statement, list(ids)) for row in answer])

    @property
    def _worker_folders(self) -> Sequence[Path]:
        """The folder of each worker that has files."""
        return self._parts(sum(1 for _ in self.folder.glob("worker-*")))

    def _parts(self, count: int) -> Sequence[Path]:
        """Return the folder of each worker; its table has the folder's name."""
        return [self.folder / f"worker-{at:03}" / "trips" for at in range(count)]

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[Tuples]:
        return self._call_on_each(_execute, [(part, statement, values) for part in self._worker_folders])

    def _call_on_each(self, work: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Make a call on each worker, which has the files for it, and return the results. Equal calls are
        repeated, not cached. Raises what one of them raised."""
        sent = [
            self._client.submit(work, *values, workers=[worker], pure=False)
            for worker, values in zip(self._workers, calls, strict=False)
        ]
        answers: list[Any] = self._client.gather(sent)
        return answers


@cache
def _cluster() -> tuple[Any, Sequence[str]]:
    """Return the client and the addresses of its workers. Memory has no limits other than the benchmark's."""
    distributed: Any = import_module("distributed")  # it has no type hints
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


_connections: dict[Path, apsw.Connection] = {}


def _import_readers() -> None:
    """Import the readers of CSV and Parquet: this must not be timed."""
    import pyarrow.parquet  # noqa: F401

    trip_options()


def _convert_files(target: Path, files: Sequence[Path]) -> None:
    target.mkdir(parents=True)
    for file in files:
        convert(file, target / file.name.replace(".csv.gz", ".parquet"))


def _open(part: Path) -> None:
    _connections[part] = connect(part)


def _close(part: Path) -> None:
    _connections.pop(part).close()


def _execute(part: Path, statement: str, values: Sequence[Any]) -> Tuples:
    return _connections[part].execute(statement, values).fetchall()
