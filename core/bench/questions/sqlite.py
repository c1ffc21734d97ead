"""SQLite as the workloads of questions fill and ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.questions.backend import QuestionBackend


class SQLiteQuestions(AsPublished, QuestionBackend):
    def open(self, writing: bool) -> None:
        """Set up as for writing always: some questions make an index, or a commit before they are asked."""
        super().open(writing=True)

    def ask(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()

    def add_table(self, name: str, types: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> None:
        """Rows are called 0, 1, 2, … by their integer primary key. Declared types matter: without them SQLite
        uses no index where it compares with an integer."""
        declared = ", ".join(f"{column} {kind}" for column, kind in types.items())
        self._connection.execute(f'CREATE TABLE "{name}" (_id INTEGER PRIMARY KEY, {declared})')
        marks = ", ".join("?" * (1 + len(types)))
        rows = enumerate(zip(*(columns[column] for column in types), strict=True))
        values = ((number, *row) for number, row in rows)
        self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
        self._connection.commit()
