"""Converts `_id`s to positions and back: by arithmetic where ids have no gaps, elsewhere by binary search."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, UnknownRow, short_text
from lamella.core.scan.read import Piece, pieces, take_rows
from lamella.core.scan.snapshot import Column, Snapshot

ID_COLUMN = Column(ID, pa.int64(), 0)
NO_ROW = (-1, -1)
"""An id that no row has, and the position for "not found"."""


class IdentifiedRows(Protocol):
    """Rows at a version, each with an `_id`."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def ranges(self) -> IdRanges: ...

    def locate(self, ids: np.ndarray) -> np.ndarray:
        """The positions of these ids, -1 for those that no live row has."""
        ...


@dataclass(frozen=True, eq=False)
class IdRanges:
    """The first and last `_id` of each segment, ascending and disjoint, in the snapshot's order."""

    first: np.ndarray
    last: np.ndarray

    def locate(self, snapshot: Snapshot, ids: np.ndarray) -> np.ndarray:
        """The positions of these ids, -1 if no segment contains one; deleted rows are found too."""
        if len(self.first) == 0 or len(ids) == 0:
            return np.full(len(ids), -1, np.int64)
        if len(ids) == 1:
            return self._locate_id(snapshot, ids)
        segment = self.first.searchsorted(ids, side="right") - 1
        low, high = int(segment.min()), int(segment.max())
        if low == high >= 0 and int(ids.max()) <= self.last[low]:
            return self._within(snapshot, low, ids)
        positions = np.full(len(ids), -1, np.int64)
        inside = (segment >= 0) & (ids <= self.last[np.maximum(segment, 0)])
        for number in distinct(segment[inside]):
            places = np.flatnonzero(inside & (segment == number))
            positions[places] = self._within(snapshot, int(number), ids[places])
        return positions

    def _locate_id(self, snapshot: Snapshot, ids: np.ndarray) -> np.ndarray:
        """Like `locate` for one id. A change of a row looks it up repeatedly, so the last one is cached,
        which is valid as long as these ranges."""
        row_id = int(ids[0])
        last: tuple[int, int] = self.__dict__.get("_last_found", NO_ROW)
        if last[0] != row_id:
            last = self.__dict__["_last_found"] = (row_id, self._position(snapshot, row_id))
        return np.array(last[1:], np.int64)

    def _position(self, snapshot: Snapshot, row_id: int) -> int:
        number = int(self.first.searchsorted(row_id, side="right")) - 1
        if number < 0 or row_id > self.last[number]:
            return -1
        return int(self._within(snapshot, number, np.array([row_id], np.int64))[0])

    def behind(self, snapshot: Snapshot, row_id: int) -> int:
        """The first position whose `_id` is greater than `row_id`, which need not exist."""
        number = int(np.searchsorted(self.last, row_id, side="right"))
        start = int(snapshot.segment_starts[number])
        if number == len(self.last) or self.first[number] > row_id:
            return start
        rows = snapshot.segments[number].num_rows
        if self.last[number] - self.first[number] + 1 == rows:
            return start + row_id - int(self.first[number]) + 1
        ids = ids_between(snapshot, start, start + rows)
        return start + int(np.searchsorted(ids, row_id, side="right"))

    def at(self, snapshot: Snapshot, positions: np.ndarray) -> np.ndarray | None:
        """The ids at these positions, in their order; None if a segment with gaps has to be read."""
        starts = snapshot.segment_starts
        segment = starts.searchsorted(positions, side="right") - 1
        with_gaps = self.last - self.first + 1 != starts[1:] - starts[:-1]
        if with_gaps[segment].any():
            return None
        dense: np.ndarray = positions + (self.first - starts[:-1])[segment]
        return dense

    def _within(self, snapshot: Snapshot, number: int, ids: np.ndarray) -> np.ndarray:
        start, rows = int(snapshot.segment_starts[number]), snapshot.segments[number].num_rows
        if self.last[number] - self.first[number] + 1 == rows:
            dense: np.ndarray = ids - self.first[number] + start
            return dense
        block_ids = ids_between(snapshot, start, start + rows)
        at = np.minimum(np.searchsorted(block_ids, ids), len(block_ids) - 1)
        return np.where(block_ids[at] == ids, at + start, -1)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """The distinct numbers, ascending; for small numbers."""
    return np.flatnonzero(np.bincount(numbers)) if len(numbers) else numbers


def ids_between(snapshot: Snapshot, first: int, stop: int) -> np.ndarray:
    """The `_id`s at positions first … stop-1, which must be whole pieces; includes deleted rows."""
    return np.concatenate([_ids_of(piece) for piece in pieces(snapshot, first, stop)])


def _ids_of(piece: Piece) -> np.ndarray:
    return to_numpy(piece.chunks([ID_COLUMN])[0])


def lie_between(under_way: Sequence[tuple[int, int]], before: int, after: int) -> bool:
    """Whether ids reserved for rows being staged lie between the two, so that no file may span them."""
    return any(before < first and last < after for first, last in under_way)


def ids_at(state: IdentifiedRows, positions: np.ndarray) -> np.ndarray:
    ids = state.ranges.at(state.snapshot, positions)
    return to_numpy(take_rows(state.snapshot, positions, [ID_COLUMN]).column(0)) if ids is None else ids


def known_ids(state: IdentifiedRows, ids: Iterable[int], ignore_missing: bool = False) -> np.ndarray:
    """Return `ids` ascending and distinct; raise `UnknownRow` naming the first that is not in the table,
    unless `ignore_missing` leaves these out."""
    row_ids = ids_of(state, list(ids))
    if ignore_missing:
        row_ids = row_ids[state.locate(row_ids) >= 0]
    else:
        refuse_unknown(state, row_ids)
    return distinct(row_ids)


def refuse_unknown(state: IdentifiedRows, ids: np.ndarray) -> None:
    unknown = ids[state.locate(ids) < 0]
    if len(unknown):
        raise UnknownRow(
            f"{state.snapshot.name} has no row with {ID} {unknown[0]}",
            fix="It may have been deleted; read the table again",
        )


def ids_of(state: IdentifiedRows, values: Sequence[Any]) -> np.ndarray:
    """Convert ids, in the order given; raise `BadData` naming the first that is not a 64-bit integer."""
    ids = None if bool in set(map(type, values)) else _as_ids(values)
    if ids is not None:
        return ids
    raise _no_id(state, next(value for value in values if not _is_id(value)))


def _no_id(state: IdentifiedRows, bad: Any) -> BadData:
    return BadData(
        f"{state.snapshot.name}: {short_text(bad)} is not an {ID}",
        f"every {ID} has to be a whole number of at most 64 bits",
        f"Give values of the table's column {ID}",
    )


def _as_ids(values: Sequence[Any]) -> np.ndarray | None:
    try:
        return np.fromiter(map(operator.index, values), np.int64, len(values))
    except (TypeError, OverflowError):
        return None


def _is_id(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and -(2**63) <= operator.index(value) < 2**63
    except TypeError:
        return False
