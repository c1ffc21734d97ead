"""Where a change goes: into the catalog, into change files beside the data files, or into new data files.

A change file costs what it holds to write, and a merge when its columns are read; a new data file costs
all of its rows and columns once. Deletions stay in the catalog until most rows of their segments are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from lamella.core.jobs import Job
from lamella.core.store.catalog import IdsUnderWay
from lamella.core.store.change_files import write_cells
from lamella.core.store.commit import Change
from lamella.core.store.data_file import WrittenFile
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.layout import Staging
from lamella.core.store.rewrite import Applied, Rewrite, rewrite, segments_of
from lamella.core.store.state import State

SMALL_ROWS = 10_000
SMALL_CELLS = 200_000
LARGE_SHARE = 0.5
MOST_CHANGED_ROWS = 4_000_000
MOST_CHANGED_CELLS = 32_000_000


class Place(Enum):
    CATALOG = auto()
    CHANGE_FILES = auto()
    DATA_FILES = auto()


@dataclass(frozen=True, eq=False)
class Staged:
    """The files of a change, to be published together."""

    files: tuple[WrittenFile, ...] = ()
    change_files: tuple[WrittenFile, ...] = ()
    rewritten: Rewrite | None = None

    @property
    def all_files(self) -> tuple[WrittenFile, ...]:
        return (*self.files, *self.change_files, *(self.rewritten.files if self.rewritten else ()))


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
