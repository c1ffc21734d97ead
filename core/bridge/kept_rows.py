"""The rows of one piece of a snapshot, narrowed down before SQLite sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take, to_numpy
from lamella.core.bridge.column_types import column_type
from lamella.core.query.masks import pays
from lamella.core.scan.caches import browsed, cache
from lamella.core.scan.pieces import Piece
from lamella.core.scan.rows import finish
from lamella.core.scan.snapshot import Column, Snapshot


@dataclass(frozen=True, eq=False)
class Block:
    """`columns` are lists of values as SQLite takes them, each of `size`."""

    columns: list[list[Any]]
    size: int
    _numbers: Callable[[], np.ndarray]

    @cached_property
    def row_ids(self) -> list[int]:
        found: list[int] = self._numbers().tolist()
        return found


class KeptRows:
    """The live rows of a piece, or those of them that were kept. A column is decoded when first read."""

    def __init__(self, snapshot: Snapshot, piece: Piece, id_column: Column | None) -> None:
        self._snapshot, self._piece, self._id_column = snapshot, piece, id_column
        self._into = cache if pays(snapshot) else browsed
        self._decoded: dict[Column, pa.ChunkedArray] = {}
        self._kept: np.ndarray | None = None
        low, high = np.searchsorted(snapshot.deleted, [piece.first, piece.stop])
        self.positions = np.delete(
            np.arange(piece.first, piece.stop), snapshot.deleted[low:high] - piece.first
        )

    def __len__(self) -> int:
        return len(self.positions)

    def decode(self, columns: Iterable[Column]) -> None:
        """Several at once, which is faster than one after the other."""
        missing = [column for column in columns if column not in self._decoded]
        if not missing:
            return
        stored = self._piece.stored(self._snapshot, missing, self._into)
        table = finish(self._snapshot, self._piece.first, self._piece.stop, missing, stored)
        for column, values in zip(missing, table.columns, strict=True):
            self._decoded[column] = values if self._kept is None else take(values, self._kept)

    def values(self, column: Column) -> pa.ChunkedArray:
        self.decode([column])
        return self._decoded[column]

    def keep(self, mask: np.ndarray) -> None:
        """Only the rows where it is true."""
        if mask.all():
            return
        places = np.flatnonzero(mask)
        self.positions = self.positions[places]
        self._kept = places if self._kept is None else self._kept[places]
        self._decoded = {column: take(values, places) for column, values in self._decoded.items()}

    def block(self, columns: Sequence[Column], first: int, rows: int) -> Block:
        """At most `rows` of them from the `first` on."""
        self.decode(columns)
        stop = min(first + rows, len(self))
        lists = [_listed(column, self._decoded[column].slice(first, stop - first)) for column in columns]
        return Block(lists, stop - first, lambda: self._numbers(first, stop))

    def _numbers(self, first: int, stop: int) -> np.ndarray:
        if self._id_column is None:
            numbers: np.ndarray = self.positions[first:stop] + 1
            return numbers
        return to_numpy(self.values(self._id_column).slice(first, stop - first))


def _listed(column: Column, values: pa.ChunkedArray) -> list[Any]:
    parts = [column_type(column.type).values(chunk) for chunk in values.chunks]
    return parts[0] if len(parts) == 1 else [value for part in parts for value in part]
