"""Somebody's own table in a database file of DuckDB's."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.mine.answers import change_sql, condition_sql
from lamella.core.bench.mine.backend import MineBackend


class DuckDB(DuckDBFile, MineBackend):
    @classmethod
    def describe(cls) -> str:
        return "a database file, as installed: every commit is durable (write-ahead log); read as Arrow"

    def load(self, rows: int) -> None:
        """By DuckDB's own reader of Parquet, its columns called by their place: SQL does not tell the cases
        of names apart."""
        columns = ", ".join(f"c{place}" for place in range(len(self.copied.schema)))
        path = str(self.copied.path).replace("'", "''")
        self._connection.execute(
            f"create table mine as select * from read_parquet('{path}') as copied({columns}) limit {rows}"
        )

    def read(self) -> pa.Table:
        return self._connection.sql("select * from mine").to_arrow_table()

    def filter(self) -> pa.Table:
        return self._connection.sql(f"select * from mine where {self.condition()}").to_arrow_table()

    def update(self) -> None:
        assert self.copied.change is not None
        column, value = change_sql(self.copied.change, self.copied.schema)
        self._connection.execute(f"update mine set {column} = {value} where {self.condition()}")

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer

    def condition(self) -> str:
        return condition_sql(self.copied.where, self.copied.schema)
