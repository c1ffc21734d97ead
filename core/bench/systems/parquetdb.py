"""ParquetDB, used as in its documentation and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import chdir
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.bench.systems.base import Rows, System
from lamella.core.bench.systems.pyarrow import answer_trips, trip_options
from lamella.core.bench.systems.rows import ArrowTable, to_batches
from lamella.core.bench.workloads.model import Columns, Workload
from lamella.core.bench.workloads.taxi import TRIP_SCHEMA, TaxiSystem


class ParquetDBFolder(System):
    """The base of ParquetDB's systems: one data set in one folder."""

    id = "parquetdb"
    description = (
        "as installed (row groups of 50,000–100,000, files of up to 10M rows): not durable (no sync), "
        "every change rewrites the data set"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        os.environ["XDG_CONFIG_HOME"] = str(folder.parent)
        with chdir(
            folder.parent
        ):  # its import leaves a file of settings and a log, and both go with the benchmark
            self._class = import_module("parquetdb").ParquetDB

    @classmethod
    def version(cls) -> str:
        return version("parquetdb")

    def open(self, writing: bool) -> None:
        self._db: Any = self._class(str(self.folder / "BenchmarkDB"))

    def close(self) -> None:
        """Nothing is open."""


class ParquetDB(ParquetDBFolder, ArrowTable):
    """ParquetDB's own `id`, which counts from 0, is also the key: it allows no other column of that name."""

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + 1

    def prepare(self, rows: Rows) -> Rows:
        key = self.workload.key
        return [{name: value for name, value in row.items() if name != key} for row in rows] if key else rows

    def create(self, prepared: Rows) -> None:
        self._db.create(prepared)

    def fill(self, blocks: Iterable[Columns]) -> None:
        table = to_batches(blocks).read_all()
        self._db.create(table.drop_columns(["id"]) if "id" in table.column_names else table)

    def read(self) -> pa.Table:
        return self._db.read()

    def query(self) -> pa.Table:
        return self._db.read(filters=[pc.field("col1") > 100, pc.field("col97") < 1000])

    def find(self) -> pa.Table:
        return self._db.read(columns=["col0"], filters=[pc.field("col0") == -1])

    def get(self, row_id: int) -> pa.Table:
        return self._db.read(ids=[row_id])

    def update(self, prepared: Rows) -> None:
        self._db.update(prepared)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{"id": row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        self._db.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._db.delete(ids=list(row_ids))


class ParquetDBTaxi(ParquetDBFolder, TaxiSystem):
    """ParquetDB has no grouping, and takes one file at a time. PyArrow reads the file here, so that the types
    are the given ones."""

    columns = len(TRIP_SCHEMA) + 1

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        trip_options()  # imports the CSV reader: must not be timed

    def fill(self, rows: int) -> None:
        from pyarrow import csv

        self.open(writing=True)
        for file in self.files(rows):
            self._db.create(csv.read_csv(file, convert_options=trip_options()))
        self.close()

    def ask(self, query: str) -> pa.Table:
        def read(names: list[str]) -> Any:
            return self._db.read(columns=names)

        return answer_trips(query, read)

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        trips: pa.Table = self._db.read(columns=TRIP_SCHEMA.names, filters=[pc.field("trip_id").isin(ids)])
        return trips.select(TRIP_SCHEMA.names)
