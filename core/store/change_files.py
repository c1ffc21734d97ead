"""Changed cells too many for the catalog, as Parquet files beside the data files: `_id` and what changed.

They are named `.cells`, so that a pattern for `*.parquet` finds the data files alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy, in_one, to_numpy
from lamella.core.errors import FileProblem
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.footers import unchanged
from lamella.core.scan.overlay import StoredValues
from lamella.core.scan.snapshot import Column, FileSegment
from lamella.core.store.cells import Cells
from lamella.core.store.data_file import WrittenFile
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.layout import Staging
from lamella.core.store.writer import ROWS_A_GROUP, write_files

SUFFIX = ".cells"


class FileValues(StoredValues):
    """The values of a change file by column id, decoded whenever they are asked for."""

    def __init__(self, segment: FileSegment) -> None:
        self._segment = segment
        self._keys = dict.fromkeys(key for key in segment.names if key != ID_COLUMN.key)

    def read(self, keys: Sequence[int]) -> dict[int, pa.Array]:
        schema, names = unchanged(self._segment).schema, self._segment.names
        for key in keys:
            if names[key] not in schema.names:
                raise FileProblem(
                    self._segment.path,
                    f"has no column '{names[key]:.60}'",
                    "The catalog says that it has",
                    "Verify the store, which tells what else is damaged, and restore a backup",
                )
        columns = [Column(str(key), schema.field(names[key]).type, key) for key in keys]
        return dict(zip(keys, _whole(self._segment, columns), strict=True))

    def __getitem__(self, key: int) -> pa.Array:
        return self.read([key])[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def read_cells(segment: FileSegment, made: int) -> Cells:
    return Cells(to_numpy(_whole(segment, [ID_COLUMN])[0]), FileValues(segment), made)


def write_cells(cells: Cells, columns: Mapping[int, Column], staging: Staging) -> tuple[WrittenFile, ...]:
    """Stage the cells as change files; `columns` are the table's by id."""
    changed = (ID_COLUMN, *(columns[key] for key in cells.values))
    arrays = [from_numpy(np.ascontiguousarray(cells.ids)), *cells.values.values()]
    rows = pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, c.type) for c in changed]))
    pieces = (rows.slice(at, ROWS_A_GROUP) for at in range(0, len(rows), ROWS_A_GROUP))
    return tuple(write_files(pieces, changed, staging, suffix=SUFFIX))


def _whole(segment: FileSegment, columns: Sequence[Column]) -> list[pa.Array]:
    groups = range(unchanged(segment).metadata.num_row_groups)
    return [in_one(values) for values in run_chunks(segment, groups, columns, None)[0]]
