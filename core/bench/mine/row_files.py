"""Somebody's own table as a file that Python's own modules read whole: CSV, JSON lines, pickle."""

from __future__ import annotations

import csv
import json
import pickle
import platform
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.mine.asking import Subject, compiled
from lamella.core.bench.mine.backend import MineFile
from lamella.core.bench.mine.plain_rows import rows_of, table_of
from lamella.core.bench.mine.rows_asking import RowOperand

NULL = "\\N"


class RowFile(MineFile):
    """Its rows are tuples or dicts of plain values; a change reads them all and writes them all."""

    @classmethod
    def version(cls) -> str:
        return platform.python_version()

    @property
    def names(self) -> list[str]:
        names: list[str] = self.copied.schema.names
        return names

    @abstractmethod
    def rows(self) -> Iterable[Any]:
        """Of the file."""

    @abstractmethod
    def write(self, rows: Iterable[Any], file: Path) -> None: ...

    @abstractmethod
    def made(self, values: Sequence[Any]) -> Any:
        """A row as this file has it."""

    def key(self, column: str) -> Any:
        """What takes a column's value out of a row."""
        return self.names.index(column)

    def load(self, rows: int) -> None:
        self.write(map(self.made, rows_of(self.copied, rows)), self.file)

    def read(self) -> list[Any]:
        return list(self.rows())

    def filter(self) -> list[Any]:
        return list(filter(self.condition(), self.rows()))

    def update(self) -> None:
        change, met = self.copied.change, self.condition()
        assert change is not None
        key, add, text = self.key(change.column), change.add, change.text

        def changed(row: Any) -> Any:
            if not met(row):
                return row
            cells = row.copy() if isinstance(row, dict) else list(row)
            cells[key] = text if not add else None if cells[key] is None else cells[key] + add
            return cells

        self.write(map(changed, self.rows()), self.new_file)
        self.new_file.replace(self.file)

    def as_table(self, answer: list[Any]) -> pa.Table:
        return table_of(answer, self.copied.schema)

    def condition(self) -> Callable[[Any], bool]:
        if self.copied.where is None:
            return lambda row: True

        def operand(subject: Subject) -> RowOperand:
            return RowOperand(subject, itemgetter(self.key(subject.place.column)))

        return compiled(self.copied.where, operand, RowOperand.logic, self.copied.nan)


class Csv(RowFile):
    """A null is written as `\\N`; a text that begins with a backslash gets another."""

    id, suffix = "csv", ".csv"

    @classmethod
    def describe(cls) -> str:
        return (
            "Python's csv module, values made again by their column's type; a change writes the file anew; "
            "not durable (no sync)"
        )

    def made(self, values: Sequence[Any]) -> Sequence[Any]:
        return values

    def rows(self) -> Iterator[Sequence[Any]]:
        readers = [_reader(field.type) for field in self.copied.schema]
        with self.file.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                yield [None if text == NULL else read(text) for read, text in zip(readers, row, strict=True)]

    def write(self, rows: Iterable[Sequence[Any]], file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([_field(value) for value in row] for row in rows)


class JsonLines(RowFile):
    id, suffix = "jsonl", ".jsonl"

    @classmethod
    def describe(cls) -> str:
        return "Python's json module, an object a line; a change writes the file anew; not durable (no sync)"

    def key(self, column: str) -> str:
        return column

    def made(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.names, values, strict=True))

    def rows(self) -> Iterator[dict[str, Any]]:
        with self.file.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def write(self, rows: Iterable[dict[str, Any]], file: Path) -> None:
        with file.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)

    def as_table(self, answer: list[dict[str, Any]]) -> pa.Table:
        return table_of(
            map(itemgetter(*self.names) if len(self.names) > 1 else _only, answer), self.copied.schema
        )


class Pickle(RowFile):
    id, suffix = "pickle", ".pickle"

    @classmethod
    def describe(cls) -> str:
        return (
            "a list of tuples through Python's pickle; a change writes the file anew; not durable (no sync)"
        )

    def made(self, values: Sequence[Any]) -> Sequence[Any]:
        return values

    def rows(self) -> list[Sequence[Any]]:
        with self.file.open("rb") as file:
            rows: list[Sequence[Any]] = pickle.load(file)
        return rows

    def write(self, rows: Iterable[Sequence[Any]], file: Path) -> None:
        with file.open("wb") as out:
            pickle.dump(list(rows), out, pickle.HIGHEST_PROTOCOL)


def _only(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.values())


def _field(value: Any) -> Any:
    if value is None:
        return NULL
    return "\\" + value if isinstance(value, str) and value.startswith("\\") else value


def _reader(kind: pa.DataType) -> Callable[[str], Any]:
    if is_.is_boolean(kind):
        return "True".__eq__
    if is_.is_floating(kind):
        return float
    if is_.is_decimal(kind):
        return Decimal
    return _text if is_.is_string(kind) else int


def _text(text: str) -> str:
    return text[1:] if text.startswith("\\") else text
