"""h5py: one two-dimensional dataset, with one of its rows for each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import h5py
import numpy as np

from lamella.core.bench.systems import rows
from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.systems.rows import (
    Table,
    blocks_to_arrays,
    names_of,
    places_of,
    query_mask,
    rows_to_array,
)
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import Numbers, Row

DATASET = "benchmark"
_FIXED_ROWS = (
    "Rows of an HDF5 dataset cannot be deleted: the remaining ones would have to be written to a new one"
)


@dataclass(frozen=True)
class Update:
    """A change that sets `values` in the columns at `places` of `rows`, which are ascending."""

    rows: Numbers
    places: Numbers
    values: Table


class H5py(TableSystem):
    """Numbers of one type in one contiguous dataset, as h5py's documentation stores arrays."""

    id = "h5py"
    cannot: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("delete_one", "scatter_deletes", "read_deleted"), _FIXED_ROWS
    ) | {"find_indexed": "h5py has no indexes"}
    description = (
        "one contiguous dataset of rows × columns; a question reads the dataset, or the column it needs, "
        "and filters with NumPy; updates change it in place; flushed, but not durable (no sync)"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self.names = names_of(workload)

    @classmethod
    def version(cls) -> str:
        return f"{h5py.__version__}, HDF5 {h5py.version.hdf5_version}"

    @property
    def columns(self) -> int:
        return len(self.names)

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file: Any = h5py.File(self.folder / "benchmark.h5", "a" if writing else "r")

    def close(self) -> None:
        self._file.close()

    def prepare(self, rows: Rows) -> Table:
        return rows_to_array(rows, self.workload)

    def create(self, prepared: Table) -> None:
        self._file.create_dataset(DATASET, data=prepared)
        self._file.flush()

    def fill(self, blocks: Iterable[Columns]) -> None:
        """Join the blocks first: the length of a contiguous dataset is fixed when it is created."""
        self.create(np.concatenate(list(blocks_to_arrays(blocks, self.workload))))

    def read(self) -> Table:
        table: Table = self._table[:]
        return table

    def query(self) -> Table:
        """Read everything: rows are contiguous, so reading only two columns would take as long."""
        table = self.read()
        return table[query_mask(table, self.names)]

    def find(self) -> Table:
        column = self._table[:, self.names.index("col0")]
        rows: Table = column[column == -1][:, np.newaxis]
        return rows

    def get(self, row_id: int) -> Values:
        row: Values = self._table[row_id]
        return row

    def as_row(self, answer: Values) -> Row:
        return dict(zip(self.names, answer.tolist(), strict=True))

    def prepare_update(self, rows: Rows) -> Table:
        return rows_to_array(rows, self.workload)

    def update(self, prepared: Table) -> None:
        rows = places_of(self._table[:, 0], prepared[:, 0])
        order = np.argsort(rows)
        self._change(Update(rows[order], np.arange(self.columns), prepared[order]))

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Update:
        order = np.argsort(row_ids)
        values = rows_to_array(rows, self.workload)[order]
        places = np.array([self.names.index(name) for name in rows[0]])
        return Update(np.array(row_ids)[order], places, values)

    def update_by_row_id(self, prepared: Update) -> None:
        self._change(prepared)

    def blocks(self, answer: Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        columns = self.names if answer.shape[1] == self.columns else names
        return rows.array_blocks(answer, columns, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for part in _slices(len(self._table)):
            yield from self.blocks(self._table[part], names)

    @property
    def _table(self) -> Any:
        return self._file[DATASET]

    def _change(self, update: Update) -> None:
        """Write a range of rows without gaps at once, and other rows as a selection. If only some columns
        change, write column by column."""
        rows, values = update.rows, update.values
        first, last = int(rows[0]), int(rows[-1])
        if len(update.places) < self.columns:
            for place, column in zip(update.places.tolist(), values.T, strict=True):
                self._table[rows, place] = column
        elif last - first + 1 == len(rows):
            self._table[first : last + 1] = values
        else:
            self._table[rows] = values
        self._file.flush()


def _slices(rows: int, length: int = 100_000) -> Iterator[slice]:
    for start in range(0, rows, length):
        yield slice(start, start + length)
