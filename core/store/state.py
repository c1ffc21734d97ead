"""A table at a version, put together from what the catalog says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy
from lamella.core.ascending import among, union
from lamella.core.scan.batch_values import named_by_key
from lamella.core.scan.overlay import Overlay, Part
from lamella.core.scan.snapshot import Column, MemorySegment, Segment, Snapshot
from lamella.core.store.catalog import TableRow
from lamella.core.store.cells import Cells
from lamella.core.store.commit import Metadata
from lamella.core.store.evolution import KnownPlans
from lamella.core.store.ids import ID_COLUMN, IdRanges


@dataclass(frozen=True)
class Held:
    """A segment and the catalog entry it comes from. `made` is the version up to which the segment holds
    the changes of its rows: pending cells made later lie over it."""

    kind: str
    entry: int
    first_id: int
    last_id: int
    made: int
    segment: Segment


@dataclass(frozen=True, eq=False)
class State:
    """A table at a version: what its catalog entries say, and the snapshot they make.

    `columns` are without `_id`, which the snapshot's begin with. `cells` are by (kind, entry), in the order
    they were made.
    """

    row: TableRow
    version: int
    columns: tuple[Column, ...]
    column_entries: dict[int, int]
    metadata: Metadata
    metadata_entries: dict[tuple[int, bytes], int]
    held: tuple[Held, ...]
    cells: Mapping[tuple[str, int], Cells]
    deletions: Mapping[int, np.ndarray]
    snapshot: Snapshot

    @cached_property
    def ranges(self) -> IdRanges:
        return _ranges(self.held)

    @cached_property
    def plans(self) -> KnownPlans:
        return KnownPlans()

    def locate(self, ids: np.ndarray) -> np.ndarray:
        """Positions of live rows; -1 for ids that are not, or no longer, in the table."""
        positions = self.ranges.locate(self.snapshot, ids)
        if len(self.snapshot.deleted):
            positions[among(positions, self.snapshot.deleted)] = -1
        return positions

    def live(self, changes: Sequence[Cells]) -> list[Cells]:
        """The cells that lie over their rows still: not of rows that are gone, nor in the segment already."""
        there = _over(self.held, self.ranges, self.snapshot, changes)
        return [c if p.min(initial=0) >= 0 else c.only(p >= 0) for c, p in zip(changes, there, strict=True)]

    def lie_over(self, cells: Cells) -> np.ndarray:
        """Which of the cells' rows are live and do not hold them yet."""
        (positions,) = _over(self.held, self.ranges, self.snapshot, [cells])
        there: np.ndarray = positions >= 0
        return there

    def with_cells(self, version: int, entry: int, cells: Cells) -> State:
        """The next version, in which one entry of pending cells was added and nothing else."""
        positions = self.ranges.locate(self.snapshot, cells.ids)
        snapshot = self._snapshot(version, overlay=self._overlaid(cells, positions))
        return self._next(snapshot, cells={**self.cells, ("pending_cells", entry): cells})

    def with_deletion(self, version: int, entry: int, ids: np.ndarray) -> State:
        """The next version, in which these rows were deleted and nothing else."""
        positions = self.ranges.locate(self.snapshot, ids)
        deleted = _inserted(self.snapshot.deleted, np.sort(positions))
        snapshot = self._snapshot(version, deleted=deleted)
        return self._next(snapshot, deletions={**self.deletions, entry: ids})

    def with_rows(self, version: int, added: Held) -> State | None:
        """The next version, in which these rows were added and nothing else; None unless they come last."""
        if self.held and self.held[-1].last_id >= added.first_id:
            return None
        segments = (*self.snapshot.segments, added.segment)
        snapshot = self._snapshot(version, segments=segments)
        return self._next(snapshot, held=(*self.held, added))

    def _overlaid(self, cells: Cells, positions: np.ndarray) -> Overlay | None:
        held, changes = self.snapshot.overlay, [(cells, positions)]
        if held is None:
            return overlaid(None, self.columns, changes)
        return held.followed_by(held.types, _parts(changes))

    def _snapshot(self, version: int, **changed: Any) -> Snapshot:
        return replace(self.snapshot, token=_token(self.row, version), **changed)

    def of_row(self, row: TableRow) -> State:
        """The same content, of a table that was renamed, or as a transaction sees it and after that."""
        snapshot = replace(self.snapshot, name=row.name, token=_token(row, self.version))
        return self._following(snapshot, row)

    def _next(self, snapshot: Snapshot, **changed: Any) -> State:
        version = int(snapshot.token[1])  # type: ignore[call-overload]
        return self._following(snapshot, replace(self.row, version=version), version=version, **changed)

    def _following(self, snapshot: Snapshot, row: TableRow, **changed: Any) -> State:
        following = replace(self, row=row, snapshot=snapshot, **changed)
        if following.held is self.held:  # what was worked out for the same segments holds
            following.__dict__["ranges"] = self.ranges
            following.snapshot.__dict__["segment_starts"] = self.snapshot.segment_starts
        following.__dict__["plans"] = self.plans
        return following


