"""PyArrow on one Parquet file: by the published notebook's recipe, and tuned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.arrays import from_numpy
from lamella.core.bench.backends.arrow import batches, columns_of
from lamella.core.bench.backends.base import Row, Rows, TableBackend
from lamella.core.bench.data import Numbers
from lamella.core.bench.workloads import Columns, Values, Workload

ROWS_A_GROUP = 100_000
CHANGES = (
    *("update", "update_by_row_id", "update_some", "update_some_by_row_id", "update_one", "update_cell"),
    *("delete_one", "scatter_updates", "read_updated", "scatter_deletes", "read_deleted"),
)


class ParquetFile(TableBackend):
    """`0.parquet` in the folder, with an `id` that counts the rows."""

    cannot: ClassVar[Mapping[str, str]] = dict.fromkeys(
        CHANGES, "PyArrow has no update or delete: a Parquet file can only be written anew"
    )

    @classmethod
    def version(cls) -> str:
        return str(pa.__version__)

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + 1

    @property
    def path(self) -> Path:
        return self.folder / "0.parquet"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Every call opens the file and closes it."""

    def fill(self, made: Iterable[Columns]) -> None:
        reader, start = batches(made), 0
        schema = pa.schema([pa.field("id", pa.int64()), *(f for f in reader.schema if f.name != "id")])
        with self._writer(schema) as writer:
            for batch in _groups(reader):
                ids = from_numpy(np.arange(start, start + batch.num_rows, dtype=np.int64))
                values = [ids, *(batch[name] for name in schema.names[1:])]
                writer.write_table(pa.Table.from_arrays(values, schema=schema), ROWS_A_GROUP)
                start += batch.num_rows

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = numbers.tolist()
        return found

    def as_row(self, answer: pa.Table) -> Row:
        row: Row = answer.to_pylist()[0]
        return row

    def blocks(self, answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return columns_of(answer, names)

    @abstractmethod
    def _writer(self, schema: pa.Schema) -> Any: ...


class Recipe(ParquetFile):
    """As in the published notebook: default file, `dataset` with a filter, and nothing kept open."""

    id = "pyarrow"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pandas  # noqa: F401 -- these calls import it, once in a process: not for the timers
        import pyarrow.dataset  # noqa: F401

    @classmethod
    def describe(cls) -> str:
        return (
            "the published notebook's recipe: from_pylist with an id added, default write (dictionary, "
            "snappy), dataset.to_table with a filter; not durable (no sync)"
        )

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


class Tuned(ParquetFile):
    """What its documentation offers for speed on integers like these."""

    id = "pyarrow-tuned"

    @classmethod
    def describe(cls) -> str:
        return (
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
            return pa.concat_tables([_filtered(file, n, hits) for n in range(file.num_row_groups)])

    def find(self) -> pa.Table:
        with self._file() as file:
            column = file.read(columns=["col0"])
        return column.filter(pc.equal(column["col0"], -1))

    def get(self, row_id: int) -> pa.Table:
        """The id says the row group, all but the last being of one size. A slice would keep all of it."""
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
    """As the recipe makes a table."""
    return with_ids(pa.Table.from_pylist(rows))


def with_ids(table: pa.Table) -> pa.Table:
    """With an `id` that counts the rows, where it has none."""
    return table if "id" in table.column_names else table.add_column(0, "id", [range(len(table))])


def _filtered(file: pq.ParquetFile, group: int, hits: Any) -> pa.Table:
    """The other columns are only decoded where a row of the group is a hit."""
    found = hits(file.read_row_group(group, columns=["col1", "col97"]))
    if not pc.any(found).as_py():
        return file.schema_arrow.empty_table()
    return file.read_row_group(group).filter(found)


def _groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Whole row groups, and what is left."""
    held: list[pa.RecordBatch] = []
    for batch in reader:
        held.append(batch)
        if sum(b.num_rows for b in held) == ROWS_A_GROUP:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
