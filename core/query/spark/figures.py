"""Statements that charts, cards and profiles ask of rows, run where the rows are: of all of them, not of
those that were fetched."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lamella.core.arrow.nested import python_values
from lamella.core.errors import BadQuery
from lamella.core.libraries import exp
from lamella.core.query.fields import Fields
from lamella.core.query.plan import Node
from lamella.core.query.spark.dialect import to_spark
from lamella.core.query.spark.keyset import constant
from lamella.core.query.spark.plan import SparkCompiler, plain_type
from lamella.core.query.spark.writing import Context, NotInDialect


class SparkRows:
    """As `core.query.source.FigureRows`."""

    token = None
    is_remote = True

    def __init__(self, compiler: SparkCompiler, node: Node) -> None:
        self._compiler, self._node = compiler, node

    @property
    def fields(self) -> Fields:
        return self._node.fields

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
        answer = compiler.server.read(sql, compiler.job)
        return answer.cast(pa.schema([one.with_type(plain_type(one.type)) for one in answer.schema]))

    def constants(self, name: str, values: pa.ChunkedArray) -> str:
        items = [constant(one, values.type) for one in python_values(values)]
        return exp.Array(expressions=items).sql("duckdb")
