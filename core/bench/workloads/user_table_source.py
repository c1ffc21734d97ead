"""A benchmark of the user's own table as a workload of plain data, and the copy of the table that is made
before any system is timed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.nested_values import place_of
from lamella.core.arrow.types import ID
from lamella.core.bench.registry import FAMILIES, workload_with_options
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_table import PREFIX, Change, TableCopy, compared_type
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset, RaggedRows
from lamella.core.errors import FileProblem, LamellaError, UnknownColumn
from lamella.core.filters import Filter, bind, from_json, sentence, to_json, to_text
from lamella.core.filters.expr import columns_read
from lamella.core.jobs import Job
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store


@dataclass(frozen=True)
class Source:
    """A table of the store in the folder `path`, or of a file with several tables; without `table`, the files
    at `path`.

    `ragged` is how to treat rows of a CSV file that do not match its header, as in `open_dataset`.
    """

    path: str
    table: str | None = None
    ragged: RaggedRows = "refuse"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Source:
        return cls(**options)

    @property
    def options(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that name it on the command line."""
        return ("--table", self.path if self.table is None else f"{self.path}:{self.table}")

    @contextmanager
    def open_table(self) -> Iterator[Dataset]:
        """Open the table. Raises `FileProblem`, `StoreProblem` and `UnknownTable`."""
        if self.table is None or not is_store(Path(self.path)):
            yield open_dataset(Path(self.path), ragged=self.ragged, table=self.table)
        else:
            with Store.open(self.path, read_only=True) as store:
                yield store[self.table]


PYTHON_ROWS = ("sqlite", "sqlite-wal", "csv", "jsonl", "pickle")
"""Systems whose answers are Python values."""

PYTHON_VALUE_BYTES = 64

ARROW_SECONDS, PYTHON_SECONDS = 20e-9, 500e-9
"""A rough time for one value in one step, including its check."""

COPIES_IN_MEMORY = 3
"""The answer, the data that it was made from, and the table for its check."""


def costs_by_system(sample: pa.Table) -> dict[str, list[float]]:
    """Estimate, for each system and one row, the seconds of a step, the bytes of memory, and the bytes on
    disk, including the copy from which all systems load."""
    rows, values = max(1, sample.num_rows), sample.num_columns
    row_bytes = sample.nbytes / rows
    columnar = [values * ARROW_SECONDS, COPIES_IN_MEMORY * row_bytes, 2 * row_bytes]
    python = [
        values * PYTHON_SECONDS,
        COPIES_IN_MEMORY * row_bytes + 2 * values * PYTHON_VALUE_BYTES,
        3 * row_bytes,
    ]
    return {system: python if system in PYTHON_ROWS else columnar for system in FAMILIES["mine"].places}


TEXT = "measured"
SAMPLE_ROWS = 1000
LONGEST_WORDS = 60


def user_table(
    dataset: Dataset,
    source: Source,
    columns: Sequence[str] | None = None,
    where: Filter | None = None,
    job: Job | None = None,
) -> Workload:
    """Return a benchmark on all rows of `dataset`, which `source` opens again when the benchmark runs.

    Columns in the filter are included, and columns whose values cannot be compared are left out; the options
    `columns` and `left_out` name them. Reads a sample of the rows, and counts them. Raises `BadFilter`,
    `UnknownColumn`, and `LamellaError` if there is nothing to measure."""
    rows, schema = dataset.count(job=job), dataset.schema
    choice = _column_choice(dataset.name, schema, columns, where)
    chosen_columns = [name for name in choice if compared_type(schema.field(name).type) is not None]
    _refuse_nothing(dataset.name, rows, chosen_columns)
    names = _condition_columns(schema, where)
    column = changing_column(schema, chosen_columns, names)
    options = {
        "source": source.options,
        "name": dataset.name,
        "columns": chosen_columns,
        "left_out": [name for name in choice if name not in chosen_columns],
        "where": None if where is None else to_json(where),
        "rows": rows,
        "column": column,
        "is_text": bool(column) and compared_type(schema.field(column).type) == pa.string(),
        "costs": costs_by_system(dataset.read(columns=chosen_columns, limit=SAMPLE_ROWS, job=job)),
    }
    options["title"] = _title(dataset.name, where)
    options["about"] = f"{dataset.name}: {describe_benchmark(options)}."
    return workload_with_options(identity(options), None, options)


def identity(options: dict[str, Any]) -> str:
    """Return the workload's id. Only benchmarks with the same table, columns and filter have the same id, and
    are compared with each other."""
    told_apart = json.dumps([options[name] for name in ("source", "columns", "where")])
    return f"{PREFIX}:{options['name']}-{hashlib.sha256(told_apart.encode()).hexdigest()[:8]}"


def words_of(workload: Workload) -> tuple[str, ...]:
    """Return the words that name a workload on the command line."""
    options = workload.options
    where = ("--where", to_text(from_json(options["where"]))) if options["where"] else ()
    return (*Source.of(options["source"]).words, *where, "--columns", ",".join(options["columns"]))


