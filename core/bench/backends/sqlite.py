"""SQLite through Python's own module, in two configurations: as published, and as deployed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import ClassVar

import numpy as np

from core.bench.backends.base import Backend, Rows
from core.bench.checksum import Integers
from core.bench.workloads import Workload

Tuples = list[tuple[int, ...]]

BLOCK_ROWS = 10_000


class SQLite(Backend):
    """As the published notebooks set it, on every connection that writes.

    (The notebook of the full update leaves the pragmas out on the connection that updates; its
    published update is therefore SQLite's default, durable and slower.)
    """

    id = "sqlite"
    pragmas: ClassVar[tuple[str, ...]] = ("PRAGMA synchronous = OFF", "PRAGMA journal_mode = MEMORY")

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        # With a key, it takes the place of col0, as published: 100 columns with the key among them.
        self._names = list(workload.checked_columns)

    @classmethod
    def version(cls) -> str:
        return sqlite3.sqlite_version

    @classmethod
    def describe(cls) -> str:
        return "synchronous=OFF, journal in memory: not durable; a crash in a commit can corrupt the file"

    @property
    def columns(self) -> int:
        return len(self._names)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.folder / "benchmark.sqlite")
        for pragma in self.pragmas if writing else ():
            self._connection.execute(pragma)

    def close(self) -> None:
        self._connection.close()

    def prepare(self, rows: Rows) -> Tuples:
        if self.workload.key is None:
            return [tuple(row.values()) for row in rows]
        return list(map(itemgetter(*self._names), rows))

    def create(self, prepared: Tuples) -> None:
        columns = ", ".join(f"{name} INTEGER" for name in self._names)
        self._connection.execute(f"CREATE TABLE benchmark ({columns})")
        holders = ", ".join("?" for _ in self._names)
        self._connection.executemany(f"INSERT INTO benchmark VALUES ({holders})", prepared)
        self._connection.commit()

    def read(self) -> Tuples:
        return self._connection.execute("SELECT * FROM benchmark").fetchall()

    def query(self) -> Tuples:
        return self._connection.execute(
            "SELECT * FROM benchmark WHERE col1 > 100 AND col97 < 1000"
        ).fetchall()

    def index(self) -> bool:
        self._connection.execute(f"CREATE INDEX benchmark_key ON benchmark ({self._names[0]})")
        self._connection.commit()
        return True

    def prepare_update(self, rows: Rows) -> Tuples:
        return list(map(itemgetter(*self._names[1:], self._names[0]), rows))

    def update(self, prepared: Tuples) -> None:
        self._update_where(self._names[0], prepared)

    def prepare_update_by_row_id(self, rows: Rows) -> Tuples:
        # SQLite numbers the rows of a new table from 1, in the order they were inserted.
        values = map(itemgetter(*self._names[1:]), rows)
        return [(*row, row_id) for row_id, row in enumerate(values, start=1)]

    def update_by_row_id(self, prepared: Tuples) -> None:
        self._update_where("rowid", prepared)

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Integers]]:
        places = [self._names.index(name) for name in names]
        for start in range(0, len(answer), BLOCK_ROWS):
            rows = answer[start : start + BLOCK_ROWS]
            flat = np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * self.columns)
            columns = flat.reshape(len(rows), self.columns).T
            yield [columns[place] for place in places]

    def _update_where(self, column: str, prepared: Tuples) -> None:
        changes = ", ".join(f"{name} = ?" for name in self._names[1:])
        self._connection.executemany(f"UPDATE benchmark SET {changes} WHERE {column} = ?", prepared)
        self._connection.commit()


class SQLiteWal(SQLite):
    """As people deploy it when they care for their data."""

    id = "sqlite-wal"
    pragmas = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")

    @classmethod
    def describe(cls) -> str:
        return "write-ahead log, synchronous=FULL: every commit is durable"
