"""Runs a compiled query and returns its answer as a table, a stream or a count; repeated statements stay
prepared."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import duckdb
import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.query.duckdb_source import Decodings
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import (
    ROWS_A_BATCH,
    Confinement,
    collect_table,
    engine_of,
    interruptible,
    memory_limit,
    query_cursor,
    refuse_overflow,
    stream_batches,
)
from lamella.core.query.explain import Explain
from lamella.core.query.find import Method
from lamella.core.query.plan import Node, QueryContext, select_answer, select_count
from lamella.core.query.pruning import row_groups_of

T = TypeVar("T")


class LentRows:
    """Rows lent to a kept cursor while it runs a statement; between statements it holds none."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows: pa.Table | None = None

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        assert self.rows is not None
        return self.rows.__arrow_c_stream__(requested)


class PreparedCursor(Generic[T]):
    """A cursor, with the relation prepared on it for one statement. One thread at a time."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self._lent_rows: dict[str, LentRows] = {}
        self._preparation: tuple[T, Decodings] | None = None

    @property
    def has_relation(self) -> bool:
        return self._preparation is not None

    def again(self) -> T | None:
        """The prepared relation, if everything that it reads is in memory.

        Raises `FileProblem` for a file that changed.
        """
        if self._preparation is not None and not self._preparation[1].hand_again(self):
            self._preparation = None
        return None if self._preparation is None else self._preparation[0]

    def keep(self, relation: T, reads: Decodings) -> T:
        """Keep `relation` for `again`; `reads` is everything that it reads from memory."""
        self._preparation = (relation, reads)
        return relation

    def register(self, name: str, rows: pa.Table) -> None:
        """Register rows, like the cursor's own method."""
        lent = self._lent_rows.get(name)
        if lent is None or not lent.schema.equals(rows.schema):
            lent = self._lent_rows[name] = LentRows(rows.schema)
            self.cursor.register(name, lent)
            self._preparation = None
        lent.rows = rows

    def let_go(self) -> None:
        for lent in self._lent_rows.values():
            lent.rows = None


@contextmanager
def prepared_cursor(
    key: Hashable, job: Job, of: str, confined: Confinement | None = None
) -> Iterator[PreparedCursor[Any]]:
    """Yield a cursor as `core.query.engine.cursor` does: the one kept under `key`, or a new one.

    After the block it is kept if a relation was prepared on it, and the key is not None.
    """
    engine = engine_of(confined)
    cache = engine.cache
    connection = cache.pop(key) or PreparedCursor[Any](engine.cursor())
    is_complete = False
    try:
        with interruptible(connection.cursor, job, of, confined):
            yield connection
            is_complete = True
    finally:
        connection.let_go()
        if is_complete and connection.has_relation and key is not None and not job.cancelled:
            cache.put(key, connection)
        else:
            connection.cursor.close()


@dataclass(frozen=True)
class Statement:
    """A query as SQL, with the schema of its answer and the decoded columns that it reads. Messages call it
    `place`."""

    text: str
    schema: pa.Schema
    place: str
    decodings: Decodings


def read(node: Node, job: Job, most: int | None = None) -> pa.Table:
    """Read at most `most` rows. Columns keep the types that they have in the datasets."""
    return read_with_statement(node, job, most)[1]


def read_with_statement(node: Node, job: Job, most: int | None = None) -> tuple[Statement, pa.Table]:
    """Read at most `most` rows; return them with the statement that was run."""
    with query_cursor(node.fields.place, job) as connection:
        decodings = Decodings()
        query = select_answer(node, QueryContext(connection, job, decodings=decodings))
        sql = (query if most is None else query.limit(most)).sql("duckdb")
        statement = Statement(sql, node.fields.schema, node.fields.place, decodings)
        return statement, _read(statement, connection, job)


def read_statement(statement: Statement, job: Job) -> pa.Table | None:
    """Run a statement that reads only files and decoded columns; None if those are no longer in memory."""
    key = statement.text if statement.decodings.entries else None
    with prepared_cursor(key, job, statement.place) as connection, refuse_overflow(statement.place):
        relation = connection.again()
        if relation is None:
            if not statement.decodings.hand_again(connection):
                return None
            relation = connection.keep(connection.cursor.sql(statement.text), statement.decodings)
        return _collect(relation, statement, job)


def _read(statement: Statement, connection: duckdb.DuckDBPyConnection, job: Job) -> pa.Table:
    job.check()
    return _collect(connection.sql(statement.text), statement, job)


def _collect(relation: duckdb.DuckDBPyRelation, statement: Statement, job: Job) -> pa.Table:
    return from_duckdb(collect_table(relation, memory_limit(), job), statement.schema)


def count(node: Node, job: Job) -> int:
    with query_cursor(node.fields.place, job) as connection:
        sql = select_count(node, QueryContext(connection, job, decodings=Decodings())).sql("duckdb")
        job.check()
        return int(connection.sql(sql).fetchall()[0][0])


def explain(node: Node, job: Job) -> Explain:
    """Run the query and report which parts of the files it read. If there are several datasets, columns are
    prefixed with the dataset's name, and with a number if it is read more than once: `f.n`, `f#2.n`."""
    start = time.perf_counter()
    with query_cursor(node.fields.place, job) as connection:
        context = QueryContext(connection, job)
        sql = select_answer(node, context).sql("duckdb")
        job.check()
        connection.execute("SET enable_profiling = 'no_output'")
        reader = connection.sql(sql).to_arrow_reader(ROWS_A_BATCH)
        rows = sum(batch.num_rows for batch in stream_batches(reader, job))
        profile = json.loads(connection.get_profiling_information(format="json"))
    columns, skipped = _columns(context)
    row_groups = sum(row_groups_of(s) for s, _columns in context.read)
    return Explain(
        time.perf_counter() - start, rows, columns, skipped,
        min(_scanned_groups(profile), row_groups), row_groups,
        None, sum(len(s.files) for s, _columns in context.read),
        ", ".join(dict.fromkeys(s.reason for s in context.strategies if s.method is Method.INDEX)) or None,
        tuple(dict.fromkeys(context.strategies)),
    )  # fmt: skip


def _scanned_groups(profile: dict[str, Any]) -> int:
    """The row groups that were scanned. Some count twice, and what statistics answered before the query ran
    is not in the profile."""
    return int(profile.get("query", {}).get("total_row_groups_scanned", 0))


def _columns(context: QueryContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names: list[str] = []
    skipped: list[str] = []
    times = Counter[str]()
    for snapshot, columns in context.read:
        times[snapshot.name] += 1
        again = f"#{times[snapshot.name]}" if times[snapshot.name] > 1 else ""
        prefix = f"{snapshot.name}{again}." if len(context.read) > 1 else ""
        for column in snapshot.columns:
            (names if column in columns else skipped).append(prefix + column.name)
    return tuple(names), tuple(skipped)


def batches(node: Node, job: Job) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(node.fields.schema, _stream(node, job))


def _stream(node: Node, job: Job) -> Iterator[pa.RecordBatch]:
    with query_cursor(node.fields.place, job) as connection:
        sql = select_answer(node, QueryContext(connection, job)).sql("duckdb")
        job.check()
        for batch in stream_batches(connection.sql(sql).to_arrow_reader(ROWS_A_BATCH), job):
            yield from from_duckdb(pa.Table.from_batches([batch]), node.fields.schema).to_batches()
