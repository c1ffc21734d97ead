"""Rows as Python tuples, dicts or objects, NumPy arrays and Arrow batches; and systems with a table in one
file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from lamella.core.bench.systems.base import FileBasedSystem, Rows, TableSystem
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Numbers, Row

if TYPE_CHECKING:
    import pyarrow as pa

Tuples = list[tuple[Any, ...]]


class Record:
    """A row as an object, with an attribute for each column."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


def names_of(workload: Workload) -> list[str]:
    """Return the names of all columns of a table, the key first."""
    return [*((workload.key,) if workload.key else ()), *workload.data_columns]


def tuples_of(rows: Rows) -> Tuples:
    return [tuple(row.values()) for row in rows]


def tuple_blocks(
    answer: Sequence[Sequence[Any]], table_columns: Sequence[str], names: Sequence[str]
) -> Iterator[Sequence[Values]]:
    """Yield the columns `names` of an answer. It has all `table_columns`, or only these names."""
    for part in _parts(answer):
        columns = list(zip(*part, strict=True))
        block_names = table_columns if len(columns) == len(table_columns) else names
        yield [np.array(columns[block_names.index(name)]) for name in names]


def dict_blocks(answer: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for part in _parts(answer):
        yield [np.array(list(map(itemgetter(name), part))) for name in names]


def object_blocks(answer: Sequence[Any], names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for part in _parts(answer):
        yield [np.array(list(map(attrgetter(name), part))) for name in names]


def _parts(answer: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(answer), BLOCK_ROWS):
        yield answer[start : start + BLOCK_ROWS]


Table = npt.NDArray[Any]


def rows_to_array(rows: Rows, workload: Workload) -> Table:
    return np.array([list(row.values()) for row in rows], dtype=workload.dtype)


def blocks_to_arrays(blocks: Iterable[Columns], workload: Workload) -> Iterator[Table]:
    for block in blocks:
        yield np.column_stack([values.astype(workload.dtype, copy=False) for values in block.values()])


def query_mask(table: Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = (table[:, names.index("col1")] > 100) & (
        table[:, names.index("col97")] < 1000
    )
    return mask


def places_of(keys: Values, sought: Values) -> npt.NDArray[np.intp]:
    """Return the positions of `sought` in `keys`, which are distinct and in any order."""
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys, sought, sorter=order)]


def array_blocks(
    answer: Table, table_columns: Sequence[str], names: Sequence[str]
) -> Iterator[Sequence[Values]]:
    """Yield the columns `names` of an answer, whose columns are `table_columns`."""
    for start in range(0, len(answer), BLOCK_ROWS):
        part = answer[start : start + BLOCK_ROWS]
        yield [part[:, table_columns.index(name)] for name in names]


def to_batches(batches: Iterable[Columns]) -> pa.RecordBatchReader:
    """Stream blocks of columns, of which there is at least one, as Arrow batches."""
    import pyarrow as pa  # not above: systems without Arrow import this module, too

    record_batches = (_batch(block) for block in batches)
    first = next(record_batches)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], record_batches))


def to_columns(answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for batch in answer.select(list(names)).to_batches(max_chunksize=BLOCK_ROWS):
        yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]


def _batch(block: Columns) -> pa.RecordBatch:
    import pyarrow as pa

    from lamella.core.arrow.arrays import from_numpy

    arrays = [from_numpy(np.ascontiguousarray(values)) for values in block.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(block))


class SQLiteReads(TableSystem):
    """A table, or a virtual one, that SQLite reads through any Python module; answers are tuples."""

    _connection: Any
    _names: Sequence[str]

    def read(self) -> Tuples:
        rows: Tuples = self._connection.execute("SELECT * FROM benchmark").fetchall()
        return rows

    def query(self) -> Tuples:
        rows: Tuples = self._connection.execute(
            "SELECT * FROM benchmark WHERE col1 > 100 AND col97 < 1000"
        ).fetchall()
        return rows

    def find(self) -> Tuples:
        rows: Tuples = self._connection.execute("SELECT col0 FROM benchmark WHERE col0 = -1").fetchall()
        return rows

    def row_ids(self, numbers: Numbers) -> list[int]:
        ids: list[int] = (numbers + 1).tolist()  # a new table numbers its rows from 1
        return ids

    def as_row(self, answer: tuple[Any, ...]) -> Row:
        return dict(zip(self._names, answer, strict=True))

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self._names, names)


class ArrowTable(TableSystem):
    """A system whose answers are Arrow tables."""

    def as_row(self, answer: Any) -> Row:
        row: Row = answer.to_pylist()[0]
        return row

    def blocks(self, answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return to_columns(answer, names)


class FrameFile(FileBasedSystem, TableSystem):
    """A data frame in a Parquet file, which every change reads and rewrites."""

    file_name = "benchmark.parquet"

    @property
    def columns(self) -> int:
        return len(names_of(self.workload))


STEPS_BY_ROW_ID = (
    *("get", "update_by_row_id", "update_some_by_row_id", "update_one", "update_cell", "delete_one"),
    *("scatter_updates", "read_updated", "scatter_deletes", "read_deleted"),
)


def whole_file_limits(file: str) -> Mapping[str, str]:
    """Return the reasons why steps are left out; `file` starts a sentence, such as "A CSV file"."""
    ids = f"{file} has no row ids, and changing one row means rewriting all of it"
    return dict.fromkeys(STEPS_BY_ROW_ID, ids) | {"find_indexed": f"{file} has no index"}


class WholeFile(FileBasedSystem, TableSystem):
    """A file in which single rows cannot be found or changed: an update rewrites all of it."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self.names = names_of(workload)

    @property
    def columns(self) -> int:
        return len(self.names)

    def row_ids(self, numbers: Numbers) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])

    def get(self, row_id: int) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])

    def as_row(self, answer: Any) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])
