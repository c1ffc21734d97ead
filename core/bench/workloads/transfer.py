"""Imports of a CSV file and a SQLite file, and exports to Parquet, CSV, SQLite and Excel."""

from __future__ import annotations

import datetime as dt
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, from_values, to_numpy
from lamella.core.bench.engine.measure import Cycle, Sample, measure
from lamella.core.bench.systems.base import System
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import digest
from lamella.core.bench.workloads.table_rows import SEED

EXCEL_ROWS = 200_000
_SOURCE_NOTE = " From the system's own form, with the rows of the CSV file."

TRANSFER = Workload(
    id="transfer",
    title="Import and export",
    about=(
        "Ten columns of every common type: a CSV file and a SQLite file are converted to the system's own "
        "form, which is exported to files of other formats. Other programs read the exported files back."
    ),
    steps=("import_csv", "import_sqlite", "export_parquet", "export_csv", "export_sqlite", "export_excel"),
    operations=(
        Operation(
            "import_csv",
            "Import CSV",
            "imports {rows} from CSV",
            "From a CSV file with a header to the system's own form; the system detects the types.",
            resizes=True,
        ),
        Operation(
            "import_sqlite",
            "Import SQLite",
            "imports {rows} from SQLite",
            "From a table of a SQLite file to the system's own form.",
        ),
        Operation("export_parquet", "Export Parquet", "writes {rows} to Parquet", "zstd." + _SOURCE_NOTE),
        Operation("export_csv", "Export CSV", "writes {rows} to CSV", "With a header." + _SOURCE_NOTE),
        Operation("export_sqlite", "Export SQLite", "writes {rows} to SQLite", "A new file." + _SOURCE_NOTE),
        Operation(
            "export_excel",
            "Export Excel",
            "writes {rows} to Excel",
            f"The first {EXCEL_ROWS:,} rows if there are more." + _SOURCE_NOTE,
        ),
    ),
    default_rows=(100_000, 2_000_000),
    default_repeats=3,
    family="transfer",
    asks_only=True,
    small_rows=(5_000,),
    published_rows=(2_000_000,),
    options={
        "costs": {
            "lamella": (1.5e-6, 400, 200),
            "sqlite": (3e-6, 2_000, 150),
            "duckdb": (0.5e-6, 700, 100),
            "polars": (3e-6, 1_500, 150),
            "pandas": (4e-6, 2_500, 150),
        }
    },
)

NAME = "records"
_COLUMNS = {
    "id": (pa.int64(), "INTEGER"),
    "amount": (pa.int64(), "INTEGER"),
    "x": (pa.float64(), "REAL"),
    "price": (pa.float64(), "REAL"),
    "word": (pa.string(), "TEXT"),
    "note": (pa.string(), "TEXT"),
    "day": (pa.date32(), "DATE"),
    "at": (pa.timestamp("us"), "TIMESTAMP"),
    "late": (pa.bool_(), "BOOLEAN"),
    "rating": (pa.int64(), "INTEGER"),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in _COLUMNS.items()])
COLUMN_DECLARATIONS = ", ".join(f'"{name}" {kind}' for name, (_, kind) in _COLUMNS.items())
SAMPLE_ROWS = 500


