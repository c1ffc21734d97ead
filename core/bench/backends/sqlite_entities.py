"""Entities in SQLite: a column for every field, lists and nested objects as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from core.bench.backends.sqlite import AsDeployed, AsPublished, SQLiteFile
from core.bench.entities.backend import EntityBackend
from core.bench.entities.data import Entity

FIELDS = ("name", "status", "views", "rating", "tags", "profile", "about")
INSERT = f"INSERT INTO entities ({', '.join(FIELDS)}) VALUES ({', '.join('?' for _ in FIELDS)})"
SELECT = f"SELECT {', '.join(FIELDS)} FROM entities"
TABLE = (
    "CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT, status TEXT, views INTEGER, rating REAL, "
    "tags TEXT, profile TEXT, about TEXT)"
)


class SQLiteEntitiesFile(SQLiteFile, EntityBackend):
    def fill(self, made: list[Entity]) -> None:
        self._connection.execute(TABLE)
        self.create(made)

    def ids(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT id FROM entities ORDER BY id")]

    def get(self, row_id: int) -> Entity:
        row = self._connection.execute(f"{SELECT} WHERE id = ?", (row_id,)).fetchone()
        return _entity(row)

    def as_entity(self, answer: Entity) -> Entity:
        return answer

    def create(self, made: list[Entity]) -> None:
        self._connection.executemany(INSERT, map(_row, made))
        self._connection.commit()

    def set_field(self, row_id: int, name: str, value: Any) -> None:
        self._change(f"{name} = ?", value, row_id)

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._change(f"{name} = {name} + ?", by, row_id)

    def push(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = json_insert({name}, '$[#]', ?)", value, row_id)

    def delete(self, row_id: int) -> None:
        self._connection.execute("DELETE FROM entities WHERE id = ?", (row_id,))
        self._connection.commit()

    def contents(self) -> Iterator[Entity]:
        yield from map(_entity, self._connection.execute(SELECT))

    def _change(self, assignment: str, value: Any, row_id: int) -> None:
        self._connection.execute(f"UPDATE entities SET {assignment} WHERE id = ?", (value, row_id))
        self._connection.commit()


class SQLiteEntities(AsPublished, SQLiteEntitiesFile): ...


class SQLiteWalEntities(AsDeployed, SQLiteEntitiesFile): ...


def _row(entity: Entity) -> tuple[Any, ...]:
    tags, profile = json.dumps(entity["tags"]), json.dumps(entity["profile"])
    plain = [entity[name] for name in ("name", "status", "views", "rating")]
    return (*plain, tags, profile, entity["about"])


def _entity(row: tuple[Any, ...]) -> Entity:
    entity = dict(zip(FIELDS, row, strict=True))
    return entity | {"tags": json.loads(entity["tags"]), "profile": json.loads(entity["profile"])}
