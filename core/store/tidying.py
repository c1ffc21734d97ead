"""Flush, merge and compact: what keeps pending changes few. None of it makes a version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lamella.core.arrays import in_one
from lamella.core.ascending import union
from lamella.core.jobs import Job
from lamella.core.scan.pieces import in_memory
from lamella.core.scan.snapshot import Column, MemorySegment
from lamella.core.store.catalog import Catalog, IdsUnderWay
from lamella.core.store.catalog_transaction import Transaction
from lamella.core.store.cells import Cells, end_to_end, latest
from lamella.core.store.change_files import write_cells
from lamella.core.store.commit import NO_IDS
from lamella.core.store.layout import Layout, Staging
from lamella.core.store.publish import Publication, still_at, version_holding
from lamella.core.store.rewrite import Applied, Rewrite, rewrite, segments_with_pending
from lamella.core.store.state import Held, PendingRows, State
from lamella.core.store.writer import FileShape

FLUSH_ROWS_ABOVE = 50_000
FLUSH_CELLS_ABOVE = 2_000_000
FLUSH_AT_REST_FROM = 1_000
"""Pending rows, when nobody waits: fewer are read from the catalog as quickly as from a file."""

ENTRIES = 64
CHANGE_FILES = 16
TIER = 4
_PENDING = "pending_cells"
T = TypeVar("T")
Tidying = Callable[[State, Job], None]


@dataclass(frozen=True, eq=False)
class Merged:
    """Pending cells that say the same as these catalog entries together."""

    entries: tuple[tuple[str, int], ...]
    cells: tuple[Cells, ...]


class Tidier:
    """Works on one table's state; raises `Overtaken` where the table moved on meanwhile."""

    def __init__(self, catalog: Catalog, layout: Layout, table_id: int) -> None:
        self._catalog, self._layout, self._table_id = catalog, layout, table_id

    def needed(self, state: State) -> Tidying | None:
        """What has to be done for the state to stay quick to read, if anything."""
        rows = [h.segment.num_rows for h in _loose(state)]
        changed = [(len(c.ids), len(c.values)) for (kind, _), c in state.cells.items() if kind == _PENDING]
        if len(state.cells) - len(changed) > CHANGE_FILES:
            return self.rewrite_changed
        pending_rows = sum(rows) + sum(count for count, _ in changed)
        pending_cells = sum(rows) * len(state.columns) + sum(count * width for count, width in changed)
        if pending_rows > FLUSH_ROWS_ABOVE or pending_cells > FLUSH_CELLS_ABOVE:
            return self.flush
        return self.merge if max(len(rows), len(changed), len(state.deletions)) > ENTRIES else None

    def worthwhile(self, state: State) -> Tidying | None:
        """What is worth doing while nothing else is asked of the table."""
        rows = sum(h.segment.num_rows for h in _loose(state))
        changed = sum(len(cells.ids) for (kind, _), cells in state.cells.items() if kind == _PENDING)
        return self.flush if rows + changed >= FLUSH_AT_REST_FROM else None

    def flush(self, state: State, job: Job) -> None:
        """Pending rows become data files, pending cells change files; deletions stay in the catalog."""
        loose = np.array([i for i, h in enumerate(state.held) if h.kind == "pending_rows"], np.int64)
        merged = [_merged(state, run, besides=loose) for run in _runs(state)]
        if not len(loose) and not merged:
            return
        columns = {c.key: c for c in state.columns}
        with self._layout.stage() as staging:
            rows = self._rewritten(state, loose, staging, job)
            files = [(write_cells(c, columns, staging), c.made) for m in merged for c in m.cells]
            with self._publishing(state, staging) as publication:
                publication.replaced(rows, staging.publish([f.path for f in rows.files], state.row.folder))
                publication.ended(key for m in merged for key in m.entries if key not in rows.contained)
                for group, made in files:
                    paths = staging.publish([f.path for f in group], state.row.folder)
                    publication.change_files(group, paths, made)

    def merge(self, state: State, job: Job) -> None:
        """One catalog entry for what many small commits left."""
        tails = [_tail(run, [len(state.cells[key].ids) for key in run]) for run in _runs(state)]
        loose = [_tail(run, [h.segment.num_rows for h in run]) for run in _adjoining(_loose(state))]
        gone = _tail(list(state.deletions), [len(ids) for ids in state.deletions.values()])
        with self._publishing(state) as publication:
            if len(gone) > 1:
                publication.ended(("deletions", entry) for entry in gone)
                publication.deletions(union(*(state.deletions[entry] for entry in gone)))
            for merged in (_merged(state, run) for run in tails if len(run) > 1):
                publication.ended(merged.entries)
                for held in merged.cells:
                    publication.cells(held, state.column_entries)
            for run in (run for run in loose if len(run) > 1):
                publication.ended((h.kind, h.entry) for h in run)
                count, values = sum(h.segment.num_rows for h in run), _joined(run, state.columns)
                publication.merged_rows(run[0].first_id, values, count, state.column_entries)

    def rewrite_changed(self, state: State, job: Job) -> None:
        """Data files for every segment that is not all there is to know of its rows."""
        self.rewrite(state, segments_with_pending(state), job)

    def rewrite(
        self, state: State, segments: np.ndarray, job: Job, shape: FileShape | None = None
    ) -> list[int]:
        """New data files for these segments, ascending, with all that is pending for them; their entries.

        What others commit meanwhile lies over the new files, as long as it leaves alone what is in them.
        """
        if not len(segments):
            return []
        with self._layout.stage() as staging:
            rewritten = self._rewritten(state, segments, staging, job, shape)
            paths = staging.publish([f.path for f in rewritten.files], state.row.folder)
            still = partial(version_holding, self._catalog, state, rewritten.replaced)
            with self._publishing(state, staging, still) as publication:
                return publication.replaced(rewritten, paths, made=state.version)

    def under_way(self) -> IdsUnderWay:
        return self._catalog.ids_under_way(self._table_id)

    def _rewritten(
        self,
        state: State,
        segments: np.ndarray,
        staging: Staging,
        job: Job,
        shape: FileShape | None = None,
    ) -> Rewrite:
        applied = Applied(state.snapshot.columns)
        return rewrite(state, segments, applied, staging, job, shape, self.under_way())

    @contextmanager
    def _publishing(
        self,
        state: State,
        staging: Staging | None = None,
        still: Callable[[Transaction], int] | None = None,
    ) -> Iterator[Publication]:
        """One catalog transaction that leaves the version as it is; files are taken back if it fails."""
        try:
            with self._catalog.transaction() as transaction:
                version = still(transaction) if still else still_at(transaction, state)
                yield Publication(transaction, self._table_id, version)
                transaction.next_generation(self._table_id)
        except BaseException:
            if staging:
                staging.withdraw(besides=self._catalog.known_paths())
            raise


