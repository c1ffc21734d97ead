"""Related rows in DuckDB, by indexes on the columns that point at others."""

from __future__ import annotations

from core.bench.entity_relations.data import TYPES, tables
from core.bench.entity_relations.sql import Related
from core.bench.questions.backend import Questions
from core.bench.questions.duckdb import DuckDBQuestions


class DuckDBRelations(DuckDBQuestions):
    @property
    def columns(self) -> int:
        return sum(map(len, TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in tables(rows).items():
            self.add_table(name, columns)
        self.close()

    def questions(self) -> Questions:
        return Related(self.plain, self.run).questions()
