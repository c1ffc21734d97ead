"""Entities as MongoDB's documents; `_id` counts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamella.core.bench.backends.mongodb import MongoDatabase
from lamella.core.bench.entities.backend import EntityBackend
from lamella.core.bench.entities.data import FIELDS, Entity
from lamella.core.bench.mongo import Document


class MongoEntities(MongoDatabase, EntityBackend):
    def open(self, writing: bool) -> None:
        super().open(writing)
        last = self._documents.find_one(sort=[("_id", -1)], projection=["_id"]) if writing else None
        self._next = last["_id"] + 1 if last else 0

    def fill(self, made: list[Entity]) -> None:
        self.create(made)

    def ids(self) -> list[int]:
        return [document["_id"] for document in self._documents.find({}, ["_id"]).sort("_id")]

    def get(self, row_id: int) -> Document | None:
        return self._documents.find_one(row_id)

    def as_entity(self, answer: Document) -> Entity:
        return {name: answer.get(name) for name in FIELDS}

    def create(self, made: list[Entity]) -> None:
        documents = [{"_id": number, **one} for number, one in enumerate(made, self._next)]
        self._next += len(documents)
        self._documents.insert_many(documents, ordered=False)

    def set_fields(self, row_id: int, values: Mapping[str, Any]) -> None:
        self._change(row_id, "$set", dict(values))

    def increment(self, row_id: int, name: str, by: int) -> None:
        self._change(row_id, "$inc", {name: by})

    def push(self, row_id: int, name: str, value: str) -> None:
        self._change(row_id, "$push", {name: value})

    def add_to_set(self, row_id: int, name: str, value: str) -> None:
        self._change(row_id, "$addToSet", {name: value})

    def pull(self, row_id: int, name: str, value: str) -> None:
        self._change(row_id, "$pull", {name: value})

    def unset(self, row_id: int, name: str) -> None:
        self._change(row_id, "$unset", {name: ""})

    def delete(self, row_ids: Sequence[int]) -> None:
        self._documents.delete_many({"_id": {"$in": list(row_ids)}})

    def contents(self) -> Iterator[Entity]:
        return map(self.as_entity, self._documents.find())

    def _change(self, row_id: int, operator: str, values: dict[str, Any]) -> None:
        self._documents.update_one({"_id": row_id}, {operator: values})
