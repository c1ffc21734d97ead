"""SQLite with every row that is loaded made a Python object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import make_dataclass
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import Any

from lamella.core.bench.backends.base import Row
from lamella.core.bench.backends.python_rows import object_blocks
from lamella.core.bench.backends.sqlite import AsPublished, SQLiteTable
from lamella.core.bench.workloads import Values, Workload

Objects = list[Any]


class SQLiteObjects(AsPublished, SQLiteTable):
    """Written as plain SQLite is: only what is loaded becomes objects."""

    id = "sqlite-obj"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._record = make_dataclass("Record", self._names, slots=True)
        self._found = make_dataclass("Found", ["col0"], slots=True)

    @classmethod
    def describe(cls) -> str:
        return (
            "as sqlite, each loaded row an object of a dataclass with slots, one attribute a column; "
            f"{super().describe()}"
        )

    def read(self) -> Objects:
        return self._objects("SELECT * FROM benchmark")

    def query(self) -> Objects:
        return self._objects("SELECT * FROM benchmark WHERE col1 > 100 AND col97 < 1000")

    def find(self) -> Objects:
        found = self._connection.execute("SELECT col0 FROM benchmark WHERE col0 = -1")
        return list(starmap(self._found, found))

    def get(self, row_id: int) -> Any:
        return self._record(*super().get(row_id))

    def as_row(self, answer: Any) -> Row:
        return dict(zip(self._names, attrgetter(*self._names)(answer), strict=True))

    def blocks(self, answer: Objects, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return object_blocks(answer, names)

    def _objects(self, statement: str) -> Objects:
        return list(starmap(self._record, self._connection.execute(statement)))
