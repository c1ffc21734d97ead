"""PyArrow on one Parquet file: as in the published notebook, and tuned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.arrow.arrays import from_numpy
from lamella.core.bench.systems.base import FileBasedSystem, Rows, System
from lamella.core.bench.systems.rows import ArrowTable, to_batches
from lamella.core.bench.workloads.model import Columns, Workload
from lamella.core.bench.workloads.taxi import TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.user_table import Change, UserTableFile

ROWS_A_GROUP = 100_000

CHANGING_STEPS = (
    *("update", "update_by_row_id", "update_some", "update_some_by_row_id", "update_one", "update_cell"),
    *("delete_one", "scatter_updates", "read_updated", "scatter_deletes", "read_deleted"),
)


class PyArrow(System):
    id = "pyarrow"

    @classmethod
    def version(cls) -> str:
        return str(pa.__version__)


class ParquetFile(PyArrow, FileBasedSystem, ArrowTable):
    """`0.parquet` in the folder, with a column `id` that numbers the rows."""

    file_name = "0.parquet"
    cannot: ClassVar[Mapping[str, str]] = dict.fromkeys(
        CHANGING_STEPS, "PyArrow has no update or delete: a Parquet file can only be rewritten"
    )

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + 1

    def fill(self, blocks: Iterable[Columns]) -> None:
        reader, start = to_batches(blocks), 0
        schema = pa.schema([pa.field("id", pa.int64()), *(f for f in reader.schema if f.name != "id")])
        with self._writer(schema) as writer:
            for batch in _groups(reader):
                ids = from_numpy(np.arange(start, start + batch.num_rows, dtype=np.int64))
                values = [ids, *(batch[name] for name in schema.names[1:])]
                writer.write_table(pa.Table.from_arrays(values, schema=schema), ROWS_A_GROUP)
                start += batch.num_rows

    @abstractmethod
    def _writer(self, schema: pa.Schema) -> Any: ...


class PyArrowRecipe(ParquetFile):
    """As in the published notebook: a default file, `dataset` with a filter, and nothing kept open."""

    description = (
        "the published notebook's recipe: from_pylist with an id added, default write (dictionary, "
        "snappy), dataset.to_table with a filter; not durable (no sync)"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pandas  # noqa: F401 -- these calls import it, once per process: must not be timed
        import pyarrow.dataset  # noqa: F401

    def create(self, prepared: Rows) -> None:
        pq.write_table(from_rows(prepared), self.path)

    def read(self) -> pa.Table:
        return self._dataset().to_table()

    def query(self) -> pa.Table:
        return self._dataset().to_table(filter=(pc.field("col1") > 100) & (pc.field("col97") < 1000))

    def find(self) -> pa.Table:
        return self._dataset().to_table(columns=["col0"], filter=pc.field("col0") == -1)

    def get(self, row_id: int) -> pa.Table:
        return self._dataset().to_table(filter=pc.field("id") == row_id)

    def _dataset(self) -> Any:
        from pyarrow.dataset import dataset

        return dataset(str(self.folder), format="parquet")

    def _writer(self, schema: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(self.path, schema)


class PyArrowTuned(ParquetFile):
    """With the options that PyArrow's documentation recommends for speed with such integers."""

    id = "pyarrow-tuned"
    description = (
        "column arrays, integers delta-binary-packed, no compression, row groups of 100,000, "
        "memory-mapped ParquetFile, filters by compute on their columns first; not durable (no sync)"
    )

    def create(self, prepared: Rows) -> None:
        names = [name for name in prepared[0] if name != "id"]
        count = len(prepared)
        kinds = map(self.workload.dtype_of, names)
        arrays = [from_numpy(np.arange(count, dtype=np.int64))]
        arrays += [
            from_numpy(np.fromiter(map(itemgetter(name), prepared), kind, count))
            for name, kind in zip(names, kinds, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, names=["id", *names])
        with self._writer(table.schema) as writer:
            writer.write_table(table, ROWS_A_GROUP)

    def read(self) -> pa.Table:
        with self._file() as file:
            return file.read()

    def query(self) -> pa.Table:
        def hits(table: pa.Table) -> pa.ChunkedArray:
            return pc.and_(pc.greater(table["col1"], 100), pc.less(table["col97"], 1000))

        with self._file() as file:
            return pa.concat_tables([_filter(file, n, hits) for n in range(file.num_row_groups)])

    def find(self) -> pa.Table:
        with self._file() as file:
            column = file.read(columns=["col0"])
        return column.filter(pc.equal(column["col0"], -1))

    def get(self, row_id: int) -> pa.Table:
        """Read the row group that has the id: all but the last have the same size. `take` copies the row,
        since a slice would keep the whole group in memory."""
        group, place = divmod(row_id, ROWS_A_GROUP)
        with self._file() as file:
            return file.read_row_group(group).take(from_numpy(np.array([place])))

    def _file(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.path, memory_map=True)

    def _writer(self, schema: pa.Schema) -> pq.ParquetWriter:
        encodings = {
            field.name: "PLAIN" if pa.types.is_floating(field.type) else "DELTA_BINARY_PACKED"
            for field in schema
        }
        return pq.ParquetWriter(
            self.path, schema, use_dictionary=False, compression="none", column_encoding=encodings
        )


def from_rows(rows: Rows) -> pa.Table:
    """Convert rows to a table as the published notebook does."""
    return with_ids(pa.Table.from_pylist(rows))


def with_ids(table: pa.Table) -> pa.Table:
    """Add a column `id` that numbers the rows, unless the table has one."""
    return table if "id" in table.column_names else table.add_column(0, "id", [range(len(table))])


def _filter(file: pq.ParquetFile, group: int, hits: Any) -> pa.Table:
    """Filter a row group; the other columns are only decoded if a row matches."""
    mask = hits(file.read_row_group(group, columns=["col1", "col97"]))
    if not pc.any(mask).as_py():
        return file.schema_arrow.empty_table()
    return file.read_row_group(group).filter(mask)


def _groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield tables of whole row groups, and one with the rest."""
    batches: list[pa.RecordBatch] = []
    for batch in reader:
        batches.append(batch)
        if sum(b.num_rows for b in batches) == ROWS_A_GROUP:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


@cache
def trip_options() -> Any:
    """Return the options for reading the CSV files of trips."""
    from pyarrow import csv

    return csv.ConvertOptions(
        column_types=TRIP_SCHEMA,
        timestamp_parsers=[csv.ISO8601],
        strings_can_be_null=True,
        null_values=[""],
    )


LEAST_ROWS_A_GROUP = 100_000
"""Blocks of CSV would result in row groups of 3,000 rows, which PyArrow's documentation warns against."""

QUERY_COLUMNS = {
    "Q1": ["cab_type"],
    "Q2": ["passenger_count", "total_amount"],
    "Q3": ["passenger_count", "pickup_datetime"],
    "Q4": ["passenger_count", "pickup_datetime", "trip_distance"],
}


def answer_trips(query: str, read_columns: Callable[[list[str]], pa.Table]) -> pa.Table:
    """Answer a query from the columns that `read_columns` returns."""
    rows = read_columns(QUERY_COLUMNS[query])
    if query == "Q2":
        return rows.group_by("passenger_count").aggregate([("total_amount", "mean")])
    keys = ["cab_type"] if query == "Q1" else ["passenger_count", "year"]
    if query != "Q1":
        rows = rows.append_column("year", pc.year(rows["pickup_datetime"]))
    if query == "Q4":
        miles = pc.round(rows["trip_distance"], round_mode="half_towards_infinity")
        rows, keys = rows.append_column("distance", miles), [*keys, "distance"]
    groups = rows.group_by(keys).aggregate([([], "count_all")])
    return groups.sort_by([("year", "ascending"), ("count_all", "descending")]) if query == "Q4" else groups


class PyArrowTaxi(PyArrow, TaxiSystem):
    description = (
        f"CSV to Parquet by write_dataset (row groups of at least {LEAST_ROWS_A_GROUP:,} rows), read by "
        "column and grouped in memory; files not synced, so not durable"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pyarrow.dataset  # must not be timed

        self._ds: Any = pyarrow.dataset
        trip_options()

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        text = self._ds.CsvFileFormat(convert_options=trip_options())
        source = self._ds.dataset([str(file) for file in self.files(rows)], schema=TRIP_SCHEMA, format=text)
        self._ds.write_dataset(source, self._parquet, format="parquet", min_rows_per_group=LEAST_ROWS_A_GROUP)

    def open(self, writing: bool) -> None:
        self._dataset = self._ds.dataset(self._parquet, format="parquet")

    def close(self) -> None:
        """Nothing is open."""

    def ask(self, query: str) -> pa.Table:
        return answer_trips(query, lambda names: self._dataset.to_table(columns=names))

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        return self._dataset.to_table(TRIP_SCHEMA.names, filter=pc.field("trip_id").isin(ids))


class PyArrowUserTable(PyArrow, UserTableFile):
    file_name = "mine.parquet"
    description = (
        "one Parquet file; filters are pushed down to it; a change rewrites it; not durable (no sync)"
    )

    def load(self, rows: int) -> None:
        with pq.ParquetWriter(self.path, self.table_copy.schema, write_statistics=self.statistics) as writer:
            for batch in self.table_copy.batches(rows):
                writer.write_batch(batch)

    def read(self) -> pa.Table:
        return pq.read_table(self.path)

    def filter(self) -> pa.Table:
        return pq.read_table(self.path, filters=self.condition())

    def update(self) -> None:
        change, table = self.table_copy.change, pq.read_table(self.path)
        assert change is not None
        place, column = table.schema.get_field_index(change.column), table[change.column]
        values = pc.if_else(self._mask(table), _new(column, change), column)
        table = table.set_column(place, table.schema.field(place), values)
        self.rewrite(lambda path: pq.write_table(table, path, write_statistics=self.statistics))

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer

    def condition(self) -> Any:
        if self.table_copy.where is None:
            return pc.scalar(True)
        from lamella.core.bench.workloads.conditions import ArrowExpression, compile_condition

        return compile_condition(
            self.table_copy.where, ArrowExpression, ArrowExpression.logic, self.table_copy.nan
        )

    def _mask(self, table: pa.Table) -> pa.ChunkedArray:
        """Return a mask by the same expression; null counts as False."""
        from pyarrow import dataset

        mask = pc.coalesce(self.condition(), pc.scalar(False))
        return dataset.dataset(table).to_table(columns={"met": mask})["met"]


def _new(column: pa.ChunkedArray, change: Change) -> Any:
    if change.add:
        return pc.add(column, pa.scalar(change.add, column.type))
    return pa.scalar(change.text, column.type)
