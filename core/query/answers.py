"""The answer of a compiled query: as a table, streamed, or counted."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from core.jobs import Job
from core.query.engine import cursor
from core.query.nodes import Node, Running, counted, whole
from core.query.returned import returned

ROWS_A_BATCH = 1 << 17


def read(node: Node, job: Job, most: int | None = None) -> pa.Table:
    """At most so many rows. Columns keep the types that they have in the datasets."""
    with cursor(job, node.fields.place) as own:
        query = whole(node, Running(own, job))
        asked = (query if most is None else query.limit(most)).sql("duckdb")
        job.check()
        found = own.sql(asked).to_arrow_table()
    return returned(found, node.fields.schema)


def count(node: Node, job: Job) -> int:
    with cursor(job, node.fields.place) as own:
        asked = counted(node, Running(own, job)).sql("duckdb")
        job.check()
        return int(own.sql(asked).fetchall()[0][0])


def batches(node: Node, job: Job) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(node.fields.schema, _streamed(node, job))


def _streamed(node: Node, job: Job) -> Iterator[pa.RecordBatch]:
    with cursor(job, node.fields.place) as own:
        asked = whole(node, Running(own, job)).sql("duckdb")
        job.check()
        for batch in own.sql(asked).to_arrow_reader(ROWS_A_BATCH):
            job.check()
            yield from returned(pa.Table.from_batches([batch]), node.fields.schema).to_batches()
