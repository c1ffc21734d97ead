"""The trips in Lamella's own store."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from core import Store
from core.bench.backends.lamella import LamellaStore
from core.bench.taxi.backend import TaxiBackend
from core.bench.taxi.queries import DUCKDB
from core.datasets import open_dataset
from core.datasets.text.dataset import TextDataset
from core.datasets.text.reading import TypesWidened
from core.jobs import Job
from core.store.table import Table
from core.transfer.importing import import_file

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
