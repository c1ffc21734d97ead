"""SQLite through apsw: over Parquet files as virtual tables, and over a table of its own.

The library, the statements and the rows are the same.
"""

from __future__ import annotations

import shutil
from abc import abstractmethod
from functools import partial
from typing import Any

import apsw

from lamella.core.bench.bridge_queries.data import COLUMNS, GROUP, as_sums, statements, write_files, zones
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bridge import connect


class SQLiteQueries(QuestionBackend):
    _connection: apsw.Connection

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} in apsw {apsw.apsw_version()}"

    @property
    def columns(self) -> int:
        return COLUMNS

    @abstractmethod
    def open(self, writing: bool) -> None: ...

    def close(self) -> None:
        self._connection.close()

    def questions(self) -> Questions:
        rows: Any = self._ask("SELECT count(*) FROM trips")[0][0]
        return {
            name: Question(partial(self._ask, text), told=as_sums if name == GROUP else None)
            for name, text in statements(rows, rowid="rowid")
        }

    def _ask(self, statement: str) -> list[Any]:
        return self._connection.execute(statement).fetchall()


class OverParquet(SQLiteQueries):
    id = "sqlite-parquet"

    @classmethod
    def describe(cls) -> str:
        return "virtual tables over two Parquet files of five row groups each, read-only; as durable as they"

    def fill(self, rows: int) -> None:
        write_files(self.folder / "trips", rows)

    def open(self, writing: bool) -> None:
        """The few zones are a table in memory."""
        self._connection = connect(self.folder / "trips")
        _add_zones(self._connection)


class OwnTable(SQLiteQueries):
    id = "sqlite"

    @classmethod
    def describe(cls) -> str:
        return "a table of its own in a file, no index, everything as it comes: every commit durable"

    def fill(self, rows: int) -> None:
        """Copied from such files, so that its rows are the very same."""
        write_files(self.folder / "trips", rows)
        given = connect(self.folder / "trips")
        given.execute("ATTACH ? AS own", [self._file])
        declared = ", ".join(
            f"{name} {kind}" for _, name, kind, *_ in given.execute("PRAGMA table_info(trips)")
        )
        given.execute(f"CREATE TABLE own.trips ({declared}); INSERT INTO own.trips SELECT * FROM temp.trips")
        given.close()
        shutil.rmtree(self.folder / "trips")
        self.open(writing=True)
        _add_zones(self._connection)
        self.close()

    def open(self, writing: bool) -> None:
        self._connection = apsw.Connection(self._file)

    @property
    def _file(self) -> str:
        return str(self.folder / "benchmark.sqlite")


def _add_zones(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE zones (zone TEXT, borough TEXT)")
    connection.executemany("INSERT INTO zones VALUES (?, ?)", zones())
