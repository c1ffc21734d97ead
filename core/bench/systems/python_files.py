"""Files that Python and NumPy read and write as a whole: CSV, JSON lines, pickle."""

from __future__ import annotations

import json
import pickle
import platform
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TextIO

import numpy as np

from lamella.core.bench.systems import rows
from lamella.core.bench.systems.base import Rows
from lamella.core.bench.systems.rows import (
    Record,
    Table,
    Tuples,
    WholeFile,
    blocks_to_arrays,
    dict_blocks,
    object_blocks,
    places_of,
    query_mask,
    rows_to_array,
    tuple_blocks,
    tuples_of,
    whole_file_limits,
)
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row, dicts, tuples


class PythonFile(WholeFile):
    """A file read and written with the standard library only."""

    @classmethod
    def version(cls) -> str:
        return f"Python {platform.python_version()}"


class CSV(PythonFile):
    id = "csv"
    cannot: ClassVar[Mapping[str, str]] = whole_file_limits("A CSV file")
    file_name = "benchmark.csv"
    description = (
        "lines written with str and join, read by a loop over the file, split, and int or float; every "
        "question reads the whole file, an update writes a new one; not durable (no sync)"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._kinds = [float if workload.dtype_of(name).kind == "f" else int for name in self.names]
        self._number = self._kinds[-1]

    def prepare(self, rows: Rows) -> Tuples:
        return tuples_of(rows)

    def create(self, prepared: Iterable[tuple[Any, ...]]) -> None:
        with self.path.open("w", encoding="utf-8") as file:
            file.write(",".join(self.names) + "\n")
            file.writelines(map(_line, prepared))

    def fill(self, blocks: Iterable[Columns]) -> None:
        self.create(row for block in blocks for row in tuples(block))

    def read(self) -> Tuples:
        with self._lines() as lines:
            return self._rows(lines)

    def query(self) -> Tuples:
        number, first, second = self._number, self.names.index("col1"), self.names.index("col97")
        with self._lines() as lines:
            hits = []
            for line in lines:
                fields = line.split(",")
                if number(fields[first]) > 100 and number(fields[second]) < 1000:
                    hits.append(line)
            return self._rows(hits)

    def find(self) -> Tuples:
        number, place = self._number, self.names.index("col0")
        with self._lines() as lines:
            values = (number(line.split(",", place + 1)[place]) for line in lines)
            return [(value,) for value in values if value == -1]

    def prepare_update(self, rows: Rows) -> dict[int, str]:
        key = self.names[0]
        return {int(row[key]): _line(tuple(row.values())) for row in rows}

    def update(self, prepared: dict[int, str]) -> None:
        """Copy the lines of other keys unchanged."""

        def write(path: Path) -> None:
            with self.path.open(encoding="utf-8") as old, path.open("w", encoding="utf-8") as new:
                new.write(next(old))
                new.writelines(prepared.get(int(line.split(",", 1)[0]), line) for line in old)

        self.rewrite(write)

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self.names, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        with self._lines() as lines:
            while rows := self._rows(islice(lines, BLOCK_ROWS)):
                yield from self.blocks(rows, names)

    def _lines(self) -> TextIO:
        """Open the file at the first row, after the line of names."""
        file = self.path.open(encoding="utf-8")
        next(file)
        return file

    def _rows(self, lines: Iterable[str]) -> Tuples:
        kinds, number = self._kinds, self._number
        if len(set(kinds)) == 1:
            return [tuple(map(number, line.split(","))) for line in lines]
        return [
            tuple(kind(text) for kind, text in zip(kinds, line.split(","), strict=True)) for line in lines
        ]


def _line(row: tuple[Any, ...]) -> str:
    return ",".join(map(str, row)) + "\n"


class CSVNumPy(WholeFile):
    id = "csv-numpy"
    cannot: ClassVar[Mapping[str, str]] = whole_file_limits("A CSV file")
    file_name = "benchmark.csv"
    description = (
        "savetxt (integers as %d, floats in its own format of 19 digits) and loadtxt; every question "
        "loads the columns it needs and filters the array, an update writes a new file; not durable "
        "(no sync)"
    )

    @classmethod
    def version(cls) -> str:
        return f"NumPy {np.__version__}"

    def prepare(self, rows: Rows) -> Table:
        return rows_to_array(rows, self.workload)

    def create(self, prepared: Table) -> None:
        self._save(self.path, [prepared])

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._save(self.path, blocks_to_arrays(blocks, self.workload))

    def read(self) -> Table:
        return self._load()

    def query(self) -> Table:
        table = self._load()
        rows: Table = table[query_mask(table, self.names)]
        return rows

    def find(self) -> Table:
        column = self._load([self.names.index("col0")])
        rows: Table = column[column[:, 0] == -1]
        return rows

    def prepare_update(self, rows: Rows) -> Table:
        return rows_to_array(rows, self.workload)

    def update(self, prepared: Table) -> None:
        table = self._load()
        table[places_of(table[:, 0], prepared[:, 0])] = prepared
        self.rewrite(lambda path: self._save(path, [table]))

    def blocks(self, answer: Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        columns = self.names if answer.shape[1] == self.columns else names
        return rows.array_blocks(answer, columns, names)

    def _save(self, path: Path, tables: Iterable[Table]) -> None:
        header = ",".join(self.names)
        with path.open("w", encoding="utf-8") as file:
            for table in tables:
                np.savetxt(file, table, fmt=self._formats, delimiter=",", header=header)
                header = ""

    def _load(self, columns: Sequence[int] | None = None) -> Table:
        loaded: Table = np.loadtxt(
            self.path, dtype=self.workload.dtype, delimiter=",", ndmin=2, usecols=columns
        )
        return loaded

    @property
    def _formats(self) -> Any:
        return ["%.18e" if self.workload.dtype_of(name).kind == "f" else "%d" for name in self.names]


encode = json.JSONEncoder(separators=(",", ":")).encode


class JSONLines(PythonFile):
    id = "jsonl"
    cannot: ClassVar[Mapping[str, str]] = whole_file_limits("A file of JSON lines")
    file_name = "benchmark.jsonl"
    description = (
        "Python's json, one object a line without spaces; every question parses the whole file, an "
        "update writes a new one; not durable (no sync)"
    )

    def create(self, prepared: Iterable[Row]) -> None:
        _write(self.path, prepared)

    def fill(self, blocks: Iterable[Columns]) -> None:
        self.create(row for block in blocks for row in dicts(block))

    def read(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return list(map(json.loads, file))

    def query(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return [row for row in map(json.loads, file) if row["col1"] > 100 and row["col97"] < 1000]

    def find(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return [{"col0": row["col0"]} for row in map(json.loads, file) if row["col0"] == -1]

    def prepare_update(self, rows: Rows) -> dict[Any, Row]:
        return {row[self.names[0]]: row for row in rows}

    def update(self, prepared: dict[Any, Row]) -> None:
        key = self.names[0]

        def write(path: Path) -> None:
            with self.path.open(encoding="utf-8") as old:
                _write(path, (prepared.get(row[key], row) for row in map(json.loads, old)))

        self.rewrite(write)

    def blocks(self, answer: Rows, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return dict_blocks(answer, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        with self.path.open(encoding="utf-8") as file:
            while rows := list(map(json.loads, islice(file, BLOCK_ROWS))):
                yield from self.blocks(rows, names)


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(encode(row) + "\n" for row in rows)


class PickleFile(PythonFile):
    cannot: ClassVar[Mapping[str, str]] = whole_file_limits("A pickle")
    file_name = "benchmark.pickle"
    about: ClassVar[str]

    @classmethod
    def describe(cls) -> str:
        return (
            f"one list of {cls.about}, dumped at once with protocol {pickle.HIGHEST_PROTOCOL}; every "
            "question loads all of it and filters in Python, an update writes a new file; not durable "
            "(no sync)"
        )

    def create(self, prepared: Any) -> None:
        _dump(prepared, self.path)

    def read(self) -> Any:
        with self.path.open("rb") as file:
            return pickle.load(file)

    def prepare_update(self, rows: Rows) -> dict[Any, Any]:
        return dict(zip((row[self.names[0]] for row in rows), self.prepare(rows), strict=True))

    def update(self, prepared: dict[Any, Any]) -> None:
        rows = [prepared.get(self.key_of(row), row) for row in self.read()]
        self.rewrite(lambda path: _dump(rows, path))

    @abstractmethod
    def key_of(self, row: Any) -> int: ...


class Pickle(PickleFile):
    id = "pickle"
    about = "tuples"

    def prepare(self, rows: Rows) -> Tuples:
        return tuples_of(rows)

    def fill(self, blocks: Iterable[Columns]) -> None:
        self.create([row for block in blocks for row in tuples(block)])

    def query(self) -> Tuples:
        first, second = self.names.index("col1"), self.names.index("col97")
        return [row for row in self.read() if row[first] > 100 and row[second] < 1000]

    def find(self) -> Tuples:
        place = self.names.index("col0")
        return [(row[place],) for row in self.read() if row[place] == -1]

    def key_of(self, row: tuple[Any, ...]) -> int:
        key: int = row[0]
        return key

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self.names, names)


class PickleObjects(PickleFile):
    id = "pickle-obj"
    about = "objects with an attribute for each column"

    def prepare(self, rows: Rows) -> list[Record]:
        return list(map(Record, rows))

    def fill(self, blocks: Iterable[Columns]) -> None:
        self.create([Record(row) for block in blocks for row in dicts(block)])

    def query(self) -> list[Any]:
        return [row for row in self.read() if row.col1 > 100 and row.col97 < 1000]

    def find(self) -> list[Any]:
        return [row for row in self.read() if row.col0 == -1]

    def key_of(self, row: Record) -> int:
        key: int = getattr(row, self.names[0])
        return key

    def blocks(self, answer: list[Any], names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return object_blocks(answer, names)


def _dump(rows: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(rows, file, protocol=pickle.HIGHEST_PROTOCOL)
