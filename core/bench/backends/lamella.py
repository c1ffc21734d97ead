"""Lamella's own store, through nothing but its public surface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.bench.backends.arrow import batches, columns_of
from lamella.core.bench.backends.base import Backend, Row, Rows, TableBackend
from lamella.core.bench.data import Numbers
from lamella.core.bench.workloads import Columns, Values
from lamella.core.filters import col
from lamella.core.query import orders
from lamella.core.scan import caches
from lamella.core.store.store import Store

NAME = "benchmark"


class LamellaStore(Backend):
    """What its backends share: one table in one store."""

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

    def open(self, writing: bool) -> None:
        self._store = Store.open(self.folder)

    def close(self) -> None:
        """What the process keeps of closed stores goes too: what is opened anew finds nothing in memory, as
        with systems whose memory goes with their connection."""
        self._store.close()
        forget()

    def vacuum(self) -> bool:
        """Everything but the newest version goes, undo with it."""
        table = self._store[NAME]
        table.compact()
        table.expire(keep_versions=1)
        self._store.vacuum()
        return True

    def ids_at(self, numbers: Numbers) -> list[int]:
        """Rows come in the order of their ids."""
        ids = self._store[NAME].read(columns=["_id"])["_id"].combine_chunks()
        found: list[int] = np.asarray(ids)[numbers].tolist()
        return found


def forget() -> None:
    """What was decoded and sorted."""
    caches.limit(0)
    caches.limit(caches.DEFAULT_CACHE_BYTES)
    orders.forget()


class Lamella(LamellaStore, TableBackend):
    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + (self.workload.key is not None)

    def create(self, prepared: Rows) -> None:
        self._store.create_table(NAME, prepared)

    def fill(self, made: Iterable[Columns]) -> None:
        self._store.create_table(NAME, batches(made))

    def read(self) -> pa.Table:
        return self._store[NAME].read()

    def query(self) -> pa.Table:
        return self._store[NAME].read(where=(col("col1") > 100) & (col("col97") < 1000))

    def index(self, column: str) -> bool:
        """Rows to be updated are found by a key without one."""
        if self.workload.key is not None:
            return False
        self._store[NAME].create_index(column)
        return True

    def find(self) -> pa.Table:
        return self._store[NAME].read(columns=["col0"], where=col("col0") == -1)

    def row_ids(self, numbers: Numbers) -> list[int]:
        return self.ids_at(numbers)

    def get(self, row_id: int) -> dict[str, Any] | None:
        return self._store[NAME].get(row_id)

    def as_row(self, answer: dict[str, Any]) -> Row:
        return answer

    def update(self, prepared: Rows) -> None:
        self._store[NAME].update(prepared, on=self.workload.key or "_id")

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{"_id": row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        self._store[NAME].update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._store[NAME].delete(ids=row_ids)

    def blocks(self, answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return columns_of(answer, names)
