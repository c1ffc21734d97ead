"""Entities in DuckDB: typed columns, a list and a struct among them, in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.entities.backend import EntityBackend
from lamella.core.bench.entities.data import FIELDS, SCHEMA, Entity

NAMES = ", ".join(FIELDS)
TABLE = (
    "CREATE SEQUENCE ids; CREATE TABLE entities (id BIGINT PRIMARY KEY DEFAULT nextval('ids'), name VARCHAR,"
    " status VARCHAR, views BIGINT, rating DOUBLE, tags VARCHAR[],"
    " profile STRUCT(city VARCHAR, age BIGINT), about VARCHAR)"
)
INSERT_ONE = f"INSERT INTO entities ({NAMES}) VALUES ({', '.join('?' for _ in FIELDS)})"
INSERT_MANY = f"INSERT INTO entities ({NAMES}) SELECT {NAMES} FROM given"


class DuckDBEntities(DuckDBFile, EntityBackend):
    @classmethod
    def describe(cls) -> str:
        return "its own file with a primary key; every commit is durable (write-ahead log, synced)"

    def fill(self, made: list[Entity]) -> None:
        self._connection.execute(TABLE)
        self.create(made)

    def ids(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT id FROM entities ORDER BY id").fetchall()]

    def get(self, row_id: int) -> tuple[Any, ...] | None:
        asked = f"SELECT {NAMES} FROM entities WHERE id = ?"
        found: tuple[Any, ...] | None = self._connection.execute(asked, [row_id]).fetchone()
        return found

    def as_entity(self, answer: tuple[Any, ...]) -> Entity:
        return dict(zip(FIELDS, answer, strict=True))

    def create(self, made: list[Entity]) -> None:
        """Many come as an Arrow table, as its documentation asks for."""
        if len(made) == 1:
            self._connection.execute(INSERT_ONE, list(made[0].values()))
        else:
            self._connection.register("given", pa.Table.from_pylist(made, SCHEMA))
            self._connection.execute(INSERT_MANY)
            self._connection.unregister("given")

    def set_fields(self, row_id: int, values: Mapping[str, Any]) -> None:
        self._change(", ".join(f"{name} = ?" for name in values), *values.values(), row_id)

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._change(f"{name} = {name} + ?", by, row_id)

    def push(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = list_append({name}, ?)", value, row_id)

    def add_to_set(self, row_id: int, name: str, value: str) -> None:
        lacking = f"NOT list_contains({name}, ?)"
        self._change(f"{name} = list_append({name}, ?)", value, row_id, value, also=lacking)

    def pull(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = list_filter({name}, lambda item: item <> ?)", value, row_id)

    def unset(self, row_id: int, name: str) -> None:
        self._change(f"{name} = NULL", row_id)

    def delete(self, row_ids: Sequence[int]) -> None:
        holders = ", ".join("?" for _ in row_ids)
        self._connection.execute(f"DELETE FROM entities WHERE id IN ({holders})", list(row_ids))

    def contents(self) -> Iterator[Entity]:
        yield from map(self.as_entity, self._connection.execute(f"SELECT {NAMES} FROM entities").fetchall())

    def _change(self, assignment: str, *values: Any, also: str = "") -> None:
        """`values` in the order of their places: those of the assignment, the id, those of `also`."""
        meets = f" AND {also}" if also else ""
        self._connection.execute(f"UPDATE entities SET {assignment} WHERE id = ?{meets}", list(values))
