"""The same statements in DuckDB, to see where both stand."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.bridge_queries.data import COLUMNS, GROUP, as_sums, statements, trips, zones
from lamella.core.bench.questions.backend import Question, Questions
from lamella.core.bench.questions.duckdb import DuckDBQuestions


class DuckDBTable(DuckDBQuestions):
    @property
    def columns(self) -> int:
        return COLUMNS

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        names, boroughs = zip(*zones(), strict=True)
        self.create("trips", trips(rows))
        self.create("zones", pa.table({"zone": names, "borough": boroughs}))
        self.close()

    def questions(self) -> Questions:
        ((rows,),) = self.plain("SELECT count(*) FROM trips")
        asked = statements(rows, rowid="rowid + 1")
        return {
            name: Question(partial(self.plain, text), told=as_sums if name == GROUP else _as_in_sqlite)
            for name, text in asked
        }


def _as_in_sqlite(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Moments are texts there, without a fraction that is zero."""
    return [tuple(str(value) if isinstance(value, datetime) else value for value in row) for row in rows]
