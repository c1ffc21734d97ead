"""SQLAlchemy's ORM on SQLite: a mapped class, a session, and objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Index, Integer, Select, delete, insert, select, text, update
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.types import TypeEngine

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.backends.python_rows import object_blocks
from lamella.core.bench.backends.sqlalchemy_table import SQLAlchemyTable
from lamella.core.bench.backends.sqlite import AsPublished
from lamella.core.bench.data import BLOCK_ROWS, Numbers
from lamella.core.bench.workloads import Values, Workload

Objects = Sequence[Any]
ROW_ID = "row_id"


class SQLAlchemyORM(SQLAlchemyTable):
    """A mapped class must have a primary key: the workload's, or one that SQLite counts from 1."""

    id = "sqlalchemy-orm"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._key = workload.key or ROW_ID
        kinds = {name: self._kind(name) for name in self._names}
        self._record = _mapped({self._key: Integer()} | kinds, self._key)

    @classmethod
    def describe(cls) -> str:
        return (
            "a declarative class, bulk insert and bulk update by primary key through a session, rows as "
            f"mapped objects, on the same SQLite as sqlite: {AsPublished.describe()}"
        )

    @property
    def columns(self) -> int:
        return len(self._names) + (self.workload.key is None)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._session = Session(self._engine)
        self._session.connection()

    def close(self) -> None:
        self._session.close()
        self._engine.dispose()

    def _create(self, blocks: Iterable[Rows]) -> None:
        self._record.metadata.create_all(self._session.connection())
        for rows in blocks:
            self._session.execute(insert(self._record), rows)
        self._session.commit()

    def read(self) -> Objects:
        return self._all(select(self._record))

    def query(self) -> Objects:
        held = self._record
        return self._all(select(held).where(held.col1 > 100, held.col97 < 1000))

    def find(self) -> Objects:
        """A column alone comes as named tuples."""
        held = self._record
        return self._session.execute(select(held.col0).where(held.col0 == -1)).all()

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = (numbers + (self.workload.key is None)).tolist()
        return found

    def get(self, row_id: int) -> Any:
        return self._session.get_one(self._record, row_id)

    def as_row(self, answer: Any) -> Row:
        return {name: getattr(answer, name) for name in self._names}

    def index(self, column: str) -> bool:
        """The key has one, as the primary key."""
        if column == self._key:
            return False
        Index(f"benchmark_{column}", getattr(self._record, column)).create(self._session.connection())
        self._session.commit()
        return True

    def prepare_update(self, rows: Rows) -> Rows:
        return [self._own(row) for row in rows]

    def update(self, prepared: Rows) -> None:
        self._session.execute(update(self._record), prepared)
        self._session.commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{self._key: row_id} | self._own(row) for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        key = getattr(self._record, self._key)
        for start in range(0, len(row_ids), BLOCK_ROWS):
            self._session.execute(delete(self._record).where(key.in_(row_ids[start : start + BLOCK_ROWS])))
        self._session.commit()

    def vacuum(self) -> bool:
        self._session.execute(text("VACUUM"))
        return True

    def blocks(self, answer: Objects, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return object_blocks(answer, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for objects in self._session.scalars(select(self._record)).partitions(BLOCK_ROWS):
            yield from self.blocks(objects, names)

    def _all(self, asked: Select[Any]) -> Objects:
        return self._session.scalars(asked).all()


def _mapped(kinds: Mapping[str, TypeEngine[Any]], key: str) -> Any:
    """A class of its own for each table's columns."""

    class Base(DeclarativeBase): ...

    attributes = {name: mapped_column(kind, primary_key=name == key) for name, kind in kinds.items()}
    record = type("Benchmark", (Base,), {"__tablename__": "benchmark", **attributes})
    Base.registry.configure()
    return record
