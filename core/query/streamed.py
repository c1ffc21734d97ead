"""Answers of the engine, a batch of rows at a time, and whole as far as memory goes."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from lamella.core.errors import NoRoom
from lamella.core.jobs import Job

ROWS_A_BATCH = 1 << 17
_RAISED: dict[str, type[duckdb.Error]] = {
    "Binder Error": duckdb.BinderException,
    "Constraint Error": duckdb.ConstraintException,
    "Conversion Error": duckdb.ConversionException,
    "FATAL Error": duckdb.FatalException,
    "INTERNAL Error": duckdb.InternalException,
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Not implemented Error": duckdb.NotImplementedException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Permission Error": duckdb.PermissionException,
}


def streamed(reader: pa.RecordBatchReader, job: Job) -> Iterator[pa.RecordBatch]:
    """What DuckDB raises while it is at work comes through an Arrow stream as an OSError: it is made
    here what it is elsewhere."""
    try:
        for batch in reader:
            job.check()
            yield batch
    except OSError as error:
        raised = _RAISED.get(str(error).partition(":")[0])
        if raised is None:
            raise
        raise raised(str(error)) from error


def collected(
    found: duckdb.DuckDBPyRelation,
    most_bytes: int,
    job: Job,
    fix: str = "Ask for fewer rows or columns, or take it in batches()",
) -> pa.Table:
    """The whole answer; raises `NoRoom` once it takes more than `most_bytes`."""
    job.check()
    reader = found.to_arrow_reader(ROWS_A_BATCH)
    batches, taken = [], 0
    for batch in streamed(reader, job):
        batches.append(batch)
        taken += batch.nbytes
        if taken > most_bytes:
            raise NoRoom(
                f"the answer takes more than the {most_bytes >> 20:,} MB of memory that a query may take",
                "It is handed over whole",
                fix,
            )
    return pa.Table.from_batches(batches, reader.schema)
