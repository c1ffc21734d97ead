"""A file or an open dataset becomes a table of a store: whole, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.types import ID
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, Problem, Ragged
from lamella.core.datasets.blocks import TypesWidened
from lamella.core.datasets.cached import CachedDataset
from lamella.core.jobs import Job, Unreported
from lamella.core.store.store import Store
from lamella.core.store.table import Table

Taken = TypeVar("Taken")


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
    **reading: Any,
) -> Table:
    """The rows of a file, folder or glob as a new table, named after the file when no name is given.

    `ragged`, `text_columns`, `checksums` and those of `reading` are the options of `open_dataset`. Lines that
    `bad_lines="set-aside"` leaves out, and values that are none of their chosen type, are rows of a table
    beside it, called like it with `_bad_lines` behind. A cancelled or failed import leaves nothing behind.
    Raises `FileProblem`, `StoreProblem`, `UnknownColumn`, `Cancelled`.
    """
    dataset = open_dataset(path, ragged=ragged, text_columns=text_columns, checksums=checksums, **reading)
    return import_dataset(dataset, store, table_name, job)


def import_dataset(dataset: Dataset, store: Store, name: str | None = None, job: Job | None = None) -> Table:
    """All rows of an open dataset as a new table; what is cached is read from its file. What of it cannot be
    read is a table beside it."""
    name = name or free_name(dataset.name, store.tables)
    job = job or Job()

    def create(schema: pa.Schema, rows: Batches) -> Table:
        return _create(schema, rows, store, name, job)

    table = _with_rows(dataset, create, job)
    if dataset.problems:
        try:
            keep_bad_lines(dataset, store, name)
        except BaseException:
            store.drop_table(table.name)
            raise
    return table


Taker = Callable[[pa.Schema, "Batches"], Taken]


def _with_rows(dataset: Dataset, take: Taker[Taken], job: Job) -> Taken:
    """What `take` makes of all rows, which it gets again where their types turn out to be wider."""
    if not isinstance(dataset, CachedDataset) or dataset.snapshot().complete:
        return take(dataset.schema, _kept_rows(dataset, job))
    while True:
        progress = ImportProgress(job, dataset.file.size)
        rows = dataset.rows_once(job, progress.report)
        try:
            return take(dataset.reading_schema, rows)
        except TypesWidened:  # values far in the file asked for wider types, which the dataset now knows
            continue


def keep_bad_lines(dataset: Dataset, store: Store, name: str) -> Table:
    """What of a dataset could not be read, as the rows of a table beside table `name`."""
    beside = free_name(f"{name}{BAD_LINES}", store.tables)
    return store.create_table(
        beside, problem_rows(dataset.problems), f"lines of {dataset.name} that are no rows"
    )


def problem_rows(problems: Sequence[Problem]) -> pa.Table:
    columns = {
        "file": from_values([problem.file or None for problem in problems], pa.string()),
        "line": from_values([problem.line for problem in problems], pa.int64()),
        "column": from_values([problem.column or None for problem in problems], pa.string()),
        "text": from_values([problem.text for problem in problems], pa.string()),
        "reason": from_values([problem.why for problem in problems], pa.string()),
    }
    if not any(problem.file for problem in problems):
        del columns["file"]
    return pa.table(columns)


BAD_LINES = "_bad_lines"
"""What the name of such a table ends in."""


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
