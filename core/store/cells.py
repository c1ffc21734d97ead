"""Changed cells of a table: in the catalog as record batches, or in change files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_numpy, take, to_numpy
from lamella.core.arrow.ingest import integers_end_to_end
from lamella.core.arrow.sorted_ids import EMPTY
from lamella.core.errors import FileProblem
from lamella.core.scan.chunks import BatchValues, named_by_key, run_chunks
from lamella.core.scan.overlay import StoredValues
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment
from lamella.core.store.catalog.schema import whole_numbers
from lamella.core.store.data_files import ROWS_A_GROUP, WrittenFile, write_files
from lamella.core.store.folder import Staging


@dataclass(frozen=True, eq=False)
class CellChanges:
    """New values of some rows: ascending `ids`, and one value for each in every column (by column id).

    `version` made the change; of two changes of a cell, the later one applies. Values of a
    change file are read when they are needed.
    """

    ids: np.ndarray
    values: Mapping[int, pa.Array]
    version: int = 0

    def only(self, mask: np.ndarray) -> CellChanges:
        """The rows for which `mask` is True."""
        keep = np.flatnonzero(mask)
        values = {key: take(values, keep) for key, values in self.values.items()}
        return CellChanges(self.ids[keep], values, self.version)


def to_batch(values: Mapping[int, pa.Array], entries: Mapping[int, int]) -> tuple[str, bytes]:
    """Encode columns as (their catalog entries, an Arrow IPC record batch message without its schema)."""
    return _entry_list(tuple(map(entries.__getitem__, values))), _message(values)


@lru_cache(maxsize=64)
def _entry_list(entries: tuple[int, ...]) -> str:
    return json.dumps(entries)


def _message(values: Mapping[int, pa.Array]) -> bytes:
    if isinstance(values, BatchValues):
        return values.message
    batch = pa.RecordBatch.from_arrays(list(map(_storage, values.values())), names=list(map(str, values)))
    message: bytes = batch.serialize().to_pybytes()
    return message


@dataclass(frozen=True)
class BatchColumns:
    """The columns that batches of the same catalog entries share."""

    keys: tuple[int, ...]
    types: tuple[pa.DataType, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema(list(zip(map(str, self.keys), map(_plain_type, self.types), strict=True)))

    @classmethod
    def of(
        cls, catalog: Path, columns: str, type_of: Callable[[int], tuple[int, pa.DataType]]
    ) -> BatchColumns:
        """Parse a list of entries; `type_of` returns the column id and type of an entry."""
        types = list(map(type_of, whole_numbers(catalog, "pending entries", "columns", columns)))
        return cls(tuple(key for key, _ in types), tuple(kind for _, kind in types))


def from_batch(columns: BatchColumns, batch: bytes, about: str) -> BatchValues:
    """Decode what `to_batch` made, when a value is needed. `about` names the entry in errors."""
    return BatchValues(columns.keys, columns.schema, batch, about)


def latest(changes: Iterable[CellChanges], columns: Iterable[Column]) -> list[CellChanges]:
    """The last value of each cell, in few groups of columns that changed in the same rows."""
    ordered = list(changes)
    touching: dict[int, list[int]] = {}
    for number, cells in enumerate(ordered):
        for key in cells.values:
            touching.setdefault(key, []).append(number)
    groups: dict[tuple[int, ...], list[Column]] = {}
    for column in columns:
        if column.key in touching:
            groups.setdefault(tuple(touching[column.key]), []).append(column)
    return [_latest_of(group, [ordered[i] for i in touched]) for touched, group in groups.items()]


def _latest_of(columns: Sequence[Column], changes: list[CellChanges]) -> CellChanges:
    if len(changes) == 1:
        return CellChanges(
            changes[0].ids, {c.key: as_type(changes[0].values[c.key], c.type) for c in columns}
        )
    ids = np.concatenate([c.ids for c in changes])
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    last = order[np.append(ordered[1:] != ordered[:-1], True)]
    schema = pa.schema([pa.field(str(c.key), c.type) for c in columns])
    rows = take(pa.concat_tables(_tables(changes, columns, schema)).combine_chunks(), last)
    return CellChanges(
        ids[last], {c.key: combine_chunks(rows.column(place)) for place, c in enumerate(columns)}
    )


def _tables(
    changes: Iterable[CellChanges], columns: Sequence[Column], schema: pa.Schema
) -> Iterator[pa.Table]:
    """Yield these columns of all changes. If a group has most columns of similar commits, their batches are
    concatenated at once; otherwise, the columns are taken one by one."""
    for shape, run in groupby((cells.values for cells in changes), _shape):
        if shape and 2 * len(columns) > len(shape[0]):
            batches = (rows.select([str(c.key) for c in columns]).columns for rows in end_to_end(run))
        else:
            batches = ([values[c.key] for c in columns] for values in run)
        for arrays in batches:
            fitting = [as_type(values, c.type) for values, c in zip(arrays, columns, strict=True)]
            yield pa.Table.from_arrays(fitting, schema=schema)


def end_to_end(changes: Iterable[Mapping[int, pa.Array]]) -> Iterator[pa.Table]:
    """Concatenate changes in order, with the names `str(key)`: consecutive commits of one shape become one
    table. Each change must have at least one column, because rows are counted by it."""
    for shape, run in groupby(changes, _shape):
        if shape:
            alike = [values for values in run if isinstance(values, BatchValues)]
            yield _end_to_end(alike, shape[1]).rename_columns(list(map(str, shape[0])))
        else:
            yield from (pa.Table.from_batches([named_by_key(values)]) for values in run)


def _end_to_end(values: Sequence[BatchValues], schema: pa.Schema) -> pa.Table:
    packed = [value.packed_bytes for value in values if value.packed_bytes is not None]
    rows = integers_end_to_end(packed, schema) if len(packed) == len(values) else None
    return pa.Table.from_batches([value.batch for value in values]) if rows is None else rows


def _shape(values: Mapping[int, pa.Array]) -> tuple[Mapping[int, int], pa.Schema] | None:
    return (values.places, values.schema) if isinstance(values, BatchValues) else None


def as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type.equals(kind) else values.cast(kind)


def _storage(array: pa.Array) -> pa.Array:
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


NO_IDS = EMPTY
SUFFIX = ".cells"


class FileValues(StoredValues):
    """The values of a change file by column id, decoded on each access."""

    def __init__(self, segment: FileSegment) -> None:
        self._segment = segment
        self._keys = dict.fromkeys(key for key in segment.names if key != ID_COLUMN.key)

    def read(self, keys: Sequence[int]) -> dict[int, pa.Array]:
        schema, names = unchanged_footer(self._segment).schema, self._segment.names
        for key in keys:
            if names[key] not in schema.names:
                raise FileProblem(
                    self._segment.path,
                    f"has no column '{names[key]:.60}'",
                    "The catalog says that it does",
                    "Verify the store to see what else is damaged, and restore a backup",
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


def read_cells(segment: FileSegment, version: int) -> CellChanges:
    return CellChanges(to_numpy(_whole(segment, [ID_COLUMN])[0]), FileValues(segment), version)


def write_cells(
    cells: CellChanges, columns: Mapping[int, Column], staging: Staging
) -> tuple[WrittenFile, ...]:
    """Stage the cells as change files; `columns` are the table's columns by id."""
    changed = (ID_COLUMN, *(columns[key] for key in cells.values))
    arrays = [from_numpy(np.ascontiguousarray(cells.ids)), *cells.values.values()]
    rows = pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, c.type) for c in changed]))
    pieces = (rows.slice(at, ROWS_A_GROUP) for at in range(0, len(rows), ROWS_A_GROUP))
    return tuple(write_files(pieces, changed, staging, suffix=SUFFIX))


def _whole(segment: FileSegment, columns: Sequence[Column]) -> list[pa.Array]:
    groups = range(unchanged_footer(segment).metadata.num_row_groups)
    return [combine_chunks(values) for values in run_chunks(segment, groups, columns, None)[0]]