def records(rows: int) -> pa.Table:
    """Return the rows. Times are whole seconds, which all formats support; every fifth rating is missing."""
    random, numbers = np.random.default_rng([SEED, rows]), np.arange(rows)
    words = from_values([f"word {number}" for number in range(1000)], pa.string())
    notes = from_values([f"note {number} of a thousand" for number in range(1000)], pa.string())
    arrays = [
        from_numpy(numbers),
        from_numpy(random.integers(0, 10**6, rows)),
        from_numpy(random.normal(size=rows)),
        from_numpy(np.round(random.normal(size=rows) * 100, 2)),
        words.take(from_numpy(random.integers(0, 1000, rows))),
        notes.take(from_numpy(random.integers(0, 1000, rows))),
        from_numpy(random.integers(10_000, 20_000, rows).astype(np.int32), pa.date32()),
        from_numpy(random.integers(10**9, 17 * 10**8, rows) * 10**6, pa.timestamp("us")),
        from_numpy(random.integers(0, 2, rows) == 1, pa.bool_()),
        from_numpy(numbers % 7, valid=numbers % 5 > 0),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def source_file(folder: Path, operation: str, rows: int) -> Path:
    """Return the file that an import reads, which is written once for all systems of a benchmark."""
    suffix, write = _SOURCES[operation]
    path = folder / f"transfer-{rows}{suffix}"
    if not path.exists():
        draft = path.with_suffix(".part")
        draft.unlink(missing_ok=True)
        write(records(rows), draft)
        draft.rename(path)
    return path


def _write_csv(data: pa.Table, path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(data, path)


def _write_sqlite(data: pa.Table, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        write_rows(connection, data)


_SOURCES: dict[str, tuple[str, Callable[[pa.Table, Path], None]]] = {
    "import_csv": (".csv", _write_csv),
    "import_sqlite": (".sqlite", _write_sqlite),
}


def write_rows(connection: sqlite3.Connection, data: pa.Table) -> None:
    """Write rows to a new table in one transaction, with dates and times as ISO text."""
    connection.execute(f"CREATE TABLE {NAME} ({COLUMN_DECLARATIONS})")
    insert = f"INSERT INTO {NAME} VALUES ({', '.join('?' * len(SCHEMA))})"
    for batch in data.to_batches(max_chunksize=100_000):
        columns = [
            _as_text(values) if pa.types.is_temporal(values.type) else values for values in batch.columns
        ]
        connection.executemany(insert, zip(*(values.to_pylist() for values in columns), strict=True))
    connection.commit()


def _as_text(values: pa.Array) -> pa.Array:
    whole = values.cast(pa.timestamp("s")) if pa.types.is_timestamp(values.type) else values
    return whole.cast(pa.string())


# --------------------------------------------------------------------------- right answers


def right_answer(_workload: Workload, operation: Operation, rows: int) -> str:
    return _fingerprint_of(min(rows, EXCEL_ROWS) if operation.id == "export_excel" else rows, rows)


@cache
def _fingerprint_of(count: int, rows: int) -> str:
    return fingerprint(records(rows).slice(0, count))


def fingerprint(data: pa.Table) -> str:
    """Return a digest of rows in order: the sum of each column, its number of nulls, and some whole rows."""
    import pyarrow.compute as pc

    data = restore_types(data)
    sums = []
    for values in data.columns:
        if pa.types.is_string(values.type):
            number = pc.sum(pc.binary_length(values)).as_py()
        elif pa.types.is_floating(values.type):
            number = float(np.sum(to_numpy(values)))
        else:
            whole = values.cast(pa.int32()) if pa.types.is_date(values.type) else values
            number = int(np.sum(to_numpy(whole.cast(pa.int64()).fill_null(0))))
        sums.append([number, values.null_count, len(values)])
    places = np.random.default_rng([SEED, data.num_rows]).choice(
        data.num_rows, min(SAMPLE_ROWS, data.num_rows), False
    )
    some = data.take(from_numpy(np.sort(places)))
    return digest([[n, *each] for n, each in enumerate(sums)] + [[-1, digest(some)]])


def restore_types(data: pa.Table) -> pa.Table:
    """Convert the rows back to their original types, such as dates from text, and booleans from 0 and 1."""
    return pa.Table.from_arrays(
        [_in_type(data.column(field.name), field.type) for field in SCHEMA], schema=SCHEMA
    )


def _in_type(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_boolean(kind) and not pa.types.is_boolean(values.type):
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return values.cast(pa.bool_())
        return values.cast(pa.int64()).cast(pa.bool_())
    if pa.types.is_date(kind) and pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("s"), safe=False).cast(kind)
    if pa.types.is_temporal(kind) and pa.types.is_large_string(values.type):
        values = values.cast(pa.string())
    return values.cast(kind)


def read_export(path: Path) -> pa.Table:
    """Read an exported file with a program other than the one that wrote it."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetFile(path).read()
    if path.suffix == ".csv":
        from pyarrow import csv

        types = csv.ConvertOptions(column_types=SCHEMA, true_values=["true", "True", "1"], false_values=["false", "False", "0"])  # fmt: skip # noqa: E501
        return csv.read_csv(path, convert_options=types)
    return _from_rows(_sqlite_rows(path) if path.suffix == ".sqlite" else _excel_rows(path))


def _sqlite_rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchone()
        names = ", ".join(f'"{name}"' for name in SCHEMA.names)
        return connection.execute(f'SELECT {names} FROM "{table}" ORDER BY id').fetchall()


def _excel_rows(path: Path) -> list[list[Any]]:
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(path) as book:
        head, *rows = book.get_sheet_by_index(0).to_python()
    places = [head.index(name) for name in SCHEMA.names]
    at = SCHEMA.names.index("at")
    cells = [[None if row[place] == "" else row[place] for place in places] for row in rows]
    for row in cells:
        if isinstance(row[at], dt.date) and not isinstance(row[at], dt.datetime):
            row[at] = dt.datetime.combine(row[at], dt.time())  # calamine reads midnight as a date
    return cells


def _from_rows(rows: Any) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = (pa.array(values, from_pandas=False) for values in columns)
    return pa.Table.from_arrays([pa.chunked_array([values]) for values in arrays], SCHEMA.names)


# -------------------------------------------------------------------------------- systems


class TransferSystem(System):
    """A system that imports and exports. Its own form is a table of a database, or a file, in `folder`."""

    columns = len(SCHEMA)

    @abstractmethod
    def import_csv(self, source: Path) -> None: ...

    @abstractmethod
    def import_sqlite(self, source: Path) -> None:
        """Import the table `NAME` of a SQLite file, in addition to earlier imports."""

    @abstractmethod
    def imported_rows(self, operation: str) -> pa.Table:
        """Return all rows that this operation imported, in order; not timed."""

    def export_parquet(self, target: Path) -> None:
        raise NotImplementedError

    def export_csv(self, target: Path) -> None:
        raise NotImplementedError

    def export_sqlite(self, target: Path) -> None:
        raise NotImplementedError

    def export_excel(self, target: Path) -> None:
        """Export the first `EXCEL_ROWS` rows."""
        raise NotImplementedError


class FrameTransfer(TransferSystem):
    """A library of data frames: its own form is a Parquet file for each import."""

    excel_method: ClassVar[str]

    @property
    def cannot(self) -> Mapping[str, str]:  # type: ignore[override]
        if find_spec("xlsxwriter") is None:
            return {"export_excel": f"Its {self.excel_method} needs XlsxWriter, which is not installed"}
        return {}

    def open(self, writing: bool) -> None:
        """Does nothing: each operation reads the files."""

    def close(self) -> None:
        """Nothing is open."""

    def own_file(self, operation: str) -> Path:
        return self.folder / f"{operation}.parquet"


SUFFIXES = {
    "export_parquet": ".parquet",
    "export_csv": ".csv",
    "export_sqlite": ".sqlite",
    "export_excel": ".xlsx",
}
NO_SQLITE_EXTENSION = (
    "DuckDB's extension for SQLite is not part of its Python package: it would be downloaded at its first use"
)
NO_EXCEL_EXTENSION = NO_SQLITE_EXTENSION.replace("SQLite", "Excel")


class TransferCycle(Cycle[TransferSystem]):
    steps: ClassVar[tuple[str, ...]] = TRANSFER.steps

    def step(self, name: str) -> Iterator[Sample]:
        yield from self._import(name) if name.startswith("import") else self._export(name)

    def _import(self, name: str) -> Iterator[Sample]:
        """Time an import, but not writing its file. Closing the database is timed, since it may do deferred
        work."""
        shared = self.system.folder.parents[1]
        self.system.folder.mkdir(parents=True, exist_ok=True)
        source = source_file(shared, name, self.rows)
        cost = self._changing(partial(getattr(self.system, name), source))
        self.system.open(writing=False)
        checksum = fingerprint(self.system.imported_rows(name))
        self.system.close()
        yield Sample(name, cost, self.system.disk_bytes(), checksum)

    def _export(self, name: str) -> Iterator[Sample]:
        target = self.system.folder.with_name(f"{self.system.folder.name}-exported{SUFFIXES[name]}")
        target.unlink(missing_ok=True)
        self.system.open(writing=False)
        _, cost = measure(partial(getattr(self.system, name), target))
        self.system.close()
        size = target.stat().st_size
        checksum = fingerprint(read_export(target))
        target.unlink()
        yield Sample(name, cost, size, checksum)

    def _database_digest(self) -> str:
        raise AssertionError("Each step checks what it read or wrote")
