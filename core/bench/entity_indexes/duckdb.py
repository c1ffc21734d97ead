"""DuckDB's ART indexes, beside the minima and maxima that it keeps of every column anyway."""

from __future__ import annotations

from lamella.core.bench.entity_indexes.data import TYPES, items
from lamella.core.bench.entity_indexes.sql import COUNT, sql_questions
from lamella.core.bench.questions.backend import Questions
from lamella.core.bench.questions.duckdb import DuckDBQuestions


class DuckDBIndexes(DuckDBQuestions):
    @property
    def columns(self) -> int:
        return len(TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self.add_table("items", items(rows))
        self.close()

    def questions(self) -> Questions:
        return sql_questions(self.plain(COUNT)[0][0], self.plain, self.run)
