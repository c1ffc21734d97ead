"""SQLite's own SQL over Parquet: the file is a virtual table, read through apsw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import apsw
import pandas  # noqa: F401 -- what makes Arrow tables of rows imports it: not for the timers
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.backends.pyarrow import CHANGES, ROWS_A_GROUP, ParquetFile, from_rows
from lamella.core.bench.backends.python_rows import Tuples, tuple_blocks
from lamella.core.bench.data import Numbers
from lamella.core.bench.workloads import Values, Workload
from lamella.core.bridge import connect


class SQLiteOverParquet(ParquetFile):
    id = "sqlite-parquet"
    cannot: ClassVar[Mapping[str, str]] = dict.fromkeys(
        CHANGES, "A virtual table over Parquet is read-only: its files are never changed in place"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._held = ["id", *workload.data_columns]

    @classmethod
    def version(cls) -> str:
        return f"{apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}"

    @classmethod
    def describe(cls) -> str:
        return (
            "PyArrow writes the file (dictionary, snappy, row groups of 100,000), SQLite reads it as a "
            "virtual table of a database in memory, answers as tuples; not durable (no sync)"
        )

    @property
    def path(self) -> Path:
        return self.folder / "benchmark.parquet"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = connect([self.path] if self.path.exists() else [])

    def close(self) -> None:
        self._connection.close()

    def create(self, prepared: Rows) -> None:
        pq.write_table(from_rows(prepared), self.path, row_group_size=ROWS_A_GROUP)

    def read(self) -> Tuples:
        return self._connection.execute("SELECT * FROM benchmark").fetchall()

    def query(self) -> Tuples:
        return self._connection.execute(
            "SELECT * FROM benchmark WHERE col1 > 100 AND col97 < 1000"
        ).fetchall()

    def find(self) -> Tuples:
        return self._connection.execute("SELECT col0 FROM benchmark WHERE col0 = -1").fetchall()

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = (numbers + 1).tolist()
        return found

    def get(self, row_id: int) -> tuple[Any, ...]:
        found: tuple[Any, ...]
        (found,) = self._connection.execute("SELECT * FROM benchmark WHERE rowid = ?", (row_id,))
        return found

    def as_row(self, answer: tuple[Any, ...]) -> Row:
        return dict(zip(self._held, answer, strict=True))

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self._held, names)

    def _writer(self, schema: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(self.path, schema)
