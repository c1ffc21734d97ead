"""SQLAlchemy on SQLite, for interpreters that have it: version 2 or later."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Sequence

from sqlalchemy import Column, Double, Integer, MetaData, Table, create_engine, event, insert, select
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column

from .rows import Row
from .systems import PRAGMAS, System


class SQLAlchemy(System):
    """The engine is created once, as programs do; each opening takes a new connection from it."""

    def __init__(self, folder: str, columns: List[str]) -> None:
        super().__init__(folder, columns)
        self._engine = create_engine("sqlite:///" + os.path.join(folder, "benchmark.sqlite"))
        event.listen(self._engine, "connect", _set_up)

    def prepare(self, rows: List[Row]) -> List[Row]:
        return rows


class Core(SQLAlchemy):
    """Rows are named tuples."""

    def __init__(self, folder: str, columns: List[str]) -> None:
        super().__init__(folder, columns)
        self._table = Table("benchmark", MetaData(), *(Column(name, Double()) for name in columns))

    def open(self, writing: bool) -> None:
        self._connection = self._engine.connect()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def create(self, prepared: List[Row]) -> None:
        self._table.create(self._connection)
        self._connection.execute(insert(self._table), prepared)
        self._connection.commit()

    def read(self) -> Any:
        return self._connection.execute(select(self._table)).all()


class ORM(SQLAlchemy):
    """A mapped class must have a primary key: SQLite assigns its numbers."""

    extra_columns = 1

    def __init__(self, folder: str, columns: List[str]) -> None:
        super().__init__(folder, columns)
        self._record = _mapped_class(columns)

    def open(self, writing: bool) -> None:
        self._session = Session(self._engine)
        self._session.connection()

    def close(self) -> None:
        self._session.close()
        self._engine.dispose()

    def create(self, prepared: List[Row]) -> None:
        self._record.metadata.create_all(self._session.connection())
        self._session.execute(insert(self._record), prepared)
        self._session.commit()

    def read(self) -> Any:
        return self._session.scalars(select(self._record)).all()

    def as_rows(self, answer: Any) -> Iterable[Sequence[float]]:
        return ([getattr(record, name) for name in self.columns] for record in answer)


def _mapped_class(columns: List[str]) -> Any:
    class Base(DeclarativeBase):
        pass

    attributes: Dict[str, Any] = {"row_id": mapped_column(Integer(), primary_key=True)}
    attributes.update((name, mapped_column(Double())) for name in columns)
    record = type("Benchmark", (Base,), dict(attributes, __tablename__="benchmark"))
    Base.registry.configure()
    return record


def _set_up(connection: Any, _: object) -> None:
    for pragma in PRAGMAS:
        connection.execute(pragma)
