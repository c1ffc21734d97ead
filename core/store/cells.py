"""Changed cells and how they pile up: each commit's few, and all of them as one overlay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy
from core.scan.snapshot import Column, Overlay


@dataclass(frozen=True, eq=False)
class Cells:
    """New values of some rows: ascending `ids`, and one value for each in every column (by column id).

    `made` is the version that changed them; where two change one cell, the later one holds.
    """

    ids: np.ndarray
    values: Mapping[int, pa.Array]
    made: int = 0

    def without(self, gone: np.ndarray) -> Cells:
        keep = np.flatnonzero(~np.isin(self.ids, gone))
        places = from_numpy(keep)
        values = {key: values.take(places) for key, values in self.values.items()}
        return Cells(self.ids[keep], values, self.made)


def to_batch(values: Mapping[int, pa.Array], entries: Mapping[int, int]) -> tuple[str, bytes]:
    """Columns as (their catalog entries, an Arrow IPC record batch message without its schema)."""
    names = [str(key) for key in values]
    batch = pa.RecordBatch.from_arrays([_plain(array) for array in values.values()], names=names)
    return json.dumps([entries[key] for key in values]), batch.serialize().to_pybytes()


def from_batch(
    columns: str, batch: bytes, entries: Mapping[int, tuple[int, pa.DataType]]
) -> dict[int, pa.Array]:
    """The way back; `entries` maps a catalog entry to its column id and type."""
    fields = [pa.field(str(entries[e][0]), _plain_type(entries[e][1])) for e in json.loads(columns)]
    read = pa.ipc.read_record_batch(pa.py_buffer(batch), pa.schema(fields))
    return {int(name): read.column(i) for i, name in enumerate(read.schema.names)}


def latest(changes: Iterable[Cells], columns: Iterable[Column]) -> dict[int, tuple[np.ndarray, pa.Array]]:
    """Per column the ids changed, ascending, and the last value each was given."""
    ordered = list(changes)
    found = {c.key: _latest_of(c, [x for x in ordered if c.key in x.values]) for c in columns}
    return {key: cells for key, cells in found.items() if cells is not None}


def placed(
    cells: Mapping[int, tuple[np.ndarray, pa.Array]], locate: Callable[[np.ndarray], np.ndarray]
) -> Overlay | None:
    """Cells by id as an overlay by position; cells of rows that are gone are left out."""
    overlay = {}
    for key, (ids, values) in cells.items():
        positions = locate(ids)
        there = np.flatnonzero(positions >= 0)
        if len(there):
            kept = values if len(there) == len(ids) else values.take(from_numpy(there))
            overlay[key] = (positions[there], kept)
    return Overlay(overlay) if overlay else None


def _latest_of(column: Column, changes: list[Cells]) -> tuple[np.ndarray, pa.Array] | None:
    if not changes:
        return None
    ids = np.concatenate([c.ids for c in changes])
    values = pa.concat_arrays([_as(c.values[column.key], column.type) for c in changes])
    if len(changes) == 1:
        return ids, values
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    last = order[np.append(ordered[1:] != ordered[:-1], True)]
    return ids[last], values.take(from_numpy(last))


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type.equals(kind) else values.cast(kind)


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
