"""What the backends on SQLAlchemy share: an engine on a SQLite file, set up as plain SQLite is."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import URL, Double, Integer, create_engine, event
from sqlalchemy.types import TypeEngine

from lamella.core.bench.backends.base import Row, Rows, TableBackend
from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.data import dicts
from lamella.core.bench.workloads import Columns, Workload


class SQLAlchemyTable(TableBackend):
    """The engine is made once, as a program does; every opening takes a new connection from it."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._names = list(workload.checked_columns)  # as plain SQLite: the key takes the place of col0
        self._engine = create_engine(URL.create("sqlite", database=str(folder / "benchmark.sqlite")))
        event.listen(self._engine, "connect", _set_up)

    @classmethod
    def version(cls) -> str:
        return f"{sqlalchemy.__version__} on SQLite {sqlite3.sqlite_version}"

    def prepare(self, rows: Rows) -> Rows:
        return rows if self.workload.key is None else [self._own(row) for row in rows]

    def create(self, prepared: Rows) -> None:
        self._create([prepared])

    def fill(self, made: Iterable[Columns]) -> None:
        self._create(self.prepare(dicts(block)) for block in made)

    @abstractmethod
    def _create(self, blocks: Iterable[Rows]) -> None:
        """One commit."""

    def _own(self, row: Mapping[str, Any]) -> Row:
        """The columns that this table has."""
        return {name: row[name] for name in self._names if name in row}

    def _kind(self, name: str) -> TypeEngine[Any]:
        return Double() if self.workload.dtype_of(name).kind == "f" else Integer()


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    for pragma in AsPublished.pragmas:
        connection.execute(pragma)
