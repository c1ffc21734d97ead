"""The user's own table as a file that Python's own modules read as a whole: CSV, JSON lines, pickle."""

from __future__ import annotations

import csv
import json
import math
import pickle
import platform
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.workloads import conditions
from lamella.core.bench.workloads.user_table import UserTableFile, rows_of, table_of
from lamella.core.filters.kinds import Kind
from lamella.core.filters.predicate_values import as_regex

RowTest = Callable[[Any], bool]
Cell = Callable[[Any], Any]


class RowOperand(conditions.SystemOperand[RowTest]):
    """A column in conditions on rows; `cell` returns the column's value in a row. Tests never return null."""

    logic = conditions.Logic[RowTest](
        lambda left, right: lambda row: left(row) and right(row),
        lambda left, right: lambda row: left(row) or right(row),
        lambda matches: lambda row: not matches(row),
        lambda answer: lambda row: answer,
    )

    def __init__(self, subject: conditions.Subject, cell: Cell) -> None:
        super().__init__(subject)
        for name in subject.place.path:
            cell = _inside(cell, name)
        self.raw = cell
        self.cell = (lambda row: _lower(cell(row))) if subject.ignore_case else cell

    def operand(self, exact: Any) -> Any:
        if self.kind is Kind.TEXT:
            return exact.lower() if self.subject.ignore_case else exact
        return conditions.scalar(exact, self.type).as_py() if self.kind is Kind.DECIMAL else exact

    def test(self, how: str, value: Any) -> RowTest:
        compare = conditions.COMPARISONS[how]
        return self._test_of(lambda cell: compare(cell, value))

    def test_pair(self, how: str, pair: Any) -> RowTest:
        cell_of, compare = self.cell, conditions.COMPARISONS[how]

        def passes(row: Any) -> bool:
            left, right = cell_of(row), pair.cell(row)
            return left is not None and right is not None and bool(compare(left, right))

        return passes

    def among(self, values: Sequence[Any]) -> RowTest:
        members = frozenset(values)
        return self._test_of(lambda cell: cell in members)

    def is_nan(self) -> RowTest:
        return self._test_of(math.isnan)

    def is_null(self) -> RowTest:
        raw = self.raw
        return lambda row: raw(row) is None

    def contains(self, text: str) -> RowTest:
        value = self.operand(text)
        return self._test_of(lambda cell: value in cell)

    def starts_with(self, text: str) -> RowTest:
        value = self.operand(text)
        return self._test_of(lambda cell: cell.startswith(value))

    def ends_with(self, text: str) -> RowTest:
        value = self.operand(text)
        return self._test_of(lambda cell: cell.endswith(value))

    def like(self, pattern: str) -> RowTest:
        inside = as_regex(self.operand(pattern)).removeprefix(r"(?s)\A").removesuffix(r"\z")
        return self._test_of(re.compile(inside, re.DOTALL).fullmatch)

    def regex(self, pattern: str) -> RowTest:
        regex = re.compile(pattern, re.IGNORECASE if self.subject.ignore_case else 0).search
        raw = self.raw
        return lambda row: raw(row) is not None and regex(raw(row)) is not None

    def has_remainder(self, divisor: int, remainder: int) -> RowTest:
        if self.kind is Kind.FLOAT:
            return self._test_of(lambda cell: math.isfinite(cell) and math.fmod(cell, divisor) == remainder)
        sign = -1 if remainder < 0 else 1
        return self._test_of(
            lambda cell: (abs(cell) % divisor) * (-1 if cell < 0 else 1) == sign * abs(remainder)
        )

    def any_item(self, test: Callable[[Any], RowTest]) -> RowTest:
        matches = test(RowOperand(self.subject.items, lambda item: item))
        return self._test_of(lambda cell: any(map(matches, cell)))

    def has_size(self, size: int) -> RowTest:
        return self._test_of(lambda cell: len(cell) == size)

    def _test_of(self, test: Callable[[Any], Any]) -> RowTest:
        """Apply a test to cells that are not null."""
        take = self.cell

        def passes(row: Any) -> bool:
            cell = take(row)
            return cell is not None and bool(test(cell))

        return passes


