"""DuckDB with a database file of its own; rows go in and come out as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 -- what makes Arrow tables of rows imports it: not for the timers
import pyarrow as pa

from lamella.core.bench.backends.arrow import batches, columns_of
from lamella.core.bench.backends.base import Row, Rows, TableBackend
from lamella.core.bench.backends.duckdb_file import DuckDBFile
from lamella.core.bench.backends.python_rows import names_of
from lamella.core.bench.data import Numbers
from lamella.core.bench.workloads import Columns, Values, Workload

ROW_ID = "row_id"


class DuckDB(DuckDBFile, TableBackend):
    """Its own row ids change when rows are written anew, so a `row_id` counts them; where the workload has a
    key, that is it."""

    file_name = "data.duckdb"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._names = names_of(workload)
        self._key = workload.key or ROW_ID
        self._all = "*" if workload.key else f"* EXCLUDE ({ROW_ID})"

    @classmethod
    def describe(cls) -> str:
        return (
            "as installed: every commit is durable (write-ahead log, worked into the file when large and on "
            "closing); rows enter as a registered Arrow table, answers are Arrow tables; many whole rows "
            "are changed by DELETE and INSERT in one transaction, which is quicker there than UPDATE"
        )

    @property
    def columns(self) -> int:
        return len(self._names) + (self.workload.key is None)

    def create(self, prepared: Rows) -> None:
        self._create(pa.Table.from_pylist(prepared))

    def fill(self, made: Iterable[Columns]) -> None:
        self._create(batches(made))

    def read(self) -> pa.Table:
        return self._answer(f"SELECT {self._all} FROM benchmark")

    def query(self) -> pa.Table:
        return self._answer(f"SELECT {self._all} FROM benchmark WHERE col1 > 100 AND col97 < 1000")

    def find(self) -> pa.Table:
        return self._answer("SELECT col0 FROM benchmark WHERE col0 = -1")

    def row_ids(self, numbers: Numbers) -> list[int]:
        ordered = f"SELECT {self._key} FROM benchmark ORDER BY {self._key}"
        found: list[int] = self._connection.execute(ordered).fetchnumpy()[self._key][numbers].tolist()
        return found

    def get(self, row_id: int) -> tuple[Any, ...]:
        asked = f"SELECT {self._all} FROM benchmark WHERE {self._key} = ?"
        found = self._connection.execute(asked, [row_id]).fetchone()
        assert found is not None
        return found

    def as_row(self, answer: tuple[Any, ...]) -> Row:
        return dict(zip(self._names, answer, strict=True))

    def index(self, column: str) -> bool:
        """Its indexes serve the search for single values; updates by a key are joins, which use none."""
        if self.workload.key is not None:
            return False
        self._connection.execute(f"CREATE INDEX benchmark_{column} ON benchmark ({column})")
        return True

    def update(self, prepared: Rows) -> None:
        if len(prepared[0]) == self.columns:
            self._replace(prepared)
        else:
            self._update(prepared)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{self._key: row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        if len(prepared) == 1:
            self._update_one(prepared[0])
        else:
            self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._connection.execute(
            f"DELETE FROM benchmark WHERE {self._key} IN (SELECT unnest(?::BIGINT[]))", [list(row_ids)]
        )

    def vacuum(self) -> bool:
        """Its documentation: a VACUUM gives back nothing, a copy of the database does."""
        fresh = self.path.with_name("fresh.duckdb")
        self._connection.execute(f"ATTACH '{fresh}' AS fresh")
        self._connection.execute("COPY FROM DATABASE data TO fresh")
        self._connection.execute("DETACH fresh")
        self.close()
        fresh.replace(self.path)
        self.open(writing=True)
        return True

    def blocks(self, answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return columns_of(answer, names)

    def _create(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        counted = "" if self.workload.key else f"row_number() OVER () - 1 AS {ROW_ID}, "
        self._connection.register("made", rows)
        self._connection.execute(f"CREATE TABLE benchmark AS SELECT {counted}* FROM made")
        self._connection.unregister("made")

    def _answer(self, statement: str) -> pa.Table:
        return self._connection.sql(statement).to_arrow_table()

    def _replace(self, changes: Rows) -> None:
        """Whole rows, all at once."""
        self._connection.register("changed", pa.Table.from_pylist(changes))
        self._connection.begin()
        self._connection.execute(
            f"DELETE FROM benchmark WHERE {self._key} IN (SELECT {self._key} FROM changed)"
        )
        self._connection.execute("INSERT INTO benchmark BY NAME SELECT * FROM changed")
        self._connection.commit()
        self._connection.unregister("changed")

    def _update(self, changes: Rows) -> None:
        """Some columns of rows."""
        key = self._key
        settings = ", ".join(f"{name} = changed.{name}" for name in changes[0] if name != key)
        # rows in any other order than the table's take it thirty times as long
        self._connection.register("changed", pa.Table.from_pylist(changes).sort_by(key))
        self._connection.execute(
            f"UPDATE benchmark SET {settings} FROM changed WHERE benchmark.{key} = changed.{key}"
        )
        self._connection.unregister("changed")

    def _update_one(self, change: Row) -> None:
        values = {name: value for name, value in change.items() if name != self._key}
        settings = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(
            f"UPDATE benchmark SET {settings} WHERE {self._key} = ?", [*values.values(), change[self._key]]
        )
