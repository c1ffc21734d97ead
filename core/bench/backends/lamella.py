"""Lamella's own store, through nothing but its public surface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pyarrow as pa

from core import Store, col
from core.bench.backends.base import Backend, Rows
from core.bench.checksum import Integers

BLOCK_ROWS = 10_000


class Lamella(Backend):
    id = "lamella"

    @classmethod
    def version(cls) -> str:
        try:
            return version("lamella")
        except PackageNotFoundError:
            return "from source"

    @classmethod
    def describe(cls) -> str:
        return "as installed: every commit is durable (files synced, catalog in WAL with synchronous=FULL)"

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + (self.workload.key is not None)

    def open(self, writing: bool) -> None:
        self._store = Store.open(self.folder)

    def close(self) -> None:
        self._store.close()

    def create(self, prepared: Rows) -> None:
        self._store.create_table("benchmark", prepared)

    def read(self) -> pa.Table:
        return self._store["benchmark"].read()

    def query(self) -> pa.Table:
        return self._store["benchmark"].read(where=(col("col1") > 100) & (col("col97") < 1000))

    def update(self, prepared: Rows) -> None:
        self._store["benchmark"].update(prepared, on=self.workload.key or "_id")

    def prepare_update_by_row_id(self, rows: Rows) -> Rows:
        ids = self._store["benchmark"].read(columns=["_id"])["_id"].to_pylist()
        key = self.workload.key
        return [
            {"_id": row_id} | {name: value for name, value in row.items() if name != key}
            for row_id, row in zip(ids, rows, strict=True)
        ]

    def update_by_row_id(self, prepared: Rows) -> None:
        self._store["benchmark"].update(prepared)

    def blocks(self, answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Integers]]:
        for batch in answer.select(list(names)).to_batches(max_chunksize=BLOCK_ROWS):
            yield [np.asarray(column.to_numpy(zero_copy_only=False), np.int64) for column in batch.columns]
