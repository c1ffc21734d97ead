"""Somebody's own table in SQLite: columns with their types, dates and times as counts (Unix time, as SQLite's
own documentation has it for whole numbers)."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.backends.sqlite import AsDeployed, AsPublished, SQLiteFile
from lamella.core.bench.mine.answers import change_sql, names_of
from lamella.core.bench.mine.asking import Subject, compiled
from lamella.core.bench.mine.backend import MineBackend
from lamella.core.bench.mine.plain_rows import Row, rows_of, table_of
from lamella.core.bench.mine.sqlite_asking import SqliteOperand


class MineSqlite(SQLiteFile, MineBackend):
    def load(self, rows: int) -> None:
        schema = self.copied.schema
        columns = ", ".join(f"c{place} {_affinity(field.type)}" for place, field in enumerate(schema))
        self._connection.execute(f"create table mine ({columns})")
        holders = ", ".join("?" * len(schema))
        self._connection.executemany(f"insert into mine values ({holders})", rows_of(self.copied, rows))
        self._connection.commit()

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._connection.execute("pragma case_sensitive_like = on")

    def read(self) -> list[Row]:
        return self._connection.execute("select * from mine").fetchall()

    def filter(self) -> list[Row]:
        return self._connection.execute(f"select * from mine where {self.condition()}").fetchall()

    def update(self) -> None:
        assert self.copied.change is not None
        column, value = change_sql(self.copied.change, self.copied.schema)
        self._connection.execute(f"update mine set {column} = {value} where {self.condition()}")
        self._connection.commit()

    def as_table(self, answer: list[Row]) -> pa.Table:
        return table_of(answer, self.copied.schema)

    def condition(self) -> str:
        if self.copied.where is None:
            return "1"
        names = dict(zip(self.copied.schema.names, names_of(self.copied.schema), strict=True))

        def operand(subject: Subject) -> SqliteOperand:
            return SqliteOperand(subject, names[subject.place.column])

        return compiled(self.copied.where, operand, SqliteOperand.logic, self.copied.nan)


class Sqlite(AsPublished, MineSqlite): ...


class SqliteWal(AsDeployed, MineSqlite): ...


def _affinity(kind: pa.DataType) -> str:
    if is_.is_floating(kind):
        return "real"
    if is_.is_string(kind):
        return "text"
    return "blob" if is_.is_binary(kind) else "integer"
