"""Rows given whole for whole segments, in `_id` order: encoded while the next ones are converted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from core.block import Block
from core.jobs import Job
from core.store.evolution import narrowed
from core.store.ids import ID_COLUMN
from core.store.layout import Staging
from core.store.placement import SMALL_ROWS
from core.store.rewrite import Rewrite, contained, segments_of
from core.store.row_ids import ids_given
from core.store.state import State
from core.store.writer import Encoder, FileSeries


@dataclass(frozen=True, eq=False)
class Replaced:
    """The files of `rewrite` hold the rows of `ids` as they were given, and nothing else."""

    ids: np.ndarray
    rewrite: Rewrite


def few(blocks: Iterator[Block]) -> bool:
    """Whether they hold no more rows than the catalog takes; takes no more blocks than it has to."""
    rows = 0
    while rows <= SMALL_ROWS and (block := next(blocks, None)) is not None:
        rows += block.num_rows
    return rows <= SMALL_ROWS


def replaced(state: State, blocks: Iterator[Block], staging: Staging, job: Job) -> Replaced | None:
    """Stage the rows in place of the segments that hold them; None at the first block that leaves out a cell
    or a row between, holds a null, or has values that its column does not take as they are."""
    cover = _Cover(state)
    with Encoder(FileSeries(staging)) as encoder:
        for block in blocks:
            rows = _whole(state, block)
            if rows is None or not cover.goes_on(ids_given(state, rows.column(0))):
                return None
            job.report(cover.num_rows, text=f"{cover.num_rows:,} rows written")
            encoder.add((ID_COLUMN, *state.columns), rows.num_rows, partial(_as_given, rows))
        if not cover.ends_segments:
            return None
        files = tuple(encoder.finish())
    ids = cover.ids
    held = tuple(state.held[i] for i in segments_of(state, ids))
    return Replaced(ids, Rewrite(held, files, contained(state, held)))


def _as_given(rows: pa.Table) -> pa.Table:
    return rows


def _whole(state: State, block: Block) -> pa.Table | None:
    """A value for each column of the table, in its type."""
    columns = [ID_COLUMN, *state.columns]
    if sorted(block.schema.names) != sorted(c.name for c in columns):
        return None
    rows = block.table().select([c.name for c in columns])
    if any(f.type != c.type for f, c in zip(rows.schema, columns, strict=True)):
        rows = narrowed(rows, tuple(columns))
    alike = all(f.type == c.type for f, c in zip(rows.schema, columns, strict=True))
    return rows if alike and not any(values.null_count for values in rows.columns) else None


class _Cover:
    """Live rows one after the other, from the first of a segment on."""

    def __init__(self, state: State) -> None:
        self._state, self._ids = state, [np.empty(0, np.int64)]
        starts = state.snapshot.segment_starts
        self._starts = starts - np.searchsorted(state.snapshot.deleted, starts)
        self._next: int | None = None
        self.num_rows = 0

    def goes_on(self, ids: np.ndarray) -> bool:
        """Whether these rows are the next ones."""
        if not len(ids):
            return True
        positions = self._state.locate(ids)
        ranks = positions - np.searchsorted(self._state.snapshot.deleted, positions)
        first = int(ranks[0])
        begins = first in self._starts if self._next is None else first == self._next
        if not begins or positions.min() < 0 or not np.array_equal(ranks, np.arange(first, first + len(ids))):
            return False
        self._ids.append(ids)
        self._next, self.num_rows = first + len(ids), self.num_rows + len(ids)
        return True

    @property
    def ends_segments(self) -> bool:
        return self._next is not None and self._next in self._starts

    @property
    def ids(self) -> np.ndarray:
        return np.concatenate(self._ids)
