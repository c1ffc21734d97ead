"""Writes Arrow's own format: a file with a footer, also called Feather, or a stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from lamella.core.errors import TypeConflict
from lamella.core.jobs import Job
from lamella.core.transfer.writer import Rows, Values

CODECS = ("zstd", "lz4", "none")
ROWS_A_BATCH = 100_000


def write_arrow(path: Path, rows: Rows, values: Values, job: Job) -> None:
    codec = None if values["codec"] == "none" else values["codec"]
    schema = _without_categories(rows.schema)
    make = ipc.new_stream if values["stream"] else ipc.new_file
    try:
        with make(str(path), schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            for batch in _batches(rows, schema):
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError as error:
        raise TypeConflict(
            "Arrow cannot write all of these columns", str(error), "Leave the column out or cast it"
        ) from error


def _batches(rows: Rows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in rows.tables:
        plain = table if table.schema.equals(schema) else table.cast(schema)
        yield from plain.combine_chunks().to_batches(max_chunksize=ROWS_A_BATCH)


def _without_categories(schema: pa.Schema) -> pa.Schema:
    """The schema without dictionaries: a file has one dictionary for all batches, or additions to it that few
    readers support (Polars 2 does not), while rows that are streamed bring one after another."""
    fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema]
    return pa.schema(fields, schema.metadata)
