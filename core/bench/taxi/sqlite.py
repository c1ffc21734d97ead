"""The trips in a table of SQLite's own file, as published."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from core.bench.backends.sqlite import AsPublished
from core.bench.taxi.backend import TaxiBackend
from core.bench.taxi.columns import SCHEMA
from core.bench.taxi.queries import SQLITE

_DECLARED = {pa.int64(): "INTEGER", pa.float64(): "REAL"}
_COLUMNS = ", ".join(f"{field.name} {_DECLARED.get(field.type, 'TEXT')}" for field in SCHEMA)


class SQLiteTaxi(AsPublished, TaxiBackend):
    """Each file in one transaction, as its shell's `.import` has it; what is empty stays an empty text."""

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._connection.execute(f"CREATE TABLE trips ({_COLUMNS})")
        marks = ", ".join("?" for _ in SCHEMA)
        for file in self.files(rows):
            with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
                lines = csv.reader(text)
                next(lines)
                self._connection.executemany(f"INSERT INTO trips VALUES ({marks})", lines)
            self._connection.commit()
        self.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(SQLITE[query]).fetchall()

    def rows_of(self, answer: list[tuple[Any, ...]]) -> Iterable[Sequence[Any]]:
        return answer
