"""The rows of a small table that meet a filter, found by Arrow over decoded columns: what was decoded
once is kept, so asking again costs a fraction of starting a query engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrays import to_numpy
from lamella.core.ascending import EMPTY, without
from lamella.core.filters import bind, mask
from lamella.core.filters.expr import Filter
from lamella.core.filters.walk import columns_read
from lamella.core.jobs import Job
from lamella.core.query.found import Found, found_in
from lamella.core.query.pruning import may_meet
from lamella.core.scan.caches import cache
from lamella.core.scan.paths import chosen
from lamella.core.scan.pieces import Piece, runs
from lamella.core.scan.rows import with_changes
from lamella.core.scan.snapshot import Column, Snapshot

LARGEST_ROWS = 2_000_000
ROWS_AT_ONCE = 500_000
FEWEST_ROWS = 4_096


def pays(snapshot: Snapshot) -> bool:
    return snapshot.num_positions <= LARGEST_ROWS


def find_by_mask(
    snapshot: Snapshot, where: Filter, job: Job, first: int = 0, enough: int | None = None
) -> np.ndarray:
    """Ascending positions of the live rows that meet `where`, from position `first` on.

    Once `enough` are found the rest is not looked at.
    """
    return search_by_mask(snapshot, where, job, first, enough).positions


def search_by_mask(
    snapshot: Snapshot, where: Filter, job: Job, first: int = 0, enough: int | None = None
) -> Found:
    """The same, and which row groups were looked at for it, be they decoded now or kept from before."""
    bound = bind(where, snapshot.schema, snapshot.name)
    counted_by = [column.name for column in snapshot.columns[:1]]  # where the filter asks nothing of rows
    columns = chosen(snapshot, columns_read(bound) or counted_by)
    found, rows, looked_at = [EMPTY], 0, dict[int, Piece]()
    rows_at_once = ROWS_AT_ONCE if enough is None else enough
    pieces = runs(
        snapshot, first, snapshot.num_positions, max(rows_at_once, FEWEST_ROWS), may_meet(snapshot, bound)
    )
    for piece, low, high, chunks in _blocks(snapshot, pieces, columns, first, rows_at_once):
        job.check()
        looked_at[piece.first] = piece
        met = mask(bound, with_changes(snapshot, low, high, columns, chunks), job.check)
        live = without(np.flatnonzero(to_numpy(met)) + low, snapshot.deleted)
        found.append(live)
        rows += len(live)
        if enough is not None and rows >= enough:
            break
    return found_in(snapshot, np.concatenate(found)[:enough], looked_at.values())


def _blocks(
    snapshot: Snapshot, pieces: Iterable[Piece], columns: Sequence[Column], first: int, rows: int
) -> Iterator[tuple[Piece, int, int, list[pa.ChunkedArray]]]:
    """The columns from position `first` on: a few rows at first, then more and more."""
    rows = max(rows, FEWEST_ROWS)
    for piece in pieces:
        chunks = piece.stored(snapshot, columns, cache)
        low = max(first, piece.first)
        while low < piece.stop:
            high = min(low + rows, piece.stop)
            whole = high - low == piece.stop - piece.first
            cut = chunks if whole else [c.slice(low - piece.first, high - low) for c in chunks]
            yield piece, low, high, cut
            low, rows = high, 2 * rows
