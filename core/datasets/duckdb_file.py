"""Tables and views of a DuckDB database, read through the cache, without extensions; never written."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.blocks import MOST_ROWS, ArrowColumns, ArrowFile
from lamella.core.datasets.cached_dataset import open_blocks
from lamella.core.datasets.locate import Location, Stamp, refuse_changed_files, stamp_of
from lamella.core.datasets.tables import ForeignKey, TableEntry, chosen_table, known_problem, quote_identifier
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb

MAIN = "main"
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""A view must not make DuckDB read other files or download anything."""
_AS_TEXT = ("INTERVAL", "BIT", "TIME WITH TIME ZONE", "UNION", "VARIANT", "GEOMETRY")
_LONG = ("HUGEINT", "UHUGEINT")
_LARGEST = 10**38 - 1
_TABLES = (
    "SELECT schema_name, table_name, 'table' FROM duckdb_tables() WHERE NOT internal"
    " UNION ALL SELECT schema_name, view_name, 'view' FROM duckdb_views() WHERE NOT internal ORDER BY 3, 1, 2"
)


def tables_of(path: Path) -> list[TableEntry]:
    """Return the tables and views; outside the schema `main`, their names begin with that of the schema."""
    with _connection(path) as connection:
        rows = connection.execute(_TABLES).fetchall()
        return [_entry(connection, schema, name, kind) for schema, name, kind in rows]


def foreign_keys_of(path: Path) -> list[ForeignKey]:
    with _connection(path) as connection:
        rows = connection.execute(_FOREIGN_KEYS).fetchall()
    return [
        ForeignKey(_name(schema, table), tuple(columns), _name(schema, target), tuple(targets))
        for schema, table, columns, target, targets in rows
    ]


_FOREIGN_KEYS = (
    "SELECT schema_name, table_name, constraint_column_names, referenced_table, referenced_column_names"
    " FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' ORDER BY ALL"
)


def open_table(location: Location, options: OpenOptions) -> Dataset:
    """Open a table or view. Raises `FileProblem`, and `SeveralTables` if one has to be named."""
    path = location.files[0]
    stamps = (stamp_of(path), stamp_of(path.with_name(f"{path.name}.wal")))
    table = chosen_table(path, tables_of(path), options.table, "table")
    with _connection(path) as connection:
        selection = _selection(connection, table.name)
        with closing(connection.sql(f"{selection.query} LIMIT 0").to_arrow_reader(1)) as reader:
            columns = ArrowColumns(reader.schema, selection.remarks)
    if not len(columns.schema):
        why = ". ".join(columns.remarks)
        raise FileProblem(path, f"has no columns in '{table.name}' that can be shown", why, "Choose another")
    file = ArrowFile(
        path, "DuckDB", table.rows or 0, stamps, ("table", table.name), columns,
        lambda job: _batches(path, stamps, selection.query, job),
    )  # fmt: skip
    return open_blocks(table.name, file, options)


def _batches(
    path: Path, stamps: tuple[Stamp, ...], query: str, job: Job
) -> Generator[tuple[pa.RecordBatch, int], None, None]:
    position = 0
    with _connection(path) as connection, job.interrupted_by(connection.interrupt):
        refuse_changed_files(stamps)
        try:
            for batch in connection.sql(query).to_arrow_reader(MOST_ROWS):
                position += batch.num_rows
                yield batch, position
        except duckdb.InterruptException:
            job.check()
            raise


@dataclass(frozen=True)
class _Selection:
    query: str
    remarks: tuple[str, ...]


def _selection(connection: duckdb.DuckDBPyConnection, table: str) -> _Selection:
    """A query of all columns, with those that Arrow cannot hold cast to text."""
    source, columns, remarks = _qualified_name(connection, table), [], []
    for name, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall():
        column = quote_identifier(name)
        too_long = kind in _LONG and _any_beyond(connection, source, column)
        if kind.startswith(_AS_TEXT) or too_long:
            remarks.append(f"Column '{name}' of type {kind} is shown as text")
            column = f"CAST({column} AS VARCHAR) AS {column}"
        columns.append(column)
    return _Selection(f"SELECT {', '.join(columns)} FROM {source}", tuple(remarks))


def _any_beyond(connection: duckdb.DuckDBPyConnection, source: str, column: str) -> bool:
    """Whether a column of 128-bit integers holds a value with more than the 38 digits of a decimal."""
    beyond = f"{column} > {_LARGEST} OR {column} < -{_LARGEST}"
    return bool(connection.execute(f"SELECT count(*) FROM {source} WHERE {beyond}").fetchall()[0][0])


def _name(schema: str, table: str) -> str:
    return table if schema == MAIN else f"{schema}.{table}"


def _entry(connection: duckdb.DuckDBPyConnection, schema: str, name: str, kind: str) -> TableEntry:
    source = f"{quote_identifier(schema)}.{quote_identifier(name)}"
    full_name = _name(schema, name)
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    except duckdb.Error:  # a view of something missing or forbidden must not hide the other tables
        return TableEntry(full_name, kind)
    rows = None  # a view may take long
    if kind == "table":
        rows = connection.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0]
    return TableEntry(full_name, kind, rows, len(described))


def _qualified_name(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    for schema, name, _ in connection.execute(_TABLES).fetchall():
        if table == _name(schema, name):
            return f"{quote_identifier(schema)}.{quote_identifier(name)}"
    raise AssertionError(table)


@contextmanager
def _connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        with duckdb.connect(os.fspath(path), read_only=True, config=_CONFIGURATION) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise _problem(path, error) from error


_PROBLEMS = (
    (
        ("Could not set lock", "lock is held"),
        "is locked by another program",
        "DuckDB cannot read a database that another program has opened for writing",
        "Close the database there",
    ),
    (
        ("different configuration",),
        "is already open in this program with other settings",
        "DuckDB opens a database with only one set of settings at a time",
        "Close it there first",
    ),
    (
        ("orrupt", "checksum", "read enough bytes", "not a valid DuckDB"),
        "is a damaged DuckDB database",
        "It was cut off, or some of its blocks have changed",
        "Copy or download it again",
    ),
    (
        ("newer version", "version number", "older version"),
        "was written by another version of DuckDB",
        "The one in this program cannot read it",
        "Export it there: EXPORT DATABASE 'folder' (FORMAT parquet)",
    ),
    (
        ("ncrypt",),
        "is encrypted",
        "Encrypted databases cannot be read",
        "Save a copy without encryption",
    ),
    (
        ("disabled by configuration",),
        "holds a view that reads other files",
        "Opening a file must not make Lamella read others",
        "Open the other files, or turn the view into a table",
    ),
)


def _problem(path: Path, error: Exception) -> FileProblem:
    first_line = str(error).partition("\n")[0]
    return known_problem(path, str(error), _PROBLEMS) or FileProblem(
        path, "could not be read by DuckDB", first_line, "Look at it with the duckdb shell"
    )
