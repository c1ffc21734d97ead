"""Answers of a Spark server to queries: as a table, a stream, a count, or rows to compute figures from."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lamella.core.arrow.nested_values import python_values
from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.engine import not_too_deep
from lamella.core.query.fields import Fields
from lamella.core.query.plan import Node, select_count
from lamella.core.query.source import FetchedRows, Question
from lamella.core.query.spark import spill
from lamella.core.query.spark.dialect import to_spark
from lamella.core.query.spark.keyset import Keyset, constant
from lamella.core.query.spark.plan import SparkCompiler, plain_type
from lamella.core.query.spark.writing import Context, NotInDialect
from lamella.core.remote.spark_connect import SparkServer
from lamella.core.scan.snapshot import joined_snapshot


class SparkEngine:
    """Answers queries of the tables of one server; see `core.query.source.Engine`."""

    def __init__(self, server: SparkServer) -> None:
        self.server = server

    @property
    def title(self) -> str:
        return f"Spark Connect · {self.server.place}"

    def schema(self, query: Question, job: Job) -> pa.Schema:
        compiler, node = self._plan(query, job)
        compiler.statement(node)
        return node.fields.schema_with_notes

    def statement(self, query: Question, job: Job) -> str:
        """The query in Spark's dialect."""
        compiler, node = self._plan(query, job)
        return compiler.statement(node)

    def read(self, query: Question, job: Job) -> pa.Table:
        compiler, node = self._plan(query, job)
        return compiler.read(node)

    def batches(self, query: Question, job: Job) -> pa.RecordBatchReader:
        compiler, node = self._plan(query, job)
        pieces = compiler.pieces(node)
        return pa.RecordBatchReader.from_batches(
            node.fields.schema, (batch for piece in pieces for batch in piece.to_batches())
        )

    def count(self, query: Question, job: Job) -> int:
        compiler, node = self._plan(query, job)
        sql = compiler.translate(select_count(node, compiler.query_context))
        return int(compiler.answer(sql).column(0)[0].as_py())

    def fetch(self, query: Question, job: Job, before: FetchedRows | None = None) -> FetchedRows:
        """Fetch rows. Rows with a key continue after the last one fetched; others are fetched again from the
        first one, since an unordered answer has no position to continue from."""
        compiler, node = self._plan(query, job)
        name, schema = query.pipeline.source, node.fields.schema_with_notes
        keyset, most = Keyset.of(node, compiler), spill.most_rows()
        behind = None if before is None or keyset is None else before.bookmark
        if before is not None and behind is None:
            most += before.snapshot.num_rows
        pieces = compiler.pieces(node if keyset is None else keyset.rows(behind), most + 1)
        reader = None if keyset is None else keyset.reader(pieces, most)
        try:
            snapshot, more = spill.spill(pieces if reader is None else reader, schema, name, most, job)
        finally:
            pieces.close()
        bookmark = None if reader is None else reader.bookmark
        if before is None:
            total = self.count(query, job) if more else snapshot.num_rows
            return FetchedRows(snapshot, total, self.title, bookmark=bookmark)
        if behind is not None:
            snapshot = joined_snapshot(before.snapshot, snapshot)
        total = max(before.total, snapshot.num_rows + 1) if more else snapshot.num_rows
        return FetchedRows(snapshot, total, self.title, before.token, bookmark)

    def figure_rows(self, query: Question, job: Job) -> SparkRows:
        return SparkRows(*self._plan(query, job))

    def _plan(self, query: Question, job: Job) -> tuple[SparkCompiler, Node]:
        compiler = SparkCompiler(self.server, query.sources.__getitem__, job)
        with not_too_deep(query.pipeline.source):
            return compiler, compiler.rows(query.pipeline)


class SparkRows:
    """All rows of an answer, not only the fetched ones, for the statements of charts, cards and profiles; see
    `core.query.source.FigureRows`."""

    token = None
    is_remote = True
    sample_key = None

    def __init__(self, compiler: SparkCompiler, node: Node) -> None:
        self._compiler, self._node = compiler, node

    @property
    def fields(self) -> Fields:
        return self._node.fields

    @property
    def scan(self) -> None:
        return None

    def stated_extremes(self, name: str) -> None:
        return None

    def relation(self, identifiers: frozenset[str]) -> str:
        return self._node.query(identifiers, self._compiler.query_context).sql("duckdb")

    def read(self, statement: str, types: Mapping[str, pa.DataType]) -> pa.Table:
        compiler = self._compiler
        try:
            sql = to_spark(statement, Context({**compiler.types, **types}, compiler.tables))
        except NotInDialect as error:
            raise BadQuery(
                f"{self.fields.place}: these figures cannot be computed on Spark Connect",
                error.subject,
                error.fix or "Group the rows first, so that fewer are left",
            ) from error
        answer = compiler.answer(sql)
        return answer.cast(pa.schema([field.with_type(plain_type(field.type)) for field in answer.schema]))

    def constants(self, name: str, values: pa.ChunkedArray) -> str:
        items = [constant(value, values.type) for value in python_values(values)]
        return exp.Array(expressions=items).sql("duckdb")
