"""The rows of a snapshot that SQLite has to see: row groups are skipped by their statistics, rows by their
decoded values, and only the columns that a statement reads are decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.arrays import to_numpy
from lamella.core.bridge.column_types import column_type
from lamella.core.bridge.kept_rows import Block, KeptRows
from lamella.core.bridge.orders import Floats, inside
from lamella.core.bridge.statistics import ALL_NULL, UNKNOWN, Extent, extents
from lamella.core.bridge.wanted import Wanted
from lamella.core.scan.footers import unchanged
from lamella.core.scan.pieces import Piece, changed_cells, pieces
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

FIRST_BLOCK, LARGEST_BLOCK = 64, 1 << 14
"""Rows: who looks at a few does not wait for many."""


@dataclass
class RowGroups:
    """How many row groups of files were decoded for SQLite, and how many were left out unread."""

    read: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Condition:
    column: Column
    wanted: Wanted


@dataclass(frozen=True)
class Scan:
    """`id_column` has the row ids; without one they are the numbers of the rows, from 1, of which those in
    `numbers` are wanted."""

    snapshot: Snapshot
    columns: Sequence[Column]
    conditions: Sequence[Condition]
    numbers: Sequence[Wanted]
    id_column: Column | None
    counted: RowGroups

    def blocks(self) -> Iterator[Block]:
        """Rows in the snapshot's own order."""
        rows = FIRST_BLOCK
        for piece in pieces(self.snapshot, 0, self.snapshot.num_positions):
            held = self._may_hold(piece)
            self._count(piece, held)
            kept, first = self._kept(piece) if held else None, 0
            while kept is not None and first < len(kept):
                yield kept.block(self.columns, first, rows)
                first, rows = first + rows, min(4 * rows, LARGEST_BLOCK)

    def _count(self, piece: Piece, held: bool) -> None:
        if isinstance(piece.segment, FileSegment):
            self.counted.read += held
            self.counted.skipped += not held

    def _may_hold(self, piece: Piece) -> bool:
        numbers = Extent(piece.first + 1, piece.stop, nulls=False)
        return all(numbers.meets(wanted) for wanted in self.numbers) and all(
            _may_hold(self.snapshot, piece, condition) for condition in self.conditions
        )

    def _kept(self, piece: Piece) -> KeptRows:
        rows = KeptRows(self.snapshot, piece, self.id_column)
        for wanted in self.numbers:
            rows.keep(inside(rows.positions + 1, wanted))
        for condition in self.conditions:
            if not len(rows):
                break
            rows.keep(_meeting(condition, rows.values(condition.column)))
        return rows


def _may_hold(snapshot: Snapshot, piece: Piece, condition: Condition) -> bool:
    """Whether some row of the piece may be wanted, as far as can be told without decoding it."""
    segment, column = piece.segment, condition.column
    if not isinstance(segment, FileSegment) or _changed(snapshot, piece, column):
        return UNKNOWN.meets(condition.wanted)
    name, constant = segment.names.get(column.key), segment.constants.get(column.key)
    if name is None and constant is not None:
        return bool(_meeting(condition, pa.chunked_array([constant])).any())
    extent = ALL_NULL if name is None else extents(unchanged(segment), name, column)[piece.row_groups.start]
    return extent.meets(condition.wanted)


def _changed(snapshot: Snapshot, piece: Piece, column: Column) -> bool:
    """Whether pending changes give some row of the piece a value that its file knows nothing of."""
    changed = changed_cells(snapshot, column)
    if changed is None:
        return False
    low, high = np.searchsorted(changed[0], [piece.first, piece.stop])
    return bool(low < high)


def _meeting(condition: Condition, values: pa.ChunkedArray) -> np.ndarray:
    """Which of the values may be wanted. NaN is null in SQLite."""
    order, wanted = column_type(condition.column.type).order, condition.wanted
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    null = to_numpy(values.is_null(nan_is_null=isinstance(order, Floats)))
    needed = None if wanted.all_values else order
    found = np.ones(len(values), bool) if needed is None else needed.mask(values, wanted)
    return np.where(null, wanted.nulls, found)
