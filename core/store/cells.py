"""Changed cells, as commits leave them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.arrays import in_one, take
from core.scan.batch_values import BatchValues
from core.scan.snapshot import Column


@dataclass(frozen=True, eq=False)
class Cells:
    """New values of some rows: ascending `ids`, and one value for each in every column (by column id).

    `made` is the version that changed them; where two change one cell, the later one holds. A change file's
    values are read when they are asked for.
    """

    ids: np.ndarray
    values: Mapping[int, pa.Array]
    made: int = 0

    def only(self, kept: np.ndarray) -> Cells:
        """The rows for which `kept` is True."""
        keep = np.flatnonzero(kept)
        values = {key: take(values, keep) for key, values in self.values.items()}
        return Cells(self.ids[keep], values, self.made)


def to_batch(values: Mapping[int, pa.Array], entries: Mapping[int, int]) -> tuple[str, bytes]:
    """Columns as (their catalog entries, an Arrow IPC record batch message without its schema)."""
    return json.dumps([entries[key] for key in values]), _batch(values).serialize().to_pybytes()


def _batch(values: Mapping[int, pa.Array]) -> pa.RecordBatch:
    if isinstance(values, BatchValues):
        return values.batch
    return pa.RecordBatch.from_arrays(list(map(_plain, values.values())), names=list(map(str, values)))


def from_batch(columns: str, batch: bytes, entries: Mapping[int, tuple[int, pa.DataType]]) -> BatchValues:
    """The way back; `entries` maps a catalog entry to its column id and type."""
    found = [entries[entry] for entry in json.loads(columns)]
    schema = pa.schema([pa.field(str(key), _plain_type(kind)) for key, kind in found])
    read = pa.ipc.read_record_batch(pa.py_buffer(batch), schema)
    return BatchValues(tuple(key for key, _ in found), read)


def latest(changes: Iterable[Cells], columns: Iterable[Column]) -> list[Cells]:
    """The last value each cell was given, as few groups of columns that changed in the same rows."""
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


def _latest_of(columns: Sequence[Column], changes: list[Cells]) -> Cells:
    if len(changes) == 1:
        return Cells(changes[0].ids, {c.key: as_type(changes[0].values[c.key], c.type) for c in columns})
    ids = np.concatenate([c.ids for c in changes])
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    last = order[np.append(ordered[1:] != ordered[:-1], True)]
    schema = pa.schema([pa.field(str(c.key), c.type) for c in columns])
    rows = take(pa.concat_tables([_table(x.values, columns, schema) for x in changes]).combine_chunks(), last)
    return Cells(ids[last], {c.key: in_one(rows.column(place)) for place, c in enumerate(columns)})


def _table(values: Mapping[int, pa.Array], columns: Sequence[Column], schema: pa.Schema) -> pa.Table:
    if isinstance(values, BatchValues):
        batch = values.select([c.key for c in columns]).rename_columns(schema.names)
        if batch.schema.equals(schema):
            return pa.Table.from_batches([batch])
    arrays = [as_type(values[c.key], c.type) for c in columns]
    return pa.Table.from_arrays(arrays, schema=schema)


def as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type.equals(kind) else values.cast(kind)


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
