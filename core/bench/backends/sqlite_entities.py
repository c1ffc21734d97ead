"""Entities in SQLite: a column for every field, lists and nested objects as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lamella.core.bench.backends.sqlite import AsDeployed, AsPublished, SQLiteFile
from lamella.core.bench.entities.backend import EntityBackend
from lamella.core.bench.entities.data import FIELDS, Entity

INSERT = f"INSERT INTO entities ({', '.join(FIELDS)}) VALUES ({', '.join('?' for _ in FIELDS)})"
SELECT = f"SELECT {', '.join(FIELDS)} FROM entities"
TYPES = dict(zip(FIELDS, ("TEXT", "TEXT", "INTEGER", "REAL", "TEXT", "TEXT", "TEXT"), strict=True))
COLUMNS = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
TABLE = f"CREATE TABLE entities (id INTEGER PRIMARY KEY, {COLUMNS})"


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
        self._connection.executemany(INSERT, map(as_row, made))
        self._connection.commit()

    def set_fields(self, row_id: int, values: Mapping[str, Any]) -> None:
        self._change(", ".join(f"{name} = ?" for name in values), *values.values(), row_id)

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._change(f"{name} = {name} + ?", by, row_id)

    def push(self, row_id: int, name: str, value: str) -> None:
        self._change(f"{name} = json_insert({name}, '$[#]', ?)", value, row_id)

    def add_to_set(self, row_id: int, name: str, value: str) -> None:
        lacking = f"NOT EXISTS (SELECT 1 FROM json_each({name}) WHERE value = ?)"
        self._change(f"{name} = json_insert({name}, '$[#]', ?)", value, row_id, value, also=lacking)

    def pull(self, row_id: int, name: str, value: str) -> None:
        kept = f"SELECT json_group_array(value) FROM json_each({name}) WHERE value <> ?"
        self._change(f"{name} = ({kept})", value, row_id)

    def unset(self, row_id: int, name: str) -> None:
        self._change(f"{name} = NULL", row_id)

    def delete(self, row_ids: Sequence[int]) -> None:
        numbers = [(row_id,) for row_id in row_ids]
        self._connection.executemany("DELETE FROM entities WHERE id = ?", numbers)
        self._connection.commit()

    def contents(self) -> Iterator[Entity]:
        yield from as_entities(self._connection.execute(SELECT))

    def _change(self, assignment: str, *values: Any, also: str = "") -> None:
        """`values` in the order of their places: those of the assignment, the id, those of `also`."""
        meets = f" AND {also}" if also else ""
        self._connection.execute(f"UPDATE entities SET {assignment} WHERE id = ?{meets}", values)
        self._connection.commit()


class SQLiteEntities(AsPublished, SQLiteEntitiesFile): ...


class SQLiteWalEntities(AsDeployed, SQLiteEntitiesFile): ...


def as_row(entity: Entity) -> tuple[Any, ...]:
    tags, profile = json.dumps(entity["tags"]), json.dumps(entity["profile"])
    plain = [entity[name] for name in ("name", "status", "views", "rating")]
    return (*plain, tags, profile, entity["about"])


def as_entities(rows: Iterable[tuple[Any, ...]]) -> list[Entity]:
    return [_entity(row) for row in rows]


def _entity(row: tuple[Any, ...]) -> Entity:
    entity = dict(zip(FIELDS, row, strict=True))
    return entity | {"tags": json.loads(entity["tags"]), "profile": json.loads(entity["profile"])}
