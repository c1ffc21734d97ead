"""Parts in memory of the rows whose texts no data file has: pending rows, and rows with pending cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import take, to_numpy
from lamella.core.ascending import EMPTY, among, union, without
from lamella.core.index.fulltext.part import Part, build
from lamella.core.index.fulltext.writing import TooLarge
from lamella.core.scan.pieces import changed_cells
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

MOST_LAYERS = 8
TEXTS = (pa.string(), pa.large_string())
"""Those that are compared all at once."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A part, and of each of its rows the position, ascending, and the cells it was made of."""

    part: Part
    positions: np.ndarray
    cells: pa.Table


@dataclass(frozen=True, eq=False)
class Placed:
    """A part in a snapshot. Its rows are at `positions`, -1 for those that are something else by now; None
    for rows one behind the other from `start` on, but for those at positions that are `gone`."""

    part: Part
    positions: np.ndarray | None = None
    start: int = 0
    gone: np.ndarray = field(default_factory=lambda: EMPTY)

    @cached_property
    def left_out(self) -> int:
        """How many of the part's documents are no row of the snapshot."""
        rows = self.part.rows
        if self.positions is not None:
            return self.part.documents - int((self.positions >= 0).sum())
        low, high = np.searchsorted(self.gone, (self.start, self.start + rows))
        return self.part.documents - rows + int(high - low)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Their positions, -1 for those that are something else by now."""
        if self.positions is not None:
            placed: np.ndarray = self.positions[rows]
            return placed
        found = rows + self.start
        return np.where(among(found, self.gone), -1, found) if len(self.gone) else found

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """The rows that are at one of these positions, ascending."""
        if self.positions is not None:
            found: np.ndarray = np.flatnonzero(among(self.positions, positions))
            return found
        low, high = np.searchsorted(positions, (self.start, self.start + self.part.rows))
        return without(positions[low:high], self.gone) - self.start


class Pending:
    """Of one index, in the same columns. What was made for a snapshot is used for the next one, as far as it
    is still true."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._layers: list[Layer] = []

    def of(self, snapshot: Snapshot, columns: Sequence[Column], usual: Mapping[int, float]) -> list[Placed]:
        """Parts of all rows that no data file has as they are."""
        positions = outside(snapshot, columns)
        cells = take_rows(snapshot, positions, columns)
        placed, missing = self._held(positions, cells)
        if self._is_worn(len(positions), int(missing.sum())):
            self._layers, placed = [], []
            missing[:] = True
        if missing.any():
            keys, rows = [column.key for column in columns], np.flatnonzero(missing)
            made = list(_layers(positions[rows], take(cells, rows), keys, self._language, usual))
            self._layers += made
            placed += [Placed(layer.part, layer.positions) for layer in made]
        return placed

    def _held(self, positions: np.ndarray, cells: pa.Table) -> tuple[list[Placed], np.ndarray]:
        """What is held of these rows, and which are not. A layer without any of them is let go: its words
        would count."""
        missing, placed, of_use = np.ones(len(positions), np.bool_), list[Placed](), list[Layer]()
        for layer in self._layers:
            rows = np.flatnonzero(among(layer.positions, positions))
            wanted = np.searchsorted(positions, layer.positions[rows])
            rows, wanted = rows[missing[wanted]], wanted[missing[wanted]]
            same = _same(take(layer.cells, rows), take(cells, wanted))
            valid = np.full(layer.part.rows, -1, np.int64)
            valid[rows[same]] = layer.positions[rows[same]]
            missing[wanted[same]] = False
            if same.any():
                of_use.append(layer)
                placed.append(Placed(layer.part, valid))
        self._layers = of_use
        return placed, missing

    def _is_worn(self, wanted: int, missing: int) -> bool:
        """Whether the layers are many, or most of what is in them is not true any more."""
        held = sum(layer.part.rows for layer in self._layers)
        return (missing > 0 and len(self._layers) >= MOST_LAYERS) or held + missing > 2 * wanted


def outside(snapshot: Snapshot, columns: Sequence[Column]) -> np.ndarray:
    """Positions of the live rows that are in memory, or have pending cells in one of the columns."""
    starts = snapshot.segment_starts
    loose = [
        np.arange(starts[number], starts[number + 1])
        for number, segment in enumerate(snapshot.segments)
        if not isinstance(segment, FileSegment)
    ]
    return without(union(changed(snapshot, columns), *loose), snapshot.deleted)


def changed(snapshot: Snapshot, columns: Sequence[Column]) -> np.ndarray:
    """Positions with pending cells in one of the columns."""
    cells = [changed_cells(snapshot, column) for column in columns]
    return union(EMPTY, *(found[0] for found in cells if found is not None))


def _same(cells: pa.Table, others: pa.Table) -> np.ndarray:
    """Which rows say the same in all columns."""
    same = np.ones(len(cells), np.bool_)
    for column, other in zip(cells.columns, others.columns, strict=True):
        if column.type == other.type and column.type in TEXTS:
            null, nothing = to_numpy(column.is_null()), to_numpy(other.is_null())
            same &= (null & nothing) | (to_numpy(pc.equal(column, other)) & ~null & ~nothing)
        else:
            pairs = zip(column.to_pylist(), other.to_pylist(), strict=True)
            same &= np.fromiter((cell == there for cell, there in pairs), np.bool_, len(cells))
    return same


def _layers(
    positions: np.ndarray,
    cells: pa.Table,
    keys: Sequence[int],
    language: str | None,
    usual: Mapping[int, float],
) -> list[Layer]:
    texts = dict(zip(keys, cells.columns, strict=True))
    try:
        part = build(texts, len(positions), language, usual)
    except TooLarge:
        middle = len(positions) // 2
        first = _layers(positions[:middle], cells.slice(0, middle), keys, language, usual)
        return first + _layers(positions[middle:], cells.slice(middle), keys, language, usual)
    return [Layer(part, positions, cells)]
