"""SQLite through Python's own module in two configurations, as published and as deployed; and with every
loaded row converted to a Python object."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import make_dataclass
from itertools import starmap
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, ClassVar

from lamella.core.bench.systems.base import Rows, System
from lamella.core.bench.systems.rows import SQLiteReads, Tuples, object_blocks, tuple_blocks
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row

Update = tuple[str, Tuples]


class SQLiteFile(System):
    """The base of SQLite's systems: one connection, with pragmas if it writes."""

    pragmas: ClassVar[tuple[str, ...]]

    @classmethod
    def version(cls) -> str:
        return sqlite3.sqlite_version

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.folder / "benchmark.sqlite")
        for pragma in self.pragmas if writing else ():
            self._connection.execute(pragma)

    def close(self) -> None:
        self._connection.close()

    def vacuum(self) -> bool:
        self._connection.execute("VACUUM")
        return True


class PublishedSettings(SQLiteFile):
    """The settings of the published notebooks, on every connection that writes.

    (The notebook of the full update omits the pragmas on the connection that updates; its published update
    therefore has SQLite's default, which is durable and slower.)
    """

    id = "sqlite"
    pragmas = ("PRAGMA synchronous = OFF", "PRAGMA journal_mode = MEMORY")
    description = "synchronous=OFF, journal in memory: not durable; a crash in a commit can corrupt the file"


class DeployedSettings(SQLiteFile):
    """The settings for deployments in which data must not be lost."""

    id = "sqlite-wal"
    pragmas = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
    description = "write-ahead log, synchronous=FULL: every commit is durable"


class SQLiteTable(SQLiteFile, SQLiteReads):
    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        # A key replaces col0, as published: 100 columns including the key.
        self._names = list(workload.checked_columns)

    @property
    def columns(self) -> int:
        return len(self._names)

    def prepare(self, rows: Rows) -> Tuples:
        if self.workload.key is None:
            return [tuple(row.values()) for row in rows]
        return list(map(itemgetter(*self._names), rows))

    def create(self, prepared: Iterable[tuple[Any, ...]]) -> None:
        columns = ", ".join(f"{name} {self._kind(name)}" for name in self._names)
        self._connection.execute(f"CREATE TABLE benchmark ({columns})")
        holders = ", ".join("?" for _ in self._names)
        self._connection.executemany(f"INSERT INTO benchmark VALUES ({holders})", prepared)
        self._connection.commit()

    def fill(self, blocks: Iterable[Columns]) -> None:
        lists = ([block[name].tolist() for name in self._names] for block in blocks)
        self.create(row for columns in lists for row in zip(*columns, strict=True))

    def get(self, row_id: int) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._connection.execute(
            "SELECT * FROM benchmark WHERE rowid = ?", (row_id,)
        ).fetchone()
        return row

    def index(self, column: str) -> bool:
        self._connection.execute(f"CREATE INDEX benchmark_{column} ON benchmark ({column})")
        self._connection.commit()
        return True

    def prepare_update(self, rows: Rows) -> Update:
        key, *value_names = self._names
        return _update(value_names, key), list(map(itemgetter(*value_names, key), rows))

    def update(self, prepared: Update) -> None:
        self._connection.executemany(*prepared)
        self._connection.commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Update:
        names = [name for name in self._names if name in rows[0]]
        numbered = zip(row_ids, rows, strict=True)
        return _update(names, "rowid"), [(*(row[name] for name in names), number) for number, row in numbered]

    def delete(self, row_ids: Sequence[int]) -> None:
        numbers = [(row_id,) for row_id in row_ids]
        self._connection.executemany("DELETE FROM benchmark WHERE rowid = ?", numbers)
        self._connection.commit()

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        cursor = self._connection.execute("SELECT * FROM benchmark")
        while rows := cursor.fetchmany(BLOCK_ROWS):
            yield from tuple_blocks(rows, self._names, names)

    def _kind(self, name: str) -> str:
        return "REAL" if self.workload.dtype_of(name).kind == "f" else "INTEGER"


class SQLite(PublishedSettings, SQLiteTable): ...


class SQLiteWal(DeployedSettings, SQLiteTable): ...


def _update(names: Sequence[str], key: str) -> str:
    changes = ", ".join(f"{name} = ?" for name in names)
    return f"UPDATE benchmark SET {changes} WHERE {key} = ?"


Objects = list[Any]


class SQLiteObjects(PublishedSettings, SQLiteTable):
    """Like plain SQLite, but loaded rows become objects."""

    id = "sqlite-obj"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._record = make_dataclass("Record", self._names, slots=True)
        self._key_record = make_dataclass("KeyRecord", ["col0"], slots=True)

    @classmethod
    def describe(cls) -> str:
        return (
            "like sqlite, but each loaded row is a dataclass object with slots, one attribute a column; "
            f"{super().describe()}"
        )

    def read(self) -> Objects:
        return self._objects("SELECT * FROM benchmark")

    def query(self) -> Objects:
        return self._objects("SELECT * FROM benchmark WHERE col1 > 100 AND col97 < 1000")

    def find(self) -> Objects:
        rows = self._connection.execute("SELECT col0 FROM benchmark WHERE col0 = -1")
        return list(starmap(self._key_record, rows))

    def get(self, row_id: int) -> Any:
        return self._record(*super().get(row_id))

    def as_row(self, answer: Any) -> Row:
        return dict(zip(self._names, attrgetter(*self._names)(answer), strict=True))

    def blocks(self, answer: Objects, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return object_blocks(answer, names)

    def _objects(self, statement: str) -> Objects:
        return list(starmap(self._record, self._connection.execute(statement)))
