"""Data files written anew with what was changed in them, and which changes are worth it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lamella.core.arrow.sorted_ids import union
from lamella.core.jobs import Job
from lamella.core.scan.read import tables_between
from lamella.core.scan.row_ids import ID_COLUMN, distinct, lie_between
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.store.catalog.queries import IdsUnderWay
from lamella.core.store.cells import NO_IDS, Cells, write_cells
from lamella.core.store.commit import Change, Entries, Rewrite, Staged
from lamella.core.store.data_files import FileShape, WrittenFile, write_files
from lamella.core.store.folder import Staging
from lamella.core.store.table_version import Held, State, overlaid


@dataclass(frozen=True, eq=False)
class Applied:
    """What a rewrite applies besides what is pending; `columns` begin with `_id`."""

    columns: tuple[Column, ...]
    cells: Cells | None = None
    deleted: np.ndarray = field(default_factory=lambda: NO_IDS)


def rewrite(
    state: State,
    segments: np.ndarray,
    change: Applied,
    staging: Staging,
    job: Job,
    shape: FileShape | None = None,
    under_way: IdsUnderWay = (),
) -> Rewrite:
    """Stage the given segments (ascending numbers) with pending and new changes applied.

    No file spans the ids `under_way`, which are those of rows that others are still bringing in.
    """
    after, columns = _after(state, change), change.columns
    files: list[WrittenFile] = []
    for first, last in _runs(state, segments, under_way):
        files += write_files(_live_tables(after, columns, first, last, job), columns, staging, shape=shape)
    replaced = tuple(state.held[i] for i in segments)
    return Rewrite(replaced, tuple(files), contained(state, replaced))


def _live_tables(
    after: Snapshot, columns: tuple[Column, ...], first: int, last: int, job: Job
) -> Iterator[pa.Table]:
    """The rows of these segments; one whose rows are all deleted is not read."""
    for start, stop in pairwise(after.segment_starts[first : last + 2].tolist()):
        low, high = np.searchsorted(after.deleted, [start, stop])
        if high - low < stop - start:
            yield from tables_between(after, columns, start, stop, job)


def segments_of(state: State, ids: np.ndarray) -> np.ndarray:
    """Numbers of the segments that hold these ids."""
    positions = state.ranges.locate(state.snapshot, ids)
    starts = state.snapshot.segment_starts
    return distinct(np.searchsorted(starts, positions[positions >= 0], side="right") - 1)


def segments_with_pending(state: State) -> np.ndarray:
    """Numbers of the segments that are not all there is to know of their rows."""
    touched = [c.ids[state.lie_over(c)] for c in state.cells.values()] + list(state.deletions.values())
    changed = segments_of(state, union(*touched))
    loose = [i for i, held in enumerate(state.held) if held.kind == "pending_rows"]
    return union(changed, np.array(loose, np.int64))


def _after(state: State, change: Applied) -> Snapshot:
    gone = union(state.snapshot.deleted, state.ranges.locate(state.snapshot, change.deleted))
    cells = [] if change.cells is None else [change.cells]
    changes = [(held, state.ranges.locate(state.snapshot, held.ids)) for held in cells]
    overlay = overlaid(state.snapshot.overlay, change.columns, changes)
    return replace(state.snapshot, columns=change.columns, deleted=gone, overlay=overlay)


def _runs(state: State, numbers: np.ndarray, under_way: IdsUnderWay) -> list[tuple[int, int]]:
    """Neighbouring segments that may share a file, as (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers.tolist():
        before = runs[-1] if runs else None
        if before and before[1] + 1 == number and not apart(state, number, under_way):
            runs[-1] = (before[0], number)
        else:
            runs.append((number, number))
    return runs


def apart(state: State, number: int, under_way: IdsUnderWay) -> bool:
    """Whether rows may still come between a segment and the one before it."""
    return lie_between(under_way, state.held[number - 1].last_id, state.held[number].first_id)


def contained(state: State, replaced: tuple[Held, ...]) -> Entries:
    """Pending entries that say nothing of rows elsewhere. The others stay: newer files pass them over."""
    ids = {key: cells.ids[state.lie_over(cells)] for key, cells in state.cells.items()}
    for entry, deleted in state.deletions.items():
        ids["deletions", entry] = deleted[state.ranges.locate(state.snapshot, deleted) >= 0]
    return tuple(key for key, reached in ids.items() if _inside(reached, replaced))


def _inside(ids: np.ndarray, replaced: tuple[Held, ...]) -> bool:
    reached = np.zeros(len(ids), bool)
    for held in replaced:
        reached |= (ids >= held.first_id) & (ids <= held.last_id)
    return bool(reached.all())


SMALL_ROWS = 10_000
SMALL_CELLS = 200_000
LARGE_SHARE = 0.5
MOST_CHANGED_ROWS = 4_000_000
MOST_CHANGED_CELLS = 32_000_000


class Place(Enum):
    CATALOG = auto()
    CHANGE_FILES = auto()
    DATA_FILES = auto()


def place(state: State, change: Change) -> Place:
    """Where the changed cells and deletions go; rows that are new are placed by how many they are."""
    cells = 0 if change.cells is None else change.updated * len(change.cells.values)
    few = change.updated <= SMALL_ROWS and cells <= SMALL_CELLS
    if few and len(change.deleted) <= SMALL_ROWS:
        return Place.CATALOG
    rows = _rows_of(state, segments_of(state, change.touched))
    if len(change.deleted) > LARGE_SHARE * rows or cells > LARGE_SHARE * rows * (1 + len(change.columns)):
        return Place.DATA_FILES
    if few:
        return Place.CATALOG
    return Place.CHANGE_FILES if _may_lie_over(state, change.updated, cells) else Place.DATA_FILES


def stage(
    state: State, change: Change, where: Place, staging: Staging, job: Job, under_way: IdsUnderWay
) -> Staged:
    if where is Place.CHANGE_FILES and change.cells is not None:
        columns = {c.key: c for c in change.columns}
        return Staged(change.files, change_files=write_cells(change.cells, columns, staging))
    if where is Place.DATA_FILES:
        segments = segments_of(state, change.touched)
        applied = Applied((ID_COLUMN, *change.columns), change.cells, change.deleted)
        made = rewrite(state, segments, applied, staging, job, under_way=under_way)
        return Staged(change.files, rewritten=made)
    return Staged(change.files)


def _rows_of(state: State, segments: np.ndarray) -> int:
    return sum(state.held[i].segment.num_rows for i in segments)


def _may_lie_over(state: State, rows: int, cells: int) -> bool:
    """What lies over the segments is kept in memory while it is read, so it is bounded."""
    held = [c for (kind, _), c in state.cells.items() if kind == "change_files"]
    all_rows = rows + sum(len(c.ids) for c in held)
    all_cells = cells + sum(len(c.ids) * len(c.values) for c in held)
    return all_rows <= MOST_CHANGED_ROWS and all_cells <= MOST_CHANGED_CELLS