def _loose(state: State) -> list[Held]:
    return [h for h in state.held if h.kind == "pending_rows"]


def _runs(state: State) -> list[list[tuple[str, int]]]:
    """Pending entries with no change file between them, in the order they were made."""
    by_kind = groupby(state.cells, key=lambda key: key[0])
    return [list(run) for kind, run in by_kind if kind == "pending_cells"]


def _merged(state: State, run: Sequence[tuple[str, int]], besides: np.ndarray = NO_IDS) -> Merged:
    """The cells of a run that count still, except those of the segments numbered `besides`."""
    segments = [state.held[i] for i in besides]
    held = [_outside(cells, segments) for cells in state.live([state.cells[key] for key in run])]
    made = max(state.cells[key].made for key in run)
    cells = latest([c for c in held if len(c.ids)], state.columns)
    return Merged(tuple(run), tuple(replace(c, made=made) for c in cells))


def _outside(cells: Cells, segments: Sequence[Held]) -> Cells:
    if not segments:
        return cells
    inside = np.zeros(len(cells.ids), bool)
    for held in segments:
        inside |= (cells.ids >= held.first_id) & (cells.ids <= held.last_id)
    return cells.only(~inside) if inside.any() else cells


def _adjoining(loose: Sequence[Held]) -> list[list[Held]]:
    """Pending rows whose ids follow each other."""
    runs: list[list[Held]] = []
    for held in loose:
        if runs and runs[-1][-1].last_id + 1 == held.first_id:
            runs[-1].append(held)
        else:
            runs.append([held])
    return runs


def _tail(entries: Sequence[T], sizes: Sequence[int]) -> Sequence[T]:
    """The last entries, as far back as none is much larger than all after it: merging costs n log n."""
    start, after = len(entries), 0
    while start and (not after or sizes[start - 1] <= TIER * after):
        start -= 1
        after += sizes[start]
    return entries[start:]


def _joined(run: Sequence[Held], columns: Sequence[Column]) -> dict[int, pa.Array]:
    pending = [h.segment for h in run if isinstance(h.segment, PendingRows)]
    assert len(pending) == len(run), "what the catalog holds is pending"
    joined = pa.concat_tables([in_memory(MemorySegment.of(rows), columns) for rows in _rows_of(pending)])
    return {c.key: in_one(joined.column(i)) for i, c in enumerate(columns)}


def _rows_of(pending: Sequence[PendingRows]) -> Iterator[pa.Table]:
    """In order; rows of no column at all are counted by their ids."""
    for bare, alike in groupby(pending, key=lambda rows: not rows.values()):
        run = list(alike)
        yield from (rows.rows for rows in run) if bare else end_to_end(rows.values() for rows in run)
