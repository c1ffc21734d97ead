"""SQLite's indexes."""

from __future__ import annotations

from lamella.core.bench.entity_indexes.data import TYPES, items
from lamella.core.bench.entity_indexes.sql import COUNT, sql_questions
from lamella.core.bench.questions.backend import Questions
from lamella.core.bench.questions.sqlite import SQLiteQuestions


class SQLiteIndexes(SQLiteQuestions):
    @property
    def columns(self) -> int:
        return len(TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self.add_table("items", TYPES, items(rows))
        self.close()

    def questions(self) -> Questions:
        return sql_questions(self.ask(COUNT)[0][0], self.ask, self.ask)
