"""SQLAlchemy on a SQLite file with the same settings as plain SQLite: Core, with statements built in Python
and rows as named tuples, and the ORM, with a mapped class, a session and objects."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Double,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Update,
    bindparam,
    create_engine,
    delete,
    event,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.engine import Row as Found
from sqlalchemy.types import TypeEngine

from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.systems.rows import object_blocks, tuple_blocks
from lamella.core.bench.systems.sqlite import PublishedSettings
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Numbers, Row, dicts


class SQLAlchemyTable(TableSystem):
    """The engine is created once, as programs do; each `open` takes a new connection from it."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._names = list(workload.checked_columns)  # like plain SQLite: the key replaces col0
        self._engine = create_engine(URL.create("sqlite", database=str(folder / "benchmark.sqlite")))
        event.listen(self._engine, "connect", _set_up)

    @classmethod
    def version(cls) -> str:
        return f"{sqlalchemy.__version__} on SQLite {sqlite3.sqlite_version}"

    def prepare(self, rows: Rows) -> Rows:
        return rows if self.workload.key is None else [self._own_columns(row) for row in rows]

    def create(self, prepared: Rows) -> None:
        self._create([prepared])

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._create(self.prepare(dicts(block)) for block in blocks)

    @abstractmethod
    def _create(self, blocks: Iterable[Rows]) -> None:
        """Create the table with these rows in one commit."""

    def _own_columns(self, row: Mapping[str, Any]) -> Row:
        """Return the values of the columns that this table has."""
        return {name: row[name] for name in self._names if name in row}

    def _kind(self, name: str) -> TypeEngine[Any]:
        return Double() if self.workload.dtype_of(name).kind == "f" else Integer()


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    for pragma in PublishedSettings.pragmas:
        connection.execute(pragma)


Answer = Sequence[Found[Any]]

SOUGHT_KEY = "sought_key"
"""The parameter by which rows are found; a parameter named like a column would be a value to set."""


class SQLAlchemyCore(SQLAlchemyTable):
    id = "sqlalchemy-core"
    description = (
        "one engine, executemany of insert and of update with bound parameters, rows as named tuples, on "
        f"the same SQLite as sqlite: {PublishedSettings.describe()}"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._table = Table(
            "benchmark", MetaData(), *(Column(name, self._kind(name)) for name in self._names)
        )
        self._row_id: ColumnElement[int] = literal_column("rowid", Integer)

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
        return self._fetch(select(self._table))

    def query(self) -> Answer:
        columns = self._table.c
        return self._fetch(select(self._table).where(columns.col1 > 100, columns.col97 < 1000))

    def find(self) -> Answer:
        return self._fetch(select(self._table.c.col0).where(self._table.c.col0 == -1))

    def row_ids(self, numbers: Numbers) -> list[int]:
        ids: list[int] = (numbers + 1).tolist()
        return ids

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
        changes = [{SOUGHT_KEY: row[key]} | self._own_columns(row) for row in rows]
        for change in changes:
            del change[key]
        return update(self._table).where(self._table.c[key] == bindparam(SOUGHT_KEY)), changes

    def update(self, prepared: tuple[Update, Rows]) -> None:
        self._connection.execute(*prepared)
        self._connection.commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> tuple[Update, Rows]:
        changes = [
            {SOUGHT_KEY: row_id} | self._own_columns(row) for row_id, row in zip(row_ids, rows, strict=True)
        ]
        return update(self._table).where(self._row_id == bindparam(SOUGHT_KEY)), changes

    def delete(self, row_ids: Sequence[int]) -> None:
        deletion = delete(self._table).where(self._row_id == bindparam(SOUGHT_KEY))
        self._connection.execute(deletion, [{SOUGHT_KEY: row_id} for row_id in row_ids])
        self._connection.commit()

    def vacuum(self) -> bool:
        self._connection.execute(text("VACUUM"))
        return True

    def blocks(self, answer: Answer, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self._names, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for rows in self._connection.execute(select(self._table)).partitions(BLOCK_ROWS):
            yield from self.blocks(rows, names)

    def _fetch(self, query: Select[Any]) -> Answer:
        return self._connection.execute(query).all()


Objects = Sequence[Any]
ROW_ID = "row_id"


class SQLAlchemyORM(SQLAlchemyTable):
    """A mapped class needs a primary key: the workload's, or one that SQLite numbers from 1."""

    id = "sqlalchemy-orm"
    description = (
        "a declarative class, bulk insert and bulk update by primary key through a session, rows as "
        f"mapped objects, on the same SQLite as sqlite: {PublishedSettings.describe()}"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        from sqlalchemy.orm import Session  # not above: Core does not need it

        self._made_session = Session
        self._key = workload.key or ROW_ID
        kinds = {name: self._kind(name) for name in self._names}
        self._record = _mapped_class({self._key: Integer()} | kinds, self._key)

    @property
    def columns(self) -> int:
        return len(self._names) + (self.workload.key is None)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._session = self._made_session(self._engine)
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
        return self._fetch(select(self._record))

    def query(self) -> Objects:
        record = self._record
        return self._fetch(select(record).where(record.col1 > 100, record.col97 < 1000))

    def find(self) -> Objects:
        """Return named tuples: a single column is not an object."""
        record = self._record
        return self._session.execute(select(record.col0).where(record.col0 == -1)).all()

    def row_ids(self, numbers: Numbers) -> list[int]:
        ids: list[int] = (numbers + (self.workload.key is None)).tolist()
        return ids

    def get(self, row_id: int) -> Any:
        return self._session.get_one(self._record, row_id)

    def as_row(self, answer: Any) -> Row:
        return {name: getattr(answer, name) for name in self._names}

    def index(self, column: str) -> bool:
        """Create an index, except for the key: as the primary key, it has one."""
        if column == self._key:
            return False
        Index(f"benchmark_{column}", getattr(self._record, column)).create(self._session.connection())
        self._session.commit()
        return True

    def prepare_update(self, rows: Rows) -> Rows:
        return [self._own_columns(row) for row in rows]

    def update(self, prepared: Rows) -> None:
        self._session.execute(update(self._record), prepared)
        self._session.commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [
            {self._key: row_id} | self._own_columns(row) for row_id, row in zip(row_ids, rows, strict=True)
        ]

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

    def _fetch(self, query: Select[Any]) -> Objects:
        return self._session.scalars(query).all()


def _mapped_class(kinds: Mapping[str, TypeEngine[Any]], key: str) -> Any:
    """Return a new mapped class with these columns."""
    from sqlalchemy.orm import DeclarativeBase, mapped_column

    class Base(DeclarativeBase): ...

    attributes = {name: mapped_column(kind, primary_key=name == key) for name, kind in kinds.items()}
    record = type("Benchmark", (Base,), {"__tablename__": "benchmark", **attributes})
    Base.registry.configure()
    return record
