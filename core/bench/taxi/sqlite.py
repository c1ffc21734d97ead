"""The trips in a table of SQLite's own file, as published."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.queries import SQLITE

_DECLARED = {pa.int64(): "INTEGER", pa.float64(): "REAL"}
_COLUMNS = ", ".join(f"{field.name} {_DECLARED.get(field.type, 'TEXT')}" for field in SCHEMA)


def _as_it_is(cell: Any) -> Any:
    return cell


_READ = [datetime.fromisoformat if pa.types.is_timestamp(field.type) else _as_it_is for field in SCHEMA]


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

    def whole_trips(self, ids: Sequence[int]) -> list[Sequence[Any]]:
        """What is absent is an empty text there, and a time is a text."""
        marks = ", ".join("?" * len(ids))
        asked = f"SELECT {', '.join(SCHEMA.names)} FROM trips WHERE trip_id IN ({marks})"
        return [
            [None if cell == "" else read(cell) for read, cell in zip(_READ, row, strict=True)]
            for row in self._connection.execute(asked, list(ids))
        ]

    def rows_of(self, answer: list[tuple[Any, ...]]) -> Iterable[Sequence[Any]]:
        return answer
