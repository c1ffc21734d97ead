"""Python's pickle: one list of all rows, as tuples or as objects."""

from __future__ import annotations

import pickle
import platform
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lamella.core.bench.backends.base import Rows
from lamella.core.bench.backends.python_rows import Record, Tuples, object_blocks, tuple_blocks, tuples_of
from lamella.core.bench.backends.whole_files import WholeFile, cannot
from lamella.core.bench.data import dicts, tuples
from lamella.core.bench.workloads import Columns, Values


class PickleFile(WholeFile):
    cannot: ClassVar[Mapping[str, str]] = cannot("A pickle")
    file_name = "benchmark.pickle"
    about: ClassVar[str]

    @classmethod
    def version(cls) -> str:
        return f"Python {platform.python_version()}"

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

    def fill(self, made: Iterable[Columns]) -> None:
        self.create([row for block in made for row in tuples(block)])

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

    def fill(self, made: Iterable[Columns]) -> None:
        self.create([Record(row) for block in made for row in dicts(block)])

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
