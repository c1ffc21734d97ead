"""Entities written to and read from databases as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.backends.lamella import NAME, LamellaStore
from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.backends.sqlite_entities import INSERT, SELECT, TABLE, as_entities, as_row
from lamella.core.bench.entities.data import SCHEMA, Entity
from lamella.core.bench.entity_storage.backend import EntityStorage


class LamellaStorage(LamellaStore, EntityStorage):
    def write(self, prepared: pa.Table) -> None:
        self._store.create_table(NAME, prepared)

    def read(self) -> pa.Table:
        return self._store[NAME].read()


class SQLiteStorage(AsPublished, EntityStorage):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; lists and nested objects as JSON text, answers in tuples"

    def prepare(self, made: list[Entity]) -> list[tuple[Any, ...]]:
        return list(map(as_row, made))

    def write(self, prepared: Sequence[tuple[Any, ...]]) -> None:
        self._connection.execute(TABLE)
        self._connection.executemany(INSERT, prepared)
        self._connection.commit()

    def read(self) -> list[tuple[Any, ...]]:
        return self._connection.execute(SELECT).fetchall()

    def as_table(self, answer: list[tuple[Any, ...]]) -> pa.Table:
        return pa.Table.from_pylist(as_entities(answer), SCHEMA)


class DuckDBStorage(DuckDBFile, EntityStorage):
    @classmethod
    def describe(cls) -> str:
        return "a file of its own, every commit durable, compressed as it chooses; answers in Arrow"

    def write(self, prepared: pa.Table) -> None:
        self._connection.register("given", prepared)
        self._connection.execute("CREATE TABLE entities AS SELECT * FROM given")
        self._connection.unregister("given")

    def read(self) -> pa.Table:
        return self._connection.sql("SELECT * FROM entities").to_arrow_table()
