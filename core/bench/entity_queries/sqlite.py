"""Questions to entities in SQLite: lists and nested objects are JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.sqlite_entities import TYPES, as_row
from lamella.core.bench.entities.data import SCHEMA, entities
from lamella.core.bench.entity_queries.sql import SHARED_CONDITIONS, SQLEntityQueries
from lamella.core.bench.questions.sqlite import SQLiteQuestions

JSON = ("tags", "profile")


class SQLiteEntityQueries(SQLiteQuestions, SQLEntityQueries):
    conditions = SHARED_CONDITIONS | {
        "nested": "profile ->> '$.city' = 'Lagos' AND (profile ->> '$.age' < 30 OR rating > 4.0)",
        "regex": "name REGEXP '^amber .*7$'",
    }

    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; lists and nested objects as JSON, REGEXP by Python, answers in tuples"

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._connection.create_function("regexp", 2, _found, deterministic=True)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        made = zip(*map(as_row, entities(0, rows)), strict=True)
        self.add_table("entities", TYPES, dict(zip(TYPES, made, strict=True)))
        self.close()

    def one(self, sql: str) -> tuple[Any, ...]:
        (found,) = self.ask(sql)
        return tuple(found)

    def index_views(self) -> None:
        self._connection.execute("CREATE INDEX IF NOT EXISTS by_views ON entities (views)")
        self._connection.commit()

    def as_table(self, answer: list[tuple[Any, ...]], names: Sequence[str]) -> pa.Table:
        columns = list(zip(*answer, strict=True)) or [()] * len(names)
        found = dict(zip(names, columns, strict=True))
        return pa.table({name: _read(name, found[name]) for name in names if name in SCHEMA.names})


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _read(name: str, values: Sequence[Any]) -> pa.Array:
    return pa.array(map(json.loads, values) if name in JSON else values, SCHEMA.field(name).type)
