"""DuckDB as the workloads of questions fill and ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.questions.backend import QuestionBackend


class DuckDBQuestions(DuckDBFile, QuestionBackend):
    @classmethod
    def describe(cls) -> str:
        return "a file of its own, every commit durable; memory and threads as it chooses"

    def ask(self, sql: str, *values: Any) -> pa.Table | None:
        """The answer in Arrow: quickest where it is of many rows."""
        return self._connection.sql(sql, params=values).to_arrow_table()

    def plain(self, sql: str, *values: Any) -> list[Any]:
        """The answer as Python's tuples: quickest where it is of few rows."""
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str) -> None:
        """For statements that answer nothing."""
        self._connection.execute(sql)

    def add_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Rows are called 0, 1, 2, … by their primary key."""
        count = len(next(iter(columns.values())))
        self.create(name, pa.table({"_id": range(count), **columns}))
        self.run(f'ALTER TABLE "{name}" ADD PRIMARY KEY (_id)')

    def create(self, name: str, rows: pa.Table) -> None:
        self._connection.register("given", rows)
        self.run(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        self._connection.unregister("given")
