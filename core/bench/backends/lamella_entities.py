"""Entities in Lamella's own store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.bench.backends.lamella import NAME, LamellaStore
from core.bench.entities.backend import EntityBackend
from core.bench.entities.data import Entity


class LamellaEntities(LamellaStore, EntityBackend):
    def fill(self, made: list[Entity]) -> None:
        self._store.create_table(NAME, made)

    def ids(self) -> list[int]:
        found: list[int] = self._store[NAME].read(columns=["_id"])["_id"].to_pylist()
        return found

    def get(self, row_id: int) -> dict[str, Any] | None:
        return self._store[NAME].get(row_id)

    def as_entity(self, answer: dict[str, Any]) -> Entity:
        return {name: value for name, value in answer.items() if name != "_id"}

    def create(self, made: list[Entity]) -> None:
        self._store[NAME].insert(made)

    def set_field(self, row_id: int, name: str, value: Any) -> None:
        self._store[NAME].update_where([row_id], {"$set": {name: value}})

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._store[NAME].update_where([row_id], {"$inc": {name: by}})

    def push(self, row_id: int, name: str, value: str) -> None:
        self._store[NAME].update_where([row_id], {"$push": {name: value}})

    def delete(self, row_id: int) -> None:
        self._store[NAME].delete(ids=[row_id])

    def contents(self) -> Iterator[Entity]:
        for row in self._store[NAME].read().to_pylist():
            yield self.as_entity(row)
