"""Databases, which hold nothing in memory but what they answer and what they keep by default."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.backends.lamella import LamellaStore
from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.entity_memory.backend import EntityMemory
from lamella.core.bench.entity_memory.data import SCHEMA
from lamella.core.filters import col

NAMES = ", ".join(SCHEMA.names)


class LamellaMemory(LamellaStore, EntityMemory):
    def fill(self, table: str, made: pa.RecordBatchReader) -> None:
        self._store.create_table(table, made)

    def ready(self, table: str) -> None:
        """Nothing."""

    def result(self, table: str) -> pa.Table:
        return self._store[table].read(where=col("grp") == 1)

    def hold(self, table: str) -> pa.Table:
        return self._store[table].read()

    def numbers(self, answer: pa.Table) -> list[int]:
        found: list[int] = answer["number"].to_pylist()
        return found


class SQLiteMemory(AsPublished, EntityMemory):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; answers in tuples"

    def fill(self, table: str, made: pa.RecordBatchReader) -> None:
        marks = ", ".join("?" for _ in SCHEMA.names)
        self._connection.execute(
            f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, grp INTEGER, name TEXT, payload TEXT)"
        )
        for batch in made:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._connection.commit()

    def ready(self, table: str) -> None:
        """Nothing."""

    def result(self, table: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"SELECT {NAMES} FROM {table} WHERE grp = 1").fetchall()

    def hold(self, table: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"SELECT {NAMES} FROM {table}").fetchall()

    def numbers(self, answer: list[tuple[Any, ...]]) -> list[int]:
        return [row[0] for row in answer]


class DuckDBMemory(DuckDBFile, EntityMemory):
    @classmethod
    def describe(cls) -> str:
        return "a file of its own, every commit durable; memory and threads as it chooses; answers in Arrow"

    def fill(self, table: str, made: pa.RecordBatchReader) -> None:
        self._connection.register("given", made)
        self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        self._connection.unregister("given")

    def ready(self, table: str) -> None:
        """Nothing."""

    def result(self, table: str) -> pa.Table:
        return self._connection.sql(f"SELECT * FROM {table} WHERE grp = 1").to_arrow_table()

    def hold(self, table: str) -> pa.Table:
        return self._connection.sql(f"SELECT * FROM {table}").to_arrow_table()

    def numbers(self, answer: pa.Table) -> list[int]:
        found: list[int] = answer["number"].to_pylist()
        return found
