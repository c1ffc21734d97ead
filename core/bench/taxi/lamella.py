"""The trips in Lamella's own store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from lamella.core.bench.backends.lamella import LamellaStore
from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.queries import DUCKDB
from lamella.core.datasets import open_dataset
from lamella.core.datasets.text.dataset import TextDataset
from lamella.core.datasets.text.reading import TypesWidened
from lamella.core.filters import col
from lamella.core.jobs import Job
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.transfer.importing import import_file

TRIPS = "trips"


class LamellaTaxi(LamellaStore, TaxiBackend):
    def fill(self, rows: int) -> None:
        """The first file becomes the table, which finds out its types; the others are added to it."""
        with Store.open(self.folder) as store:
            first, *others = self.files(rows)
            table = import_file(first, store, TRIPS)
            for file in others:
                _insert(file, table)

    def ask(self, query: str) -> pa.Table:
        return self._store.sql(DUCKDB[query])

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        found = self._store[TRIPS].read(SCHEMA.names, where=col("trip_id").is_in(list(ids)))
        return pa.table([_as_written(found[field.name], field.type) for field in SCHEMA], SCHEMA)


def _as_written(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """Texts that look like numbers are imported as numbers: the labels of tracts, which have two decimals."""
    if pa.types.is_string(kind) and pa.types.is_floating(column.type):
        return pa.array([None if label is None else f"{label:.2f}" for label in column.to_pylist()])
    return column.cast(kind)


def _insert(file: Path, table: Table) -> None:
    """All rows of a text file, read straight from it."""
    dataset = open_dataset(file)
    assert isinstance(dataset, TextDataset)
    while True:
        rows = dataset.rows_once(Job(), lambda rows, done: None)
        try:
            table.insert(pa.RecordBatchReader.from_batches(dataset.reading_schema, rows))
        except TypesWidened:  # by values far in the file: it is read again
            continue
        return
