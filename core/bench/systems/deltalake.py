"""Delta Lake through delta-rs: Parquet files with a log of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 -- converting rows to Arrow tables imports it: must not be timed
import pyarrow as pa
import pyarrow.dataset  # used for reading: must not be timed
from deltalake import DeltaTable, write_deltalake
from deltalake.table import TableMerger

from lamella.core.bench.systems.base import Rows
from lamella.core.bench.systems.pyarrow import from_rows, with_ids
from lamella.core.bench.systems.rows import ArrowTable, to_batches
from lamella.core.bench.workloads.model import Columns

SAME_ROW = "target.id = source.id"


class DeltaLake(ArrowTable):
    """It has no row ids, so a column `id` numbers the rows, unless it is the workload's key."""

    id = "deltalake"
    description = (
        "as installed (snappy): a change rewrites the files it touches, merge for many rows, update and "
        "delete for one, old files kept until a vacuum; commits are atomic, not durable (no sync)"
    )

    @classmethod
    def version(cls) -> str:
        return version("deltalake")

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + 1

    @property
    def path(self) -> Path:
        return self.folder / "benchmark"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._table = DeltaTable(self.path)

    def close(self) -> None:
        """Nothing is open."""

    def create(self, prepared: Rows) -> None:
        write_deltalake(self.path, from_rows(prepared))

    def fill(self, blocks: Iterable[Columns]) -> None:
        write_deltalake(self.path, with_ids(to_batches(blocks).read_all()))

    def read(self) -> pa.Table:
        return self._table.to_pyarrow_table()

    def query(self) -> pa.Table:
        return self._table.to_pyarrow_table(filters=[("col1", ">", 100), ("col97", "<", 1000)])

    def find(self) -> pa.Table:
        return self._table.to_pyarrow_table(columns=["col0"], filters=[("col0", "=", -1)])

    def get(self, row_id: int) -> pa.Table:
        return self._table.to_pyarrow_table(filters=[("id", "=", row_id)])

    def update(self, prepared: Rows) -> None:
        changes = {name: f"source.{name}" for name in prepared[0] if name != "id"}
        self._merger(pa.Table.from_pylist(prepared)).when_matched_update(changes).execute()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{"id": row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        if len(prepared) > 1:
            self.update(prepared)
            return
        (row,) = prepared
        values: dict[str, Any] = {name: value for name, value in row.items() if name != "id"}
        self._table.update(new_values=values, predicate=f"id = {row['id']}")

    def delete(self, row_ids: Sequence[int]) -> None:
        if len(row_ids) == 1:
            self._table.delete(f"id = {row_ids[0]}")
        else:
            self._merger(pa.table({"id": row_ids})).when_matched_delete().execute()

    def vacuum(self) -> bool:
        self._table.optimize.compact()
        self._table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        return True

    def _merger(self, changes: pa.Table) -> TableMerger:
        return self._table.merge(changes, SAME_ROW, source_alias="source", target_alias="target")
