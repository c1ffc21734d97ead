"""Entities in Lamella's own store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamella.core.bench.backends.lamella import NAME, LamellaStore
from lamella.core.bench.entities.backend import EntityBackend
from lamella.core.bench.entities.data import Entity
from lamella.core.store.operators import Operators


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

    def set_fields(self, row_id: int, values: Mapping[str, Any]) -> None:
        self._operate(row_id, {"$set": values})

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._operate(row_id, {"$inc": {name: by}})

    def push(self, row_id: int, name: str, value: str) -> None:
        self._operate(row_id, {"$push": {name: value}})

    def add_to_set(self, row_id: int, name: str, value: str) -> None:
        self._operate(row_id, {"$addToSet": {name: value}})

    def pull(self, row_id: int, name: str, value: str) -> None:
        self._operate(row_id, {"$pull": {name: value}})

    def unset(self, row_id: int, name: str) -> None:
        self._operate(row_id, {"$unset": {name: True}})

    def delete(self, row_ids: Sequence[int]) -> None:
        self._store[NAME].delete(ids=row_ids)

    def contents(self) -> Iterator[Entity]:
        for row in self._store[NAME].read().to_pylist():
            yield self.as_entity(row)

    def _operate(self, row_id: int, operators: Operators) -> None:
        self._store[NAME].update_where([row_id], operators)
