"""Changed cells, as commits leave them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.arrays import take
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
    batch = pa.RecordBatch.from_arrays(list(values.values()), names=list(map(str, values)))
    if any(map(pa.types.is_dictionary, batch.schema.types)):
        batch = pa.RecordBatch.from_arrays(list(map(_plain, batch.columns)), names=batch.schema.names)
    return json.dumps([entries[key] for key in values]), batch.serialize().to_pybytes()


def from_batch(
    columns: str, batch: bytes, entries: Mapping[int, tuple[int, pa.DataType]]
) -> dict[int, pa.Array]:
    """The way back; `entries` maps a catalog entry to its column id and type."""
    fields = [pa.field(str(entries[e][0]), _plain_type(entries[e][1])) for e in json.loads(columns)]
    read = pa.ipc.read_record_batch(pa.py_buffer(batch), pa.schema(fields))
    return {int(name): read.column(i) for i, name in enumerate(read.schema.names)}


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
        return Cells(changes[0].ids, {c.key: _as(changes[0].values[c.key], c.type) for c in columns})
    ids = np.concatenate([c.ids for c in changes])
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    last = order[np.append(ordered[1:] != ordered[:-1], True)]
    joined = {c.key: pa.concat_arrays([_as(x.values[c.key], c.type) for x in changes]) for c in columns}
    return Cells(ids[last], {key: take(values, last) for key, values in joined.items()})


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type.equals(kind) else values.cast(kind)


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