def state_of(
    row: TableRow,
    version: int,
    columns: tuple[Column, ...],
    column_entries: dict[int, int],
    metadata: dict[tuple[int, bytes], tuple[int, bytes]],
    held: tuple[Held, ...],
    cells: Mapping[tuple[str, int], Cells],
    deletions: Mapping[int, np.ndarray],
) -> State:
    """`metadata` gives (entry, value); `held` is in `_id` order and `cells` in the order they were made."""
    ranges = _ranges(held)
    segments, token = tuple(h.segment for h in held), _token(row, version)
    bare = Snapshot(row.name, (ID_COLUMN, *columns), segments, token, ids=ID_COLUMN)
    gone = ranges.locate(bare, union(*deletions.values()))
    changes = tuple(cells.values())
    places = zip(changes, _over(held, ranges, bare, changes), strict=True)
    snapshot = replace(bare, deleted=gone[gone >= 0], overlay=overlaid(None, columns, places))
    values = {key: value for key, (_, value) in metadata.items()}
    entries = {key: entry for key, (entry, _) in metadata.items()}
    return State(
        row, version, columns, column_entries, values, entries, held, cells, deletions, snapshot
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PendingRows(MemorySegment):
    """Rows with ids that follow each other; `values` gives those of all columns but `_id`, by column id."""

    values: Callable[[], Mapping[int, pa.Array]]

    @classmethod
    def numbered(cls, first_id: int, count: int, values: Callable[[], Mapping[int, pa.Array]]) -> PendingRows:
        return cls(count, lambda: _numbered(first_id, count, values()), values)


def _numbered(first_id: int, count: int, values: Mapping[int, pa.Array]) -> pa.Table:
    ids = from_numpy(np.arange(first_id, first_id + count, dtype=np.int64))
    numbered = pa.RecordBatch.from_arrays([ids], [str(ID_COLUMN.key)])
    if values:
        numbered = named_by_key(values).add_column(0, numbered.schema.field(0), ids)
    return pa.Table.from_batches([numbered])


def overlaid(
    overlay: Overlay | None, columns: Sequence[Column], changes: Iterable[tuple[Cells, np.ndarray]]
) -> Overlay | None:
    """`overlay` with later changes on top: cells, and the position of each row, -1 for none."""
    lying = _parts(changes)
    if overlay is None:
        return Overlay({c.key: c.type for c in columns}, lying) if lying else None
    types = {c.key: c.type for c in columns}
    return overlay.followed_by(overlay.types if overlay.types == types else types, lying)


def _parts(changes: Iterable[tuple[Cells, np.ndarray]]) -> list[Part]:
    parts = [_part(cells, positions) for cells, positions in changes if len(positions)]
    return [part for part in parts if len(part.positions)]


def _part(cells: Cells, positions: np.ndarray) -> Part:
    if int(positions.min()) >= 0:
        return Part(positions, cells.values)
    there = np.flatnonzero(positions >= 0)
    return Part(positions[there], cells.values, there)


def _over(
    held: tuple[Held, ...], ranges: IdRanges, snapshot: Snapshot, changes: Sequence[Cells]
) -> list[np.ndarray]:
    """For each of the changes the positions of its rows, -1 where one is gone or its segment holds them. All
    are looked up together: many are of a single row."""
    if not changes:
        return []
    sizes = [len(cells.ids) for cells in changes]
    positions = ranges.locate(snapshot, np.concatenate([cells.ids for cells in changes]))
    made = np.array([h.made for h in held], np.int64)
    if len(made) and int(made.max()) >= min(cells.made for cells in changes):
        segments = np.searchsorted(snapshot.segment_starts, positions, side="right") - 1
        positions[made[segments] >= np.repeat([cells.made for cells in changes], sizes)] = -1
    return np.split(positions, np.cumsum(sizes[:-1]))


def _ranges(held: tuple[Held, ...]) -> IdRanges:
    return IdRanges(
        np.array([h.first_id for h in held], np.int64), np.array([h.last_id for h in held], np.int64)
    )


def _token(row: TableRow, version: int) -> tuple[object, ...]:
    return (row.folder, version, row.generation, row.draft, row.opening)


def _inserted(held: np.ndarray, more: np.ndarray) -> np.ndarray:
    merged: np.ndarray = np.insert(held, np.searchsorted(held, more), more)
    return merged
