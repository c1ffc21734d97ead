"""PyTables: a table of typed columns in an HDF5 file."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tables

from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.systems.rows import Table, Tuples, names_of, places_of, tuples_of
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Numbers, Row

NAME = "benchmark"


@dataclass(frozen=True)
class Update:
    """A change of the rows with these ascending numbers; `values` is a structured array of some or all
    columns."""

    numbers: Numbers
    values: Table


class PyTables(TableSystem):
    """Row ids are the row numbers at the time when the file was opened."""

    id = "pytables"
    description = (
        "Table with the expected number of rows, no compression; queries by read_where, index of "
        "medium kind by create_index; flushed, but not durable (no sync)"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._dtype = np.dtype([(name, workload.dtype_of(name)) for name in names_of(workload)])

    @classmethod
    def version(cls) -> str:
        return f"{tables.__version__}, HDF5 {tables.hdf5_version}"

    @property
    def columns(self) -> int:
        return len(names_of(self.workload))

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file: Any = tables.open_file(str(self._path), "a" if writing else "r")
        self._removed_rows: list[int] = []

    def close(self) -> None:
        self._file.close()

    def vacuum(self) -> bool:
        """Copy the file without its unused space, as `ptrepack` does."""
        copy = self._path.with_name("packed.h5")
        self._file.copy_file(str(copy))
        self._file.close()
        copy.replace(self._path)
        self.open(writing=True)
        return True

    def prepare(self, rows: Rows) -> Tuples:
        return tuples_of(rows)

    def create(self, prepared: Tuples) -> None:
        self._new(NAME, len(prepared)).append(prepared)
        self._file.flush()

    def fill(self, blocks: Iterable[Columns]) -> None:
        """Count the rows first: PyTables lays out the table for the expected number."""
        parts = list(blocks)
        table = self._new(NAME, sum(len(next(iter(block.values()))) for block in parts))
        for block in parts:
            table.append(np.rec.fromarrays(list(block.values()), dtype=self._dtype))
        self._file.flush()

    def read(self) -> Table:
        table: Table = self._table.read()
        return table

    def query(self) -> Table:
        rows: Table = self._table.read_where("(col1 > 100) & (col97 < 1000)")
        return rows

    def find(self) -> Table:
        rows: Table = self._table.read_where("col0 == -1", field="col0")
        return rows

    def get(self, row_id: int) -> Any:
        return self._table[row_id]

    def as_row(self, answer: Any) -> Row:
        return dict(zip(self._dtype.names or (), answer.item(), strict=True))

    def index(self, column: str) -> bool:
        """Create an index, except for the key: updates look up all keys at once, without an index."""
        if column == self.workload.key:
            return False
        self._table.cols._f_col(column).create_index()
        self._file.flush()
        return True

    def prepare_update(self, rows: Rows) -> Table:
        return np.array(tuples_of(rows), dtype=self._dtype)

    def update(self, prepared: Table) -> None:
        key = self.workload.key
        assert key is not None
        numbers = places_of(self._table.read(field=key), prepared[key])
        order = np.argsort(numbers)
        self._change(Update(numbers[order], prepared[order]))

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Update:
        order = np.argsort(row_ids)
        kinds = np.dtype([(name, self._dtype[name]) for name in rows[0]])
        return Update(np.array(row_ids)[order], np.array(tuples_of(rows), dtype=kinds)[order])

    def update_by_row_id(self, prepared: Update) -> None:
        self._change(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        """Remove one row, after which later rows move up. For many, copy the other rows to a new table."""
        if len(row_ids) == 1:
            (row_id,) = row_ids
            self._table.remove_row(row_id - bisect_left(self._removed_rows, row_id))
        else:
            self._keep_other_rows(np.array(row_ids))
        for row_id in row_ids:
            insort(self._removed_rows, row_id)
        self._file.flush()

    def blocks(self, answer: Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for start in range(0, len(answer), BLOCK_ROWS):
            part = answer[start : start + BLOCK_ROWS]
            yield [part[name] for name in names] if part.dtype.names else [part]

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for start in range(0, len(self._table), BLOCK_ROWS):
            yield from self.blocks(self._table.read(start, start + BLOCK_ROWS), names)

    @property
    def _path(self) -> Path:
        return self.folder / "benchmark.h5"

    @property
    def _table(self) -> Any:
        return self._file.get_node("/", NAME)

    def _new(self, name: str, rows: int) -> Any:
        return self._file.create_table("/", name, self._dtype, expectedrows=rows)

    def _change(self, update: Update) -> None:
        """Write a range of rows without gaps at once. If only some columns change, read the rows first and
        set them there."""
        table, numbers, values = self._table, update.numbers, update.values
        if values.dtype != self._dtype:
            whole = table.read_coordinates(numbers)
            for name in values.dtype.names or ():
                whole[name] = values[name]
            values = whole
        if numbers[-1] - numbers[0] + 1 == len(numbers):
            table.modify_rows(int(numbers[0]), int(numbers[-1]) + 1, rows=values)
        else:
            table.modify_coordinates(numbers, values)
        self._file.flush()

    def _keep_other_rows(self, row_ids: Numbers) -> None:
        old, places = self._table, row_ids - np.searchsorted(self._removed_rows, row_ids)
        new = self._new("kept", len(old) - len(places))
        for start in range(0, len(old), BLOCK_ROWS):
            part = old.read(start, start + BLOCK_ROWS)
            new.append(np.delete(part, places[(places >= start) & (places < start + len(part))] - start))
        old.remove()
        new.rename(NAME)
