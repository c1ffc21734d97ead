"""Parts in memory of the rows whose texts no data file has: pending rows, and rows with pending cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.ascending import EMPTY, among, union, without
from core.index.fulltext.part import Part, TooLarge, build
from core.scan.pieces import changed_cells
from core.scan.rows import take_rows
from core.scan.snapshot import Column, FileSegment, Snapshot

MOST_LAYERS = 8
Row = tuple[object, ...]
"""The indexed cells of a row, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A part, and of each of its rows the position and the cells it was made of."""

    part: Part
    positions: np.ndarray
    rows: Sequence[Row]


@dataclass(frozen=True, eq=False)
class Placed:
    """A part in a snapshot. Its rows are at `positions`, -1 for those that are something else by now; None
    for rows one behind the other from `start` on, but for those at positions that are `gone`."""

    part: Part
    positions: np.ndarray | None = None
    start: int = 0
    gone: np.ndarray = field(default_factory=lambda: EMPTY)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Their positions, -1 for those that are something else by now."""
        if self.positions is not None:
            placed: np.ndarray = self.positions[rows]
            return placed
        found = rows + self.start
        return np.where(among(found, self.gone), -1, found) if len(self.gone) else found


class Pending:
    """Of one index, in the same columns. What was made for a snapshot is used for the next one, as far as it
    is still true."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._layers: list[Layer] = []

    def of(self, snapshot: Snapshot, columns: Sequence[Column], usual: Mapping[int, float]) -> list[Placed]:
        """Parts of all rows that no data file has as they are."""
        positions = outside(snapshot, columns)
        wanted = dict(zip(positions.tolist(), _rows(snapshot, columns, positions), strict=True))
        placed, missing = self._held(wanted)
        if self._is_worn(len(wanted), len(missing)):
            self._layers, placed, missing = [], [], wanted
        if missing:
            keys = [column.key for column in columns]
            made = list(_layers(missing, keys, self._language, usual))
            self._layers += made
            placed += [Placed(layer.part, layer.positions) for layer in made]
        return placed

    def _held(self, wanted: Mapping[int, Row]) -> tuple[list[Placed], dict[int, Row]]:
        """What is held of it, and the rest. A layer without any of it is let go: its words would count."""
        missing, placed, of_use = dict(wanted), list[Placed](), list[Layer]()
        for layer in self._layers:
            valid = np.full(layer.part.rows, -1, np.int64)
            for place, (position, row) in enumerate(zip(layer.positions.tolist(), layer.rows, strict=True)):
                if position in missing and missing[position] == row:
                    valid[place] = position
                    del missing[position]
            if (valid >= 0).any():
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


def _rows(snapshot: Snapshot, columns: Sequence[Column], positions: np.ndarray) -> list[Row]:
    table = take_rows(snapshot, positions, columns)
    cells = [[_kept(cell) for cell in column.to_pylist()] for column in table.columns]
    return list(zip(*cells, strict=True))


def _kept(cell: object) -> object:
    """In a form that equals another only if it says the same."""
    return tuple(cell) if isinstance(cell, list) else cell


def _layers(
    rows: Mapping[int, Row], keys: Sequence[int], language: str | None, usual: Mapping[int, float]
) -> list[Layer]:
    texts = dict(zip(keys, zip(*rows.values(), strict=True), strict=True))
    try:
        part = build(texts, len(rows), language, usual)
    except TooLarge:
        halves, middle = list(rows.items()), len(rows) // 2
        first, last = dict(halves[:middle]), dict(halves[middle:])
        return _layers(first, keys, language, usual) + _layers(last, keys, language, usual)
    return [Layer(part, np.fromiter(rows, np.int64, len(rows)), list(rows.values()))]
