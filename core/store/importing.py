"""A file or an open dataset becomes a table of a store: whole, or not at all."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from lamella.core.arrow.types import ID
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, Ragged
from lamella.core.datasets.blocks import TypesWidened
from lamella.core.datasets.cached import CachedDataset
from lamella.core.jobs import Job, Unreported
from lamella.core.store.store import Store
from lamella.core.store.table import Table


class ImportProgress:
    """Counts what was read; the total is in the source's own unit, bytes or rows."""

    def __init__(self, job: Job, total: int) -> None:
        self._job, self._total = job, total
        self._started = time.perf_counter()

    def report(self, rows: int, done: int) -> None:
        """Raises `Cancelled` when the import should stop."""
        seconds = max(time.perf_counter() - self._started, 0.001)
        self._job.report(min(done, self._total), self._total, f"{rows:,} rows · {rows / seconds:,.0f} rows/s")


Batches = Generator[pa.RecordBatch, None, None]


def import_file(
    path: str | Path,
    store: Store,
    table_name: str | None = None,
    job: Job | None = None,
    *,
    ragged: Ragged = "refuse",
    text_columns: Sequence[str] = (),
    checksums: Checksums = "verify",
) -> Table:
    """The rows of a file, folder or glob as a new table, named after the file when no name is given.

    `ragged`, `text_columns` and `checksums` are those of `open_dataset`. A cancelled or failed import leaves
    nothing behind. Raises `FileProblem`, `StoreProblem`, `UnknownColumn`, `Cancelled`.
    """
    dataset = open_dataset(path, ragged=ragged, text_columns=text_columns, checksums=checksums)
    return import_dataset(dataset, store, table_name, job)


def import_dataset(dataset: Dataset, store: Store, name: str | None = None, job: Job | None = None) -> Table:
    """All rows of an open dataset as a new table; what is cached is read from its file."""
    name = name or free_name(dataset.name, store.tables)
    job = job or Job()
    if not isinstance(dataset, CachedDataset) or dataset.snapshot().complete:
        return _create(dataset.schema, _kept_rows(dataset, job), store, name, job)
    while True:
        progress = ImportProgress(job, dataset.file.size)
        rows = dataset.rows_once(job, progress.report)
        try:
            return _create(dataset.reading_schema, rows, store, name, job)
        except TypesWidened:  # values far in the file asked for wider types, which the dataset now knows
            continue


def free_name(wanted: str, names: list[str]) -> str:
    """`wanted`, with a number behind when a table of that name is there."""
    known = {name.casefold() for name in names}
    name, number = wanted, 1
    while name.casefold() in known:
        number += 1
        name = f"{wanted}_{number}"
    return name


def table_columns(names: list[str]) -> list[str]:
    """What the columns are called in a table, where `_id` is the table's own: a file's becomes `_id_2`."""
    return [free_name(name, [ID, *names]) if name == ID else name for name in names]


def _create(schema: pa.Schema, rows: Batches, store: Store, name: str, job: Job) -> Table:
    names = table_columns(schema.names)
    renamed = pa.schema([field.with_name(new) for field, new in zip(schema, names, strict=True)])
    with closing(_renamed(rows, names)) as batches:
        reader = pa.RecordBatchReader.from_batches(renamed, batches)
        return store.create_table(name, reader, job=Unreported(job))


def _renamed(rows: Batches, names: list[str]) -> Batches:
    with closing(rows):
        for batch in rows:
            yield batch.rename_columns(names)


def _kept_rows(dataset: Dataset, job: Job) -> Batches:
    progress = ImportProgress(job, dataset.num_rows)
    count = 0
    for batch in dataset.batches(job=Unreported(job)):
        yield batch
        count += batch.num_rows
        progress.report(count, count)
