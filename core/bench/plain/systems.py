"""The systems that need only the standard library, set up like those of the same name in
`core.bench.registry`."""

from __future__ import annotations

import os
import pickle
import sqlite3
import sys
from abc import ABC, abstractmethod
from dataclasses import make_dataclass
from itertools import starmap
from operator import attrgetter
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from .rows import Row

Tuples = List[Tuple[float, ...]]

PRAGMAS = ("PRAGMA synchronous = OFF", "PRAGMA journal_mode = MEMORY")


class System(ABC):
    """One database in an existing folder. `extra_columns` counts those that the system itself adds."""

    extra_columns = 0

    def __init__(self, folder: str, columns: List[str]) -> None:
        self.folder, self.columns = folder, columns

    @abstractmethod
    def open(self, writing: bool) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def prepare(self, rows: List[Row]) -> Any:
        """Convert dicts as a user must before the system accepts them."""
        return [tuple(row.values()) for row in rows]

    @abstractmethod
    def create(self, prepared: Any) -> None: ...

    @abstractmethod
    def read(self) -> Any:
        """All rows, as a user of this system gets them."""

    def as_rows(self, answer: Any) -> Iterable[Sequence[float]]:
        """The values of the rows that were read, for the check."""
        rows: Iterable[Sequence[float]] = answer
        return rows


class SQLite(System):
    def open(self, writing: bool) -> None:
        self._connection = sqlite3.connect(os.path.join(self.folder, "benchmark.sqlite"))
        for pragma in PRAGMAS if writing else ():
            self._connection.execute(pragma)

    def close(self) -> None:
        self._connection.close()

    def create(self, prepared: Tuples) -> None:
        columns = ", ".join(name + " REAL" for name in self.columns)
        holders = ", ".join("?" for _ in self.columns)
        self._connection.execute("CREATE TABLE benchmark (%s)" % columns)
        self._connection.executemany("INSERT INTO benchmark VALUES (%s)" % holders, prepared)
        self._connection.commit()

    def read(self) -> Any:
        return self._connection.execute("SELECT * FROM benchmark").fetchall()


class SQLiteObjects(SQLite):
    """Rows as dataclass objects, with slots since Python 3.10, the first to support them."""

    def __init__(self, folder: str, columns: List[str]) -> None:
        super().__init__(folder, columns)
        options: Dict[str, Any] = {"slots": True} if sys.version_info >= (3, 10) else {}
        self._record: Any = make_dataclass("Record", columns, **options)

    def read(self) -> List[Any]:
        return list(starmap(self._record, self._connection.execute("SELECT * FROM benchmark")))

    def as_rows(self, answer: List[Any]) -> Iterable[Sequence[float]]:
        return map(attrgetter(*self.columns), answer)


class File(System):
    """One file, opened and closed by each call."""

    name: str

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)

    def open(self, writing: bool) -> None:
        """Do nothing: there is nothing to open."""

    def close(self) -> None:
        """Do nothing: each call closes the file."""


class CSV(File):
    name = "benchmark.csv"

    def create(self, prepared: Tuples) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(",".join(self.columns) + "\n")
            file.writelines(",".join(map(str, row)) + "\n" for row in prepared)

    def read(self) -> Tuples:
        with open(self.path, encoding="utf-8") as file:
            next(file)
            return [tuple(map(float, line.split(","))) for line in file]


class Pickle(File):
    name = "benchmark.pickle"

    def create(self, prepared: Any) -> None:
        with open(self.path, "wb") as file:
            pickle.dump(prepared, file, protocol=pickle.HIGHEST_PROTOCOL)

    def read(self) -> Any:
        with open(self.path, "rb") as file:
            return pickle.load(file)


class Record:
    """A row as an object, with an attribute for each column."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


class PickleObjects(Pickle):
    def prepare(self, rows: List[Row]) -> List[Record]:
        return list(map(Record, rows))

    def as_rows(self, answer: List[Any]) -> Iterable[Sequence[float]]:
        return map(attrgetter(*self.columns), answer)


PLACES = {
    "sqlite": "systems:SQLite",
    "sqlite-obj": "systems:SQLiteObjects",
    "sqlalchemy-core": "sqlalchemies:Core",
    "sqlalchemy-orm": "sqlalchemies:ORM",
    "csv": "systems:CSV",
    "pickle": "systems:Pickle",
    "pickle-obj": "systems:PickleObjects",
}

_SQLITE = "synchronous=OFF, journal in memory: not durable; a crash in a commit can corrupt the file"
_PICKLE_NOTE = "dumped at once with pickle's highest protocol; not durable (no sync)"

DESCRIPTIONS = {
    "sqlite": _SQLITE,
    "sqlite-obj": f"as sqlite, each loaded row an object of a dataclass, one attribute a column; {_SQLITE}",
    "sqlalchemy-core": (
        f"one engine, executemany of insert, rows as named tuples, on the same SQLite: {_SQLITE}"
    ),
    "sqlalchemy-orm": (
        "a declarative class, bulk insert through a session, rows as mapped objects, on the same SQLite: "
        f"{_SQLITE}"
    ),
    "csv": (
        "lines written with str and join, read by a loop over the file, split, and float; not durable "
        "(no sync)"
    ),
    "pickle": f"one list of tuples, {_PICKLE_NOTE}",
    "pickle-obj": f"one list of objects with an attribute for each column, {_PICKLE_NOTE}",
}
