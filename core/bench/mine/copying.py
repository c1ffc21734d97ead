"""Copies the table of a race into its folder, once, before any system is timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.bench.mine.asked import TEXT
from lamella.core.bench.mine.copied import Change, Copied
from lamella.core.bench.mine.sources import Source
from lamella.core.bench.mine.types import compared_type
from lamella.core.bench.workloads import Workload
from lamella.core.dataset import Dataset
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.jobs import Job

FILE = "copy.parquet"
GROUP_ROWS = 131_072


def prepare(workload: Workload, rows: Iterable[int], folder: Path, job: Job) -> Workload:
    """The same with a copy of the table in `folder`, of as many rows as the race needs; streamed.

    Raises LamellaError where the table has become smaller since, and what opening and writing it raise.
    """
    options, needed = workload.options, max(rows)
    watch = _Watch(options["column"])
    path = folder / FILE
    with Source.of(options["source"]).opened() as dataset:
        copied = _copy(dataset, options["columns"], needed, path, watch, job)
    if copied < needed:
        raise LamellaError(
            f"{options['name']} has {copied:,} rows now, and {needed:,} were to be raced",
            fix="Race as many as there are",
        )
    table = Copied(path, options["name"], copied, options["where"], watch.change, tuple(sorted(watch.nan)))
    return replace(workload, options={**options, **table.options})


def _copy(dataset: Dataset, names: list[str], rows: int, path: Path, watch: _Watch, job: Job) -> int:
    reader = dataset.batches(columns=names, job=job)
    schema = pa.schema([(name, compared_type(reader.schema.field(name).type)) for name in names])
    done = 0
    try:
        with pq.ParquetWriter(path, schema) as writer:
            for batch in _cut(reader, rows):
                job.report(done, rows, f"Copying {dataset.name}")
                plain = _plain(batch, schema)
                watch.see(plain)
                writer.write_table(pa.Table.from_batches([plain]), row_group_size=GROUP_ROWS)
                done += batch.num_rows
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "the copy to race cannot be written", why, "Choose another folder") from error
    return done


def _cut(reader: pa.RecordBatchReader, rows: int) -> Iterator[pa.RecordBatch]:
    left = rows
    for batch in reader:
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= batch.num_rows


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [batch.column(name).cast(type_) for name, type_ in zip(schema.names, schema.types, strict=True)],
        schema=schema,
    )


@dataclass
class _Watch:
    """What has to be known of the values: where a NaN is, and whether the column that changes can take one
    more."""

    column: str
    nan: set[str] = field(default_factory=set)
    _full: bool = False
    _text: bool = False

    def see(self, batch: pa.RecordBatch) -> None:
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if is_.is_floating(values.type) and name not in self.nan and pc.any(pc.is_nan(values)).as_py():
                self.nan.add(name)
        if self.column:
            self._see_column(batch.column(self.column))

    def _see_column(self, values: pa.Array) -> None:
        self._text = is_.is_string(values.type)
        if is_.is_integer(values.type):
            most = pc.max(values).as_py()
            self._full = self._full or most == 2 ** (values.type.bit_width - 1) - 1

    @property
    def change(self) -> Change | None:
        if not self.column:
            return None
        if self._text:
            return Change(self.column, text=TEXT)
        return Change(self.column, add=-1 if self._full else 1)
