"""The user's own table in SQLite: typed columns, with dates and times as integers (Unix time, as SQLite's
documentation describes)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.systems.sqlite import DeployedSettings, PublishedSettings, SQLiteFile
from lamella.core.bench.workloads import user_table
from lamella.core.bench.workloads.conditions import Logic, Subject, SystemOperand, compile_condition
from lamella.core.filters.kinds import Kind
from lamella.core.filters.predicate_values import ESCAPE

SIGNS = {"eq": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class SqliteOperand(SystemOperand[str]):
    logic = Logic[str](
        lambda left, right: f"({left} and {right})",
        lambda left, right: f"({left} or {right})",
        lambda condition: f"not coalesce({condition}, 0)",
        lambda answer: str(int(answer)),
    )

    def __init__(self, subject: Subject, column: str) -> None:
        super().__init__(subject)
        self.column, self.raw = f"lower({column})" if subject.ignore_case else column, column

    def operand(self, exact: Any) -> str:
        if isinstance(exact, str) and self.subject.ignore_case and not exact.isascii():
            raise user_table.CannotAsk("SQLite only folds the case of ASCII letters")
        return literal(exact.lower() if self.subject.ignore_case else exact)

    def test(self, how: str, value: Any) -> str:
        return f"{self.column} {SIGNS[how]} {value}"

    def test_pair(self, how: str, pair: Any) -> str:
        return self.test(how, pair.column)

    def among(self, values: Sequence[Any]) -> str:
        return f"{self.column} in ({', '.join(values)})"

    def is_nan(self) -> str:
        return "0"  # columns with NaN are not measured here

    def is_null(self) -> str:
        return f"{self.raw} is null"

    def contains(self, text: str) -> str:
        return f"instr({self.column}, {self.operand(text)}) > 0"

    def starts_with(self, text: str) -> str:
        return f"substr({self.column}, 1, {len(text)}) = {self.operand(text)}"

    def ends_with(self, text: str) -> str:
        if not text:
            return self.always(True)
        return f"substr({self.column}, -{len(text)}) = {self.operand(text)}"

    def like(self, pattern: str) -> str:
        return f"{self.column} like {self.operand(pattern)} escape '{ESCAPE}'"

    def regex(self, pattern: str) -> str:
        raise user_table.CannotAsk("SQLite has no regular expressions without an extension")

    def has_remainder(self, divisor: int, remainder: int) -> str:
        if self.kind is Kind.FLOAT:
            raise user_table.CannotAsk("SQLite has remainders only of integers")
        return f"{self.raw} % {divisor} = {remainder}"


def literal(value: Any) -> str:
    if isinstance(value, str):
        return (
            f"cast(x'{value.encode().hex()}' as text)"
            if "\0" in value
            else "'" + value.replace("'", "''") + "'"
        )
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and math.isinf(value):
        return "9e999" if value > 0 else "-9e999"
    return repr(int(value) if isinstance(value, bool) else value)


class SQLiteUserTableFile(SQLiteFile, user_table.UserTableSystem):
    def load(self, rows: int) -> None:
        schema = self.table_copy.schema
        columns = ", ".join(f"c{place} {_affinity(field.type)}" for place, field in enumerate(schema))
        self._connection.execute(f"create table mine ({columns})")
        holders = ", ".join("?" * len(schema))
        self._connection.executemany(
            f"insert into mine values ({holders})", user_table.rows_of(self.table_copy, rows)
        )
        self._connection.commit()

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._connection.execute("pragma case_sensitive_like = on")

    def read(self) -> list[user_table.Row]:
        return self._connection.execute("select * from mine").fetchall()

    def filter(self) -> list[user_table.Row]:
        return self._connection.execute(f"select * from mine where {self.condition()}").fetchall()

    def update(self) -> None:
        assert self.table_copy.change is not None
        column, value = user_table.change_to_sql(self.table_copy.change, self.table_copy.schema)
        self._connection.execute(f"update mine set {column} = {value} where {self.condition()}")
        self._connection.commit()

    def as_table(self, answer: list[user_table.Row]) -> pa.Table:
        return user_table.table_of(answer, self.table_copy.schema)

    def condition(self) -> str:
        if self.table_copy.where is None:
            return "1"
        names = dict(
            zip(self.table_copy.schema.names, user_table.names_of(self.table_copy.schema), strict=True)
        )

        def operand(subject: Subject) -> SqliteOperand:
            return SqliteOperand(subject, names[subject.place.column])

        return compile_condition(self.table_copy.where, operand, SqliteOperand.logic, self.table_copy.nan)


class SQLiteUserTable(PublishedSettings, SQLiteUserTableFile): ...


class SQLiteWalUserTable(DeployedSettings, SQLiteUserTableFile): ...


def _affinity(kind: pa.DataType) -> str:
    if is_.is_floating(kind):
        return "real"
    if is_.is_string(kind):
        return "text"
    return "blob" if is_.is_binary(kind) else "integer"