def _inside(cell: Cell, name: str) -> Cell:
    def field(row: Any) -> Any:
        whole = cell(row)
        return None if whole is None else whole[name]

    return field


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


NULL = "\\N"


class RowFile(UserTableFile):
    """A file whose rows are tuples or dicts of plain values; a change reads and writes all of them."""

    @classmethod
    def version(cls) -> str:
        return platform.python_version()

    @property
    def names(self) -> list[str]:
        names: list[str] = self.table_copy.schema.names
        return names

    @abstractmethod
    def rows(self) -> Iterable[Any]:
        """Return the rows of the file."""

    @abstractmethod
    def write(self, rows: Iterable[Any], file: Path) -> None: ...

    @abstractmethod
    def to_row(self, values: Sequence[Any]) -> Any:
        """Convert values to a row of this file."""

    def key(self, column: str) -> Any:
        """Return the key of a column's value in a row."""
        return self.names.index(column)

    def load(self, rows: int) -> None:
        self.write(map(self.to_row, rows_of(self.table_copy, rows)), self.path)

    def read(self) -> list[Any]:
        return list(self.rows())

    def filter(self) -> list[Any]:
        return list(filter(self.condition(), self.rows()))

    def update(self) -> None:
        change, matches = self.table_copy.change, self.condition()
        assert change is not None
        key, add, text = self.key(change.column), change.add, change.text

        def changed_row(row: Any) -> Any:
            if not matches(row):
                return row
            cells = row.copy() if isinstance(row, dict) else list(row)
            cells[key] = text if not add else None if cells[key] is None else cells[key] + add
            return cells

        self.rewrite(lambda path: self.write(map(changed_row, self.rows()), path))

    def as_table(self, answer: list[Any]) -> pa.Table:
        return table_of(answer, self.table_copy.schema)

    def condition(self) -> Callable[[Any], bool]:
        if self.table_copy.where is None:
            return lambda row: True

        def operand(subject: conditions.Subject) -> RowOperand:
            return RowOperand(subject, itemgetter(self.key(subject.place.column)))

        return conditions.compile_condition(
            self.table_copy.where, operand, RowOperand.logic, self.table_copy.nan
        )


class CSVUserTable(RowFile):
    """A null is written as `\\N`; a text that begins with a backslash is preceded by another."""

    id, file_name = "csv", "mine.csv"
    description = (
        "Python's csv module, values converted by their column's type; a change rewrites the file; "
        "not durable (no sync)"
    )

    def to_row(self, values: Sequence[Any]) -> Sequence[Any]:
        return values

    def rows(self) -> Iterator[Sequence[Any]]:
        readers = [_reader(field.type) for field in self.table_copy.schema]
        with self.path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                yield [
                    None if text == NULL else parse(text) for parse, text in zip(readers, row, strict=True)
                ]

    def write(self, rows: Iterable[Sequence[Any]], file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([_field(value) for value in row] for row in rows)


class JSONLinesUserTable(RowFile):
    id, file_name = "jsonl", "mine.jsonl"
    description = "Python's json module, one object a line; a change rewrites the file; not durable (no sync)"

    def key(self, column: str) -> str:
        return column

    def to_row(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.names, values, strict=True))

    def rows(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def write(self, rows: Iterable[dict[str, Any]], file: Path) -> None:
        with file.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)

    def as_table(self, answer: list[dict[str, Any]]) -> pa.Table:
        return table_of(
            map(itemgetter(*self.names) if len(self.names) > 1 else _only, answer), self.table_copy.schema
        )


class PickleUserTable(RowFile):
    id, file_name = "pickle", "mine.pickle"
    description = (
        "a list of tuples through Python's pickle; a change rewrites the file; not durable (no sync)"
    )

    def to_row(self, values: Sequence[Any]) -> Sequence[Any]:
        return values

    def rows(self) -> list[Sequence[Any]]:
        with self.path.open("rb") as file:
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
