"""The answer of a compiled query: as a table, streamed, or counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.query.computing import computing, fitting
from lamella.core.query.decoded import Decodings
from lamella.core.query.engine import memory_limit
from lamella.core.query.explain import Explain
from lamella.core.query.found import files_of, row_groups_of
from lamella.core.query.nodes import Node, Running, counted, whole
from lamella.core.query.prepared import prepared
from lamella.core.query.returned import returned
from lamella.core.query.streamed import ROWS_A_BATCH, collected, streamed


@dataclass(frozen=True)
class Statement:
    """A query as SQL, with the schema of its answer and what it reads of decoded columns; `place` is what
    messages call it."""

    text: str
    schema: pa.Schema
    place: str
    decodings: Decodings


def read(node: Node, job: Job, most: int | None = None) -> pa.Table:
    """At most so many rows. Columns keep the types that they have in the datasets."""
    return written_and_read(node, job, most)[1]


def written_and_read(node: Node, job: Job, most: int | None = None) -> tuple[Statement, pa.Table]:
    """The same, and what was asked for it."""
    with computing(node.fields.place, job) as own:
        decodings = Decodings()
        query = whole(node, Running(own, job, decodings=decodings))
        asked = (query if most is None else query.limit(most)).sql("duckdb")
        statement = Statement(asked, node.fields.schema, node.fields.place, decodings)
        return statement, _read(statement, own, job)


def read_written(statement: Statement, job: Job) -> pa.Table | None:
    """The answer of a statement that reads files and decoded columns alone; None where those are gone."""
    key = statement.text if statement.decodings.used else None
    with prepared(key, job, statement.place) as own, fitting(statement.place):
        found = own.again()
        if found is None:
            if not statement.decodings.hand_again(own):
                return None
            found = own.keep(own.cursor.sql(statement.text), statement.decodings)
        return _collected(found, statement, job)


def _read(statement: Statement, own: duckdb.DuckDBPyConnection, job: Job) -> pa.Table:
    job.check()
    return _collected(own.sql(statement.text), statement, job)


def _collected(found: duckdb.DuckDBPyRelation, statement: Statement, job: Job) -> pa.Table:
    return returned(collected(found, memory_limit(), job), statement.schema)


def count(node: Node, job: Job) -> int:
    with computing(node.fields.place, job) as own:
        asked = counted(node, Running(own, job, decodings=Decodings())).sql("duckdb")
        job.check()
        return int(own.sql(asked).fetchall()[0][0])


def explain(node: Node, job: Job) -> Explain:
    """Run the query and say what of the files it read. Columns of several datasets are named with theirs, and
    with a number from the second time on that one is read: `f.n`, `f#2.n`."""
    started = time.perf_counter()
    with computing(node.fields.place, job) as own:
        running = Running(own, job)
        asked = whole(node, running).sql("duckdb")
        job.check()
        own.execute("SET enable_profiling = 'no_output'")
        reader = own.sql(asked).to_arrow_reader(ROWS_A_BATCH)
        rows = sum(batch.num_rows for batch in streamed(reader, job))
        profile = json.loads(own.get_profiling_information(format="json"))
    read, skipped = _columns(running)
    row_groups = sum(row_groups_of(s) for s, _columns in running.read)
    return Explain(
        time.perf_counter() - started, rows, read, skipped,
        min(_scanned(profile), row_groups), row_groups,
        None, sum(len(files_of(s)) for s, _columns in running.read),
        ", ".join(dict.fromkeys(running.indexes)) or None,
    )  # fmt: skip


def _scanned(profile: dict[str, Any]) -> int:
    """Some are scanned twice; and there is no profile of what statistics answered before anything ran."""
    return int(profile.get("query", {}).get("total_row_groups_scanned", 0))


def _columns(running: Running) -> tuple[tuple[str, ...], tuple[str, ...]]:
    read: list[str] = []
    skipped: list[str] = []
    times = Counter[str]()
    for snapshot, columns in running.read:
        times[snapshot.name] += 1
        again = f"#{times[snapshot.name]}" if times[snapshot.name] > 1 else ""
        ends = f"{snapshot.name}{again}." if len(running.read) > 1 else ""
        for column in snapshot.columns:
            (read if column in columns else skipped).append(ends + column.name)
    return tuple(read), tuple(skipped)


def batches(node: Node, job: Job) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(node.fields.schema, _streamed(node, job))


def _streamed(node: Node, job: Job) -> Iterator[pa.RecordBatch]:
    with computing(node.fields.place, job) as own:
        asked = whole(node, Running(own, job)).sql("duckdb")
        job.check()
        for batch in streamed(own.sql(asked).to_arrow_reader(ROWS_A_BATCH), job):
            yield from returned(pa.Table.from_batches([batch]), node.fields.schema).to_batches()
