"""Answers of statements as Arrow tables, within memory, in the types that their columns had."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from core.errors import NoRoom
from core.jobs import Job
from core.query.duckdb_types import holds
from core.query.returned import returned

ROWS_A_BATCH = 1 << 17


def collected(found: duckdb.DuckDBPyRelation, most_bytes: int, job: Job) -> pa.Table:
    """The whole answer; raises `NoRoom` once it takes more than `most_bytes`."""
    job.check()
    reader = found.to_arrow_reader(ROWS_A_BATCH)
    batches, taken = [], 0
    for batch in reader:
        job.check()
        batches.append(batch)
        taken += batch.nbytes
        if taken > most_bytes:
            raise NoRoom(
                f"the answer takes more than the {most_bytes >> 20:,} MB of memory that a query may take",
                "It is handed over whole",
                "Ask for fewer rows or columns (LIMIT, WHERE), or let it take more: memory=",
            )
    return pa.Table.from_batches(batches, reader.schema)


def in_types(answer: pa.Table, kinds: Sequence[pa.DataType | None]) -> pa.Table:
    """Columns in the types given, where one is given."""
    columns = [_in_type(column, kind) for column, kind in zip(answer.columns, kinds, strict=True)]
    fields = [field.with_type(c.type) for field, c in zip(answer.schema, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _in_type(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
    if kind is None or kind == column.type:
        return column
    if holds(kind, pa.types.is_decimal256):  # text here, where the rows of other queries are bytes
        return column.cast(kind)
    held = pa.Table.from_arrays([column], names=["x"])
    return returned(held, pa.schema([pa.field("x", kind)])).column(0)
