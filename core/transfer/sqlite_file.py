"""Writes a table to a new or existing SQLite database, with Python's own sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.datasets.tables import quote_identifier
from lamella.core.errors import BadData, Cancelled, FileProblem, visible
from lamella.core.jobs import Job
from lamella.core.transfer.text_columns import floats_of, naming_column, texts_of
from lamella.core.transfer.writer import MAKE_ROOM, Rows, Values, columns_among, kind_of, pieces, unique_names

ROWS_A_STATEMENT = 10
"""Rows inserted by one statement: this takes two thirds of the time of one statement per row."""
MOST_COLUMNS = 2000
MOST_PARAMETERS = 32_766
MOST_DIGITS = 15
"""The digits of a decimal number that a double keeps."""
LOCK_SECONDS = 5.0
"""How long to wait for another program that is writing to the database."""
_TYPES = {
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "int64": "INTEGER",
    "uint64": "",  # any affinity would turn numbers beyond signed 64 bits into floats
    "float": "REAL",
    "binary": "BLOB",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "zoned": "TIMESTAMP",
    "null": "",
}


def write_sqlite(path: Path, rows: Rows, values: Values, job: Job) -> None:
    if len(rows.schema) > MOST_COLUMNS:
        raise BadData(
            f"{rows.name} has {len(rows.schema):,} columns",
            f"A table of SQLite has at most {MOST_COLUMNS:,}",
            "Choose some of the columns",
        )
    is_new = not path.exists()
    table = values["table_name"] or rows.name
    with _as_lamella_error(path, job), _connection(path, is_new) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _refuse_taken_name(connection, path, table)
            names = dict(zip(rows.schema.names, unique_names(rows.schema.names), strict=True))
            key = [names[name] for name in columns_among(rows, values["primary_key"], "primary_key")]
            indexed = [names[name] for name in columns_among(rows, values["indexes"], "indexes")]
            connection.execute(_definition(table, list(names.values()), rows.schema, key))
            _insert(connection, table, rows)
            for name in indexed:
                index = quote_identifier(f"{table} by {name}")
                with job.interrupted_by(connection.interrupt):
                    connection.execute(
                        f"CREATE INDEX {index} ON {quote_identifier(table)} ({quote_identifier(name)})"
                    )
            job.check()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _connection(path: Path, is_new: bool) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, LOCK_SECONDS, isolation_level=None)
    try:
        if is_new:  # nobody sees it before it is complete and synced
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=MEMORY", "synchronous=OFF"):
                connection.execute(f"PRAGMA {pragma}")
        yield connection
    finally:
        connection.close()


@contextmanager
def _as_lamella_error(path: Path, job: Job) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise BadData(
            "the primary key would have duplicates or nulls", str(error), "Choose other columns as the key"
        ) from error
    except sqlite3.Error as error:
        if job.cancelled:
            raise Cancelled from error
        no_room = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        fix = MAKE_ROOM if no_room else "Check that it is a database that nobody else is writing to"
        raise FileProblem(path, "could not be written", str(error), fix) from error


def _refuse_taken_name(connection: sqlite3.Connection, path: Path, table: str) -> None:
    exists = "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE"
    if table.casefold().startswith("sqlite_") or not table.strip() or "\0" in table:
        raise BadData(
            f"a table of SQLite cannot be called '{visible(table)}'", fix="Give another name: table_name"
        )
    if connection.execute(exists, [table]).fetchone():
        raise FileProblem(
            path, f"already has a table '{visible(table)}'", fix="Give the new one another name: table_name"
        )


def _definition(table: str, names: list[str], schema: pa.Schema, key: list[str]) -> str:
    for name in (*names, table):
        if "\0" in name:
            raise BadData(f"SQLite cannot use the name '{visible(name)}'", "It has a NUL", "Rename it")
    columns = [
        f"{quote_identifier(n)} {_declared_type(f.type)}".rstrip() for n, f in zip(names, schema, strict=True)
    ]
    if key:
        columns.append(f"PRIMARY KEY ({', '.join(map(quote_identifier, key))})")
    return f"CREATE TABLE {quote_identifier(table)} ({', '.join(columns)})"


def _declared_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _declared_type(kind.value_type)
    name = kind_of(kind)
    if name == "decimal" and kind.precision <= MOST_DIGITS:
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _TYPES.get(name, "TEXT")


def _insert(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    width = len(rows.schema)
    at_once = max(1, min(ROWS_A_STATEMENT, MOST_PARAMETERS // width))
    placeholders = f"({', '.join('?' * width)})"
    begin = f"INSERT INTO {quote_identifier(table)} VALUES "
    for batch in pieces(rows.tables):
        cells: list[Any] = [None] * (width * batch.num_rows)
        for place, column in enumerate(batch.columns):
            with naming_column(rows.schema.names[place]):
                cells[place::width] = cells_of(column)
        whole = batch.num_rows // at_once * at_once * width
        if whole:
            steps = [iter(cells[:whole])] * (width * at_once)
            connection.executemany(begin + ", ".join([placeholders] * at_once), zip(*steps, strict=True))
        if whole < len(cells):
            remainder = batch.num_rows % at_once
            connection.execute(begin + ", ".join([placeholders] * remainder), cells[whole:])


def cells_of(values: pa.Array) -> list[Any]:
    """The values in sqlite3's form: integers, floats, text, bytes and None."""
    if isinstance(values.type, pa.UuidType):
        return list(texts_of(values).to_pylist())
    if isinstance(values, pa.ExtensionArray):
        return cells_of(values.storage)
    kind = kind_of(values.type)
    if kind == "category":
        return cells_of(values.dictionary_decode())
    if kind in ("boolean", "integer", "int64"):
        return _numbers(values.cast(pa.int64()))
    if kind == "float" or (kind == "decimal" and values.type.precision <= MOST_DIGITS):
        return _numbers(floats_of(values))
    if kind == "uint64":
        return [v if v is None or v < 2**63 else str(v) for v in values.to_pylist()]
    if kind == "binary":
        return list(values.to_pylist())
    return list(texts_of(values).to_pylist())


def _numbers(values: pa.Array) -> list[Any]:
    """Numbers as a list; without nulls by way of NumPy, which is three times as fast."""
    numbers: list[Any] = values.to_pylist() if values.null_count else to_numpy(values).tolist()
    return numbers
