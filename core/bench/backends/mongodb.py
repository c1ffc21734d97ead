"""MongoDB through pymongo: a document for each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pymongo
from pymongo import UpdateOne
from pymongo.collection import Collection

from lamella.core.bench import mongo
from lamella.core.bench.backends.base import Backend, NotReady, Row, Rows, TableBackend
from lamella.core.bench.backends.python_rows import dict_blocks, names_of
from lamella.core.bench.data import BLOCK_ROWS, Numbers, dicts
from lamella.core.bench.mongo import Document
from lamella.core.bench.workloads import Columns, Values

COLLECTION = "benchmark"


class MongoDatabase(Backend):
    """What its backends share: one collection in a database of their own, on the server of the settings."""

    id = "mongodb"

    @classmethod
    def version(cls) -> str:
        return f"pymongo {pymongo.version}"

    @classmethod
    def answering_version(cls) -> str:
        try:
            return mongo.server()
        except mongo.NoServer as error:
            raise NotReady(error.what, error.why, error.fix) from error

    @classmethod
    def describe(cls) -> str:
        return (
            "through pymongo, write concern w=1 and the journal as the server's default: a commit is durable "
            "only once the journal is synced, with MongoDB within 0.1 s; `_id` is the row's key or its number"
        )

    def open(self, writing: bool) -> None:
        """A client connects when it is first asked, which would fall into the time of an operation."""
        self._name = mongo.database_of(self.folder)
        self._client = mongo.connect()
        self._client.admin.command("ping")

    def close(self) -> None:
        self._client.close()

    def vacuum(self) -> bool:
        return mongo.compact(self._client, self._name, COLLECTION)

    def disk_bytes(self) -> int:
        return mongo.stored_bytes(self._name)

    @property
    def _documents(self) -> Collection[Document]:
        return self._client[self._name][COLLECTION]


class MongoTable(MongoDatabase, TableBackend):
    @property
    def columns(self) -> int:
        return len(names_of(self.workload))

    def prepare(self, rows: Rows) -> list[Document]:
        return self._numbered(rows, 0)

    def create(self, prepared: list[Document]) -> None:
        self._documents.insert_many(prepared, ordered=False)

    def fill(self, made: Iterable[Columns]) -> None:
        for number, block in enumerate(made):
            self._documents.insert_many(self._numbered(dicts(block), number * BLOCK_ROWS), ordered=False)

    def read(self) -> list[Document]:
        return list(self._documents.find())

    def query(self) -> list[Document]:
        return list(self._documents.find({"col1": {"$gt": 100}, "col97": {"$lt": 1000}}))

    def find(self) -> list[Document]:
        return list(self._documents.find({"col0": -1}, {"_id": False, "col0": True}))

    def index(self, column: str) -> bool:
        """A key is the `_id`, which always has an index."""
        if column == self.workload.key:
            return False
        self._documents.create_index(column)
        return True

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = numbers.tolist()
        return found

    def get(self, row_id: int) -> Document | None:
        return self._documents.find_one(row_id)

    def as_row(self, answer: Document) -> Mapping[str, Any]:
        return answer | ({self.workload.key: answer["_id"]} if self.workload.key else {})

    def prepare_update(self, rows: Rows) -> list[UpdateOne]:
        key = self.workload.key
        assert key is not None
        others = names_of(self.workload)[1:]
        return [_set(int(row[key]), {name: row[name] for name in others}) for row in rows]

    def update(self, prepared: list[UpdateOne]) -> None:
        self._documents.bulk_write(prepared, ordered=False)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> list[UpdateOne]:
        return [_set(row_id, row) for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: list[UpdateOne]) -> None:
        self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._documents.delete_many({"_id": {"$in": list(row_ids)}})

    def blocks(self, answer: list[Document], names: Sequence[str]) -> Iterator[Sequence[Values]]:
        key = self.workload.key
        return dict_blocks(answer, ["_id" if name == key else name for name in names])

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        held: list[Document] = []
        for document in self._documents.find():
            held.append(document)
            if len(held) == BLOCK_ROWS:
                yield from self.blocks(held, names)
                held = []
        yield from self.blocks(held, names)

    def _numbered(self, rows: Rows, start: int) -> list[Document]:
        key = self.workload.key
        if key is None:
            return [{"_id": number, **row} for number, row in enumerate(rows, start)]
        others = names_of(self.workload)[1:]
        return [{"_id": row[key], **{name: row[name] for name in others}} for row in rows]


def _set(row_id: int, values: Row) -> UpdateOne:
    return UpdateOne({"_id": row_id}, {"$set": values})
