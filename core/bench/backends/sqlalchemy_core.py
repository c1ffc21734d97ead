"""SQLAlchemy Core on SQLite: statements built in Python, rows as named tuples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.engine import Row as Found

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.backends.python_rows import tuple_blocks
from lamella.core.bench.backends.sqlalchemy_table import SQLAlchemyTable
from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.data import BLOCK_ROWS, Numbers
from lamella.core.bench.workloads import Values, Workload

Answer = Sequence[Found[Any]]
WANTED = "wanted"
"""The parameter that rows are found by; one named like a column would be a value to set."""


class SQLAlchemyCore(SQLAlchemyTable):
    id = "sqlalchemy-core"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._table = Table(
            "benchmark", MetaData(), *(Column(name, self._kind(name)) for name in self._names)
        )
        self._row_id: ColumnElement[int] = literal_column("rowid", Integer)

    @classmethod
    def describe(cls) -> str:
        return (
            "one engine, executemany of insert and of update with bound parameters, rows as named tuples, on "
            f"the same SQLite as sqlite: {AsPublished.describe()}"
        )

    @property
    def columns(self) -> int:
        return len(self._names)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = self._engine.connect()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def _create(self, blocks: Iterable[Rows]) -> None:
        self._table.create(self._connection)
        for rows in blocks:
            self._connection.execute(insert(self._table), rows)
        self._connection.commit()

    def read(self) -> Answer:
        return self._all(select(self._table))

    def query(self) -> Answer:
        held = self._table.c
        return self._all(select(self._table).where(held.col1 > 100, held.col97 < 1000))

    def find(self) -> Answer:
        return self._all(select(self._table.c.col0).where(self._table.c.col0 == -1))

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = (numbers + 1).tolist()
        return found

    def get(self, row_id: int) -> Found[Any]:
        return self._connection.execute(select(self._table).where(self._row_id == row_id)).one()

    def as_row(self, answer: Found[Any]) -> Row:
        return answer._asdict()

    def index(self, column: str) -> bool:
        Index(f"benchmark_{column}", self._table.c[column]).create(self._connection)
        self._connection.commit()
        return True

    def prepare_update(self, rows: Rows) -> tuple[Update, Rows]:
        key = self._names[0]
        changes = [{WANTED: row[key]} | self._own(row) for row in rows]
        for change in changes:
            del change[key]
        return update(self._table).where(self._table.c[key] == bindparam(WANTED)), changes

    def update(self, prepared: tuple[Update, Rows]) -> None:
        self._connection.execute(*prepared)
        self._connection.commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> tuple[Update, Rows]:
        changes = [{WANTED: row_id} | self._own(row) for row_id, row in zip(row_ids, rows, strict=True)]
        return update(self._table).where(self._row_id == bindparam(WANTED)), changes

    def update_by_row_id(self, prepared: tuple[Update, Rows]) -> None:
        self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        gone = delete(self._table).where(self._row_id == bindparam(WANTED))
        self._connection.execute(gone, [{WANTED: row_id} for row_id in row_ids])
        self._connection.commit()

    def vacuum(self) -> bool:
        self._connection.execute(text("VACUUM"))
        return True

    def blocks(self, answer: Answer, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self._names, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for rows in self._connection.execute(select(self._table)).partitions(BLOCK_ROWS):
            yield from self.blocks(rows, names)

    def _all(self, asked: Select[Any]) -> Answer:
        return self._connection.execute(asked).all()