def describe_benchmark(options: dict[str, Any]) -> str:
    """Describe it like "3 columns, where delay is more than 60; the update adds 1 to distance"."""
    count = len(options["columns"])
    text = f"{count:,} column" + ("" if count == 1 else "s")
    if options["where"]:
        text += f", where {sentence(from_json(options['where']))}"
    return text + f"; {change_words(options)}"


def _title(name: str, where: Filter | None) -> str:
    """Return a title such as "flights where delay is more than 60", shortened if it is long."""
    if where is None:
        return name
    words = sentence(where)
    return f"{name} where {words if len(words) <= LONGEST_WORDS else words[:LONGEST_WORDS] + '…'}"


def change_words(options: Mapping[str, Any]) -> str:
    if not options["column"]:
        return "nothing is updated, because no column has whole numbers, floats or text"
    rows = "every row that matches" if options["where"] else "every row"
    does = f"sets {options['column']} to '{TEXT}'" if options["is_text"] else f"adds 1 to {options['column']}"
    return f"the update {does} in {rows}"


def changing_column(schema: pa.Schema, chosen_columns: Sequence[str], columns: Iterable[str]) -> str:
    """Return the column that the update changes: the first one of numbers that is not in the filter, or else
    of text; otherwise the same among the columns in the filter. Empty if there is none. Small and unsigned
    integers are not changed, since adding one could overflow."""
    outside = [name for name in chosen_columns if name not in set(columns)]
    kinds = {name: compared_type(schema.field(name).type) for name in chosen_columns}
    for names in (outside, chosen_columns):
        for fits in (_counts, is_.is_string):
            for name in names:
                if fits(kinds[name]):
                    return name
    return ""


def _counts(kind: pa.DataType) -> bool:
    return kind in (pa.int32(), pa.int64(), pa.float64())


def _column_choice(
    name: str, schema: pa.Schema, columns: Sequence[str] | None, where: Filter | None
) -> list[str]:
    """Return the columns in the table's order, without `_id`, which is not the user's."""
    names = set(schema.names) if columns is None else set(columns)
    for column in columns or ():
        if column not in schema.names:
            raise UnknownColumn(column, name, schema.names)
    if where is not None:
        bind(where, schema, name)
        names |= set(_condition_columns(schema, where))
    return [column for column in schema.names if column in names and column != ID]


def _condition_columns(schema: pa.Schema, where: Filter | None) -> list[str]:
    types = dict(zip(schema.names, schema.types, strict=True))
    places = [place_of(path, types) for path in columns_read(where)] if where is not None else []
    return [place.column for place in places if place is not None]


def _refuse_nothing(name: str, rows: int, chosen_columns: Sequence[str]) -> None:
    if not chosen_columns:
        raise LamellaError(
            f"{name}: there is no column to measure", fix="Choose columns of numbers, text or times"
        )
    if not rows:
        raise LamellaError(f"{name}: there are no rows to measure", fix="Open a table with rows")


FILE = "copy.parquet"
GROUP_ROWS = 131_072


def prepare(workload: Workload, rows: Iterable[int], folder: Path, job: Job) -> Workload:
    """Copy the table to `folder` in batches, with as many rows as the benchmark needs, and return the
    workload with the copy.

    Raises `LamellaError` if the table has become smaller, and what opening and writing it raise.
    """
    options, size = workload.options, max(rows)
    watch = _Watch(options["column"])
    path = folder / FILE
    with Source.of(options["source"]).open_table() as dataset:
        copied = _copy(dataset, options["columns"], size, path, watch, job)
    if copied < size:
        raise LamellaError(
            f"{options['name']} now has {copied:,} rows, but {size:,} were to be measured",
            fix="Measure fewer rows",
        )
    table = TableCopy(path, options["name"], copied, options["where"], watch.change, tuple(sorted(watch.nan)))
    return replace(workload, options={**options, **table.options})


def _copy(dataset: Dataset, names: list[str], rows: int, path: Path, watch: _Watch, job: Job) -> int:
    reader = dataset.batches(columns=names, job=job)
    schema = pa.schema([(name, compared_type(reader.schema.field(name).type)) for name in names])
    count = 0
    try:
        with pq.ParquetWriter(path, schema) as writer:
            for batch in _cut(reader, rows):
                job.report(count, rows, f"Copying {dataset.name}")
                plain = _cast_batch(batch, schema)
                watch.see(plain)
                writer.write_table(pa.Table.from_batches([plain]), row_group_size=GROUP_ROWS)
                count += batch.num_rows
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            path, "the copy to measure cannot be written", why, "Choose another folder"
        ) from error
    return count


def _cut(reader: pa.RecordBatchReader, rows: int) -> Iterator[pa.RecordBatch]:
    remaining = rows
    for batch in reader:
        if remaining <= 0:
            return
        yield batch.slice(0, remaining)
        remaining -= batch.num_rows


def _cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [batch.column(name).cast(type_) for name, type_ in zip(schema.names, schema.types, strict=True)],
        schema=schema,
    )


@dataclass
class _Watch:
    """Inspects values: which columns contain NaN, and whether one can be added to the column that changes."""

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
