"""Questions to entities in DuckDB: lists and nested objects have types of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lamella.core.bench.entities.data import SCHEMA
from lamella.core.bench.entity_queries.backend import COLUMNS, arrow
from lamella.core.bench.entity_queries.sql import SHARED_CONDITIONS, SQLEntityQueries
from lamella.core.bench.questions.duckdb import DuckDBQuestions

NO_ORDER = {"sort_indexed": "Its indexes serve lookups and ranges, never an order"}


class DuckDBEntityQueries(DuckDBQuestions, SQLEntityQueries):
    cannot = NO_ORDER
    conditions = SHARED_CONDITIONS | {
        "nested": "profile.city = 'Lagos' AND (profile.age < 30 OR rating > 4.0)",
        "regex": "regexp_matches(name, '^amber .*7$')",
    }

    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; answers in Arrow, few rows in tuples"

    def ask_few(self, sql: str, *values: Any) -> list[Any]:
        return self.plain(sql, *values)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        made = arrow(rows)
        self.add_table("entities", {name: made[name] for name in COLUMNS[1:]})
        self.close()

    def one(self, sql: str) -> tuple[Any, ...]:
        (found,) = self._connection.execute(sql).fetchall()
        return tuple(found)

    def index_views(self) -> None:
        raise AssertionError(self.cannot["sort_indexed"])

    def as_table(self, answer: pa.Table | list[Any], names: Sequence[str]) -> pa.Table:
        if isinstance(answer, pa.Table):
            return answer
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in answer], SCHEMA)
