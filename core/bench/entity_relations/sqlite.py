"""Related rows in SQLite, by indexes on the columns that point at others."""

from __future__ import annotations

from lamella.core.bench.entity_relations.data import TYPES, tables
from lamella.core.bench.entity_relations.sql import Related
from lamella.core.bench.questions.backend import Questions
from lamella.core.bench.questions.sqlite import SQLiteQuestions


class SQLiteRelations(SQLiteQuestions):
    @property
    def columns(self) -> int:
        return sum(map(len, TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in tables(rows).items():
            self.add_table(name, TYPES[name], columns)
        self.close()

    def questions(self) -> Questions:
        return Related(self.ask, self.ask).questions()
