"""Writes a table to a new or existing DuckDB database, without loading extensions."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.datasets.tables import quote_identifier
from lamella.core.errors import BadData, Cancelled, FileProblem, LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb
from lamella.core.transfer.text_columns import texts_of
from lamella.core.transfer.writer import MAKE_ROOM, Rows, Values, columns_among, kind_of, unique_names

MOST_DIGITS = 38
NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def write_duckdb(path: Path, rows: Rows, values: Values, job: Job) -> None:
    is_new = not path.exists()
    table = values["table_name"] or rows.name
    source = _RowStream(rows)
    try:
        connection = duckdb.connect(str(path), config=NO_EXTENSIONS)
        try:
            with job.interrupted_by(connection.interrupt):
                _write(connection, path, table, source, values, job)
        finally:
            connection.close()
    except duckdb.Error as error:
        raise _refusal(path, error, source, job) from error
    finally:
        if is_new:
            path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def _write(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    table: str,
    source: _RowStream,
    values: Values,
    job: Job,
) -> None:
    exists = (
        "SELECT 1 FROM information_schema.tables"
        " WHERE lower(table_name) = lower(?) AND table_catalog = current_database()"
    )
    if connection.execute(exists, [table]).fetchone():
        raise FileProblem(
            path, f"already has a table '{visible(table)}'", fix="Give the new one another name: table_name"
        )
    connection.execute("BEGIN")
    connection.register("lamella_rows", source.reader)
    connection.execute(f"CREATE TABLE {quote_identifier(table)} AS SELECT * FROM lamella_rows")
    connection.unregister("lamella_rows")
    key = columns_among(source.rows, values["primary_key"], "primary_key")
    indexes = columns_among(source.rows, values["indexes"], "indexes")
    if key:
        names = ", ".join(quote_identifier(source.names[name]) for name in key)
        connection.execute(f"ALTER TABLE {quote_identifier(table)} ADD PRIMARY KEY ({names})")
    for name in indexes:
        index = quote_identifier(f"{table} by {source.names[name]}")
        connection.execute(
            f"CREATE INDEX {index} ON {quote_identifier(table)} ({quote_identifier(source.names[name])})"
        )
    job.check()
    connection.execute("COMMIT")
    connection.execute("CHECKPOINT")


class _RowStream:
    """Rows in the form that DuckDB takes. An error in their source is kept, because DuckDB turns it into
    text."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.error: BaseException | None = None
        unique = unique_names(rows.schema.names)
        self.names = dict(zip(rows.schema.names, unique, strict=True))
        fields = [pa.field(name, _type(f.type)) for name, f in zip(unique, rows.schema, strict=True)]
        self.schema = pa.schema(fields)
        self.reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self.rows.tables:
                for batch in table.to_batches():
                    columns = [_as(c, f.type) for c, f in zip(batch.columns, self.schema, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
        except BaseException as error:
            self.error = error
            raise


def _type(kind: pa.DataType) -> pa.DataType:
    """The type that DuckDB stores; types that it lacks become text."""
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return _type(kind.value_type)
    name = kind_of(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return kind if isinstance(kind, pa.UuidType) else _type(kind.storage_type)
    if is_.is_float16(kind):
        return pa.float32()
    if name == "null":
        return pa.int32()
    if name == "decimal" and kind.precision > MOST_DIGITS:
        return pa.string()
    return kind


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type.equals(kind):
        return values
    if isinstance(values, pa.ExtensionArray):
        return _as(values.storage, kind)
    return texts_of(values) if is_.is_string(kind) else values.cast(kind)


def _refusal(path: Path, error: Exception, source: _RowStream, job: Job) -> Exception:
    if isinstance(source.error, LamellaError | Cancelled | OSError):
        return source.error
    if job.cancelled:
        return Cancelled()
    if "constraint violation" in str(error):  # by the transaction, when it commits
        return BadData(
            "the primary key would have duplicates or nulls", str(error), "Choose other columns as the key"
        )
    why = str(error).splitlines()[0]
    no_room = os.strerror(errno.ENOSPC) in why
    fix = MAKE_ROOM if no_room else "Check that it is a database that nobody else has open"
    return FileProblem(path, "could not be written", why, fix)
